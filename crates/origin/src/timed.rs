//! A model node in real time: what it has announced is carried out when its time has come.

use crate::clock::Clock;
use crate::table::Tag;
use core::time::Duration;
use model::{Agenda, Ask, Calendar, Handling, Node, Part, Source, Wake};
use policy::{Dice, Instant};

/// Work that the model's CPU may have queued, beyond which connections are free. A storm of
/// connections faster than the model's CPU would otherwise take memory without end.
const QUEUE_MAX: usize = 1 << 17;

/// How late the answers of the model left, in real time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    pub(crate) count: u64,
    total: Duration,
    pub(crate) worst: Duration,
}

impl Lateness {
    fn note(&mut self, late: Duration) {
        self.count += 1;
        self.total += late;
        self.worst = self.worst.max(late);
    }

    pub(crate) fn mean(&self) -> Duration {
        let mean_ns = self.total.as_nanos().checked_div(u128::from(self.count)).unwrap_or(0);
        Duration::from_nanos(mean_ns as u64)
    }
}

/// A node, its clock, and what is due.
pub(crate) struct Timed {
    pub(crate) node: Node,
    pub(crate) clock: Clock,
    pub(crate) late: Lateness,
    calendar: Calendar<Wake>,
    /// Requests kept waiting by faults, in real time.
    delayed: Calendar<Tag>,
    agenda: Agenda,
    dice: Dice,
}

impl Timed {
    pub(crate) fn new(config: &crate::Config) -> rustix::io::Result<Self> {
        Ok(Self {
            node: Node::new(config.model.clone()),
            clock: Clock::new(config.time_scale)?,
            late: Lateness::default(),
            calendar: Calendar::default(),
            delayed: Calendar::default(),
            agenda: Agenda::default(),
            dice: Dice::new(config.seed),
        })
    }

    /// A client has connected.
    pub(crate) fn connect(&mut self, real: Instant) {
        self.charge(real, Node::connect);
    }

    /// A connection was closed.
    pub(crate) fn close(&mut self, real: Instant) {
        self.charge(real, Node::close);
    }

    /// Charges the CPU for a connection, unless it is hopelessly behind.
    fn charge(&mut self, real: Instant, what: impl FnOnce(&mut Node, Instant)) {
        let now = self.clock.model(real);
        if self.node.cpu().queue(now) < QUEUE_MAX {
            what(&mut self.node, now);
            // Where time passes with the work alone, this work is done.
            self.clock.done(self.node.cpu().free_at());
        }
    }

    /// Takes in a request, for which the CPU has a key exchange to do first or none.
    pub(crate) fn admit(&mut self, real: Instant, ask: Ask, handshake: Duration) -> Source {
        let now = self.clock.model(real);
        let plainly = self.node.plainly();
        let handling = Handling { before: plainly.before.saturating_add(handshake), ..plainly };
        let source = self.node.admit_as(now, ask, handling, &mut self.dice, &mut self.agenda);
        self.enter();
        source
    }

    /// Keeps a request back.
    pub(crate) fn delay(&mut self, until: Instant, tag: Tag) {
        self.delayed.enter(until, tag);
    }

    /// A request whose delay is over.
    pub(crate) fn undelayed(&mut self, real: Instant) -> Option<Tag> {
        self.delayed.pop(real).map(|(_, tag)| tag)
    }

    /// Carries out what is due; the parts of answers that come of it go to `parts`.
    pub(crate) fn run(&mut self, real: Instant, parts: &mut Vec<Part>) {
        let limit = self.clock.model_due(real);
        while let Some((at, wake)) = self.calendar.pop(limit) {
            self.clock.done(at);
            if limit != Instant::NEVER {
                self.late.note(real.since(self.clock.real_of(at)));
            }
            self.node.step(at, wake, &mut self.agenda);
            parts.append(&mut self.agenda.parts);
            self.enter();
        }
    }

    /// Sets the timer for what is due next, `other` included.
    pub(crate) fn arm(&mut self, other: Instant) {
        let model = self.calendar.next_at().map(|at| self.clock.real_of(at));
        let next = [model, self.delayed.next_at()].into_iter().flatten().fold(other, Instant::min);
        self.clock.arm(next);
    }

    fn enter(&mut self) {
        for (at, wake) in self.agenda.wakes.drain(..) {
            self.calendar.enter(at, wake);
        }
    }
}
