//! A switch in this process, before servers that a test scripts.

use crate::peer::{Peer, STUCK};
use distributor::counters::{Cause, Counter, Counters};
use distributor::{
    AsTold, Backend, Entrance, Listen, Live, PerWorker, Route, Settings, Shared, Team, Told,
};
use policy::{Cluster, Desk, Load, Params, ServerId, Spec, State};
use rules::Rules;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a test wants to be different.
pub struct Setup {
    pub settings: Settings,
    pub policy: &'static str,
    pub workers: usize,
    /// Whether silent connections are left in the kernel for a while.
    pub defer: bool,
    /// Requests at once and in the queue, for each server; no limit if `None`.
    pub gate: Option<(u32, u32)>,
    /// Who chooses the servers in the policy's place.
    pub told: Option<Box<dyn Told>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            policy: "round-robin",
            workers: 1,
            defer: true,
            gate: None,
            told: None,
        }
    }
}

pub struct Stage {
    pub shared: Arc<Shared>,
    pub address: SocketAddr,
    pub entrance: Arc<Entrance>,
    team: Option<Team>,
}

impl Stage {
    /// A switch with the usual settings.
    pub fn before(servers: &[SocketAddr]) -> Self {
        Self::with(servers, |_| {})
    }

    /// A switch with settings that `change` makes of the usual ones.
    pub fn with(servers: &[SocketAddr], change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = Setup::default();
        change(&mut setup);
        let entry = policy::entry(setup.policy).unwrap();
        let policy = match setup.told {
            Some(_) => Box::new(AsTold),
            None => (entry.build)(&Params::new(entry.params)),
        };
        let mut desk = Desk::new(policy, Cluster::new(0.0), 1);
        let backend = |(at, address): (usize, &SocketAddr)| {
            let name = format!("s{at}");
            let spec = Spec { name: name.as_str().into(), weight: 1, capacity: None };
            let id = desk.join(spec, State::Up, policy::Instant::ZERO).unwrap();
            Some(Arc::new(Backend::new(id, &name, *address, setup.workers)))
        };
        let backends: Vec<_> = servers.iter().enumerate().map(backend).collect();
        let route =
            Route { listener: "t".into(), rule: None, counters: PerWorker::new(setup.workers) };
        let live = Live {
            version: 0,
            settings: setup.settings,
            rules: Arc::new(Rules::none()),
            policy: setup.policy.into(),
            routes: vec![Arc::new(route)],
            backends,
        };
        let mut shared = Shared::new(live, desk, setup.workers);
        shared.told = setup.told;
        let shared = Arc::new(shared);
        if let Some((limit, queue)) = setup.gate {
            let ids = (0..servers.len()).map(|at| ServerId(at as u16));
            ids.for_each(|id| shared.ask.set_gate(id, limit, queue));
        }
        let team = Team::start(Arc::clone(&shared)).unwrap();
        let entrance = Arc::new(Entrance::new(0, "t", setup.workers));
        let usual = Listen::new("t", SocketAddr::from(([127, 0, 0, 1], 0)));
        let listen = Listen { defer_accept: setup.defer, ..usual };
        let sockets = listen.open(team.size()).unwrap();
        let address = team.accept_on(&entrance, sockets).unwrap();
        Self { shared, address, entrance, team: Some(team) }
    }

    pub fn client(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// One request on a connection of its own.
    pub fn get(&self, path: &str) -> crate::peer::Reply {
        self.client().get(path)
    }

    pub fn sum(&self, counter: impl Fn(&Counters) -> &Counter) -> u64 {
        self.shared.counters.sum(counter)
    }

    pub fn ends(&self, cause: Cause) -> u64 {
        self.sum(|counters| &counters.causes[cause as usize])
    }

    pub fn load(&self) -> Load {
        self.shared.ask.books().desk().cluster().total()
    }

    pub fn waiting(&self, server: u16) -> usize {
        self.shared.ask.books().waiting(ServerId(server))
    }

    /// Waits until every request has ended, and says that the books agree.
    pub fn settle(&self) {
        let quiet = || self.sum(|c| &c.in_flight) == 0 && self.load() == Load::ZERO;
        eventually("the books balance", quiet);
        let cluster_open =
            self.shared.ask.books().desk().cluster().servers().any(|s| s.load > Load::ZERO);
        assert!(!cluster_open, "no server has work");
    }

    /// Stops as SIGTERM does; returns how many connections were cut off.
    pub fn stop(mut self, patience: Duration) -> usize {
        self.team.take().unwrap().stop(patience, &std::sync::atomic::AtomicBool::new(false))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(team) = self.team.take() {
            team.stop(Duration::ZERO, &std::sync::atomic::AtomicBool::new(true));
        }
    }
}

/// Waits until `holds`, and fails when it does not within a generous time.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + STUCK;
    while !holds() {
        assert!(Instant::now() < end, "it never came true that {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}
