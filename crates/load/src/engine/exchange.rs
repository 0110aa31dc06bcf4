//! What happens on connections: they open, requests go out, replies come, and it ends well or not.

use super::conn::{Conn, Exchange, Flushed, Phase, refused};
use super::table::Key;
use super::worker::Worker;
use crate::Cause;
use crate::reply::{Fault, Reply};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::RecvFlags;

/// Exchanges kept for later; more were under way at once only in a burst.
const SPARE_MAX: usize = 1024;

/// Reads of one connection before others have their turn: a large body on a fast network would
/// otherwise keep everybody waiting, and their latency would be the client's own.
const READS_MAX: usize = 8;

/// What came of bytes.
enum Took {
    /// The reply goes on.
    More,
    /// It goes on, and there may be more to be read already.
    Unread,
    /// The last reply is whole, or the server will send no more; whether the connection can be
    /// used again.
    Done(bool),
    Broken(Fault),
}

impl Worker<'_> {
    /// Something is new about a connection.
    pub(super) fn happened(&mut self, key: Key, flags: EventFlags) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        let gone = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        let news = gone || flags.intersects(EventFlags::IN);
        // It is not announced again.
        conn.gone |= gone;
        match conn.phase {
            Phase::Opening => {
                self.opened(key);
                // What came at once is not announced again.
                if news {
                    self.receive(key);
                }
            }
            Phase::Leaving if news => drop(self.conns.remove(key)),
            // The server has closed an idle connection, or says something that nobody asked for.
            Phase::Open if news && conn.exchange.is_none() => self.close(key),
            Phase::Open => {
                if flags.intersects(EventFlags::OUT) && !self.send(key, self.turn_ns) {
                    return;
                }
                if news {
                    self.receive(key);
                }
            }
            Phase::Leaving => {}
        }
    }

    /// Opens a connection for a user and sends these requests as soon as it is there.
    pub(super) fn open(&mut self, user: Key, exchange: Box<Exchange>) {
        let opened = Conn::open(self.scenario.address, user);
        let failed = match opened {
            Ok(mut conn) => {
                conn.exchange = Some(exchange);
                let key = self.conns.insert(conn);
                if let Some(user) = self.users.get_mut(user) {
                    user.join(key);
                }
                let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                let conn = self.conns.get(key).expect("it was just put there");
                match epoll::add(&self.poll, &conn.socket, EventData::new_u64(key.0), flags) {
                    Ok(()) => return self.heard(key),
                    Err(error) => return self.unopened(key, refused(error)),
                }
            }
            Err(error) => refused(error),
        };
        self.fail_all(user, exchange, &failed);
    }

    /// The kernel knows what became of opening a connection.
    fn opened(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        match rustix::net::sockopt::socket_error(&conn.socket) {
            Ok(Ok(())) => {
                conn.phase = Phase::Open;
                self.tally.connected(self.now_ns);
                self.send(key, self.turn_ns);
            }
            Ok(Err(error)) | Err(error) => self.unopened(key, refused(error)),
        }
    }

    /// No connection was to be had.
    pub(super) fn unopened(&mut self, key: Key, fault: Fault) {
        let Some(mut conn) = self.remove(key) else { return };
        if let Some(exchange) = conn.exchange.take() {
            self.fail_all(conn.user, exchange, &fault);
        }
    }

    fn fail_all(&mut self, user: Key, mut exchange: Box<Exchange>, fault: &Fault) {
        for number in std::mem::take(&mut exchange.asks) {
            self.settle(user, number, Err(fault.clone()), &exchange);
        }
        self.recycle(exchange);
        self.ready.push_back(user);
    }

    /// Sends what is to be sent on a connection; false if that broke it. The client could have
    /// done so at `ready_ns`.
    pub(super) fn send(&mut self, key: Key, ready_ns: u64) -> bool {
        let Some(conn) = self.conns.get_mut(key) else { return false };
        let Some(exchange) = &mut conn.exchange else { return true };
        if exchange.written == exchange.out.len() {
            return true;
        }
        let first = exchange.sent_ns == 0;
        if first {
            exchange.sent_ns = self.now_ns;
        }
        let user = conn.user;
        match conn.flush() {
            Ok(Flushed::Done | Flushed::Blocked) => {}
            Err(error) => {
                self.broke(key, Fault::new(Cause::Reset, std::io::Error::from(error).to_string()));
                return false;
            }
        }
        self.heard(key);
        if first {
            self.tally.sent_late(self.now_ns, self.now_ns.saturating_sub(ready_ns));
            if let Some(user) = self.users.get_mut(user) {
                user.sent(self.now_ns);
            }
        }
        true
    }

    /// Reads what has come on a connection that had to wait for others.
    pub(super) fn receive_more(&mut self, key: Key) {
        if let Some(conn) = self.conns.get_mut(key) {
            conn.unread = false;
            self.receive(key);
        }
    }

    /// Reads what has come, unless that has to wait for others.
    fn receive(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key).filter(|conn| !conn.unread) else { return };
        let Some(mut exchange) = conn.exchange.take() else { return };
        let (user, gone) = (conn.user, conn.gone);
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut reads = 0;
        let took = loop {
            let Some(conn) = self.conns.get(key) else { break Took::More };
            if reads == READS_MAX {
                break Took::Unread;
            }
            reads += 1;
            let came = retry_on_intr(|| {
                rustix::net::recv(&conn.socket, &mut scratch[..], RecvFlags::empty())
            });
            match came {
                Ok((0, _)) => break self.ended(user, &mut exchange),
                Ok((bytes, _)) => {
                    self.now_ns = self.clock.now_ns();
                    if self.time_is_over() {
                        break Took::More;
                    }
                    match self.take(user, &mut exchange, &scratch[..bytes]) {
                        // Less than there was room for: news of more come anew.
                        Took::More if bytes < scratch.len() && !gone => break Took::More,
                        Took::More => {}
                        took => break took,
                    }
                }
                Err(Errno::AGAIN) => break Took::More,
                Err(error) => break Took::Broken(failure(&exchange, &error.into())),
            }
        };
        self.scratch = scratch;
        let Some(conn) = self.conns.get_mut(key) else { return };
        conn.used |= exchange.replied;
        match took {
            Took::More => {
                conn.exchange = Some(exchange);
                self.heard(key);
            }
            // It is not announced again.
            Took::Unread => {
                (conn.exchange, conn.unread) = (Some(exchange), true);
                self.heard(key);
                self.unread.push_back(key);
            }
            Took::Done(keep) => self.done(key, exchange, keep && !gone),
            Took::Broken(fault) => {
                conn.exchange = Some(exchange);
                self.broke(key, fault);
            }
        }
    }

    /// The server has closed the connection.
    fn ended(&mut self, user: Key, exchange: &mut Exchange) -> Took {
        match exchange.reply.closed() {
            Ok(()) => {
                self.finish(user, exchange, 0);
                Took::Done(false)
            }
            Err(fault) => Took::Broken(fault),
        }
    }

    /// Reads replies out of what came.
    fn take(&mut self, user: Key, exchange: &mut Exchange, came: &[u8]) -> Took {
        let mut at = 0;
        loop {
            let Some(ask) = self.users.get(user).map(|user| user.ask(exchange.asks[0])) else {
                return Took::Done(false);
            };
            let fed = match self.source.expected(ask) {
                Some((content, site, url)) => {
                    let mut check = |offset, bytes: &[u8]| content.holds(site, url, offset, bytes);
                    exchange.feed(&came[at..], &self.limits, &mut check)
                }
                None => exchange.feed(&came[at..], &self.limits, &mut |_, _| true),
            };
            match fed {
                Ok(used) => at += used,
                Err(fault) => return Took::Broken(fault),
            }
            if !exchange.reply.done() {
                return Took::More;
            }
            let keep_alive = exchange.reply.keep_alive;
            let last = exchange.asks.len() == 1;
            let surplus = if last { came.len() - at } else { 0 };
            self.finish(user, exchange, surplus);
            if last || !keep_alive {
                return Took::Done(keep_alive && surplus == 0);
            }
            if at == came.len() {
                return Took::More;
            }
        }
    }

    /// Settles the first request of an exchange, whose reply is whole.
    fn finish(&mut self, user: Key, exchange: &mut Exchange, surplus: usize) {
        let Some(number) = exchange.asks.pop_front() else { return };
        let Some(known) = self.users.get(user) else { return };
        let verdict = self.source.verdict(known.ask(number), &exchange.reply, surplus);
        let context = match exchange.asks.front() {
            Some(next) => self.source.context(known.ask(*next)),
            None => super::worker::GET,
        };
        self.settle(user, number, verdict, exchange);
        exchange.replied = true;
        exchange.reply = Reply::new(context);
    }

    /// The exchange is over as far as the server is concerned.
    fn done(&mut self, key: Key, mut exchange: Box<Exchange>, keep: bool) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        let user = conn.user;
        let keep = keep && exchange.written == exchange.out.len() && !self.closing();
        // Replies that will not come on this connection.
        self.again(user, &mut exchange);
        self.recycle(exchange);
        self.ready.push_back(user);
        if keep {
            if let Some(conn) = self.conns.get_mut(key) {
                conn.late_at = u32::MAX;
            }
        } else {
            self.part(user, key);
            self.leave_connection(key);
        }
    }

    /// Lets the server close first, for some time.
    fn leave_connection(&mut self, key: Key) {
        let late_at = self.tick.saturating_add(self.leaving_ticks);
        let Some(conn) = self.conns.get_mut(key) else { return };
        (conn.phase, conn.late_at) = (Phase::Leaving, late_at);
        // It may have done so already, and then nothing new will be said of it.
        let mut rest = [0; 64];
        let came =
            retry_on_intr(|| rustix::net::recv(&conn.socket, &mut rest[..], RecvFlags::empty()));
        if !matches!(came, Err(Errno::AGAIN)) {
            self.conns.remove(key);
        }
    }

    /// A connection is of no use any more, in the middle of an exchange.
    pub(super) fn broke(&mut self, key: Key, fault: Fault) {
        let Some(mut conn) = self.remove(key) else { return };
        let Some(mut exchange) = conn.exchange.take() else { return };
        let user = conn.user;
        if let (Some(&first), Some(known)) = (exchange.asks.front(), self.users.get(user)) {
            // A connection that was idle may have been closed while the request was on its way:
            // as browsers do, ask again on a new one (RFC 9110, 9.2.2; RFC 9112, 9.3.1).
            let harmless = self.source.context(known.ask(first)).method.is_idempotent();
            let idle = (conn.used || exchange.replied) && exchange.is_untouched();
            if !(harmless && idle && fault.cause == Cause::Reset) {
                exchange.asks.pop_front();
                self.tally.received(self.now_ns, exchange.reply.body_bytes);
                self.settle(user, first, Err(fault), &exchange);
            }
        }
        self.again(user, &mut exchange);
        self.recycle(exchange);
        self.ready.push_back(user);
    }

    /// Has the requests of an exchange that were not answered sent again.
    fn again(&mut self, user: Key, exchange: &mut Exchange) {
        let Some(user) = self.users.get_mut(user) else { return };
        for number in exchange.asks.drain(..) {
            user.again.push(number);
            self.tally.resent(self.now_ns);
        }
    }

    /// Closes an idle connection.
    pub(super) fn close(&mut self, key: Key) {
        drop(self.remove(key));
    }

    fn remove(&mut self, key: Key) -> Option<Conn> {
        let conn = self.conns.remove(key)?;
        self.part(conn.user, key);
        Some(conn)
    }

    fn part(&mut self, user: Key, key: Key) {
        if let Some(user) = self.users.get_mut(user) {
            user.part(key);
        }
    }

    fn recycle(&mut self, mut exchange: Box<Exchange>) {
        if self.spare_exchanges.len() < SPARE_MAX {
            exchange.clear();
            self.spare_exchanges.push(exchange);
        }
    }
}

/// What a broken connection is to the request on it.
fn failure(exchange: &Exchange, error: &std::io::Error) -> Fault {
    let cause = if exchange.reply.status == 0 { Cause::Reset } else { Cause::ShortBody };
    Fault::new(cause, error.to_string())
}
