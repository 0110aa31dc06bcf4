//! What a run found, at its end or on the way.

use crate::{Cause, Failure};
use hdrhistogram::Histogram;
use policy::Class;
use std::time::Duration;

/// Times of one kind of thing, in microseconds.
///
/// A thing is *due* when it would be asked for if nobody had to wait: a session when it arrives, a
/// page when the user has thought, an embedded object when the page that names it is there. Times
/// from then on hide no wait (what is hidden otherwise is called coordinated omission, after Gil
/// Tene); those from the sending on are what a client sees that measures replies alone.
#[derive(Clone, Debug)]
pub struct Timing {
    /// From when it was due to its last byte.
    pub due_us: Histogram<u64>,
    /// From when its first byte was sent to its last byte.
    pub sent_us: Histogram<u64>,
}

/// What belongs to one class.
#[derive(Clone, Debug)]
pub struct ClassOutcome {
    /// Which.
    pub class: Class,
    /// Its requests.
    pub requests: Timing,
    /// The pages whose HTML is of this class.
    pub pages: Timing,
    /// Requests of which a cache said that it had the target, and those that it had not.
    pub hits: u64,
    /// See [`ClassOutcome::hits`].
    pub misses: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// One span of the run, so that one sees how it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// Since the beginning of what is measured, in seconds.
    pub at_s: f64,
    /// Sessions that came.
    pub sessions: u64,
    /// Pages that were complete.
    pub pages: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// Connections opened.
    pub connections: u64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Sessions under way at its end.
    pub under_way: u64,
    /// The time of pages that 50, 90 and 99 per cent did not exceed, in microseconds; 0 of none.
    pub pages_us: [u64; 3],
}

/// Whether the client itself kept up.
#[derive(Clone, Debug)]
pub struct Pace {
    /// How late requests were sent that nothing but the client held back, in microseconds.
    pub late_us: Histogram<u64>,
    /// CPU time of the busiest thread over the time of the run, 0 to 1.
    pub cpu: f64,
    /// CPU time of all threads for a request, in microseconds.
    pub cpu_request_us: f64,
    /// Sessions that were turned away because too many were under way.
    pub turned_away: u64,
}

/// What a run found. All but `took` and `pace` without the warm-up.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How long was measured.
    pub took: Duration,
    /// Sessions that ended of themselves; due when they arrive, over with their last page, thinking
    /// included.
    pub sessions: Timing,
    /// Pages: due when the user has thought, complete with the last object.
    pub pages: Timing,
    /// Requests.
    pub requests: Timing,
    /// The classes that were asked for, in the order of their numbers.
    pub classes: Vec<ClassOutcome>,
    /// Sessions that arrived.
    pub arrived: u64,
    /// Pages of which at least one object failed; not among `pages`.
    pub pages_failed: u64,
    /// Failed requests, by [`Cause::index`].
    pub failed: [u64; Cause::ALL.len()],
    /// Some failures as examples.
    pub examples: Vec<Failure>,
    /// Connections opened.
    pub connections: u64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Requests sent again because the server had closed an idle connection, as servers may.
    pub resent: u64,
    /// Answered requests of which a cache said that it had the target (Cache-Status, RFC 9211).
    pub hits: u64,
    /// Answered requests of which every cache said that it had not.
    pub misses: u64,
    /// How it went, span by span.
    pub slices: Vec<Slice>,
    /// Whether the client itself kept up.
    pub pace: Pace,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}
