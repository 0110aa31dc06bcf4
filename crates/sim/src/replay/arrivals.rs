//! When requests of a log arrive in an open loop.
//!
//! A log with whole seconds does not say when within its second a request came. As such a burst at
//! every full second never happened, each request of the same stamp is drawn at a random point of
//! the stamp's span, which is how a Poisson process looks that is known to have had so many
//! events there. Each seed draws anew: what differs between seeds is what the log does not say.

use super::Demand;
use core::time::Duration;
use policy::{Dice, Instant};

/// The clock of a run in an open loop.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    dice: Dice,
    speed: f64,
    /// What one stamp of the log spans in the run, in nanoseconds.
    grain_ns: u64,
    /// The latest stamp, and the latest arrival: time does not go back, where a log does.
    stamp: Instant,
    last: Instant,
}

impl Arrivals {
    /// Arrivals of a log whose stamps tell `grain` apart, `speed` times as fast.
    pub(crate) fn new(seed: u64, grain: Duration, speed: f64) -> Self {
        let grain_ns = (grain.as_nanos() as f64 / speed) as u64;
        let (stamp, last) = (Instant::ZERO, Instant::ZERO);
        Self { dice: Dice::new(seed), speed, grain_ns, stamp, last }
    }

    /// Puts the arrival of each demand into `into`, in order. Demands of equal stamps come in one
    /// call if they can: those of a later call come after all of an earlier one.
    pub(crate) fn fill(&mut self, demands: &[Demand], into: &mut Vec<Instant>) {
        into.clear();
        for same in demands.chunk_by(|one, next| one.at == next.at) {
            self.stamp = self.stamp.max(Instant((same[0].at.0 as f64 / self.speed) as u64));
            let from = into.len();
            for _ in same {
                into.push(self.draw());
            }
            into[from..].sort_unstable();
            self.last = into.last().copied().unwrap_or(self.last);
        }
    }

    fn draw(&mut self) -> Instant {
        let within = (u128::from(self.dice.bits()) * u128::from(self.grain_ns)) >> 64;
        Instant(self.stamp.0.saturating_add(within as u64)).max(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Class;

    fn demands(seconds: &[u64]) -> Vec<Demand> {
        let demand = |second: &u64| Demand {
            at: Instant(second * 1_000_000_000),
            target: 0,
            client: 0,
            size_bytes: 1,
            reply_bytes: 1,
            cpu_ns: 1,
            disk_ns: 1,
            wait_ns: 0,
            miss_wait_ns: 0,
            cacheable: 1.0,
            judged: false,
            class: Class::STATIC,
        };
        seconds.iter().map(demand).collect()
    }

    #[test]
    fn requests_of_one_second_are_spread_over_it_in_order() {
        let mut arrivals = Arrivals::new(1, Duration::from_secs(1), 2.0);
        let mut found = Vec::new();
        arrivals.fill(&demands(&[0, 0, 0, 5, 5, 4]), &mut found);
        assert!(found.is_sorted(), "{found:?}");
        let halves: Vec<u64> = found.iter().map(|at| at.0 / 500_000_000).collect();
        assert_eq!(halves, [0, 0, 0, 5, 5, 5], "twice as fast, and never back: {found:?}");
        assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>().len(), 6);
    }

    #[test]
    fn a_second_seed_draws_other_times_and_an_exact_log_leaves_nothing_to_draw() {
        let times = |seed, grain| {
            let mut found = Vec::new();
            Arrivals::new(seed, grain, 1.0).fill(&demands(&[1, 1, 2]), &mut found);
            found
        };
        assert_ne!(times(1, Duration::from_secs(1)), times(2, Duration::from_secs(1)));
        assert_eq!(
            times(1, Duration::ZERO),
            demands(&[1, 1, 2]).iter().map(|d| d.at).collect::<Vec<_>>()
        );
    }
}
