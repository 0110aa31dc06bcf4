//! A place at a server: asked for, waited for where the server is full, and given back however the
//! request ends.

use crate::ask::{Answer, Assigned};
use crate::client::Client;
use crate::counters::Cause;
use crate::gate::{Turn, Waited};
use crate::journal::Choice;
use crate::shared::Backend;
use crate::worker::{Mine, Worker};
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use policy::{Assignment, Outcome, Request, ServerId, Ticket};
use std::rc::Rc;
use std::sync::Arc;

/// A place at a server.
pub(crate) struct Place<'w> {
    worker: &'w Worker,
    ticket: Option<Ticket>,
    /// The table that the slot refers to.
    live: Rc<Mine>,
    id: ServerId,
    pub(crate) assignment: Assignment,
    pub(crate) choice: Choice,
    /// How long it was waited for.
    pub(crate) queued: Duration,
}

impl<'w> Place<'w> {
    /// Asks who serves and waits for the turn. On failure: the cause.
    pub(crate) async fn find(
        worker: &'w Worker,
        live: &Rc<Mine>,
        client: &mut Client,
        question: &Request,
        avoid: &[ServerId],
    ) -> Result<Self, Cause> {
        let mut queued = Duration::ZERO;
        loop {
            let mut question = *question;
            if !avoid.is_empty() {
                question.at = worker.shared.clock.now();
            }
            // Of a request that nobody has tried yet.
            let before = client.aside.take().filter(|_| avoid.is_empty());
            let before = before.and_then(|aside| aside.take(&question));
            match worker.shared.ask.admit(before, &question, avoid) {
                Answer::Go(assigned) => {
                    if let Some(place) = Self::taken(worker, live, assigned, queued) {
                        return Ok(place);
                    }
                }
                Answer::Wait(assigned, turn) => {
                    let line = Line { worker, held: Some((assigned, turn)) };
                    let before = worker.shared.clock.now();
                    // One deadline for the whole of it, however often the queue is changed.
                    let patience = live.settings.queue_deadline.saturating_sub(queued);
                    let waited = wait(line.turn(), client, patience).await?;
                    queued += worker.shared.clock.now().since(before);
                    match waited {
                        Waited::Granted => {
                            let assigned = line.granted();
                            if let Some(place) = Self::taken(worker, live, assigned, queued) {
                                return Ok(place);
                            }
                        }
                        Waited::TurnedAway => drop(line),
                    }
                }
                Answer::Full => return Err(Cause::QueueFull),
                Answer::NoServer => return Err(Cause::NoServer),
            }
        }
    }

    /// `None`: a reload gave the slot to another server between question and answer; ask again.
    fn taken(
        worker: &'w Worker,
        live: &Rc<Mine>,
        assigned: Assigned,
        queued: Duration,
    ) -> Option<Self> {
        let Assigned { assignment, ticket, choice, version } = assigned;
        let live = if version == live.version { Rc::clone(live) } else { worker.live() };
        let id = ticket.server;
        if live.backend(id).is_none() {
            let at = worker.shared.clock.now();
            worker.shared.ask.take_back(ticket, at);
            return None;
        }
        let ticket = Some(ticket);
        Some(Self { worker, ticket, live, id, assignment, choice, queued })
    }

    /// Where to find the server later, by its slot.
    pub(crate) fn table(&self) -> (Rc<Mine>, ServerId) {
        (Rc::clone(&self.live), self.id)
    }

    /// The server.
    pub(crate) fn backend(&self) -> &Arc<Backend> {
        self.live.backend(self.id).expect("a place is only taken at a server of its table")
    }

    /// Gives the place back, with what became of the request.
    pub(crate) fn give_back(mut self, outcome: Outcome) {
        if let Some(ticket) = self.ticket.take() {
            self.worker.shared.ask.finish(ticket, outcome);
        }
    }
}

impl Drop for Place<'_> {
    /// The task was ended from outside, or the client left: nothing is known against the server.
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let at = self.worker.shared.clock.now();
            self.worker.shared.ask.take_back(ticket, at);
        }
    }
}

/// Admission to the cluster, given back when dropped.
pub(crate) struct Admitted<'w> {
    worker: &'w Worker,
    turn: Arc<Turn>,
}

impl<'w> Admitted<'w> {
    /// Waits to be let in where the cluster is limited; `None` where it is not.
    pub(crate) async fn wait(
        worker: &'w Worker,
        client: &mut Client,
        deadline: Duration,
    ) -> Result<Option<Self>, Cause> {
        if !worker.shared.ask.limited() {
            return Ok(None);
        }
        let turn = worker.shared.ask.enter().ok_or(Cause::QueueFull)?;
        let admitted = Self { worker, turn };
        wait(&admitted.turn, client, deadline).await?;
        Ok(Some(admitted))
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.worker.shared.ask.leave(&self.turn);
    }
}

/// Waits for a turn: how that ended, or why it did not come: the deadline, or a client that is gone
/// and whose place is for somebody who is still there.
async fn wait(turn: &Turn, client: &mut Client, patience: Duration) -> Result<Waited, Cause> {
    let Client { socket, watch, .. } = client;
    watch.arm(patience);
    let mut gone = pin!(socket.reset());
    let waited = poll_fn(|cx| match turn.poll(cx) {
        Some(waited) => Poll::Ready(Ok(waited)),
        None if gone.as_mut().poll(cx).is_ready() => Poll::Ready(Err(Cause::ClientQueue)),
        None if watch.expired(cx) => Poll::Ready(Err(Cause::QueueTimeout)),
        None => Poll::Pending,
    });
    let waited = waited.await;
    watch.disarm();
    waited
}

/// A place in a server's queue, left when dropped.
struct Line<'w> {
    worker: &'w Worker,
    held: Option<(Assigned, Arc<Turn>)>,
}

impl Line<'_> {
    fn turn(&self) -> &Turn {
        &self.held.as_ref().expect("a line is held until it is granted").1
    }

    fn granted(mut self) -> Assigned {
        self.held.take().expect("a line is held until it is granted").0
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if let Some((assigned, turn)) = self.held.take() {
            let at = self.worker.shared.clock.now();
            self.worker.shared.ask.give_up(assigned.ticket, &turn, at);
        }
    }
}
