//! What a replay found.

use crate::cache_status::Cached;
use crate::{Cause, EXAMPLES_MAX, Failure};
use hdrhistogram::Histogram;
use std::time::Duration;

/// Longest latency that is told from longer ones: an hour.
const LATENCY_US_MAX: u64 = 3_600_000_000;

/// What a replay found, at its end or on the way.
#[derive(Clone, Debug)]
pub struct Report {
    /// Requests of the plan.
    pub planned: u64,
    /// Of these, answered as they should be.
    pub answered: u64,
    /// Of these, failed, by [`Cause::index`].
    pub failed: [u64; Cause::ALL.len()],
    /// The first [`EXAMPLES_MAX`] failures.
    pub examples: Vec<Failure>,
    /// Answered requests of which a cache said that it had the target (Cache-Status, RFC 9211).
    pub hits: u64,
    /// Answered requests of which every cache said that it had not.
    pub misses: u64,
    /// Body bytes received, those of failed requests included.
    pub body_bytes: u64,
    /// Sessions begun.
    pub sessions: u64,
    /// Connections opened.
    pub connections: u64,
    /// Requests sent again because the server had closed an idle connection, as servers may.
    pub resent: u64,
    /// Answered requests' latency in microseconds, from when each was due in its session to the
    /// last byte of its reply.
    pub latency_us: Histogram<u64>,
    /// How long the replay took.
    pub took: Duration,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl Report {
    pub(crate) fn new(planned: u64) -> Self {
        let latency_us = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3);
        Self {
            planned,
            answered: 0,
            failed: [0; Cause::ALL.len()],
            examples: Vec::new(),
            hits: 0,
            misses: 0,
            body_bytes: 0,
            sessions: 0,
            connections: 0,
            resent: 0,
            latency_us: latency_us.expect("1 is less than an hour, 3 digits are allowed"),
            took: Duration::ZERO,
            stopped: false,
        }
    }

    /// Failed requests, whatever the cause.
    pub fn failures(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Requests that are answered or have failed.
    pub fn settled(&self) -> u64 {
        self.answered + self.failures()
    }

    /// Answered requests per second.
    pub fn throughput_rps(&self) -> f64 {
        let took_s = self.took.as_secs_f64();
        if took_s > 0.0 { self.answered as f64 / took_s } else { 0.0 }
    }

    /// Share of the requests of which caches told that was a hit, 0 to 1; `None` if none told.
    pub fn hit_ratio(&self) -> Option<f64> {
        let told = self.hits + self.misses;
        (told > 0).then(|| self.hits as f64 / told as f64)
    }

    /// The latency that this share of the requests did not exceed, in milliseconds.
    pub fn latency_ms(&self, share: f64) -> f64 {
        self.latency_us.value_at_quantile(share) as f64 / 1000.0
    }

    pub(crate) fn answer(&mut self, latency: Duration, cached: Cached) {
        self.answered += 1;
        self.hits += u64::from(cached == Cached::Hit);
        self.misses += u64::from(cached == Cached::Miss);
        let latency_us = u64::try_from(latency.as_micros()).unwrap_or(LATENCY_US_MAX);
        self.latency_us.saturating_record(latency_us.max(1));
    }

    pub(crate) fn fail(&mut self, cause: Cause, detail: String, target: impl FnOnce() -> String) {
        self.failed[cause.index()] += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(Failure { cause, detail, target: target() });
        }
    }
}
