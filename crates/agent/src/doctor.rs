//! The doctor: what a host needs so that connections can be handed over there.
//!
//! One row of [`CHECKS`] for each thing that was found, by trying, to stop one-way delivery or to
//! make it slow. A check is a question to a [`Host`]; its finding says what was read and where,
//! and what to do. Nothing is changed but by [`Setting::apply`], and sysctls alone.

mod finding;
mod interfaces;
mod kernel;
mod routes;
mod sockets;
mod tcp;

pub use finding::{Finding, Setting, Unread, Verdict};
pub use interfaces::{ENVELOPE_V4_BYTES, ENVELOPE_V6_BYTES};

use crate::host::{Host, LinkName};
use crate::report::Fault;
use serde::Serialize;
use std::net::IpAddr;

/// What a host is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Clients connect to it: it runs the switch.
    Front,
    /// Connections are handed to it.
    Server,
}

impl Role {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Front => "front-end",
            Self::Server => "server",
        }
    }
}

/// Where the servers are, seen from the front-end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// On the same layer-2 network.
    #[default]
    Neighbours,
    /// Behind routers.
    Routed,
}

/// What the doctor is told of the site.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// What the host is for; `None`: both are looked at.
    pub role: Option<Role>,
    /// The interfaces that clients and front-ends are reached by.
    pub interfaces: Vec<LinkName>,
    /// The addresses that clients connect to.
    pub vips: Vec<IpAddr>,
    /// The ports that clients connect to.
    pub ports: Vec<u16>,
    /// Where the servers are.
    pub network: Network,
    /// Whether connections may move from server to server; `None`: nobody said.
    pub moves: Option<bool>,
}

impl Site {
    /// Whether a check for `roles` is to be made here.
    fn wants(&self, roles: &[Role]) -> bool {
        self.role.is_none_or(|role| roles.contains(&role))
    }
}

/// One check.
#[derive(Debug)]
pub struct Check {
    /// Its name: words with hyphens.
    pub name: &'static str,
    /// What must be so, and what happens otherwise.
    pub about: &'static str,
    /// Whom it concerns.
    pub roles: &'static [Role],
    /// Whether it fails until somebody changes the host. What the served program does, starting,
    /// being busy, passes by itself, and keeps no agent from starting.
    pub lasting: bool,
    /// Whether an agent looks again while it runs: what can change under it, makes clients wait in
    /// vain, and costs microseconds to read.
    pub again: bool,
    look: Look,
}

type Look = fn(&Site, &dyn Host) -> Result<Finding, Unread>;

const BOTH: &[Role] = &[Role::Front, Role::Server];
const FRONT: &[Role] = &[Role::Front];
const SERVER: &[Role] = &[Role::Server];

const fn check(
    name: &'static str,
    roles: &'static [Role],
    about: &'static str,
    look: Look,
) -> Check {
    Check { name, about, roles, lasting: true, again: false, look }
}

const fn again(check: Check) -> Check {
    Check { again: true, ..check }
}

const fn passing(check: Check) -> Check {
    Check { lasting: false, ..check }
}

/// Every check, in the order in which they are worth repairing.
#[rustfmt::skip]
pub const CHECKS: &[Check] = &[
    check("kernel", BOTH, "Linux 6.9 or later: before, no program could make a socket of a segment",
        kernel::release),
    check("btf", BOTH, "the kernel describes its types: programs are fitted to it while loading",
        kernel::btf),
    check("kfunc", BOTH, "the kernel has bpf_sk_assign_tcp_reqsk, the call that makes the sockets",
        kernel::kfunc),
    check("capabilities", BOTH, "we may load programs and attach them to interfaces",
        kernel::capabilities),
    check("bpffs", BOTH, "programs and tables are pinned there to outlive their process",
        kernel::bpffs),
    check("jit", BOTH, "programs are compiled: calls into the kernel need that",
        kernel::jit),
    check("memlock", BOTH, "tables in kernel memory are not held against a limit for user memory",
        kernel::memlock),
    again(check("syncookies", BOTH, "without them the kernel resets what is handed over",
        tcp::syncookies)),
    again(check("timestamps", BOTH, "clients that use them are refused where they are off",
        tcp::timestamps)),
    again(check("sack", BOTH, "clients that use it are refused where it is off",
        tcp::sack)),
    again(check("window-scaling", BOTH, "clients that use it are refused where it is off",
        tcp::window_scaling)),
    check("rfc1337", BOTH, "off, or a client that comes back finds a dead socket in its way",
        tcp::rfc1337),
    check("receive-window", SERVER, "clients were told a window scale of 7: 8 MiB at most",
        tcp::receive_window),
    check("congestion-control", SERVER, "what paces replies is at its worst on sockets just made",
        tcp::congestion_control),
    check("initial-window", SERVER, "after a move each reply begins with the window of the route",
        routes::initial_window),
    check("conntrack", BOTH, "a firewall must take connections of which it saw no SYN",
        tcp::conntrack),
    again(check("mptcp", BOTH, "the kernel makes no socket for a listener that speaks MPTCP",
        sockets::mptcp)),
    again(passing(check("listener", SERVER, "somebody takes the connections that are handed over",
        sockets::listener))),
    passing(check("accept-queue", SERVER, "where it is full, handed-over connections are dropped",
        sockets::accept_queue)),
    check("somaxconn", SERVER, "the longest queue a listener may ask for",
        sockets::somaxconn),
    again(check("interface", BOTH, "the interfaces exist and are up",
        interfaces::present)),
    check("mtu", BOTH, "a segment fits into a packet with its envelope",
        interfaces::mtu),
    again(check("rp-filter", BOTH, "packets are not thrown away for the way that replies take",
        interfaces::rp_filter)),
    again(check("vip", SERVER, "the clients' address is this host's too, for itself alone",
        interfaces::vip_server)),
    check("vip-answered", FRONT, "the clients' address leads here",
        interfaces::vip_front),
    check("arp-ignore", SERVER, "the server does not answer ARP for the clients' address",
        interfaces::arp_ignore),
    check("arp-announce", SERVER, "the server does not make the clients' address known as its own",
        interfaces::arp_announce),
];

/// A check with what it found.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The check's name.
    pub name: &'static str,
    /// What must be so.
    pub about: &'static str,
    /// Whom it concerns.
    pub roles: &'static [Role],
    /// Whether what it found stays until somebody changes the host.
    #[serde(skip)]
    pub lasting: bool,
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Makes every check that concerns this host.
pub fn examine(site: &Site, host: &dyn Host) -> Vec<Row> {
    let wanted = CHECKS.iter().filter(|check| site.wants(check.roles));
    wanted.map(|check| check.row(site, host)).collect()
}

/// Makes the checks that are worth making again and again, and returns what is wrong.
pub fn look_again(site: &Site, host: &dyn Host) -> Vec<Fault> {
    let wanted = CHECKS.iter().filter(|check| check.again && site.wants(check.roles));
    let rows = wanted.map(|check| check.row(site, host));
    let bad = rows.filter(|row| matches!(row.finding.verdict, Verdict::Warn | Verdict::Fail));
    bad.map(|row| Fault {
        check: row.name.to_owned(),
        stops: row.finding.verdict == Verdict::Fail,
        evidence: row.finding.evidence,
        remedy: row.finding.remedy.unwrap_or_default(),
    })
    .collect()
}

impl Check {
    fn row(&self, site: &Site, host: &dyn Host) -> Row {
        Row {
            name: self.name,
            about: self.about,
            roles: self.roles,
            lasting: self.lasting,
            finding: (self.look)(site, host).unwrap_or_else(Finding::from),
        }
    }
}

/// The worst of what was found: [`Verdict::Fail`] before [`Verdict::Unknown`] before the rest.
pub fn worst(rows: &[Row]) -> Verdict {
    rows.iter().map(|row| row.finding.verdict).max().unwrap_or(Verdict::Ok)
}
