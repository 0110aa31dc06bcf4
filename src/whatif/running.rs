//! Feeding every cluster from one reading of the log, on all cores.
//!
//! This thread reads; each of the others has clusters of its own and plays them whatever is read.
//! Between them are channels of few chunks, so memory does not depend on the length of the log.
//! What grows is what clusters know of targets: when that becomes too much, the last clusters are
//! put off, and the log is read again for them.

use super::cell::Cell;
use super::feed::{Feeder, Learnt};
use super::logs::Logs;
use super::plan::Plan;
use super::study::Study;
use super::survey::{Hot, Survey};
use crate::logs::Unfit;
use anyhow::Result;
use sim::replay::{Demand, Outcome, Pace, Run, Setup};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Chunks on their way to a thread.
const CHUNKS_WAITING: usize = 4;

/// Where the first seed is; any number, so that it is the same for everybody.
const SEED: u64 = 1;

/// Takes note of progress, for people.
pub trait Bar {
    /// So much of the log has been read, of so much, where that is known, in bytes; for so many of
    /// all clusters.
    fn read(&self, bytes: u64, of: Option<u64>, clusters: (usize, usize));
}

/// What goes to the threads.
enum Part {
    Demands(Arc<[Demand]>),
    End(Arc<[Hot]>),
}

/// A cluster by its number among the runs.
struct Job {
    number: usize,
    run: Run,
}

/// Plays the logs to every cluster of the plan.
///
/// # Errors
/// When a log cannot be read, or is not what is needed: [`Unfit`].
pub fn play(plan: &Plan, logs: &mut Logs, threads: usize, bar: &dyn Bar) -> Result<Study> {
    let runs = plan.cells() * plan.runs_per_cell();
    let mut waiting: Vec<usize> = (0..runs).collect();
    let mut outcomes: Vec<Option<Outcome>> = (0..runs).map(|_| None).collect();
    let mut first: Option<Pass> = None;
    while !waiting.is_empty() {
        if first.is_some() {
            logs.again()?;
        }
        let done = runs - waiting.len();
        let batch = std::mem::take(&mut waiting);
        let said = (done, runs);
        let pass = pass(plan, logs, batch, threads, &|bytes, of| bar.read(bytes, of, said))?;
        let progressed = !pass.outcomes.is_empty();
        waiting.extend(&pass.put_off);
        waiting.sort_unstable();
        let mut pass = pass;
        for (number, outcome) in pass.outcomes.drain(..) {
            outcomes[number] = Some(outcome);
        }
        assert!(progressed, "a thread never puts off its last cluster");
        first.get_or_insert(pass);
    }
    let pass = first.ok_or_else(|| Unfit::Usage("there is nothing to compare".into()))?;
    let mut outcomes = outcomes.into_iter().flatten();
    let mut cells = Vec::new();
    for (policy, servers, cache_bytes) in grid(plan) {
        let of_seeds: Vec<_> = outcomes.by_ref().take(plan.seeds.into()).collect();
        let full = if plan.full_load { outcomes.next() } else { None };
        let name = plan.policies[policy].entry.name;
        cells.push(Cell::new(name, servers, cache_bytes, of_seeds, full));
    }
    Ok(Study {
        logs: logs.read(),
        survey: pass.survey,
        hot: pass.hot,
        learnt: pass.learnt,
        policies: plan.policies.iter().map(|choice| choice.entry.name).collect(),
        servers: plan.servers.clone(),
        caches: plan.caches.clone(),
        cache_policy: plan.cache_policy,
        seeds: plan.seeds,
        costs: plan.costs.clone(),
        costs_name: plan.costs_name.clone(),
        lanes: (plan.cores, plan.disks),
        pace: plan.pace,
        full_load: plan.full_load,
        cells,
    })
}

/// Every cluster: policy, servers, cache.
fn grid(plan: &Plan) -> impl Iterator<Item = (usize, u16, u64)> {
    let policies = 0..plan.policies.len();
    let servers = move |cache: u64| plan.servers.iter().map(move |servers| (*servers, cache));
    let cells = plan.caches.iter().flat_map(move |cache| servers(*cache));
    cells.flat_map(move |(servers, cache)| policies.clone().map(move |at| (at, servers, cache)))
}

/// What one reading of the log gave.
struct Pass {
    survey: Survey,
    hot: Vec<Hot>,
    learnt: Learnt,
    outcomes: Vec<(usize, Outcome)>,
    put_off: Vec<usize>,
}

fn pass(
    plan: &Plan,
    logs: &mut Logs,
    batch: Vec<usize>,
    threads: usize,
    read: &dyn Fn(u64, Option<u64>),
) -> Result<Pass> {
    if !logs.advance()? {
        return Err(Unfit::Log(logs.unusable()).into());
    }
    let (mut feeder, learnt) = Feeder::new(plan, logs.asks(), logs.intake())?;
    let setups = setups(plan, &learnt);
    let threads = threads.clamp(1, batch.len());
    let budget = Budget::new(plan.memory_bytes, threads, logs.can_repeat());
    thread::scope(|scope| {
        let mut hands = Vec::new();
        for hand in 0..threads {
            // Neighbours differ in their policy only: dealt out in turn, threads have equal work.
            let jobs: Vec<Job> = batch
                .iter()
                .skip(hand)
                .step_by(threads)
                .map(|number| Job { number: *number, run: Run::new(&setups[*number]) })
                .collect();
            let (give, take) = sync_channel(CHUNKS_WAITING);
            let budget = &budget;
            hands.push((give, scope.spawn(move || work(&take, jobs, budget))));
        }
        let tell = |part: &dyn Fn() -> Part, hands: &[(SyncSender<Part>, _)]| {
            for (give, _) in hands {
                // A thread that is gone has panicked, which joining it tells.
                let _gone = give.send(part());
            }
        };
        loop {
            let demands = feeder.demands(logs.asks(), &logs.intake().targets, false);
            tell(&|| Part::Demands(Arc::clone(&demands)), &hands);
            read(logs.bytes_read(), logs.bytes());
            let intake = logs.intake();
            budget.note(intake.targets.memory_bytes() + intake.clients.memory_bytes());
            if budget.is_exceeded() {
                return Err(Unfit::Log(exceeded(plan)).into());
            }
            if !logs.advance()? {
                break;
            }
        }
        let demands = feeder.demands(&[], &logs.intake().targets, true);
        tell(&|| Part::Demands(Arc::clone(&demands)), &hands);
        let hot = feeder.survey.hottest(|url| logs.url(url));
        let shared: Arc<[Hot]> = hot.as_slice().into();
        tell(&|| Part::End(Arc::clone(&shared)), &hands);
        let mut survey = feeder.survey;
        survey.clients = logs.intake().clients.len() as u64;
        survey.late = logs.late();
        let (mut outcomes, mut put_off) = (Vec::new(), Vec::new());
        for (give, hand) in hands {
            drop(give);
            let (done, later) =
                hand.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcomes.extend(done);
            put_off.extend(later);
        }
        if budget.is_exceeded() {
            return Err(Unfit::Log(exceeded(plan)).into());
        }
        Ok(Pass { survey, hot, learnt, outcomes, put_off })
    })
}

/// What clusters may take of memory.
struct Budget {
    /// Together with what is known of the log, in bytes.
    bytes: usize,
    threads: usize,
    /// Whether the log can be read again for clusters that are put off.
    can_repeat: bool,
    /// What is known of the log: names of targets and clients.
    known: AtomicUsize,
    /// Whether it did not suffice for a log that cannot be read again.
    exceeded: AtomicBool,
}

impl Budget {
    fn new(bytes: usize, threads: usize, can_repeat: bool) -> Self {
        let (known, exceeded) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { bytes, threads, can_repeat, known, exceeded }
    }

    fn note(&self, known: usize) {
        self.known.store(known, Ordering::Relaxed);
    }

    /// Whether a thread whose clusters take so much has to put some off.
    fn puts_off(&self, memory: usize) -> bool {
        let over =
            memory > self.bytes.saturating_sub(self.known.load(Ordering::Relaxed)) / self.threads;
        if over && !self.can_repeat {
            self.exceeded.store(true, Ordering::Relaxed);
        }
        over && self.can_repeat
    }

    fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }
}

fn exceeded(plan: &Plan) -> String {
    format!(
        "{} clusters of this log take more than the {} of --memory, and standard input cannot be \
         read again for some of them: give the log as a file, ask for less, or give more --memory",
        plan.cells(),
        super::words::size(plan.memory_bytes as u64)
    )
}

/// Plays everything that comes to its clusters. Gives what came of them, and those put off.
fn work(
    take: &Receiver<Part>,
    mut jobs: Vec<Job>,
    budget: &Budget,
) -> (Vec<(usize, Outcome)>, Vec<usize>) {
    let mut put_off = Vec::new();
    while let Ok(part) = take.recv() {
        match part {
            Part::Demands(demands) => {
                jobs.iter_mut().for_each(|job| job.run.feed(&demands));
                let mut memory: usize = jobs.iter().map(|job| job.run.memory_bytes()).sum();
                while budget.puts_off(memory) && jobs.len() > 1 {
                    let last = jobs.pop().expect("there are several");
                    memory -= last.run.memory_bytes();
                    put_off.push(last.number);
                }
            }
            Part::End(hot) => {
                let targets: Vec<u32> = hot.iter().map(|hot| hot.target).collect();
                let ended = jobs.into_iter().map(|job| (job.number, job.run.finish(&targets)));
                return (ended.collect(), put_off);
            }
        }
    }
    // The reader failed; it has the reason.
    (Vec::new(), put_off)
}

/// Every run of the plan, those of one cluster beside each other, the one at full load last.
fn setups(plan: &Plan, learnt: &Learnt) -> Vec<Setup> {
    let of_cell = |(policy, servers, cache_bytes): (usize, u16, u64)| {
        let setup = move |seed: u64, pace: Pace| Setup {
            policy: plan.policies[policy].entry,
            params: plan.policies[policy].params.clone(),
            servers,
            cache_bytes,
            cache_policy: plan.cache_policy,
            cores: plan.cores,
            disks: plan.disks,
            pace,
            grain: learnt.grain,
            seed: SEED + seed,
        };
        let full = plan.full_load.then(|| setup(0, Pace::Closed { limit: None }));
        (0..u64::from(plan.seeds)).map(move |seed| setup(seed, plan.pace)).chain(full)
    };
    grid(plan).flat_map(of_cell).collect()
}
