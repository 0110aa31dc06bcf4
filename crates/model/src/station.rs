//! A queue with one server in virtual time: first come, first served. CPUs and disks are stations.
//!
//! Because nobody overtakes and demands are known on entry, the time of completion is known on
//! entry too (Lindley's recursion, 1952): no event is needed to find it.

use core::time::Duration;
use policy::Instant;
use std::collections::VecDeque;

/// A single server with its queue.
#[derive(Clone, Debug, Default)]
pub struct Station {
    /// When it will have done all that it was given.
    free_at: Instant,
    /// The demand of all that ever entered.
    given: Duration,
    /// The time that all who ever entered wait before being served.
    waited: Duration,
    entered: u64,
    /// When those who are still inside leave, in order.
    leaving: VecDeque<Instant>,
}

impl Station {
    /// Takes in work that needs `demand`, and says when it will be done. Calls come in the order
    /// of `now`.
    pub fn enter(&mut self, now: Instant, demand: Duration) -> Instant {
        self.leave_until(now);
        let start = self.free_at.max(now);
        self.free_at = start.plus(demand);
        self.given = self.given.saturating_add(demand);
        self.waited = self.waited.saturating_add(start.since(now));
        self.entered += 1;
        self.leaving.push_back(self.free_at);
        self.free_at
    }

    /// How many are inside at `now`, the one in service included.
    pub fn queue(&mut self, now: Instant) -> usize {
        self.leave_until(now);
        self.leaving.len()
    }

    /// When it will be idle if nobody else enters; in the past when it is idle.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// How long it has been busy from the beginning to `now`: the integral of utilisation.
    pub fn busy(&self, now: Instant) -> Duration {
        self.given.saturating_sub(self.free_at.since(now))
    }

    /// The busy share of the time from the beginning to `now`, 0 to 1.
    pub fn utilisation(&self, now: Instant) -> f64 {
        let span = now.since(Instant::ZERO).as_secs_f64();
        if span == 0.0 { 0.0 } else { self.busy(now).as_secs_f64() / span }
    }

    /// How many entered ever.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// The time that all who entered have spent inside from the beginning to `now`: the integral of
    /// the queue, the one in service included.
    pub fn inside(&self, now: Instant) -> Duration {
        let ahead: Duration = self.leaving.iter().map(|at| at.since(now)).sum();
        self.given.saturating_add(self.waited).saturating_sub(ahead)
    }

    /// The mean time from entry to the start of service, of all that entered.
    pub fn wait_mean(&self) -> Duration {
        let mean_ns = self.waited.as_nanos().checked_div(u128::from(self.entered)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean_ns).unwrap_or(u64::MAX))
    }

    fn leave_until(&mut self, now: Instant) {
        while self.leaving.front().is_some_and(|at| *at <= now) {
            self.leaving.pop_front();
        }
    }
}
