//! ONE WAY in the switch: what the kernel asks, what it may repeat, and what became of it.
//!
//! The kernel's side ([`Fabric`]) answers SYNs, hands connections over and counts them. Here is
//! what it cannot do by itself: `asking` answers its questions by the rules and the one policy,
//! `bridge` tells it what it may repeat (`promises`), `roster` keeps servers and slots together
//! over restarts, `keeper` looks after the tables, `posts` after the programs' places, `trust`
//! knows who can take connections over by what servers' agents say ([`crate::gather`] asks them),
//! `telling` writes down what the kernel did alone. Nothing here knows eBPF but `front`, which is
//! there with feature `oneway`.

mod asking;
mod bridge;
mod doubt;
pub mod fabric;
#[cfg(feature = "oneway")]
mod front;
mod keeper;
mod posts;
mod promises;
mod reading;
mod reason;
mod roster;
mod seen;
mod telling;
#[cfg(test)]
mod tests;
mod trust;
mod view;

pub use fabric::Fabric;
#[cfg(feature = "oneway")]
pub(crate) use front::lock;
pub use reason::Local;
#[cfg(feature = "oneway")]
pub(crate) use roster::name_hash;

use crate::config::ready::{self, Config, Delivery};
use crate::gather::Ear;
use agent::LoadReport;
use anyhow::{Context, Result};
use asking::Asking;
use bridge::Bridge;
use control::Event;
use distributor::{Shared, say};
use doubt::Doubt;
use fabric::{Owned, Terms};
use keeper::{Keeper, Notice};
use policy::ServerId;
use posts::Posts;
use roster::Wanted;
use seen::Seen;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use trust::{Identity, Standing, Turn};

/// Notices on their way to the keeper.
const NOTICES_MAX: usize = 64;

/// One-way delivery of a running switch.
pub struct Oneway {
    shared: Arc<Shared>,
    bridge: Arc<Bridge>,
    seen: Arc<Seen>,
    terms: Terms,
    /// Whether every segment travels in an envelope.
    routed: bool,
    /// As the configuration in force has it.
    panic_share: Mutex<f64>,
    letters: Arc<AtomicBool>,
    idle: Duration,
    posts: Arc<Posts>,
    /// Who is told when a server is believed or doubted, or a program is missing; set once.
    events: Arc<OnceLock<Events>>,
    threads: Mutex<Threads>,
}

/// Who is told of events.
pub type Events = Box<dyn Fn(Event) + Send + Sync>;

/// What runs, and how it is told to end.
#[derive(Default)]
struct Threads {
    stop: Arc<AtomicBool>,
    notices: Option<SyncSender<Notice>>,
    running: Vec<JoinHandle<()>>,
}

/// Opens the kernel's side, if any listener hands connections over, or tables of a process before
/// this one are there: its programs still answer clients, and nobody else would stop them. `None`:
/// neither.
///
/// # Errors
/// One sentence for the operator: what the machine lacks.
pub fn open(config: &Config, shared: &Arc<Shared>) -> Result<Option<Arc<Oneway>>> {
    let left_behind = config.oneway.as_ref().is_some_and(|settings| has_tables(&settings.pin));
    if !is_wanted(config) && !left_behind {
        return Ok(None);
    }
    // The configuration was refused otherwise.
    let settings = config.oneway.as_ref().context("one-way delivery needs [oneway]")?;
    let fabric = open_fabric(settings, config, shared)?;
    Ok(Some(Arc::new(Oneway::new(fabric, settings, Arc::clone(shared)))))
}

/// Whether there is anything in the folder of the pinned tables.
fn has_tables(pin: &Path) -> bool {
    std::fs::read_dir(pin).is_ok_and(|mut entries| entries.next().is_some())
}

/// Whether any listener hands connections over.
pub fn is_wanted(config: &Config) -> bool {
    config.listeners.iter().any(|listener| listener.delivery.one_way())
}

#[cfg(feature = "oneway")]
fn open_fabric(
    settings: &ready::Oneway,
    config: &Config,
    shared: &Shared,
) -> Result<Arc<dyn Fabric>> {
    Ok(front::open(settings, config.log.access.is_some(), shared.clock)?)
}

#[cfg(not(feature = "oneway"))]
fn open_fabric(_: &ready::Oneway, _: &Config, _: &Shared) -> Result<Arc<dyn Fabric>> {
    anyhow::bail!("this baton was built without one-way delivery")
}

impl Oneway {
    /// Over this kernel's side, which may have connections of a process before. Nothing runs yet.
    pub fn new(fabric: Arc<dyn Fabric>, settings: &ready::Oneway, shared: Arc<Shared>) -> Self {
        let targets_max = usize::try_from(settings.memos_max).unwrap_or(usize::MAX);
        let counters = fabric.counters();
        let verdicts = counters.iter().find(|(name, _)| *name == view::VERDICTS);
        Self {
            seen: Arc::new(Seen::since(verdicts.map_or(0, |(_, count)| *count))),
            terms: fabric.terms(),
            bridge: Arc::new(Bridge::new(fabric, targets_max)),
            routed: settings.network == ready::Network::Routed,
            panic_share: Mutex::default(),
            letters: Arc::default(),
            idle: settings.idle,
            posts: Arc::default(),
            events: Arc::default(),
            threads: Mutex::default(),
            shared,
        }
    }

    /// Gives a server its place in the kernel's tables. Called when it joins, the desk's lock held:
    /// before anybody can be told of it.
    pub fn place(&self, id: ServerId, server: &ready::Server, address: SocketAddr) {
        let agent = server.agent.as_deref().map(agent::client::authority);
        let agent = agent.and_then(|agent| agent.rsplit_once(':'));
        let agent_port = agent.and_then(|(_, port)| port.parse().ok()).unwrap_or(0);
        let (name, agent) = (server.name.clone(), server.agent.clone());
        self.bridge.tables().trust.place(id, Identity { name, address, agent });
        let wanted = Wanted { id, name: &server.name, address, agent_port };
        if !self.bridge.place(&wanted) {
            say(format_args!(
                "one way: server {} gets no connections handed over: there is no way to {address}, \
                 or no slot is left",
                server.name
            ));
        }
    }

    /// Takes note of what a configuration asks of servers: before their agents are asked.
    pub fn expect(&self, config: &Config) {
        let listeners = || config.listeners.iter().filter(|listener| listener.delivery.one_way());
        let vips = listeners().flat_map(|listener| listener.addresses.iter().copied());
        let fewer = self.bridge.tables().trust.expect(&vips.collect::<Vec<_>>());
        let moving = listeners().any(|listener| listener.delivery != Delivery::Handoff);
        self.letters.store(self.routed || moving, Ordering::Relaxed);
        *self.panic_share.lock().unwrap_or_else(PoisonError::into_inner) = config.panic_share;
        if fewer {
            self.take_back();
        }
    }

    /// Another epoch: no memo and no wheel of the one before is good any more.
    fn take_back(&self) {
        let share = *self.panic_share.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.ask.change(|edit| edit.set_panic_share(share));
    }

    /// Tells `events` from now on when a server is believed or doubted, or a program is missing.
    /// Once in a process.
    pub fn tell(&self, events: Events) {
        let fresh = self.events.set(events).is_ok();
        assert!(fresh, "events are told to one supervisor");
    }

    /// Takes over the listeners of a configuration in force.
    ///
    /// # Errors
    /// One sentence for the operator.
    pub fn apply(&self, config: &Config) -> Result<()> {
        let fabric = self.bridge.fabric();
        let mut wanted: BTreeMap<SocketAddr, Delivery> = BTreeMap::new();
        for listener in config.listeners.iter().filter(|listener| listener.delivery.one_way()) {
            wanted.extend(listener.addresses.iter().map(|at| (*at, listener.delivery)));
        }
        for gone in fabric.listening().into_iter().filter(|at| !wanted.contains_key(at)) {
            fabric.listen(gone, None).with_context(|| format!("cannot give {gone} up"))?;
        }
        for (address, delivery) in wanted {
            fabric
                .listen(address, Some(delivery))
                .with_context(|| format!("cannot take the connections of {address}"))?;
        }
        Ok(())
    }

    /// Connects the desk and starts the threads.
    ///
    /// # Errors
    /// The system's.
    pub fn start(self: &Arc<Self>) -> Result<()> {
        self.shared.ask.set_kernel(Some(Arc::clone(&self.bridge) as _));
        let reasons: Weak<Bridge> = Arc::downgrade(&self.bridge);
        self.shared.set_reasons(reasons);
        self.keeper().turn();
        let (notices, noticed) = sync_channel(NOTICES_MAX);
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = Vec::new();
        let mut spawn = |name: &str, work: Box<dyn FnOnce() + Send>| -> Result<()> {
            let thread = std::thread::Builder::new().name(name.to_owned());
            running.push(thread.spawn(work).with_context(|| format!("cannot start {name}"))?);
            Ok(())
        };
        let (asking, ended) = (self.asking(), Arc::clone(&stop));
        spawn("baton-asking", Box::new(move || asking.run(&ended)))?;
        let (shared, bridge, ended) =
            (Arc::clone(&self.shared), Arc::clone(&self.bridge), Arc::clone(&stop));
        spawn("baton-telling", Box::new(move || telling::run(&shared, &bridge, &ended)))?;
        let keeper = self.keeper();
        spawn("baton-keeper", Box::new(move || keeper.run(&noticed)))?;
        *self.threads() = Threads { stop, notices: Some(notices), running };
        Ok(())
    }

    /// Servers have changed: the kernel's rows follow soon.
    pub fn refresh(&self) {
        if let Some(notices) = &self.threads().notices {
            // A keeper with that many notices looks at the servers anyway.
            let _busy = notices.try_send(Notice::Servers);
        }
    }

    /// Takes nothing new and ends the threads. Connections that were handed over go on.
    pub fn stop(&self) {
        for address in self.bridge.fabric().listening() {
            if let Err(error) = self.bridge.fabric().listen(address, None) {
                say(format_args!("one way: {address} is still taken: {error}"));
            }
        }
        self.shared.ask.set_kernel(None);
        let threads = std::mem::take(&mut *self.threads());
        threads.stop.store(true, Ordering::Relaxed);
        drop(threads.notices);
        for thread in threads.running {
            if thread.join().is_err() {
                say("one way: a thread did not end well");
            }
        }
    }

    fn asking(&self) -> Asking {
        let (shared, bridge) = (Arc::clone(&self.shared), Arc::clone(&self.bridge));
        Asking { shared, bridge, seen: Arc::clone(&self.seen) }
    }

    fn keeper(&self) -> Keeper {
        let (shared, bridge) = (Arc::clone(&self.shared), Arc::clone(&self.bridge));
        let (seen, letters) = (Arc::clone(&self.seen), Arc::clone(&self.letters));
        let (posts, events) = (Arc::clone(&self.posts), Arc::clone(&self.events));
        let told = RefCell::default();
        Keeper { shared, bridge, seen, idle: self.idle, letters, told, posts, events }
    }

    /// A server is believed or doubted: what the kernel may repeat follows at once.
    fn turned(&self, turn: Option<Turn>) {
        let Some(turn) = turn else { return };
        if turn.ends_hand_overs() {
            self.take_back();
        }
        // A row that was as good as down gets connections again.
        self.keeper().align();
        let message = match &turn.to {
            Standing::Doubted(doubt @ Doubt::OtherAddress(vip)) => {
                format!("connections of {vip} are relayed, not handed over: {}", doubt.sentence())
            }
            Standing::Doubted(doubt) => {
                format!("connections are relayed, not handed over: {}", doubt.sentence())
            }
            Standing::Confirmed | Standing::Unchecked => {
                "its agent confirms that it takes connections over".to_owned()
            }
        };
        if let Some(events) = self.events.get() {
            events(Event {
                subject: format!("server {}", turn.server),
                from: turn.was().map(str::to_owned),
                to: Some(turn.to.name().to_owned()),
                message,
                ..Event::default()
            });
        }
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ear for Oneway {
    fn heard(&self, server: ServerId, report: &LoadReport) -> bool {
        let mut tables = self.bridge.tables();
        let turn = tables.trust.heard(server, &self.terms, report);
        let listed = tables.trust.borne_out(server);
        drop(tables);
        self.turned(turn);
        if let (Some(owned), Some(notices)) = (listed, &self.threads().notices) {
            // A keeper that is behind reconciles the next time.
            let _behind = notices.try_send(Notice::Owned(server, owned));
        }
        self.bridge.tables().trust.is_content(server)
    }

    fn silent(&self, server: ServerId, why: &str) {
        let turn = self.bridge.tables().trust.silent(server, why);
        self.turned(turn);
    }

    fn owned(&self, server: ServerId, owned: Owned) {
        self.bridge.tables().trust.listed(server, owned);
    }
}
