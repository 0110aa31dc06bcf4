//! What the whole machine did: the CPU time of client, front-end and servers, and of the kernel
//! between them.

use anyhow::{Context, Result};
use std::fs;
use std::time::{Duration, Instant};

/// Hundredths of a second: USER_HZ, the same on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// A reading.
pub struct Busy {
    at: Instant,
    cpus: u32,
    /// Time of all CPUs in which nothing ran, or the hypervisor ran another machine.
    away: Duration,
}

impl Busy {
    /// Reads /proc/stat. Not the sums of what ran, which are samples of the timer's tick, but what
    /// is left when the time without work is taken off: that is kept exactly.
    pub fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
        let mut lines = text.lines();
        let all = lines.next().context("/proc/stat is empty")?;
        let words: Vec<u32> =
            all.split_whitespace().skip(1).map_while(|w| w.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal.
        let [_, _, _, idle, iowait, _, _, steal, ..] = words[..] else {
            anyhow::bail!("/proc/stat begins with {all:?}");
        };
        let cpus = lines.take_while(|line| line.starts_with("cpu")).count();
        let away = TICK * (idle + iowait + steal);
        Ok(Self { at: Instant::now(), cpus: u32::try_from(cpus)?, away })
    }

    /// CPU time since an earlier reading.
    pub fn since(&self, before: &Self) -> Duration {
        let wall = (self.at - before.at) * self.cpus;
        wall.saturating_sub(self.away.saturating_sub(before.away))
    }
}
