//! One client after another: plays sessions, each on its own connection.
//!
//! When a request is *due*: the first of a session when the session begins, so that opening the
//! connection counts; a batch when the gap before it has passed and all replies to the batch before
//! have come; a request within a batch with the batch when pipelining, else when the reply to the
//! one before has come, for a client without pipelining cannot send it earlier.

use crate::connection::{Broken, Connection, Wires};
use crate::reply::{Fault, Reply};
use crate::{Cause, Options, Report};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::http::emit::HeadBuilder;
use wire::http::{Method, RequestContext};
use workload::{Entry, Plan, Session, Target};

/// Requests of a batch that are under way together; more would let both sides block on writing.
const PIPELINE_MAX: usize = 32;

/// What all clients of a replay share.
pub(crate) struct Shared {
    pub plan: Arc<Plan>,
    pub options: Options,
    pub wires: Wires,
    pub report: RefCell<Report>,
    /// The session that begins next.
    pub next: Cell<usize>,
}

/// The replay is being stopped.
struct Stopped;

/// Plays sessions of the plan until there is none left or the replay is stopped.
pub(crate) async fn run(shared: Rc<Shared>, slot: usize) {
    let mut client = Client { shared: &shared, slot, connection: None, heads: Vec::new() };
    loop {
        let number = shared.next.get();
        let Some(session) = shared.plan.sessions.get(number) else { return };
        if shared.wires.watch.stopping() {
            return;
        }
        shared.next.set(number + 1);
        shared.report.borrow_mut().sessions += 1;
        if client.session(session).await.is_err() {
            return;
        }
    }
}

struct Client<'a> {
    shared: &'a Shared,
    slot: usize,
    connection: Option<Connection>,
    /// Heads that are sent together.
    heads: Vec<u8>,
}

impl Client<'_> {
    async fn session(&mut self, session: Session<'_>) -> Result<(), Stopped> {
        let began = Instant::now();
        let requests = &self.shared.plan.trace.requests;
        let first_ms = requests[session.requests()[0] as usize].at_ms;
        for batch in session.batches() {
            if let Some(speed) = self.shared.options.speed {
                let gap_ms = requests[batch[0] as usize].at_ms - first_ms;
                let due = began + Duration::from_millis(gap_ms).div_f64(speed.max(1e-6));
                self.sleep_until(due).await?;
            }
            // Not the time the gap ended, if the batch before took longer than that.
            let due = if batch[0] == session.requests()[0] { began } else { Instant::now() };
            // What may not be asked twice is not asked before its predecessors are answered.
            let asks_twice =
                |&number: &u32| context(&self.shared.plan, number).method.is_idempotent();
            if self.shared.options.pipelining && batch.len() > 1 && batch.iter().all(asks_twice) {
                for part in batch.chunks(PIPELINE_MAX) {
                    self.together(part, due).await?;
                }
            } else {
                self.in_turn(batch, due).await?;
            }
        }
        // The client leaves: a connection is closed with its session.
        self.connection = None;
        Ok(())
    }

    async fn sleep_until(&self, due: Instant) -> Result<(), Stopped> {
        if due <= Instant::now() {
            return Ok(());
        }
        let mut sleep = pin!(tokio::time::sleep_until(due.into()));
        let watch = &self.shared.wires.watch;
        watch
            .wait(self.slot, None, |context| sleep.as_mut().poll(context))
            .await
            .map_err(|_| Stopped)
    }

    /// Asks one after another.
    async fn in_turn(&mut self, batch: &[u32], mut due: Instant) -> Result<(), Stopped> {
        for &number in batch {
            self.ask(number, due).await?;
            due = Instant::now();
        }
        Ok(())
    }

    /// Sends all requests, then reads the replies. What a lost connection leaves unanswered is
    /// asked for in turn.
    async fn together(&mut self, batch: &[u32], due: Instant) -> Result<(), Stopped> {
        let shared = self.shared;
        self.heads.clear();
        for &number in batch {
            if write_head(&shared.plan, number, &mut self.heads).is_err() {
                return self.in_turn(batch, due).await;
            }
        }
        let (mut connection, used) = match self.connection.take() {
            Some(connection) => (connection, true),
            None => match self.open().await? {
                Ok(connection) => (connection, false),
                Err(_) => return self.in_turn(batch, due).await,
            },
        };
        let mut settled = 0;
        let mut ended = connection.send(&self.heads, self.slot, &shared.wires).await;
        while ended.is_ok() && settled < batch.len() {
            let number = batch[settled];
            match receive(shared, &mut connection, number, self.slot).await {
                Ok(reply) => {
                    settled += 1;
                    // Until the last reply, more bytes are what is to come.
                    let last = settled == batch.len();
                    let surplus = if last { connection.surplus() } else { 0 };
                    settle(shared, number, &reply, surplus, due);
                    if !reply.keep_alive || surplus > 0 {
                        return self.again(&batch[settled..], due).await;
                    }
                }
                Err(broken) => ended = Err(broken),
            }
        }
        match ended {
            Ok(()) => self.connection = Some(connection),
            Err(Broken::Stopped) => return Err(Stopped),
            Err(Broken::Lost(_)) if used || settled > 0 => {}
            // The request itself went wrong, so it is not asked again; its followers are.
            Err(Broken::Lost(fault) | Broken::Failed(fault)) => {
                fail(shared, batch[settled], fault);
                settled += 1;
            }
        }
        self.again(&batch[settled..], due).await
    }

    /// Asks in turn for what was sent and not answered.
    async fn again(&mut self, batch: &[u32], due: Instant) -> Result<(), Stopped> {
        self.shared.report.borrow_mut().resent += batch.len() as u64;
        self.in_turn(batch, due).await
    }

    /// Asks for one thing and settles it: answered or failed.
    async fn ask(&mut self, number: u32, due: Instant) -> Result<(), Stopped> {
        let shared = self.shared;
        self.heads.clear();
        if let Err(fault) = write_head(&shared.plan, number, &mut self.heads) {
            fail(shared, number, fault);
            return Ok(());
        }
        loop {
            let (mut connection, used) = match self.connection.take() {
                Some(connection) => (connection, true),
                None => match self.open().await? {
                    Ok(connection) => (connection, false),
                    Err(fault) => {
                        fail(shared, number, fault);
                        return Ok(());
                    }
                },
            };
            let reply = match connection.send(&self.heads, self.slot, &shared.wires).await {
                Ok(()) => receive(shared, &mut connection, number, self.slot).await,
                Err(broken) => Err(broken),
            };
            match reply {
                Ok(reply) => {
                    let surplus = connection.surplus();
                    settle(shared, number, &reply, surplus, due);
                    self.connection = Some(connection).filter(|_| reply.keep_alive && surplus == 0);
                    return Ok(());
                }
                // As browsers do (RFC 9110, 9.2.2; RFC 9112, 9.3.1), on a new connection.
                Err(Broken::Lost(_))
                    if used && context(&shared.plan, number).method.is_idempotent() =>
                {
                    shared.report.borrow_mut().resent += 1;
                }
                Err(Broken::Lost(fault) | Broken::Failed(fault)) => {
                    fail(shared, number, fault);
                    return Ok(());
                }
                Err(Broken::Stopped) => return Err(Stopped),
            }
        }
    }

    async fn open(&self) -> Result<Result<Connection, Fault>, Stopped> {
        let shared = self.shared;
        match Connection::open(shared.options.address, self.slot, &shared.wires).await {
            Ok(connection) => {
                shared.report.borrow_mut().connections += 1;
                Ok(Ok(connection))
            }
            Err(Broken::Lost(fault) | Broken::Failed(fault)) => Ok(Err(fault)),
            Err(Broken::Stopped) => Err(Stopped),
        }
    }
}

/// The request with this number, and what it names.
fn asked(plan: &Plan, number: u32) -> (&Entry, &Target) {
    let entry = &plan.trace.requests[number as usize];
    (entry, plan.trace.target(entry))
}

fn context(plan: &Plan, number: u32) -> RequestContext {
    let method = plan.trace.method(asked(plan, number).0);
    RequestContext { method: Method::named(method), upgrade: false }
}

fn write_head(plan: &Plan, number: u32, out: &mut Vec<u8>) -> Result<(), Fault> {
    let (entry, target) = asked(plan, number);
    let method = plan.trace.method(entry);
    let head = HeadBuilder::request(method, &target.url, out)
        .field("Host", plan.trace.site(target).as_bytes());
    // The trace has no bodies; a server may want to be told so.
    let head = match Method::named(method) {
        Method::Post | Method::Put | Method::Patch => head.number("Content-Length", 0),
        _ => head,
    };
    head.end().map_err(|_| Fault::new(Cause::Unsendable, "no valid HTTP/1.1 request"))
}

async fn receive(
    shared: &Shared,
    connection: &mut Connection,
    number: u32,
    slot: usize,
) -> Result<Reply, Broken> {
    let mut reply = Reply::new(context(&shared.plan, number));
    let (_, target) = asked(&shared.plan, number);
    let site = shared.plan.trace.site(target);
    let result = match &shared.options.content {
        Some(content) => {
            let check = |offset, bytes: &[u8]| content.holds(site, &target.url, offset, bytes);
            connection.receive(&mut reply, slot, &shared.wires, check).await
        }
        None => connection.receive(&mut reply, slot, &shared.wires, |_, _| true).await,
    };
    shared.report.borrow_mut().body_bytes += reply.body_bytes;
    result.map(|()| reply)
}

/// Counts a reply that came to its end: as an answer, or as what is wrong with it.
fn settle(shared: &Shared, number: u32, reply: &Reply, surplus: usize, due: Instant) {
    match verdict(shared, number, reply, surplus) {
        Ok(()) => shared.report.borrow_mut().answer(due.elapsed(), reply.cached),
        Err(fault) => fail(shared, number, fault),
    }
}

fn verdict(shared: &Shared, number: u32, reply: &Reply, surplus: usize) -> Result<(), Fault> {
    let (entry, target) = asked(&shared.plan, number);
    // Requests are sent without conditions and ranges, so that 304 and 206 become 200.
    let class = if entry.status == 304 { 2 } else { entry.status / 100 };
    if reply.status / 100 != class {
        return Err(Fault::new(Cause::Status, format!("{}, not {class}xx", reply.status)));
    }
    if surplus > 0 {
        return Err(Fault::new(Cause::LongBody, format!("{surplus} bytes too many")));
    }
    let whole = reply.status == 200 && context(&shared.plan, number).method == Method::Get;
    if shared.options.verify_size && whole && reply.body_bytes != target.size {
        let detail = format!("{} bytes, not {}", reply.body_bytes, target.size);
        return Err(Fault::new(Cause::Size, detail));
    }
    match reply.wrong_at {
        Some(offset) => Err(Fault::new(Cause::Content, format!("in the piece at offset {offset}"))),
        None => Ok(()),
    }
}

fn fail(shared: &Shared, number: u32, fault: Fault) {
    let (_, target) = asked(&shared.plan, number);
    let name = || format!("{}{}", shared.plan.trace.site(target), target.url);
    shared.report.borrow_mut().fail(fault.cause, fault.detail, name);
}
