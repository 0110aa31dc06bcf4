//! The Web switch of the model: a desk with the policy under test, and a CPU that decisions and
//! packets pass through.

use super::cost::{LAN_DELAY, SEGMENT_BYTES, SwitchCost};
use super::setup::{Contender, Delivery, Layer, Setup};
use crate::Clerk;
use core::time::Duration;
use model::Station;
use policy::{Class, Instant, Outcome, Request, ServerId, Ticket};
use workload::visits::Object;

/// The switch.
pub(super) struct Switch {
    pub clerk: Clerk,
    pub cpu: Station,
    /// Its own card, which replies cross when it is a gateway.
    pub nic: Station,
    layer: Layer,
    cost: SwitchCost,
    delivery: Delivery,
}

impl Switch {
    pub fn new(setup: &Setup, contender: &Contender, seed: u64) -> Self {
        let names = (0..setup.servers).map(|server| format!("web{server}"));
        let clerk = Clerk::new(contender.build(), names, seed);
        Self {
            clerk,
            cpu: Station::default(),
            nic: Station::default(),
            layer: contender.layer,
            cost: setup.switch,
            delivery: setup.delivery,
        }
    }

    /// Whether a request other than the first of a page is decided on.
    pub fn decides_each(&self) -> bool {
        self.layer == Layer::SevenEach
    }

    /// A connection arrives: when the switch has seen what it wants to see of it.
    pub fn accept(&mut self, now: Instant) -> Instant {
        let demand = match (self.delivery, self.layer) {
            (Delivery::Gateway, _) => super::cost::GATEWAY,
            (_, Layer::Four) => self.cost.packet,
            (_, Layer::Seven | Layer::SevenEach) => self.cost.handoff,
        };
        self.cpu.enter(now, demand)
    }

    /// A further request of a connection passes: when it has.
    pub fn pass(&mut self, now: Instant) -> Instant {
        let demand = if self.decides_each() { self.cost.parse } else { self.cost.packet };
        self.cpu.enter(now, demand)
    }

    /// The client's acknowledgements of a reply pass, one for two segments; nobody waits for that.
    pub fn acknowledge(&mut self, now: Instant, bytes: u64) {
        let packets = bytes.div_ceil(2 * SEGMENT_BYTES);
        let demand_ns = self.cost.packet.as_nanos() as u64 * packets;
        self.cpu.enter(now, Duration::from_nanos(demand_ns));
    }

    /// Who serves; `None` when no server is up.
    pub fn assign(
        &mut self,
        now: Instant,
        object: &Object,
        holder: Option<ServerId>,
    ) -> Option<Ticket> {
        // Layer 4 decides before there is a request: every connection looks alike.
        let (target, class) = match self.layer {
            Layer::Four => (policy::TargetId(0), Class::STATIC),
            Layer::Seven | Layer::SevenEach => (object.target, object.class),
        };
        let request = Request { at: now, target, class, holder };
        self.clerk.assign(&request, &[]).map(|(_, ticket)| ticket)
    }

    /// When the request reaches the server, which another than `holder` has to be given it.
    pub fn hand_on(&mut self, now: Instant) -> Instant {
        self.cpu.enter(now, self.cost.again).plus(LAN_DELAY)
    }

    /// The work of a ticket is over.
    pub fn finish(&mut self, ticket: Ticket, at: Instant, ok: bool) {
        self.clerk.end(ticket, Outcome { at, ok, first_byte: None });
    }
}
