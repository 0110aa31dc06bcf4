//! What a desk was told and what it answered, in order: a plain value, to be played again.
//!
//! A live switch asks and tells its desk from many threads, and only the desk's lock knows in which
//! order. A [`Tape`] has that order, and every answer with the books as they stood then. Whoever
//! plays it to another desk ([`Tape::desk`]) must get the same answers, or the two do not decide
//! alike: this is how the simulator is held to the switch (docs/decisions/0015).
//!
//! A tape is of one policy from its first question on, for what a policy has learnt cannot be
//! copied; so it begins with a new one, and ends when another takes over. It is bounded: a full
//! tape is the beginning of what happened.

use crate::{
    Assignment, Class, Cluster, Desk, Edit, Elsewhere, Entry, Instant, Load, Outcome, Params,
    Report, Request, ServerId, Spec, State, Ticket,
};

/// What happened at a desk.
#[derive(Clone)]
pub struct Tape {
    /// The policy's row.
    pub entry: &'static Entry,
    /// Its parameters.
    pub params: Params,
    /// Where its dice began.
    pub seed: u64,
    /// The servers and their books as they were at the beginning.
    pub cluster: Cluster,
    /// What happened then, in the order in which it happened.
    pub events: Vec<Event>,
    /// Why it ended before it was taken.
    pub end: Option<End>,
}

/// Why a tape ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It had as many events as it may have.
    Full,
    /// Another policy took over.
    Replaced,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// [`Desk::assign`].
    Assigned {
        /// The question.
        request: Request,
        /// Servers that had failed it.
        avoid: Box<[ServerId]>,
        /// What came of it, with the books after the work was begun.
        seen: Seen,
        /// The work, by the number under which it ends.
        work: Option<u64>,
    },
    /// [`Desk::ask`].
    Asked {
        /// The question.
        request: Request,
        /// Servers that had failed it.
        avoid: Box<[ServerId]>,
        /// What came of it.
        seen: Seen,
    },
    /// [`Desk::turn`].
    Turn {
        /// The server on which the turn fell.
        server: ServerId,
        /// Servers that had failed the request.
        avoid: Box<[ServerId]>,
        /// What came of it.
        seen: Seen,
    },
    /// [`Desk::begin`].
    Begun {
        /// Who was given the work.
        server: ServerId,
        /// The question it came from.
        request: Request,
        /// What it weighs.
        amount: Load,
        /// The number under which it ends.
        work: u64,
    },
    /// [`Desk::reweigh`].
    Reweighed {
        /// Which work.
        work: Work,
        /// What it weighs from here on.
        amount: Load,
        /// When.
        at: Instant,
    },
    /// [`Desk::finish`].
    Ended {
        /// Which work.
        work: Work,
        /// How.
        outcome: Outcome,
    },
    /// [`Desk::take_back`].
    TakenBack {
        /// Which work.
        work: Work,
        /// When.
        at: Instant,
    },
    /// [`Desk::elsewhere_all`], where a count was another one.
    Counted {
        /// By server.
        counts: Box<[(ServerId, Elsewhere)]>,
        /// When.
        at: Instant,
    },
    /// [`Desk::turned`].
    Turned {
        /// A class on the wheel.
        class: Class,
        /// How many turns others took.
        turns: u64,
    },
    /// [`Desk::change`].
    Changed(Box<[Step]>),
    /// [`Desk::report`].
    Reported {
        /// Who reported.
        server: ServerId,
        /// What.
        report: Report,
    },
}

/// An answer, and the books as they stood when it was given: a policy that does not look at loads
/// answers alike to wrong books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The answer; `None` when no server may be chosen.
    pub answer: Option<Assignment>,
    /// The load of the server that was chosen.
    pub load: Load,
    /// The load of all servers.
    pub total: Load,
    /// The cluster's epoch.
    pub epoch: u64,
}

/// A piece of work.
#[derive(Clone, Debug)]
pub enum Work {
    /// The one that began with this number.
    Numbered(u64),
    /// One that was begun before the tape.
    Older(Older),
}

/// Work that was begun before the tape: it is in the books with which the tape begins.
#[derive(Clone, Copy, Debug)]
pub struct Older {
    server: ServerId,
    request: Request,
    amount: Load,
}

/// One step of a change: see [`Edit`].
#[derive(Clone, Debug)]
pub enum Step {
    /// [`Edit::join`].
    Join {
        /// Who.
        spec: Spec,
        /// How.
        state: State,
        /// When.
        at: Instant,
        /// The slot that it was given.
        slot: Option<ServerId>,
    },
    /// [`Edit::leave`].
    Leave(ServerId),
    /// [`Edit::set_state`].
    State(ServerId, State),
    /// [`Edit::set_share`].
    Share {
        /// Whose.
        id: ServerId,
        /// As configured.
        weight: u32,
        /// How far its slow start has come.
        warmth: u16,
    },
    /// [`Edit::set_capacity`].
    Capacity(ServerId, Option<u32>),
    /// [`Edit::set_panic_share`].
    PanicShare(f64),
}

impl Tape {
    /// A desk as it was when the tape began.
    pub fn desk(&self) -> Desk {
        Desk::new((self.entry.build)(&self.params), self.cluster.clone(), self.seed)
    }

    /// How many questions are on it.
    pub fn questions(&self) -> usize {
        let asked = |event: &&Event| {
            matches!(event, Event::Assigned { .. } | Event::Asked { .. } | Event::Turn { .. })
        };
        self.events.iter().filter(asked).count()
    }
}

impl Seen {
    /// An answer that was just given, with the books of `cluster`.
    pub fn of(answer: Option<Assignment>, cluster: &Cluster) -> Self {
        let load = answer.map_or(Load::ZERO, |answer| cluster.load(answer.server));
        Self { answer, load, total: cluster.total(), epoch: cluster.epoch() }
    }
}

impl Older {
    /// The ticket that it has.
    pub fn ticket(&self) -> Ticket {
        Ticket::older(self.server, self.request, self.amount)
    }
}

impl Step {
    /// Does it again. False: a server was given another slot than then.
    #[must_use]
    pub fn again(&self, edit: &mut Edit<'_>) -> bool {
        match self {
            Self::Join { spec, state, at, slot } => {
                return edit.join(spec.clone(), *state, *at) == *slot;
            }
            Self::Leave(id) => edit.leave(*id),
            Self::State(id, state) => edit.set_state(*id, *state),
            Self::Share { id, weight, warmth } => edit.set_share(*id, *weight, *warmth),
            Self::Capacity(id, capacity) => edit.set_capacity(*id, *capacity),
            Self::PanicShare(panic_share) => edit.set_panic_share(*panic_share),
        }
        true
    }
}

/// A tape that is being made: see [`Desk::record`].
pub struct Recorder {
    tape: Tape,
    events_max: usize,
    /// Events, and steps of changes.
    used: usize,
    /// The number of the first work that is the tape's own.
    first: u64,
}

impl Recorder {
    /// A blank tape for a policy of row `entry` with `params`, and for dice of `seed`. Room for
    /// `events_max` events is asked of the system here, so that nobody has to wait for it later; it
    /// is used only as the tape grows. A change counts as one event for each of its steps.
    pub fn new(entry: &'static Entry, params: &Params, seed: u64, events_max: usize) -> Self {
        let (params, cluster) = (params.clone(), Cluster::default());
        let events = Vec::with_capacity(events_max);
        let tape = Tape { entry, params, seed, cluster, events, end: None };
        Self { tape, events_max, used: 0, first: 0 }
    }

    pub(crate) fn begin(&mut self, cluster: &Cluster, first: u64) {
        self.tape.cluster = cluster.clone();
        self.first = first;
    }

    pub(crate) fn seed(&self) -> u64 {
        self.tape.seed
    }

    pub(crate) fn finish(self) -> Tape {
        self.tape
    }

    /// The number that work has on the tape.
    pub(crate) fn number(&self, ticket: &Ticket) -> u64 {
        ticket.number().wrapping_sub(self.first)
    }

    pub(crate) fn work(&self, ticket: &Ticket) -> Work {
        if ticket.number() >= self.first {
            return Work::Numbered(self.number(ticket));
        }
        let Ticket { server, request, .. } = *ticket;
        Work::Older(Older { server, request, amount: ticket.amount() })
    }

    pub(crate) fn push(&mut self, event: impl FnOnce() -> Event) {
        self.push_as(1, event);
    }

    /// Something that takes the room of so many events.
    fn push_as(&mut self, room: usize, event: impl FnOnce() -> Event) {
        if self.tape.end.is_some() {
            return;
        }
        if self.used.saturating_add(room) > self.events_max {
            // Nothing that comes later either: what is on the tape has no gap.
            self.tape.end = Some(End::Full);
            return;
        }
        self.used += room;
        self.tape.events.push(event());
    }

    pub(crate) fn counted(
        &mut self,
        counts: &[(ServerId, Elsewhere)],
        at: Instant,
        cluster: &Cluster,
    ) {
        // A look before each question mostly finds what it found before.
        if counts.iter().any(|(id, count)| cluster.counted_elsewhere(*id) != *count) {
            self.push_as(counts.len(), || Event::Counted { counts: counts.into(), at });
        }
    }

    pub(crate) fn changed(&mut self, steps: Vec<Step>) {
        self.push_as(steps.len().max(1), || Event::Changed(steps.into()));
    }

    pub(crate) fn replaced(&mut self) {
        self.tape.end.get_or_insert(End::Replaced);
    }
}
