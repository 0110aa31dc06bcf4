//! What a run of a site is given: the cluster, the policy, and how long.

use super::cost;
use core::time::Duration;
use model::CpuCost;
use policy::{Class, Policy, Value};
use workload::draw::Draw;
use workload::visits::Mix;

/// A cluster and how long it is watched.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Web servers, all alike, at least one.
    pub servers: usize,
    /// What a server's CPU charges for connections, requests and bytes.
    pub machine: CpuCost,
    /// What requests of each class ask beyond that, by [`Class::index`].
    pub demands: [Demand; 5],
    /// CPU of the key exchange of a session's first secure page.
    pub key_exchange: Duration,
    /// Whether each server has a replica of the database behind it, with a disk of its own. If
    /// not, queries read the server's disk.
    pub replica: bool,
    /// Each server's cache, as a share of the site's bytes.
    pub cache_share: f64,
    /// How replies reach the client.
    pub delivery: Delivery,
    /// What the switch's CPU charges.
    pub switch: cost::SwitchCost,
    /// How often servers report to the switch.
    pub gather: Duration,
    /// Over which spans the least and the most utilised server are looked at.
    pub watch: Duration,
    /// Nothing is measured before. In its first half users come half as often: a cluster with
    /// empty caches under full load is another experiment, from which LARD on utilisation does
    /// not recover, since targets move before they are read.
    pub warm_up: Duration,
    /// Users come for this long after; then what is there is finished.
    pub span: Duration,
    /// Servers that fail.
    pub faults: Vec<Fault>,
    /// The set-up of the live switch, in place of the papers' machines; `None` for these.
    pub live: Option<Live>,
}

/// The live switch before emulated servers, on paper: what the papers' set-ups have otherwise.
///
/// A server is the node that an emulated server runs, so that the constants are those. A browser
/// keeps several connections from page to page and asks for the page first, then for all that is
/// in it. Each request is decided by itself and relayed over connections that are kept. No network
/// and no switch is modelled but a delay: machine, demands, cache share, delivery and the switch's
/// costs of [`Setup`] do not count, and users come at their full rate from the beginning.
#[derive(Clone, Debug)]
pub struct Live {
    /// What each server is.
    pub node: model::Config,
    /// Connections of a browser, at least 1.
    pub connections: usize,
    /// What client, switch and sockets add to each request, in the time of the model.
    pub delay: Duration,
    /// Seed of the arrivals' dice: the client's own, so that the same users come at the same time.
    pub arrivals_seed: u64,
}

/// Who comes, and what for.
#[derive(Clone, Copy, Debug)]
pub struct Audience {
    /// What users do and ask for.
    pub mix: Mix<'static>,
    /// Between the arrivals of users, in seconds.
    pub gap: Draw,
}

/// How replies reach the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Straight from each server's card: the way out is wide (CAP).
    OneWay,
    /// From the server over one Ethernet that all share (ClubWeb's LAN).
    OneWayShared,
    /// Through the switch at user level, over its own card (ClubWeb's TCP gateway).
    Gateway,
}

/// What a request of a class asks of a server, beyond [`CpuCost`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// CPU before the answer.
    pub cpu: Duration,
    /// Pages of the database that are read, one after the other.
    pub queries: u32,
    /// The share of its files that may be kept in the cache.
    pub cacheable: f64,
}

impl Demand {
    /// A file.
    pub const FILE: Self = Self { cpu: Duration::ZERO, queries: 0, cacheable: 1.0 };
    /// A file that a little computation fills in. Of these documents 0.3 may be cached: published
    /// (WWW10 2001); that it is a property of the document, not of the request, is our reading.
    pub const LIGHT: Self =
        Self { cpu: model::cost::LIGHT_CPU, cacheable: model::cost::LIGHT_CACHEABLE, ..Self::FILE };

    /// A program that needs so much CPU and reads the database so many times.
    pub const fn program(cpu: Duration, queries: u32) -> Self {
        Self { cpu, queries, cacheable: 0.0 }
    }

    /// CAP's classes, in the order of [`Class::NAMES`], with queries of so many accesses. Its CPU
    /// bound requests are files over a secure channel, which costs what it costs.
    pub const fn cap(accesses: u32) -> [Self; 5] {
        let query = Self::program(model::cost::LIGHT_CPU, accesses);
        [Self::FILE, Self::LIGHT, Self::FILE, query, query]
    }

    /// That of `class`, among those of all classes.
    pub(super) fn of(demands: &[Self; 5], class: Class) -> Self {
        demands.get(class.index()).copied().unwrap_or(Self::FILE)
    }
}

/// A server that fails, with all that it was doing, and comes back with an empty cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which.
    pub server: u16,
    /// When, from the beginning of the run.
    pub at: Duration,
    /// For how long.
    pub lasts: Duration,
}

/// A policy in the way the papers ran it.
#[derive(Clone, Debug)]
pub struct Contender {
    /// The name of its curve.
    pub curve: &'static str,
    /// Its row of [`policy::POLICIES`].
    pub policy: &'static str,
    /// Parameters that differ from the row's defaults.
    pub set: Vec<(&'static str, Value)>,
    /// What the switch looks at.
    pub layer: Layer,
}

/// What a switch looks at, and so how often it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Packets: it decides once a connection, knowing nothing of what will be asked.
    Four,
    /// The first request of a connection, and so of a page: HTML and objects are served together.
    Seven,
    /// Every request; the connection is handed on when the answer differs (multiple hand-off).
    SevenEach,
}

impl Contender {
    /// The policy with its defaults.
    pub const fn new(curve: &'static str, policy: &'static str, layer: Layer) -> Self {
        Self { curve, policy, set: Vec::new(), layer }
    }

    /// With another value of a parameter.
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.set.push((name, value));
        self
    }

    /// The policy's object.
    ///
    /// # Panics
    /// When there is no such policy or parameter: contenders are written in this crate.
    pub(super) fn build(&self) -> Box<dyn Policy> {
        let entry = policy::entry(self.policy).expect("a contender names a row of POLICIES");
        let mut params = policy::Params::new(entry.params);
        for (name, value) in &self.set {
            params.set(name, value.clone()).expect("a contender sets what its row declares");
        }
        (entry.build)(&params)
    }
}
