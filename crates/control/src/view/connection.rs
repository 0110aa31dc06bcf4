//! Connections that are handed over, one by one.

use serde::{Deserialize, Serialize};

/// Some of the connections that are handed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionsView {
    /// Connections that are handed over and open, all of them.
    pub open: u64,
    /// Those that are shown, such as have ended last.
    pub connections: Vec<ConnectionView>,
}

/// A connection that is handed over, or was a short while ago.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionView {
    /// The client's address and port.
    pub client: String,
    /// The address and port that it connected to.
    pub listener: String,
    /// How its requests are delivered: `handoff`, `multi-handoff` or `forward`.
    pub delivery: String,
    /// The server that has it, or `#` and its slot when it is of a configuration before.
    pub server: String,
    /// `open`; `half-closed`: the client has said all; `waiting`: the same, and for so long that
    /// nobody counts it any more; `ended`.
    pub state: String,
    /// Since its first request.
    pub age_s: f64,
    /// Since its client's last packet.
    pub idle_s: f64,
    /// Requests that the kernel has looked at: the first alone where the rest cannot change
    /// anything.
    pub requests: u32,
    /// Times that it went to another server.
    pub moves: u32,
}
