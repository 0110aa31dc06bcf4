//! Sampling: what a server has to do, from two readings of the kernel's counters.
//!
//! A [`Reading`] is what was there at one moment; [`Rates`] are what two of them say of the time
//! between. Time itself is read from the host (/proc/uptime), so that all of it is a function of
//! texts. A part that cannot be read is missing and named; the rest goes on.

use crate::doctor::Unread;
use crate::host::Host;
use std::io;

/// Milliseconds are told in 32 bits and begin again after 49 days.
const MS_A_SECOND: f64 = 1000.0;
/// Disks that are looked at: a server has a few.
const DISKS_MAX: usize = 256;
/// The kernel's number for an established connection.
const ESTABLISHED: u8 = 1;
/// The kernel needs 0.9 microseconds to tell of a connection (measured on Linux 6.18): so many a
/// reading, one reading a second, are one percent of a processor.
const CONNECTIONS_A_READING: u32 = 10_000;
/// What is listed as a disk and is none, or stands upon others that are listed too.
const NO_DISKS: &[&str] = &["loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"];

/// What was there at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Seconds since the host began.
    pub uptime_s: Option<f64>,
    /// What the processors did since then.
    pub cpu: Option<Cpu>,
    /// What each disk did since then.
    pub disks: Option<Vec<Disk>>,
    /// Means of runnable and waiting tasks over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Connections that wait to be accepted by the served program, and how many may; `None` where
    /// nobody listens.
    pub accept: Option<Accept>,
    /// Established connections on the served ports.
    pub established: Option<u32>,
    /// Readings since these were counted: where there are many, not every reading counts them.
    pub counted_ago: u32,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

/// Time of all processors, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// In which something ran.
    pub busy: u64,
    /// In which nothing did, though perhaps something waited for a disk.
    pub idle: u64,
}

/// A disk's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Its name, such as `sda`.
    pub name: String,
    /// Milliseconds in which it had something to do, modulo 2^32.
    pub busy_ms: u32,
    /// The same, each times the requests it had then, modulo 2^32.
    pub weighted_ms: u32,
}

/// The queue of those who wait to be accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accept {
    /// Connections in it.
    pub queue: u32,
    /// Connections it has room for.
    pub backlog: u32,
}

/// What two readings say of the time between.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// The time, in seconds.
    pub period_s: f64,
    /// Share of all processors' time in which something ran, 0 to 1.
    pub cpu_busy: Option<f64>,
    /// The same of the busiest disk.
    pub disk_busy: Option<f64>,
    /// Requests that waited for disks or were being served by them, on average.
    pub disk_queue: Option<f64>,
}

/// Reads everything: `served` is where the program listens, `ports` what clients connect to,
/// `before` the reading before this one.
pub fn read(host: &dyn Host, served: u16, ports: &[u16], before: &Reading) -> Reading {
    let mut reading = Reading::default();
    let mut unread = Vec::new();
    let mut note = |failed: Unread| unread.push(failed.to_string());
    reading.uptime_s = parsed(host, "/proc/uptime", uptime).map_err(&mut note).ok();
    reading.cpu = parsed(host, "/proc/stat", cpu).map_err(&mut note).ok();
    reading.disks = parsed(host, "/proc/diskstats", disks).map_err(&mut note).ok();
    reading.load_average = parsed(host, "/proc/loadavg", load_average).map_err(&mut note).ok();
    reading.accept = accept(host, served).map_err(&mut note).ok().flatten();
    match before.established {
        Some(many) if before.counted_ago < many / CONNECTIONS_A_READING => {
            reading.established = Some(many);
            reading.counted_ago = before.counted_ago + 1;
        }
        _ => reading.established = established(host, ports).map_err(&mut note).ok(),
    }
    reading.unread = unread;
    reading
}

fn parsed<T>(host: &dyn Host, path: &str, parse: fn(&str) -> Option<T>) -> Result<T, Unread> {
    let bytes = host.read(path).map_err(Unread::of(path))?;
    let odd = || io::Error::other("it is not as Linux writes it");
    parse(&String::from_utf8_lossy(&bytes)).ok_or_else(odd).map_err(Unread::of(path))
}

/// Of several sockets (SO_REUSEPORT) each has its own queue: the sums.
fn accept(host: &dyn Host, served: u16) -> Result<Option<Accept>, Unread> {
    let found = host.listeners(served).map_err(Unread::of("who listens (sock_diag)"))?;
    let each = found.iter().map(|one| Accept { queue: one.queue, backlog: one.backlog });
    Ok(each.reduce(|sum, one| Accept {
        queue: sum.queue.saturating_add(one.queue),
        backlog: sum.backlog.saturating_add(one.backlog),
    }))
}

fn established(host: &dyn Host, ports: &[u16]) -> Result<u32, Unread> {
    let mut count = 0u32;
    for port in ports {
        let found = host.connections(*port, &mut |one| {
            count = count.saturating_add(u32::from(one.state == ESTABLISHED));
        });
        found.map_err(Unread::of("the connections (sock_diag)"))?;
    }
    Ok(count)
}

/// Seconds since the host began, from /proc/uptime.
pub fn uptime(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|s: &f64| s.is_finite() && *s >= 0.0)
}

/// Three means, from /proc/loadavg.
pub fn load_average(text: &str) -> Option<[f64; 3]> {
    let mut means = text.split_whitespace().map(|word| word.parse().ok());
    let means = [means.next()??, means.next()??, means.next()??];
    means.iter().all(|mean: &f64| mean.is_finite() && *mean >= 0.0).then_some(means)
}

/// All processors together, from /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
/// What follows is contained in the first two.
pub fn cpu(text: &str) -> Option<Cpu> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut ticks = [0u64; 8];
    let mut words = line.split_whitespace();
    for (at, tick) in ticks.iter_mut().enumerate() {
        *tick = match words.next() {
            Some(word) => word.parse().ok()?,
            None if at >= 4 => 0,
            None => return None,
        };
    }
    let [.., idle, iowait, _, _, _] = ticks;
    let idle = idle.saturating_add(iowait);
    let all = ticks.iter().fold(0u64, |sum, tick| sum.saturating_add(*tick));
    Some(Cpu { busy: all.saturating_sub(idle), idle })
}

/// Whole disks, from /proc/diskstats.
pub fn disks(text: &str) -> Option<Vec<Disk>> {
    let mut found: Vec<Disk> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, busy, weighted) = (*words.get(2)?, words.get(12)?, words.get(13)?);
        // Newer kernels print more than 32 bits where older ones begin again: the differences
        // are the same in 32.
        let low = |word: &str| word.parse::<u64>().ok().map(|ms| ms as u32);
        let disk = Disk { name: name.to_owned(), busy_ms: low(busy)?, weighted_ms: low(weighted)? };
        // A disk stands before its partitions.
        let part = found.iter().any(|whole| is_part(name, &whole.name));
        let none = NO_DISKS.iter().any(|prefix| name.starts_with(prefix));
        if !part && !none && found.len() < DISKS_MAX {
            found.push(disk);
        }
    }
    Some(found)
}

/// Whether `name` is a partition of `whole`: sda1 of sda, nvme0n1p1 of nvme0n1.
fn is_part(name: &str, whole: &str) -> bool {
    let Some(rest) = name.strip_prefix(whole) else { return false };
    let digits = match whole.ends_with(|char: char| char.is_ascii_digit()) {
        true => rest.strip_prefix('p').unwrap_or(""),
        false => rest,
    };
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What two readings say of the time between them; nothing where time did not pass.
pub fn between(earlier: &Reading, later: &Reading) -> Rates {
    let (Some(begin), Some(end)) = (earlier.uptime_s, later.uptime_s) else {
        return Rates { cpu_busy: cpu_busy(earlier, later), ..Rates::default() };
    };
    let period_s = end - begin;
    if period_s <= 0.0 {
        return Rates::default();
    }
    let mut rates = Rates { period_s, cpu_busy: cpu_busy(earlier, later), ..Rates::default() };
    if let (Some(before), Some(after)) = (&earlier.disks, &later.disks) {
        let (mut busy, mut queue) = (0.0f64, 0.0);
        for disk in after {
            // One that was not there before has done nothing yet that we know of.
            let Some(old) = before.iter().find(|old| old.name == disk.name) else { continue };
            let share =
                |now: u32, then: u32| f64::from(now.wrapping_sub(then)) / MS_A_SECOND / period_s;
            busy = busy.max(share(disk.busy_ms, old.busy_ms));
            queue += share(disk.weighted_ms, old.weighted_ms);
        }
        rates.disk_busy = Some(busy.min(1.0));
        rates.disk_queue = Some(queue);
    }
    rates
}

fn cpu_busy(earlier: &Reading, later: &Reading) -> Option<f64> {
    let (before, after) = (earlier.cpu?, later.cpu?);
    // The kernel's iowait may go backwards.
    let busy = after.busy.saturating_sub(before.busy);
    let all = busy.saturating_add(after.idle.saturating_sub(before.idle));
    (all > 0).then(|| busy as f64 / all as f64)
}
