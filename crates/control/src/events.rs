//! What happened, newest last: changes of servers' states, of weights, of the configuration.
//!
//! Each event is one line on standard error and one element of a ring that the admin API shows.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

/// Events kept: enough for an hour of a cluster in trouble, a few dozen kilobytes.
pub const EVENTS_MAX: usize = 256;

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its number since the process began, from 1: gaps show what the ring has forgotten.
    pub serial: u64,
    /// When.
    pub at_unix_ms: u64,
    /// What it happened to: `server a`, `config`.
    pub subject: String,
    /// What it was before, where it changed: `up`, `weight 1`.
    pub from: Option<String>,
    /// What it is now.
    pub to: Option<String>,
    /// Why, or what happened: one clear sentence.
    pub message: String,
}

impl Event {
    /// The line for the log: `server a: up -> down: refused the connection`.
    pub fn line(&self) -> String {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => {
                format!("{}: {from} -> {to}: {}", self.subject, self.message)
            }
            (None, Some(to)) => format!("{}: {to}: {}", self.subject, self.message),
            _ => format!("{}: {}", self.subject, self.message),
        }
    }
}

/// Where the lines of events go.
pub type Log = Box<dyn Fn(&str) + Send + Sync>;

/// The last [`EVENTS_MAX`] events.
pub struct Events {
    ring: VecDeque<Event>,
    serial: u64,
    lines: Vec<String>,
}

impl Events {
    /// None yet.
    pub fn new() -> Self {
        Self { ring: VecDeque::with_capacity(EVENTS_MAX), serial: 0, lines: Vec::new() }
    }

    /// Keeps an event, and its line until [`Events::take_lines`]. Its number and time are filled
    /// in.
    pub fn push(&mut self, event: Event) {
        self.serial += 1;
        let event = Event { serial: self.serial, at_unix_ms: unix_ms_now(), ..event };
        self.lines.push(event.line());
        if self.ring.len() == EVENTS_MAX {
            self.ring.pop_front();
        }
        self.ring.push_back(event);
    }

    /// The lines of events since the last call, oldest first: for the log, which may be slow or
    /// fail and is written when no lock is held any more.
    pub fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// The last `count`, newest first.
    pub fn last(&self, count: usize) -> Vec<Event> {
        self.ring.iter().rev().take(count).cloned().collect()
    }
}

/// Milliseconds since 1970; 0 on a machine whose clock is set before.
pub fn unix_ms_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
