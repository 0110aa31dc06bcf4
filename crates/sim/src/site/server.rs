//! A Web server of CAP's cluster: CPU, memory, disk and network card, each a station of its own,
//! a cache of whole files, and the replica of the database behind it.

use super::cost::{
    DATABASE_PAGE_BYTES, DISK_ACCESS, DISK_BYTES_S, ETHERNET_BITS_S, MEMORY_BYTES_S, at_rate,
};
use core::time::Duration;
use model::{Lru, Station};
use policy::{Instant, Report, TargetId};

/// One server. Work enters its stations in the order of time, first come, first served.
#[derive(Debug)]
pub(super) struct Server {
    pub cpu: Station,
    pub memory: Station,
    pub disk: Station,
    /// The disk of the database behind it.
    pub database: Station,
    pub nic: Station,
    cache: Lru,
    cache_bytes: u64,
    /// HTTP processes: connections with a request on them.
    pub active: u32,
    /// How busy each component had been when it last reported.
    reported: Busy,
    reported_at: Instant,
}

/// How long each component was busy since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Busy {
    cpu: Duration,
    disk: Duration,
    database: Duration,
    nic: Duration,
}

/// The share of a span that each component of a server was busy, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// The CPU.
    pub cpu: f64,
    /// The disk with the files.
    pub disk: f64,
    /// The disk of the database behind the server.
    pub database: f64,
    /// The network card.
    pub nic: f64,
}

impl Utilisation {
    /// The busiest component's.
    pub fn busiest(&self) -> f64 {
        self.cpu.max(self.disk).max(self.database).max(self.nic)
    }
}

impl Busy {
    /// Of a CPU and a disk.
    pub(super) fn of((cpu, disk): (Duration, Duration)) -> Self {
        Self { cpu, disk, ..Self::default() }
    }

    pub(super) fn over(&self, before: &Self, span: Duration) -> Utilisation {
        let share = |now: Duration, then: Duration| {
            let busy_s = now.saturating_sub(then).as_secs_f64();
            if span.is_zero() { 0.0 } else { (busy_s / span.as_secs_f64()).min(1.0) }
        };
        Utilisation {
            cpu: share(self.cpu, before.cpu),
            disk: share(self.disk, before.disk),
            database: share(self.database, before.database),
            nic: share(self.nic, before.nic),
        }
    }
}

impl Server {
    pub fn new(cache_bytes: u64) -> Self {
        Self {
            cpu: Station::default(),
            memory: Station::default(),
            disk: Station::default(),
            database: Station::default(),
            nic: Station::default(),
            cache: Lru::new(cache_bytes),
            cache_bytes,
            active: 0,
            reported: Busy::default(),
            reported_at: Instant::ZERO,
        }
    }

    /// Loses everything: memory, queues, connections.
    pub fn restart(&mut self, now: Instant) {
        *self = Self { reported_at: now, ..Self::new(self.cache_bytes) };
    }

    /// Reads a file of `bytes` from the disk; returns when that is done.
    pub fn read(&mut self, now: Instant, bytes: u64) -> Instant {
        self.disk.enter(now, DISK_ACCESS + at_rate(bytes, DISK_BYTES_S))
    }

    /// Reads a page of the database, on the replica's disk or, with none, on the server's own.
    pub fn query(&mut self, now: Instant, replica: bool) -> Instant {
        let disk = if replica { &mut self.database } else { &mut self.disk };
        disk.enter(now, DISK_ACCESS + at_rate(DATABASE_PAGE_BYTES, DISK_BYTES_S))
    }

    /// Copies `bytes` through the memory.
    pub fn copy(&mut self, now: Instant, bytes: u64) -> Instant {
        self.memory.enter(now, at_rate(bytes, MEMORY_BYTES_S))
    }

    /// Puts `wire_bytes` on the wire.
    pub fn send(&mut self, now: Instant, wire_bytes: u64) -> Instant {
        self.nic.enter(now, at_rate(wire_bytes * 8, ETHERNET_BITS_S))
    }

    /// Whether the file is in the cache; notes the use.
    pub fn has(&mut self, target: TargetId) -> bool {
        self.cache.touch(target)
    }

    /// Puts the file into the cache; `evicted` is scratch.
    pub fn keep(&mut self, target: TargetId, bytes: u64, evicted: &mut Vec<TargetId>) {
        evicted.clear();
        self.cache.insert(target, bytes, evicted);
    }

    pub fn busy(&self, now: Instant) -> Busy {
        Busy {
            cpu: self.cpu.busy(now),
            disk: self.disk.busy(now),
            database: self.database.busy(now),
            nic: self.nic.busy(now),
        }
    }

    /// What it says of itself: its components since the last report. The database behind it counts
    /// as a disk of its own: the busier of the two is reported.
    pub fn report(&mut self, now: Instant) -> Report {
        let busy = self.busy(now);
        let shares = busy.over(&self.reported, now.since(self.reported_at));
        (self.reported, self.reported_at) = (busy, now);
        let disk_queue = self.disk.queue(now).max(self.database.queue(now));
        Report {
            at: now,
            cpu: shares.cpu,
            disk: shares.disk.max(shares.database),
            disk_queue: u32::try_from(disk_queue).unwrap_or(u32::MAX),
            active: self.active,
            latency: Duration::ZERO,
        }
    }

    /// Whether no component has work at `now` and no connection is open.
    pub fn is_idle(&self, now: Instant) -> bool {
        let stations = [&self.cpu, &self.memory, &self.disk, &self.database, &self.nic];
        self.active == 0 && stations.iter().all(|station| station.free_at() <= now)
    }
}
