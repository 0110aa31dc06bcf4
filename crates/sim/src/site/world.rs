//! What visitors share: servers, switch, LAN, and the books of the run.

use super::cost::{ETHERNET_BITS_S, at_rate};
use super::farm::Farm;
use super::outcome::{Outcome, Spread};
use super::server::{Busy, Server};
use super::setup::{Audience, Contender, Delivery, Setup};
use super::switch::Switch;
use super::transfer::Burst;
use core::time::Duration;
use model::Station;
use policy::{Class, Instant, ServerId, State, TargetId, Ticket};
use workload::visits::{Object, Visits};

/// Everything but the visitors.
pub(super) struct World {
    pub setup: Setup,
    pub audience: Audience,
    pub visits: Visits,
    pub switch: Switch,
    pub outcome: Outcome,
    servers: Vec<Server>,
    /// The servers of the live set-up, in their place.
    farm: Option<Farm>,
    /// The Ethernet that all replies cross, where one is shared.
    lan: Station,
    /// How busy each server and the switch had been when measuring began.
    before: (Vec<Busy>, Duration),
    /// The same at the last look at the spread.
    seen: Vec<Busy>,
    evicted: Vec<TargetId>,
}

impl World {
    pub fn new(setup: Setup, audience: Audience, contender: &Contender, seed: u64) -> Self {
        let visits = Visits::new(&audience.mix, seed);
        let cache_bytes = (visits.site_bytes() as f64 * setup.cache_share) as u64;
        let switch = Switch::new(&setup, contender, seed);
        let servers: Vec<_> = (0..setup.servers).map(|_| Server::new(cache_bytes)).collect();
        let outcome =
            Outcome { span: setup.span, given: vec![[0; 5]; setup.servers], ..Outcome::default() };
        Self {
            farm: setup.live.as_ref().map(|live| Farm::new(live, setup.servers)),
            before: (vec![Busy::default(); setup.servers], Duration::ZERO),
            seen: vec![Busy::default(); setup.servers],
            setup,
            audience,
            visits,
            switch,
            outcome,
            servers,
            lan: Station::default(),
            evicted: Vec::new(),
        }
    }

    /// The servers of the live set-up.
    pub fn farm(&mut self) -> &mut Farm {
        self.farm.as_mut().expect("only events of the live set-up ask for them")
    }

    /// What client and switch of the live set-up add to a request.
    pub fn delay(&self) -> Duration {
        self.setup.live.as_ref().map_or(Duration::ZERO, |live| live.delay)
    }

    /// The connections of a browser there.
    pub fn connections(&self) -> usize {
        self.setup.live.as_ref().map_or(1, |live| live.connections)
    }

    /// A reply of the live set-up is whole.
    pub fn answered(&mut self, now: Instant, ticket: Ticket, hit: bool, bytes: u64) {
        self.switch.finish(ticket, now, true);
        if self.is_measured(now) {
            self.outcome.lookups += 1;
            self.outcome.hits += u64::from(hit);
            self.outcome.bytes += bytes;
        }
    }

    /// How busy every server has been.
    fn busy(&self, now: Instant) -> Vec<Busy> {
        let Some(farm) = &self.farm else {
            return self.servers.iter().map(|server| server.busy(now)).collect();
        };
        let of = |server| Busy::of(farm.busy(server, now));
        (0..self.setup.servers).map(of).collect()
    }

    pub fn server(&mut self, id: ServerId) -> &mut Server {
        &mut self.servers[id.index()]
    }

    /// A server gets a connection; `begins` a page of that class, or goes on with one.
    pub fn open(&mut self, id: ServerId, class: Class, begins: bool) {
        self.servers[id.index()].active += 1;
        if begins && let Some(count) = self.outcome.given[id.index()].get_mut(class.index()) {
            *count += 1;
        }
    }

    /// A server gives up a connection.
    pub fn close(&mut self, now: Instant, id: ServerId) {
        let server = &mut self.servers[id.index()];
        server.active -= 1;
        server.cpu.enter(now, self.setup.machine.close);
    }

    /// The file was read: the cache keeps it.
    pub fn keep(&mut self, id: ServerId, object: &Object) {
        self.servers[id.index()].keep(object.target, object.bytes, &mut self.evicted);
    }

    /// A burst crosses what lies between a server's card and the client, if anything does.
    pub fn cross(&mut self, now: Instant, wire_bytes: u64) -> Option<Instant> {
        let demand = at_rate(wire_bytes * 8, ETHERNET_BITS_S);
        match self.setup.delivery {
            Delivery::OneWay => None,
            Delivery::OneWayShared => Some(self.lan.enter(now, demand)),
            Delivery::Gateway => Some(self.switch.nic.enter(now, demand)),
        }
    }

    /// A burst has reached the client.
    pub fn count_sent(&mut self, now: Instant, burst: &Burst) {
        if self.is_measured(now) {
            self.outcome.bytes += burst.bytes;
            self.outcome.wire_bytes += burst.wire_bytes;
        }
    }

    /// Whether that was while it is measured.
    pub fn is_measured(&self, at: Instant) -> bool {
        let since = at.since(Instant::ZERO);
        since >= self.setup.warm_up && since < self.setup.warm_up + self.setup.span
    }

    /// Every server that is up says how it is; those of the live set-up are not asked.
    pub fn gather(&mut self, now: Instant) {
        if self.farm.is_some() {
            return;
        }
        for (server, slot) in self.servers.iter_mut().zip(0..) {
            let id = ServerId(slot);
            if self.switch.clerk.cluster().is_usable(id) {
                let report = server.report(now);
                self.switch.clerk.report(id, report);
            }
        }
    }

    /// Notes the least and the most utilised server since the last look.
    pub fn look(&mut self, now: Instant) {
        let mut spread =
            Spread { at: now.since(Instant::ZERO), min: f64::INFINITY, mean: 0.0, max: 0.0 };
        let busy = self.busy(now);
        for (busy, seen) in busy.into_iter().zip(&mut self.seen) {
            let share = busy.over(seen, self.setup.watch).busiest();
            *seen = busy;
            spread.min = spread.min.min(share);
            spread.max = spread.max.max(share);
            spread.mean += share / self.setup.servers as f64;
        }
        self.outcome.spread.push(spread);
    }

    /// Measuring begins.
    pub fn begin(&mut self, now: Instant) {
        self.before.0 = self.busy(now);
        self.before.1 = self.switch.cpu.busy(now);
    }

    /// Measuring ends.
    pub fn end(&mut self, now: Instant) {
        let span = self.setup.span;
        let busy = self.busy(now);
        let servers = busy.iter().zip(&self.before.0);
        self.outcome.servers = servers.map(|(busy, before)| busy.over(before, span)).collect();
        let switch = self.switch.cpu.busy(now).saturating_sub(self.before.1);
        self.outcome.switch = switch.as_secs_f64() / span.as_secs_f64();
    }

    /// The last user has left, for now at least.
    pub fn close_books(&mut self, now: Instant) {
        let servers = self.switch.clerk.cluster().servers();
        self.outcome.load = servers.map(|server| server.load_mean(Instant::ZERO, now)).sum();
        self.outcome.drained = now.since(Instant::ZERO);
    }

    /// A server fails: it loses all it had.
    pub fn fail(&mut self, id: ServerId) {
        self.switch.clerk.set_state(id, State::Down);
    }

    /// A server is back, with an empty cache and nothing to do.
    pub fn restore(&mut self, now: Instant, id: ServerId) {
        self.servers[id.index()].restart(now);
        (self.before.0[id.index()], self.seen[id.index()]) = (Busy::default(), Busy::default());
        self.switch.clerk.set_state(id, State::Up);
    }

    /// Asserts that nothing is left to do: what began has ended, on every book.
    pub fn assert_empty(&self, now: Instant) {
        assert_eq!(self.switch.clerk.cluster().total(), policy::Load::ZERO, "loads end");
        let idle = self.servers.iter().all(|server| server.is_idle(now))
            && self.farm.as_ref().is_none_or(Farm::is_idle);
        assert!(idle, "no server has work when every visitor has left");
    }
}
