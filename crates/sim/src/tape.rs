//! A tape of a live switch, played to the simulator's desk: do the two decide alike?
//!
//! The calendar of this driver is the tape: what was asked is asked, what ended ends, at the times
//! and with the outcomes of the live switch and in the order in which its desk heard of them. (The
//! order by time is another one: a worker reads the clock before it waits for the desk's lock.) The
//! desk is asked and told by the [`Clerk`] of all other drivers. Every answer is compared whole,
//! with reason, expectation and guard, and with the books as they stood.

use crate::Clerk;
use core::fmt;
use policy::tape::{Event, Seen, Step, Tape, Work};
use policy::{Request, ServerId, Ticket};
use std::collections::BTreeMap;

/// What a tape had on it, all of which came out the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Questions.
    pub decisions: usize,
    /// Of them, asked again because a server had failed the request or was full.
    pub again: usize,
    /// Pieces of work that ended.
    pub ends: usize,
    /// Of them, those of which the server did not do its part.
    pub failures: usize,
    /// Changes of the servers.
    pub changes: usize,
    /// Reports of servers.
    pub reports: usize,
    /// Most work under way at once, as far as it began on the tape.
    pub open_max: usize,
}

/// The first event that did not come out the same. What follows would only follow from it.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The event's place on the tape, from 0.
    pub position: usize,
    /// Questions before it, all answered alike.
    pub decisions: usize,
    /// What is different.
    pub difference: Difference,
}

/// How two desks differ.
#[derive(Clone, Debug)]
pub enum Difference {
    /// Another answer, or other books.
    Answer {
        /// The question; a turn of a wheel has none.
        request: Option<Request>,
        /// Servers that were not to be chosen.
        avoid: Box<[ServerId]>,
        /// What the switch answered.
        live: Box<Seen>,
        /// What the simulator answers.
        played: Box<Seen>,
    },
    /// A server was given another slot.
    Slot(Box<[Step]>),
    /// The event refers to work, or a server, that is not there: the tape is not one of a desk.
    Unknown(Box<Event>),
}

/// Plays a tape.
///
/// # Errors
/// The first difference.
pub fn play(tape: &Tape) -> Result<Agreement, Disagreement> {
    let (clerk, open) = (Clerk::of(tape), BTreeMap::new());
    let mut player = Player { clerk, open, seen: Agreement::default() };
    for (position, event) in tape.events.iter().enumerate() {
        let decisions = player.seen.decisions;
        player.step(event).map_err(|difference| Disagreement {
            position,
            decisions,
            difference,
        })?;
    }
    Ok(player.seen)
}

struct Player {
    clerk: Clerk,
    /// Work under way, by its number on the tape.
    open: BTreeMap<u64, Ticket>,
    seen: Agreement,
}

impl Player {
    fn step(&mut self, event: &Event) -> Result<(), Difference> {
        match event {
            Event::Assigned { request, avoid, seen, work } => {
                let given = self.clerk.assign(request, avoid);
                let answer = given.as_ref().map(|(answer, _)| *answer);
                if let (Some((_, ticket)), Some(work)) = (given, work) {
                    self.hold(*work, ticket);
                }
                let played = Seen::of(answer, self.clerk.cluster());
                self.compare(Some(request), avoid, seen, played)?;
            }
            Event::Asked { request, avoid, seen } => {
                let played = Seen::of(self.clerk.ask(request, avoid), self.clerk.cluster());
                self.compare(Some(request), avoid, seen, played)?;
            }
            Event::Turn { server, avoid, seen } => {
                if !self.clerk.cluster().is_usable(*server) {
                    return Err(Difference::Unknown(Box::new(event.clone())));
                }
                let played = Seen::of(self.clerk.turn(*server, avoid), self.clerk.cluster());
                self.compare(None, avoid, seen, played)?;
            }
            Event::Begun { server, request, amount, work } => {
                if self.clerk.cluster().server(*server).is_none() {
                    return Err(Difference::Unknown(Box::new(event.clone())));
                }
                let ticket = self.clerk.begin(*server, request, *amount);
                self.hold(*work, ticket);
            }
            Event::Reweighed { work, amount, at } => {
                let mut ticket = self.ticket(work, event)?;
                self.clerk.reweigh(&mut ticket, *amount, *at);
                if let Work::Numbered(number) = work {
                    self.hold(*number, ticket);
                }
            }
            Event::Ended { work, outcome } => {
                let ticket = self.ticket(work, event)?;
                self.clerk.end(ticket, *outcome);
                self.seen.ends += 1;
                self.seen.failures += usize::from(!outcome.ok);
            }
            Event::TakenBack { work, at } => {
                let ticket = self.ticket(work, event)?;
                self.clerk.take_back(ticket, *at);
            }
            Event::Counted { counts, at } => self.clerk.counted(counts, *at),
            Event::Turned { class, turns } => self.clerk.turned(*class, *turns),
            Event::Changed(steps) => {
                self.seen.changes += 1;
                if !self.clerk.change(steps) {
                    return Err(Difference::Slot(steps.clone()));
                }
            }
            Event::Reported { server, report } => {
                self.clerk.report(*server, *report);
                self.seen.reports += 1;
            }
        }
        Ok(())
    }

    fn compare(
        &mut self,
        request: Option<&Request>,
        avoid: &[ServerId],
        live: &Seen,
        played: Seen,
    ) -> Result<(), Difference> {
        if *live != played {
            let (live, played) = (Box::new(*live), Box::new(played));
            let (request, avoid) = (request.copied(), avoid.into());
            return Err(Difference::Answer { request, avoid, live, played });
        }
        self.seen.decisions += 1;
        self.seen.again += usize::from(!avoid.is_empty());
        Ok(())
    }

    fn hold(&mut self, work: u64, ticket: Ticket) {
        self.open.insert(work, ticket);
        self.seen.open_max = self.seen.open_max.max(self.open.len());
    }

    fn ticket(&mut self, work: &Work, event: &Event) -> Result<Ticket, Difference> {
        let found = match work {
            Work::Numbered(number) => self.open.remove(number),
            Work::Older(older) => Some(older.ticket()),
        };
        found.ok_or_else(|| Difference::Unknown(Box::new(event.clone())))
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { decisions, again, ends, failures, changes, reports, open_max } = self;
        write!(
            f,
            "{decisions} decisions, {decisions} equal ({again} of them further attempts; {ends} \
             ends, {failures} of them failures; {changes} changes, {reports} reports, at most \
             {open_max} at once)"
        )
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position, decisions, difference } = self;
        write!(f, "event {position}, after {decisions} equal decisions: ")?;
        match difference {
            Difference::Answer { request, avoid, live, played } => {
                write!(f, "asked {request:?} but not {avoid:?}: live {live:?}, ")?;
                write!(f, "simulated {played:?}")
            }
            Difference::Slot(steps) => write!(f, "another slot than live after {steps:?}"),
            Difference::Unknown(event) => write!(f, "nothing here that is meant by {event:?}"),
        }
    }
}
