//! A cluster to be simulated: its nodes, its policy, its mechanism, its front-end.

use super::cost::{DistributedCost, FORWARD, ForwardCost, FrontCost, MoveCost};
use super::{Arrivals, CacheMirror, Script};
use core::fmt;
use model::{CachePolicy, Config};
use policy::{Admission, Charge, Instant, Params, Policy, TargetId};

/// What becomes of the requests of a connection after the first (USENIX 1999, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mechanism {
    /// The connection is handed to the node of its first request, which serves all.
    #[default]
    SingleHandoff,
    /// The connection is handed on to the node of each request.
    MultipleHandoff,
    /// The node that has the connection fetches from the node of each request.
    Forwarding,
    /// The front-end has persistent connections to all nodes and relays requests and replies.
    Relaying,
    /// The front-end joins the client's connection to one of its own to the node of the first
    /// request (TCP splicing); all bytes pass the front-end.
    Splicing,
    /// As multiple hand-off, without any cost.
    Ideal,
}

/// Where the policy comes from.
#[derive(Clone)]
pub enum Chooser {
    /// A row of [`policy::POLICIES`] with its parameters.
    Row(&'static policy::Entry, Params),
    /// LB/GC of ASPLOS 1998, see [`super::CacheMirror`].
    CacheMirror,
}

impl fmt::Debug for Chooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(entry, params) => write!(f, "{} {params:?}", entry.name),
            Self::CacheMirror => f.write_str("lb-gc"),
        }
    }
}

impl Chooser {
    /// The policy called `name` with the papers' parameters; `lb-gc` is the mirror.
    pub fn named(name: &str) -> Option<Self> {
        if name == "lb-gc" {
            return Some(Self::CacheMirror);
        }
        let entry = policy::entry(name)?;
        Some(Self::Row(entry, Params::new(entry.params)))
    }

    pub(super) fn build(&self, node: &Config, script: &Script) -> Box<dyn Policy> {
        match self {
            Self::Row(entry, params) => (entry.build)(params),
            Self::CacheMirror => {
                Box::new(CacheMirror::new(node.cache_policy, node.cache_bytes, script.targets()))
            }
        }
    }
}

/// How many connections are let in at once.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// LARD's S (ASPLOS 1998).
    Admission(Admission),
    /// So many for each node that is up.
    PerNode(u32),
}

/// What nodes tell the desk of their disks' queues, for extended LARD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    /// Nothing.
    None,
    /// What is true when the question is asked.
    #[default]
    Exact,
    /// What was true when the node's last reply ended: such news ride on the control sessions.
    PiggyBacked,
}

/// A node goes down or comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub at: Instant,
    /// Which node, from 0.
    pub node: u16,
    /// What happens to it.
    pub kind: FaultKind,
}

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It stops with all it has; the desk is told at once.
    Down,
    /// It comes back with a cold cache.
    Up,
}

/// What becomes of the connections of a node that went down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// They go on elsewhere with the request that was not answered.
    #[default]
    Retry,
    /// They are lost, with the requests still to come.
    Fail,
}

/// A cluster to be simulated.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How many nodes.
    pub nodes: u16,
    /// What each is.
    pub node: Config,
    /// Who chooses.
    pub chooser: Chooser,
    /// What becomes of later requests.
    pub mechanism: Mechanism,
    /// What the front-end's CPU spends; nothing in the papers' simulators.
    pub front: FrontCost,
    /// What it costs when the nodes are the front-end together, with a dispatcher (USENIX 2000);
    /// `None` for a single front-end.
    pub distributed: Option<DistributedCost>,
    /// What handing a connection on costs the nodes.
    pub moving: MoveCost,
    /// What fetching costs the node that is fetched from.
    pub forward: ForwardCost,
    /// Whether a node fetches from another's memory what it would have to read, at the costs of
    /// [`Setup::forward`], and keeps no copy: WRR/GMS of ASPLOS 1998, with an idealised global
    /// memory.
    pub global_memory: bool,
    /// When connections enter.
    pub arrivals: Arrivals,
    /// What the desk learns of disks.
    pub reports: Reports,
    /// How a batch is charged.
    pub charge: Charge,
    /// Connections below which a node counts as under-utilised.
    pub idle_below: u32,
    /// Share of the connections that enter before anything is measured, 0 to 1.
    pub warm_up: f64,
    /// Whether the end counts, when no more connections enter and nodes run empty.
    pub tail: bool,
    /// What happens to nodes, in order of time.
    pub faults: Vec<Fault>,
    /// What that does to connections.
    pub loss: Loss,
    /// The same seed gives the same run.
    pub seed: u64,
}

impl Setup {
    /// The simulator of ASPLOS 1998: 32 MB of cache under Greedy-Dual-Size, S of the paper.
    pub fn asplos(nodes: u16, chooser: Chooser) -> Self {
        let cpu = model::CpuCost::ASPLOS;
        let node = Config { cpu, cache_bytes: super::cost::CACHE_ASPLOS, ..Config::default() };
        let limit = Limit::Admission(Admission::new(Some(25), Some(65), Default::default()));
        Self {
            nodes,
            node,
            chooser,
            mechanism: Mechanism::SingleHandoff,
            front: FrontCost::FREE,
            distributed: None,
            moving: MoveCost::of(&cpu),
            forward: FORWARD,
            global_memory: false,
            arrivals: Arrivals::Closed(limit),
            reports: Reports::Exact,
            charge: Charge::PerRequest,
            idle_below: super::cost::IDLE_BELOW_ASPLOS,
            warm_up: 0.0,
            tail: false,
            faults: Vec::new(),
            loss: Loss::Retry,
            seed: 1,
        }
    }

    /// The simulator of USENIX 1999: 85 MB of cache and servers of the cost set `cpu`.
    pub fn phttp(nodes: u16, cpu: model::CpuCost, chooser: Chooser) -> Self {
        let mut setup = Self::asplos(nodes, chooser);
        setup.node = Config { cpu, ..Config::default() };
        setup.moving = MoveCost::of(&cpu);
        setup.arrivals = Arrivals::Closed(Limit::PerNode(super::cost::CONNECTIONS_PER_NODE));
        setup.idle_below = super::cost::IDLE_BELOW_PHTTP;
        setup
    }

    /// The same with caches under `policy`.
    #[must_use]
    pub fn with_cache(mut self, policy: CachePolicy) -> Self {
        self.node.cache_policy = policy;
        self
    }
    /// What the policy knows a target by: with a dispatcher, 32 bits of its hash.
    #[inline]
    pub(super) fn known_as(&self, target: TargetId) -> TargetId {
        if self.distributed.is_some() { TargetId(target.0 & 0xffff_ffff) } else { target }
    }

    /// Whether later requests are a question to a dispatcher: not where the holder serves all.
    pub(super) fn asks_dispatcher(&self) -> bool {
        let sticks = matches!(self.mechanism, Mechanism::SingleHandoff | Mechanism::Splicing);
        self.distributed.is_some() && !sticks
    }
}
