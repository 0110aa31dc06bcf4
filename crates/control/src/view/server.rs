//! A server as plain data: the books and its standing.

use crate::view::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A server as the data plane counts it. Whether it is up, and why not, is the supervisor's
/// knowledge: see [`ServerReport`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerView {
    /// Its slot.
    pub id: u16,
    /// Its stable name.
    pub name: String,
    /// Where it is reached.
    pub address: String,
    /// Share relative to the other servers.
    pub weight: u32,
    /// How far its slow start has come, 1..=256.
    pub warmth: u16,
    /// Requests it works on at once without visible delay, where configured.
    pub capacity: Option<u32>,
    /// Requests it may be given at once, where limited.
    pub in_flight_max: Option<u32>,
    /// Requests given and not finished (the policy's load; fractions occur in extended LARD).
    pub load: f64,
    /// Requests that wait for room on it.
    pub queued: u64,
    /// Requests ever begun on it.
    pub begun: u64,
    /// Of these, connections that were handed to it, from other servers too, at whichever of its
    /// addresses: what became of their requests nobody here sees.
    #[serde(default)]
    pub handed_over: u64,
    /// Requests it did its part of.
    pub ok: u64,
    /// Refused connections, resets, time-outs and 5xx.
    pub failed: u64,
    /// Times the policy believed it to have the target.
    pub expected_hits: u64,
    /// Times the policy believed it not to.
    pub expected_misses: u64,
    /// Bytes sent to it.
    pub bytes_to: u64,
    /// Bytes received from it.
    pub bytes_from: u64,
    /// Requests begun on it by class.
    pub classes: BTreeMap<String, u64>,
    /// From the decision to the first byte of its reply.
    pub first_byte: Histogram,
    /// From the decision to the end of its reply.
    pub duration: Histogram,
}

/// Whether a server takes new requests: [`policy::State`] with a JSON form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerState {
    /// It takes new requests.
    Up,
    /// It failed its checks.
    Down,
    /// It answered badly and is left alone for a while.
    Ejected,
    /// It finishes what it has and gets nothing new.
    Draining,
    /// It was removed and finishes what it has.
    Left,
}

impl ServerState {
    /// The word used in logs, metrics and on the status page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Ejected => "ejected",
            Self::Draining => "draining",
            Self::Left => "left",
        }
    }
}

impl From<policy::State> for ServerState {
    fn from(state: policy::State) -> Self {
        match state {
            policy::State::Up => Self::Up,
            policy::State::Down => Self::Down,
            policy::State::Ejected => Self::Ejected,
            policy::State::Draining => Self::Draining,
            policy::State::Left => Self::Left,
        }
    }
}

/// Whether a server takes new requests, why, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Whether it takes new requests.
    pub state: ServerState,
    /// Why: one clear sentence.
    pub why: String,
    /// Since when.
    pub since_unix_ms: u64,
    /// The last health check, where the server is checked.
    pub check: Option<CheckView>,
}

/// What the last health check of a server found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckView {
    /// When it ended.
    pub at_unix_ms: u64,
    /// Whether the server passed.
    pub passed: bool,
    /// What it found: one clear sentence.
    pub message: String,
    /// How long it took.
    pub took_us: u64,
}

/// A server as the admin API shows it: the books and its standing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerReport {
    /// What the data plane counts.
    #[serde(flatten)]
    pub server: ServerView,
    /// What the supervisor knows.
    #[serde(flatten)]
    pub standing: Standing,
}
