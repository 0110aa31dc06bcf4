//! The simulation: what is due next happens, until nothing is due.
//!
//! Connections are numbered places, events 16 bytes; nothing is allocated for a request. The way of
//! a connection is in `journey`, what happens when nodes fail in `faults`.

use super::connection::{Connections, Stage};
use super::distributed::{Distributor, Middle};
use super::meter::{Meter, NodeMeter, Signed};
use super::report::{NodeReport, Report, Totals};
use super::script::Script;
use super::setup::{Limit, Setup};
use super::{Arrivals, FaultKind};
use crate::Clerk;
use core::time::Duration;
use model::{Agenda, Calendar, Node, Station, Wake};
use policy::{Desk, Dice, Instant, Load, ServerId};

/// What may be due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A node's own, if it still lives the life in which it was due.
    Node { node: u16, life: u16, wake: Wake },
    /// A connection's stage ends, if it is still that one.
    Stage { place: u32, turn: u32 },
    /// A distributor's message reaches the dispatcher, if its node still lives the same life.
    Asked { node: u16, life: u16 },
    /// The dispatcher has decided its oldest message.
    Dispatched,
    /// Somebody comes.
    Arrival,
    /// The fault with this number.
    Fault(u32),
}

/// A node in the cluster.
pub(super) struct Member {
    pub(super) node: Node,
    /// Counts its lives: news of an earlier one are void.
    pub(super) life: u16,
    pub(super) distributor: Distributor,
    pub(super) meter: NodeMeter,
}

/// A cluster at work.
pub struct Engine<'a> {
    pub(super) setup: &'a Setup,
    pub(super) script: &'a Script,
    pub(super) clerk: Clerk,
    pub(super) members: Vec<Member>,
    pub(super) front: Station,
    pub(super) middle: Middle,
    pub(super) calendar: Calendar<Event>,
    pub(super) agenda: Agenda,
    pub(super) connections: Connections,
    /// The connection of the script that enters next.
    pub(super) next: usize,
    /// How many may be open at once, where one enters as another leaves.
    pub(super) limit: usize,
    /// Places of connections that no node is up for.
    pub(super) stalled: Vec<u32>,
    pub(super) meter: Meter,
    pub(super) totals: Totals,
    pub(super) dice: Dice,
    pub(super) now: Instant,
    /// The connection at whose entry the measurement begins.
    warm_at: usize,
    /// When the last connection left.
    pub(super) last: Instant,
    /// What was measured, once the measurement has ended.
    frozen: Option<Report>,
}

impl<'a> Engine<'a> {
    /// A cluster at rest, everything cold.
    pub fn new(setup: &'a Setup, script: &'a Script) -> Self {
        let policy = setup.chooser.build(&setup.node, script);
        let names = (0..setup.nodes).map(|number| format!("node-{number}"));
        let clerk = Clerk::new(policy, names, setup.seed);
        let member = || Member {
            node: Node::new(setup.node.clone()),
            life: 0,
            distributor: Distributor::default(),
            meter: NodeMeter::default(),
        };
        let warm_at = (setup.warm_up.clamp(0.0, 1.0) * script.connections() as f64) as usize;
        let mut engine = Self {
            setup,
            script,
            clerk,
            members: (0..setup.nodes).map(|_| member()).collect(),
            front: Station::default(),
            middle: Middle::default(),
            calendar: Calendar::default(),
            agenda: Agenda::default(),
            connections: Connections::default(),
            next: 0,
            limit: 0,
            stalled: Vec::new(),
            meter: Meter::default(),
            totals: Totals::default(),
            dice: Dice::new(setup.seed ^ 0x5eed),
            now: Instant::ZERO,
            warm_at,
            last: Instant::ZERO,
            frozen: None,
        };
        engine.begin();
        engine
    }

    fn begin(&mut self) {
        for (number, fault) in (0..).zip(&self.setup.faults) {
            self.calendar.enter(fault.at, Event::Fault(number));
        }
        self.set_limit();
        match self.setup.arrivals {
            Arrivals::Closed(_) => self.fill(),
            _ => self.expect_arrival(),
        }
    }

    /// Lets the next thing happen; false when there is none.
    pub fn step(&mut self) -> bool {
        let Some((at, event)) = self.calendar.pop(Instant::NEVER) else {
            self.abandon();
            return false;
        };
        self.now = at;
        match event {
            Event::Node { node, life, wake } => self.node_step(node, life, wake),
            Event::Stage { place, turn } => self.stage_over(place, turn),
            Event::Asked { node, life } => self.asked(node, life),
            Event::Dispatched => self.dispatched(),
            Event::Arrival => {
                self.enter();
                self.expect_arrival();
            }
            Event::Fault(number) => {
                let fault = self.setup.faults[number as usize];
                match fault.kind {
                    FaultKind::Down => self.node_down(fault.node),
                    FaultKind::Up => self.node_up(fault.node),
                }
            }
        }
        true
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The desk, to read.
    pub fn desk(&self) -> &Desk {
        self.clerk.desk()
    }

    /// What the books must come to: what each open connection is charged.
    ///
    /// # Panics
    /// When they do not, or a count is wrong: for tests, after any step.
    pub fn audit(&self) {
        let held = self.connections.iter().filter_map(|(_, connection)| connection.held.as_ref());
        let charged = held.clone().map(policy::Held::charged).fold(Load::ZERO, Load::plus);
        assert_eq!(self.clerk.cluster().total(), charged, "the books are what connections hold");
        let mut open = vec![0_u32; self.members.len()];
        held.for_each(|held| open[held.holder().index()] += 1);
        let counted: Vec<_> =
            self.members.iter().map(|member| member.meter.connections()).collect();
        assert_eq!(counted, open, "a node has the connections that name it as their holder");
        let inside = self.totals.entered - self.totals.left;
        assert_eq!(
            inside,
            self.connections.len() as u64,
            "who entered and did not leave is inside"
        );
        for (place, connection) in self.connections.iter() {
            let held = connection.held.is_some();
            let outside =
                matches!(connection.stage, Stage::Switching | Stage::Accepting | Stage::Stalled);
            let either = connection.stage == Stage::Questioning;
            assert!(held != outside || either, "{place} is {:?}, held: {held}", connection.stage);
        }
    }

    /// What came of it; before the end, what came of it so far.
    pub fn report(&self) -> Report {
        let report = self.frozen.clone().unwrap_or_else(|| self.measure(self.last));
        Report { totals: self.totals, ..report }
    }

    /// Lets connections in as far as the limit allows.
    pub(super) fn fill(&mut self) {
        while self.connections.len() < self.limit && self.next < self.script.connections() {
            self.enter();
        }
    }

    fn expect_arrival(&mut self) {
        if self.next < self.script.connections()
            && let Some(gap) = self.setup.arrivals.gap(&mut self.dice)
        {
            self.calendar.enter(self.now.plus(gap), Event::Arrival);
        }
    }

    fn enter(&mut self) {
        if self.next == self.warm_at {
            self.begin_measuring();
        }
        let place = self.connections.open(self.script.connection(self.next), self.now);
        self.next += 1;
        self.totals.entered += 1;
        self.accept(place);
        if self.next == self.script.connections() && !self.setup.tail {
            self.frozen = Some(self.measure(self.now));
        }
    }

    /// How many may be open, after the nodes that are up have changed.
    pub(super) fn set_limit(&mut self) {
        let cluster = self.clerk.cluster();
        self.limit = match self.setup.arrivals {
            Arrivals::Closed(Limit::PerNode(count)) => count as usize * cluster.usable().len(),
            Arrivals::Closed(Limit::Admission(admission)) => {
                (admission.limit(cluster).0 / Load::ONE.0) as usize
            }
            // Who leaves makes no room for anybody.
            Arrivals::Poisson(_) | Arrivals::Every(_) => 0,
        };
    }

    /// Puts what a node gave rise to into the calendar.
    #[inline]
    pub(super) fn schedule(&mut self, id: ServerId) {
        let (node, life) = (id.0, self.members[id.index()].life);
        for (at, wake) in self.agenda.wakes.drain(..) {
            self.calendar.enter(at, Event::Node { node, life, wake });
        }
    }

    fn node_step(&mut self, node: u16, life: u16, wake: Wake) {
        let member = &mut self.members[usize::from(node)];
        if member.life != life {
            return;
        }
        member.node.step(self.now, wake, &mut self.agenda);
        self.schedule(ServerId(node));
        if self.agenda.parts.is_empty() {
            return;
        }
        // Taken out, for what follows may admit requests, which gives no parts but needs the rest.
        let mut parts = core::mem::take(&mut self.agenda.parts);
        for part in parts.drain(..) {
            self.part(part);
        }
        self.agenda.parts = parts;
    }

    fn begin_measuring(&mut self) {
        let (layer4_busy, dispatcher_busy) = self.middle_busy(self.now);
        (self.middle.questions, self.middle.batches) = (0, 0);
        self.meter = Meter {
            since: self.now,
            front_busy: self.front.busy(self.now),
            layer4_busy,
            dispatcher_busy,
            ..Meter::default()
        };
        for member in &mut self.members {
            member.meter.begin(self.now);
            member.meter.cpu_before = signed(member.node.cpu().busy(self.now));
            member.meter.disk_before = signed(member.node.disk_busy(self.now));
        }
    }

    fn measure(&self, until: Instant) -> Report {
        let span = until.since(self.meter.since);
        let seconds = span.as_secs_f64().max(1e-9);
        let nodes: Vec<_> =
            self.members.iter().map(|member| self.measure_node(member, until, span)).collect();
        let served = self.meter.hits + self.meter.misses + self.meter.coalesced + self.meter.unkept;
        let open_means = nodes.iter().map(|node| node.open_mean);
        let open_mean = open_means.clone().sum::<f64>() / nodes.len().max(1) as f64;
        let open_max = open_means.fold(0.0, f64::max);
        let idle = nodes.iter().map(|node| node.idle).sum::<f64>() / nodes.len().max(1) as f64;
        let meter = &self.meter;
        let mean_ns = meter.open_ns.checked_div(u128::from(meter.left)).unwrap_or(0);
        let (layer4, dispatcher) = self.middle_busy(until);
        let front_busy = self.front.busy(until).saturating_sub(meter.front_busy);
        Report {
            span,
            answered: meter.answered,
            throughput_rps: meter.answered as f64 / seconds,
            miss_ratio: (served - meter.hits) as f64 / served.max(1) as f64,
            coalesced: meter.coalesced,
            unkept: meter.unkept,
            delay_mean: meter.delays.mean(),
            delay_p50: meter.delays.least(0.5),
            delay_p90: meter.delays.least(0.9),
            delay_p99: meter.delays.least(0.99),
            connections: meter.left,
            open_mean: Duration::from_nanos(u64::try_from(mean_ns).unwrap_or(u64::MAX)),
            handed: meter.handed,
            moved: meter.moved,
            forwarded: meter.forwarded,
            front: front_busy.as_secs_f64() / seconds,
            layer4: layer4.saturating_sub(meter.layer4_busy).as_secs_f64() / seconds,
            dispatcher: dispatcher.saturating_sub(meter.dispatcher_busy).as_secs_f64() / seconds,
            batch_mean: self.middle.questions as f64 / self.middle.batches.max(1) as f64,
            idle,
            imbalance: if open_mean > 0.0 { open_max / open_mean } else { 1.0 },
            nodes,
            totals: self.totals,
        }
    }

    fn measure_node(&self, member: &Member, until: Instant, span: Duration) -> NodeReport {
        let mut meter = member.meter.clone();
        meter.count(until, self.setup.idle_below);
        let (open_mean, idle) = meter.means(span);
        let share = |busy: Duration, before: Signed| {
            (signed(busy) - before) as f64 / (span.as_nanos() as f64).max(1.0)
        };
        NodeReport {
            cpu: share(member.node.cpu_busy(until), meter.cpu_before),
            disk: share(member.node.disk_busy(until), meter.disk_before),
            open_mean,
            idle,
            requests: meter.requests,
            reads: meter.reads,
        }
    }
}

/// A span as a number that may become negative.
pub(super) fn signed(span: Duration) -> Signed {
    Signed::try_from(span.as_nanos()).unwrap_or(Signed::MAX)
}
