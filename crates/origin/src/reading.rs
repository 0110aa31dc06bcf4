//! What an origin has done up to a moment, and how it stands: two of them make a sample.

use crate::origin::Origin;
use core::time::Duration;
use model::Counts;
use policy::Instant;

/// Everything that samples, load reports and the status are made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Real time since the origin was made.
    pub(crate) real: Instant,
    /// Time since then as the components see it: the model's.
    pub(crate) passed: Duration,
    /// In which the CPU was busy, and the disks on average.
    pub(crate) cpu_busy: Duration,
    /// In which the CPU's threads had work, in the real mode: more than they were busy where other
    /// programs want the machine too.
    pub(crate) cpu_occupied: Option<Duration>,
    pub(crate) disk_busy: Duration,
    /// The time that all reads spent waiting or being served.
    pub(crate) disk_inside: Duration,
    pub(crate) disk_reads: u64,
    pub(crate) counts: Counts,
    pub(crate) out_bytes: u64,
    /// What there is now: work at the CPU and at the disks, requests, connections, what is cached.
    pub(crate) cpu_queue: usize,
    pub(crate) disk_queue: usize,
    pub(crate) active: usize,
    pub(crate) connections: usize,
    pub(crate) cached_bytes: u64,
    pub(crate) cached_targets: usize,
}

impl Origin {
    /// How it stands now.
    pub(crate) fn reading(&mut self) -> Reading {
        let mut reading = Reading {
            real: self.now,
            out_bytes: self.out_bytes,
            connections: self.conns.len(),
            ..Reading::default()
        };
        if let Some(real) = &self.real {
            reading.passed = self.now.since(Instant::ZERO);
            real.measure(&mut reading);
            return reading;
        }
        let now = self.timed.clock.model(self.now);
        let node = &mut self.timed.node;
        Reading {
            passed: now.since(Instant::ZERO),
            cpu_busy: node.cpu_busy(now),
            disk_busy: node.disk_busy(now),
            disk_inside: node.disk_inside(now),
            disk_reads: node.disk_reads(),
            counts: node.counts(),
            cpu_queue: node.cpu().queue(now),
            disk_queue: node.disk_queue(now),
            active: node.active(),
            cached_bytes: node.cache().bytes(),
            cached_targets: node.cache().targets(),
            ..reading
        }
    }
}

/// A part of a whole; nothing of nothing is nothing.
pub(crate) fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}
