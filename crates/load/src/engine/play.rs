//! What users do: they come, ask for pages, think, and leave.

use super::conn::Exchange;
use super::source::Pause;
use super::table::Key;
use super::tally::Span;
use super::user::User;
use super::worker::{Worker, nanoseconds};
use crate::reply::{Fault, Reply};
use crate::{Failure, Manner};
use std::cmp::Reverse;
use std::sync::atomic::Ordering;

/// How long a user without think time waits after a connection was refused, in nanoseconds: a
/// server that is down is not asked a hundred thousand times a second whether it still is.
const REFUSED_NS: u64 = 10_000_000;

/// Lists of requests kept for later.
const SPARE_MAX: usize = 1024;

impl Worker<'_> {
    /// Whether each request has a connection of its own.
    pub(super) fn closing(&self) -> bool {
        matches!(self.scenario.manner, Manner::Closing(_))
    }

    /// A session is due: its user comes, unless there are too many.
    pub(super) fn arrive(&mut self, number: u64, due_ns: u64) {
        self.tally.arrived(due_ns, self.now_ns);
        if self.users.len() >= self.users_max {
            self.tally.turned_away(due_ns);
            return;
        }
        let user = self.users.insert(User::new(number, due_ns));
        self.begin_page(user, due_ns, due_ns);
    }

    /// Closed loop: the next session begins, after `pause_ns`.
    pub(super) fn begin_another(&mut self, pause_ns: u64) {
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        if self.source.sessions().is_some_and(|sessions| number >= sessions) {
            return;
        }
        self.tally.arrived(self.now_ns, self.now_ns);
        let due_ns = self.now_ns + pause_ns;
        let user = self.users.insert(User::new(number, due_ns));
        if pause_ns > 0 {
            self.wakes.push(Reverse((due_ns, user)));
        } else {
            self.begin_page(user, due_ns, self.turn_ns);
        }
    }

    /// A user asks for the next page. The client could have done so at `ready_ns`.
    pub(super) fn begin_page(&mut self, key: Key, due_ns: u64, ready_ns: u64) {
        let Some(user) = self.users.get_mut(key) else { return };
        user.asks = self.spare_asks.pop().unwrap_or_default();
        let alone = self.source.page(user.number, user.page, &mut user.asks);
        let count = user.asks.len() as u32;
        user.begin(due_ns, if alone { 1 } else { count });
        self.dispatch(key, ready_ns);
    }

    /// Does what there is to do for users of whom something is new. Those of whom something is new
    /// again have to wait until others had their turn.
    pub(super) fn serve(&mut self, ready_ns: u64) {
        for _ in 0..self.ready.len() {
            let Some(key) = self.ready.pop_front() else { return };
            match self.users.get(key) {
                Some(user) if user.is_thinking() => {}
                Some(user) if user.left == 0 => self.page_ends(key),
                Some(_) => self.dispatch(key, ready_ns),
                None => {}
            }
        }
    }

    /// Sends what can be sent.
    fn dispatch(&mut self, key: Key, ready_ns: u64) {
        while let Some(user) = self.users.get(key)
            && user.has_more()
        {
            let mut conns = user.conns().iter().copied();
            let idle = conns.find(|conn| self.conns.get(*conn).is_some_and(|conn| conn.is_idle()));
            if idle.is_none() && user.conns().len() >= self.connections {
                return;
            }
            let Some(exchange) = self.next_exchange(key) else { continue };
            match idle.and_then(|conn| self.conns.get_mut(conn).map(|known| (conn, known))) {
                Some((conn, known)) => {
                    known.exchange = Some(exchange);
                    self.send(conn, ready_ns);
                }
                None => {
                    self.tally.sent_late(self.now_ns, self.now_ns.saturating_sub(ready_ns));
                    self.open(key, exchange);
                }
            }
        }
    }

    /// Takes what goes out together; `None` if it cannot be sent at all.
    fn next_exchange(&mut self, key: Key) -> Option<Box<Exchange>> {
        let mut exchange = self.spare_exchanges.pop().unwrap_or_else(|| Box::new(Exchange::new()));
        let pipelined = self.scenario.manner == Manner::Pipelined;
        while let Some(user) = self.users.get_mut(key)
            && let Some(number) = user.take()
        {
            let ask = user.ask(number);
            let context = self.source.context(ask);
            // What may not be asked twice is not sent before its predecessors are answered, nor
            // anything behind it.
            let harmless = context.method.is_idempotent();
            if !harmless && !exchange.asks.is_empty() {
                user.again.push(number);
                break;
            }
            if let Err(fault) = self.source.write(ask, &mut exchange.out) {
                self.settle(key, number, Err(fault), &exchange);
                self.ready.push_back(key);
                continue;
            }
            if exchange.asks.is_empty() {
                exchange.reply = Reply::new(context);
            }
            exchange.asks.push_back(number);
            if !pipelined || !harmless {
                break;
            }
        }
        if exchange.asks.is_empty() {
            exchange.clear();
            self.spare_exchanges.push(exchange);
            return None;
        }
        Some(exchange)
    }

    /// A request is answered or has failed.
    pub(super) fn settle(
        &mut self,
        key: Key,
        number: u32,
        result: Result<(), Fault>,
        exchange: &Exchange,
    ) {
        let Some(user) = self.users.get_mut(key) else { return };
        let ask = user.ask(number);
        let class = self.source.class(ask);
        let now_ns = self.now_ns;
        let succeeded = result.is_ok();
        match result {
            Ok(()) => {
                let span =
                    Span { due_ns: user.group_due_ns, sent_ns: exchange.sent_ns, end_ns: now_ns };
                self.tally.answered(class, exchange.reply.cached, span);
            }
            Err(Fault { cause, detail }) => {
                user.note_failure(cause);
                let source = &mut self.source;
                let span_ns = (user.group_due_ns, now_ns);
                self.tally.failed(class, span_ns, cause, || {
                    let (site, url) = source.name(ask);
                    Failure { cause, detail, target: format!("{site}{url}") }
                });
            }
        }
        if exchange.reply.done() {
            self.tally.received(now_ns, exchange.reply.body_bytes);
        }
        user.settle(number, succeeded, now_ns);
    }

    /// The page is complete, or as complete as it will be.
    fn page_ends(&mut self, key: Key) {
        let now_ns = self.now_ns;
        let Some(user) = self.users.get_mut(key) else { return };
        let class = self.source.class(user.ask(0));
        let span = Span { due_ns: user.page_due_ns, sent_ns: user.page_sent_ns, end_ns: now_ns };
        user.note_page();
        self.tally.page(class, user.failed, span);
        let mut asks = std::mem::take(&mut user.asks);
        asks.clear();
        if self.spare_asks.len() < SPARE_MAX {
            self.spare_asks.push(asks);
        }
        user.page += 1;
        let refused_ns = if user.refused { REFUSED_NS } else { 0 };
        let due_ns = match self.source.pause(user.number, user.page) {
            Some(Pause::Think(think)) => now_ns.saturating_add(nanoseconds(think)),
            // As logged, also where the page before took longer: who waits for it waits.
            Some(Pause::Since(gap)) => user.due_ns.saturating_add(nanoseconds(gap)),
            None => return self.leave(key, refused_ns),
        };
        user.page_due_ns = due_ns;
        let at_ns = due_ns.max(now_ns + refused_ns);
        if at_ns > now_ns {
            self.wakes.push(Reverse((at_ns, key)));
        } else {
            self.begin_page(key, due_ns, self.turn_ns);
        }
    }

    /// A user leaves, and closes the connections.
    fn leave(&mut self, key: Key, refused_ns: u64) {
        let Some(user) = self.users.remove(key) else { return };
        let span = Span { due_ns: user.due_ns, sent_ns: user.sent_ns, end_ns: self.now_ns };
        self.tally.session(user.session_failed, span);
        for conn in user.conns() {
            self.close(*conn);
        }
        if self.shared.is_closed() {
            self.begin_another(refused_ns);
        }
    }
}
