//! One cluster of the comparison: what its runs, one for each seed, come to together.

use super::lead::{self, Lead};
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

/// Figures with their 95 % intervals over the seeds; an infinite half width where none was
/// measured: with one seed, or with seeds that differ in nothing.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Answered requests per second.
    pub throughput_rps: Estimate,
    /// Requests per second at full load once caches are warm, or by an estimate those that the
    /// busiest CPU or disk could do.
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
    /// Work given to the busiest CPU or disk, in parts of what it can do. Not a number for requests
    /// that came at no time.
    pub work: Estimate,
    /// How busy the cluster is in the busiest part of the log, in parts of what it can do. Not a
    /// number in a closed loop, which is always as busy as it can be.
    pub peak: f64,
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
        let differ = outcomes.iter().any(|outcome| *outcome != outcomes[0]);
        let of = |value: &dyn Fn(&Outcome) -> f64| {
            let several = if differ { &outcomes[..] } else { &outcomes[..1] };
            Estimate::of(&several.iter().map(value).collect::<Vec<_>>())
        };
        let latency = |quantile: f64| of(&move |outcome| ms(outcome.latency.quantile(quantile)));
        let figures = Figures {
            throughput_rps: of(&Outcome::throughput_rps),
            capacity_rps: match full.as_ref().or(outcomes.first()) {
                Some(outcome) if outcome.closed => lead::capacity_rps(outcome),
                _ => of(&Outcome::capacity_rps),
            },
            hit_ratio: of(&Outcome::hit_ratio),
            byte_hit_ratio: of(&Outcome::byte_hit_ratio),
            p50_ms: latency(0.5),
            p90_ms: latency(0.9),
            p99_ms: latency(0.99),
            imbalance: of(&Outcome::imbalance),
            replicated: of(&|outcome| outcome.replicated.0 as f64),
            work: of(&work),
            peak: outcomes.iter().map(|one| peak(one, full.as_ref())).fold(f64::NAN, f64::max),
            refused: of(&|outcome| outcome.refused as f64),
            strain: outcomes.iter().map(strain).fold(Strain::None, worse),
        };
        Self { policy, servers, cache_bytes, outcomes, full, figures }
    }

    /// Whether the cluster does what the log asks for in every part of it with something to spare:
    /// none keeps a CPU or disk busier than `share`, nor does a rush within one make the p99 longer
    /// than so many milliseconds.
    pub fn holds(&self, share: f64, p99_ms: f64) -> bool {
        let Figures { strain, peak, .. } = self.figures;
        strain == Strain::None && peak <= share && self.p99_ms_high() <= p99_ms
    }

    /// The p99 at the upper end of its interval, as far as that was measured, in milliseconds.
    fn p99_ms_high(&self) -> f64 {
        let Estimate { mean, half_width } = self.figures.p99_ms;
        if half_width.is_finite() { mean + half_width } else { mean }
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

    /// The outcome at full load, or where there is none that of the first seed.
    fn hardest(&self) -> &Outcome {
        self.full.as_ref().unwrap_or_else(|| &self.outcomes[0])
    }

    /// Its capacity in parts of that of `other`, with what the parts of the log say of it.
    pub fn lead(&self, other: &Self) -> Lead {
        let mean = self.figures.capacity_rps.mean / other.figures.capacity_rps.mean.max(1e-12);
        Lead::new(mean, self.hardest(), other.hardest())
    }
}

/// The work given to the busiest CPU or disk in parts of what it can do: while requests arrive, or
/// where arrivals wait for answers to the end.
fn work(outcome: &Outcome) -> f64 {
    if outcome.requests < 2 {
        return f64::NAN;
    }
    if !outcome.closed {
        return outcome.work();
    }
    let most = outcome.servers.iter().map(|server| server.cpu.max(server.disk)).max();
    most.unwrap_or_default().as_secs_f64() / outcome.span.as_secs_f64().max(1e-9)
}

/// Whether the servers could do what came; a single request comes at no rate.
fn strain(outcome: &Outcome) -> Strain {
    if outcome.requests < 2 { Strain::None } else { outcome.strain() }
}

/// How busy the cluster is in the busiest part of the log: by the work that was given, and by how
/// long the part takes at full load. The second sees what the first cannot: a cluster so late that
/// one read answers many requests.
fn peak(outcome: &Outcome, full: Option<&Outcome>) -> f64 {
    if outcome.closed {
        return f64::NAN;
    }
    let usual = outcome.slices.first().map_or(0, |slice| slice.requests);
    let of_part = |(at, slice): (usize, &Slice)| {
        // Few requests at the end say how long they took, not how many there were.
        if 2 * slice.requests < usual {
            return 0.0;
        }
        let part = full.and_then(|full| full.slices.get(at));
        let at_once = part.map_or(0.0, |part| part.span.as_secs_f64());
        slice.work().max(at_once / slice.span.as_secs_f64().max(1e-9))
    };
    outcome.slices.iter().enumerate().map(of_part).fold(0.0, f64::max)
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
