//! What is counted while a cluster is simulated.

use core::time::Duration;
use model::Source;
use policy::Instant;

/// Parts into which each power of two of [`Delays`] is cut: an error below 1/32.
const PARTS: u64 = 32;

/// Delays, counted in classes that are at most 1/32 wide: any number of them in 15 kB.
#[derive(Clone, Debug)]
pub struct Delays {
    classes: Vec<u64>,
    count: u64,
    sum_ns: u128,
}

impl Default for Delays {
    fn default() -> Self {
        Self { classes: vec![0; class_of(u64::MAX) + 1], count: 0, sum_ns: 0 }
    }
}

/// The class of a delay: below [`PARTS`] its own, above by its highest six bits.
fn class_of(delay_ns: u64) -> usize {
    let bits = u64::BITS - (delay_ns | PARTS).leading_zeros() - 6;
    (u64::from(bits) * PARTS + (delay_ns >> bits)) as usize
}

/// The least delay of a class.
fn least_of(class: usize) -> u64 {
    let class = class as u64;
    let bits = (class / PARTS).saturating_sub(1);
    (class - bits * PARTS) << bits
}

impl Delays {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.classes[class_of(delay_ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(delay_ns);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; zero of none.
    pub fn mean(&self) -> Duration {
        let mean_ns = self.sum_ns.checked_div(u128::from(self.count)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean_ns).unwrap_or(u64::MAX))
    }

    /// The delay that a `share` (0 to 1) of them does not exceed, to 1/32; zero of none.
    pub fn percentile(&self, share: f64) -> Duration {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (class, count) in self.classes.iter().enumerate() {
            below += count;
            if below >= rank {
                return Duration::from_nanos(least_of(class));
            }
        }
        Duration::ZERO
    }
}

/// Of the cluster, since `since`.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    pub(super) since: Instant,
    pub(super) answered: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) coalesced: u64,
    /// Reads that the cache did not get.
    pub(super) unkept: u64,
    pub(super) handed: u64,
    pub(super) moved: u64,
    pub(super) forwarded: u64,
    pub(super) left: u64,
    pub(super) open_ns: u128,
    pub(super) delays: Delays,
    /// What the front-end, the layer-4 stage and the dispatcher had been busy at `since`.
    pub(super) front_busy: Duration,
    pub(super) layer4_busy: Duration,
    pub(super) dispatcher_busy: Duration,
}

impl Meter {
    #[inline]
    pub(super) fn source(&mut self, source: Source) {
        match source {
            Source::Hit => self.hits += 1,
            Source::Miss => self.misses += 1,
            Source::Coalesced => self.coalesced += 1,
            Source::Bypass => self.unkept += 1,
        }
    }
}

/// Of one node, since the meter's `since`.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeMeter {
    /// Connections it has, and since when.
    open: u32,
    at: Instant,
    open_ns: u128,
    idle_ns: u64,
    pub(super) requests: u64,
    pub(super) reads: u64,
    /// What it had been busy at `since`, less what it was busy before it went down.
    pub(super) cpu_before: Signed,
    pub(super) disk_before: Signed,
}

/// A span in nanoseconds that may be negative.
pub(super) type Signed = i128;

impl NodeMeter {
    /// Counts up to `now`.
    #[inline]
    pub(super) fn count(&mut self, now: Instant, idle_below: u32) {
        let span_ns = now.0.saturating_sub(self.at.0);
        self.open_ns += u128::from(self.open) * u128::from(span_ns);
        if self.open < idle_below {
            self.idle_ns += span_ns;
        }
        self.at = self.at.max(now);
    }

    /// It has one connection more.
    #[inline]
    pub(super) fn open(&mut self, now: Instant, idle_below: u32) {
        self.count(now, idle_below);
        self.open += 1;
    }

    /// It has one connection less.
    #[inline]
    pub(super) fn close(&mut self, now: Instant, idle_below: u32) {
        self.count(now, idle_below);
        self.open = self.open.checked_sub(1).expect("what is closed was open");
    }

    /// Starts again.
    pub(super) fn begin(&mut self, now: Instant) {
        *self = Self { open: self.open, at: now, ..Self::default() };
    }

    /// Connections it has.
    pub(super) fn connections(&self) -> u32 {
        self.open
    }

    /// Mean number of connections over `span`, and the share of it with few.
    pub(super) fn means(&self, span: Duration) -> (f64, f64) {
        let span_ns = (span.as_nanos() as f64).max(1.0);
        (self.open_ns as f64 / span_ns, self.idle_ns as f64 / span_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_lies_in_the_class_that_says_so_to_one_part_in_32() {
        for shift in 0..64 {
            for delay_ns in [1_u64 << shift, (1 << shift) + (1 << shift) / 3, (1 << shift) - 1] {
                let least = least_of(class_of(delay_ns));
                assert!(least <= delay_ns, "{delay_ns} is in the class from {least}");
                assert!(delay_ns - least <= delay_ns / 32, "{delay_ns}: {least}");
            }
        }
        assert!((0..class_of(u64::MAX)).all(|class| class_of(least_of(class)) == class));
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let mut delays = Delays::default();
        (1..=1000).for_each(|ms| delays.add(Duration::from_millis(ms)));
        for (share, ms) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = delays.percentile(share).as_secs_f64() * 1e3;
            assert!(found <= ms && found > ms * (1.0 - 1.0 / 32.0), "{share}: {found}");
        }
        assert_eq!(delays.mean(), Duration::from_micros(500_500));
        assert_eq!(Delays::default().percentile(0.5), Duration::ZERO);
    }
}
