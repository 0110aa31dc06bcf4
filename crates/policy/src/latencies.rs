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
#[derive(Clone, Copy, Debug)]
struct Sample {
    rif: Load,
    latency_ns: u64,
}

/// The samples of one server.
#[derive(Clone, Debug, Default)]
struct Samples {
    /// By requests in flight; among equals, the older first.
    sorted: Vec<Sample>,
    /// The requests in flight of each, by age: a ring once it is full.
    rifs: Vec<Load>,
    /// Place in `rifs` of the next to be replaced.
    oldest: usize,
}

impl Samples {
    fn push(&mut self, sample: Sample) {
        if self.rifs.len() < SAMPLES_MAX {
            self.rifs.push(sample.rif);
        } else {
            let gone = core::mem::replace(&mut self.rifs[self.oldest], sample.rif);
            self.oldest = (self.oldest + 1) % SAMPLES_MAX;
            let place = self.sorted.partition_point(|kept| kept.rif < gone);
            self.sorted.remove(place);
        }
        let place = self.sorted.partition_point(|kept| kept.rif <= sample.rif);
        self.sorted.insert(place, sample);
    }

    /// Those whose number of requests in flight is nearest to `rif`; the smaller of two as near.
    fn nearest(&self, rif: Load) -> &[Sample] {
        let begin = self.sorted.partition_point(|sample| sample.rif < rif);
        let (mut from, mut to) = (begin, begin);
        while to - from < NEAREST.min(self.sorted.len()) {
            let below = from.checked_sub(1).map(|place| rif.minus(self.sorted[place].rif));
            let above = self.sorted.get(to).map(|sample| sample.rif.minus(rif));
            match (below, above) {
                (Some(below), Some(above)) if below > above => to += 1,
                (None, _) => to += 1,
                _ => from -= 1,
            }
        }
        &self.sorted[from..to]
    }
}

/// The samples of all servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    /// By slot; a server without requests takes no room.
    servers: Vec<Samples>,
}

impl Latencies {
    /// Takes the latency of a request that ended with `rif` in flight, itself included.
    pub(crate) fn push(&mut self, id: ServerId, rif: Load, latency: Duration) {
        if self.servers.len() <= id.index() {
            self.servers.resize_with(id.index() + 1, Samples::default);
        }
        let latency_ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.servers[id.index()].push(Sample { rif, latency_ns });
    }

    /// The median latency at about `rif` in flight; zero as long as nothing is known, so that a
    /// new server is tried.
    pub(crate) fn median_ns(&self, id: ServerId, rif: Load) -> u64 {
        let nearest = self.servers.get(id.index()).map_or(&[][..], |samples| samples.nearest(rif));
        if nearest.is_empty() {
            return 0;
        }
        let mut latencies = [u64::MAX; NEAREST];
        let seen = latencies.iter_mut().zip(nearest);
        seen.for_each(|(latency_ns, sample)| *latency_ns = sample.latency_ns);
        latencies.sort_unstable();
        latencies[nearest.len() / 2]
    }

    /// Forgets a server.
    pub(crate) fn forget(&mut self, id: ServerId) {
        if let Some(samples) = self.servers.get_mut(id.index()) {
            *samples = Samples::default();
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
            let place = self.sorted.partition_point(|kept| *kept < value);
            self.sorted.insert(place, value);
            return;
        }
        let gone = core::mem::replace(&mut self.kept[self.oldest], value);
        self.oldest = (self.oldest + 1) % self.count_max;
        // Those between the gap and the new value move by one.
        let gap = self.sorted.partition_point(|kept| *kept < gone);
        let place = self.sorted.partition_point(|kept| *kept < value);
        let place = if place > gap {
            self.sorted.copy_within(gap + 1..place, gap);
            place - 1
        } else {
            self.sorted.copy_within(place..gap, place + 1);
            place
        };
        self.sorted[place] = value;
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
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_median_is_of_the_samples_nearest_in_load() {
        let mut latencies = Latencies::default();
        let server = ServerId(3);
        let at = |latencies: &Latencies, rif| {
            Duration::from_nanos(latencies.median_ns(server, Load::of(rif)))
        };
        assert_eq!(at(&latencies, 1), Duration::ZERO, "nothing known");
        for _ in 0..16 {
            latencies.push(server, Load::of(1), MS);
            latencies.push(server, Load::of(50), 40 * MS);
        }
        assert_eq!(at(&latencies, 2), MS);
        assert_eq!(at(&latencies, 40), 40 * MS);
        latencies.forget(server);
        assert_eq!(at(&latencies, 2), Duration::ZERO);
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
        assert_eq!(latencies.median_ns(ServerId(0), Load::ONE), 2_000_000);
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

    proptest! {
        #[test]
        fn the_median_is_what_sorting_all_samples_by_distance_gives(
            pushed in prop::collection::vec((0u64..12, 0u64..1_000), 0..80),
            asked in 0u64..14,
        ) {
            let mut latencies = Latencies::default();
            for (rif, ns) in &pushed {
                latencies.push(ServerId(0), Load::of(*rif), Duration::from_nanos(*ns));
            }
            let mut kept = pushed[pushed.len().saturating_sub(SAMPLES_MAX)..].to_vec();
            // Among the equally near, the fewer in flight first; of those, the later below what
            // is asked and the earlier above it: whoever is next to it.
            kept.sort_by_key(|(rif, _)| *rif);
            let below = kept.iter().filter(|(rif, _)| *rif < asked).count();
            let mut near: Vec<_> = kept.iter().enumerate().collect();
            near.sort_by_key(|(place, (rif, _))| {
                (rif.abs_diff(asked), *rif >= asked, place.abs_diff(below))
            });
            let mut near: Vec<_> = near.iter().take(NEAREST).map(|(_, (_, ns))| *ns).collect();
            near.sort_unstable();
            let median = near.get(near.len() / 2).copied().unwrap_or(0);
            prop_assert_eq!(latencies.median_ns(ServerId(0), Load::of(asked)), median);
        }

        #[test]
        fn quantiles_agree_with_a_list_that_is_sorted_each_time(
            pushed in prop::collection::vec(0u64..20, 1..60), quantile in 0.0..1.0f64,
        ) {
            let mut rifs = Quantiles::new(8);
            for (count, value) in pushed.iter().enumerate() {
                rifs.push(Load(*value));
                let mut last = pushed[(count + 1).saturating_sub(8)..=count].to_vec();
                last.sort_unstable();
                let place = ((quantile * last.len() as f64).ceil() as usize).saturating_sub(1);
                prop_assert_eq!(rifs.quantile(quantile), Some(Load(last[place])));
            }
        }
    }
}
