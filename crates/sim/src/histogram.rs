//! How often which latency: buckets that widen with the value, so that every percentile is within
//! 1.6 % at any scale (the idea of HdrHistogram, Gil Tene).

use core::time::Duration;

/// Buckets of each doubling: 2 to the power of this.
const FINE_BITS: u32 = 5;
const FINE: u64 = 1 << FINE_BITS;

/// Buckets up to the largest span.
const BUCKETS: usize = ((64 - FINE_BITS as usize) + 1) << FINE_BITS;

/// Counts of spans of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum_ns: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, sum_ns: 0 }
    }
}

impl Histogram {
    /// Counts one.
    #[inline]
    pub fn count(&mut self, span_ns: u64) {
        self.counts[bucket(span_ns)] += 1;
        self.total += 1;
        self.sum_ns += u128::from(span_ns);
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (own, count) in self.counts.iter_mut().zip(&other.counts) {
            *own += count;
        }
        self.total += other.total;
        self.sum_ns += other.sum_ns;
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Their mean; zero of none.
    pub fn mean(&self) -> Duration {
        let mean_ns = self.sum_ns.checked_div(u128::from(self.total)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean_ns).unwrap_or(u64::MAX))
    }

    /// What a share of `quantile` (0 to 1) did not exceed: the middle of its bucket; zero of none.
    pub fn quantile(&self, quantile: f64) -> Duration {
        Duration::from_nanos(self.bucket_at(quantile).map_or(0, middle_ns))
    }

    /// The same, as the least span of its bucket: at most 1/32 too short, never too long.
    pub fn least(&self, quantile: f64) -> Duration {
        Duration::from_nanos(self.bucket_at(quantile).map_or(0, least_ns))
    }

    fn bucket_at(&self, quantile: f64) -> Option<usize> {
        let wanted = (quantile.clamp(0.0, 1.0) * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })
    }
}

fn bucket(span_ns: u64) -> usize {
    if span_ns < FINE {
        return span_ns as usize;
    }
    let doubling = u64::from(span_ns.ilog2() - FINE_BITS);
    (((doubling + 1) << FINE_BITS) | ((span_ns >> doubling) & (FINE - 1))) as usize
}

/// How far the buckets of a doubling are apart, as a power of two, and which of them it is.
fn place(bucket: usize) -> (Option<u64>, u64) {
    let (doubling, fine) = ((bucket >> FINE_BITS) as u64, bucket as u64 & (FINE - 1));
    (doubling.checked_sub(1), fine)
}

fn least_ns(bucket: usize) -> u64 {
    match place(bucket) {
        (None, fine) => fine,
        (Some(doubling), fine) => (FINE | fine) << doubling,
    }
}

fn middle_ns(bucket: usize) -> u64 {
    let half = place(bucket).0.map_or(0, |doubling| (1 << doubling) >> 1);
    least_ns(bucket) + half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_a_bucket_whose_middle_is_near() {
        for exponent in 0..63 {
            for extra in [0, 1, 3, 7] {
                let value = (1_u64 << exponent) + (extra << exponent) / 9;
                let middle = middle_ns(bucket(value));
                let off = middle.abs_diff(value) as f64 / value as f64;
                assert!(off <= 1.0 / 64.0, "{value} is counted as {middle}");
            }
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn percentiles_are_those_of_what_was_counted() {
        let mut one = Histogram::default();
        let mut other = Histogram::default();
        for ms in 1..=500_u64 {
            one.count(ms * 1_000_000);
            other.count((ms + 500) * 1_000_000);
        }
        one.merge(&other);
        for (quantile, ms) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = one.quantile(quantile).as_secs_f64() * 1e3;
            assert!((found / ms - 1.0).abs() < 0.016, "{quantile}: {found}");
        }
        assert_eq!(one.mean(), Duration::from_micros(500_500));
        assert_eq!((one.total(), Histogram::default().quantile(0.5)), (1000, Duration::ZERO));
    }
}
