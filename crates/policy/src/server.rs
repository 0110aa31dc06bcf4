//! One server as policies see it: what it was configured to be, how it is, what it has to do.

use crate::{Instant, Load, ServerId};
use core::time::Duration;

/// Full warmth: a server that takes its whole share.
pub const WARM: u16 = 256;

/// Whether a server takes new requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It takes new requests.
    Up,
    /// It failed its checks.
    Down,
    /// It answered badly and is left alone for a while; used when too few servers are up (panic).
    Ejected,
    /// It finishes what it has and gets nothing new.
    Draining,
    /// It was removed; its slot is freed when its last request ends.
    Left,
}

/// What a server says of itself (an agent's report), or what a probe learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// When it was true.
    pub at: Instant,
    /// Busy share of the CPU, 0 to 1.
    pub cpu: f64,
    /// Busy share of the disk, 0 to 1.
    pub disk: f64,
    /// Requests waiting for or using the disk.
    pub disk_queue: u32,
    /// Requests being served, from whichever front-end.
    pub active: u32,
    /// Median latency of recent requests.
    pub latency: Duration,
}

impl Report {
    /// The busiest component's share, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.cpu.max(self.disk)
    }
}

/// What one joins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// A stable name: hash policies place servers by it, so that a server that comes back under
    /// another address keeps its targets.
    pub name: Box<str>,
    /// Share relative to the other servers, at least 1.
    pub weight: u32,
    /// Requests it works on at once without visible delay; the `auto` thresholds follow it.
    pub capacity: Option<u32>,
}

/// One server, as policies see it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its slot.
    pub id: ServerId,
    /// Name, weight and capacity.
    pub spec: Spec,
    /// Whether it takes new requests.
    pub state: State,
    /// How far its slow start has come, 1..=[`WARM`].
    pub warmth: u16,
    /// Work given and not finished, with what is counted elsewhere.
    pub load: Load,
    /// Serial number of the last assignment: ties go to the server not chosen for longest.
    pub chosen: u64,
    /// The last report, if it reports at all.
    pub report: Option<Report>,
    /// Requests ever begun, with what is counted elsewhere.
    pub begun: u64,
    /// Its place among the usable servers, if it is one.
    pub(crate) place: Option<u16>,
    /// Pieces of work begun and not ended: the slot is kept as long as there are any. Not the load,
    /// for a piece may weigh nothing.
    pub(crate) open: u32,
    /// Integral of load over time, in load units times nanoseconds, up to `counted_at`.
    load_ns: u128,
    counted_at: Instant,
}

impl Server {
    pub(crate) fn new(id: ServerId, spec: Spec, state: State, serial: u64, now: Instant) -> Self {
        Self {
            id,
            spec: Spec { weight: spec.weight.max(1), ..spec },
            state,
            warmth: WARM,
            load: Load::ZERO,
            chosen: serial,
            report: None,
            begun: 0,
            place: None,
            open: 0,
            load_ns: 0,
            counted_at: now,
        }
    }

    /// Weight as it counts now: the configured one reduced by slow start. Unit: weight x [`WARM`].
    pub fn share(&self) -> u64 {
        u64::from(self.spec.weight) * u64::from(self.warmth)
    }

    /// Mean load since it joined, in requests.
    pub fn load_mean(&self, joined: Instant, now: Instant) -> f64 {
        let open_ns = u128::from(self.load.0) * u128::from(now.0.saturating_sub(self.counted_at.0));
        let span_ns = now.since(joined).as_nanos().max(1);
        (self.load_ns + open_ns) as f64 / span_ns as f64 / Load::ONE.0 as f64
    }

    /// Its load as it would be if it had the largest share, `share_max`.
    #[inline]
    pub(crate) fn pressure(&self, share_max: u64) -> Load {
        match self.share() {
            share if share == share_max => self.load,
            share => self.load.scaled(share_max, share),
        }
    }

    /// Adds the load up to now to the integral: before every change of the load.
    #[inline]
    pub(crate) fn count(&mut self, now: Instant) {
        let span_ns = now.0.saturating_sub(self.counted_at.0);
        self.load_ns += u128::from(self.load.0) * u128::from(span_ns);
        self.counted_at = self.counted_at.max(now);
    }
}
