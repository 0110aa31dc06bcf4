//! How often something took how long, as plain data.

use serde::{Deserialize, Serialize};

/// Bounds that suit a relay, in seconds: the 14 that OpenTelemetry advises for HTTP, and four
/// below them, because a cached reply over a local network takes less than 5 ms.
pub const LATENCY_BOUNDS_S: [f64; 18] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0,
    2.5, 5.0, 7.5, 10.0,
];

/// How often something took how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper bounds of the buckets, rising; a value equal to a bound is below it.
    upper_s: Vec<f64>,
    /// Values in each bucket, not cumulated; one more than bounds, for what is above the last.
    counts: Vec<u64>,
    /// Sum of all values.
    sum_s: f64,
}

impl Histogram {
    /// `counts` per bucket, not cumulated, has one more element than `upper_s`.
    ///
    /// # Panics
    /// When the lengths disagree or the bounds do not rise: the program's mistake.
    pub fn new(upper_s: &[f64], counts: Vec<u64>, sum_s: f64) -> Self {
        assert_eq!(counts.len(), upper_s.len() + 1, "a bucket above the last bound");
        assert!(upper_s.is_sorted_by(|a, b| a < b), "bounds of buckets rise");
        Self { upper_s: upper_s.to_vec(), counts, sum_s }
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of all values, in seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_s
    }

    /// The mean in seconds; `None` without values.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_s / self.count() as f64)
    }

    /// Each bucket's upper bound in seconds, the last infinite, with the number of values in it,
    /// not cumulated.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.upper_s.iter().copied().chain([f64::INFINITY]);
        bounds.zip(self.counts.iter().copied())
    }

    /// The value in seconds that the share `q` (0 to 1) of all values does not exceed, found by a
    /// straight line within its bucket as Prometheus does; the last finite bound when it lies
    /// above that; `None` without values.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        let rank = q.clamp(0.0, 1.0) * self.count() as f64;
        let (mut lower, mut below) = (0.0, 0.0);
        for (upper, count) in self.upper_s.iter().zip(&self.counts) {
            let count = *count as f64;
            if count > 0.0 && below + count >= rank {
                return Some(lower + (upper - lower) * ((rank - below) / count).max(0.0));
            }
            (lower, below) = (*upper, below + count);
        }
        (self.count() > 0).then_some(lower)
    }

    /// Adds the values of `other` if its buckets are the same (or there are none here yet);
    /// otherwise changes nothing and returns false.
    pub fn merge(&mut self, other: &Self) -> bool {
        if self.counts.is_empty() {
            *self = other.clone();
        } else if self.upper_s == other.upper_s {
            self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
            self.sum_s += other.sum_s;
        }
        self.upper_s == other.upper_s
    }

    /// The values that came after `earlier`, a former state of the same histogram; all of them
    /// when its buckets are others.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = self.clone();
        if self.upper_s == earlier.upper_s {
            let counts = later.counts.iter_mut().zip(&earlier.counts);
            counts.for_each(|(now, then)| *now = now.saturating_sub(*then));
            later.sum_s = (self.sum_s - earlier.sum_s).max(0.0);
        }
        later
    }
}

#[cfg(test)]
mod tests {
    //! Method: small histograms whose quantiles can be seen.

    use super::*;

    #[test]
    fn quantiles_lie_on_a_straight_line_within_their_bucket() {
        let histogram = Histogram::new(&[1.0, 2.0, 4.0], vec![10, 0, 10, 0], 35.0);
        for (q, value_s) in [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0), (0.75, 3.0), (1.0, 4.0)] {
            assert_eq!(histogram.quantile_s(q), Some(value_s), "{q}");
        }
        assert_eq!(histogram.mean_s(), Some(1.75));
        let above = Histogram::new(&[1.0, 2.0], vec![0, 0, 5], 50.0);
        assert_eq!(above.quantile_s(0.5), Some(2.0), "no more is known than the last bound");
        assert_eq!(Histogram::default().quantile_s(0.5), None);
        assert_eq!(Histogram::default().mean_s(), None);
    }

    #[test]
    fn histograms_add_up_and_take_away_only_when_their_buckets_agree() {
        let one = Histogram::new(&[1.0], vec![1, 2], 5.0);
        let mut sum = Histogram::default();
        assert!(sum.merge(&one) && sum.merge(&one));
        assert_eq!(sum, Histogram::new(&[1.0], vec![2, 4], 10.0));
        assert_eq!(sum.since(&one), one);
        let other = Histogram::new(&[2.0], vec![1, 1], 1.0);
        assert!(!sum.merge(&other));
        assert_eq!(sum.count(), 6);
    }

    #[test]
    #[should_panic(expected = "a bucket above the last bound")]
    fn a_histogram_without_its_last_bucket_is_our_mistake() {
        let _ = Histogram::new(&[1.0], vec![1], 1.0);
    }
}
