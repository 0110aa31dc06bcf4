//! How a worker asks who serves: the one desk of the process, behind one short lock.
//!
//! One policy for the whole process, never one per core: each core's own table would map a target
//! to as many servers as there are cores. A lock held for about 100 ns beats sending the question
//! to another thread (docs/decisions/0003 has the figures).
//!
//! Also here, because it must change together with the books: how many requests a server works on
//! at once, and the bounded queue of those that wait for it.

use crate::gate::{GRANTED, Gate, TURNED_AWAY, Turn};
use crate::journal::Choice;
use policy::{Assignment, Desk, Instant, Load, Outcome, Request, ServerId, State, Ticket, Why};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The desk, the gates of its servers, and the version of the server table they belong to.
pub struct Ask {
    books: Mutex<Books>,
    /// Whether [`Ask::set_crowd`] set a limit: read without the lock by each request.
    limited: AtomicBool,
}

/// What the lock guards.
pub struct Books {
    /// The policy and the books of load.
    pub desk: Desk,
    /// Changes with every change of the server table: an answer belongs to this version.
    pub version: u64,
    gates: Vec<Gate>,
    crowd: Option<Crowd>,
}

/// How many requests are in the cluster at once: the papers' admission limit S.
pub enum CrowdLimit {
    /// This many.
    Fixed(u32),
    /// From the thresholds and the servers that are up.
    Auto(policy::Admission),
}

/// Requests in the cluster, and those that wait to be let in.
struct Crowd {
    limit: CrowdLimit,
    gate: Gate,
    /// The state of the cluster that the gate's limit was computed for.
    epoch: Option<u64>,
}

/// Requests that may wait to be let into the cluster: a bound on memory, far beyond what the
/// deadline lets through.
const CROWD_WAITING_MAX: u32 = 65_536;

/// The answer to a question.
pub(crate) enum Answer {
    /// Send it now.
    Go(Assigned),
    /// The server is full: wait for the turn, then send.
    Wait(Assigned, Arc<Turn>),
    /// The server is full and so is its queue.
    Full,
    /// No server may be chosen.
    NoServer,
}

/// Work that was assigned, with what the log says of the moment of decision. Must go back through
/// [`Ask::finish`].
pub(crate) struct Assigned {
    pub(crate) assignment: Assignment,
    pub(crate) ticket: Ticket,
    pub(crate) choice: Choice,
    /// Version of the server table that the slot refers to.
    pub(crate) version: u64,
}

impl Ask {
    /// Puts a desk behind a lock.
    pub fn new(desk: Desk) -> Self {
        let books = Books { desk, version: 0, gates: Vec::new(), crowd: None };
        Self { books: Mutex::new(books), limited: AtomicBool::new(false) }
    }

    /// Limits how many requests are in the cluster at once; `None` lets in all. Those that are in
    /// stay in.
    pub fn set_crowd(&self, limit: Option<CrowdLimit>) {
        let mut books = self.books();
        self.limited.store(limit.is_some(), Ordering::Relaxed);
        match (&mut books.crowd, limit) {
            (Some(crowd), Some(limit)) => (crowd.limit, crowd.epoch) = (limit, None),
            (Some(crowd), None) => (crowd.limit, crowd.epoch) = (CrowdLimit::Fixed(0), None),
            (none, Some(limit)) => {
                let gate = Gate { queue_max: CROWD_WAITING_MAX, ..Gate::default() };
                *none = Some(Crowd { limit, gate, epoch: None });
            }
            (None, None) => {}
        }
        books.count_crowd();
    }

    /// Whether requests have to ask to be let in.
    pub(crate) fn limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
    }

    /// Asks to be let in; who is let in must [`Ask::leave`]. `None`: even the queue is full.
    pub(crate) fn enter(&self) -> Option<Arc<Turn>> {
        let mut books = self.books();
        books.count_crowd();
        let Some(crowd) = &mut books.crowd else { return Some(Turn::new(GRANTED)) };
        crowd.gate.enter()
    }

    /// Gives back what [`Ask::enter`] gave, whether it was waited for or not.
    pub(crate) fn leave(&self, turn: &Turn) {
        let mut books = self.books();
        books.count_crowd();
        if let Some(crowd) = &mut books.crowd {
            crowd.gate.give_up(turn);
        }
    }

    /// The books, for the slow side: status, reload, health. Hold it briefly.
    pub fn books(&self) -> MutexGuard<'_, Books> {
        // A panic while the lock was held broke an invariant of ours; the books are counters, and
        // serving on with them is better than failing every request from here on.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the policy, writes the answer down, and takes or queues for a place at the server. If
    /// that server is full and its queue too, the least loaded one with room serves.
    pub(crate) fn assign(&self, request: &Request, avoid: &[ServerId]) -> Answer {
        let mut books = self.books();
        let cluster = books.desk.cluster();
        let loads = cluster.usable().iter().map(|id| cluster.load(*id));
        let load_least = loads.min().unwrap_or(Load::ZERO);
        let candidates = cluster.usable().iter().filter(|id| !avoid.contains(id)).count() as u32;
        // Allocates only when somebody is full.
        let mut passed_over: Vec<ServerId> = Vec::new();
        loop {
            let others = if passed_over.is_empty() { avoid } else { &passed_over };
            let Some((mut assignment, ticket)) = books.desk.assign(request, others) else {
                return if passed_over.is_empty() { Answer::NoServer } else { Answer::Full };
            };
            if !passed_over.is_empty() {
                assignment.why = Why::QueueFull;
            }
            let server = ticket.server;
            let load_chosen = books.desk.cluster().load(server).minus(Load::ONE);
            let version = books.version;
            let choice = Choice { candidates, load_chosen, load_least };
            let assigned = Assigned { assignment, ticket, choice, version };
            let gate = books.gate(server);
            if gate.open() {
                gate.running += 1;
                return Answer::Go(assigned);
            }
            if let Some(turn) = gate.enter() {
                return Answer::Wait(assigned, turn);
            }
            // The server did nothing wrong: this end says nothing about it.
            let nothing = Outcome { at: request.at, ok: true, first_byte: None };
            books.desk.finish(assigned.ticket, nothing);
            if passed_over.is_empty() {
                passed_over.extend_from_slice(avoid);
            }
            passed_over.push(server);
        }
    }

    /// Writes down the end of work that had a place at its server, and gives the place on.
    pub(crate) fn finish(&self, ticket: Ticket, outcome: Outcome) {
        let mut books = self.books();
        let server = ticket.server;
        books.desk.finish(ticket, outcome);
        books.gate(server).release();
    }

    /// Writes down the end of work that never got past the queue.
    pub(crate) fn give_up(&self, ticket: Ticket, turn: &Turn, at: Instant) {
        let mut books = self.books();
        let server = ticket.server;
        books.desk.finish(ticket, Outcome { at, ok: true, first_byte: None });
        books.gate(server).give_up(turn);
    }
}

impl Books {
    /// Sets how many requests a server works on at once (zero: no limit) and how many may wait.
    pub fn set_gate(&mut self, server: ServerId, limit: u32, queue_max: u32) {
        let gate = self.gate(server);
        gate.limit = limit;
        gate.queue_max = queue_max;
        gate.fill();
    }

    /// Requests waiting for a server.
    pub fn waiting(&self, server: ServerId) -> usize {
        self.gates.get(server.index()).map_or(0, |gate| gate.waiting.len())
    }

    /// Changes a server's state. Those who wait for a server that takes nothing new are sent to
    /// ask again.
    pub fn set_state(&mut self, server: ServerId, state: State) {
        self.desk.set_state(server, state);
        if state != State::Up {
            self.turn_away(server);
        }
        self.count_crowd();
    }

    /// Removes a server.
    pub fn leave(&mut self, server: ServerId) {
        self.desk.leave(server);
        self.turn_away(server);
        self.count_crowd();
    }

    /// Brings the limit of the crowd in line with the servers that are up.
    fn count_crowd(&mut self) {
        let cluster = self.desk.cluster();
        let Some(crowd) = self.crowd.as_mut().filter(|c| c.epoch != Some(cluster.epoch())) else {
            return;
        };
        crowd.epoch = Some(cluster.epoch());
        crowd.gate.limit = match &crowd.limit {
            CrowdLimit::Fixed(most) => *most,
            // With no server up nobody is served anyway, and zero would mean no limit.
            CrowdLimit::Auto(admission) => {
                let most = admission.limit(cluster).0 / Load::ONE.0;
                u32::try_from(most).unwrap_or(u32::MAX).max(1)
            }
        };
        crowd.gate.fill();
    }

    fn turn_away(&mut self, server: ServerId) {
        for turn in self.gate(server).waiting.drain(..) {
            turn.resolve(TURNED_AWAY);
        }
    }

    fn gate(&mut self, server: ServerId) -> &mut Gate {
        if self.gates.len() <= server.index() {
            self.gates.resize_with(server.index() + 1, Gate::default);
        }
        &mut self.gates[server.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Waited;
    use policy::{Class, Cluster, Params, Spec, TargetId, entry};
    use std::task::{Context, Waker};

    fn ask(servers: u16) -> Ask {
        let row = entry("round-robin").unwrap();
        let mut desk = Desk::new((row.build)(&Params::new(row.params)), Cluster::new(0.0), 1);
        for at in 0..servers {
            let spec = Spec { name: at.to_string().into(), weight: 1, capacity: None };
            desk.join(spec, State::Up, Instant::ZERO).unwrap();
        }
        Ask::new(desk)
    }

    fn question() -> Request {
        let (at, target, class) = (Instant::ZERO, TargetId(1), Class::STATIC);
        Request { at, target, class, holder: None }
    }

    fn waited(turn: &Turn) -> Option<Waited> {
        turn.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn places_go_to_those_who_wait_in_the_order_they_came() {
        let ask = ask(1);
        ask.books().set_gate(ServerId(0), 1, 2);
        let Answer::Go(first) = ask.assign(&question(), &[]) else { panic!("it is free") };
        let wait = || match ask.assign(&question(), &[]) {
            Answer::Wait(assigned, turn) => (assigned, turn),
            _ => panic!("it is full"),
        };
        let ((_second, a), (third, b)) = (wait(), wait());
        assert!(matches!(ask.assign(&question(), &[]), Answer::Full));
        ask.give_up(third.ticket, &b, Instant::ZERO);
        let ok = Outcome { at: Instant::ZERO, ok: true, first_byte: None };
        ask.finish(first.ticket, ok);
        assert_eq!(waited(&a), Some(Waited::Granted));
        assert_eq!(ask.books().desk.cluster().total(), Load::ONE);
    }

    #[test]
    fn the_automatic_crowd_follows_the_servers_that_are_up() {
        let ask = ask(2);
        let admission = policy::Admission::new(Some(2), Some(5), policy::AdmissionForm::MinusOne);
        ask.set_crowd(Some(CrowdLimit::Auto(admission)));
        // S = (n - 1) * T_high + T_low - 1 = 6 for two servers, and 1 for one.
        let inside: Vec<_> = (0..8).map(|_| ask.enter().unwrap()).collect();
        assert_eq!(inside.iter().filter(|turn| waited(turn).is_some()).count(), 6);
        ask.books().set_state(ServerId(0), State::Down);
        inside.iter().take(5).for_each(|turn| ask.leave(turn));
        let still: Vec<_> = inside.iter().skip(5).map(|turn| waited(turn).is_some()).collect();
        assert_eq!(still, [true, false, false]);
        ask.leave(&inside[5]);
        assert!(waited(&inside[6]).is_some() && waited(&inside[7]).is_none());
        ask.set_crowd(None);
        assert!(waited(&inside[7]).is_some(), "without a limit nobody waits");
    }
}
