//! A user on the site: fetches a page over one connection, request after request, and thinks.
//!
//! Each visitor has one step due at any time; [`Visitor::advance`] takes it and says when the next
//! one is. The stages are those of the HTTP process that serves the connection.

use super::cost::{
    CERTIFICATE_BYTES, CONNECTION_EXTRA_BYTES, HEAD_BYTES, HELLO_BYTES, KEY_EXCHANGE_TRIPS,
    LAN_DELAY, RESUME_TRIPS, cipher,
};
use super::setup::Demand;
use super::transfer::{Burst, Transfer, Window, wait_for_ack};
use super::world::World;
use core::time::Duration;
use policy::{Instant, ServerId, Ticket};
use workload::visits::{Object, Visit};

/// From the click to the request's arrival at the switch: a handshake, and one way.
const CALL: Duration = Duration::from_nanos(3 * LAN_DELAY.as_nanos() as u64);

/// A user.
#[derive(Debug)]
pub(super) struct Visitor {
    visit: Visit,
    /// Which of its pages is being fetched, or comes next.
    page: usize,
    /// Whether the session's keys have been exchanged.
    has_keys: bool,
    stage: Stage,
    /// Distinguishes steps that are due from those of a connection that broke.
    pub serial: u64,
    /// Which of the page's objects is being fetched.
    turn: usize,
    ticket: Option<Ticket>,
    window: Window,
    transfer: Transfer,
    /// Of the connection's beginning, to be sent with the first reply.
    extra_bytes: u64,
    began: Instant,
}

/// What is over when the next step is due.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Thinking, and the new connection's way to the switch.
    Away,
    /// The switch looking at the request.
    Switching,
    /// The switch handing the connection on, or nothing when it stays: the request has arrived.
    Arriving,
    /// The CPU reading the request and working out the answer.
    Computing,
    /// One read of the database; so many are to come.
    Querying(u32),
    /// Reading the file.
    Reading,
    /// Copying it through the memory.
    Copying,
    /// The CPU sending a burst.
    Preparing(Burst),
    /// The card sending it.
    Sending(Burst),
    /// The LAN, or the gateway's card, carrying it.
    Crossing(Burst),
    /// The first acknowledgement of a burst on its way.
    Waiting,
    /// The reply's last byte on its way to the client, and the next request on its way back.
    Returning,
    /// The page's last byte on its way.
    Completing,
}

/// What follows a step.
pub(super) enum Next {
    /// Another one, then.
    At(Instant),
    /// The user has left.
    Gone,
}

impl Visitor {
    /// The user with this number, who comes at `now`, and when the first step is due.
    pub fn new(number: u64, serial: u64, world: &World, now: Instant) -> (Self, Instant) {
        let mut visit = Visit::default();
        world.visits.visit(number, &mut visit);
        let visitor = Self {
            visit,
            page: 0,
            has_keys: false,
            stage: Stage::Away,
            serial,
            turn: 0,
            ticket: None,
            window: Window::default(),
            transfer: Transfer::default(),
            extra_bytes: 0,
            began: now,
        };
        (visitor, now.plus(CALL))
    }

    /// Who serves the page, once that is decided.
    pub fn holder(&self) -> Option<ServerId> {
        self.ticket.as_ref().map(|ticket| ticket.server)
    }

    /// Takes the step that is due.
    pub fn advance(&mut self, now: Instant, world: &mut World) -> Next {
        let (stage, at) = match self.stage {
            Stage::Away => (Stage::Switching, self.call(now, world)),
            Stage::Switching => match self.choose(now, world) {
                Some(at) => (Stage::Arriving, at),
                None => return self.leave_page(now, world, |pages| &mut pages.refused),
            },
            Stage::Arriving => (Stage::Computing, self.arrive(now, world)),
            Stage::Computing => self.look_up(now, world),
            Stage::Querying(left @ 1..) => (Stage::Querying(left - 1), self.query(now, world)),
            Stage::Reading => {
                self.keep(world);
                (Stage::Copying, self.copy(now, world))
            }
            Stage::Querying(0) => (Stage::Copying, self.copy(now, world)),
            Stage::Copying => {
                self.transfer = Transfer::new(self.object().bytes + HEAD_BYTES, self.is_secure());
                self.prepare(now, world)
            }
            Stage::Preparing(burst) => (Stage::Sending(burst), self.send(now, &burst, world)),
            Stage::Sending(burst) => match world.cross(now, burst.wire_bytes) {
                Some(at) => (Stage::Crossing(burst), at),
                None => self.acknowledged(now, &burst, world),
            },
            Stage::Crossing(burst) => self.acknowledged(now, &burst, world),
            Stage::Waiting => self.prepare(now, world),
            Stage::Returning => {
                world.switch.acknowledge(now, self.object().bytes);
                self.turn += 1;
                (Stage::Switching, world.switch.pass(now))
            }
            Stage::Completing => {
                world.switch.acknowledge(now, self.object().bytes);
                return self.complete(now, world);
            }
        };
        self.stage = stage;
        Next::At(at)
    }

    /// The server is lost, and the page with it.
    pub fn cut_off(&mut self, now: Instant, serial: u64, world: &mut World) -> Next {
        self.serial = serial;
        if let Some(ticket) = self.ticket.take() {
            world.switch.finish(ticket, now, false);
        }
        self.leave_page(now, world, |pages| &mut pages.broken)
    }

    /// A page is wanted: its connection reaches the switch.
    fn call(&mut self, now: Instant, world: &mut World) -> Instant {
        self.turn = 0;
        self.window = Window::default();
        self.extra_bytes = CONNECTION_EXTRA_BYTES;
        self.began = Instant(now.0 - CALL.as_nanos() as u64);
        world.outcome.pages.begun += 1;
        world.switch.accept(now)
    }

    /// Who serves this request, and when it can start on its way there.
    fn choose(&mut self, now: Instant, world: &mut World) -> Option<Instant> {
        let before = self.holder();
        if before.is_some() && !world.switch.decides_each() {
            return Some(now);
        }
        if let Some(ticket) = self.ticket.take() {
            world.switch.finish(ticket, now, true);
        }
        let object = self.object();
        let ticket = world.switch.assign(now, &object, before);
        let chosen = ticket.as_ref().map(|ticket| ticket.server);
        self.ticket = ticket;
        let Some(before) = before else {
            world.open(chosen?, object.class, true);
            return Some(now);
        };
        if chosen == Some(before) {
            return Some(now);
        }
        world.close(now, before);
        world.open(chosen?, object.class, false);
        world.outcome.handed_on += 1;
        // The new server's part of the hand-off is charged as a connection of its own.
        self.extra_bytes += CONNECTION_EXTRA_BYTES;
        Some(world.switch.hand_on(now))
    }

    /// The request is at the server: when the CPU has worked on it. The way there is added behind
    /// the CPU, which is the same for all.
    fn arrive(&mut self, now: Instant, world: &mut World) -> Instant {
        let demand = self.demand(world);
        let machine = world.setup.machine;
        let mut cpu = machine.request + demand.cpu;
        let mut way = LAN_DELAY;
        if self.extra_bytes > 0 {
            cpu += machine.connect;
        }
        if self.is_secure() && self.turn == 0 {
            let (work, trips) = match self.has_keys {
                false => (world.setup.key_exchange, KEY_EXCHANGE_TRIPS),
                true => (Duration::ZERO, RESUME_TRIPS),
            };
            self.extra_bytes += HELLO_BYTES + if self.has_keys { 0 } else { CERTIFICATE_BYTES };
            self.has_keys = true;
            cpu += work;
            way += 2 * LAN_DELAY * trips;
        }
        let holder = self.server();
        world.server(holder).cpu.enter(now, cpu).plus(way)
    }

    /// The answer is to be had from the cache, the disk, the database or nowhere.
    fn look_up(&mut self, now: Instant, world: &mut World) -> (Stage, Instant) {
        let demand = self.demand(world);
        if demand.queries > 0 {
            return (Stage::Querying(demand.queries - 1), self.query(now, world));
        }
        let object = self.object();
        if object.program {
            return (Stage::Copying, self.copy(now, world));
        }
        let hit = is_cacheable(&object, demand.cacheable) && {
            let holder = self.server();
            world.server(holder).has(object.target)
        };
        if world.is_measured(self.began) {
            world.outcome.lookups += 1;
            world.outcome.hits += u64::from(hit);
        }
        if hit {
            return (Stage::Copying, self.copy(now, world));
        }
        let holder = self.server();
        (Stage::Reading, world.server(holder).read(now, object.bytes))
    }

    fn query(&self, now: Instant, world: &mut World) -> Instant {
        let replica = world.setup.replica;
        // The way to the database and back, where that is another machine.
        let way = if replica { 2 * LAN_DELAY } else { Duration::ZERO };
        world.server(self.server()).query(now, replica).plus(way)
    }

    fn keep(&self, world: &mut World) {
        let object = self.object();
        if is_cacheable(&object, self.demand(world).cacheable) {
            world.keep(self.server(), &object);
        }
    }

    fn copy(&self, now: Instant, world: &mut World) -> Instant {
        world.server(self.server()).copy(now, self.object().bytes)
    }

    /// The CPU hands the next burst to the card.
    fn prepare(&mut self, now: Instant, world: &mut World) -> (Stage, Instant) {
        let mut burst = self.transfer.burst(&mut self.window);
        burst.wire_bytes += core::mem::take(&mut self.extra_bytes);
        let ciphering =
            if self.transfer.is_secure() { cipher(burst.bytes) } else { Duration::ZERO };
        let cpu = world.setup.machine.send(burst.bytes) + ciphering;
        (Stage::Preparing(burst), world.server(self.server()).cpu.enter(now, cpu))
    }

    fn send(&self, now: Instant, burst: &Burst, world: &mut World) -> Instant {
        world.server(self.server()).send(now, burst.wire_bytes)
    }

    /// A burst is through: the next one follows its first acknowledgement; after the last one
    /// comes the next request, or the page is complete.
    fn acknowledged(&mut self, now: Instant, burst: &Burst, world: &mut World) -> (Stage, Instant) {
        world.count_sent(now, burst);
        if burst.more {
            let wait = wait_for_ack(burst);
            if wait.is_zero() {
                return self.prepare(now, world);
            }
            return (Stage::Waiting, now.plus(wait));
        }
        if self.turn + 1 < self.objects().len() {
            (Stage::Returning, now.plus(2 * LAN_DELAY))
        } else {
            (Stage::Completing, now.plus(LAN_DELAY))
        }
    }

    fn complete(&mut self, now: Instant, world: &mut World) -> Next {
        if let Some(ticket) = self.ticket.take() {
            world.close(now, ticket.server);
            world.switch.finish(ticket, now, true);
        }
        world.outcome.completed += u64::from(world.is_measured(now));
        if world.is_measured(self.began) {
            world.outcome.note(now.since(self.began));
        }
        self.leave_page(now, world, |pages| &mut pages.complete)
    }

    /// The page is over, in one way or another: the user thinks, or leaves.
    fn leave_page(
        &mut self,
        now: Instant,
        world: &mut World,
        ending: impl FnOnce(&mut super::outcome::Pages) -> &mut u64,
    ) -> Next {
        *ending(&mut world.outcome.pages) += 1;
        self.stage = Stage::Away;
        self.page += 1;
        match self.visit.page(self.page) {
            Some(page) => Next::At(now.plus(page.think).plus(CALL)),
            None => Next::Gone,
        }
    }

    fn objects(&self) -> &[Object] {
        self.visit.page(self.page).map_or(&[], |page| page.objects)
    }

    fn object(&self) -> Object {
        self.objects()[self.turn]
    }

    fn is_secure(&self) -> bool {
        self.visit.page(self.page).is_some_and(|page| page.secure)
    }

    fn demand(&self, world: &World) -> Demand {
        Demand::of(&world.setup.demands, self.object().class)
    }

    fn server(&self) -> ServerId {
        self.holder().expect("a request is served after somebody was chosen")
    }
}

/// Whether a file is among the share of files that may be kept.
fn is_cacheable(object: &Object, share: f64) -> bool {
    const CACHEABLE_SALT: u64 = 0x63;
    let drawn = (object.target.mixed(CACHEABLE_SALT) >> 11) as f64 / (1_u64 << 53) as f64;
    share >= 1.0 || drawn < share
}
