//! What Prequal's servers estimate latency from: the latest samples, each with the number of
//! requests in flight it was taken at.
//!
//! In the paper a server keeps them itself and answers a probe with the median of those taken at
//! about its present number. Here one small ring for each server keeps the last few, and the
//! nearest of them count.

use crate::{Load, ServerId};
use core::time::Duration;

/// Samples kept of a server (ours: the paper says "recent").
const SAMPLES_MAX: usize = 32;

/// Samples the median is taken of: those whose number of requests in flight is nearest.
const NEAREST: usize = 9;

/// What was seen of one request.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    rif: Load,
    latency: Duration,
}

/// The samples of one server.
#[derive(Clone, Debug, Default)]
struct Ring {
    samples: [Sample; SAMPLES_MAX],
    /// Samples ever taken.
    count: usize,
}

/// The samples of all servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    /// By slot; a server without requests takes no room.
    rings: Vec<Option<Box<Ring>>>,
}

impl Latencies {
    /// Takes the latency of a request that ended with `rif` in flight, itself included.
    pub(crate) fn push(&mut self, id: ServerId, rif: Load, latency: Duration) {
        if self.rings.len() <= id.index() {
            self.rings.resize(id.index() + 1, None);
        }
        let ring = self.rings[id.index()].get_or_insert_default();
        ring.samples[ring.count % SAMPLES_MAX] = Sample { rif, latency };
        ring.count += 1;
    }

    /// The median latency at about `rif` in flight; zero as long as nothing is known, so that a
    /// new server is tried.
    pub(crate) fn at(&self, id: ServerId, rif: Load) -> Duration {
        let Some(Some(ring)) = self.rings.get(id.index()) else { return Duration::ZERO };
        let mut samples = ring.samples;
        let samples = &mut samples[..ring.count.min(SAMPLES_MAX)];
        let nearest = if samples.len() > NEAREST {
            samples.select_nth_unstable_by_key(NEAREST, |sample| sample.rif.0.abs_diff(rif.0)).0
        } else {
            samples
        };
        let middle = nearest.len() / 2;
        nearest.select_nth_unstable_by_key(middle, |sample| sample.latency).1.latency
    }

    /// Forgets a server.
    pub(crate) fn forget(&mut self, id: ServerId) {
        if let Some(ring) = self.rings.get_mut(id.index()) {
            *ring = None;
        }
    }
}

/// The last values of something, sorted.
#[derive(Clone, Debug)]
pub(crate) struct Quantiles {
    /// By age; a ring once it is full.
    kept: Vec<Load>,
    sorted: Vec<Load>,
    /// Place of the next to be replaced.
    oldest: usize,
    count_max: usize,
}

impl Quantiles {
    /// Of the last `count_max` values.
    pub(crate) const fn new(count_max: usize) -> Self {
        Self { kept: Vec::new(), sorted: Vec::new(), oldest: 0, count_max }
    }

    /// Takes a value in, and the oldest out.
    pub(crate) fn push(&mut self, value: Load) {
        if self.kept.len() < self.count_max {
            self.kept.push(value);
        } else {
            let gone = core::mem::replace(&mut self.kept[self.oldest], value);
            self.oldest = (self.oldest + 1) % self.count_max;
            let place = self.sorted.partition_point(|kept| *kept < gone);
            self.sorted.remove(place);
        }
        let place = self.sorted.partition_point(|kept| *kept < value);
        self.sorted.insert(place, value);
    }

    /// The least value that a part `quantile`, 0 to 1, of the values does not exceed.
    pub(crate) fn quantile(&self, quantile: f64) -> Option<Load> {
        let place = (quantile * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(place.saturating_sub(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_median_is_of_the_samples_nearest_in_load() {
        let mut latencies = Latencies::default();
        let server = ServerId(3);
        assert_eq!(latencies.at(server, Load::ONE), Duration::ZERO, "nothing known");
        for _ in 0..16 {
            latencies.push(server, Load::of(1), MS);
            latencies.push(server, Load::of(50), 40 * MS);
        }
        assert_eq!(latencies.at(server, Load::of(2)), MS);
        assert_eq!(latencies.at(server, Load::of(40)), 40 * MS);
        latencies.forget(server);
        assert_eq!(latencies.at(server, Load::of(2)), Duration::ZERO);
    }

    #[test]
    fn old_samples_give_way() {
        let mut latencies = Latencies::default();
        for _ in 0..SAMPLES_MAX {
            latencies.push(ServerId(0), Load::ONE, 9 * MS);
        }
        for _ in 0..SAMPLES_MAX {
            latencies.push(ServerId(0), Load::ONE, 2 * MS);
        }
        assert_eq!(latencies.at(ServerId(0), Load::ONE), 2 * MS);
    }

    #[test]
    fn quantiles_are_of_the_last_values_only() {
        let mut rifs = Quantiles::new(4);
        assert_eq!(rifs.quantile(0.5), None);
        for count in [100, 100, 3, 1, 4, 2] {
            rifs.push(Load::of(count));
        }
        let at = |quantile| rifs.quantile(quantile).unwrap();
        assert_eq!([at(0.0), at(0.25), at(0.5), at(0.84), at(1.0)], [1, 1, 2, 4, 4].map(Load::of));
    }
}
