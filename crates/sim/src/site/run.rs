//! The run: visitors' steps, reports and failures in the order of time.

use super::outcome::Outcome;
use super::setup::{Audience, Contender, Setup};
use super::visitor::{Next, Visitor};
use super::world::World;
use core::time::Duration;
use model::{Calendar, Slab};
use policy::{Dice, Instant, ServerId};

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
}

/// Keeps the dice of arrivals apart from the others of a seed.
const ARRIVALS_SALT: u64 = 0x61;

struct Run {
    world: World,
    calendar: Calendar<Event>,
    visitors: Slab<Visitor>,
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
        arrivals: Dice::new(seed ^ ARRIVALS_SALT),
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
    assert!(run.visitors.is_empty(), "who has no step due has left");
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
                if now < self.ends || !self.visitors.is_empty() {
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
