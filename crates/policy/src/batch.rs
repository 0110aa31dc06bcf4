//! The books of a persistent connection that stays with its holder: 1 for the holder while the
//! connection is open, and 1/N for others that serve requests of a batch of N.
//!
//! Aron, Druschel, Zwaenepoel, USENIX ATC 1999. A *batch* is a run of pipelined requests on one
//! connection. A front-end that does not see replies takes earlier requests for finished when a
//! new batch begins or the connection closes, and takes the charges of others back then. N is the
//! number of requests seen so far, so a charge changes while the batch grows. We know the 1/N, not
//! whether a server with j requests of the batch is charged j/N or 1/N: [`Charge`] has both.

use crate::{Desk, Instant, Load, Outcome, Request, ServerId, Ticket};

/// How much a server other than the holder is charged for its part of a batch of N requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charge {
    /// 1/N for each request it serves.
    #[default]
    PerRequest,
    /// 1/N, however many it serves.
    PerServer,
}

/// One server's part of the running batch.
#[derive(Debug)]
struct Part {
    ticket: Ticket,
    requests: u64,
}

/// One open connection in the books.
#[must_use = "a connection that is not closed is a load that never ends"]
#[derive(Debug)]
pub struct Held {
    unit: Ticket,
    charge: Charge,
    /// Requests of the running batch so far: the paper's N.
    seen: u64,
    /// At most one for each server but the holder.
    parts: Vec<Part>,
}

impl Held {
    /// A connection whose first request was assigned: `unit` is the ticket of that answer.
    pub fn open(unit: Ticket, charge: Charge) -> Self {
        Self { unit, charge, seen: 1, parts: Vec::new() }
    }

    /// The server that has the connection.
    pub fn holder(&self) -> ServerId {
        self.unit.server
    }

    /// What the connection adds to the loads of all servers together.
    pub fn charged(&self) -> Load {
        let parts = self.parts.iter().map(|part| part.ticket.amount());
        parts.fold(self.unit.amount(), Load::plus)
    }

    /// A new batch begins: what others did for the one before is over.
    pub fn batch_begin(&mut self, desk: &mut Desk, at: Instant) {
        self.release(desk, at);
        self.seen = 0;
    }

    /// The next request of the batch goes to `server`: the holder, or one from which the holder
    /// fetches it. Every part of the batch now weighs 1/N with the greater N.
    pub fn serve(&mut self, desk: &mut Desk, request: &Request, server: ServerId) {
        self.seen += 1;
        if server != self.holder() {
            match self.parts.iter_mut().find(|part| part.ticket.server == server) {
                Some(part) => part.requests += 1,
                None => {
                    let ticket = desk.begin(server, request, Load::ZERO);
                    self.parts.push(Part { ticket, requests: 1 });
                }
            }
        }
        for part in &mut self.parts {
            let requests = match self.charge {
                Charge::PerRequest => part.requests,
                Charge::PerServer => 1,
            };
            let amount = Load::ONE.scaled(requests, self.seen);
            desk.reweigh(&mut part.ticket, amount, request.at);
        }
    }

    /// The next request of the batch goes to `server` and the connection with it (multiple
    /// hand-off): the unit of load moves, and what the new holder was charged as another is over.
    pub fn move_to(&mut self, desk: &mut Desk, request: &Request, server: ServerId) {
        if server != self.holder() {
            let unit = desk.begin(server, request, Load::ONE);
            let before = core::mem::replace(&mut self.unit, unit);
            desk.finish(before, over(request.at));
            if let Some(at) = self.parts.iter().position(|part| part.ticket.server == server) {
                desk.finish(self.parts.swap_remove(at).ticket, over(request.at));
            }
        }
        self.serve(desk, request, server);
    }

    /// The connection is closed.
    pub fn close(mut self, desk: &mut Desk, outcome: Outcome) {
        self.release(desk, outcome.at);
        desk.finish(self.unit, outcome);
    }

    fn release(&mut self, desk: &mut Desk, at: Instant) {
        for part in self.parts.drain(..) {
            desk.finish(part.ticket, over(at));
        }
    }
}

/// The end of work whose reply nobody here saw.
fn over(at: Instant) -> Outcome {
    Outcome { at, ok: true, first_byte: None }
}
