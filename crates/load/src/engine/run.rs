//! A run: its threads, and what they report put together.

use super::Shared;
use super::arrivals::Times;
use super::clock::Processor;
use super::tally::{SLICE_NS, Tally};
use super::worker::{Beginnings, Worker};
use crate::{Outcome, Scenario, Users};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often progress is shown, about.
const PROGRESS: Duration = Duration::from_millis(80);

/// Why a run did not take place.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The arrivals have a rate or gaps that cannot be drawn.
    #[error(
        "these arrivals make no sense: rates must be 0 or more, mean gaps above 0, and steps \
             there must be at least one"
    )]
    Arrivals,
    /// Logged arrivals without a log.
    #[error("logged arrivals need the sessions of a trace; visits and single objects have none")]
    NoTrace,
    /// The object cannot be asked for.
    #[error(
        "{0} is nothing that a request can name: no spaces, no line ends, a path that begins \
             with a slash"
    )]
    Unsendable(String),
    /// The kernel refused an epoll set, a timer or a thread.
    #[error("cannot set up the client's event loop: {0}")]
    Events(std::io::Error),
}

/// Asks the server what the scenario says and reports what came of it.
///
/// `progress` is called about ten times a second on the caller's thread with what is known so far;
/// the slices in it are those that are over. When `stop` is true no more is sent, connections are
/// closed, and the outcome says what ended until then.
///
/// Uses as many threads as the scenario says besides the caller's, which only adds up.
///
/// # Errors
///
/// [`RunError`], before anything was asked. What goes wrong with requests is in the outcome.
pub fn run(
    scenario: &Scenario,
    mut progress: impl FnMut(&Outcome),
    stop: &AtomicBool,
) -> Result<Outcome, RunError> {
    let threads = scenario.threads.max(1);
    let (reports, inbox) = channel();
    let (next, broken) = (AtomicU64::new(0), AtomicBool::new(false));
    let zero = Instant::now();
    let shared = Shared { scenario, threads, zero, next, stop, broken, reports };
    let mut workers = Vec::new();
    for index in 0..threads {
        workers.push(Worker::new(&shared, index, beginnings(scenario)?)?);
    }
    let mut sum = Sum::new(threads);
    thread::scope(|scope| {
        let mut running = Vec::new();
        for worker in workers {
            let builder = thread::Builder::new().name("load".into());
            let shared = &shared;
            let work = move || {
                let ended = worker.run();
                if ended.is_err() {
                    shared.broken.store(true, Ordering::Relaxed);
                }
                ended
            };
            match builder.spawn_scoped(scope, work) {
                Ok(thread) => running.push(thread),
                Err(error) => {
                    shared.broken.store(true, Ordering::Relaxed);
                    return Err(RunError::Events(error));
                }
            }
        }
        let mut shown = Instant::now();
        while running.iter().any(|thread| !thread.is_finished()) {
            match inbox.recv_timeout(PROGRESS) {
                Ok((thread, measured_ns, tally)) => sum.add(thread, measured_ns, &tally),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if shown.elapsed() >= PROGRESS {
                shown = Instant::now();
                progress(sum.outcome());
            }
        }
        for thread in running {
            // A thread that panicked is a bug of ours or of the content check: no outcome then.
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(())
    })?;
    for (thread, measured_ns, tally) in inbox.try_iter() {
        sum.add(thread, measured_ns, &tally);
    }
    Ok(sum.finish())
}

fn beginnings(scenario: &Scenario) -> Result<Beginnings, RunError> {
    let Users::Open(arrivals) = &scenario.users else { return Ok(Beginnings::Closed) };
    let times = Times::new(arrivals, scenario)?;
    Ok(Beginnings::Open { times: Box::new(times), number: 0, next: None })
}

/// What the threads reported.
struct Sum {
    tally: Tally,
    /// How long each thread has measured, in nanoseconds, and what it had of the processors.
    threads: Vec<(u64, Processor)>,
    /// The slice that is over next.
    slice: u64,
}

impl Sum {
    fn new(threads: usize) -> Self {
        Self {
            tally: Tally::new(0, 0),
            threads: vec![(0, Processor::default()); threads],
            slice: 0,
        }
    }

    fn add(&mut self, thread: usize, measured_ns: u64, tally: &Tally) {
        let known = &mut self.threads[thread];
        known.0 = measured_ns;
        known.1.add_since(Processor::default(), tally.had);
        self.tally.add(tally);
        self.tally.outcome.stopped |= tally.outcome.stopped;
    }

    fn outcome(&mut self) -> &Outcome {
        let measured = self.threads.iter().map(|thread| thread.0);
        let least_ns = measured.clone().min().unwrap_or(0);
        let took_ns = measured.max().unwrap_or(0);
        self.slices(least_ns);
        let outcome = &mut self.tally.outcome;
        outcome.took = Duration::from_nanos(took_ns);
        let most = |of: fn(&Processor) -> u64| {
            let most_ns = self.threads.iter().map(|thread| of(&thread.1)).max().unwrap_or(0);
            most_ns as f64 / took_ns.max(1) as f64
        };
        outcome.pace.cpu = most(|had| had.ran_ns);
        outcome.pace.waited = most(|had| had.waited_ns);
        let answered = outcome.answered().max(1);
        outcome.pace.cpu_request_us = self.tally.had.ran_ns as f64 / 1000.0 / answered as f64;
        outcome
    }

    /// Finishes the slices that no thread counts in any more.
    fn slices(&mut self, measured_ns: u64) {
        while (self.slice + 1) * SLICE_NS <= measured_ns {
            let slice = self.tally.slices.remove(&self.slice);
            let slice = slice.map(|slice| slice.finish(self.slice, 1.0));
            self.tally.outcome.slices.extend(slice);
            self.slice += 1;
        }
    }

    fn finish(mut self) -> Outcome {
        self.outcome();
        let took_s = self.tally.outcome.took.as_secs_f64();
        for (number, slice) in std::mem::take(&mut self.tally.slices) {
            let began_s = (number * SLICE_NS) as f64 / 1e9;
            let length_s = (took_s - began_s).min(SLICE_NS as f64 / 1e9);
            if length_s > 0.0 {
                self.tally.outcome.slices.push(slice.finish(number, length_s));
            }
        }
        self.tally.outcome
    }
}
