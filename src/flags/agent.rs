//! Flags of `baton agent`.

use super::NetworkForm;
use ::agent::host::LinkName;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Flags of `baton agent`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
It reads the same file as the switch, and finds its own server there by this host's addresses.
First it looks at the host as `baton doctor --role server` does, and refuses to start where
connections could not be taken over. Its questions are GET /load, /flows, /health and /metrics.

Examples:
  baton agent -c baton.toml
  baton agent -c baton.toml --server web2 --listen 10.0.0.12:7118
  baton agent --vip 192.0.2.100:80 --key-file /etc/baton/key --interface eth0 \\
              --server 10.0.0.11:80 --listen 10.0.0.11:7118
  baton agent -c baton.toml --detach           # connections handed over here end

Signals: TERM and INT end the agent; the kernel's programs stay, and so do the connections. HUP
reads the servers and settings of its relay again.")]
pub struct Agent {
    /// Configuration of the switch; flags replace what it says
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Which server this is: its name in the configuration, or where it listens without one
    #[arg(short, long, value_name = "NAME|HOST:PORT")]
    pub server: Option<String>,
    /// Where clients connect (repeatable)
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub vip: Vec<SocketAddr>,
    /// A file with the key of the site: 32 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// An interface that clients' segments come in by (repeatable)
    #[arg(short, long, value_name = "NAME")]
    pub interface: Vec<LinkName>,
    /// Where it answers; an address of the inner network
    #[arg(short, long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// UDP port of the messages between front-end and servers [default: 7117]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Where the servers are, seen from the front-end [default: neighbours]
    #[arg(long, value_enum)]
    pub network: Option<NetworkForm>,
    /// Folder in a file system of type bpf [default: /sys/fs/bpf/baton]
    #[arg(long, value_name = "DIR")]
    pub pin: Option<PathBuf>,
    /// Report only: load no program into the kernel
    #[arg(long, conflicts_with = "detach")]
    pub report_only: bool,
    /// Take the kernel's programs away and end
    #[arg(long)]
    pub detach: bool,
}
