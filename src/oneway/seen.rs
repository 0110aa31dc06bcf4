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
    /// What the kernel had relayed by order when this process began.
    verdicts_before: u64,
    /// Requests that the kernel relayed without asking again, because a rule says so.
    repeated: AtomicU64,
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
    /// Begins to count when the kernel had relayed so many by order.
    pub(super) fn since(verdicts_before: u64) -> Self {
        Self { verdicts_before, ..Self::default() }
    }

    /// Takes note of how many the kernel has relayed by order. What was not answered just so was
    /// repeated, and of all verdicts for the relay it may repeat those of rules alone.
    pub(super) fn verdicts(&self, verdicts: u64) {
        // In this order: an answer is counted before the kernel counts it.
        let answered: u64 = self.locals.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        let since = verdicts.saturating_sub(self.verdicts_before);
        self.repeated.fetch_max(since.saturating_sub(answered), Ordering::Relaxed);
    }

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

    /// Requests that were for the relay by an answer, just given or repeated, by reason.
    pub(super) fn by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let repeated = |why| match why {
            Local::RuleSaysRelay => self.repeated.load(Ordering::Relaxed),
            _ => 0,
        };
        let count =
            move |why: Local| self.locals[why.index()].load(Ordering::Relaxed) + repeated(why);
        Local::ALL.iter().map(move |why| (why.name(), count(*why)))
    }
}
