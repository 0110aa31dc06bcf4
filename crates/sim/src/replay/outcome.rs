//! What a run came to.

use super::{Histogram, Slice};
use core::time::Duration;
use policy::{Gauges, Why};

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Requests that were served.
    pub requests: u64,
    /// Requests that were turned away, because [`super::OPEN_MAX`] were being served.
    pub refused: u64,
    /// From the first arrival to the last answer.
    pub span: Duration,
    /// From the first arrival to the last.
    pub arrivals_span: Duration,
    /// Requests that a cache may answer.
    pub cacheable: u64,
    /// Requests answered from a cache.
    pub hits: u64,
    /// Requests of which the log says whether its own cache had the target.
    pub judged: u64,
    /// Of these, answered from a cache here.
    pub judged_hits: u64,
    /// Requests answered by a read that another one's miss had begun.
    pub coalesced: u64,
    /// Requests whose target was read for the cache.
    pub misses: u64,
    /// Bytes of all replies.
    pub reply_bytes: u64,
    /// Of these, from a cache.
    pub hit_bytes: u64,
    /// From arrival to the end of the answer.
    pub latency: Histogram,
    /// By server.
    pub servers: Vec<ServerOutcome>,
    /// Targets in more than one cache: at the end, and at most at once.
    pub replicated: (u64, u64),
    /// Of the policy's own table.
    pub gauges: Gauges,
    /// Decisions by reason, in the order of [`Why::ALL`].
    pub whys: Vec<u64>,
    /// For each target that was asked for at the end: the servers whose caches have it.
    pub homes: Vec<Vec<u16>>,
    /// How it went along.
    pub slices: Vec<Slice>,
    /// Whether arrivals waited for answers: then there is no such thing as too many.
    pub closed: bool,
}

/// What one server did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerOutcome {
    /// Requests it served.
    pub requests: u64,
    /// Of these, from its cache.
    pub hits: u64,
    /// Work given to its CPU, for each of its cores.
    pub cpu: Duration,
    /// Work given to its disk, for each that can go on at once.
    pub disk: Duration,
    /// Its mean load, in requests.
    pub load_mean: f64,
    /// What its cache has at the end, in bytes.
    pub cached_bytes: u64,
    /// The same in targets.
    pub cached_targets: u64,
}

/// Whether the servers could do what came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strain {
    /// They could.
    None,
    /// Not always: in this share of the log's requests work piled up. Percentiles tell of that.
    Passing(f64),
    /// They could not: over the whole log more work came than the busiest server can do, so that
    /// latencies grow with the length of the log and mean nothing.
    Lasting,
}

/// Work above this share of what can be done counts as too much; just below it queues are so long
/// that the log's end decides about the percentiles.
const WORK_MAX: f64 = 0.98;

/// Share of requests turned away above which a run counts as overloaded.
const REFUSED_MAX: f64 = 0.001;

impl Outcome {
    /// Answered requests per second.
    pub fn throughput_rps(&self) -> f64 {
        self.requests as f64 / self.span.as_secs_f64().max(1e-9)
    }

    /// Share of requests answered from a cache, 0 to 1.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / self.requests.max(1) as f64
    }

    /// Share of the replies' bytes that came from a cache, 0 to 1.
    pub fn byte_hit_ratio(&self) -> f64 {
        self.hit_bytes as f64 / self.reply_bytes.max(1) as f64
    }

    /// Mean load of the busiest server over the mean of all; 1 without load.
    pub fn imbalance(&self) -> f64 {
        let loads = self.servers.iter().map(|server| server.load_mean);
        let most = loads.clone().fold(0.0, f64::max);
        let mean = loads.sum::<f64>() / self.servers.len().max(1) as f64;
        if mean > 0.0 { most / mean } else { 1.0 }
    }

    /// Share of the requests that the log judges that were answered from a cache here: what
    /// compares with the log's own share. 0 of none.
    pub fn judged_hit_ratio(&self) -> f64 {
        self.judged_hits as f64 / self.judged.max(1) as f64
    }

    /// The work given to the busiest CPU or disk, in parts of what it can do while requests arrive.
    /// Where those wait for answers, or all come at once, in parts of what it can do till the last
    /// answer.
    pub fn work(&self) -> f64 {
        let most = self.servers.iter().map(|server| server.cpu.max(server.disk)).max();
        let span = if self.closed || self.arrivals_span.is_zero() {
            self.span
        } else {
            self.arrivals_span
        };
        most.unwrap_or_default().as_secs_f64() / span.as_secs_f64().max(1e-9)
    }

    /// Requests per second at which the busiest CPU or disk would have no rest, if the policy went
    /// on choosing as it did. In a closed loop, the throughput.
    pub fn capacity_rps(&self) -> f64 {
        if self.closed {
            return self.throughput_rps();
        }
        let most = self.servers.iter().map(|server| server.cpu.max(server.disk)).max();
        self.requests as f64 / most.unwrap_or_default().as_secs_f64().max(1e-9)
    }

    /// Whether the servers could do what came.
    pub fn strain(&self) -> Strain {
        if self.closed || self.requests < 2 {
            return Strain::None;
        }
        let asked = (self.requests + self.refused).max(1) as f64;
        if self.work() > WORK_MAX || self.refused as f64 > REFUSED_MAX * asked {
            return Strain::Lasting;
        }
        let busy = self.slices.iter().filter(|slice| slice.work() > WORK_MAX);
        let share = busy.map(|slice| slice.requests).sum::<u64>() as f64 / asked;
        if share > 0.0 { Strain::Passing(share) } else { Strain::None }
    }

    /// How often `why` decided, as a share of all decisions.
    pub fn share_of(&self, why: Why) -> f64 {
        let all: u64 = self.whys.iter().sum();
        self.whys[why.index()] as f64 / all.max(1) as f64
    }
}
