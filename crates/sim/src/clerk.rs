//! The one way to the desk: how the simulator asks who serves, and tells what came of it.
//!
//! The drivers of this crate differ in where time, work and its end come from: a calendar of model
//! servers, or a tape of a live switch ([`crate::tape`]). To the desk they all speak through here,
//! so that what a tape proves of the one holds for the others: a driver that counted load in its
//! own way, or told an end before another, could not be the switch on paper.

use policy::tape::{Step, Tape};
use policy::{
    Assignment, Class, Cluster, Desk, Elsewhere, Held, Instant, Load, Outcome, Policy, Report,
    Request, ServerId, Spec, State, Ticket,
};

/// Asks and tells a desk, for every driver.
pub struct Clerk {
    desk: Desk,
}

impl Clerk {
    /// A desk for servers of these names, all up and of equal weight. Ejections do not exist on
    /// paper.
    ///
    /// # Panics
    /// When there are more than the 65,536 servers that a cluster has slots for.
    pub fn new(
        policy: Box<dyn Policy>,
        servers: impl IntoIterator<Item = String>,
        seed: u64,
    ) -> Self {
        let mut desk = Desk::new(policy, Cluster::new(0.0), seed);
        for name in servers {
            let spec = Spec { name: name.into(), weight: 1, capacity: None };
            desk.join(spec, State::Up, Instant::ZERO).expect("a cluster has 65,536 slots");
        }
        Self { desk }
    }

    /// A desk as it was when a tape began.
    pub fn of(tape: &Tape) -> Self {
        Self { desk: tape.desk() }
    }

    /// Asks who serves and gives the work out: see [`Desk::assign`].
    #[inline]
    pub fn assign(
        &mut self,
        request: &Request,
        avoid: &[ServerId],
    ) -> Option<(Assignment, Ticket)> {
        self.desk.assign(request, avoid)
    }

    /// Asks who serves a request of a connection that is in the books: see [`Desk::ask`].
    #[inline]
    pub fn ask(&mut self, request: &Request, avoid: &[ServerId]) -> Option<Assignment> {
        self.desk.ask(request, avoid)
    }

    /// Work has ended.
    #[inline]
    pub fn end(&mut self, ticket: Ticket, outcome: Outcome) {
        self.desk.finish(ticket, outcome);
    }

    /// Work did not come to its server: see [`Desk::take_back`].
    pub fn take_back(&mut self, ticket: Ticket, at: Instant) {
        self.desk.take_back(ticket, at);
    }

    /// A new batch of a connection begins: see [`Held::batch_begin`].
    pub fn batch_begin(&mut self, held: &mut Held, at: Instant) {
        held.batch_begin(&mut self.desk, at);
    }

    /// A request of a connection goes to `server`, the connection stays: see [`Held::serve`].
    pub fn serve(&mut self, held: &mut Held, request: &Request, server: ServerId) {
        held.serve(&mut self.desk, request, server);
    }

    /// A request of a connection goes to `server`, and the connection too: see [`Held::move_to`].
    pub fn hand_on(&mut self, held: &mut Held, request: &Request, server: ServerId) {
        held.move_to(&mut self.desk, request, server);
    }

    /// A connection is closed.
    pub fn close(&mut self, held: Held, outcome: Outcome) {
        held.close(&mut self.desk, outcome);
    }

    /// A server says how it is.
    pub fn report(&mut self, id: ServerId, report: Report) {
        self.desk.report(id, report);
    }

    /// A server goes down or comes back.
    pub fn set_state(&mut self, id: ServerId, state: State) {
        self.desk.set_state(id, state);
    }

    /// The books, to read.
    #[inline]
    pub fn cluster(&self) -> &Cluster {
        self.desk.cluster()
    }

    /// The policy, to read its gauges.
    pub fn policy(&self) -> &dyn Policy {
        self.desk.policy()
    }

    /// The desk, to read.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Servers changed together, as far as they are given the slots that they were given then.
    pub(crate) fn change(&mut self, steps: &[Step]) -> bool {
        self.desk.change(|edit| steps.iter().all(|step| step.again(edit)))
    }

    /// Work was given out without asking: see [`Desk::begin`].
    pub(crate) fn begin(&mut self, server: ServerId, request: &Request, amount: Load) -> Ticket {
        self.desk.begin(server, request, amount)
    }

    pub(crate) fn reweigh(&mut self, ticket: &mut Ticket, amount: Load, at: Instant) {
        self.desk.reweigh(ticket, amount, at);
    }

    /// What a kernel counted: see [`Desk::elsewhere_all`].
    pub(crate) fn counted(&mut self, counts: &[(ServerId, Elsewhere)], at: Instant) {
        self.desk.elsewhere_all(counts, at);
    }

    pub(crate) fn turn(&mut self, server: ServerId, avoid: &[ServerId]) -> Option<Assignment> {
        self.desk.turn(server, avoid)
    }

    pub(crate) fn turned(&mut self, class: Class, turns: u64) {
        self.desk.turned(class, turns);
    }
}
