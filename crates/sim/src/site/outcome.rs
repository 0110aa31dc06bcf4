//! What a run of a site gave.

use super::server::Utilisation;
use core::time::Duration;

/// Everything that was measured.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Page latencies in nanoseconds, of pages that began while it was measured and were complete,
    /// in ascending order.
    pub(super) latencies_ns: Vec<u64>,
    /// How all pages of the run ended.
    pub pages: Pages,
    /// Pages that were complete while it was measured, whenever they began.
    pub completed: u64,
    /// Requests for files, of pages that began while it was measured.
    pub lookups: u64,
    /// Those that a cache had.
    pub hits: u64,
    /// Connections that were handed on to another server.
    pub handed_on: u64,
    /// Bytes of replies that reached clients while it was measured, and on the wire.
    pub bytes: u64,
    /// The same with what segments add.
    pub wire_bytes: u64,
    /// How long it was measured.
    pub span: Duration,
    /// Each server's components while it was measured.
    pub servers: Vec<Utilisation>,
    /// The switch's CPU while it was measured, 0 to 1.
    pub switch: f64,
    /// The least and the most utilised server, span by span, through the whole time of arrivals.
    pub spread: Vec<Spread>,
    /// Pages by server and class of the HTML.
    pub given: Vec<[u64; 5]>,
    /// When the last user left, from the beginning.
    pub drained: Duration,
    /// Mean connections at all servers together from the beginning to then, by the desk's books.
    pub load: f64,
}

/// How pages ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Asked for.
    pub begun: u64,
    /// Received in whole.
    pub complete: u64,
    /// Cut off, because the server failed.
    pub broken: u64,
    /// Not served, because no server was up.
    pub refused: u64,
}

/// Utilisation over the servers, in one span; of each server its busiest component counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The span's end, from the beginning of the run.
    pub at: Duration,
    /// Of the least utilised server.
    pub min: f64,
    /// The mean of all.
    pub mean: f64,
    /// Of the most utilised server.
    pub max: f64,
}

impl Outcome {
    /// Takes in the latency of a page that was measured.
    pub(super) fn note(&mut self, latency: Duration) {
        self.latencies_ns.push(latency.as_nanos() as u64);
    }

    /// To be called once, at the end.
    pub(super) fn close(&mut self) {
        self.latencies_ns.sort_unstable();
    }

    /// Pages of which the latency was measured.
    pub fn measured(&self) -> usize {
        self.latencies_ns.len()
    }

    /// The latency, in seconds, within which a share of the pages was complete (the least one that
    /// is); 0 when none was measured.
    pub fn percentile(&self, share: f64) -> f64 {
        let rank = (share * self.measured() as f64).ceil() as usize;
        let index = rank.saturating_sub(1).min(self.measured().saturating_sub(1));
        self.latencies_ns.get(index).map_or(0.0, |latency_ns| *latency_ns as f64 / 1e9)
    }

    /// The mean latency, in seconds; 0 when none was measured.
    pub fn latency_mean_s(&self) -> f64 {
        let sum_ns: u128 = self.latencies_ns.iter().map(|latency_ns| u128::from(*latency_ns)).sum();
        sum_ns as f64 / 1e9 / self.measured().max(1) as f64
    }

    /// The share of pages that were complete within so many seconds.
    pub fn within(&self, limit_s: f64) -> f64 {
        let limit_ns = (limit_s * 1e9) as u64;
        let count = self.latencies_ns.partition_point(|latency_ns| *latency_ns <= limit_ns);
        count as f64 / self.measured().max(1) as f64
    }

    /// The shortest page, in seconds.
    pub fn shortest(&self) -> f64 {
        self.latencies_ns.first().map_or(0.0, |latency_ns| *latency_ns as f64 / 1e9)
    }

    /// The share of lookups that a cache answered.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / self.lookups.max(1) as f64
    }

    /// Pages complete a second.
    pub fn pages_s(&self) -> f64 {
        self.completed as f64 / self.span.as_secs_f64()
    }

    /// Megabits of replies a second, heads included, without what segments add.
    pub fn megabits_s(&self) -> f64 {
        self.bytes as f64 * 8.0 / 1e6 / self.span.as_secs_f64()
    }

    /// The mean over the servers of one component, such as `|u| u.disk`.
    pub fn mean(&self, component: impl Fn(&Utilisation) -> f64) -> f64 {
        self.servers.iter().map(component).sum::<f64>() / self.servers.len().max(1) as f64
    }
}
