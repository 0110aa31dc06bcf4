//! Who serves a request that could be delivered one way, by the kernel if it can, and otherwise by
//! the relay: one question to the policy for both.

use super::kernel::Decided;
use super::{Ask, Assigned, Books, link};
use crate::journal::Choice;
use policy::{Request, ServerId};

/// Who serves a request that could be delivered one way, and how it gets there.
#[derive(Debug)]
pub enum Course {
    /// The kernel hands it over: nothing is begun.
    OneWay(Decided),
    /// The relay takes it, and need not ask again.
    Relayed(Assigned),
}

impl Ask {
    /// Asks the policy who serves a request that is delivered one way, lets it take note, and tells
    /// the kernel, if there is one, what it may repeat. `None`: no server may be chosen.
    ///
    /// Nothing is begun: the kernel counts the connection when it opens it, and the policy hears
    /// nothing of its end, for nobody here sees the reply. The limits of what servers work on at
    /// once ([`Ask::set_gate`]) and of the crowd ([`Ask::set_crowd`]) do not apply: there is no
    /// place to wait.
    pub fn decide(&self, request: &Request, avoid: &[ServerId]) -> Option<Decided> {
        match self.decide_where(request, avoid, |_| true)? {
            Course::OneWay(decided) => Some(decided),
            Course::Relayed(_) => unreachable!("every server takes connections over"),
        }
    }

    /// The same where not every server `takes` connections over. A request whose server does not is
    /// the relay's: it is begun here, for the relay to go on with what it finds set aside
    /// ([`crate::Shared::set_aside`]). Were it to ask again, the policy would answer twice, and
    /// know nothing of what is on its way there.
    ///
    /// `takes` is called with the desk's lock held.
    pub fn decide_where(
        &self,
        request: &Request,
        avoid: &[ServerId],
        takes: impl FnOnce(ServerId) -> bool,
    ) -> Option<Course> {
        let mut books = self.lock();
        books.look(request.at);
        let offer = books.offer(avoid);
        let assignment = books.ask(request, avoid)?;
        if !takes(assignment.server) {
            return Some(Course::Relayed(books.begun(request, assignment, offer)));
        }
        let version = books.version;
        let Books { desk, link, .. } = &mut *books;
        let repeat = match link {
            Some(link) => link.delivered(desk, request, &assignment),
            None => link::repeat(&assignment, request.at),
        };
        let load_chosen = desk.cluster().load(assignment.server);
        let choice = Choice { load_chosen, ..offer };
        Some(Course::OneWay(Decided { assignment, choice, version, repeat }))
    }
}
