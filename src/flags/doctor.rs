//! Flags of `baton doctor`.

use super::Answer;
use agent::host::LinkName;
use clap::{Args, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;

/// Flags of `baton doctor`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing is changed without --fix, and by it only sysctls, until the next start of the host.

Examples:
  baton doctor                                 # what can be told without knowing the site
  baton doctor -c baton.toml --role front
  baton doctor --role server --interface eth0 --vip 192.0.2.100 --port 80
  baton doctor --role server --interface eth0 --vip 192.0.2.100 --fix
  baton doctor --json | jq '.checks[] | select(.verdict == \"fail\")'

Exit codes: 0 nothing stands in the way (there may be warnings), 1 something does, 2 wrong usage,
3 something could not be read.")]
pub struct Doctor {
    /// Configuration of the switch: interfaces, addresses, ports and network are those of its
    /// listeners whose connections are handed over; flags replace them
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What the host is for; both if not given
    #[arg(long, value_enum)]
    pub role: Option<HostRole>,
    /// What remains to be said of the site.
    #[command(flatten)]
    pub site: SiteFlags,
    /// Set the sysctls that repair something and harm nobody; without it, they are only named
    #[arg(long)]
    pub fix: bool,
    /// For whom it is said.
    #[command(flatten)]
    pub answer: Answer,
}

/// Where clients connect and what they pass.
#[derive(Args, Debug)]
pub struct SiteFlags {
    /// An interface that clients' segments come in by (repeatable)
    #[arg(short, long, value_name = "NAME")]
    pub interface: Vec<LinkName>,
    /// An address that clients connect to (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub vip: Vec<IpAddr>,
    /// A port that clients connect to (repeatable)
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,
    /// Where the servers are, seen from the front-end [default: neighbours]
    #[arg(long, value_enum)]
    pub network: Option<NetworkForm>,
}

/// What a host is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostRole {
    /// Clients connect to it: it runs the switch
    Front,
    /// Connections are handed to it
    Server,
}

/// Where the servers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NetworkForm {
    /// On the front-end's layer-2 network
    Neighbours,
    /// Behind routers
    Routed,
}

impl From<HostRole> for agent::doctor::Role {
    fn from(role: HostRole) -> Self {
        match role {
            HostRole::Front => Self::Front,
            HostRole::Server => Self::Server,
        }
    }
}

impl From<NetworkForm> for agent::doctor::Network {
    fn from(network: NetworkForm) -> Self {
        match network {
            NetworkForm::Neighbours => Self::Neighbours,
            NetworkForm::Routed => Self::Routed,
        }
    }
}
