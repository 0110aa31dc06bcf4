//! A queue with several servers of equal speed, first come, first served: the cores of a CPU, or
//! how many misses a server works on at once.
//!
//! Nobody overtakes on the way in and demands are known on entry, so the time of completion is,
//! too: whoever enters takes the lane that is free first (Kiefer and Wolfowitz, 1955).

use core::time::Duration;
use policy::Instant;

/// Lanes with one queue before them.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// When each lane will have done all that it was given.
    free_at: Vec<Instant>,
    /// The demand of all that ever entered, in nanoseconds.
    given_ns: u64,
}

impl Lanes {
    /// Idle lanes, at least one.
    pub(crate) fn new(count: usize) -> Self {
        Self { free_at: vec![Instant::ZERO; count.max(1)], given_ns: 0 }
    }

    /// Takes in work of `demand_ns` nanoseconds, and says when it will be done. Calls of one server
    /// come in the order in which the work may begin.
    #[inline]
    pub(crate) fn enter(&mut self, from: Instant, demand_ns: u64) -> Instant {
        let lane = match self.free_at.as_mut_slice() {
            [only] => only,
            several => several.iter_mut().min_by_key(|at| at.0).expect("there is a lane"),
        };
        let begun = lane.0.max(from.0);
        lane.0 = begun.saturating_add(demand_ns);
        self.given_ns = self.given_ns.saturating_add(demand_ns);
        *lane
    }

    /// The work ever given, per lane.
    pub(crate) fn given(&self) -> Duration {
        Duration::from_nanos(self.given_ns / self.free_at.len() as u64)
    }

    /// The work done by `now`, per lane: the integral of utilisation. A lane that is given work
    /// that begins later than `now` counts as busy till then.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        let ahead: Duration = self.free_at.iter().map(|at| at.since(now)).sum();
        self.given().saturating_sub(ahead / self.free_at.len() as u32)
    }
}

/// So many nanoseconds after `at`, no later than [`Instant::NEVER`].
#[inline]
pub(crate) fn after(at: Instant, span_ns: u64) -> Instant {
    at.plus(Duration::from_nanos(span_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lane_serves_in_order_and_two_serve_side_by_side() {
        let ends = |count| {
            let mut lanes = Lanes::new(count);
            [(0, 10), (1, 10), (2, 1), (40, 5)].map(|(at, ns)| lanes.enter(Instant(at), ns).0)
        };
        assert_eq!(ends(1), [10, 20, 21, 45]);
        assert_eq!(ends(2), [10, 11, 11, 45]);
    }

    #[test]
    fn work_that_is_queued_is_not_yet_done() {
        let mut lanes = Lanes::new(1);
        lanes.enter(Instant(0), 10);
        lanes.enter(Instant(0), 10);
        assert_eq!(lanes.given(), Duration::from_nanos(20));
        assert_eq!(lanes.busy(Instant(5)), Duration::from_nanos(5));
        assert_eq!(lanes.busy(Instant(50)), Duration::from_nanos(20));
    }
}
