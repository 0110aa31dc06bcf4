//! What is counted while a cluster is simulated.

use crate::histogram::Histogram;
use core::time::Duration;
use model::Source;
use policy::Instant;

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
    pub(super) delays: Histogram,
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
