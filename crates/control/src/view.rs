//! The switch as plain data: what the admin API serves, the metrics are made of and the status
//! page shows.
//!
//! Every name is a JSON key, so numbers say their unit, unit last. Times of day are milliseconds
//! since 1970 (`_unix_ms`); the switch's own clock never leaves it.

mod connection;
mod decision;
mod histogram;
mod oneway;
mod server;

pub use connection::{ConnectionView, ConnectionsView};
pub use decision::{
    CandidateView, DecisionView, DeliveryView, ExplainRequest, ExplainView, GuardView,
};
pub use histogram::{Histogram, LATENCY_BOUNDS_S};
pub use oneway::{AgentView, DoubtView, InterfaceView, OnewayServer, OnewayView};
pub use server::{CheckView, ServerReport, ServerState, ServerView, Standing};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The process as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the program.
    pub version: String,
    /// Commit it was built from, where the build knew.
    pub commit: Option<String>,
    /// Process number.
    pub pid: u32,
    /// When it began.
    pub started_unix_ms: u64,
    /// How long it has run.
    pub uptime_s: f64,
    /// Name of the policy in force.
    pub policy: String,
    /// Its parameters as they are in force, defaults included.
    pub params: BTreeMap<String, String>,
    /// Where the configuration came from and how reloading went.
    pub config: ConfigView,
    /// Threads that relay.
    pub workers: u32,
    /// Whether ejections are being ignored because too few servers are up.
    pub panic: bool,
    /// The listeners.
    pub listeners: Vec<ListenerView>,
    /// Requests whose head was read, since the process began.
    pub requests: u64,
    /// Requests being served or waiting now.
    pub in_flight: u64,
    /// Replies sent to clients, by status class.
    pub replies: Replies,
    /// One-way delivery, where a listener hands connections over.
    #[serde(default)]
    pub oneway: Option<OnewayView>,
    /// The servers' agents, whatever the delivery.
    #[serde(default)]
    pub agents: Vec<AgentView>,
}

impl Status {
    /// Client connections that are open now.
    pub fn connections_open(&self) -> u64 {
        self.listeners.iter().map(|listener| listener.connections_open).sum()
    }

    /// Client connections ever accepted.
    pub fn connections_total(&self) -> u64 {
        self.listeners.iter().map(|listener| listener.connections_total).sum()
    }
}

/// Where the configuration came from and how reloading went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigView {
    /// A file's path, or `command line`.
    pub source: String,
    /// Hash of what is in force, in hexadecimal.
    pub hash: String,
    /// Reloads that took effect.
    pub reloads_ok: u64,
    /// Reloads that were refused; the old configuration stayed.
    pub reloads_failed: u64,
    /// The last reload, if there was one.
    pub reload_last: Option<ReloadView>,
}

/// One attempt to reload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadView {
    /// When.
    pub at_unix_ms: u64,
    /// Whether it took effect.
    pub ok: bool,
    /// What changed, or why it was refused: one line.
    pub message: String,
}

/// A listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerView {
    /// Its name in the configuration, or its address.
    pub name: String,
    /// Where it listens, with the ports that the kernel gave: addresses, with commas between.
    pub address: String,
    /// Client connections that are open now.
    pub connections_open: u64,
    /// Client connections ever accepted.
    pub connections_total: u64,
}

/// Replies by status class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replies {
    /// Interim replies and upgrades.
    #[serde(rename = "1xx")]
    pub informational: u64,
    /// Successes.
    #[serde(rename = "2xx")]
    pub success: u64,
    /// Redirections and 304.
    #[serde(rename = "3xx")]
    pub redirection: u64,
    /// The client's mistakes.
    #[serde(rename = "4xx")]
    pub client_error: u64,
    /// The servers' and our own failures.
    #[serde(rename = "5xx")]
    pub server_error: u64,
}

impl Replies {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.informational + self.success + self.redirection + self.client_error + self.server_error
    }
}

/// Counters that belong to no single server, since the process began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Requests by where they came in and how they were answered.
    pub requests: Vec<RequestCount>,
    /// Their durations, from the head to the last byte of the reply.
    pub durations: Vec<RouteDuration>,
    /// Decisions by policy and reason.
    pub decisions: Vec<DecisionCount>,
    /// Decisions that passed over a server known to have the target, by reason.
    pub locality_given_up: BTreeMap<String, u64>,
    /// Requests that were refused before any server was asked, by cause.
    pub rejects: BTreeMap<String, u64>,
    /// Requests by how they ended: two letters each, as in the access log.
    pub ends: BTreeMap<String, u64>,
    /// Requests tried again on another server.
    pub retries: u64,
    /// Retries that the budget refused.
    pub retries_refused: u64,
    /// Connections opened to servers.
    pub server_connections_opened: u64,
    /// Requests sent over a connection to a server that was already open.
    pub server_connections_reused: u64,
    /// Bytes relayed from clients to servers.
    pub bytes_in: u64,
    /// Bytes relayed from servers to clients.
    pub bytes_out: u64,
    /// Of these, the bytes that the kernel moved without copying them to the switch.
    pub bytes_spliced: u64,
    /// Times that a client's connection could not be accepted.
    pub accept_failures: u64,
    /// Lines of the access log that were dropped because its writer could not keep up.
    pub log_lines_dropped: u64,
    /// Targets in the policy's table.
    pub targets: u64,
    /// Targets mapped to more than one server.
    pub replicated_targets: u64,
    /// Exchanges that a reload cut short; must stay 0.
    pub streams_closed_by_reload: u64,
}

/// Requests by where they came in and how they were answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCount {
    /// Name of the listener.
    pub listener: String,
    /// Name of the rule that matched, where one did.
    pub route: Option<String>,
    /// Method, or `other`: never an arbitrary word from the network.
    pub method: String,
    /// Status code; 0 when the client left before there was one.
    pub code: u16,
    /// How many.
    pub count: u64,
}

/// Durations of requests by where they came in and how they were answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteDuration {
    /// Name of the listener.
    pub listener: String,
    /// Name of the rule that matched, where one did.
    pub route: Option<String>,
    /// Hundreds of the status, such as `2xx`; `none` when the client left before there was one.
    pub code_class: String,
    /// The client's protocol, such as `http/1.1`.
    pub protocol: String,
    /// How long they took.
    pub duration: Histogram,
}

/// Decisions by policy and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionCount {
    /// The policy in force.
    pub policy: String,
    /// The reason it gave: a word of [`policy::Why`].
    pub reason: String,
    /// How many.
    pub count: u64,
}
