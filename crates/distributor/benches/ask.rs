//! What it costs a worker to ask the one desk of the process: behind a lock, or on a thread of its
//! own. And for how long it finds the lock held while the servers or the policy change. The figures
//! behind docs/decisions/0003 and 0012.
//!
//! `cargo bench -p distributor --bench ask`. Each asker takes a decision and gives the place back,
//! as for one request; targets are drawn from 100,000 by a rough Zipf. Wall time over all
//! decisions of all askers, median of five. Of a change, the longer hold counts: from the call to
//! the work that is done without the lock, or from that to the end. The machine may do something
//! else meanwhile, so the median over many changes is what tells.

use distributor::ask::Ask;
use policy::{
    Assignment, Change, Class, Cluster, Desk, Dice, Edit, Instant, Outcome, Params, Policy,
    Preparation, Request, ServerId, Spec, State, TargetId,
};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Clock};

const DECISIONS: usize = 200_000;
const SERVERS: usize = 16;
const TARGETS: f64 = 100_000.0;
const ROUNDS: usize = 5;
/// Changes of which the holds are measured.
const CHANGES: usize = 200;

fn policy(name: &str) -> Box<dyn Policy> {
    let row = policy::entry(name).expect("it is a row of POLICIES");
    (row.build)(&Params::new(row.params))
}

fn desk(name: &str) -> Desk {
    let mut desk = Desk::new(policy(name), Cluster::new(0.0), 1);
    for at in 0..SERVERS {
        let spec = Spec { name: format!("s{at}").into(), weight: 1, capacity: None };
        desk.join(spec, State::Up, Instant::ZERO).expect("sixteen slots are free");
    }
    desk
}

/// A target whose rank is about Zipf: uniform in the logarithm.
fn request(dice: &mut Dice, at: usize) -> Request {
    let target = TargetId(TARGETS.powf(dice.unit()) as u64);
    Request { at: Instant(at as u64 * 1000), target, class: Class::STATIC, holder: None }
}

fn serve(desk: &mut Desk, request: &Request) {
    let (_, ticket) = desk.assign(request, &[]).expect("all servers are up");
    let first_byte = Some(Duration::from_micros(500));
    desk.finish(ticket, Outcome { at: request.at, ok: true, first_byte });
}

/// Nanoseconds per decision with `askers` threads that share a desk behind a lock.
fn behind_a_lock(askers: usize) -> f64 {
    let desk = Arc::new(Mutex::new(desk("lard-r")));
    run(askers, |asker| {
        let desk = Arc::clone(&desk);
        let mut dice = Dice::new(asker as u64);
        move |at| {
            let request = request(&mut dice, at);
            serve(&mut desk.lock().expect("no asker panics"), &request);
        }
    })
}

/// The same with the desk on a thread of its own, asked by messages. An asker waits for its answer,
/// as a worker with nothing else to do would.
fn on_a_thread(askers: usize) -> f64 {
    let (questions, asked) = sync_channel::<(Request, Sender<()>)>(1024);
    let thread = std::thread::spawn(move || {
        let mut desk = desk("lard-r");
        for (request, answer) in asked {
            serve(&mut desk, &request);
            // An asker that is gone needs no answer.
            let _gone = answer.send(());
        }
    });
    let spent = run(askers, |asker| {
        let questions: SyncSender<_> = questions.clone();
        let (answer, answered) = channel();
        let mut dice = Dice::new(asker as u64);
        move |at| {
            let question = (request(&mut dice, at), answer.clone());
            questions.send(question).expect("the desk's thread lives");
            answered.recv().expect("every question is answered");
        }
    });
    drop(questions);
    thread.join().expect("the desk's thread ends in order");
    spent
}

fn run<F: FnMut(usize) + Send + 'static>(askers: usize, make: impl Fn(usize) -> F) -> f64 {
    let work: Vec<F> = (0..askers).map(&make).collect();
    let began = Clock::now();
    let threads: Vec<_> = work
        .into_iter()
        .map(|mut ask| std::thread::spawn(move || (0..DECISIONS / askers).for_each(&mut ask)))
        .collect();
    for thread in threads {
        thread.join().expect("an asker ends in order");
    }
    began.elapsed().as_nanos() as f64 / DECISIONS as f64
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..ROUNDS).map(|_| measure()).collect();
    all.sort_by(f64::total_cmp);
    all[ROUNDS / 2]
}

/// A policy that marks when its preparation begins and ends.
struct Marked(Box<dyn Policy>, Sender<Clock>);

impl Policy for Marked {
    fn decide(&self, request: &Request, cluster: &Cluster, dice: &mut Dice) -> Option<Assignment> {
        self.0.decide(request, cluster, dice)
    }

    fn changed(&mut self, change: Change, cluster: &Cluster) {
        self.0.changed(change, cluster);
    }

    fn prepare(&mut self, cluster: &Cluster) -> Option<Preparation> {
        let (work, marks) = (self.0.prepare(cluster)?, self.1.clone());
        Some(Box::new(move || {
            mark(&marks);
            work();
            mark(&marks);
        }))
    }
}

fn mark(marks: &Sender<Clock>) {
    marks.send(Clock::now()).expect("the benchmark reads the marks");
}

/// The longest hold of the lock by each of many changes, in microseconds: the median, and what nine
/// in ten do not exceed. `change` marks its end.
fn holds(marks: &Receiver<Clock>, mut change: impl FnMut(usize)) -> (f64, f64) {
    let hold = |at| {
        let began = Clock::now();
        change(at);
        let marks: Vec<Clock> = core::iter::once(began).chain(marks.try_iter()).collect();
        // Between a pair of marks the lock was held; the work lies between the pairs.
        marks.chunks_exact(2).map(|hold| hold[1] - hold[0]).max().expect("every change has an end")
    };
    let mut holds: Vec<Duration> = (0..CHANGES).map(hold).collect();
    holds.sort_unstable();
    let us = |tenths: usize| holds[holds.len() * tenths / 10].as_nanos() as f64 / 1e3;
    (us(5), us(9))
}

/// A server goes down and comes up again.
fn flap(at: usize) -> impl Fn(&mut Edit<'_>) {
    let state = if at.is_multiple_of(2) { State::Down } else { State::Up };
    move |edit| edit.set_state(ServerId(3), state)
}

fn print_holds() {
    println!("\nlongest hold of the lock by a change (us): median, and of nine in ten changes");
    let (marks, marked) = channel();
    let new = |name| Box::new(Marked(policy(name), marks.clone())) as Box<dyn Policy>;
    let mut plain = desk("maglev");
    let at_once = holds(&marked, |at| {
        plain.change(flap(at));
        mark(&marks);
    });
    let ask = Ask::new(desk("lard-r"));
    let replace = |at: usize| {
        let other = Some(new(["maglev", "lard-r"][at % 2]));
        ask.change_with(other, |_| (), |_, ()| mark(&marks));
    };
    let replaced = holds(&marked, replace);
    replace(0);
    marked.try_iter().for_each(drop);
    let prepared = holds(&marked, |at| ask.change_with(None, flap(at), |_, ()| mark(&marks)));
    for (what, (median, most)) in [
        ("maglev, a server down or up, at once", at_once),
        ("maglev, a server down or up, prepared", prepared),
        ("maglev for lard-r, lard-r for maglev", replaced),
    ] {
        println!("{what:<40} {median:>8.1} {most:>8.1}");
    }
}

fn main() {
    println!("ns per decision (LARD/R, {SERVERS} servers), begun and ended");
    println!("askers   behind a lock   on a thread of its own");
    for askers in [1, 2, 4] {
        let (lock, thread) = (median(|| behind_a_lock(askers)), median(|| on_a_thread(askers)));
        println!("{askers:>6} {lock:>15.0} {thread:>24.0}");
    }
    print_holds();
}
