//! One server: a CPU, a disk, a cache, and the requests in progress.
//!
//! The driver owns the clock. It admits requests, keeps the [`Wake`]s it is given until their time,
//! and hands each to [`Node::step`]; answers come out as [`Part`]s. The journey of a request:
//! the CPU computes; then, unless the cache has the target, the disk reads it block by block; then
//! the CPU sends what is in memory. A request for a target that is being read joins that read.

use crate::cost::{BLOCK_BYTES, SEND_UNIT_BYTES, block_bytes, blocks, times};
use crate::exchange::{Agenda, Ask, Counts, Handling, Part, Source, Stage, Timeline, Wake};
use crate::{Cache, Config, CpuCost, Index, Reading, Service, Slab, Station};
use core::time::Duration;
use policy::{Dice, Instant, TargetId};

/// Salt of the hash that spreads targets over disks: any number, so that it is not the policies'.
const STRIPE_SALT: u64 = 0xd15c;

/// A request in progress.
#[derive(Clone, Debug)]
struct Job {
    ask: Ask,
    source: Source,
    /// The read that began with it, until it has begun.
    begins: Option<u32>,
    /// Chunks in memory, chunks sent, and chunks in all, at least one.
    ready: u64,
    sent: u64,
    chunks: u64,
    /// Whether the CPU works on it or has it queued.
    on_cpu: bool,
    send_512: Duration,
    after: Duration,
    line: Timeline,
}

/// A target on its way from the disk.
#[derive(Clone, Debug)]
struct Read {
    target: TargetId,
    bytes: u64,
    /// Disk time of the service, before the first chunk.
    query: Duration,
    /// Whether the target itself is read, or the service's disk time is all.
    file: bool,
    /// Chunks read and chunks in all.
    done: u64,
    chunks: u64,
    /// Whether others may join and the cache gets it.
    shared: bool,
    /// Who waits for it, the one that began it first.
    jobs: Vec<u32>,
}

/// One server on paper.
#[derive(Clone, Debug)]
pub struct Node {
    config: Config,
    cpu: Station,
    /// At least one.
    disks: Vec<Station>,
    cache: Cache,
    jobs: Slab<Job>,
    reads: Slab<Read>,
    /// The shared reads by target.
    reading: Index,
    counts: Counts,
    evicted: Vec<TargetId>,
}

impl Node {
    /// A node with a cold cache.
    pub fn new(config: Config) -> Self {
        let disks = vec![Station::default(); config.disks.max(1)];
        Self {
            cache: Cache::new(config.cache_policy, config.cache_bytes),
            config,
            cpu: Station::default(),
            disks,
            jobs: Slab::default(),
            reads: Slab::default(),
            reading: Index::default(),
            counts: Counts::default(),
            evicted: Vec::new(),
        }
    }

    /// A client connects.
    pub fn connect(&mut self, now: Instant) {
        self.cpu.enter(now, self.config.cpu.connect);
    }

    /// A connection is torn down.
    pub fn close(&mut self, now: Instant) {
        self.cpu.enter(now, self.config.cpu.close);
    }

    /// How a request on a connection that stays open is handled.
    pub fn plainly(&self) -> Handling {
        let CpuCost { request, send_512, .. } = self.config.cpu;
        Handling { before: request, send_512, after: Duration::ZERO, keep: true }
    }

    /// Takes in a request and says where its answer will come from.
    pub fn admit(&mut self, now: Instant, ask: Ask, dice: &mut Dice, out: &mut Agenda) -> Source {
        self.admit_as(now, ask, self.plainly(), dice, out)
    }

    /// The same for a request that is handled in its own way.
    pub fn admit_as(
        &mut self,
        now: Instant,
        ask: Ask,
        handling: Handling,
        dice: &mut Dice,
        out: &mut Agenda,
    ) -> Source {
        let service = self.config.services.of(ask.class);
        let source = self.source(&ask, service.draw_cacheable(dice), handling.keep);
        self.count(source);
        let waits = match source {
            Source::Hit => false,
            Source::Coalesced => true,
            Source::Miss | Source::Bypass => {
                !ask.head_only && (service.reads || service.disk > Duration::ZERO)
            }
        };
        let compute = handling.before.saturating_add(service.compute(ask.bytes));
        let chunks = self.chunks(ask.bytes);
        let line = Timeline { arrived: now, computed: now, first_byte: now, last_byte: now };
        let ready = if waits { 0 } else { chunks };
        let Handling { send_512, after, .. } = handling;
        let (begins, sent, on_cpu) = (None, 0, true);
        let job = Job { ask, source, begins, ready, sent, chunks, on_cpu, send_512, after, line };
        let id = self.jobs.insert(job);
        if waits {
            out.wakes.push((self.cpu.enter(now, compute), Wake(Stage::Computed, id)));
            self.enlist(id, &service);
        } else {
            // Computing and sending the first chunk are one turn of the CPU.
            self.send(id, now, compute, out);
        }
        source
    }

    /// What was to happen at `now` has happened.
    pub fn step(&mut self, now: Instant, wake: Wake, out: &mut Agenda) {
        match wake {
            Wake(Stage::Computed, id) => self.computed(id, now, out),
            Wake(Stage::Sent, id) => self.sent(id, now, out),
            Wake(Stage::Read, id) => self.read(id, now, out),
        }
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Its CPU, which may be given other work too.
    pub fn cpu(&mut self) -> &mut Station {
        &mut self.cpu
    }

    /// Its disk; the first one where there are several.
    pub fn disk(&mut self) -> &mut Station {
        &mut self.disks[0]
    }

    /// How long its CPU has been busy from the beginning to `now`.
    pub fn cpu_busy(&self, now: Instant) -> Duration {
        self.cpu.busy(now)
    }

    /// Reads that wait for its disks or are under way there.
    pub fn disk_queue(&mut self, now: Instant) -> usize {
        self.disks.iter_mut().map(|disk| disk.queue(now)).sum()
    }

    /// The time that all reads have spent waiting for its disks or being served by them, from the
    /// beginning to `now`: the integral of [`Node::disk_queue`].
    pub fn disk_inside(&self, now: Instant) -> Duration {
        self.disks.iter().map(|disk| disk.inside(now)).sum()
    }

    /// How long its disks have been busy from the beginning to `now`, on average.
    pub fn disk_busy(&self, now: Instant) -> Duration {
        let busy: Duration = self.disks.iter().map(|disk| disk.busy(now)).sum();
        busy / u32::try_from(self.disks.len()).unwrap_or(u32::MAX)
    }

    /// Reads that its disks were sent for: a block each, or a target each.
    pub fn disk_reads(&self) -> u64 {
        self.disks.iter().map(Station::entered).sum()
    }

    /// Its cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Requests in progress.
    pub fn active(&self) -> usize {
        self.jobs.len()
    }

    fn source(&mut self, ask: &Ask, cacheable: bool, keep: bool) -> Source {
        if ask.head_only {
            return if self.cache.contains(ask.target) { Source::Hit } else { Source::Bypass };
        }
        if !cacheable {
            Source::Bypass
        } else if self.cache.touch(ask.target) {
            Source::Hit
        } else if self.reading.find(ask.target).is_some() {
            Source::Coalesced
        } else if keep {
            Source::Miss
        } else {
            Source::Bypass
        }
    }

    fn count(&mut self, source: Source) {
        self.counts.requests += 1;
        match source {
            Source::Hit => self.counts.hits += 1,
            Source::Miss => self.counts.misses += 1,
            Source::Coalesced => self.counts.coalesced += 1,
            Source::Bypass => self.counts.bypassed += 1,
        }
    }

    /// Writes a job down for the read it waits for, which is a new one unless it coalesces.
    fn enlist(&mut self, id: u32, service: &Service) {
        let job = self.jobs.get_mut(id).expect("the job was just admitted");
        let ask = job.ask;
        if job.source == Source::Coalesced {
            let read = self.reading.find(ask.target).and_then(|id| self.reads.get_mut(id));
            let read = read.expect("a request coalesces only with a read under way");
            // An answer shorter than what is read (a program's differ in length) waits for its end.
            job.ready = read.done.min(job.chunks - 1);
            read.jobs.push(id);
            return;
        }
        let shared = job.source == Source::Miss;
        let read = self.reads.insert(Read {
            target: ask.target,
            bytes: ask.bytes,
            query: service.disk,
            file: service.reads,
            done: 0,
            chunks: if service.reads { job.chunks } else { 1 },
            shared,
            jobs: vec![id],
        });
        job.begins = Some(read);
        if shared {
            self.reading.insert(ask.target, read);
        }
    }

    fn computed(&mut self, id: u32, now: Instant, out: &mut Agenda) {
        let job = self.jobs.get_mut(id).expect("a job stays until its last byte is sent");
        job.line.computed = now;
        job.on_cpu = false;
        let send = job.ready > 0;
        if let Some(read) = job.begins.take() {
            self.read_on(read, now, out);
        }
        if send {
            self.send(id, now, Duration::ZERO, out);
        }
    }

    /// Sends the disk for the next chunk of a read.
    fn read_on(&mut self, id: u32, now: Instant, out: &mut Agenda) {
        let read = self.reads.get(id).expect("a read stays until its last chunk is in memory");
        let mut demand = if read.done == 0 { read.query } else { Duration::ZERO };
        if read.file {
            demand = demand.saturating_add(match self.config.reading {
                Reading::Whole => self.config.disk.read(read.bytes),
                Reading::Blocks => self.config.disk.read_block(read.bytes, read.done),
            });
        }
        let disk = match self.disks.len() {
            1 => 0,
            count => (read.target.mixed(STRIPE_SALT) % count as u64) as usize,
        };
        out.wakes.push((self.disks[disk].enter(now, demand), Wake(Stage::Read, id)));
    }

    /// A chunk is in memory: whoever waits for it can be sent it.
    fn read(&mut self, id: u32, now: Instant, out: &mut Agenda) {
        let read = self.reads.get_mut(id).expect("a read stays until its last chunk is in memory");
        read.done += 1;
        let (done, over) = (read.done, read.done == read.chunks);
        let jobs = core::mem::take(&mut read.jobs);
        for &job_id in &jobs {
            let job = self.jobs.get_mut(job_id).expect("a job outlives the read it waits for");
            job.ready = if over { job.chunks } else { done.min(job.chunks - 1) };
            if !job.on_cpu && job.ready > job.sent {
                self.send(job_id, now, Duration::ZERO, out);
            }
        }
        if !over {
            self.reads.get_mut(id).expect("the read is not over").jobs = jobs;
            self.read_on(id, now, out);
            return;
        }
        let read = self.reads.remove(id).expect("the read was there a moment ago");
        if read.shared {
            self.reading.remove(read.target);
            self.evicted.clear();
            self.cache.insert(read.target, read.bytes, &mut self.evicted);
            self.counts.evicted += self.evicted.len() as u64;
        }
    }

    /// Gives the CPU the next chunk of an answer to send, after `compute` for the same request.
    fn send(&mut self, id: u32, now: Instant, compute: Duration, out: &mut Agenda) {
        let job = self.jobs.get_mut(id).expect("a job stays until its last byte is sent");
        let bytes = match self.config.reading {
            Reading::Whole => job.ask.bytes,
            Reading::Blocks => block_bytes(job.ask.bytes, job.sent),
        };
        let bytes = if job.ask.head_only { 0 } else { bytes };
        let cost = times(job.send_512, bytes.div_ceil(SEND_UNIT_BYTES));
        let after = if job.sent + 1 == job.chunks { job.after } else { Duration::ZERO };
        let over_at = self.cpu.enter(now, compute.saturating_add(cost).saturating_add(after));
        let sent_at = Instant(over_at.0.saturating_sub(after.as_nanos() as u64));
        job.line.last_byte = sent_at;
        job.on_cpu = true;
        if job.sent == 0 {
            let rest = if bytes == 0 { Duration::ZERO } else { cost - job.send_512 };
            job.line.first_byte = Instant(sent_at.0.saturating_sub(rest.as_nanos() as u64));
            if compute > Duration::ZERO {
                job.line.computed = Instant(sent_at.0.saturating_sub(cost.as_nanos() as u64));
            }
        }
        out.wakes.push((over_at, Wake(Stage::Sent, id)));
    }

    fn sent(&mut self, id: u32, now: Instant, out: &mut Agenda) {
        let job = self.jobs.get_mut(id).expect("a job stays until its last byte is sent");
        job.sent += 1;
        job.on_cpu = false;
        let (tag, source) = (job.ask.tag, job.source);
        if job.sent < job.chunks {
            let sent_bytes = job.sent * BLOCK_BYTES;
            out.parts.push(Part { tag, sent_bytes, source, end: None });
            if job.ready > job.sent {
                self.send(id, now, Duration::ZERO, out);
            }
            return;
        }
        let sent_bytes = if job.ask.head_only { 0 } else { job.ask.bytes };
        self.counts.finished += 1;
        self.counts.sent_bytes += sent_bytes;
        out.parts.push(Part { tag, sent_bytes, source, end: Some(job.line) });
        self.jobs.remove(id);
    }

    fn chunks(&self, bytes: u64) -> u64 {
        match self.config.reading {
            Reading::Whole => 1,
            Reading::Blocks => blocks(bytes),
        }
    }
}
