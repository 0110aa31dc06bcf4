//! How long single operations hold the desk, at most: what the lock around it waits for.
//!
//! Every operation of a run is timed: a million requests that each name a new target, so that the
//! table grows all the way, then the changes of a cluster. Runs are alike, operation by operation,
//! so the time of an operation is the least of several runs; what the machine did besides is not
//! in it. Printed is the longest.

// The benchmarks are where this crate looks at a clock.
#![allow(clippy::disallowed_types)]

use policy::{
    Cluster, Desk, Entry, Instant, Outcome, POLICIES, Params, Request, ServerId, Spec, State,
    TargetId, Ticket, WARM,
};
use std::collections::VecDeque;
use std::time::{Duration, Instant as Clock};

const SERVERS: u16 = 16;
const TARGETS: u64 = 1_000_000;
const OPEN: usize = 800;
const RUNS: usize = 5;
const CHANGES: [&str; 6] = ["leave", "join", "weight", "down", "up", "leave, prepared"];

fn spec(number: u16) -> Spec {
    Spec { name: format!("s{number}").into(), weight: 1, capacity: None }
}

fn desk(entry: &Entry) -> Desk {
    let mut cluster = Cluster::new(0.5);
    for number in 0..SERVERS {
        cluster.join(spec(number), State::Up, Instant::ZERO).expect("sixteen fit");
    }
    Desk::new((entry.build)(&Params::new(entry.params)), cluster, 1)
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let begun = Clock::now();
    let result = work();
    times.push(begun.elapsed());
    result
}

/// Asks for `targets` targets that are all new, each request timed.
fn fill(desk: &mut Desk, targets: u64) -> Vec<Duration> {
    let mut times = Vec::with_capacity(targets as usize);
    let mut open: VecDeque<Ticket> = VecDeque::new();
    for number in 0..targets {
        let target = TargetId((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (at, class) = (Instant(number), policy::Class::STATIC);
        let request = Request { at, target, class, holder: None };
        let (_, ticket) = timed(&mut times, || desk.assign(&request, &[])).expect("all are up");
        open.push_back(ticket);
        if open.len() > OPEN {
            let oldest = open.pop_front().expect("there are more than none");
            desk.finish(oldest, Outcome { at, ok: true, first_byte: None });
        }
    }
    for ticket in open {
        desk.finish(ticket, Outcome { at: Instant(targets), ok: true, first_byte: None });
    }
    times
}

/// The changes of [`CHANGES`], each timed.
fn change(desk: &mut Desk) -> Vec<Duration> {
    let mut times = Vec::new();
    let id = ServerId(3);
    let mut change = |work: fn(&mut Desk, ServerId)| timed(&mut times, || work(desk, id));
    change(|desk, id| desk.leave(id));
    change(|desk, id| assert_eq!(desk.join(spec(id.0), State::Up, Instant::ZERO), Some(id)));
    change(|desk, id| desk.set_share(id, 2, WARM));
    change(|desk, id| desk.set_state(id, State::Down));
    change(|desk, id| desk.set_state(id, State::Up));
    if let Some(work) = desk.prepare(|edit| edit.leave(id)) {
        work();
    }
    timed(&mut times, || desk.leave(id));
    times
}

/// The least time of each operation over several runs.
fn least(runs: Vec<Vec<Duration>>) -> Vec<Duration> {
    let shorter = |one: Vec<Duration>, other: Vec<Duration>| {
        one.into_iter().zip(other).map(|(one, other)| one.min(other)).collect()
    };
    runs.into_iter().reduce(shorter).unwrap_or_default()
}

fn print(entry: &Entry, targets: u64, runs: usize) {
    let (mut asked, mut changed) = (Vec::new(), Vec::new());
    // Kept to the end, so that each run has to have its memory from the system.
    let mut desks: Vec<Desk> = (0..runs).map(|_| desk(entry)).collect();
    for desk in &mut desks {
        asked.push(fill(desk, targets));
        changed.push(change(desk));
    }
    let us = |time: &Duration| time.as_nanos() as f64 / 1e3;
    let longest = least(asked).iter().map(us).fold(0.0, f64::max);
    print!("{:<17} request {longest:>8.1} us  ", entry.name);
    for (name, time) in CHANGES.iter().zip(least(changed)) {
        print!(" {name} {:>8.1} us", us(&time));
    }
    println!();
}

fn main() {
    // `cargo bench` says so; under `cargo test` this only has to run.
    let measured = std::env::args().any(|word| word == "--bench");
    let (targets, runs) = if measured { (TARGETS, RUNS) } else { (1_000, 1) };
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let wanted = |entry: &&Entry| wanted.as_ref().is_none_or(|name| name == entry.name);
    POLICIES.iter().filter(wanted).for_each(|entry| print(entry, targets, runs));
}
