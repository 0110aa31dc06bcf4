//! What is counted of one-way delivery on this side, and how that is shown together with what the
//! kernel counts.

use super::reason::Local;
use distributor::journal::Delivered;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the threads here. Written rarely beside what the kernel does by itself.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Questions that were answered, by what the answer came to.
    delivered: [AtomicU64; Delivered::ALL.len()],
    /// Of these, those for the relay, by reason.
    locals: [AtomicU64; Local::ALL.len()],
    /// Answers that the kernel refused.
    pub(super) unanswered: Count,
    /// Connections reset because their server is down.
    pub(super) reset: Count,
    /// Connections closed for their silence.
    pub(super) idle: Count,
    /// Connections that an agent did not know.
    pub(super) disowned: Count,
    /// Connections forgotten after their end.
    pub(super) forgotten: Count,
    /// Books that did not agree with the connections there are.
    pub(super) corrected: Count,
}

/// A number that several threads add to.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, amount: usize) {
        self.0.fetch_add(amount as u64, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Seen {
    pub(super) fn delivered(&self, how: Delivered) {
        self.delivered[how as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn local(&self, why: Local) {
        self.delivered(Delivered::Relay);
        self.locals[why.index()].fetch_add(1, Ordering::Relaxed);
    }

    /// Questions by what the answer came to.
    pub(super) fn by_delivery(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = Delivered::ALL.iter().filter(|how| **how != Delivered::Splice);
        all.map(|how| (how.name(), self.delivered[*how as usize].load(Ordering::Relaxed)))
    }

    /// Questions answered for the relay, by reason.
    pub(super) fn by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = Local::ALL.iter();
        all.map(|why| (why.name(), self.locals[why.index()].load(Ordering::Relaxed)))
    }
}
