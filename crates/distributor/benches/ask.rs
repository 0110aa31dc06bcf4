//! What it costs a worker to ask the one desk of the process: behind a lock, or on a thread of its
//! own. The figures behind docs/decisions/0003.
//!
//! `cargo bench -p distributor --bench ask`. Each asker takes a decision and gives the place back,
//! as for one request; targets are drawn from 100,000 by a rough Zipf. Wall time over all
//! decisions of all askers, median of five.

use policy::{
    Class, Cluster, Desk, Dice, Instant, Outcome, Params, Request, Spec, State, TargetId,
};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Clock};

const DECISIONS: usize = 200_000;
const SERVERS: usize = 16;
const TARGETS: f64 = 100_000.0;
const ROUNDS: usize = 5;

fn desk() -> Desk {
    let row = policy::entry("lard-r").expect("LARD/R is a row of POLICIES");
    let mut desk = Desk::new((row.build)(&Params::new(row.params)), Cluster::new(0.0), 1);
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
    let desk = Arc::new(Mutex::new(desk()));
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
        let mut desk = desk();
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

fn main() {
    println!("ns per decision (LARD/R, {SERVERS} servers), begun and ended");
    println!("askers   behind a lock   on a thread of its own");
    for askers in [1, 2, 4] {
        let (lock, thread) = (median(|| behind_a_lock(askers)), median(|| on_a_thread(askers)));
        println!("{askers:>6} {lock:>15.0} {thread:>24.0}");
    }
}
