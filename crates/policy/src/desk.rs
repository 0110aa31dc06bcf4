//! The driver of a policy: asks it, tells it, and keeps the books.
//!
//! The switch has one desk behind one lock; the simulator has one; a dispatcher has one. So they
//! decide alike and count alike.

use crate::tape::{Event, Recorder, Seen, Tape};
use crate::{
    Assignment, Change, Class, Cluster, Dice, Edit, Elsewhere, Ended, Instant, Load, Policy,
    Preparation, Report, Request, ServerId, Spec, State, TargetId, Wheel, Why,
};
use core::time::Duration;

/// A policy, its cluster and its dice.
pub struct Desk {
    policy: Box<dyn Policy>,
    cluster: Cluster,
    dice: Dice,
    /// Whether policies are to list what they forget.
    keep_forgotten: bool,
    /// Pieces of work ever begun.
    begun: u64,
    /// Off, it costs a branch for each call.
    recorder: Option<Box<Recorder>>,
}

/// The receipt for work that was given to a server: hand it back to [`Desk::finish`] exactly once.
#[must_use = "a ticket that is dropped is a load that never ends"]
#[derive(Debug)]
pub struct Ticket {
    /// Who has the work.
    pub server: ServerId,
    /// The question it came from.
    pub request: Request,
    amount: Load,
    /// Counts the pieces of work of a desk, from 1 on.
    number: u64,
}

impl Ticket {
    /// For work that was begun before a tape: see [`crate::tape::Older`].
    pub(crate) const fn older(server: ServerId, request: Request, amount: Load) -> Self {
        Self { server, request, amount, number: 0 }
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// How much of the server's load it stands for.
    pub fn amount(&self) -> Load {
        self.amount
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// When.
    pub at: Instant,
    /// Whether the server did its part: false for refused connections, resets and 5xx.
    pub ok: bool,
    /// Time to the first byte of the reply, where one was seen.
    pub first_byte: Option<Duration>,
}

/// What a policy would answer and how it sees the candidates.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The answer it would give now; `None` when no server is up.
    pub answer: Option<Assignment>,
    /// Each usable server with its cost to the policy (lower is better) where it compares costs.
    pub candidates: Vec<(ServerId, Option<f64>)>,
}

impl Desk {
    /// A desk without servers.
    pub fn new(policy: Box<dyn Policy>, cluster: Cluster, seed: u64) -> Self {
        let (dice, keep_forgotten, begun) = (Dice::new(seed), false, 0);
        let mut desk = Self { policy, cluster, dice, keep_forgotten, begun, recorder: None };
        desk.introduce();
        desk
    }

    /// Asks the policy and writes the answer down at once. Servers in `avoid` failed this very
    /// request before: when the policy insists on one, the least loaded other server serves.
    /// `None`: no server may be chosen.
    pub fn assign(
        &mut self,
        request: &Request,
        avoid: &[ServerId],
    ) -> Option<(Assignment, Ticket)> {
        let answer = self.answer(request, avoid);
        let ticket = answer.map(|answer| self.hand_out(answer.server, request, Load::ONE));
        if let Some(recorder) = &mut self.recorder {
            let seen = Seen::of(answer, &self.cluster);
            let work = ticket.as_ref().map(|ticket| recorder.number(ticket));
            let (request, avoid) = (*request, avoid.into());
            recorder.push(|| Event::Assigned { request, avoid, seen, work });
        }
        answer.zip(ticket)
    }

    /// Asks the policy and lets it take note, but leaves the books to the caller: for requests of
    /// a connection that already has its unit of load (see [`crate::Held`]).
    pub fn ask(&mut self, request: &Request, avoid: &[ServerId]) -> Option<Assignment> {
        let answer = self.answer(request, avoid);
        if let Some(recorder) = &mut self.recorder {
            let seen = Seen::of(answer, &self.cluster);
            recorder.push(|| Event::Asked { request: *request, avoid: avoid.into(), seen });
        }
        answer
    }

    #[inline]
    fn answer(&mut self, request: &Request, avoid: &[ServerId]) -> Option<Assignment> {
        let answer = self.policy.decide(request, &self.cluster, &mut self.dice)?;
        self.policy.commit(request, &answer, &self.cluster);
        self.settled(answer, avoid)
    }

    /// The answer of a wheel's turn that fell on `server`, as [`Desk::ask`] would have given it:
    /// the policy is told of the turn later, by [`Desk::turned`].
    pub fn turn(&mut self, server: ServerId, avoid: &[ServerId]) -> Option<Assignment> {
        let answer = self.settled(Assignment::new(server, Why::Rotation), avoid);
        if let Some(recorder) = &mut self.recorder {
            let seen = Seen::of(answer, &self.cluster);
            recorder.push(|| Event::Turn { server, avoid: avoid.into(), seen });
        }
        answer
    }

    /// What becomes of a policy's answer when servers failed this request before, or are ejected.
    fn settled(&self, mut answer: Assignment, avoid: &[ServerId]) -> Option<Assignment> {
        debug_assert!(self.cluster.is_usable(answer.server), "{answer:?}");
        if avoid.contains(&answer.server) {
            let others = self.cluster.usable().iter().copied().filter(|id| !avoid.contains(id));
            let server = self.cluster.least_loaded_of(others)?;
            answer = Assignment { cache: answer.cache, ..Assignment::new(server, Why::Retry) };
        } else if self.cluster.panic()
            && self.cluster.server(answer.server).is_some_and(|s| s.state != State::Up)
        {
            answer.why = Why::Panic;
        }
        Some(answer)
    }

    /// Writes down work that was given without asking, such as a decision that a guard covers or
    /// the share of a batch.
    ///
    /// # Panics
    /// When there is no such server: whoever did not ask just now looks in [`Desk::cluster`] first.
    pub fn begin(&mut self, server: ServerId, request: &Request, amount: Load) -> Ticket {
        let ticket = self.hand_out(server, request, amount);
        if let Some(recorder) = &mut self.recorder {
            let work = recorder.number(&ticket);
            recorder.push(|| Event::Begun { server, request: *request, amount, work });
        }
        ticket
    }

    #[inline]
    fn hand_out(&mut self, server: ServerId, request: &Request, amount: Load) -> Ticket {
        self.cluster.begin(server, amount, request.at);
        self.policy.begun(server, request);
        self.begun += 1;
        Ticket { server, request: *request, amount, number: self.begun }
    }

    /// Changes how much work a ticket stands for.
    pub fn reweigh(&mut self, ticket: &mut Ticket, amount: Load, at: Instant) {
        if let Some(recorder) = &mut self.recorder {
            let work = recorder.work(ticket);
            recorder.push(|| Event::Reweighed { work, amount, at });
        }
        self.cluster.reweigh(ticket.server, ticket.amount, amount, at);
        ticket.amount = amount;
    }

    /// Writes down that work has ended.
    pub fn finish(&mut self, ticket: Ticket, outcome: Outcome) {
        if let Some(recorder) = &mut self.recorder {
            let work = recorder.work(&ticket);
            recorder.push(|| Event::Ended { work, outcome });
        }
        self.cluster.end(ticket.server, ticket.amount, outcome.at);
        let ended = Ended {
            server: ticket.server,
            class: ticket.request.class,
            at: outcome.at,
            took: outcome.at.since(ticket.request.at),
            first_byte: outcome.first_byte,
            ok: outcome.ok,
        };
        self.policy.ended(&ended, &self.cluster);
    }

    /// Writes down that work ended before it came to its server. The policy is not told: of how the
    /// server does, that end says nothing.
    pub fn take_back(&mut self, ticket: Ticket, at: Instant) {
        if let Some(recorder) = &mut self.recorder {
            let work = recorder.work(&ticket);
            recorder.push(|| Event::TakenBack { work, at });
        }
        self.cluster.end(ticket.server, ticket.amount, at);
    }

    /// Replaces what is counted elsewhere for a server: see [`Cluster::elsewhere_all`].
    pub fn elsewhere(&mut self, id: ServerId, count: Elsewhere, at: Instant) {
        self.elsewhere_all(&[(id, count)], at);
    }

    /// Replaces what is counted elsewhere for these servers: see [`Cluster::elsewhere_all`]. Cheap
    /// enough to be called before each question.
    #[inline]
    pub fn elsewhere_all(&mut self, counts: &[(ServerId, Elsewhere)], at: Instant) {
        if let Some(recorder) = &mut self.recorder {
            recorder.counted(counts, at, &self.cluster);
        }
        self.cluster.elsewhere_all(counts, at);
    }

    /// The policy's answers for a class from now on, if they are a cycle: see [`Policy::wheel`].
    pub fn wheel(&self, class: Class) -> Option<Wheel> {
        self.policy.wheel(class, &self.cluster)
    }

    /// Tells the policy that others took turns of its wheel: see [`Policy::turned`].
    pub fn turned(&mut self, class: Class, turns: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(|| Event::Turned { class, turns });
        }
        self.policy.turned(class, turns, &self.cluster);
    }

    /// Starts (or stops) the listing of forgotten targets, with this policy and its successors.
    pub fn keep_forgotten(&mut self, keep: bool) {
        self.keep_forgotten = keep;
        self.policy.keep_forgotten(keep);
    }

    /// Moves the targets that were forgotten since the last call into `into`: see
    /// [`Policy::forgotten`].
    pub fn forgotten(&mut self, into: &mut Vec<TargetId>) {
        self.policy.forgotten(into);
    }

    /// What would be answered now, without answering: nothing changes, not even the dice.
    pub fn explain(&self, request: &Request) -> Explanation {
        let answer = self.policy.decide(request, &self.cluster, &mut self.dice.clone());
        let usable = self.cluster.usable().iter();
        let cost = |id: &ServerId| (*id, self.policy.cost(*id, request, &self.cluster));
        Explanation { answer, candidates: usable.map(cost).collect() }
    }

    /// The cluster as `edit` would make it.
    pub fn preview<T>(&self, edit: impl FnOnce(&mut Edit<'_>) -> T) -> Cluster {
        let mut cluster = self.cluster.clone();
        edit(&mut Edit::of(&mut cluster));
        cluster
    }

    /// The slow part of a change to come, if it has one: run it where it holds nobody up, then make
    /// the change. A driver with a lock around the desk gives it up in between; should the cluster
    /// change otherwise meanwhile, the change just takes longer.
    pub fn prepare<T>(&mut self, edit: impl FnOnce(&mut Edit<'_>) -> T) -> Option<Preparation> {
        let cluster = self.preview(edit);
        self.policy.prepare(&cluster)
    }

    /// Changes the cluster, then tells the policy.
    pub fn change<T>(&mut self, edit: impl FnOnce(&mut Edit<'_>) -> T) -> T {
        let mut edited = match self.recorder {
            Some(_) => Edit::taped(&mut self.cluster),
            None => Edit::of(&mut self.cluster),
        };
        let result = edit(&mut edited);
        let (made, steps) = edited.made();
        if let (Some(recorder), Some(steps)) = (&mut self.recorder, steps) {
            recorder.changed(steps);
        }
        for change in made {
            self.policy.changed(change, &self.cluster);
        }
        result
    }

    /// Replaces the policy and changes the cluster, which the old policy does not hear of any more.
    /// The books stay; the new policy is told of every server. To be quick, it needs to have been
    /// prepared ([`Policy::prepare`]) for what [`Desk::preview`] shows. Returns the old policy too:
    /// it may own a large table, which a driver with a lock gives back without it.
    pub fn replace<T>(
        &mut self,
        policy: Box<dyn Policy>,
        edit: impl FnOnce(&mut Edit<'_>) -> T,
    ) -> (Box<dyn Policy>, T) {
        if let Some(recorder) = &mut self.recorder {
            recorder.replaced();
        }
        let old = core::mem::replace(&mut self.policy, policy);
        if self.keep_forgotten {
            self.policy.keep_forgotten(true);
        }
        self.cluster.begin_epoch();
        let result = edit(&mut Edit::of(&mut self.cluster));
        self.introduce();
        (old, result)
    }

    /// Replaces the policy alone and returns the old one; see [`Desk::replace`].
    pub fn set_policy(&mut self, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        self.replace(policy, |_| ()).0
    }

    /// Adds a server; `None` when every slot is taken.
    pub fn join(&mut self, spec: Spec, state: State, now: Instant) -> Option<ServerId> {
        self.change(|edit| edit.join(spec, state, now))
    }

    /// Removes a server; nothing may map to it afterwards.
    pub fn leave(&mut self, id: ServerId) {
        self.change(|edit| edit.leave(id));
    }

    /// Changes whether a server takes new requests; [`State::Left`] is [`Desk::leave`].
    pub fn set_state(&mut self, id: ServerId, state: State) {
        self.change(|edit| edit.set_state(id, state));
    }

    /// Changes a server's weight and how far its slow start has come.
    pub fn set_share(&mut self, id: ServerId, weight: u32, warmth: u16) {
        self.change(|edit| edit.set_share(id, weight, warmth));
    }

    /// Stores a server's report and tells the policy.
    pub fn report(&mut self, id: ServerId, report: Report) {
        if self.cluster.server(id).is_some() {
            if let Some(recorder) = &mut self.recorder {
                recorder.push(|| Event::Reported { server: id, report });
            }
            self.cluster.set_report(id, report);
            self.policy.reported(id, &report, &self.cluster);
        }
    }

    /// The books, to read.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The policy, to read its gauges.
    pub fn policy(&self) -> &dyn Policy {
        self.policy.as_ref()
    }

    /// Begins a tape, in place of one that runs, and the dice anew.
    ///
    /// The policy must be the one that the recorder names, new: told of its servers by
    /// [`Desk::new`] or [`Desk::replace`] and asked nothing. What it learnt before would be on no
    /// tape.
    pub fn record(&mut self, mut recorder: Recorder) {
        recorder.begin(&self.cluster, self.begun + 1);
        self.dice = Dice::new(recorder.seed());
        self.recorder = Some(Box::new(recorder));
    }

    /// Ends the tape and returns it, if one runs.
    pub fn tape(&mut self) -> Option<Tape> {
        Some(self.recorder.take()?.finish())
    }

    fn introduce(&mut self) {
        // Not those that left: they only have work to finish.
        let stays = self.cluster.servers().filter(|server| server.state != State::Left);
        for id in stays.map(|server| server.id) {
            self.policy.changed(Change::Joined(id), &self.cluster);
        }
    }
}
