//! One server: a CPU, a disk, and a cache of whole targets.

use super::Demand;
use super::lanes::{Lanes, after};
use super::setup::Setup;
use core::time::Duration;
use model::{Cache, Index, Slab, Source};
use policy::{Instant, Report, TargetId};

/// Bytes of memory that a cached target takes here, beside the table's own: an estimate from above
/// for both kinds of cache, at the emptiest that their tables get.
const ENTRY_BYTES: usize = 96;

/// What came of a request, as far as that is known when it comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) next: Next,
    pub(crate) source: Source,
    /// Whether it uses the disk.
    pub(crate) disk: bool,
}

/// What is next for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is answered then.
    Done(Instant),
    /// Its CPU work is done then, and it enters the disk.
    Disk(Instant),
    /// Its CPU work is done then, and it waits for a read of which nobody knows the end.
    Read(Instant),
}

/// A read that is under way.
#[derive(Clone, Debug)]
struct Read {
    /// When it is over, as soon as that is known.
    done: Option<Instant>,
    /// Requests that wait to know it, and when their CPU work is done.
    waiting: Vec<(u32, Instant)>,
}

/// A server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) cpu: Lanes,
    pub(crate) disk: Lanes,
    pub(crate) cache: Cache,
    /// Whether requests enter the disk by an event of their own, see [`Server::serve`].
    stepped: bool,
    /// Reads under way.
    ready: Slab<Read>,
    /// The same by target.
    reading: Index,
    pub(crate) requests: u64,
    pub(crate) hits: u64,
    /// Requests that wait for the disk or use it; where the disk is not entered by an event, also
    /// those that will when the CPU has done with them.
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
    /// Latencies that have become known since, summed.
    latency_now_ns: u64,
    /// Shares of time as they were told.
    shares: (f64, f64),
}

impl Server {
    /// A server with a cold cache; `stepped` as in [`Server::serve`].
    pub(crate) fn new(setup: &Setup, stepped: bool) -> Self {
        Self {
            cpu: Lanes::new(setup.cores.into()),
            disk: Lanes::new(setup.disks.into()),
            cache: Cache::new(setup.cache_policy, setup.cache_bytes),
            stepped,
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
    ///
    /// With one core, CPU work ends in the order in which it came, so the disk's queue is known
    /// ahead as well. With several it does not, and who enters the disk next is only known when the
    /// time has come: such a server is stepped, [`Server::enter_disk`] is called then.
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
        let source = if cacheable { self.source(demand, evicted) } else { Source::Bypass };
        let (mut next, mut disk, mut kept) = (Next::Done(computed), false, false);
        match source {
            Source::Hit => self.hits += 1,
            Source::Coalesced => next = self.join(target, computed),
            Source::Miss | Source::Bypass => {
                disk = demand.disk_ns > 0;
                next = self.read(computed, demand);
                if source == Source::Miss {
                    let done = if let Next::Done(at) = next { Some(at) } else { None };
                    let read = self.ready.insert(Read { done, waiting: Vec::new() });
                    self.reading.insert(target, read);
                    kept = keep && self.cache.insert(target, demand.size_bytes, evicted);
                }
            }
        }
        if disk && !self.stepped {
            self.disk_queue += 1;
        }
        if let Next::Done(at) = &mut next {
            *at = after(*at, demand.wait_ns);
        }
        (Visit { next, source, disk }, kept)
    }

    /// What a request that the cache does not answer does after its CPU work.
    #[inline]
    fn read(&mut self, computed: Instant, demand: &Demand) -> Next {
        if demand.disk_ns == 0 {
            return Next::Done(after(computed, demand.miss_wait_ns));
        }
        if self.stepped {
            return Next::Disk(computed);
        }
        let done = self.disk.enter(computed, demand.disk_ns);
        Next::Done(after(done, demand.miss_wait_ns))
    }

    /// Joins the read of `target` that is under way.
    #[inline]
    fn join(&self, target: TargetId, computed: Instant) -> Next {
        let read = self.reading.find(target).and_then(|id| self.ready.get(id));
        match read.expect("a read is in both tables").done {
            None => Next::Read(computed),
            Some(done) => Next::Done(computed.max(done)),
        }
    }

    /// Has the request `open` wait to know when the read of `target` is over.
    pub(crate) fn wait(&mut self, target: TargetId, open: u32, computed: Instant) {
        let read = self.reading.find(target).and_then(|id| self.ready.get_mut(id));
        read.expect("a read is in both tables").waiting.push((open, computed));
    }

    /// A request enters the disk for so long: when it will be done.
    pub(crate) fn enter_disk(&mut self, now: Instant, disk_ns: u64) -> Instant {
        self.disk_queue += 1;
        self.disk.enter(now, disk_ns)
    }

    /// It is known when the read of `target` is over: gives who waited to know it.
    pub(crate) fn read_known(&mut self, target: TargetId, done: Instant) -> Vec<(u32, Instant)> {
        let read = self.reading.find(target).and_then(|id| self.ready.get_mut(id));
        let read = read.expect("a read is in both tables");
        read.done = Some(done);
        std::mem::take(&mut read.waiting)
    }

    /// Notes how long a request takes, as soon as that is known.
    #[inline]
    pub(crate) fn timed(&mut self, latency_ns: u64) {
        let sum = &mut self.reported.latency_now_ns;
        *sum = sum.saturating_add(latency_ns);
    }

    /// A request that used the disk has ended.
    #[inline]
    pub(crate) fn disk_done(&mut self) {
        self.disk_queue -= 1;
    }

    /// A request has ended that read `target` for the cache.
    #[inline]
    pub(crate) fn read_done(&mut self, target: TargetId) {
        let id = self.reading.remove(target).expect("a read is noted until it ends");
        self.ready.remove(id);
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
        let shares = (share(cpu, last.cpu), share(disk, last.disk));
        let (requests, latency_now_ns) = (self.requests, 0);
        self.reported = Reported { at: now, cpu, disk, requests, latency, latency_now_ns, shares };
        self.queues(now, active)
    }

    /// What the server says of its queues now; the rest is as it was last time.
    pub(crate) fn queues(&self, now: Instant, active: u32) -> Report {
        let Reported { shares: (cpu, disk), latency, .. } = self.reported;
        Report { at: now, cpu, disk, disk_queue: self.disk_queue, active, latency }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.cache.targets() * ENTRY_BYTES
    }

    /// Where the reply comes from. A read that is under way is joined, also when the cache has
    /// already given up the room meant for it.
    #[inline]
    fn source(&mut self, demand: &Demand, evicted: &mut Vec<TargetId>) -> Source {
        let target = TargetId(demand.target.into());
        let cached = self.cache.touch_sized(target, demand.size_bytes, evicted);
        if !self.reading.is_empty() && self.reading.find(target).is_some() {
            return Source::Coalesced;
        }
        if cached { Source::Hit } else { Source::Miss }
    }
}
