//! ONE WAY: hands a client's connection to the server that shall answer, by eBPF.
//!
//! The front-end's program answers SYNs, reads the first request, and sends the client's own
//! segment in an envelope to the server; there another program has the kernel make an established
//! socket of the unmodified server's listener from it (`bpf_sk_assign_tcp_reqsk`, Linux 6.9).
//! Replies go from the server to the client. TCP hand-off is the idea of Pai et al. (ASPLOS 1998);
//! moving a connection on, and forwarding between servers, of Aron, Druschel and Zwaenepoel (USENIX
//! ATC 1999).
//!
//! [`Front`] and [`Back`] load the programs (`bpf/`), attach them and look after their tables. The
//! programs stay when the process ends; the next one takes them and their tables over.

mod back;
mod bells;
mod filter;
mod flows;
mod front;
mod hooks;
mod key;
mod layout;
mod listeners;
mod mapped;
mod object;
mod question;
mod reason;
mod splice;
mod sys;
mod trial;

pub use back::{Back, OwnedFlow};
pub use flows::{FlowState, FlowView, SlotSet, Swept};
pub use front::{Front, Limits, TAP};
pub use key::{key_check, memo_key};
pub use layout::{COUNTS, ENVELOPE, LAYOUT};
pub use mapped::Books;
pub use object::Error;
pub use question::{Question, Verdict};
pub use reason::Reason;
pub use splice::{Half, Pair, Splice, Way};
#[doc(hidden)]
pub use trial::{Trial, Tried};

use std::net::{IpAddr, SocketAddr};

/// Slots of servers in the kernel's tables.
pub const SLOTS_MAX: usize = layout::SERVERS_MAX;

/// Turns of a wheel in the kernel's tables.
pub const TURNS_MAX: usize = layout::TURNS_MAX;

/// Wheels in the kernel's tables.
pub const WHEELS_MAX: usize = layout::WHEELS_MAX;

/// UDP port of envelopes when nothing else is said.
pub const PORT_DEFAULT: u16 = 7117;

/// How the connections of a listener are delivered; see `docs/handoff.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Everything to the relay of this machine.
    Relay,
    /// Handed to the server of the first request, for good.
    Handoff,
    /// Handed on when a later request is another server's.
    Multi,
    /// Handed to the agent's relay on the server of the first request, which fetches from others.
    Forward,
}

/// What all front-ends and servers of a site have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// With it envelopes are sealed: who has it can hand over and move connections.
    pub key: [u8; 16],
    /// UDP port of envelopes.
    pub port: u16,
    /// Whether there are routers between front-ends and servers: then every segment travels in an
    /// envelope, not only those that hand over.
    pub routed: bool,
    /// Largest IP packet between front-ends and servers, bytes.
    pub mtu: u16,
}

/// What a server may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Everything.
    Up,
    /// What its connections bring, nothing new.
    Draining,
    /// Nothing: its connections are reset.
    Down,
    /// As draining, and a hand-over may be lost there: one that is repeated is reset.
    Doubted,
    /// As draining, and whatever comes in an envelope is lost there: connections that need none go
    /// on, others are reset when their clients speak.
    Deaf,
}

/// A server in the front-end's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its own address, and the port of its Web server.
    pub address: SocketAddr,
    /// Hash of its name, by which a successor of this process knows the row again.
    pub name: u64,
    /// What it may be given.
    pub state: State,
    /// The port of its agent's relay; 0: it has none.
    pub agent_port: u16,
}

/// An answer that the kernel may repeat for requests with the same first line and host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memo {
    /// What it is.
    pub what: Repeat,
    /// The state of the cluster it is good for.
    pub epoch: u64,
    /// What the request names: passed through to [`Repeated`].
    pub target: u64,
    /// What it leans on: passed through.
    pub class: u8,
}

/// See [`Memo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// This server, while its load is at most `load_max` (in units of `policy::Load`) and
    /// CLOCK_MONOTONIC is before `until_ns`.
    Server {
        /// Its slot.
        slot: u16,
        /// Compared with the desk's part of the load and the open connections together.
        load_max: u64,
        /// Nanoseconds.
        until_ns: u64,
    },
    /// The next turn of this wheel.
    Wheel(u8),
    /// The relay of this front-end.
    Relay,
}

/// A decision that the kernel repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Who asked.
    pub client: SocketAddr,
    /// To which address.
    pub vip: SocketAddr,
    /// Who answers; `None`: the relay.
    pub slot: Option<u16>,
    /// Who had the connection; `None`: it was its first request.
    pub holder: Option<u16>,
    /// See [`Memo::target`].
    pub target: u64,
    /// See [`Memo::class`].
    pub class: u8,
    /// Whether it was a turn of a wheel.
    pub wheel: bool,
    /// When, CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
}

/// Addresses are kept as IPv6; IPv4 is mapped.
pub(crate) fn unmapped(address: [u8; 16]) -> IpAddr {
    IpAddr::from(address).to_canonical()
}

/// What stands for a server in the tags of requests: the low half of [`Row::name`].
pub fn tag_of(name: u64) -> u32 {
    u32::try_from(name & u64::from(u32::MAX)).expect("it was cut to 32 bits")
}

/// The number of a network interface, in the namespace of the calling thread.
///
/// # Errors
/// There is none of this name.
pub fn interface_index(name: &str) -> Result<u32, Error> {
    let index = object::index_of(name)?;
    u32::try_from(index).map_err(|_| Error::NoInterface(name.to_owned()))
}

/// CLOCK_MONOTONIC in nanoseconds: the clock of the programs.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
