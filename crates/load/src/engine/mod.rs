//! The engine of the open-loop client: threads that each look after their share of the sessions,
//! with one epoll set and one timer, no runtime and no allocation for a request.
//!
//! `worker` is a thread's turn, `play` what users do, `exchange` what happens on connections,
//! `source` what sessions ask for, `arrivals` when they come, `tally` what is counted,
//! `cut_off` what of that is under way at the end.

mod arrivals;
mod clock;
mod conn;
mod cut_off;
mod exchange;
mod play;
mod run;
mod source;
mod table;
mod tally;
#[cfg(test)]
mod tests;
mod user;
mod worker;

pub use arrivals::arrivals_seed;
pub use run::{RunError, run};

use crate::{Scenario, Users};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;
use std::time::Instant;
use tally::Tally;

/// What the threads of a run share.
struct Shared<'a> {
    scenario: &'a Scenario,
    threads: usize,
    /// When the run began.
    zero: Instant,
    /// Closed loop: the number of the session that begins next.
    next: AtomicU64,
    /// Whether to stop: the caller's wish, and because a thread could not go on.
    stop: &'a AtomicBool,
    broken: AtomicBool,
    /// Takes which thread reports, how long it has measured, in nanoseconds, and what it counted.
    reports: Sender<(usize, u64, Tally)>,
}

impl Shared<'_> {
    fn is_closed(&self) -> bool {
        matches!(self.scenario.users, Users::Closed(_))
    }

    /// How many clients a thread has in a closed loop.
    fn clients(&self, thread: usize) -> usize {
        let Users::Closed(clients) = self.scenario.users else { return 0 };
        let clients = clients.max(1);
        clients / self.threads + usize::from(thread < clients % self.threads)
    }
}
