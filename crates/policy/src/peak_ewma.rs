//! Peak-EWMA: of two servers drawn by lot, the one with the less latency times load.
//!
//! The `aperture` and `p2c` balancers of Twitter's Finagle (`PeakEwma.scala`): a moving average of
//! latency that jumps up to a peak at once and comes down slowly, so that a stalled server is left
//! within one reply. Two things are ours. A failed request counts as a very late one: an average
//! of what was observed makes the server that refuses connections within microseconds the best of
//! all. And load counts for the server's share, as everywhere here.

use crate::p2c::two_drawn;
use crate::{
    Assignment, Change, Cluster, Dice, Ended, Entry, Instant, Kind, Param, Policy, Request,
    ServerId, Value, Why,
};
use core::time::Duration;

pub(crate) const ENTRY: Entry = Entry {
    name: "peak-ewma",
    aliases: &["ewma"],
    about: "of two servers drawn by lot, the one with the less recent peak latency times load",
    paper: "PeakEwma of Finagle (Twitter, 2014), corrected for fast failures",
    params: &[
        Param {
            name: "decay",
            kind: Kind::Span,
            default: || Value::Span(Duration::from_secs(10)),
            about: "after which a latency counts for 1/e of what it did; Finagle's value",
        },
        Param {
            name: "penalty",
            kind: Kind::Span,
            default: || Value::Span(Duration::from_secs(5)),
            about: "latency that a failed request counts with, at least (ours: long beside any \
                    reply, forgotten within a minute)",
        },
    ],
    build: |params| {
        let (decay, penalty) = (params.span("decay"), params.span("penalty"));
        Box::new(PeakEwma { decay, penalty, peaks: Vec::new() })
    },
};

/// The average of one server.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    /// In seconds, as of `at`.
    latency_s: f64,
    at: Instant,
    /// Whether there was any reply yet.
    known: bool,
}

struct PeakEwma {
    decay: Duration,
    penalty: Duration,
    /// By slot.
    peaks: Vec<Peak>,
}

impl PeakEwma {
    /// What a server costs now: latency times the requests it would have with this one. A server
    /// never heard of gets one request at once and no second before it has answered, as in
    /// Finagle: nobody knows yet how slow it is.
    fn cost_at(&self, id: ServerId, now: Instant, cluster: &Cluster) -> f64 {
        let pressure = cluster.pressure(id).as_f64();
        let peak = self.peaks.get(id.index()).copied().unwrap_or_default();
        if !peak.known {
            return pressure * self.penalty.as_secs_f64();
        }
        peak.latency_at(now, self.decay) * (pressure + 1.0)
    }
}

impl Peak {
    /// The average as it stands at `now`: silence counts as fast, or a server once slow would
    /// never be tried again.
    fn latency_at(&self, now: Instant, decay: Duration) -> f64 {
        self.latency_s * remaining(now.since(self.at), decay)
    }

    fn observe(&mut self, latency_s: f64, now: Instant, decay: Duration) {
        let left = remaining(now.since(self.at), decay);
        self.latency_s = if self.known && latency_s < self.latency_s {
            self.latency_s * left + latency_s * (1.0 - left)
        } else {
            latency_s
        };
        self.at = self.at.max(now);
        self.known = true;
    }
}

impl Policy for PeakEwma {
    fn decide(&self, request: &Request, cluster: &Cluster, dice: &mut Dice) -> Option<Assignment> {
        let [one, two] = two_drawn(cluster, dice)?;
        let cost = |id| self.cost_at(id, request.at, cluster);
        let server = match cost(one).total_cmp(&cost(two)) {
            core::cmp::Ordering::Less => one,
            core::cmp::Ordering::Greater => two,
            core::cmp::Ordering::Equal => cluster.least_loaded_of([one, two])?,
        };
        Some(Assignment::new(server, Why::Sampled))
    }

    fn ended(&mut self, ended: &Ended, cluster: &Cluster) {
        if cluster.server(ended.server).is_none() {
            return;
        }
        if self.peaks.len() <= ended.server.index() {
            self.peaks.resize(ended.server.index() + 1, Peak::default());
        }
        let seen = ended.first_byte.unwrap_or(ended.took);
        let latency = if ended.ok { seen } else { seen.max(self.penalty) };
        self.peaks[ended.server.index()].observe(latency.as_secs_f64(), ended.at, self.decay);
    }

    fn changed(&mut self, change: Change, _: &Cluster) {
        if let Change::Joined(id) | Change::Left(id) = change
            && let Some(peak) = self.peaks.get_mut(id.index())
        {
            *peak = Peak::default();
        }
    }

    fn cost(&self, server: ServerId, request: &Request, cluster: &Cluster) -> Option<f64> {
        Some(self.cost_at(server, request.at, cluster))
    }
}

/// e^(-elapsed/decay), from basic operations: those give the same bits on every machine, as the
/// library's exponential does not. (1 - x/2^10)^(2^10) is within 0.2 % for the x that matter.
fn remaining(elapsed: Duration, decay: Duration) -> f64 {
    const DOUBLINGS: i32 = 10;
    let ratio = elapsed.as_secs_f64() / decay.as_secs_f64();
    let mut part = (1.0 - ratio / f64::from(1 << DOUBLINGS)).max(0.0);
    for _ in 0..DOUBLINGS {
        part *= part;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_an_exponential() {
        let decay = Duration::from_secs(10);
        for (seconds, exact) in [(0, 1.0), (5, 0.606_53), (10, 0.367_88), (20, 0.135_34)] {
            let part = remaining(Duration::from_secs(seconds), decay);
            assert!((part - exact).abs() < 0.002 * exact + 1e-9, "{seconds}: {part}");
        }
        assert_eq!(remaining(Duration::from_secs(1_000_000), decay), 0.0);
    }

    #[test]
    fn an_average_jumps_up_and_comes_down_slowly() {
        let (mut peak, decay) = (Peak::default(), Duration::from_secs(10));
        let second = |seconds: u64| Instant(seconds * 1_000_000_000);
        peak.observe(0.01, second(0), decay);
        peak.observe(1.0, second(1), decay);
        assert_eq!(peak.latency_s, 1.0, "one late reply is believed at once");
        peak.observe(0.01, second(2), decay);
        assert!((0.90..0.92).contains(&peak.latency_s), "{}", peak.latency_s);
    }
}
