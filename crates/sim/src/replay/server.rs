//! One server: a CPU, a disk, and a cache of whole targets.

use super::Demand;
use super::lanes::Lanes;
use super::setup::Setup;
use core::time::Duration;
use model::{Cache, Index, Slab, Source};
use policy::{Instant, Report, TargetId};

/// Bytes of memory that a cached target takes here, beside the table's own: an estimate from above
/// for both kinds of cache, at the emptiest that their tables get.
const ENTRY_BYTES: usize = 96;

/// What came of a request: when it is answered, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) done: Instant,
    pub(crate) source: Source,
    /// Whether it uses the disk.
    pub(crate) disk: bool,
}

/// A server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) cpu: Lanes,
    pub(crate) disk: Lanes,
    pub(crate) cache: Cache,
    /// Reads under way: when each will be done.
    ready: Slab<Instant>,
    /// The same by target.
    reading: Index,
    pub(crate) requests: u64,
    pub(crate) hits: u64,
    /// Requests that wait for the disk or use it.
    disk_queue: u32,
    reported: Reported,
}

/// What was so at the last report.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    at: Instant,
    cpu: Duration,
    disk: Duration,
    requests: u64,
    latency: Duration,
    latency_now_ns: u64,
}

impl Server {
    /// A server with a cold cache.
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            cpu: Lanes::new(setup.cores.into()),
            disk: Lanes::new(setup.disks.into()),
            cache: Cache::new(setup.cache_policy, setup.cache_bytes),
            ready: Slab::default(),
            reading: Index::default(),
            requests: 0,
            hits: 0,
            disk_queue: 0,
            reported: Reported::default(),
        }
    }

    /// Serves a request that arrives now. `cacheable`: the cache may give the reply; `keep`: it may
    /// keep it. What leaves the cache is appended to `evicted`; whether the target came in is the
    /// second answer.
    #[inline]
    pub(crate) fn serve(
        &mut self,
        now: Instant,
        demand: &Demand,
        (cacheable, keep): (bool, bool),
        evicted: &mut Vec<TargetId>,
    ) -> (Visit, bool) {
        self.requests += 1;
        let target = TargetId(demand.target.into());
        let computed = self.cpu.enter(now, demand.cpu_ns);
        let source = if cacheable { self.source(target) } else { Source::Bypass };
        let (mut done, mut disk, mut kept) = (computed, false, false);
        match source {
            Source::Hit => self.hits += 1,
            Source::Coalesced => {
                let read = self.reading.find(target).and_then(|id| self.ready.get(id));
                done = computed.max(*read.expect("a read is in both tables"));
            }
            Source::Miss => {
                done = self.disk.enter(computed, demand.disk_ns);
                disk = true;
                let read = self.ready.insert(done);
                self.reading.insert(target, read);
                kept = keep && self.cache.insert(target, demand.size_bytes, evicted);
            }
            Source::Bypass if demand.disk_ns > 0 => {
                done = self.disk.enter(computed, demand.disk_ns);
                disk = true;
            }
            Source::Bypass => {}
        }
        self.disk_queue += u32::from(disk);
        self.reported.latency_now_ns += done.0 - now.0;
        (Visit { done, source, disk }, kept)
    }

    /// A request that used the disk has ended; `read` is what it read for the cache.
    #[inline]
    pub(crate) fn disk_done(&mut self, read: Option<TargetId>) {
        self.disk_queue -= 1;
        if let Some(target) = read {
            let id = self.reading.remove(target).expect("a read is noted until it ends");
            self.ready.remove(id);
        }
    }

    /// What the server says of itself now: its utilisation since the last time.
    pub(crate) fn report(&mut self, now: Instant, active: u32) -> Report {
        let (last, cpu, disk) = (self.reported, self.cpu.busy(now), self.disk.busy(now));
        let span_s = now.since(last.at).as_secs_f64().max(1e-9);
        let share = |busy: Duration, before: Duration| {
            (busy.saturating_sub(before).as_secs_f64() / span_s).min(1.0)
        };
        let served = u32::try_from(self.requests - last.requests).unwrap_or(u32::MAX);
        let latency_now = Duration::from_nanos(last.latency_now_ns);
        let latency = latency_now.checked_div(served).unwrap_or(last.latency);
        self.reported =
            Reported { at: now, cpu, disk, requests: self.requests, latency, latency_now_ns: 0 };
        Report {
            at: now,
            cpu: share(cpu, last.cpu),
            disk: share(disk, last.disk),
            disk_queue: self.disk_queue,
            active,
            latency,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.cache.targets() * ENTRY_BYTES
    }

    /// Where the reply comes from. A read that is under way is joined, also when the cache has
    /// already given up the room meant for it.
    #[inline]
    fn source(&mut self, target: TargetId) -> Source {
        let cached = self.cache.touch(target);
        if !self.reading.is_empty() && self.reading.find(target).is_some() {
            return Source::Coalesced;
        }
        if cached { Source::Hit } else { Source::Miss }
    }
}
