//! A switch without sockets: configuration, books and a kernel in memory.

use super::fake::{Fake, Now};
use crate::config::Config;
use crate::gather::Ear;
use crate::oneway::Oneway;
use crate::oneway::asking::Asking;
use crate::oneway::fabric::{Fabric, Slot, Terms};
use agent::{LoadReport, TakesOver};
use distributor::{Backend, Live, Scribe, Settings, Shared};
use policy::{Cluster, Desk, ServerId, State};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The address that clients connect to.
pub(super) const VIP: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 100)), 80);

pub(super) struct Site {
    pub(super) shared: Arc<Shared>,
    pub(super) fake: Arc<Fake>,
    pub(super) oneway: Arc<Oneway>,
}

/// A client's end.
pub(super) fn client(number: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 10], 1000 + number))
}

/// The text of a request for `path` of host `h`.
pub(super) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").into_bytes()
}

/// A configuration with servers a, b, ... of `count`, and `more`.
pub(super) fn config(count: usize, delivery: &str, more: &str) -> Config {
    let mut text = format!(
        "[listen.web]\naddress = \"{VIP}\"\ndelivery = \"{delivery}\"\n[oneway]\n\
         interfaces = [\"eth0\"]\nkey = \"000102030405060708090a0b0c0d0e0f\"\n{more}\n"
    );
    for name in ["a", "b", "c", "d"].iter().take(count) {
        let last = name.as_bytes()[0] - b'a' + 1;
        text += &format!(
            "[server.{name}]\naddress = \"10.0.0.{last}:80\"\nagent = \"127.0.0.1:{last}\"\n"
        );
    }
    match Config::parse("site", &text, &|_| None) {
        Ok(loaded) => loaded.config,
        Err(error) => panic!("{error}"),
    }
}

impl Site {
    pub(super) fn new(config: &Config) -> Self {
        Self::over(config, None)
    }

    /// Another process over the tables of one before.
    pub(super) fn over(config: &Config, before: Option<Arc<Fake>>) -> Self {
        let cluster = Cluster::new(0.5);
        let desk = Desk::new(config.policy.build(), cluster, 1);
        let live = Live {
            version: 0,
            settings: Settings::default(),
            rules: Arc::clone(&config.rules),
            policy: config.policy.entry.name.into(),
            routes: Vec::new(),
            backends: Vec::new(),
        };
        let shared = Arc::new(Shared::new(live, desk, 1));
        let fake = before.unwrap_or_else(|| Arc::new(Fake::new(shared.clock)));
        let settings = config.oneway.as_ref().unwrap();
        let fabric = Arc::clone(&fake) as Arc<dyn Fabric>;
        let oneway = Arc::new(Oneway::new(fabric, settings, Arc::clone(&shared)));
        let site = Self { shared, fake, oneway };
        site.load(config);
        site.oneway.expect(config);
        site.oneway.apply(config).unwrap();
        (0..config.servers.len()).for_each(|id| site.report(id, |_| {}));
        site.shared.ask.set_kernel(Some(Arc::clone(&site.oneway.bridge) as _));
        site.oneway.keeper().turn();
        site
    }

    /// Joins the servers of a configuration that are not there and removes others, as a reload.
    pub(super) fn load(&self, config: &Config) {
        let now = self.shared.clock.now();
        let old = self.shared.live.load_full();
        let known = |name: &str| {
            let mut all = old.backends.iter().flatten();
            all.find(|backend| *backend.name == *name).map(|backend| backend.id)
        };
        self.shared.ask.change_with(
            None,
            |edit| {
                let stays = |name: &str| config.servers.iter().any(|server| server.name == name);
                let gone = old.backends.iter().flatten().filter(|one| !stays(&one.name));
                gone.for_each(|one| edit.leave(one.id));
                let join = |server: &crate::config::ready::Server| {
                    known(&server.name).or_else(|| edit.join(server.spec(), State::Up, now))
                };
                let ids: Vec<Option<ServerId>> = config.servers.iter().map(join).collect();
                edit.set_panic_share(0.5);
                ids
            },
            |books, ids| {
                let mut backends = Vec::new();
                for (server, id) in config.servers.iter().zip(ids) {
                    let (id, address) = (id.unwrap(), server.resolve().unwrap());
                    self.oneway.place(id, server, address);
                    if backends.len() <= id.index() {
                        backends.resize_with(id.index() + 1, || None);
                    }
                    backends[id.index()] =
                        Some(Arc::new(Backend::new(id, &server.name, address, 1)));
                }
                self.shared.live.store(Arc::new(Live {
                    version: books.next_version(),
                    settings: Settings::default(),
                    rules: Arc::clone(&config.rules),
                    policy: config.policy.entry.name.into(),
                    routes: Vec::new(),
                    backends,
                }));
            },
        );
    }

    /// An agent says that its host takes connections over, but for what `change` makes of that.
    pub(super) fn report(&self, id: usize, change: impl FnOnce(&mut LoadReport)) {
        let Terms { key_check, envelope, port } = self.fake.terms();
        let vips = vec![VIP];
        let attached = true;
        let rest = TakesOver::default();
        let takes_over = TakesOver { key_check, envelope, port, vips, attached, ..rest };
        let takes_over = Some(takes_over);
        let mut report = LoadReport { takes_over, healthy: true, ..LoadReport::default() };
        change(&mut report);
        self.oneway.heard(ServerId(u16::try_from(id).unwrap()), &report);
    }

    pub(super) fn set_state(&self, id: u16, state: State) {
        self.shared.ask.change(|edit| edit.set_state(ServerId(id), state));
    }

    pub(super) fn asking(&self) -> Asking {
        self.oneway.asking()
    }

    /// A segment comes, and is answered if the kernel asks. Who got it, and whether it asked.
    pub(super) fn send(&self, client: SocketAddr, payload: &[u8]) -> (Option<Slot>, bool) {
        match self.fake.arrive(client, VIP, payload) {
            Now::Handed(slot) => (Some(slot), false),
            Now::Relayed => (None, false),
            Now::Asked => {
                let held = self.fake.question(Duration::ZERO).unwrap().unwrap();
                self.asking().settle(&held, &mut Scribe::new(&self.shared.journal));
                (self.holder(client), true)
            }
        }
    }

    /// Who has a client's connection.
    pub(super) fn holder(&self, client: SocketAddr) -> Option<Slot> {
        self.fake.state().flows.get(&(client, VIP)).map(|flow| flow.holder)
    }

    /// Load of a server in the desk's books, in connections.
    pub(super) fn load_of(&self, id: u16) -> f64 {
        self.shared.ask.books().desk().cluster().load(ServerId(id)).as_f64()
    }
}
