//! What can be set, as ready values: the program's configuration is turned into these once.

use core::time::Duration;

/// Settings of the data plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Limits of one request's head and body.
    pub wire: wire::http::Limits,
    /// Client connections open at once, over all workers; beyond, accepting stops and the kernel's
    /// queue is the waiting room.
    pub connections_max: usize,
    /// Idle connections kept to each server, per worker.
    pub idle_per_server_max: usize,
    /// Time-outs.
    pub timeouts: Timeouts,
    /// How long a request may wait for its turn at a server that is full.
    pub queue_deadline: Duration,
    /// Further attempts.
    pub retry: Retry,
    /// What is added to requests and replies.
    pub forwarding: Forwarding,
    /// The access log's format; `None`: no access log.
    pub access: Option<AccessFormat>,
}

/// How long each phase may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first byte of a request's head to its end.
    pub head: Duration,
    /// Without progress in a body, either way.
    pub body: Duration,
    /// To connect to a server.
    pub connect: Duration,
    /// From sending a request to the first byte of its reply.
    pub first_byte: Duration,
    /// A client's connection without a request.
    pub idle: Duration,
    /// An unused connection to a server.
    pub server_idle: Duration,
    /// A tunnel without a byte either way.
    pub tunnel: Duration,
    /// The same, once one side has ended.
    pub tunnel_half_closed: Duration,
}

/// When a failed attempt is repeated on another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts after the first.
    pub attempts: u32,
    /// Retries for each hundred requests, over time: so that a cluster that fails is not asked
    /// three times as much.
    pub budget_percent: u32,
}

/// What is added to requests and replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// Our name in `Via`; if empty, the field is not added. A request that has it already is
    /// refused as one that goes in a circle: no other switch may have the same.
    pub via: Box<str>,
    /// Whether to send `X-Forwarded-For`, `-Proto` and `-Host`.
    pub x_forwarded: bool,
    /// Whether to send `Forwarded` (RFC 7239).
    pub forwarded: bool,
    /// Whether to send `X-Request-Id`, to the server and back to the client.
    pub request_id: bool,
    /// Whether what the client itself sent in these fields is believed and continued.
    pub trust: bool,
}

/// How the requests of a listener reach their server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Both ways through the switch: request and reply are read here.
    #[default]
    Relay,
    /// Both ways, by the kernel alone where it can: the papers' TCP splicing.
    Splice,
    /// The connection goes to the server of its first request, once, and the replies go to the
    /// client directly (ASPLOS 1998).
    Handoff,
    /// It goes on to other servers with later requests (USENIX 1999: multiple hand-off).
    MultiHandoff,
    /// It stays with the first server, which fetches from others (USENIX 1999: back-end
    /// forwarding).
    Forward,
}

impl Delivery {
    /// Every one, in the order of their declaration.
    pub const ALL: &'static [Self] =
        &[Self::Relay, Self::Splice, Self::Handoff, Self::MultiHandoff, Self::Forward];

    /// Their words in the configuration.
    pub const NAMES: &'static [&'static str] =
        &["relay", "splice", "handoff", "multi-handoff", "forward"];

    /// The word in the configuration, logs and metrics.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The one with that word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|delivery| delivery.name() == name)
    }

    /// Whether replies go to the client without passing the switch.
    pub const fn one_way(self) -> bool {
        matches!(self, Self::Handoff | Self::MultiHandoff | Self::Forward)
    }
}

/// Forms of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessFormat {
    /// One JSON object a line.
    Json,
    /// Combined Log Format, the decision fields behind it.
    Combined,
}

impl Settings {
    /// Limits for what servers send: a body may be as long as it likes.
    pub(crate) fn wire_of_replies(&self) -> wire::http::Limits {
        wire::http::Limits { body_bytes_max: u64::MAX, ..self.wire }
    }

    /// Limits for reading again a head that we wrote ourselves, with what we added.
    pub(crate) fn wire_for_log(&self) -> wire::http::Limits {
        wire::http::Limits {
            head_bytes_max: usize::MAX,
            fields_max: wire::http::FIELDS_CAP,
            body_bytes_max: u64::MAX,
            ..self.wire
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            wire: wire::http::Limits::default(),
            connections_max: 20_000,
            idle_per_server_max: 256,
            timeouts: Timeouts::default(),
            queue_deadline: Duration::from_secs(5),
            retry: Retry::default(),
            forwarding: Forwarding::default(),
            access: None,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            connect: Duration::from_secs(2),
            first_byte: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            server_idle: Duration::from_secs(30),
            tunnel: Duration::from_secs(3600),
            tunnel_half_closed: Duration::from_secs(30),
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 2, budget_percent: 20 }
    }
}

impl Forwarding {
    /// Our name in `Via`; `None`: the field is not added.
    pub(crate) fn via(&self) -> Option<&str> {
        Some(&*self.via).filter(|name| !name.is_empty())
    }
}

impl Default for Forwarding {
    fn default() -> Self {
        Self {
            via: "baton".into(),
            x_forwarded: true,
            forwarded: false,
            request_id: true,
            trust: false,
        }
    }
}
