//! One request and its reply: who serves it, which attempts were made, what is written down.

use crate::access;
use crate::client::Client;
use crate::converse::{Conversation, Failure};
use crate::counters::{Cause, code_class};
use crate::facts::Asked;
use crate::forward::{first_line, identify, last_word, write_first};
use crate::journal::{Short, Tally};
use crate::place::{Admitted, Place};
use crate::pool::{connect, exhausted};
use crate::shared::Backend;
use crate::splice;
use crate::worker::{Mine, Worker};
use policy::{Expect, Outcome, Request, ServerId};
use std::rc::Rc;
use std::sync::Arc;
use wire::http::emit::ErrorEdit;
use wire::http::{Framing, Method, RequestHead, Version, emit};

/// What follows an exchange on the client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The next request.
    KeepAlive,
    /// Nothing.
    Close,
    /// Nothing, but the client may be sending still.
    Linger,
    /// Nothing, and the client must not take what it got for the whole.
    Reset,
}

/// An identifier for `X-Request-Id`, at most this long where the client's is kept.
pub(crate) const ID_BYTES_MAX: usize = 64;

/// A request that must not be sent twice goes only over a connection that was used within this
/// many ticks, one second: a server that closes idle ones is not about to close that.
const FRESH_TICKS: u64 = 10;

/// Seconds after which a client is told to come back when servers are full or gone.
const RETRY_AFTER_S: u32 = 1;

/// A request, as it will be sent to a server, and what is known of it.
pub(crate) struct Exchange {
    pub(crate) live: Rc<Mine>,
    pub(crate) question: Request,
    pub(crate) method: Method,
    pub(crate) version: Version,
    /// Whether the client wants to go on after this.
    pub(crate) keep_alive: bool,
    pub(crate) upgrade: bool,
    /// The head to send, and where its body ends.
    pub(crate) head: Vec<u8>,
    pub(crate) framing: Framing,
    pub(crate) id: Option<Short<ID_BYTES_MAX>>,
    /// Whether the client learns the end of the reply by the end of its connection alone.
    pub(crate) until_close: bool,
    /// When the present attempt's server was given the request.
    asked_at: policy::Instant,
    /// The answer of a request that goes no further than here.
    last_word: Option<(Cause, (u16, &'static str))>,
    route: usize,
    pub(crate) tally: Tally,
    pub(crate) host: Short<64>,
    /// The server that was chosen last, in the table it was chosen from: a reload may have given
    /// its slot to another since the request came.
    server: Option<(Rc<Mine>, ServerId)>,
}

impl Exchange {
    /// Reads what matters out of `head` and writes the head for the server. Bytes behind the head
    /// are left to the caller; `bytes` begins with the head as it came.
    pub(crate) fn begin(
        head: &RequestHead<'_, '_>,
        bytes: &[u8],
        client: &Client,
        worker: &Worker,
        live: Rc<Mine>,
    ) -> Self {
        let asked = Asked(head);
        let verdict = live.rules.judge(&asked);
        let at = worker.shared.clock.now();
        worker.counters().requests.add(1);
        worker.counters().in_flight.add(1);
        worker.shared.budget.earn(live.settings.retry.budget_percent);
        let id = identify(head, &live, worker);
        let mut out = worker.buffer();
        write_first(head, bytes, client, &live, id.as_ref(), &mut out);
        let (class, mut target) = (verdict.class, verdict.target);
        if let (Some(told), Some(stream)) = (&worker.shared.told, &client.stream) {
            target = told.target(&stream.found());
        }
        let question = Request { at, target, class, holder: client.holder };
        Self {
            question,
            method: head.method,
            version: head.version,
            keep_alive: head.keep_alive,
            upgrade: head.upgrade.is_some(),
            head: out,
            framing: head.body,
            id,
            until_close: false,
            last_word: last_word(head, &live.settings.forwarding),
            asked_at: at,
            route: live.route(client.entrance, verdict.rule),
            tally: Tally { local: client.local, ..Tally::new(&question, client.peer) },
            host: Short::cut(head.authority.unwrap_or("").as_bytes()),
            server: None,
            live,
        }
    }

    /// Serves the request and writes down what became of it.
    pub(crate) async fn run(mut self: Box<Self>, client: &mut Client, worker: &Worker) -> After {
        let open = Open(worker);
        let after = self.serve(client, worker).await;
        client.watch.disarm();
        if let Some(stream) = &mut client.stream {
            stream.advance(self.tally.bytes_in);
        }
        self.write_down(worker);
        drop(open);
        worker.recycle(core::mem::take(&mut self.head));
        after
    }

    async fn serve(&mut self, client: &mut Client, worker: &Worker) -> After {
        if let Some((cause, said)) = self.last_word {
            return self.refuse(cause, Some(said), client, worker).await;
        }
        let live = Rc::clone(&self.live);
        let deadline = live.settings.queue_deadline;
        let admitted = match Admitted::wait(worker, client, deadline).await {
            Ok(admitted) => admitted,
            Err(cause) => return self.refuse(cause, None, client, worker).await,
        };
        if admitted.is_some() {
            self.question.at = worker.shared.clock.now();
        }
        let mut avoid: Vec<ServerId> = Vec::new();
        let mut last: Option<Failure> = None;
        loop {
            let found = Place::find(worker, &live, client, &self.question, &avoid).await;
            let place = match (found, last) {
                (Ok(place), _) => place,
                // Nobody is left to try: what the last one did is what went wrong.
                (Err(Cause::NoServer), Some(last)) => {
                    return self.refuse(last.cause, last.said, client, worker).await;
                }
                (Err(cause), _) => {
                    if matches!(cause, Cause::QueueTimeout | Cause::ClientQueue) {
                        let waited = worker.shared.clock.now().since(self.question.at);
                        self.tally.queue_us += micros(waited);
                    }
                    return self.refuse(cause, None, client, worker).await;
                }
            };
            if !place.queued.is_zero() && client.socket.is_reset() {
                return self.refuse(Cause::ClientQueue, None, client, worker).await;
            }
            self.note(&place, worker);
            let result = self.attempt(client, worker, place.backend()).await;
            let failure = match result {
                Ok(after) => {
                    self.settle(place, true, self.tally.status < 500, worker);
                    return after;
                }
                Err(failure) => failure,
            };
            let server = place.backend().id;
            if failure.blames_server() {
                place.backend().counters.of(worker.index).failed.add(1);
                place.backend().observed(false);
            }
            let fine = !failure.blames_server();
            self.settle(place, fine && failure.reply_begun, fine, worker);
            if failure.reply_begun {
                self.tally.cause = failure.cause;
                return if self.until_close { After::Reset } else { After::Close };
            }
            avoid.push(server);
            let useless = failure.blames_client() || failure.cause == Cause::Exhausted;
            if useless || !self.may_repeat(&failure, avoid.len(), worker) {
                return self.refuse(failure.cause, failure.said, client, worker).await;
            }
            last = Some(failure);
        }
    }

    /// Writes into the record who was chosen and why.
    fn note(&mut self, place: &Place<'_>, worker: &Worker) {
        let tally = &mut self.tally;
        if tally.attempts > 0 {
            worker.counters().retries.add(1);
        }
        tally.attempts += 1;
        // The first server that is free at once had the request when its head was whole.
        let at_once = tally.attempts == 1 && place.queued.is_zero();
        self.asked_at = if at_once { tally.at } else { worker.shared.clock.now() };
        self.server = Some(place.table());
        tally.why = Some(place.assignment.why);
        tally.expect = place.assignment.expect;
        tally.choice = place.choice;
        tally.queue_us += micros(place.queued);
        worker.counters().decisions[place.assignment.why.index()].add(1);
        let counters = place.backend().counters.of(worker.index);
        counters.classes[self.question.class.index()].add(1);
        match place.assignment.expect {
            Expect::Hit => counters.expected_hits.add(1),
            Expect::Miss => counters.expected_misses.add(1),
            Expect::Unknown => {}
        }
    }

    /// One attempt at one server. A connection that was idle may turn out to be closed; then the
    /// same server gets a new one.
    async fn attempt(
        &mut self,
        client: &mut Client,
        worker: &Worker,
        backend: &Arc<Backend>,
    ) -> Result<After, Failure> {
        let age_max = if self.repeatable() { u64::MAX } else { FRESH_TICKS };
        // What is joined is not shared, before or after.
        let take = || worker.pool.borrow_mut().take(backend, worker.watches.now(), age_max);
        let pooled = if client.spliced { None } else { take() };
        if let Some(upstream) = pooled {
            worker.counters().server_reuses.add(1);
            let talk = Conversation::new(self, upstream);
            match talk.run(client, worker, backend).await {
                Err(failure) if failure.stale && (!failure.sent || self.repeatable()) => {}
                result => return result,
            }
        }
        worker.counters().server_connects.add(1);
        client.watch.arm(self.live.settings.timeouts.connect);
        let before = worker.shared.clock.now();
        let mut connected = connect(backend, &client.watch).await;
        if connected.as_ref().is_err_and(exhausted) {
            worker.make_room();
            connected = connect(backend, &client.watch).await;
        }
        self.tally.connect_us += micros(worker.shared.clock.now().since(before));
        let upstream = connected.map_err(|error| Failure::connect(exhausted(&error)))?;
        if client.spliced {
            return splice::run(self, upstream, client, worker, backend).await;
        }
        Conversation::new(self, upstream).run(client, worker, backend).await
    }

    /// Whether sending the request twice does no harm, and can be done: its body is not gone.
    fn repeatable(&self) -> bool {
        self.method.is_idempotent() && self.framing.is_empty()
    }

    fn may_repeat(&self, failure: &Failure, attempts: usize, worker: &Worker) -> bool {
        let harmless = !failure.sent || self.repeatable();
        if !harmless || attempts > self.live.settings.retry.attempts as usize {
            return false;
        }
        let granted = worker.shared.budget.spend();
        if !granted {
            worker.counters().retries_refused.add(1);
        }
        granted
    }

    /// Gives the place back and counts what the server did: whether it `answered`, and whether all
    /// was well with it.
    fn settle(&mut self, place: Place<'_>, answered: bool, ok: bool, worker: &Worker) {
        let now = worker.shared.clock.now();
        let tally = &mut self.tally;
        // What this server took, without the queue and without what others did before.
        let before_us = micros(self.asked_at.since(tally.at));
        let first_byte_us = tally.first_byte_us.saturating_sub(before_us);
        let first_byte =
            (tally.first_byte_us > 0).then(|| core::time::Duration::from_micros(first_byte_us));
        if answered {
            let counters = place.backend().counters.of(worker.index);
            counters.answered.add(1);
            counters.bytes_to.add(tally.bytes_in);
            counters.bytes_from.add(tally.bytes_out);
            first_byte.inspect(|_| counters.first_byte.record(first_byte_us));
            tally.total_us = micros(now.since(tally.at)).max(1);
            counters.duration.record(micros(now.since(self.asked_at)));
            if tally.status >= 500 {
                counters.errors.add(1);
            }
            // A gateway error speaks of the server's own trouble; 500 may be one bad page.
            if matches!(tally.status, 502..=504) {
                place.backend().observed(false);
            } else if ok {
                place.backend().observed(true);
            }
        }
        place.give_back(Outcome { at: now, ok, first_byte });
    }

    /// Answers in a server's place, and says why: mostly, that the request cannot be served.
    async fn refuse(
        &mut self,
        cause: Cause,
        said: Option<(u16, &'static str)>,
        client: &mut Client,
        worker: &Worker,
    ) -> After {
        if matches!(cause, Cause::ClientRequest | Cause::ClientQueue) && said.is_none() {
            self.tally.cause = cause;
            return After::Close;
        }
        let (status, reason) = said.unwrap_or(match cause {
            Cause::NoServer => (503, "no server is up"),
            Cause::QueueFull => (503, "the servers are full and the queue too"),
            Cause::QueueTimeout => (503, "the servers are full and no turn came in time"),
            Cause::FirstByteTimeout => (504, "the server did not answer in time"),
            Cause::Connect => (502, "no connection to the server"),
            Cause::Exhausted => (503, "the switch has no connection to spare"),
            _ => (502, "the server closed the connection before it answered"),
        });
        self.tally.cause = cause;
        self.tally.status = status;
        let unread = !self.framing.is_empty();
        // A client of HTTP/1.0 takes silence about it for the announcement of the end.
        let old = self.version == Version::Http10;
        let close = !self.keep_alive || old || unread || worker.stopping.get();
        let id = self.id.map(|id| id.text().into_owned());
        let edit = ErrorEdit {
            close,
            retry_after_s: (status == 503).then_some(RETRY_AFTER_S),
            head_only: self.method == Method::Head,
            request_id: id.as_deref(),
            date: Some(&worker.today()),
        };
        let mut out = worker.buffer();
        self.tally.head_out = emit::error(status, reason, &edit, &mut out) as u64;
        let sent = client.send(&out, self.live.settings.timeouts.body).await;
        self.tally.bytes_out = out.len() as u64;
        worker.recycle(out);
        match (sent, close) {
            (true, false) => After::KeepAlive,
            (true, true) if unread => After::Linger,
            _ => After::Close,
        }
    }

    fn write_down(&mut self, worker: &Worker) {
        let tally = &mut self.tally;
        // Refused before any server had it, or after: the last look at the clock was long ago.
        if tally.total_us == 0 {
            tally.total_us = micros(worker.shared.clock.now().since(tally.at)).max(1);
        }
        let counters = worker.counters();
        counters.causes[tally.cause as usize].add(1);
        counters.bytes_in.add(tally.bytes_in);
        counters.bytes_out.add(tally.bytes_out);
        // Only these two can be a reload's doing: its new table has no place for the request.
        if matches!(tally.cause, Cause::NoServer | Cause::QueueFull)
            && self.live.version != worker.live().version
        {
            counters.cut_by_reload.add(1);
        }
        if tally.status > 0 {
            counters.statuses[code_class(tally.status) - 1].add(1);
        }
        let route = self.live.routes[self.route].counters.of(worker.index);
        let durations = &route.durations[self.version as usize];
        durations[code_class(tally.status)].record(tally.total_us);
        route.replies.count(self.method as u8, tally.status);
        let (method, path) = first_line(&self.head);
        let server = self.server.as_ref().and_then(|(table, id)| table.backend(*id));
        let server = server.map_or("-", |backend| &*backend.name);
        worker.shared.journal.remember(worker.index, |record| {
            record.method.set(method);
            record.path.set(path);
            record.host = self.host;
            record.server.set(server.as_bytes());
            record.tally = self.tally;
        });
        if let Some(format) = self.live.settings.access {
            access::served(self, format, server, worker);
        }
    }
}

/// Counts a request as under way for as long as its task works on it.
struct Open<'w>(&'w Worker);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.counters().in_flight.sub(1);
    }
}

pub(crate) fn micros(span: core::time::Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
