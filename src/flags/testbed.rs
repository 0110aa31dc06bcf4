//! Flags of `baton testbed`.

use super::Answer;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The bed that is meant when none is named.
const NAME: &str = "site";

/// Flags of `baton testbed`.
#[derive(Args, Debug)]
#[command(after_help = "\
A test bed is a site in this machine: a client, a front-end and servers with nginx, each in a
network namespace of its own. Nothing of it is in the namespace of the host. It needs root, ip
(iproute2), nsenter and nginx (nginx-light).

Examples:
  sudo baton testbed up --servers 3
  sudo nsenter --net=/run/netns/baton-site-client curl -I http://10.77.0.11/1500
  sudo baton testbed down")]
pub struct Testbed {
    /// What to do with it.
    #[command(subcommand)]
    pub command: TestbedCommand,
}

/// What can be done with a test bed.
#[derive(Debug, Subcommand)]
pub enum TestbedCommand {
    /// Make one and leave it standing
    Up(TestbedUp),
    /// Remove one with everything that runs in it
    Down(TestbedDown),
    /// Say which there are
    Status(TestbedStatus),
    /// Show one-way delivery: one connection, answered by several servers, packet by packet
    Demo(TestbedDemo),
}

/// Flags of `baton testbed up`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo baton testbed up
  sudo baton testbed up far --servers 4 --routed")]
pub struct TestbedUp {
    /// Its name, part of the names of its namespaces
    #[arg(value_name = "NAME", default_value = NAME)]
    pub name: String,
    /// How many servers
    #[arg(long, value_name = "COUNT", default_value_t = 2,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub servers: u16,
    /// A router between client, front-end and servers, which are neighbours otherwise
    #[arg(long)]
    pub routed: bool,
    /// The largest packet of every link, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    pub mtu: u16,
    /// How much servers and front-end send before the first acknowledgement, in segments; other
    /// systems have 10
    #[arg(long, value_name = "SEGMENTS", default_value_t = testbed::INITIAL_WINDOW)]
    pub initial_window: u16,
}

/// Flags of `baton testbed down`.
#[derive(Args, Debug)]
#[command(after_help = "\
Also removes what is left of a bed whose making was killed. None of this name is no mistake.

Examples:
  sudo baton testbed down
  sudo baton testbed down --all   # also those that running tests use")]
pub struct TestbedDown {
    /// Its name
    #[arg(value_name = "NAME", default_value = NAME)]
    pub name: String,
    /// Every bed of this machine, whoever made it
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
}

/// Flags of `baton testbed status`.
#[derive(Args, Debug)]
pub struct TestbedStatus {
    /// For whom it is said.
    #[command(flatten)]
    pub answer: Answer,
}

/// Flags of `baton testbed demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Makes a test bed of its own with three servers, runs switch and agents on it, and asks: who answers
each request of one connection, how it got there and why, every packet of its beginning, and what
passes the front-end, all beside the relay. It needs tcpdump besides. Nothing is left but the
folder, with a capture for Wireshark.

Examples:
  sudo baton testbed demo
  sudo baton testbed demo --routed --ipv6
  sudo baton testbed demo --json | tail -1 | jq '.costs[] | {delivery, front_bytes}'")]
pub struct TestbedDemo {
    /// A router between client, front-end and servers, which are neighbours otherwise
    #[arg(long)]
    pub routed: bool,
    /// Speak IPv6
    #[arg(long)]
    pub ipv6: bool,
    /// Requests that are measured of each kind
    #[arg(long, value_name = "COUNT", default_value_t = 500,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub requests: u32,
    /// Where configuration, access log, capture and picture are written
    #[arg(long, value_name = "DIR", default_value = "oneway-demo")]
    pub out: PathBuf,
    /// Print one JSON object as the last line
    #[arg(long)]
    pub json: bool,
}
