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
//! at once, and the bounded queue of those that wait for it; and what a kernel that delivers one
//! way may repeat ([`kernel`]).

mod course;
mod crowd;
pub mod kernel;
mod link;
pub mod proof;
mod tape;

pub use course::Course;
pub use crowd::CrowdLimit;

use crate::gate::{Gate, TURNED_AWAY, Turn};
use crate::journal::Choice;
use crowd::Crowd;
use kernel::Kernel;
use link::Link;
use policy::{
    Assignment, Desk, Edit, Instant, Load, Outcome, Policy, Request, ServerId, Ticket, Why,
};
use std::ops::Deref;
use std::sync::atomic::AtomicBool;
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
    /// The kernel that answers too, if one does.
    link: Option<Box<Link>>,
}

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
/// `Ask::finish`, or to [`crate::Shared::set_aside`] for the relay.
#[must_use = "it counts as load until it is given back"]
#[derive(Debug)]
pub struct Assigned {
    pub(crate) assignment: Assignment,
    pub(crate) ticket: Ticket,
    pub(crate) choice: Choice,
    /// Version of the server table that the slot refers to.
    pub(crate) version: u64,
}

impl Assigned {
    /// Version of the server table that it is for.
    pub const fn version(&self) -> u64 {
        self.version
    }
}

impl Ask {
    /// Puts a desk behind a lock.
    pub fn new(desk: Desk) -> Self {
        let books = Books { desk, version: 0, gates: Vec::new(), crowd: None, link: None };
        let (books, changing) = (Mutex::new(books), Mutex::new(()));
        Self { books, changing, limited: AtomicBool::new(false) }
    }

    /// The books, to read: for the slow side. Hold them briefly.
    pub fn books(&self) -> impl Deref<Target = Books> + '_ {
        let mut books = self.lock();
        let Books { desk, link, .. } = &mut *books;
        if let Some(link) = link {
            link.look_at_all(desk);
        }
        books
    }

    /// Lets a kernel answer too, from memos and wheels that it is given from now on. `None`: none
    /// does any more, and the connections that it counted are forgotten.
    pub fn set_kernel(&self, kernel: Option<Arc<dyn Kernel>>) {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut books = self.lock();
        let Books { desk, link, .. } = &mut *books;
        if let Some(old) = link.take() {
            old.cut(desk);
        }
        *link = kernel.map(|kernel| Box::new(Link::new(kernel, desk)));
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
            books.changing();
            let result = books.desk.change(&edit);
            return books.settle(settle, result);
        };
        let cluster = self.lock().desk.preview(&edit);
        if let Some(work) = policy.prepare(&cluster) {
            work();
        }
        let mut books = self.lock();
        books.changing();
        let (old, result) = books.desk.replace(policy, &edit);
        let result = books.settle(settle, result);
        drop(books);
        // Now, for giving its table back may take milliseconds.
        drop(old);
        result
    }

    /// Tells the policy what a server says of itself.
    pub fn report(&self, server: ServerId, report: policy::Report) {
        self.lock().desk.report(server, report);
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
        self.admit(None, request, avoid)
    }

    /// The same for a request that the policy was asked about before: it is asked again only if
    /// servers have changed since.
    pub(crate) fn admit(
        &self,
        mut before: Option<Assigned>,
        request: &Request,
        avoid: &[ServerId],
    ) -> Answer {
        let mut books = self.lock();
        books.look(request.at);
        if let Some(old) = before.take_if(|before| !books.holds(before)) {
            books.take_back(old.ticket, request.at);
        }
        let offer = books.offer(avoid);
        // Allocates only when somebody is full.
        let mut passed_over: Vec<ServerId> = Vec::new();
        loop {
            let others = if passed_over.is_empty() { avoid } else { &passed_over };
            let found = before.take().or_else(|| books.assigned(request, others, offer));
            let Some(mut assigned) = found else {
                return if passed_over.is_empty() { Answer::NoServer } else { Answer::Full };
            };
            if !passed_over.is_empty() {
                assigned.assignment.why = Why::QueueFull;
            }
            let server = assigned.ticket.server;
            let gate = books.gate(server);
            if gate.open() {
                gate.running += 1;
                return Answer::Go(assigned);
            }
            if let Some(turn) = gate.enter() {
                return Answer::Wait(assigned, turn);
            }
            books.take_back(assigned.ticket, request.at);
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
        books.look(outcome.at);
        books.finish(ticket, outcome);
        books.gate(server).release();
    }

    /// Writes down that work did not come to its server.
    pub(crate) fn put_back(&self, ticket: Ticket, at: Instant) {
        self.lock().take_back(ticket, at);
    }

    /// The same for work that had a place at its server, which is given on.
    pub(crate) fn take_back(&self, ticket: Ticket, at: Instant) {
        let mut books = self.lock();
        let server = books.take_back(ticket, at);
        books.gate(server).release();
    }

    /// Writes down the end of work that never got past the queue.
    pub(crate) fn give_up(&self, ticket: Ticket, turn: &Turn, at: Instant) {
        let mut books = self.lock();
        let server = books.take_back(ticket, at);
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

    /// Brings the books up to date with what a kernel counted.
    #[inline]
    fn look(&mut self, at: Instant) {
        if let Some(link) = &mut self.link {
            link.look(&mut self.desk, at);
        }
    }

    /// What a decision is between, before it is made.
    #[inline]
    fn offer(&self, avoid: &[ServerId]) -> Choice {
        let cluster = self.desk.cluster();
        let loads = cluster.usable().iter().map(|id| cluster.load(*id));
        let load_least = loads.min().unwrap_or(Load::ZERO);
        let candidates = cluster.usable().iter().filter(|id| !avoid.contains(id)).count() as u32;
        Choice { candidates, load_chosen: Load::ZERO, load_least }
    }

    /// [`Desk::ask`], or a turn of a kernel's wheel.
    #[inline]
    fn ask(&mut self, request: &Request, avoid: &[ServerId]) -> Option<Assignment> {
        match &mut self.link {
            Some(link) => link.ask(&mut self.desk, request, avoid),
            None => self.desk.ask(request, avoid),
        }
    }

    /// [`Desk::assign`], of which a kernel hears.
    #[inline]
    fn assigned(
        &mut self,
        request: &Request,
        avoid: &[ServerId],
        offer: Choice,
    ) -> Option<Assigned> {
        if self.link.is_some() {
            let answer = self.ask(request, avoid)?;
            return Some(self.begun(request, answer, offer));
        }
        let (assignment, ticket) = self.desk.assign(request, avoid)?;
        Some(self.written(assignment, ticket, offer))
    }

    /// An answer whose request is relayed: its work is begun.
    fn begun(&mut self, request: &Request, answer: Assignment, offer: Choice) -> Assigned {
        if let Some(link) = &mut self.link {
            link.relayed(&mut self.desk, request, &answer);
        }
        let ticket = self.desk.begin(answer.server, request, Load::ONE);
        if let Some(link) = &self.link {
            link.count(&self.desk, answer.server);
        }
        self.written(answer, ticket, offer)
    }

    #[inline]
    fn written(&self, assignment: Assignment, ticket: Ticket, offer: Choice) -> Assigned {
        let load_chosen = self.desk.cluster().load(ticket.server).minus(Load::ONE);
        let choice = Choice { load_chosen, ..offer };
        Assigned { assignment, ticket, choice, version: self.version }
    }

    /// Whether what was assigned is for the servers that there are now.
    fn holds(&self, assigned: &Assigned) -> bool {
        let usable = self.desk.cluster().is_usable(assigned.ticket.server);
        usable && assigned.version == self.version
    }

    /// [`Desk::finish`], of which a kernel hears.
    #[inline]
    fn finish(&mut self, ticket: Ticket, outcome: Outcome) {
        let server = ticket.server;
        self.desk.finish(ticket, outcome);
        if let Some(link) = &self.link {
            link.count(&self.desk, server);
        }
    }

    /// [`Desk::take_back`], of which a kernel hears. The server whose work it is no more.
    fn take_back(&mut self, ticket: Ticket, at: Instant) -> ServerId {
        let server = ticket.server;
        self.look(at);
        self.desk.take_back(ticket, at);
        if let Some(link) = &self.link {
            link.count(&self.desk, server);
        }
        server
    }

    /// Begins a change of the cluster or the policy.
    fn changing(&mut self) {
        if let Some(link) = &mut self.link {
            link.changing(&mut self.desk);
        }
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
        if let Some(link) = &mut self.link {
            link.changed(&self.desk);
        }
        result
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
