//! How a worker asks who serves: the one desk of the process, behind one short lock.
//!
//! One policy for the whole process, never one per core: each core's own table would map a target
//! to as many servers as there are cores. A lock held for about 100 ns beats sending the question
//! to another thread (docs/decisions/0003 has the figures).
//!
//! Also here, because it must change together with the books: how many requests a server works on
//! at once, and the bounded queue of those that wait for it.

use policy::{Assignment, Desk, Instant, Load, Outcome, Request, ServerId, State, Ticket};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

/// The desk, the gates of its servers, and the version of the server table they belong to.
pub struct Ask {
    books: Mutex<Books>,
}

/// What the lock guards.
pub struct Books {
    /// The policy and the books of load.
    pub desk: Desk,
    /// Changes with every change of the server table: an answer belongs to this version.
    pub version: u64,
    gates: Vec<Gate>,
}

/// How many requests a server works on, and who waits.
#[derive(Default)]
struct Gate {
    running: u32,
    /// Requests at once; zero is no limit.
    limit: u32,
    /// Requests that may wait.
    queue_max: u32,
    waiting: VecDeque<Arc<Turn>>,
}

/// A place in a server's queue.
pub(crate) struct Turn {
    state: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

const WAITING: u8 = 0;
const GRANTED: u8 = 1;
const TURNED_AWAY: u8 = 2;
const GIVEN_UP: u8 = 3;

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
    /// Load of the chosen server before this request, and of the least loaded one.
    pub(crate) load_chosen: Load,
    pub(crate) load_least: Load,
    /// Version of the server table that the slot refers to.
    pub(crate) version: u64,
}

impl Ask {
    /// Puts a desk behind a lock.
    pub fn new(desk: Desk) -> Self {
        Self { books: Mutex::new(Books { desk, version: 0, gates: Vec::new() }) }
    }

    /// The books, for the slow side: status, reload, health. Hold it briefly.
    pub fn books(&self) -> MutexGuard<'_, Books> {
        // A panic while the lock was held broke an invariant of ours; the books are counters, and
        // serving on with them is better than failing every request from here on.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the policy, writes the answer down, and takes or queues for a place at the server.
    pub(crate) fn assign(&self, request: &Request, avoid: &[ServerId]) -> Answer {
        let mut books = self.books();
        let least = |desk: &Desk| {
            let cluster = desk.cluster();
            cluster.usable().iter().map(|id| cluster.load(*id)).min().unwrap_or(Load::ZERO)
        };
        let load_least = least(&books.desk);
        let Some((assignment, ticket)) = books.desk.assign(request, avoid) else {
            return Answer::NoServer;
        };
        let server = ticket.server;
        let load_chosen = books.desk.cluster().load(server).minus(Load::ONE);
        let version = books.version;
        let assigned = Assigned { assignment, ticket, load_chosen, load_least, version };
        let gate = books.gate(server);
        if gate.limit == 0 || gate.running < gate.limit {
            gate.running += 1;
            return Answer::Go(assigned);
        }
        if gate.waiting.len() < gate.queue_max as usize {
            let turn = Arc::new(Turn { state: AtomicU8::new(WAITING), waker: Mutex::default() });
            gate.waiting.push_back(Arc::clone(&turn));
            return Answer::Wait(assigned, turn);
        }
        // The server did nothing wrong: this end says nothing about it.
        books.desk.finish(assigned.ticket, Outcome { at: request.at, ok: true, first_byte: None });
        Answer::Full
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
        if turn.state.swap(GIVEN_UP, Ordering::AcqRel) == GRANTED {
            books.gate(server).release();
        }
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
    }

    /// Removes a server.
    pub fn leave(&mut self, server: ServerId) {
        self.desk.leave(server);
        self.turn_away(server);
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

impl Gate {
    fn release(&mut self) {
        self.running = self.running.checked_sub(1).expect("every place given up was taken");
        self.fill();
    }

    fn fill(&mut self) {
        while self.limit == 0 || self.running < self.limit {
            let Some(turn) = self.waiting.pop_front() else { return };
            if turn.resolve(GRANTED) {
                self.running += 1;
            }
        }
    }
}

/// How waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// There is a place at the server, and it is ours.
    Granted,
    /// The server takes nothing new any more: ask again.
    TurnedAway,
}

impl Turn {
    fn resolve(&self, state: u8) -> bool {
        let won = self
            .state
            .compare_exchange(WAITING, state, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if won {
            let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        won
    }

    /// How the waiting ended, or `None`: then the task is woken when it does.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Option<Waited> {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        match self.state.load(Ordering::Acquire) {
            WAITING => None,
            GRANTED => Some(Waited::Granted),
            _ => Some(Waited::TurnedAway),
        }
    }
}
