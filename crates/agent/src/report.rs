//! What an agent says: load, health and the connections that its server still owns.
//!
//! JSON on the wire. Fields that are added later have defaults, so that a switch and an agent of
//! different versions understand each other.

use crate::sample::{Rates, Reading};
use policy::{Instant, Report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// The answer to `GET /load`. A number that could not be read is missing, and named in `unread`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadReport {
    /// The server it speaks for.
    pub server: String,
    /// Seconds since the host began.
    pub uptime_s: Option<f64>,
    /// Seconds over which shares were measured; 0 before the second reading.
    pub period_s: f64,
    /// Share of all processors' time in which something ran, 0 to 1.
    pub cpu_busy: Option<f64>,
    /// Share of the time in which the busiest disk had something to do, 0 to 1.
    pub disk_busy: Option<f64>,
    /// Requests waiting for disks or served by them, on average.
    pub disk_queue: Option<f64>,
    /// Means of runnable and waiting tasks over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Connections that wait to be accepted.
    pub accept_queue: Option<u32>,
    /// Connections that may wait.
    pub accept_backlog: Option<u32>,
    /// Established connections on the served ports; where there are many, as of some seconds ago.
    pub established: Option<u32>,
    /// Requests that the server works on, where it counts them itself: agents that look at the
    /// kernel do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<u32>,
    /// Whether the server accepts a connection.
    pub healthy: bool,
    /// How that was found out, or why not.
    pub health: String,
    /// What the program in the kernel has counted, by name.
    pub kernel: BTreeMap<String, u64>,
    /// What the program in the kernel takes over, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takes_over: Option<TakesOver>,
    /// What stands in the way of connections that are handed over here, as the doctor last saw it.
    pub faults: Vec<Fault>,
    /// What the relay beside the server did, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarding: Option<Forwarding>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

/// What the program on a server takes over: what a front-end has to have in common with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TakesOver {
    /// A keyed hash of a fixed text: the same where the key is. It says nothing of the key.
    pub key_check: String,
    /// Version of the envelopes that it opens.
    pub envelope: u8,
    /// UDP port that it takes them from.
    pub port: u16,
    /// The number of its tables' layout.
    pub layout: u32,
    /// The addresses whose connections it takes over.
    pub vips: Vec<SocketAddr>,
    /// Whether it is attached to every one of its interfaces now.
    pub attached: bool,
    /// The interfaces that it is not attached to.
    pub detached_from: Vec<String>,
}

/// What the doctor found wrong while the agent runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fault {
    /// The check's name.
    pub check: String,
    /// Whether connections cannot be handed over here; otherwise it works, but not for everybody.
    pub stops: bool,
    /// What was read, and where.
    pub evidence: String,
    /// What to do.
    pub remedy: String,
}

/// What the relay beside a server did since it began: back-end forwarding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forwarding {
    /// Clients' connections that are open.
    pub connections: u64,
    /// Requests by how their server was found, and what became of some, by name.
    pub requests: BTreeMap<String, u64>,
    /// By server: the one on this host first.
    pub peers: Vec<Peer>,
}

/// What the relay fetched from one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Peer {
    /// Its name.
    pub server: String,
    /// Requests that it answered.
    pub requests: u64,
    /// Attempts that failed: no connection, a reset, silence.
    pub failures: u64,
    /// Bytes of requests' bodies sent to it.
    pub bytes_to: u64,
    /// Bytes of its replies.
    pub bytes_from: u64,
}

/// Characters of a text of somebody else that are kept.
const TEXT_CHARS_MAX: usize = 200;
/// Texts of a list of somebody else that are kept.
const TEXTS_MAX: usize = 64;

/// A text of somebody else that people read: cut, and without characters that could pass for
/// another line or move the cursor.
pub(crate) fn printable(text: &str) -> String {
    let mut kept = String::new();
    for (count, one) in text.chars().enumerate() {
        if count == TEXT_CHARS_MAX {
            kept.push_str("...");
            break;
        }
        match one.is_control() || matches!(one, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}') {
            true => kept.extend(one.escape_default()),
            false => kept.push(one),
        }
    }
    kept
}

impl LoadReport {
    /// The same with every sentence for people cut to 200 characters, control characters escaped.
    #[must_use]
    pub fn printable(mut self) -> Self {
        let tidy = |text: &mut String| *text = printable(text);
        tidy(&mut self.server);
        tidy(&mut self.health);
        self.unread.truncate(TEXTS_MAX);
        self.unread.iter_mut().for_each(tidy);
        if let Some(theirs) = &mut self.takes_over {
            theirs.detached_from.truncate(TEXTS_MAX);
            theirs.detached_from.iter_mut().for_each(tidy);
        }
        // One that stops hand-overs is never the one that is cut off.
        self.faults.sort_by_key(|fault| !fault.stops);
        self.faults.truncate(TEXTS_MAX);
        for Fault { check, evidence, remedy, .. } in &mut self.faults {
            [check, evidence, remedy].into_iter().for_each(tidy);
        }
        self
    }

    /// Puts two readings together.
    pub(crate) fn of(server: &str, rates: &Rates, reading: &Reading) -> Self {
        Self {
            server: server.to_owned(),
            uptime_s: reading.uptime_s,
            period_s: rates.period_s,
            cpu_busy: rates.cpu_busy,
            disk_busy: rates.disk_busy,
            disk_queue: rates.disk_queue,
            load_average: reading.load_average,
            accept_queue: reading.accept.map(|accept| accept.queue),
            accept_backlog: reading.accept.map(|accept| accept.backlog),
            established: reading.established,
            unread: reading.unread.clone(),
            ..Self::default()
        }
    }

    /// What a policy is told: `None` before the agent has looked twice. `at` is when it was
    /// received. A part that the agent could not read counts as idle; the latency is zero, for
    /// agents see no requests. Where the server does not count the requests that it works on,
    /// connections stand for them: with persistent ones that is more than there are, and before a
    /// relay that keeps its connections it is the most there ever were.
    pub fn report(&self, at: Instant) -> Option<Report> {
        let share = |share: Option<f64>| share.filter(|s| s.is_finite()).unwrap_or(0.0);
        (self.period_s > 0.0).then(|| Report {
            at,
            cpu: share(self.cpu_busy).clamp(0.0, 1.0),
            disk: share(self.disk_busy).clamp(0.0, 1.0),
            // The cast keeps to the bounds of u32.
            disk_queue: share(self.disk_queue).round() as u32,
            active: self.active.or(self.established).unwrap_or(0),
            latency: Duration::ZERO,
        })
    }
}

/// A connection that a server still owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flow {
    /// The client's end.
    pub client: SocketAddr,
    /// The address that it connected to.
    pub vip: SocketAddr,
}

/// The answer to `GET /flows`: one page, in the order of the clients' addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowsPage {
    /// Connections.
    pub flows: Vec<Flow>,
    /// Whether there are more, after the last of these.
    pub more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_says_is_one_line_of_bounded_length() {
        let long = format!("a\nserver b: down\u{1b}[2J\u{202e}{}", "\u{e4}".repeat(1000));
        let fault = |stops| Fault { stops, evidence: long.clone(), ..Fault::default() };
        let faults = (0..100).map(|number| fault(number == 99)).collect();
        let report = LoadReport { server: long.clone(), faults, ..LoadReport::default() };
        let report = report.printable();
        assert!(report.faults[0].stops && report.faults.len() == TEXTS_MAX);
        for text in [&report.server, &report.faults[0].evidence] {
            assert!(text.starts_with("a\\nserver b: down\\u{1b}[2J\\u{202e}\u{e4}"), "{text}");
            assert!(text.ends_with("\u{e4}..."), "{text}");
            assert!(text.chars().count() < 2 * TEXT_CHARS_MAX, "{text}");
        }
        assert_eq!(printable("it accepts"), "it accepts");
    }
}
