//! The relay beside a server: back-end forwarding.
//!
//! Connections of listeners with `delivery = "forward"` are handed to it, not to the server itself.
//! It is the switch's own data plane ([`distributor`]), but who serves is not for it to decide: the
//! front-end did, and its choice came along with the request's segment. What is for this server is
//! fetched from it over the loopback, the rest from the Web servers that were chosen.

mod reader;

pub(super) use reader::Tags;

use crate::config::Config;
use crate::config::ready::Delivery;
use crate::serve::convert;
use agent::{Forwarding, Peer};
use anyhow::{Context, Result, bail};
use distributor::ask::Books;
use distributor::{
    AsTold, Backend, Entrance, Listen, Live, PerWorker, Retry, Route, Settings, Shared, Team,
};
use policy::{Cluster, Desk, Edit, ServerId, Spec, State};
use reader::{Counts, Reader, Slots};
use rules::Rules;
use std::collections::{BTreeSet, HashMap};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The slot of the server on this host.
const HERE: ServerId = ServerId(0);

/// Servers at most: as many as a front-end has slots for.
const SERVERS_MAX: usize = 256;

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
    slots: Slots,
    tags: Arc<dyn Tags>,
    workers: usize,
    drain: Duration,
}

/// Begins to serve what comes by `doors`. Whoever began has the team, to stop it.
///
/// # Errors
/// Two servers whose tags are the same, or there can be no more threads.
pub(super) fn start(plan: &Plan, doors: Doors, tags: Arc<dyn Tags>) -> Result<(Arc<Relay>, Team)> {
    let counters = PerWorker::new(plan.workers);
    let live = Live {
        version: 0,
        settings: plan.settings.clone(),
        rules: Arc::new(Rules::none()),
        policy: "as-told".into(),
        routes: vec![Arc::new(Route { listener: "forward".into(), rule: None, counters })],
        backends: Vec::new(),
    };
    let (counts, slots) = (Arc::<Counts>::default(), Slots::default());
    let desk = Desk::new(Box::new(AsTold), Cluster::new(0.0), 0);
    let mut shared = Shared::new(live, desk, plan.workers);
    let reader = Reader { counts: counts.clone(), slots: slots.clone(), tags: tags.clone() };
    shared.told = Some(Box::new(reader));
    let shared = Arc::new(shared);
    let (workers, drain) = (plan.workers, plan.drain);
    let relay = Relay { shared: shared.clone(), counts, slots, tags, workers, drain };
    relay.apply(plan)?;
    let team = Team::start(shared).context("cannot start the relay's workers")?;
    let entrance = Arc::new(Entrance::new(0, "forward", plan.workers));
    for sockets in doors.sockets {
        team.accept_on(&entrance, sockets).context("the relay cannot accept")?;
    }
    Ok((Arc::new(relay), team))
}

impl Relay {
    /// Takes over the servers and settings of a plan; what is open stays. How many servers there
    /// are now.
    ///
    /// # Errors
    /// Two servers whose tags are the same, or there are too many, or this is another one. Then all
    /// is as it was.
    pub(super) fn apply(&self, plan: &Plan) -> Result<usize> {
        let old = self.shared.live.load_full();
        let known: HashMap<&str, &Arc<Backend>> =
            old.backends.iter().flatten().map(|backend| (&*backend.name, backend)).collect();
        let here = old.backends.first().and_then(Option::as_ref);
        let is_here =
            |(name, _): &(String, SocketAddr)| here.is_none_or(|here| *here.name == **name);
        if !plan.servers.first().is_some_and(is_here) {
            bail!("the server on this host has another name now; start the agent again");
        }
        let mut tags = BTreeSet::new();
        if let Some((name, _)) =
            plan.servers.iter().find(|(name, _)| !tags.insert(self.tags.of(name)))
        {
            bail!("server {name} has the same hash as another one: give it another name");
        }
        if plan.servers.len() > SERVERS_MAX {
            bail!("there are more than {SERVERS_MAX} servers");
        }
        let now = self.shared.clock.now();
        let edit = |edit: &mut Edit<'_>| {
            let stays = |name: &str| plan.servers.iter().any(|(other, _)| other == name);
            let gone = known.values().filter(|backend| !stays(&backend.name));
            gone.for_each(|backend| edit.leave(backend.id));
            let place = |(name, _): &(String, SocketAddr)| match known.get(name.as_str()) {
                Some(backend) => Some(backend.id),
                None => {
                    let spec = Spec { name: name.as_str().into(), weight: 1, capacity: None };
                    edit.join(spec, State::Up, now)
                }
            };
            plan.servers.iter().map(place).collect::<Vec<_>>()
        };
        let settle = |books: &mut Books, ids: Vec<Option<ServerId>>| {
            self.settle(plan, &old, &ids, books.next_version())
        };
        Ok(self.shared.ask.change_with(None, edit, settle))
    }

    /// Puts the table of a plan in place, whose servers have these slots.
    fn settle(&self, plan: &Plan, old: &Live, ids: &[Option<ServerId>], version: u64) -> usize {
        let mut live = Live {
            version,
            settings: plan.settings.clone(),
            rules: Arc::clone(&old.rules),
            policy: old.policy.clone(),
            routes: old.routes.clone(),
            backends: Vec::new(),
        };
        let mut slots = HashMap::new();
        for ((name, address), id) in plan.servers.iter().zip(ids) {
            let Some(id) = *id else { continue };
            let same =
                |backend: &&Arc<Backend>| *backend.name == **name && backend.address == *address;
            let kept = old.backends.iter().flatten().find(same).cloned();
            let backend = || Arc::new(Backend::new(id, name, *address, self.workers));
            if live.backends.len() <= id.index() {
                live.backends.resize_with(id.index() + 1, || None);
            }
            live.backends[id.index()] = Some(kept.unwrap_or_else(backend));
            slots.insert(self.tags.of(name), id.0);
        }
        let count = slots.len();
        self.shared.live.store(Arc::new(live));
        *self.slots.write().unwrap_or_else(PoisonError::into_inner) = slots;
        count
    }

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
    use super::reader::tests::Made;
    use super::*;

    #[test]
    fn an_agent_that_listens_on_every_address_leaves_its_relay_none() {
        // Kept, so that nobody else is given the port when the agent lets it go.
        let kept = testbed::Port::kept().expect("a port is left");
        let taken = TcpListener::bind(kept.address()).expect("it is kept for this");
        let plan = Plan {
            settings: Settings::default(),
            workers: 1,
            listens: vec![Listen::new("forward", SocketAddr::from(([127, 0, 0, 1], 80)))],
            servers: Vec::new(),
            drain: Duration::ZERO,
        };
        let port = kept.address().port();
        let refused = plan.open(port).err().map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(refused.contains("must listen on another address"), "{refused}");
        drop(taken);
        assert_eq!(plan.open(port).unwrap().sockets[0].len(), 1);
    }

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn servers_come_and_go_with_the_file_and_keep_what_was_counted() {
        let plan = |servers: &[(&str, u16)]| Plan {
            settings: Settings::default(),
            workers: 1,
            listens: Vec::new(),
            servers: servers.iter().map(|(name, port)| ((*name).to_owned(), at(*port))).collect(),
            drain: Duration::ZERO,
        };
        let doors = Doors { port: 0, sockets: Vec::new() };
        let first = plan(&[("own", 1), ("other", 2)]);
        let (relay, team) = start(&first, doors, Arc::new(Made)).unwrap();
        let counted = |relay: &Relay| relay.shared.live.load().backends.clone();
        let before = counted(&relay);
        assert_eq!(relay.apply(&plan(&[("own", 1), ("fourth", 4), ("other", 3)])).unwrap(), 3);
        let after = counted(&relay);
        let known = |at: usize| after[at].as_ref().map(|one| (&*one.name, one.address));
        assert_eq!(known(1), Some(("other", at(3))), "it has moved");
        assert_eq!(known(2), Some(("fourth", at(4))));
        assert!(Arc::ptr_eq(before[0].as_ref().unwrap(), after[0].as_ref().unwrap()));
        for (wrong, why) in [
            (plan(&[("other", 3)]), "another name"),
            (plan(&[("own", 1), ("far", 2)]), "the same hash"),
        ] {
            let refused = relay.apply(&wrong).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
        assert_eq!(relay.apply(&plan(&[("own", 1)])).unwrap(), 1);
        assert_eq!(*relay.slots.read().unwrap(), [(3, 0)].into());
        assert_eq!(relay.stop(team, &AtomicBool::new(true)), 0);
    }
}
