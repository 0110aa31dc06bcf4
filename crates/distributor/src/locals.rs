//! Connections on their way to the relay that came by a listener which hands them over: why they
//! are relayed, and the server where one was chosen for them already. Set aside by whoever decided,
//! taken by the worker that accepts them. What was decided by nobody here the kernel has a reason
//! for.
//!
//! The two decide one after the other about the same request, and the policy must be asked once:
//! what it answered is set aside here with its ticket. A connection may never come, for its client
//! has gone, or its holder has kept it: what nobody takes in a moment goes back to the books.

use crate::ask::Assigned;
use crate::io::Socket;
use crate::shared::Shared;
use policy::{Instant, Request};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// Connections on their way to a worker at most; of those beyond, the oldest are forgotten.
const LOCALS_MAX: usize = 1024;

/// How long what was assigned waits for its connection. Those that come do so at once; one that has
/// to be given up by its holder first may take some of the client's retransmissions, after 0.2, 0.4
/// and 0.8 s. Longer, and what is never taken counts as load for too long.
pub const ASIDE_MAX: Duration = Duration::from_secs(3);

/// The reason of a connection for which none is known: its first segment did not come through the
/// kernel's side, or that has forgotten.
const LOCAL_UNNOTED: &str = "first-segment";

/// The kernel's side, which relays what is no single whole request without asking anybody.
pub trait Reasons: Send + Sync {
    /// Why it relays the connection of `client` to `listener`; `None`: it does not know. Told once.
    /// Asked on the data path, for each connection that nobody here has decided about.
    fn why(&self, client: SocketAddr, listener: SocketAddr) -> Option<&'static str>;
}

/// Connections on their way.
#[derive(Default)]
pub(crate) struct Locals {
    lists: Mutex<Lists>,
    /// Set once, where there is such a side.
    reasons: OnceLock<Weak<dyn Reasons>>,
}

#[derive(Default)]
struct Lists {
    /// Why they are relayed, in the order they came.
    why: VecDeque<(SocketAddr, &'static str)>,
    /// Of these, those that have a server.
    aside: VecDeque<(SocketAddr, Assigned)>,
}

/// What was assigned to a connection's first request, given back when it is not taken.
pub(crate) struct Aside {
    shared: Arc<Shared>,
    assigned: Option<Assigned>,
}

impl Aside {
    /// Takes it, if it is for this question.
    pub(crate) fn take(mut self, question: &Request) -> Option<Assigned> {
        let same = |assigned: &mut Assigned| {
            let Request { target, class, .. } = assigned.ticket.request;
            (target, class) == (question.target, question.class)
        };
        self.assigned.take_if(same)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.shared.put_back(self.assigned.take());
    }
}

impl Shared {
    /// Notes why the connection of `client` is relayed, before it can be accepted, and keeps what
    /// was assigned to its request, if somebody asked.
    pub fn set_aside(&self, client: SocketAddr, why: &'static str, assigned: Option<Assigned>) {
        let mut lists = self.locals.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.why.len() == LOCALS_MAX {
            lists.why.pop_front();
        }
        lists.why.push_back((client, why));
        // The client has repeated its segment, or it is the next one of the same connection.
        let old = lists.take_aside(client);
        let mut oldest = None;
        if let Some(assigned) = assigned {
            if lists.aside.len() == LOCALS_MAX {
                oldest = lists.aside.pop_front();
            }
            lists.aside.push_back((client, assigned));
        }
        drop(lists);
        self.put_back(old.into_iter().chain(oldest.map(|(_, assigned)| assigned)));
    }

    /// Gives back what was assigned at `before` or earlier and that nobody has taken. Called now
    /// and then by whoever sets it aside, with [`ASIDE_MAX`] of patience.
    pub fn return_untaken(&self, before: Instant) {
        let mut lists = self.locals.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let late = |(_, aside): &(SocketAddr, Assigned)| aside.ticket.request.at > before;
        let end = lists.aside.iter().position(late).unwrap_or(lists.aside.len());
        let old: Vec<_> = lists.aside.drain(..end).collect();
        drop(lists);
        self.put_back(old.into_iter().map(|(_, assigned)| assigned));
    }

    /// Gives back what was assigned and is not needed.
    pub fn put_back(&self, unused: impl IntoIterator<Item = Assigned>) {
        for Assigned { ticket, .. } in unused {
            self.ask.put_back(ticket, self.clock.now());
        }
    }

    /// Has connections that nobody has decided about asked for here, as long as it is there. The
    /// first one that is given stays.
    pub fn set_reasons(&self, reasons: Weak<dyn Reasons>) {
        let _first = self.locals.reasons.set(reasons);
    }

    /// Takes what there is for the connection of `client`, mostly the first there is: why it is
    /// relayed, and what was assigned to it.
    pub(crate) fn take_local(
        self: &Arc<Self>,
        client: SocketAddr,
        socket: &Socket,
    ) -> (&'static str, Option<Aside>) {
        let mut lists = self.locals.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let at = lists.why.iter().position(|(other, _)| *other == client);
        let why = at.and_then(|at| lists.why.remove(at)).map(|(_, why)| why);
        let assigned = lists.take_aside(client);
        drop(lists);
        let aside =
            assigned.map(|assigned| Aside { shared: Arc::clone(self), assigned: Some(assigned) });
        let why = why.or_else(|| self.locals.reason(client, socket));
        (why.unwrap_or(LOCAL_UNNOTED), aside)
    }
}

impl Locals {
    /// What the kernel's side says.
    fn reason(&self, client: SocketAddr, socket: &Socket) -> Option<&'static str> {
        let reasons = self.reasons.get()?.upgrade()?;
        reasons.why(client, socket.local_address()?)
    }
}

impl Lists {
    fn take_aside(&mut self, client: SocketAddr) -> Option<Assigned> {
        let at = self.aside.iter().position(|(other, _)| *other == client)?;
        self.aside.remove(at).map(|(_, assigned)| assigned)
    }
}
