//! What the configuration and the flags say of the site, and which of its servers this host is.

use super::relay;
use crate::config::ready::{Delivery, Key, Network as Place, Server};
use crate::config::{Config, LoadError, Loaded};
use crate::flags;
use agent::client::authority;
use agent::doctor::{Network, Role, Site};
use agent::host::{Host, LinkName};
use anyhow::{Context, Result, anyhow, bail};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// The UDP port of the messages between front-end and servers, without a configuration.
const PORT: u16 = 7117;
/// Where the kernel's programs are pinned, without a configuration.
const PIN: &str = "/sys/fs/bpf/baton";

/// Everything an agent goes by.
#[derive(Debug)]
pub(super) struct Plan {
    /// The server's name.
    pub name: String,
    /// Where the served program listens.
    pub served: SocketAddr,
    /// Where clients connect, and how connections are delivered from there.
    pub vips: Vec<(SocketAddr, Delivery)>,
    /// Where the agent answers.
    pub listen: SocketAddr,
    /// By which interfaces clients' segments come in.
    pub interfaces: Vec<LinkName>,
    /// What front-end and servers know each other's messages by; `None` where only a report is
    /// wanted, or the programs are to go.
    pub key: Option<Key>,
    /// The UDP port of those messages.
    #[cfg_attr(not(feature = "oneway"), expect(dead_code, reason = "the kernel's part is out"))]
    pub port: u16,
    /// Where servers are.
    pub network: Network,
    /// Where the kernel's programs are pinned.
    pub pin: PathBuf,
    /// The relay, where connections are forwarded.
    pub relay: Option<relay::Plan>,
}

impl Plan {
    /// Puts file and flags together.
    ///
    /// # Errors
    /// When the file is invalid, or something that is needed is in neither.
    pub(super) fn of(args: &flags::Agent, host: &dyn Host) -> Result<Self> {
        let config = args.config.as_deref().map(load).transpose()?;
        let config = config.as_ref();
        let oneway = config.and_then(|config| config.oneway.as_ref());
        let server = match config {
            Some(config) => Some(ours(&config.servers, args.server.as_deref(), host)?),
            None => None,
        };
        let (name, served) = match (server, &args.server) {
            (Some(server), _) => (server.name.clone(), server.resolve().map_err(|e| anyhow!(e))?),
            (None, Some(address)) => (address.clone(), resolve(address)?),
            (None, None) => bail!("say with --server where the server listens, or give a --config"),
        };
        let agent = server.and_then(|server| server.agent.as_deref()).map(authority);
        let listen = match (args.listen, agent) {
            (Some(listen), _) => listen,
            (None, Some(agent)) => resolve(agent)?,
            (None, None) if args.detach => served,
            (None, None) => bail!(
                "say with --listen where the agent answers, or add agent = \"HOST:PORT\" to server \
                 {name}"
            ),
        };
        let relay = match config {
            Some(config) if args.vip.is_empty() && !args.report_only && !args.detach => {
                relay::Plan::of(config, &name, served)?
            }
            _ => None,
        };
        let plan = Self {
            relay,
            name,
            served,
            vips: match config {
                Some(config) if args.vip.is_empty() => vips(config).collect(),
                // Who may move may stay as well.
                _ => args.vip.iter().map(|vip| (*vip, Delivery::MultiHandoff)).collect(),
            },
            listen,
            interfaces: match oneway {
                Some(oneway) if args.interface.is_empty() => links(&oneway.interfaces)?,
                _ => args.interface.clone(),
            },
            key: match &args.key_file {
                Some(path) => Some(key(path)?),
                None => oneway.map(|oneway| oneway.key),
            },
            port: args.port.or(oneway.map(|oneway| oneway.port)).unwrap_or(PORT),
            network: match (args.network, oneway) {
                (Some(network), _) => network.into(),
                (None, oneway) => oneway.map(|oneway| place(oneway.network)).unwrap_or_default(),
            },
            pin: match (&args.pin, oneway) {
                (Some(pin), _) => pin.clone(),
                (None, oneway) => oneway.map_or_else(|| PIN.into(), |oneway| oneway.pin.clone()),
            },
        };
        if !args.report_only && !args.detach {
            plan.complete()?;
        }
        Ok(plan)
    }

    /// Whether everything is known that the kernel's program needs.
    fn complete(&self) -> Result<()> {
        let missing = [
            (
                self.vips.is_empty(),
                "where clients connect: --vip, or a listener whose delivery is \
                                    one way",
            ),
            (
                self.interfaces.is_empty(),
                "which interface clients' segments come in by: \
                                          --interface, or [oneway] interfaces",
            ),
            (self.key.is_none(), "the site's key: --key-file, or [oneway] key"),
        ];
        match missing.iter().find(|(missing, _)| *missing) {
            Some((_, what)) => bail!("it is not known {what}"),
            None => Ok(()),
        }
    }

    /// What the doctor is told.
    pub(super) fn site(&self) -> Site {
        Site {
            role: Some(Role::Server),
            interfaces: self.interfaces.clone(),
            vips: self.vips.iter().map(|(vip, _)| vip.ip()).collect(),
            ports: vec![self.served.port()],
            network: self.network,
            moves: Some(moves(self.vips.iter().map(|(_, way)| *way))),
        }
    }
}

impl Plan {
    /// What the doctor looks at while the agent runs. Where all connections are the relay's, the
    /// served program needs to listen on no address of the clients.
    pub(super) fn watched(&self) -> Site {
        let forwards = self.vips.iter().all(|(_, way)| *way == Delivery::Forward);
        let site = self.site();
        if forwards { Site { ports: Vec::new(), ..site } } else { site }
    }
}

/// Whether one of these hands connections on to another server.
pub(in crate::commands) fn moves(mut ways: impl Iterator<Item = Delivery>) -> bool {
    ways.any(|way| way == Delivery::MultiHandoff)
}

/// Reads the configuration; warnings are `baton check`'s business.
pub(in crate::commands) fn load(path: &Path) -> Result<Config, LoadError> {
    Config::load(path, &[]).map(|Loaded { config, .. }| config)
}

/// The addresses whose connections are handed over, and how.
pub(in crate::commands) fn vips(config: &Config) -> impl Iterator<Item = (SocketAddr, Delivery)> {
    let one_way = config.listeners.iter().filter(|listener| listener.delivery.one_way());
    one_way.flat_map(|one| one.addresses.iter().map(|address| (*address, one.delivery)))
}

/// The names of interfaces as the doctor takes them.
pub(in crate::commands) fn links(names: &[String]) -> Result<Vec<LinkName>> {
    names.iter().map(|name| name.parse().map_err(|error: String| anyhow!(error))).collect()
}

/// The network as the doctor calls it.
pub(in crate::commands) fn place(network: Place) -> Network {
    match network {
        Place::Neighbours => Network::Neighbours,
        Place::Routed => Network::Routed,
    }
}

/// The server that runs on this host: the one that is named, or the one whose address is ours.
pub(in crate::commands) fn ours<'a>(
    servers: &'a [Server],
    wanted: Option<&str>,
    host: &dyn Host,
) -> Result<&'a Server> {
    let names = |servers: &[&Server]| {
        servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let all: Vec<&Server> = servers.iter().collect();
    if let Some(wanted) = wanted {
        let found = servers.iter().find(|server| server.name == wanted);
        return found
            .with_context(|| format!("there is no server {wanted}; known: {}", names(&all)));
    }
    let addresses = host.addresses().context("cannot read this host's addresses")?;
    let own = |ip: IpAddr| addresses.iter().any(|address| address.ip == ip.to_canonical());
    // A name that has no address now is another server's trouble.
    let is_ours = |server: &&Server| server.resolve().is_ok_and(|at| own(at.ip()));
    let found: Vec<&Server> = servers.iter().filter(is_ours).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            bail!("no server has an address of this host; say which with --server: {}", names(&all))
        }
        several => {
            bail!("several servers are on this host; say which with --server: {}", names(several))
        }
    }
}

fn resolve(address: &str) -> Result<SocketAddr> {
    let mut found =
        address.to_socket_addrs().with_context(|| format!("cannot resolve {address}"))?;
    found.next().with_context(|| format!("{address} has no address"))
}

fn key(path: &Path) -> Result<Key> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let digits = "it must hold 32 hexadecimal digits, such as `openssl rand -hex 16` gives";
    Key::parse(&text).with_context(|| format!("{} is no key: {digits}", path.display()))
}
