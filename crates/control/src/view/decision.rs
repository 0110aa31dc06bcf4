//! A decision as plain data: one that was made, and one that would be made.

use serde::{Deserialize, Serialize};

/// A request to be explained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainRequest {
    /// Its method.
    pub method: String,
    /// Absolute (`http://host/path?query`) or from the root (`/path`).
    pub url: String,
    /// Its header fields, in order.
    pub headers: Vec<(String, String)>,
}

/// What the switch would do with a request now, and how it came to that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExplainView {
    /// Name of the rule that matched; `None` when the default applies.
    pub rule: Option<String>,
    /// The class it gave.
    pub class: String,
    /// What of the request the target is made of, such as `host+path`.
    pub target: String,
    /// The target itself, such as `www.example.com/shop`.
    pub target_text: String,
    /// Its hash, in hexadecimal.
    pub target_hash: String,
    /// The policy in force.
    pub policy: String,
    /// The servers it could choose from.
    pub candidates: Vec<CandidateView>,
    /// The one it would choose; `None` when no server is up.
    pub server: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// What it believes of that server's cache: `hit`, `miss` or `unknown`.
    pub expect: Option<String>,
    /// How long the same answer would be given again.
    pub guard: Option<GuardView>,
    /// How it would reach the server, by listener.
    #[serde(default)]
    pub deliveries: Vec<DeliveryView>,
}

/// How a request would reach its server by one listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryView {
    /// Name of the listener.
    pub listener: String,
    /// `relay`, `splice`, `handoff`, `multi-handoff` or `forward`.
    pub delivery: String,
    /// Why, in a sentence.
    pub why: String,
    /// What the kernel may repeat of the answer, in a sentence; `None`: nothing is asked of it.
    pub repeat: Option<String>,
}

/// A server the policy could choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CandidateView {
    /// Its name.
    pub server: String,
    /// Its load, in requests.
    pub load: f64,
    /// Its load as it feels to a server of smaller weight or warmth.
    pub pressure: f64,
    /// What choosing it would cost, in the policy's own unit, where it compares costs.
    pub cost: Option<f64>,
}

/// How long the same answer would be given again for the same target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuardView {
    /// Up to which load of the server; `None`: at any load.
    pub load_max: Option<f64>,
    /// For how long from now; `None`: time alone changes nothing.
    pub for_ms: Option<f64>,
    /// The state of the cluster it was given for.
    pub epoch: u64,
}

/// A decision that was made, and how the request ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DecisionView {
    /// When the request's head was complete.
    pub at_unix_ms: u64,
    /// Its method.
    pub method: String,
    /// Its host.
    pub host: String,
    /// Its path, without the query.
    pub path: String,
    /// The policy in force.
    pub policy: String,
    /// Its class.
    pub class: String,
    /// Hash of its target, in hexadecimal.
    pub target_hash: String,
    /// The server that got it; `None` when none was up or had room.
    pub server: Option<String>,
    /// Why that one.
    pub reason: String,
    /// Servers that could be chosen.
    pub candidates: u32,
    /// That server's load before.
    pub load_chosen: f64,
    /// The least load of any server before.
    pub load_least: f64,
    /// What the policy believed of the server's cache: `hit`, `miss` or `unknown`.
    pub expect: String,
    /// Servers tried.
    pub attempts: u32,
    /// Time it waited for room.
    pub queue_ms: f64,
    /// Time to connect; 0 on a pooled connection.
    pub connect_ms: f64,
    /// How it reached its server: `relay`, `splice`, `handoff`, `moved`, `forward`, `stayed`.
    #[serde(default)]
    pub delivery: String,
    /// Why it was relayed, where its listener hands connections over.
    #[serde(default)]
    pub local: Option<String>,
    /// Time to the first byte of the reply; `None` when there was none.
    pub first_byte_ms: Option<f64>,
    /// Time to the end.
    pub total_ms: f64,
    /// Status code sent to the client; `None` when it left before.
    pub status: Option<u16>,
    /// How it ended: the access log's word.
    pub end: String,
}
