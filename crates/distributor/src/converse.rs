//! One attempt: the request goes to the server over one connection, the reply comes back.
//!
//! Both directions are polled together, because a server may answer before it has read the whole
//! request, and a client may wait for 100 (Continue) before it sends the rest.

use crate::client::Client;
use crate::counters::Cause;
use crate::exchange::{After, Exchange};
use crate::pool::Upstream;
use crate::pump::{Broke, Pump};
use crate::shared::Backend;
use crate::tunnel;
use crate::worker::Worker;
use core::future::poll_fn;
use core::task::{Context, Poll, ready};
use std::sync::Arc;
use wire::http::BadChunk;
use wire::http::emit::BodyEdit;

/// Why an attempt failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) cause: Cause,
    /// Status and reason to tell the client, where the cause alone says too little.
    pub(crate) said: Option<(u16, &'static str)>,
    /// Whether the server may have seen the request.
    pub(crate) sent: bool,
    /// Whether it was an idle connection that turned out to be closed.
    pub(crate) stale: bool,
    /// Whether the client has seen part of the reply: then nothing can be done any more.
    pub(crate) reply_begun: bool,
}

impl Failure {
    pub(crate) fn of(cause: Cause) -> Self {
        Self { cause, said: None, sent: true, stale: false, reply_begun: false }
    }

    /// No connection was made, because of the server or because of us.
    pub(crate) fn connect(exhausted: bool) -> Self {
        let cause = if exhausted { Cause::Exhausted } else { Cause::Connect };
        Self { sent: false, ..Self::of(cause) }
    }

    /// The body of the request is not what it says it is.
    fn body(bad: BadChunk) -> Self {
        Self { said: Some((bad.status(), bad.why())), ..Self::of(Cause::BadRequest) }
    }

    /// Whether it says something about the server, rather than about the client, about us, or
    /// about a connection that had been idle too long.
    pub(crate) fn blames_server(&self) -> bool {
        !self.stale && self.cause != Cause::Exhausted && !self.blames_client()
    }

    /// Whether the client is the reason: then no other server would do better.
    pub(crate) fn blames_client(&self) -> bool {
        matches!(self.cause, Cause::ClientData | Cause::ClientRequest | Cause::BadRequest)
    }
}

/// An attempt under way.
pub(crate) struct Conversation<'e> {
    pub(crate) exchange: &'e mut Exchange,
    pub(crate) upstream: Upstream,
    head_sent: usize,
    /// The request's body.
    pub(crate) up: Pump,
    /// The server does not read any more; it may have answered all the same.
    up_broken: bool,
    /// The reply's head as far as it has come, when not at once.
    pub(crate) partial: Vec<u8>,
    /// Interim replies that the client has not taken yet, and how many there were.
    pub(crate) interim: Vec<u8>,
    pub(crate) interim_count: u32,
    /// Whether the client has taken one of them in part.
    interim_torn: bool,
    /// The reply's body.
    pub(crate) down: Option<Pump>,
    pub(crate) close: bool,
    pub(crate) upgraded: bool,
    pub(crate) server_stays: bool,
}

impl<'e> Conversation<'e> {
    /// An attempt over `upstream`, nothing sent yet.
    pub(crate) fn new(exchange: &'e mut Exchange, upstream: Upstream) -> Self {
        let up = Pump::new(exchange.framing, &exchange.live.settings.wire, BodyEdit::Keep);
        Self {
            exchange,
            upstream,
            head_sent: 0,
            up,
            up_broken: false,
            partial: Vec::new(),
            interim: Vec::new(),
            interim_count: 0,
            interim_torn: false,
            down: None,
            close: true,
            upgraded: false,
            server_stays: false,
        }
    }

    /// Runs it to its end.
    pub(crate) async fn run(
        mut self,
        client: &mut Client,
        worker: &Worker,
        backend: &Arc<Backend>,
    ) -> Result<After, Failure> {
        let timeouts = self.exchange.live.settings.timeouts;
        let result = self.body_in_hand(client);
        client.watch.arm(if self.up.done() { timeouts.first_byte } else { timeouts.body });
        let mut result = match result {
            Ok(()) => poll_fn(|cx| self.poll_head(cx, client, worker)).await,
            Err(failure) => Err(failure),
        };
        if result.is_ok() && !self.upgraded {
            client.watch.arm(timeouts.body);
            result = poll_fn(|cx| self.poll_body(cx, client, worker)).await;
        }
        self.count(worker);
        if let Err(mut failure) = result {
            failure.sent = self.head_sent > 0;
            // Behind half of a head nothing can be said that the client would understand.
            failure.reply_begun |= self.interim_torn;
            if !failure.sent {
                self.up.return_to(&mut client.inbox);
            }
            return Err(failure);
        }
        if self.upgraded {
            if !self.exchange.framing.is_empty() {
                client.inbox = core::mem::take(&mut self.up.excess);
            }
            let spare = self.down.as_mut().map(Pump::unsent).unwrap_or_default();
            let (upstream, exchange) = (self.upstream, self.exchange);
            let moved = tunnel::run(client, upstream, spare, worker, &timeouts).await;
            exchange.tally.bytes_in += moved.up;
            exchange.tally.bytes_out += moved.down;
            exchange.tally.cause = Cause::Tunnel;
            return Ok(After::Close);
        }
        Ok(self.end(client, worker, backend))
    }

    /// Gives the pump what came of the body along with the head.
    fn body_in_hand(&mut self, client: &mut Client) -> Result<(), Failure> {
        if self.exchange.framing.is_empty() || client.inbox.is_empty() {
            return Ok(());
        }
        let inbox = core::mem::take(&mut client.inbox);
        match self.up.first(&inbox, &mut Vec::new()) {
            Ok(count) => {
                self.up.owe(&inbox[..count]);
                Ok(())
            }
            Err(bad) => Err(Failure::body(bad)),
        }
    }

    /// Ready when the head of the final reply, and what came of its body with it, is on its way.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut Client,
        worker: &Worker,
    ) -> Poll<Result<(), Failure>> {
        let timeouts = self.exchange.live.settings.timeouts;
        loop {
            let mut progress = false;
            if !self.up_broken
                && let Poll::Ready(result) = self.poll_up(cx, client, worker, &mut progress)
            {
                result?;
                if progress {
                    client.watch.arm(timeouts.first_byte);
                }
            } else if progress {
                client.watch.arm(timeouts.body);
            }
            self.poll_interim(cx, client);
            match self.poll_reply(cx, client, worker) {
                Poll::Ready(Ok(false)) => {}
                Poll::Ready(Ok(true)) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(failure)) => return Poll::Ready(Err(failure)),
                Poll::Pending if client.watch.expired(cx) => {
                    let waits_for_client = !self.up_broken && !self.up.done() && self.up.hungry();
                    return Poll::Ready(Err(if waits_for_client {
                        let said = Some((408, "the request's body did not come in time"));
                        Failure { said, ..Failure::of(Cause::ClientRequest) }
                    } else {
                        Failure::of(Cause::FirstByteTimeout)
                    }));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Sends the head and then the body. Ready when both are sent, or the server reads no more.
    fn poll_up(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut Client,
        worker: &Worker,
        progress: &mut bool,
    ) -> Poll<Result<(), Failure>> {
        while self.head_sent < self.exchange.head.len() {
            let rest = &self.exchange.head[self.head_sent..];
            match ready!(self.upstream.socket.poll_write(cx, rest, &[], false)) {
                Ok(count) => {
                    self.head_sent += count;
                    *progress = true;
                }
                Err(_) => {
                    self.up_broken = true;
                    return Poll::Ready(Ok(()));
                }
            }
        }
        if self.up.done() {
            return Poll::Ready(Ok(()));
        }
        let (from, to) = (&mut client.socket, &mut self.upstream.socket);
        match ready!(self.up.poll(cx, from, to, worker, progress)) {
            Ok(()) => Poll::Ready(Ok(())),
            Err(Broke::Sink) => {
                self.up_broken = true;
                Poll::Ready(Ok(()))
            }
            Err(Broke::Source) => Poll::Ready(Err(Failure::of(Cause::ClientRequest))),
            Err(Broke::Framing(bad)) => Poll::Ready(Err(Failure::body(bad))),
        }
    }

    pub(crate) fn poll_interim(&mut self, cx: &mut Context<'_>, client: &mut Client) {
        while !self.interim.is_empty() {
            match client.socket.poll_write(cx, &self.interim, &[], false) {
                Poll::Ready(Ok(count)) => {
                    self.interim.drain(..count);
                    self.interim_torn = !self.interim.is_empty();
                }
                // A client that is gone is noticed at the final reply.
                Poll::Ready(Err(_)) => self.interim.clear(),
                Poll::Pending => return,
            }
        }
    }

    /// Ready when the reply is delivered.
    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut Client,
        worker: &Worker,
    ) -> Poll<Result<(), Failure>> {
        if self.down.as_ref().is_some_and(Pump::done) {
            return Poll::Ready(Ok(()));
        }
        let begun = |cause| Failure { reply_begun: true, ..Failure::of(cause) };
        let mut progress = false;
        if !self.up_broken && !self.up.done() {
            // The reply goes on whatever becomes of the rest of the request.
            if let Poll::Ready(Err(_)) = self.poll_up(cx, client, worker, &mut progress) {
                self.up_broken = true;
            }
        }
        let down = self.down.as_mut().expect("the reply's head comes before its body");
        let (from, to) = (&mut self.upstream.socket, &mut client.socket);
        let cause = match down.poll(cx, from, to, worker, &mut progress) {
            Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
            Poll::Ready(Err(Broke::Source | Broke::Framing(_))) => Cause::ServerData,
            Poll::Ready(Err(Broke::Sink)) => Cause::ClientData,
            Poll::Pending => {
                if progress {
                    client.watch.arm(self.exchange.live.settings.timeouts.body);
                }
                if !client.watch.expired(cx) {
                    return Poll::Pending;
                }
                if down.hungry() { Cause::ServerData } else { Cause::ClientData }
            }
        };
        Poll::Ready(Err(begun(cause)))
    }

    fn count(&mut self, worker: &Worker) {
        self.up.close(worker);
        self.exchange.tally.bytes_in = self.up.moved;
        let mut spliced = self.up.spliced;
        if let Some(down) = &mut self.down {
            down.close(worker);
            self.exchange.tally.bytes_out = down.moved;
            spliced += down.spliced;
        }
        self.exchange.tally.bytes_spliced += spliced;
        worker.counters().bytes_spliced.add(spliced);
    }

    /// The reply is delivered: both connections may serve again.
    fn end(mut self, client: &mut Client, worker: &Worker, backend: &Arc<Backend>) -> After {
        self.exchange.tally.cause = Cause::Complete;
        if self.exchange.until_close {
            client.socket.reset_on_close(false);
        }
        let whole = self.up.done() && !self.up_broken;
        let clean = self.down.as_ref().is_some_and(Pump::clean);
        if self.server_stays && whole && clean && !worker.stopping.get() {
            let most = self.exchange.live.settings.idle_per_server_max;
            let now = worker.watches.now();
            worker.pool.borrow_mut().put(backend, self.upstream, now, most);
        }
        client.holder = Some(backend.id);
        if whole && !self.exchange.framing.is_empty() {
            client.inbox = core::mem::take(&mut self.up.excess);
        }
        match (self.close, whole) {
            (false, true) => After::KeepAlive,
            (true, true) if client.inbox.is_empty() => {
                // By itself, closing would reset the connection if anything had come meanwhile, and
                // the end of the reply, held back for the sake of one packet, would never go out.
                client.socket.shutdown_write();
                After::Close
            }
            // It is sending still: closing at once would reset what it has not read yet.
            _ => After::Linger,
        }
    }
}
