//! What one decision costs, for every row of POLICIES: 16 servers, 1,000,000 targets, some 800
//! requests open. The goal for LARD, LARD/R, CAP and bounded hashing is 100 ns (`decide`).
//!
//! `decide` is the question and the note taken of its answer, in runs of 64 between which the books
//! are brought up to date outside the clock. `desk` is a whole request: question, note, begin, and
//! the end of the oldest. `look` is what a desk pays before each decision where a kernel counts
//! too: all counters, of which none, one or all have changed. Requests are drawn beforehand.
//! Printed is the median of several rounds, and the best in brackets: on a machine with other work
//! the best is nearer to the truth.

// The one place of this crate that looks at a clock.
#![allow(clippy::disallowed_types)]

use criterion::{Criterion, Throughput};
use policy::{
    Class, Cluster, Desk, Dice, Elsewhere, Entry, Instant, Load, Outcome, POLICIES, Params, Policy,
    Report, Request, ServerId, Spec, State, TargetId, Ticket,
};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant as Clock};

const SERVERS: usize = 16;
const TARGETS: usize = 1_000_000;
/// Of a site, as a simulator replays it.
const TARGETS_FEW: usize = 40_000;
const OPEN: usize = 800;
const ROUNDS: usize = 288;
const ROUND_REQUESTS: usize = 1 << 13;
const RUN: usize = 64;
const GAP: Duration = Duration::from_micros(20);
/// What the 100 ns are promised for.
const PROMISED: [&str; 4] = ["lard", "lard-r", "cap", "bounded-hash"];

/// Targets by popularity, drawn beforehand.
struct Stream {
    name: &'static str,
    /// How many there are.
    targets: usize,
    ranks: Vec<u32>,
}

impl Stream {
    /// The popularity of rank r is 1/r to the power of `exponent`; 0 is uniform.
    fn zipf(name: &'static str, targets: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let weights = (1..=targets).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        let cumulative: Vec<f64> = weights.collect();
        let mut dice = Dice::new(1);
        let ranks = (0..ROUND_REQUESTS * ROUNDS).map(|_| {
            let drawn = dice.unit() * sum;
            cumulative.partition_point(|below| *below <= drawn).min(targets - 1) as u32
        });
        Self { name, targets, ranks: ranks.collect() }
    }
}

fn request(rank: u32, at: Instant) -> Request {
    // As from a hash function: neighbours by rank are no neighbours in the table.
    let target = TargetId(u64::from(rank).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let class = Class((rank % 5) as u8);
    Request { at, target, class, holder: None }
}

fn cluster() -> Cluster {
    let mut cluster = Cluster::new(0.5);
    for number in 0..SERVERS {
        let spec = Spec { name: format!("s{number}").into(), weight: 1, capacity: None };
        let id = cluster.join(spec, State::Up, Instant::ZERO).expect("sixteen fit");
        cluster.set_report(id, Report { cpu: 0.5, ..Report::default() });
    }
    cluster
}

/// A policy that knows every target, its books, and the open requests.
struct Bench {
    desk: Desk,
    open: VecDeque<Ticket>,
    at: Instant,
}

impl Bench {
    fn new(entry: &Entry, targets: usize) -> Self {
        let policy = (entry.build)(&Params::new(entry.params));
        let desk = Desk::new(policy, cluster(), 1);
        let mut bench = Self { desk, open: VecDeque::new(), at: Instant::ZERO };
        (0..targets as u32).for_each(|rank| bench.assign(rank));
        bench
    }

    #[inline]
    fn assign(&mut self, rank: u32) {
        self.at = self.at.plus(GAP);
        let (_, ticket) = self.desk.assign(&request(rank, self.at), &[]).expect("all are up");
        self.open.push_back(ticket);
        if self.open.len() > OPEN {
            let oldest = self.open.pop_front().expect("there are more than none");
            let outcome = Outcome { at: self.at, ok: true, first_byte: Some(GAP) };
            self.desk.finish(oldest, outcome);
        }
    }
}

/// The same without a desk, so that the question can be timed apart from the books.
struct Bare {
    policy: Box<dyn Policy>,
    cluster: Cluster,
    dice: Dice,
    open: VecDeque<ServerId>,
    at: Instant,
}

impl Bare {
    fn new(entry: &Entry, targets: usize) -> Self {
        let mut policy = (entry.build)(&Params::new(entry.params));
        let cluster = cluster();
        for id in cluster.usable() {
            policy.changed(policy::Change::Joined(*id), &cluster);
        }
        let (open, at) = (VecDeque::new(), Instant::ZERO);
        let mut bare = Self { policy, cluster, dice: Dice::new(1), open, at };
        // One by one: where targets go depends on loads that are up to date.
        for rank in 0..targets as u32 {
            bare.round(&[rank]);
        }
        bare
    }

    /// Time spent in questions and notes.
    fn round(&mut self, ranks: &[u32]) -> Duration {
        let mut asked = Duration::ZERO;
        let mut answers = Vec::with_capacity(RUN);
        for run in ranks.chunks(RUN) {
            let begun = Clock::now();
            for rank in run {
                self.at = self.at.plus(GAP);
                let request = request(*rank, self.at);
                let answer = self.policy.decide(&request, &self.cluster, &mut self.dice);
                let answer = answer.expect("all are up");
                self.policy.commit(&request, &answer, &self.cluster);
                answers.push((answer.server, request));
            }
            asked += begun.elapsed();
            for (server, request) in answers.drain(..) {
                self.cluster.begin(server, Load::ONE, self.at);
                self.policy.begun(server, &request);
                self.open.push_back(server);
                if self.open.len() > OPEN {
                    let oldest = self.open.pop_front().expect("there are more than none");
                    self.cluster.end(oldest, Load::ONE, self.at);
                }
            }
        }
        asked
    }
}

/// Median and least of the rounds, in nanoseconds a request.
fn figures(mut rounds: Vec<Duration>) -> (f64, f64) {
    rounds.sort();
    let ns = |round: Duration| round.as_nanos() as f64 / ROUND_REQUESTS as f64;
    (ns(rounds[rounds.len() / 2]), ns(rounds[0]))
}

fn print(entry: &Entry, stream: &Stream) {
    let mut bare = Bare::new(entry, stream.targets);
    let rounds = stream.ranks.chunks(ROUND_REQUESTS);
    let (decide, decide_best) = figures(rounds.clone().map(|ranks| bare.round(ranks)).collect());
    drop(bare);
    let mut bench = Bench::new(entry, stream.targets);
    let timed = rounds.map(|ranks| {
        let begun = Clock::now();
        ranks.iter().for_each(|rank| bench.assign(black_box(*rank)));
        begun.elapsed()
    });
    let (desk, desk_best) = figures(timed.collect());
    println!(
        "{:<17} {:<8}  decide {decide:>6.1} ({decide_best:>5.1}) ns   \
         desk {desk:>6.1} ({desk_best:>5.1}) ns",
        entry.name, stream.name,
    );
}

fn main() {
    // `cargo bench` says so; under `cargo test` this only has to run.
    let measured = std::env::args().any(|word| word == "--bench");
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let wanted = |entry: &&Entry| wanted.as_ref().is_none_or(|name| name == entry.name);
    let streams = [Stream::zipf("zipf 0.9", TARGETS, 0.9), Stream::zipf("zipf 1.0", TARGETS, 1.0)];
    if measured {
        let few = Stream::zipf("40k", TARGETS_FEW, 0.9);
        let uniform = Stream::zipf("uniform", TARGETS, 0.0);
        for entry in POLICIES.iter().filter(wanted) {
            streams.iter().chain([&uniform, &few]).for_each(|stream| print(entry, stream));
        }
    }
    let mut criterion = Criterion::default()
        .configure_from_args()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(2));
    let mut group = criterion.benchmark_group("desk, zipf 0.9");
    group.throughput(Throughput::Elements(1));
    for entry in POLICIES.iter().filter(|entry| PROMISED.contains(&entry.name)).filter(wanted) {
        let mut bench = Bench::new(entry, TARGETS);
        let mut ranks = streams[0].ranks.iter().cycle();
        group.bench_function(entry.name, |timer| {
            timer.iter(|| bench.assign(*ranks.next().expect("a cycle does not end")));
        });
    }
    group.finish();
    looks(&mut criterion);
}

/// Looks at what is counted elsewhere for all servers, when so many of the counts have changed.
fn looks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("look, 16 servers");
    for changed in [0, 1, SERVERS] {
        let mut cluster = cluster();
        let mut counts: Vec<_> =
            (0..SERVERS as u16).map(|id| (ServerId(id), Elsewhere::default())).collect();
        let mut serial = 0;
        group.bench_function(format!("{changed} changed"), |timer| {
            timer.iter(|| {
                for (_, count) in counts.iter_mut().take(changed) {
                    serial += 1;
                    *count = Elsewhere { open: serial % 50, begun: serial, chosen: serial };
                }
                cluster.elsewhere_all(black_box(&counts), Instant::ZERO);
            });
        });
    }
    group.finish();
}
