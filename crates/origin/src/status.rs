//! What an origin did and does, for its status path and for whoever asks for its load.
//!
//! The load is told in the words of an agent's `GET /load`, so that whoever polls agents can poll
//! an origin: the Collector of CAP's prototype.

use crate::origin::Origin;
use crate::reading::{Reading, ratio};
use crate::real::thread_cpu;
use crate::usage::Shares;
use core::time::Duration;
use rustix::fd::OwnedFd;
use serde_json::{Value, json};
use std::io::BufRead;

/// Real time between two looks at the utilisation for the status.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

/// What happened in the last period that is over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    before: Reading,
    /// Real seconds it took; 0 before the first is over.
    seconds: f64,
    shares: Shares,
}

impl Window {
    /// Closes the period; the next one begins.
    pub(crate) fn close(&mut self, now: Reading) {
        self.seconds = now.real.since(self.before.real).as_secs_f64();
        self.shares = now.shares_since(&self.before);
        self.before = now;
    }

    /// The reading with which the last period ended.
    pub(crate) fn last(&self) -> &Reading {
        &self.before
    }
}

/// The status as JSON. Times of the model are in model seconds, lateness is in real ones.
pub(crate) fn report(origin: &mut Origin) -> Value {
    let now = origin.reading();
    let (counts, model, shares) = (now.counts, &origin.config.model, origin.window.shares);
    let late = &origin.timed.late;
    let occupied = now.cpu_occupied.map(|occupied| ratio(occupied, now.passed));
    let looping = now.cpu_occupied.map(|_| thread_cpu().as_secs_f64());
    json!({
        "name": origin.config.name,
        "uptime_seconds": now.real.since(policy::Instant::ZERO).as_secs_f64(),
        "model_seconds": now.passed.as_secs_f64(),
        "time_scale": origin.config.time_scale,
        "real": origin.config.real.is_some(),
        "requests": counts.requests,
        "hits": counts.hits,
        "misses": counts.misses,
        "coalesced": counts.coalesced,
        "bypassed": counts.bypassed,
        "finished": counts.finished,
        "evicted": counts.evicted,
        "bytes": counts.sent_bytes,
        "active": now.active,
        "cpu": {
            "utilisation": ratio(now.cpu_busy, now.passed),
            "utilisation_1s": shares.cpu,
            "busy_seconds": now.cpu_busy.as_secs_f64(),
            "queue": now.cpu_queue,
            "occupied": occupied,
            "loop_seconds": looping,
        },
        "disk": {
            "utilisation": ratio(now.disk_busy, now.passed),
            "utilisation_1s": shares.disk,
            "busy_seconds": now.disk_busy.as_secs_f64(),
            "queue": now.disk_queue,
            "reads": now.disk_reads,
        },
        "cache": {
            "policy": model.cache_policy.name(),
            "capacity_bytes": model.cache_bytes,
            "bytes": now.cached_bytes,
            "targets": now.cached_targets,
        },
        "connections": now.connections,
        "accepted": origin.accepted,
        "refused": origin.refused,
        "late_us": {
            "mean": late.mean().as_secs_f64() * 1e6,
            "max": late.worst.as_secs_f64() * 1e6,
            "count": late.count,
        },
    })
}

/// The load as JSON, in an agent's words and with two more: `active` requests, and `queued` work at
/// the CPU. Shares are of the last report period that is over.
pub(crate) fn load(origin: &mut Origin) -> Value {
    let now = origin.reading();
    let (window, up) = (&origin.reported, !origin.faults.down);
    let queue = origin.listener.as_ref().map(accept_queue).transpose();
    let mut unread = vec!["load_average: a server on paper has none".to_owned()];
    let queue = queue.unwrap_or_else(|cause| {
        unread.push(format!("accept_queue: /proc/thread-self/net: {cause}"));
        None
    });
    let told = |share: f64| (window.seconds > 0.0).then_some(share);
    json!({
        "server": origin.config.name,
        "uptime_s": now.real.since(policy::Instant::ZERO).as_secs_f64(),
        "period_s": window.seconds,
        "cpu_busy": told(window.shares.cpu.min(1.0)),
        "disk_busy": told(window.shares.disk.min(1.0)),
        "disk_queue": told(window.shares.disk_queue),
        "load_average": null,
        "accept_queue": queue,
        "accept_backlog": origin.backlog,
        "established": now.connections,
        "healthy": up,
        "health": if up { "it answers" } else { "told to be down by /.origin/health" },
        "kernel": {},
        "unread": unread,
        "active": now.active,
        "queued": now.cpu_queue,
    })
}

/// How many connections wait to be accepted: the kernel tells it as what a listening socket has
/// received (`tcp_diag`, RFC 793's queue of connections).
fn accept_queue(listener: &OwnedFd) -> std::io::Result<u32> {
    let inode = rustix::fs::fstat(listener)?.st_ino.to_string();
    for table in ["tcp", "tcp6"] {
        let path = format!("/proc/thread-self/net/{table}");
        let lines = match std::fs::File::open(&path) {
            Ok(file) => std::io::BufReader::new(file).lines(),
            // A kernel without IPv6.
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => continue,
            Err(cause) => return Err(cause),
        };
        for line in lines.skip(1) {
            let line = line?;
            let Some(queue) = listening(&line, &inode) else { break };
            if let Some(queue) = queue {
                return Ok(queue);
            }
        }
    }
    Err(std::io::ErrorKind::NotFound.into())
}

/// A line of the kernel's table of sockets: none when it is no listener's, of which there are no
/// more then; else how many wait, if it is the one of that inode.
fn listening(line: &str, inode: &str) -> Option<Option<u32>> {
    /// TCP_LISTEN.
    const LISTEN: &str = "0A";
    let mut fields = line.split_ascii_whitespace().skip(3);
    if fields.next()? != LISTEN {
        return None;
    }
    let (_sent, received) = fields.next()?.split_once(':')?;
    // Timer, retransmissions, user and probes stand between.
    let ours = fields.nth(4)? == inode;
    Some(if ours { u32::from_str_radix(received, 16).ok() } else { None })
}

/// Connections that may wait: what was asked for, within what the system allows.
pub(crate) fn backlog_allowed(asked: u32) -> u32 {
    let path = "/proc/sys/net/core/somaxconn";
    let system = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    system.map_or(asked, |system: u32| asked.min(system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_at_a_listener_is_read_from_the_kernels_table() {
        let line = "   0: 0100007F:2328 00000000:0000 0A 00000000:00000011 00:00000000 00000000 \
                    0        0 4711 1 0000000000000000 100 0 0 10 0";
        assert_eq!(listening(line, "4711"), Some(Some(17)));
        assert_eq!(listening(line, "4712"), Some(None), "another listener's");
        assert_eq!(listening(&line.replace(" 0A ", " 01 "), "4711"), None, "no listener's");
        assert_eq!(listening("", "4711"), None);
    }
}
