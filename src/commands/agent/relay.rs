//! The relay beside a server: back-end forwarding.
//!
//! Connections of listeners with `delivery = "forward"` are handed to it, not to the server itself.
//! It is the switch's own data plane ([`distributor`]), but who serves is not for it to decide: the
//! front-end did, and its choice came along with the request's segment. What is for this server is
//! fetched from it over the loopback, the rest from the Web servers that were chosen.

use crate::config::Config;
use crate::config::ready::Delivery;
use crate::serve::convert;
use agent::{Forwarding, Peer};
use anyhow::{Context, Result, bail};
use distributor::{
    AsTold, Backend, Entrance, Found, Listen, Live, PerWorker, Retry, Route, Settings, Shared,
    Team, Told,
};
use policy::{Cluster, Desk, Instant, ServerId, Spec, State, TargetId};
use rules::Rules;
use std::collections::{BTreeSet, HashMap};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The slot of the server on this host.
const HERE: ServerId = ServerId(0);

/// What the kernel keeps of the front-end's choices.
pub(super) trait Tags: Send + Sync {
    /// The sequence number of the first byte of a connection that was handed over here.
    fn first(&self, client: SocketAddr, vip: SocketAddr) -> Option<u32>;

    /// The tag of the request whose first byte has this number; taken out.
    fn tag(&self, client: SocketAddr, vip: SocketAddr, seq: u32) -> Option<u32>;

    /// The tag that stands for a server.
    fn of(&self, server: &str) -> u32;
}

/// What the configuration says of the relay.
#[derive(Debug)]
pub(super) struct Plan {
    settings: Settings,
    workers: usize,
    /// Where it listens, but for the port.
    listens: Vec<Listen>,
    /// This server and then all others, by name.
    servers: Vec<(String, SocketAddr)>,
    drain: Duration,
}

impl Plan {
    /// `None` where no listener forwards. `served` is where the server called `name` listens.
    ///
    /// # Errors
    /// A server that cannot be resolved.
    pub(super) fn of(config: &Config, name: &str, served: SocketAddr) -> Result<Option<Self>> {
        let mut seen = BTreeSet::new();
        let mut listens = Vec::new();
        for listener in config.listeners.iter().filter(|one| one.delivery == Delivery::Forward) {
            for address in listener.addresses.iter().filter(|at| seen.insert(at.ip())) {
                listens.push(Listen {
                    backlog: listener.backlog,
                    congestion: listener.congestion.as_deref().map(Into::into),
                    // Connections come with their first request, always.
                    defer_accept: false,
                    ..Listen::new("forward", *address)
                });
            }
        }
        if listens.is_empty() {
            return Ok(None);
        }
        let mut servers = vec![(name.to_owned(), served)];
        for server in config.servers.iter().filter(|server| server.name != name) {
            let address = server.resolve().map_err(anyhow::Error::msg)?;
            servers.push((server.name.clone(), address));
        }
        let settings = convert::settings(config, &convert::pseudonym());
        let attempts = settings.retry.attempts.max(1);
        let settings = Settings {
            // The log of requests is the front-end's, who decided them.
            access: None,
            // The holder stands in for a server that is gone.
            retry: Retry { attempts, ..settings.retry },
            ..settings
        };
        let workers = match config.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            count => count,
        };
        let drain = config.timeouts.drain;
        Ok(Some(Self { settings, workers, listens, servers, drain }))
    }

    /// Opens its sockets: on the clients' addresses, at the agent's port.
    ///
    /// # Errors
    /// Somebody has the port there.
    pub(super) fn open(&self, port: u16) -> Result<Doors> {
        let open = |listen: &Listen| {
            let address = SocketAddr::new(listen.address.ip(), port);
            let sockets = Listen { address, ..listen.clone() }.open(self.workers);
            sockets.with_context(|| {
                format!(
                    "the relay cannot listen on {address}; it takes the agent's port on the \
                     clients' address, so the agent itself must listen on another address, not on \
                     all of them"
                )
            })
        };
        let sockets = self.listens.iter().map(open).collect::<Result<_>>()?;
        Ok(Doors { port, sockets })
    }
}

/// Where connections will be accepted.
pub(super) struct Doors {
    pub(super) port: u16,
    /// One for each worker, for each address.
    sockets: Vec<Vec<TcpListener>>,
}

/// A relay that runs.
pub(super) struct Relay {
    shared: Arc<Shared>,
    counts: Arc<Counts>,
    drain: Duration,
}

/// Requests by how their server was found.
#[derive(Default)]
struct Counts {
    here: AtomicU64,
    elsewhere: AtomicU64,
    pipelined: AtomicU64,
    unknown_server: AtomicU64,
    not_handed_over: AtomicU64,
}

/// Reads tags as servers.
struct Reader<T: ?Sized> {
    counts: Arc<Counts>,
    /// The slot of each server by its tag.
    slots: HashMap<u32, u16>,
    tags: Arc<T>,
}

impl<T: Tags + ?Sized> Told for Reader<T> {
    fn first(&self, client: SocketAddr, to: SocketAddr) -> Option<u32> {
        self.tags.first(client, to)
    }

    fn target(&self, request: &Found) -> TargetId {
        let (Found { client, to, seq, pipelined }, counts) = (*request, &self.counts);
        let tag = seq.map(|seq| self.tags.tag(client, to, seq));
        let slot = tag.flatten().map(|tag| self.slots.get(&tag).copied());
        let (count, slot) = match (tag, slot) {
            (None, _) => (&counts.not_handed_over, HERE.0),
            (Some(_), None) if pipelined => (&counts.pipelined, HERE.0),
            (Some(_), None) => (&counts.here, HERE.0),
            (Some(_), Some(None)) => (&counts.unknown_server, HERE.0),
            (Some(_), Some(Some(slot))) if slot == HERE.0 => (&counts.here, slot),
            (Some(_), Some(Some(slot))) => (&counts.elsewhere, slot),
        };
        count.fetch_add(1, Ordering::Relaxed);
        TargetId(u64::from(slot))
    }
}

/// Begins to serve what comes by `doors`. Whoever began has the team, to stop it.
///
/// # Errors
/// Two servers whose tags are the same, or there can be no more threads.
pub(super) fn start<T: Tags + ?Sized + 'static>(
    plan: &Plan,
    doors: Doors,
    tags: Arc<T>,
) -> Result<(Arc<Relay>, Team)> {
    let mut desk = Desk::new(Box::new(AsTold), Cluster::new(0.0), 0);
    let (mut backends, mut slots) = (Vec::new(), HashMap::new());
    for (name, address) in &plan.servers {
        let spec = Spec { name: name.as_str().into(), weight: 1, capacity: None };
        let id = desk.join(spec, State::Up, Instant::ZERO).context("there are too many servers")?;
        backends.push(Some(Arc::new(Backend::new(id, name, *address, plan.workers))));
        if slots.insert(tags.of(name), id.0).is_some() {
            bail!("server {name} has the same hash as another one: give it another name");
        }
    }
    let counters = PerWorker::new(plan.workers);
    let live = Live {
        version: 0,
        settings: plan.settings.clone(),
        rules: Arc::new(Rules::none()),
        policy: "as-told".into(),
        routes: vec![Arc::new(Route { listener: "forward".into(), rule: None, counters })],
        backends,
    };
    let counts = Arc::new(Counts::default());
    let mut shared = Shared::new(live, desk, plan.workers);
    shared.told = Some(Box::new(Reader { counts: Arc::clone(&counts), slots, tags }));
    let shared = Arc::new(shared);
    let team = Team::start(Arc::clone(&shared)).context("cannot start the relay's workers")?;
    let entrance = Arc::new(Entrance::new(0, "forward", plan.workers));
    for sockets in doors.sockets {
        team.accept_on(&entrance, sockets).context("the relay cannot accept")?;
    }
    Ok((Arc::new(Relay { shared, counts, drain: plan.drain }), team))
}

impl Relay {
    /// Accepts nothing more and finishes what there is, no longer than until `hurry` is set.
    /// Returns how many connections were cut off.
    pub(super) fn stop(&self, team: Team, hurry: &AtomicBool) -> usize {
        team.stop(self.drain, hurry)
    }
}

impl agent::Relay for Relay {
    fn forwarding(&self) -> Forwarding {
        let counts = &self.counts;
        let requests = [
            ("here", &counts.here),
            ("elsewhere", &counts.elsewhere),
            ("pipelined", &counts.pipelined),
            ("unknown-server", &counts.unknown_server),
            ("not-handed-over", &counts.not_handed_over),
        ];
        let requests = requests.map(|(name, count)| (name, count.load(Ordering::Relaxed)));
        let retries = self.shared.counters.sum(|counters| &counters.retries);
        let live = self.shared.live.load();
        let peer = |backend: &Arc<Backend>| Peer {
            server: backend.name.to_string(),
            requests: backend.counters.sum(|counters| &counters.answered),
            failures: backend.counters.sum(|counters| &counters.failed),
            bytes_to: backend.counters.sum(|counters| &counters.bytes_to),
            bytes_from: backend.counters.sum(|counters| &counters.bytes_from),
        };
        Forwarding {
            connections: self.shared.open.load(Ordering::Relaxed) as u64,
            requests: requests
                .into_iter()
                .chain([("stood-in", retries)])
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
            peers: live.backends.iter().flatten().map(peer).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tag of a request is the number of its first byte.
    struct Made;

    impl Tags for Made {
        fn first(&self, _: SocketAddr, _: SocketAddr) -> Option<u32> {
            None
        }

        fn tag(&self, _: SocketAddr, _: SocketAddr, seq: u32) -> Option<u32> {
            (seq > 0).then_some(seq)
        }

        fn of(&self, server: &str) -> u32 {
            server.len() as u32
        }
    }

    #[test]
    fn an_agent_that_listens_on_every_address_leaves_its_relay_none() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = Plan {
            settings: Settings::default(),
            workers: 1,
            listens: vec![Listen::new("forward", SocketAddr::from(([127, 0, 0, 1], 80)))],
            servers: Vec::new(),
            drain: Duration::ZERO,
        };
        let port = taken.local_addr().unwrap().port();
        let refused = plan.open(port).err().map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(refused.contains("must listen on another address"), "{refused}");
        drop(taken);
        assert_eq!(plan.open(port).unwrap().sockets[0].len(), 1);
    }

    #[test]
    fn what_nobody_chose_or_nobody_knows_is_served_here_and_counted() {
        let slots = [(10, 0), (11, 1)].into();
        let counts = Arc::<Counts>::default();
        let reader = Reader { counts: Arc::clone(&counts), slots, tags: Arc::new(Made) };
        let at = SocketAddr::from(([192, 0, 2, 1], 80));
        let target =
            |seq, pipelined| reader.target(&Found { client: at, to: at, seq, pipelined }).0;
        assert_eq!(target(Some(11), true), 1);
        let here = [target(Some(10), false), target(Some(0), false), target(Some(0), true)];
        assert_eq!((here, target(Some(99), false), target(None, true)), ([0; 3], 0, 0));
        let Counts { here, elsewhere, pipelined, unknown_server, not_handed_over } = &*counts;
        let seen = [here, elsewhere, pipelined, unknown_server, not_handed_over];
        assert_eq!(seen.map(|count| count.load(Ordering::Relaxed)), [2, 1, 1, 1, 1]);
    }
}
