//! One session: where its user is.

use super::source::Ask;
use super::table::Key;
use crate::Cause;

/// Connections of a user, as browsers have at most.
pub(crate) const CONNECTIONS_MAX: usize = 6;

/// A user who is looking at a page, waiting for it, or thinking.
#[derive(Debug)]
pub(crate) struct User {
    /// The session's number.
    pub(crate) number: u64,
    /// When the session was due.
    pub(crate) due_ns: u64,
    /// When its first byte was sent; 0: not yet.
    pub(crate) sent_ns: u64,
    /// Which page, from 0.
    pub(crate) page: u64,
    /// When the page was due.
    pub(crate) page_due_ns: u64,
    /// When its first byte was sent; 0: not yet.
    pub(crate) page_sent_ns: u64,
    /// When the requests that can be sent were due.
    pub(crate) group_due_ns: u64,
    /// The requests of the page; none while thinking.
    pub(crate) asks: Vec<Ask>,
    /// Those to be sent again.
    pub(crate) again: Vec<u32>,
    /// The next one to be sent, and the end of those that can be.
    pub(crate) next: u32,
    pub(crate) released: u32,
    /// Those neither answered nor failed.
    pub(crate) left: u32,
    /// Why one failed, a time-out before all else, and whether one wanted a connection.
    pub(crate) failed: Option<Cause>,
    pub(crate) refused: bool,
    /// Why one failed of the pages that are over, a time-out before all else.
    pub(crate) session_failed: Option<Cause>,
    conns: [Key; CONNECTIONS_MAX],
    count: u8,
}

impl User {
    pub(crate) fn new(number: u64, due_ns: u64) -> Self {
        Self {
            number,
            due_ns,
            sent_ns: 0,
            page: 0,
            page_due_ns: due_ns,
            page_sent_ns: 0,
            group_due_ns: due_ns,
            asks: Vec::new(),
            again: Vec::new(),
            next: 0,
            released: 0,
            left: 0,
            failed: None,
            refused: false,
            session_failed: None,
            conns: [Key::NONE; CONNECTIONS_MAX],
            count: 0,
        }
    }

    /// Begins a page of which the first `released` requests can be sent.
    pub(crate) fn begin(&mut self, due_ns: u64, released: u32) {
        (self.page_due_ns, self.group_due_ns, self.page_sent_ns) = (due_ns, due_ns, 0);
        (self.next, self.released, self.left) = (0, released, self.asks.len() as u32);
        (self.failed, self.refused) = (None, false);
        self.again.clear();
    }

    /// Whether no page is under way.
    pub(crate) fn is_thinking(&self) -> bool {
        self.asks.is_empty()
    }

    /// Numbers of the requests that are due and were not sent, or are to be sent again.
    pub(crate) fn unsent(&self) -> impl Iterator<Item = u32> {
        (self.next..self.released).chain(self.again.iter().copied())
    }

    /// The page's request of that number.
    pub(crate) fn ask(&self, number: u32) -> Ask {
        self.asks[number as usize]
    }

    /// The first byte of a request goes out.
    pub(crate) fn sent(&mut self, now_ns: u64) {
        for sent_ns in [&mut self.sent_ns, &mut self.page_sent_ns] {
            if *sent_ns == 0 {
                *sent_ns = now_ns;
            }
        }
    }

    pub(crate) fn note_failure(&mut self, cause: Cause) {
        worse(&mut self.failed, Some(cause));
        self.refused |= matches!(cause, Cause::Connect | Cause::Client);
    }

    /// The page is over: what failed of it is what failed of its session.
    pub(crate) fn note_page(&mut self) {
        worse(&mut self.session_failed, self.failed);
    }

    /// A request is answered or has failed. What a page names can be sent when it is there, and
    /// never if it will not be.
    pub(crate) fn settle(&mut self, number: u32, succeeded: bool, now_ns: u64) {
        self.left -= 1;
        let all = self.asks.len() as u32;
        if number == 0 && self.released < all {
            if succeeded {
                self.released = all;
                self.group_due_ns = now_ns;
            } else {
                self.left = 0;
            }
        }
    }

    pub(crate) fn conns(&self) -> &[Key] {
        &self.conns[..usize::from(self.count)]
    }

    pub(crate) fn join(&mut self, conn: Key) {
        self.conns[usize::from(self.count)] = conn;
        self.count += 1;
    }

    pub(crate) fn part(&mut self, conn: Key) {
        let Some(place) = self.conns().iter().position(|known| *known == conn) else { return };
        self.count -= 1;
        self.conns[place] = self.conns[usize::from(self.count)];
    }

    /// Whether there is something to be sent.
    pub(crate) fn has_more(&self) -> bool {
        !self.again.is_empty() || self.next < self.released
    }

    /// Takes the next request to be sent.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.again.pop().or_else(|| {
            (self.next < self.released).then(|| {
                self.next += 1;
                self.next - 1
            })
        })
    }
}

/// Adds another cause: a time-out stays.
fn worse(known: &mut Option<Cause>, cause: Option<Cause>) {
    if *known != Some(Cause::Timeout) {
        *known = cause.or(*known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::conn::Conn;

    #[test]
    fn a_page_that_timed_out_did_so_whatever_else_failed_before_or_after() {
        for causes in [[Cause::Timeout, Cause::Reset], [Cause::Reset, Cause::Timeout]] {
            let mut user = User::new(0, 0);
            causes.into_iter().for_each(|cause| user.note_failure(cause));
            assert_eq!((user.failed, user.refused), (Some(Cause::Timeout), false), "{causes:?}");
        }
    }

    #[test]
    fn a_user_who_thinks_is_small() {
        let bytes = size_of::<User>() + CONNECTIONS_MAX * size_of::<Conn>();
        assert!(bytes <= 512, "{bytes} bytes with all connections");
    }
}
