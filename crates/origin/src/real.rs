//! The real mode: the same services, but their CPU time is burnt and their files are read.
//!
//! Here is the order in which things happen to a request, the same as in [`model::Node`]: the CPU
//! computes; unless the cache has the target, the disk reads; the CPU sends. All of it is decided
//! on the event loop; threads only burn and read, and ring a bell when they have. Two things differ
//! from the model: documents are read and sent whole, as under [`model::Reading::Whole`], and disks
//! take as long as they take.

mod burn;
mod pool;
mod settings;
mod tree;
mod work;

pub(crate) use burn::thread_cpu;
pub use settings::{DocumentCache, RealSettings};
pub(crate) use work::Document;

use crate::Config;
use crate::clock::Start;
use crate::reading::Reading;
use crate::table::Tag;
use core::time::Duration;
use model::cost::QUERY_ACCESS;
use model::{Ask, Cache, Counts, CpuCost, Service, Slab, Source};
use policy::{Dice, TargetId};
use pool::Pool;
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::HashMap;
use std::sync::Arc;
use wire::http::Version;
use work::{Bell, CpuTask, DiskTask, Finished, Held};

/// Bytes of documents in memory beyond those in the cache: on their way to slow clients. Beyond
/// this, requests are refused.
const FLIGHT_BYTES_MAX: u64 = 256 << 20;

/// The longest document: a few may be on their way.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = FLIGHT_BYTES_MAX / 4;

/// As in the model: beyond so much queued work, connections are free.
const QUEUE_MAX: usize = 1 << 17;

/// Salt of the hash that spreads targets over disks.
const STRIPE_SALT: u64 = 0xd15c;

/// Whom an answer is for, and how its head begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub(crate) tag: Tag,
    pub(crate) version: Version,
    pub(crate) keep_alive: bool,
    pub(crate) length: Option<u64>,
}

/// A request in progress.
struct Job {
    due: Due,
    ask: Ask,
    service: Service,
    source: Source,
    /// What it waits for: the CPU before, the read it began or joined, the CPU after.
    stage: Stage,
    /// Whether what it waits for has been read; and what that was, or why it was not.
    read: bool,
    body: Option<Arc<Document>>,
    failed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Computing; the answer's parts are not there yet.
    Computing,
    /// The CPU is done, the disk is not.
    Reading,
    /// The CPU sends, after computing where nothing had to be read.
    Sending,
}

/// A request that is answered, or not.
pub(crate) struct Outcome {
    pub(crate) due: Due,
    pub(crate) source: Source,
    /// What was read; none for what is computed.
    pub(crate) body: Option<Arc<Document>>,
    pub(crate) failed: Option<String>,
}

/// The threads of an origin, its cache and the requests in progress.
pub(crate) struct Real {
    cpu: Pool<CpuTask>,
    disks: Vec<Pool<DiskTask>>,
    bell: Arc<Bell>,
    held: Held,
    settings: RealSettings,
    costs: CpuCost,
    scale: f64,
    cache: Cache,
    cached: HashMap<TargetId, Arc<Document>>,
    /// Who waits for a document that is being read for the cache; the first began it.
    reading: HashMap<TargetId, Vec<u32>>,
    jobs: Slab<Job>,
    counts: Counts,
    evicted: Vec<TargetId>,
    dice: Dice,
    outcomes: Vec<Outcome>,
}

impl Real {
    /// Starts the threads and makes the database, if there is none.
    ///
    /// # Errors
    /// What the file system says of a root, or the system of a thread.
    pub(crate) fn start(config: &Config, settings: RealSettings, start: Start) -> Fallible<Self> {
        let bell = Arc::new(Bell::new()?);
        let held = Held::default();
        let kernel = settings.cache == DocumentCache::Kernel;
        let mut disks = Vec::new();
        for (at, root) in settings.roots.iter().enumerate() {
            let seed = config.seed ^ (at as u64 + 1);
            let tree = tree::Tree::open(root, settings.database_bytes, settings.bytes_max, kernel)
                .map_err(|cause| named(&root.display().to_string(), &cause))?;
            disks.push(work::disk(tree, seed, start, &bell, &held)?);
        }
        let roots = if kernel { settings.roots.as_slice() } else { &[] };
        let cpu = work::cpu(roots, settings.threads, start, &bell, &held)?;
        let cache_bytes = if kernel { 0 } else { config.model.cache_bytes };
        Ok(Self {
            cpu,
            disks,
            bell,
            held,
            settings,
            costs: config.model.cpu,
            scale: config.time_scale,
            cache: Cache::new(config.model.cache_policy, cache_bytes),
            cached: HashMap::new(),
            reading: HashMap::new(),
            jobs: Slab::default(),
            counts: Counts::default(),
            evicted: Vec::new(),
            dice: Dice::new(config.seed),
            outcomes: Vec::new(),
        })
    }

    /// Whether too much is in memory already.
    pub(crate) fn is_full(&self) -> bool {
        self.held.bytes() > self.cache.bytes() + FLIGHT_BYTES_MAX
    }

    /// Requests in progress.
    pub(crate) fn active(&self) -> usize {
        self.jobs.len()
    }

    /// A client has connected.
    pub(crate) fn connect(&self) {
        self.charge(self.costs.connect);
    }

    /// A connection was closed.
    pub(crate) fn close(&self) {
        self.charge(self.costs.close);
    }

    fn charge(&self, demand: Duration) {
        if self.cpu.gauge().queue < QUEUE_MAX {
            self.burn(None, demand, None);
        }
    }

    /// Takes in a request, for which a key exchange is to be done first or none.
    pub(crate) fn admit(&mut self, due: Due, ask: Ask, service: Service, handshake: Duration) {
        self.counts.requests += 1;
        let cacheable = service.draw_cacheable(&mut self.dice);
        let source = self.source(&ask, cacheable);
        let body = self.cached.get(&ask.target).filter(|_| source == Source::Hit).cloned();
        let looks = !ask.head_only && (service.reads || service.disk > Duration::ZERO);
        let waits = looks && source != Source::Hit;
        let stage = if waits { Stage::Computing } else { Stage::Sending };
        let id = self.jobs.insert(Job {
            due,
            ask,
            service,
            source,
            stage,
            read: false,
            body,
            failed: None,
        });
        let before = self.costs.request + handshake + service.compute(ask.bytes);
        if !waits {
            return self.burn(Some(id), before + self.sending(&ask), None);
        }
        match source {
            Source::Miss => drop(self.reading.insert(ask.target, vec![id])),
            Source::Coalesced => self.reading.entry(ask.target).or_default().push(id),
            Source::Hit | Source::Bypass => {}
        }
        // The kernel is asked for what it has where its cache is ours.
        let kernel = self.settings.cache == DocumentCache::Kernel && service.reads && cacheable;
        let probe = kernel.then(|| (self.disk_of(ask.target), ask.target, ask.bytes));
        self.burn(Some(id), before, probe);
    }

    fn source(&mut self, ask: &Ask, cacheable: bool) -> Source {
        if ask.head_only {
            let has = self.cache.contains(ask.target);
            return if has { Source::Hit } else { Source::Bypass };
        }
        if !cacheable || self.settings.cache == DocumentCache::Kernel {
            // Under the kernel's cache this is said when the kernel has answered.
            Source::Bypass
        } else if self.cache.touch(ask.target) {
            Source::Hit
        } else if self.reading.contains_key(&ask.target) {
            Source::Coalesced
        } else {
            Source::Miss
        }
    }

    /// What the threads have done since the last call, and what became of it.
    pub(crate) fn collect(&mut self, outcomes: &mut Vec<Outcome>) {
        for finished in self.bell.take() {
            match finished {
                Finished::Cpu(id, probed) => self.computed(id, probed),
                Finished::Disk(id, read) => self.read(id, read),
            }
        }
        outcomes.append(&mut self.outcomes);
    }

    fn computed(&mut self, id: u32, probed: Option<Option<Arc<Document>>>) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        if job.stage == Stage::Sending {
            return self.end(id);
        }
        match probed {
            Some(Some(body)) => {
                (job.source, job.body) = (Source::Hit, Some(body));
                return self.send(id);
            }
            Some(None) => job.source = Source::Miss,
            None => {}
        }
        job.stage = Stage::Reading;
        match job.source {
            Source::Coalesced if job.read => self.send(id),
            Source::Coalesced => {}
            Source::Hit | Source::Miss | Source::Bypass => {
                let (ask, service) = (job.ask, job.service);
                let document = service.reads.then_some((ask.target, ask.bytes));
                let task = DiskTask { job: id, document, accesses: accesses(service.disk) };
                self.disks[self.disk_of(ask.target)].push(task);
            }
        }
    }

    fn read(&mut self, id: u32, read: std::io::Result<Option<Arc<Document>>>) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        let (target, own) = (job.ask.target, self.settings.cache == DocumentCache::Own);
        let shared = own && job.source == Source::Miss;
        let waiting = shared.then(|| self.reading.remove(&target)).flatten();
        let waiting = waiting.unwrap_or_else(|| vec![id]);
        let (body, failed) = match read {
            Ok(body) => (body, None),
            Err(cause) => (None, Some(cause.to_string())),
        };
        if shared && failed.is_none() {
            let bytes = job.ask.bytes;
            self.keep(target, bytes, body.as_ref());
        }
        for id in waiting {
            let Some(job) = self.jobs.get_mut(id) else { continue };
            (job.read, job.body, job.failed) = (true, body.clone(), failed.clone());
            // One that has joined may still be computing.
            if job.stage == Stage::Reading {
                self.send(id);
            }
        }
    }

    /// Puts a document into the cache, for which others may have to go.
    fn keep(&mut self, target: TargetId, bytes: u64, body: Option<&Arc<Document>>) {
        self.evicted.clear();
        self.cache.insert(target, bytes, &mut self.evicted);
        self.counts.evicted += self.evicted.len() as u64;
        for evicted in &self.evicted {
            self.cached.remove(evicted);
        }
        // What is computed needs no memory here: its content is its target's.
        if let Some(body) = body.filter(|_| self.cache.contains(target)) {
            self.cached.insert(target, Arc::clone(body));
        }
    }

    fn send(&mut self, id: u32) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        if job.failed.is_some() {
            return self.end(id);
        }
        job.stage = Stage::Sending;
        let ask = job.ask;
        self.burn(Some(id), self.sending(&ask), None);
    }

    fn end(&mut self, id: u32) {
        let Some(job) = self.jobs.remove(id) else { return };
        let Job { due, ask, source, body, failed, .. } = job;
        match source {
            Source::Hit => self.counts.hits += 1,
            Source::Miss => self.counts.misses += 1,
            Source::Coalesced => self.counts.coalesced += 1,
            Source::Bypass => self.counts.bypassed += 1,
        }
        if failed.is_none() {
            self.counts.finished += 1;
            self.counts.sent_bytes += if ask.head_only { 0 } else { ask.bytes };
        }
        self.outcomes.push(Outcome { due, source, body, failed });
    }

    fn burn(&self, job: Option<u32>, demand: Duration, probe: Option<work::Probe>) {
        let seconds = demand.as_secs_f64() * self.scale;
        let demand = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.cpu.push(CpuTask { job, demand, probe });
    }

    fn sending(&self, ask: &Ask) -> Duration {
        if ask.head_only { Duration::ZERO } else { self.costs.send(ask.bytes) }
    }

    fn disk_of(&self, target: TargetId) -> usize {
        (target.mixed(STRIPE_SALT) % self.disks.len() as u64) as usize
    }

    /// Adds to a reading what was measured.
    pub(crate) fn measure(&self, reading: &mut Reading) {
        let cpu = self.cpu.gauge();
        let mut disk = pool::Gauge::default();
        for one in self.disks.iter().map(Pool::gauge) {
            disk.busy += one.busy;
            disk.inside += one.inside;
            disk.begun += one.begun;
            disk.queue += one.queue;
        }
        let disks = u32::try_from(self.disks.len()).unwrap_or(u32::MAX);
        reading.cpu_busy = cpu.cpu / self.cpu.threads();
        reading.cpu_occupied = Some(cpu.busy / self.cpu.threads());
        reading.cpu_queue = cpu.queue;
        reading.disk_busy = disk.busy / disks;
        reading.disk_inside = disk.inside;
        reading.disk_reads = disk.begun;
        reading.disk_queue = disk.queue;
        reading.counts = self.counts;
        reading.active = self.jobs.len();
        reading.cached_bytes = self.cache.bytes();
        reading.cached_targets = self.cache.targets();
    }
}

impl AsFd for Real {
    /// The bell, readable when a thread has done something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

type Fallible<T> = std::io::Result<T>;

/// How many pages of the database make up so much of a disk's time on paper: at least one, if any.
fn accesses(disk: Duration) -> u32 {
    let count = (disk.as_secs_f64() / QUERY_ACCESS.as_secs_f64()).round() as u32;
    if disk.is_zero() { 0 } else { count.max(1) }
}

fn named(what: &str, cause: &std::io::Error) -> std::io::Error {
    std::io::Error::new(cause.kind(), format!("{what}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_reads_as_many_pages_as_its_disk_time_is_worth() {
        assert_eq!(accesses(Duration::ZERO), 0);
        assert_eq!(accesses(Duration::from_nanos(1)), 1);
        assert_eq!(accesses(Service::DISK.disk), model::cost::QUERY_ACCESSES);
        assert_eq!(accesses(Duration::MAX), u32::MAX);
    }
}
