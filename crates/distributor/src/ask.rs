//! How a worker asks who serves: the one desk of the process, behind one short lock.
//!
//! One policy for the whole process, never one per core: each core's own table would map a target
//! to as many servers as there are cores. A lock held for about 100 ns beats sending the question
//! to another thread (docs/decisions/0003 has the figures).
//!
//! Changes of the servers and of the policy take this way too, in three steps, for the tables of
//! hash policies take a millisecond to make: prepare under the lock, which is short; work without
//! it; apply under the lock (docs/decisions/0012).
//!
//! Also here, because it must change together with the books: how many requests a server works on
//! at once, and the bounded queue of those that wait for it.

use crate::gate::{GRANTED, Gate, TURNED_AWAY, Turn};
use crate::journal::Choice;
use policy::{
    Assignment, Desk, Edit, Instant, Load, Outcome, Policy, Request, ServerId, Ticket, Why,
};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The desk, the gates of its servers, and the version of the server table they belong to.
pub struct Ask {
    books: Mutex<Books>,
    /// Held by whoever changes the cluster or the policy, from the preparation to the end: what was
    /// prepared is what comes. Those who ask never take it.
    changing: Mutex<()>,
    /// Whether [`Ask::set_crowd`] set a limit: read without the lock by each request.
    limited: AtomicBool,
}

/// What the lock guards.
pub struct Books {
    desk: Desk,
    /// Changes with every change of the server table: an answer belongs to this version.
    version: u64,
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
        let (books, changing) = (Mutex::new(books), Mutex::new(()));
        Self { books, changing, limited: AtomicBool::new(false) }
    }

    /// Limits how many requests are in the cluster at once; `None` lets in all. Those that are in
    /// stay in.
    pub fn set_crowd(&self, limit: Option<CrowdLimit>) {
        let mut books = self.lock();
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
        let mut books = self.lock();
        books.count_crowd();
        let Some(crowd) = &mut books.crowd else { return Some(Turn::new(GRANTED)) };
        crowd.gate.enter()
    }

    /// Gives back what [`Ask::enter`] gave, whether it was waited for or not.
    pub(crate) fn leave(&self, turn: &Turn) {
        let mut books = self.lock();
        books.count_crowd();
        if let Some(crowd) = &mut books.crowd {
            crowd.gate.give_up(turn);
        }
    }

    /// The books, to read: for the slow side. Hold them briefly.
    pub fn books(&self) -> impl Deref<Target = Books> + '_ {
        self.lock()
    }

    /// Changes the cluster. `edit` describes the change; it is run twice, first on a copy.
    pub fn change<T>(&self, edit: impl Fn(&mut Edit<'_>) -> T) -> T {
        self.change_with(None, edit, |_, result| result)
    }

    /// The same, with another policy if one is given, and with what must be seen together with the
    /// change: `settle` is run before anybody asks again. Hold it briefly.
    pub fn change_with<T, R>(
        &self,
        policy: Option<Box<dyn Policy>>,
        edit: impl Fn(&mut Edit<'_>) -> T,
        settle: impl FnOnce(&mut Books, T) -> R,
    ) -> R {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut policy) = policy else {
            let prepared = self.lock().desk.prepare(&edit);
            if let Some(work) = prepared {
                work();
            }
            let mut books = self.lock();
            let result = books.desk.change(&edit);
            return books.settle(settle, result);
        };
        let cluster = self.lock().desk.preview(&edit);
        if let Some(work) = policy.prepare(&cluster) {
            work();
        }
        let mut books = self.lock();
        let (old, result) = books.desk.replace(policy, &edit);
        let result = books.settle(settle, result);
        drop(books);
        // Now, for giving its table back may take milliseconds.
        drop(old);
        result
    }

    /// Sets how many requests a server works on at once (zero: no limit) and how many may wait.
    pub fn set_gate(&self, server: ServerId, limit: u32, queue_max: u32) {
        self.lock().set_gate(server, limit, queue_max);
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        // A panic while the lock was held broke an invariant of ours; the books are counters, and
        // serving on with them is better than failing every request from here on.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the policy, writes the answer down, and takes or queues for a place at the server. If
    /// that server is full and its queue too, the least loaded one with room serves.
    pub(crate) fn assign(&self, request: &Request, avoid: &[ServerId]) -> Answer {
        let mut books = self.lock();
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
        let mut books = self.lock();
        let server = ticket.server;
        books.desk.finish(ticket, outcome);
        books.gate(server).release();
    }

    /// Writes down the end of work that never got past the queue.
    pub(crate) fn give_up(&self, ticket: Ticket, turn: &Turn, at: Instant) {
        let mut books = self.lock();
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

    /// The policy and the books of load.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Begins another version of the server table and returns its number.
    pub fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Ends a change. Those who wait for a server that takes nothing new are sent to ask again.
    fn settle<T, R>(&mut self, settle: impl FnOnce(&mut Self, T) -> R, result: T) -> R {
        let result = settle(self, result);
        let cluster = self.desk.cluster();
        for (at, gate) in self.gates.iter_mut().enumerate() {
            if !u16::try_from(at).is_ok_and(|slot| cluster.is_usable(ServerId(slot))) {
                for turn in gate.waiting.drain(..) {
                    turn.resolve(TURNED_AWAY);
                }
            }
        }
        self.count_crowd();
        result
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

    fn gate(&mut self, server: ServerId) -> &mut Gate {
        if self.gates.len() <= server.index() {
            self.gates.resize_with(server.index() + 1, Gate::default);
        }
        &mut self.gates[server.index()]
    }
}

#[cfg(test)]
mod tests;
