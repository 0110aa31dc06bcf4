//! The run: visitors' steps, reports and failures in the order of time.

use super::browser::{Browser, Turn};
use super::outcome::Outcome;
use super::setup::{Audience, Contender, Setup};
use super::visitor::{Next, Visitor};
use super::world::World;
use core::time::Duration;
use model::{Calendar, Slab, Source, Wake};
use policy::{Dice, Instant, ServerId};
use workload::visits::Object;

/// What is due.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A new user.
    Arrival,
    /// The next step of the visitor in a place, unless its connection broke meanwhile.
    Step { place: u32, serial: u64 },
    /// Reports.
    Gather,
    /// A look at the spread of utilisation.
    Look,
    /// Measuring begins.
    Begin,
    /// Users stop coming, measuring ends.
    End,
    /// The failure with this number.
    Fail(usize),
    /// Its end.
    Restore(usize),
    /// A page of the browser in a place, of the live set-up as all that follows.
    Due(u32),
    /// A request of it has reached the switch.
    Asked(u32, Object),
    /// What a node announced.
    Node(ServerId, Wake),
}

/// Keeps the dice of arrivals apart from the others of a seed.
const ARRIVALS_SALT: u64 = 0x61;

struct Run {
    world: World,
    calendar: Calendar<Event>,
    visitors: Slab<Visitor>,
    /// The users of the live set-up.
    browsers: Slab<Browser>,
    arrivals: Dice,
    /// How many users have come.
    visits: u64,
    /// Of visitors and of connections that broke.
    serial: u64,
    ends: Instant,
}

/// Runs a site under a policy until its last visitor has left.
///
/// The same arguments give the same outcome on every machine, and all contenders are offered the
/// same visits.
pub fn run(setup: &Setup, audience: &Audience, contender: &Contender, seed: u64) -> Outcome {
    let ends = Instant::ZERO.plus(setup.warm_up + setup.span);
    let mut run = Run {
        world: World::new(setup.clone(), *audience, contender, seed),
        calendar: Calendar::default(),
        visitors: Slab::default(),
        browsers: Slab::default(),
        arrivals: Dice::new(match &setup.live {
            Some(live) => live.arrivals_seed,
            None => seed ^ ARRIVALS_SALT,
        }),
        visits: 0,
        serial: 0,
        ends,
    };
    run.plan();
    let mut last = Instant::ZERO;
    while let Some((now, event)) = run.calendar.pop(Instant::NEVER) {
        run.handle(now, event);
        last = now;
    }
    // Closing the last connection takes the server a moment longer.
    run.world.assert_empty(last.plus(Duration::from_secs(1)));
    let empty = run.visitors.is_empty() && run.browsers.is_empty();
    assert!(empty, "who has no step due has left");
    run.world.outcome.close();
    run.world.outcome
}

impl Run {
    fn plan(&mut self) {
        let setup = &self.world.setup;
        let at = |span| Instant::ZERO.plus(span);
        self.calendar.enter(at(setup.warm_up), Event::Begin);
        self.calendar.enter(self.ends, Event::End);
        self.calendar.enter(at(setup.gather), Event::Gather);
        self.calendar.enter(at(setup.watch), Event::Look);
        if setup.live.is_some() {
            assert!(setup.faults.is_empty(), "servers of the live set-up do not fail on paper");
            let gap_s = self.world.audience.gap.sample(&mut self.arrivals);
            return self.again(at(Duration::from_secs_f64(gap_s)), Event::Arrival);
        }
        self.calendar.enter(Instant::ZERO, Event::Arrival);
        for (index, fault) in setup.faults.iter().enumerate() {
            self.calendar.enter(at(fault.at), Event::Fail(index));
            self.calendar.enter(at(fault.at + fault.lasts), Event::Restore(index));
        }
    }

    fn handle(&mut self, now: Instant, event: Event) {
        match event {
            Event::Step { place, serial } => self.step(now, place, serial),
            Event::Arrival => self.arrival(now),
            Event::Gather => {
                self.world.gather(now);
                if now < self.ends || !self.visitors.is_empty() || !self.browsers.is_empty() {
                    self.calendar.enter(now.plus(self.world.setup.gather), Event::Gather);
                }
            }
            Event::Look => {
                self.world.look(now);
                self.again(now.plus(self.world.setup.watch), Event::Look);
            }
            Event::Begin => self.world.begin(now),
            Event::End => self.world.end(now),
            Event::Fail(fault) => self.fail(now, ServerId(self.world.setup.faults[fault].server)),
            Event::Restore(fault) => {
                self.world.restore(now, ServerId(self.world.setup.faults[fault].server));
            }
            Event::Due(place) => {
                let browser = self.browsers.get_mut(place).expect("who left has no page due");
                let turn = browser.call(now, &mut self.world);
                self.take_turn(now, place, turn);
            }
            Event::Asked(place, object) => self.asked(now, place, &object),
            Event::Node(id, wake) => {
                self.world.farm().step(now, id, wake);
                self.schedule(id);
                while let Some(open) = self.world.farm().ended() {
                    let (place, hit) = (open.place, open.source == Source::Hit);
                    self.world.answered(now, open.ticket, hit, open.bytes);
                    let connections = self.world.connections();
                    let browser = self.browsers.get_mut(place).expect("it waits for the reply");
                    let turn = browser.answered(now, connections, &mut self.world);
                    self.take_turn(now, place, turn);
                }
            }
        }
    }

    fn step(&mut self, now: Instant, place: u32, serial: u64) {
        let Some(visitor) = self.visitors.get_mut(place) else { return };
        if visitor.serial == serial {
            let next = visitor.advance(now, &mut self.world);
            self.follow(now, place, serial, next);
        }
    }

    fn follow(&mut self, now: Instant, place: u32, serial: u64, next: Next) {
        match next {
            Next::At(at) => self.calendar.enter(at, Event::Step { place, serial }),
            Next::Gone => {
                self.visitors.remove(place);
                if self.visitors.is_empty() {
                    self.world.close_books(now);
                }
            }
        }
    }

    fn arrival(&mut self, now: Instant) {
        if self.world.setup.live.is_some() {
            let place = self.browsers.insert(Browser::new(self.visits, &self.world));
            self.visits += 1;
            self.calendar.enter(now, Event::Due(place));
            let gap_s = self.world.audience.gap.sample(&mut self.arrivals);
            return self.again(now.plus(Duration::from_secs_f64(gap_s)), Event::Arrival);
        }
        let serial = self.next_serial();
        let (visitor, at) = Visitor::new(self.visits, serial, &self.world, now);
        self.visits += 1;
        let place = self.visitors.insert(visitor);
        self.calendar.enter(at, Event::Step { place, serial });
        let mut gap_s = self.world.audience.gap.sample(&mut self.arrivals);
        if now.since(Instant::ZERO) * 2 < self.world.setup.warm_up {
            gap_s *= 2.0;
        }
        self.again(now.plus(Duration::from_secs_f64(gap_s)), Event::Arrival);
    }

    fn take_turn(&mut self, now: Instant, place: u32, turn: Turn) {
        match turn {
            Turn::Ask(count) => {
                let browser = self.browsers.get_mut(place).expect("it is its turn");
                let at = now.plus(self.world.delay());
                for object in (0..count).map_while(|_| browser.take()) {
                    self.calendar.enter(at, Event::Asked(place, object));
                }
            }
            Turn::Think(at) => self.calendar.enter(at, Event::Due(place)),
            Turn::Leave => {
                self.browsers.remove(place);
                if self.browsers.is_empty() {
                    self.world.close_books(now);
                }
            }
        }
    }

    /// The switch decides, and the server gets the request.
    fn asked(&mut self, now: Instant, place: u32, object: &Object) {
        let ticket = self.world.switch.assign(now, object, None).expect("every server is up");
        let id = ticket.server;
        self.world.farm().admit(now, place, ticket, object);
        self.schedule(id);
    }

    /// Puts what a node announced into the calendar.
    fn schedule(&mut self, id: ServerId) {
        for (at, wake) in self.world.farm().wakes() {
            self.calendar.enter(at, Event::Node(id, wake));
        }
    }

    /// A server fails, and every page that it was serving.
    fn fail(&mut self, now: Instant, server: ServerId) {
        self.world.fail(server);
        let places: Vec<_> = self.visitors.places().collect();
        for place in places {
            let serial = self.next_serial();
            let visitor = self.visitors.get_mut(place).expect("its place is in use");
            if visitor.holder() == Some(server) {
                let next = visitor.cut_off(now, serial, &mut self.world);
                self.follow(now, place, serial, next);
            }
        }
    }

    /// Enters what repeats itself as long as users come.
    fn again(&mut self, at: Instant, event: Event) {
        if at < self.ends {
            self.calendar.enter(at, event);
        }
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }
}
