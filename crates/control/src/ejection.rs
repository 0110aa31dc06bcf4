//! Passive health: a server that fails real requests in a row is left alone for a while.
//!
//! The idea is Envoy's outlier detection. Each ejection lasts twice as long as the one before, up
//! to a cap; every such span in service without a new ejection forgives one. At most a share of
//! the servers is ejected at a time, and never the last one: what remains must carry the load.
//!
//! [`Ejection`] is pure, time is an argument. [`Feed`] is how workers report: successes cost one
//! relaxed load, for they are the rule.

use policy::Instant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// When a server is ejected and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EjectionRule {
    /// Failed requests in a row until a server is ejected; 0 ejects never.
    pub failures: u32,
    /// How long the first ejection lasts.
    pub span: Duration,
    /// How long any ejection lasts at most.
    pub span_max: Duration,
    /// Share of the servers, 0 to 1, that may be ejected at once. With two servers or more, one
    /// may always be (unless the share is 0), and one always stays.
    pub share_max: f64,
}

impl Default for EjectionRule {
    /// Envoy's values, but half of the servers instead of a tenth: with a handful of servers a
    /// tenth is none.
    fn default() -> Self {
        Self {
            failures: 5,
            span: Duration::from_secs(30),
            span_max: Duration::from_secs(300),
            share_max: 0.5,
        }
    }
}

impl EjectionRule {
    /// Whether one more server may be ejected when `ejected` of `servers` are; those that are down
    /// or draining do not count, for they carry nothing.
    pub fn allows(&self, ejected: usize, servers: usize) -> bool {
        if self.share_max <= 0.0 {
            return false;
        }
        let share = (self.share_max * servers as f64).floor() as usize;
        ejected < share.max(1).min(servers.saturating_sub(1))
    }
}

/// The ejections of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ejection {
    /// Ejections not yet forgiven.
    strikes: u32,
    until: Option<Instant>,
    /// When it last came back.
    calm_since: Instant,
}

impl Ejection {
    /// Ejects the server at `now` and returns for how long.
    pub fn eject(&mut self, rule: &EjectionRule, now: Instant) -> Duration {
        self.forgive(rule, now);
        let span = self.span(rule);
        self.strikes = self.strikes.saturating_add(1);
        self.until = Some(now.plus(span));
        span
    }

    /// Whether the server's time is over at `now`: true once, at the end of an ejection.
    pub fn returns(&mut self, now: Instant) -> bool {
        let over = self.until.is_some_and(|until| until <= now);
        if over {
            self.until = None;
            self.calm_since = now;
        }
        over
    }

    /// Until when the server is ejected, if it is.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }

    /// How long the next ejection would last.
    fn span(&self, rule: &EjectionRule) -> Duration {
        let doubled = 1u32.checked_shl(self.strikes).and_then(|times| rule.span.checked_mul(times));
        doubled.unwrap_or(rule.span_max).min(rule.span_max)
    }

    fn forgive(&mut self, rule: &EjectionRule, now: Instant) {
        let calm = now.since(self.calm_since).as_nanos();
        let spans = calm / rule.span.as_nanos().max(1);
        self.strikes = self.strikes.saturating_sub(u32::try_from(spans).unwrap_or(u32::MAX));
    }
}

/// Where workers report how requests to one server ended. Cheap to clone and to call.
#[derive(Clone, Debug)]
pub struct Feed(Arc<Streak>);

#[derive(Debug)]
struct Streak {
    failures: AtomicU32,
    failures_max: AtomicU32,
    wake: Arc<Notify>,
}

impl Feed {
    pub(crate) fn new(failures_max: u32, wake: Arc<Notify>) -> Self {
        let failures_max = AtomicU32::new(failures_max);
        Self(Arc::new(Streak { failures: AtomicU32::new(0), failures_max, wake }))
    }

    /// The server did its part.
    pub fn success(&self) {
        // A plain store on every success would bounce the line between cores.
        if self.0.failures.load(Ordering::Relaxed) != 0 {
            self.0.failures.store(0, Ordering::Relaxed);
        }
    }

    /// The server refused, reset, timed out or answered 502, 503 or 504. The supervisor is woken
    /// whenever the streak has grown by the rule's length, not for each failure.
    pub fn failure(&self) {
        let failures = self.0.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let failures_max = self.0.failures_max.load(Ordering::Relaxed);
        if failures_max > 0 && failures.is_multiple_of(failures_max) {
            self.0.wake.notify_one();
        }
    }

    /// The length of the streak when it is long enough for an ejection.
    pub(crate) fn due(&self) -> Option<u32> {
        let failures_max = self.0.failures_max.load(Ordering::Relaxed);
        let failures = self.0.failures.load(Ordering::Relaxed);
        (failures_max > 0 && failures >= failures_max).then_some(failures)
    }

    /// Begins a new streak.
    pub(crate) fn reset(&self) {
        self.0.failures.store(0, Ordering::Relaxed);
    }

    pub(crate) fn set_failures_max(&self, failures_max: u32) {
        self.0.failures_max.store(failures_max, Ordering::Relaxed);
    }
}
