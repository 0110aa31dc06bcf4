//! A ready configuration: plain values within their bounds, defaults filled in.
//!
//! Two are equal when they would make the same switch: a reload compares them.

pub use super::oneway::{Key, Network, Oneway};
pub use distributor::Delivery;
use policy::{Entry, Params, Policy};
use rules::Rules;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Everything a switch is told at its start and at a reload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Threads that serve; 0 is one for each core.
    pub workers: usize,
    /// Where clients connect; at least one.
    pub listeners: Vec<Listener>,
    /// Who answers; at least one, names differ.
    pub servers: Vec<Server>,
    /// How a server is chosen.
    pub policy: PolicyChoice,
    /// What a request is.
    pub rules: Arc<Rules>,
    /// What each rule is called; `None`: by its number.
    pub rule_names: Vec<Option<String>>,
    /// Bounds on what clients send and hold.
    pub limits: Limits,
    /// How long each phase may take.
    pub timeouts: Timeouts,
    /// Where requests wait for a server that is full.
    pub queue: Queue,
    /// Further attempts.
    pub retry: Retry,
    /// How servers are checked; `None`: they are not.
    pub health: Option<Health>,
    /// How failed requests take a server out; `None`: they do not.
    pub ejection: Option<Ejection>,
    /// Share of servers that must be up, or else ejections are ignored, 0 to 1.
    pub panic_share: f64,
    /// From a tenth of its share to all of it; zero: at once.
    pub slow_start: Duration,
    /// What is written down.
    pub log: Log,
    /// Where operators ask and act.
    pub admin: Admin,
    /// What servers learn of clients.
    pub forwarded: Forwarded,
    /// How often servers' agents are asked.
    pub agent_period: Duration,
    /// How connections are handed to servers; `None`: no key and interfaces are given for that.
    pub oneway: Option<Oneway>,
}

/// A place where clients connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name.
    pub name: String,
    /// Its addresses; `[::]` is meant for IPv4 clients too.
    pub addresses: Vec<SocketAddr>,
    /// How requests reach their server.
    pub delivery: Delivery,
    /// TCP congestion control; `None`: the system's default.
    pub congestion: Option<String>,
    /// Whether to wake up only for connections that said something.
    pub defer_accept: bool,
    /// Connections that the kernel holds until they are accepted.
    pub backlog: u32,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its identity, whatever its address.
    pub name: String,
    /// `host:port`; the host may be a name: see [`Server::resolve`].
    pub address: String,
    /// Share relative to others, at least 1.
    pub weight: u32,
    /// Requests it works on at once without visible delay.
    pub capacity: Option<u32>,
    /// Requests it is given at once; `None`: as many as come.
    pub max_inflight: Option<u32>,
    /// `host:port`, or `host:port/prefix`, of the agent that reports for it.
    pub agent: Option<String>,
}

impl Server {
    /// The address to connect to. A name is looked up, which may take the resolver's time-outs:
    /// not for a thread that serves. Of several addresses the first is taken.
    ///
    /// # Errors
    /// One sentence for the operator.
    pub fn resolve(&self) -> Result<SocketAddr, String> {
        let Self { name, address, .. } = self;
        let mut found = address
            .to_socket_addrs()
            .map_err(|error| format!("server {name}: cannot resolve {address}: {error}"))?;
        found.next().ok_or_else(|| format!("server {name}: {address} has no address"))
    }

    /// What the policy crate is told of it.
    pub fn spec(&self) -> policy::Spec {
        let (weight, capacity) = (self.weight, self.capacity);
        policy::Spec { name: self.name.as_str().into(), weight, capacity }
    }
}

/// A policy with its parameters.
#[derive(Clone)]
pub struct PolicyChoice {
    /// Its row in [`policy::POLICIES`].
    pub entry: &'static Entry,
    /// Its parameters, complete.
    pub params: Params,
    /// Where its random numbers start.
    pub seed: u64,
    /// Requests let into the cluster at once.
    pub admission: Admission,
}

impl PolicyChoice {
    /// Makes the policy.
    pub fn build(&self) -> Box<dyn Policy> {
        (self.entry.build)(&self.params)
    }
}

impl PartialEq for PolicyChoice {
    fn eq(&self, other: &Self) -> bool {
        let params = |choice: &Self| {
            let pairs = choice.params.iter().map(|(param, value)| (param.name, value.clone()));
            pairs.collect::<Vec<_>>()
        };
        self.entry.name == other.entry.name
            && params(self) == params(other)
            && (self.seed, self.admission) == (other.seed, other.admission)
    }
}

impl fmt::Debug for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyChoice")
            .field("name", &self.entry.name)
            .field("params", &self.params)
            .field("seed", &self.seed)
            .field("admission", &self.admission)
            .finish()
    }
}

/// Requests let into the cluster at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// As many as come.
    Off,
    /// The papers' S, from the policy's thresholds and the servers that are up.
    Auto,
    /// This many.
    Fixed(u32),
}

/// Bounds on what clients send and hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// Bytes of a request's URL.
    pub url_bytes: usize,
    /// Header fields of a request.
    pub fields: usize,
    /// Bytes of a request's body; `None`: any.
    pub body_bytes: Option<u64>,
    /// Client connections at once.
    pub connections: usize,
    /// Unused connections kept to each server by each worker.
    pub server_idle_connections: usize,
}

/// How long each phase may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first byte of a head to its end.
    pub head: Duration,
    /// Without a byte of a body, either way.
    pub body: Duration,
    /// To connect to a server.
    pub connect: Duration,
    /// From the end of a request to the first byte of its reply.
    pub first_byte: Duration,
    /// A client's connection between requests.
    pub idle: Duration,
    /// An unused connection to a server.
    pub server_idle: Duration,
    /// A tunnel without a byte either way.
    pub tunnel: Duration,
    /// The same, once one side has ended.
    pub tunnel_half_closed: Duration,
    /// Open requests after SIGTERM.
    pub drain: Duration,
}

/// Where requests wait for a server that is full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Requests that may wait for one server.
    pub length: usize,
    /// How long.
    pub deadline: Duration,
}

/// Further attempts on another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts after the first.
    pub attempts: u32,
    /// Retries for each hundred requests over time.
    pub budget_percent: u32,
}

/// How servers are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// What is asked.
    pub check: Check,
    /// Between checks of a server.
    pub interval: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Good checks in a row that make a server up.
    pub rise: u32,
    /// Bad checks in a row that make it down.
    pub fall: u32,
}

/// What a check asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// To accept a connection.
    Tcp,
    /// To answer a GET.
    Http {
        /// Path and query.
        path: String,
        /// The Host; the server's address if `None`.
        host: Option<String>,
        /// Statuses of a good answer.
        expect: RangeInclusive<u16>,
    },
}

/// How failed requests take a server out.
#[derive(Clone, Debug, PartialEq)]
pub struct Ejection {
    /// Failures in a row.
    pub failures: u32,
    /// How long the first time.
    pub time: Duration,
    /// How long at most.
    pub time_max: Duration,
    /// Share of the servers that may be out at once, 0 to 1.
    pub share: f64,
}

/// What is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The access log's form; `None`: there is none.
    pub access: Option<AccessFormat>,
    /// Its file; `None` is standard output.
    pub path: Option<PathBuf>,
    /// Which events of the switch itself are written to standard error.
    pub level: Level,
}

/// Forms of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessFormat {
    /// One JSON object a line.
    Json,
    /// The combined log format with the decision behind it.
    Combined,
}

/// Events of the switch itself, from the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What broke.
    Error,
    /// What may.
    Warn,
    /// What changed: servers up and down, reloads.
    Info,
    /// Everything.
    Debug,
}

/// Where operators ask and act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// A Unix socket.
    pub socket: Option<PathBuf>,
    /// A TCP address, and the token that is needed there.
    pub tcp: Option<(SocketAddr, Secret)>,
}

/// A word that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(crate) fn new(word: String) -> Self {
        Self(word)
    }

    /// The word, for comparing.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// What a switch calls itself in Via.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// Nothing: the field is not added.
    Off,
    /// A name of its own, made when the process begins.
    Auto,
    /// This one, which no other switch in the same chain may have.
    Named(String),
}

/// What servers learn of clients, and clients of us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// Whether to send X-Forwarded-For, -Proto and -Host.
    pub x_forwarded: bool,
    /// Whether to send Forwarded (RFC 7239).
    pub forwarded: bool,
    /// Our name in Via.
    pub via: Via,
    /// Whether to send X-Request-Id, both ways.
    pub request_id: bool,
    /// Whether clients' own such fields are believed.
    pub trust: bool,
}
