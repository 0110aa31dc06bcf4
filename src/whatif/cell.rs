//! One cluster of the comparison: what its runs, one for each seed, come to together.

use sim::replay::{Histogram, Outcome, Slice, Strain};
use sim::stats::Estimate;
use std::time::Duration;

/// A policy with so many servers of so much cache.
pub struct Cell {
    /// The policy's name.
    pub policy: &'static str,
    /// How many servers.
    pub servers: u16,
    /// The cache of each, in bytes.
    pub cache_bytes: u64,
    /// What came of each seed's run.
    pub outcomes: Vec<Outcome>,
    /// What came of the run at full load, in a closed loop, if there was one.
    full: Option<Outcome>,
    /// What they come to.
    pub figures: Figures,
}

/// Parts of the log of which it is taken that chance in one says nothing of chance in the next.
const BATCHES: usize = 10;

/// Figures with their 95 % intervals over the seeds.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Answered requests per second.
    pub throughput_rps: Estimate,
    /// Requests per second that the busiest CPU or disk could do.
    pub capacity_rps: Estimate,
    /// Share of requests answered from caches.
    pub hit_ratio: Estimate,
    /// Share of bytes answered from caches.
    pub byte_hit_ratio: Estimate,
    /// Median latency, in milliseconds.
    pub p50_ms: Estimate,
    /// Latency that nine in ten did not exceed, in milliseconds.
    pub p90_ms: Estimate,
    /// Latency that 99 in a hundred did not exceed, in milliseconds.
    pub p99_ms: Estimate,
    /// Mean load of the busiest server over the mean of all.
    pub imbalance: Estimate,
    /// Targets in more than one cache at the end.
    pub replicated: Estimate,
    /// Work given to the busiest CPU or disk, in parts of what it can do.
    pub work: Estimate,
    /// Requests turned away.
    pub refused: Estimate,
    /// Whether the servers could do what came: the worst of all seeds.
    pub strain: Strain,
}

impl Cell {
    /// What the runs come to; there is at least one.
    pub fn new(
        policy: &'static str,
        servers: u16,
        cache_bytes: u64,
        outcomes: Vec<Outcome>,
        full: Option<Outcome>,
    ) -> Self {
        let of = |value: &dyn Fn(&Outcome) -> f64| {
            Estimate::of(&outcomes.iter().map(value).collect::<Vec<_>>())
        };
        let latency = |quantile: f64| of(&move |outcome| ms(outcome.latency.quantile(quantile)));
        let figures = Figures {
            throughput_rps: of(&Outcome::throughput_rps),
            capacity_rps: full.as_ref().map_or_else(|| of(&Outcome::capacity_rps), throughput),
            hit_ratio: of(&Outcome::hit_ratio),
            byte_hit_ratio: of(&Outcome::byte_hit_ratio),
            p50_ms: latency(0.5),
            p90_ms: latency(0.9),
            p99_ms: latency(0.99),
            imbalance: of(&Outcome::imbalance),
            replicated: of(&|outcome| outcome.replicated.0 as f64),
            work: of(&Outcome::work),
            refused: of(&|outcome| outcome.refused as f64),
            strain: outcomes.iter().map(Outcome::strain).fold(Strain::None, worse),
        };
        Self { policy, servers, cache_bytes, outcomes, full, figures }
    }

    /// Whether the cluster cannot do what the log asks for.
    pub fn overloaded(&self) -> bool {
        self.figures.strain == Strain::Lasting
    }

    /// Decisions by reason, all seeds together.
    pub fn whys(&self) -> Vec<u64> {
        let mut sum = vec![0; policy::Why::ALL.len()];
        for outcome in &self.outcomes {
            for (sum, count) in sum.iter_mut().zip(&outcome.whys) {
                *sum += count;
            }
        }
        sum
    }

    /// The latencies of all seeds.
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::default();
        self.outcomes.iter().for_each(|outcome| all.merge(&outcome.latency));
        all
    }

    /// Requests of the busiest server over the mean of all.
    pub(super) fn busiest_requests(&self) -> f64 {
        let share = |outcome: &Outcome| {
            let most = outcome.servers.iter().map(|server| server.requests).max().unwrap_or(0);
            most as f64 * outcome.servers.len() as f64 / outcome.requests.max(1) as f64
        };
        self.outcomes.iter().map(share).sum::<f64>() / self.outcomes.len() as f64
    }

    /// Share of requests answered from caches in the second half of the log, when caches have had
    /// time to fill.
    pub fn settled_hit_ratio(&self) -> f64 {
        let (mut hits, mut requests) = (0, 0);
        for outcome in &self.outcomes {
            for slice in &outcome.slices[outcome.slices.len() / 2..] {
                hits += slice.hits;
                requests += slice.requests;
            }
        }
        hits as f64 / requests.max(1) as f64
    }

    /// The outcome at full load, where there is one.
    fn at_full_load(&self) -> Option<&Outcome> {
        self.full.as_ref().or(self.outcomes.first().filter(|outcome| outcome.closed))
    }

    /// Its capacity in parts of that of `other`. At full load the interval comes from the parts of
    /// the log: how much they differ tells how much another log may.
    pub fn lead(&self, other: &Self) -> Estimate {
        if let (Some(one), Some(other)) = (self.at_full_load(), other.at_full_load()) {
            let mean = one.throughput_rps() / other.throughput_rps().max(1e-12);
            return Estimate { mean, ..ratio(&spans_s(other), &spans_s(one)) };
        }
        let pairs = self.outcomes.iter().zip(&other.outcomes);
        let ratio = |(one, other): (&Outcome, &Outcome)| {
            one.capacity_rps() / other.capacity_rps().max(1e-12)
        };
        Estimate::of(&pairs.map(ratio).collect::<Vec<_>>())
    }

    /// In how many of the log's parts its hit ratio was above that of `other`, and how many there
    /// are in which it differs.
    pub fn parts_won(&self, other: &Self) -> (usize, usize) {
        let (Some(one), Some(other)) = (self.outcomes.first(), other.outcomes.first()) else {
            return (0, 0);
        };
        let pairs =
            one.slices.iter().zip(&other.slices).filter(|(one, other)| one.hits != other.hits);
        let won = pairs.clone().filter(|(one, other)| one.hit_ratio() > other.hit_ratio());
        (won.count(), pairs.count())
    }
}

/// How long each of [`BATCHES`] parts of the log took, in seconds; all but the last have equally
/// many requests.
fn spans_s(outcome: &Outcome) -> Vec<f64> {
    let parts = outcome.slices.chunks(outcome.slices.len().div_ceil(BATCHES).max(1));
    let span = |part: &[Slice]| part.iter().map(|slice| slice.span.as_secs_f64()).sum();
    parts.map(span).collect()
}

/// The ratio of two sums over the same parts, with the interval of the classical ratio estimator
/// (Cochran, *Sampling Techniques*, 1977, chapter 6): parts that take long weigh as much as they
/// take.
fn ratio(over: &[f64], under: &[f64]) -> Estimate {
    let under_sum: f64 = under.iter().sum::<f64>().max(1e-12);
    let mean = over.iter().sum::<f64>() / under_sum;
    let residuals: Vec<f64> =
        over.iter().zip(under).map(|(over, under)| over - mean * under).collect();
    let half_width = Estimate::of(&residuals).half_width * residuals.len() as f64 / under_sum;
    Estimate { mean, half_width }
}

/// The throughput, with an interval from the parts of the log.
fn throughput(outcome: &Outcome) -> Estimate {
    let spans_s = spans_s(outcome);
    let requests: u64 = outcome.slices.iter().map(|slice| slice.requests).sum();
    let even = vec![requests as f64 / spans_s.len() as f64; spans_s.len()];
    Estimate { mean: outcome.throughput_rps(), ..ratio(&even, &spans_s) }
}

fn worse(one: Strain, other: Strain) -> Strain {
    match (one, other) {
        (Strain::Lasting, _) | (_, Strain::Lasting) => Strain::Lasting,
        (Strain::Passing(a), Strain::Passing(b)) => Strain::Passing(a.max(b)),
        (Strain::Passing(share), _) | (_, Strain::Passing(share)) => Strain::Passing(share),
        _ => Strain::None,
    }
}

/// A span in milliseconds.
pub(super) fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_sums_is_sure_when_all_parts_have_it() {
        let even = ratio(&[2.0, 4.0, 60.0], &[1.0, 2.0, 30.0]);
        assert!((even.mean - 2.0).abs() < 1e-9 && even.half_width < 1e-9, "{even:?}");
        let odd = ratio(&[2.0, 4.0, 30.0], &[1.0, 2.0, 30.0]);
        assert!((odd.mean - 36.0 / 33.0).abs() < 1e-9 && odd.half_width > 0.1, "{odd:?}");
    }
}
