//! Delivery by the kernel: after its first request a client's connection is joined with a server's,
//! and its bytes go both ways without us, later requests too (TCP splicing: Maltz, Bhagwat: *TCP
//! Splicing for Application Layer Proxy Performance*, 1998; Cohen, Rangarajan, Slye, USITS 1999).
//!
//! One decision a connection, as with hand-off: its load is counted until it ends. The request goes
//! on as it came, for those behind it do, too: nothing is added to any, nor to replies. A
//! connection to the server is made for each client and not shared.
//!
//! Who joins is behind [`Joiner`]: the kernel's side wants rights that most processes have not.

use crate::client::Client;
use crate::converse::{Conversation, Failure};
use crate::counters::Cause;
use crate::exchange::{After, Exchange};
use crate::forward::write_head;
use crate::journal::Delivered;
use crate::lane::{Drained, Lane, Snapped, Wait, drain};
use crate::pool::Upstream;
use crate::settings::Timeouts;
use crate::shared::Backend;
use crate::watch::{TICK, Watched, ticks};
use crate::worker::Worker;
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use wire::http::{Slots, request};

/// Joins two sockets in the kernel.
pub trait Joiner: Send + Sync {
    /// From here on what comes from one goes to the other. All that was received before has been
    /// read; `owed` bytes of it are for the server, and the caller sends them there first.
    ///
    /// # Errors
    /// The system's. Then they are as they were.
    fn join(
        &self,
        client: BorrowedFd<'_>,
        server: BorrowedFd<'_>,
        owed: u64,
    ) -> io::Result<Box<dyn Joined>>;
}

/// Two sockets that are joined, until it is dropped.
pub trait Joined: Send {
    /// How one way of it stands.
    ///
    /// # Errors
    /// It is not joined any more.
    fn half(&self, way: Way) -> io::Result<Half>;

    /// Tells that of [`Half::passed`] this much has been sent on; once that is all of it, the
    /// kernel moves what comes.
    ///
    /// # Errors
    /// The system's.
    fn take(&self, way: Way, taken: u64) -> io::Result<()>;

    /// Bytes given to the receiver's socket since it was joined, by whomever: never more than it
    /// is.
    ///
    /// # Errors
    /// The system's.
    fn written(&self, way: Way, receiver: BorrowedFd<'_>) -> io::Result<u64>;

    /// Bytes that the receiver ever acknowledged.
    ///
    /// # Errors
    /// The system's.
    fn acknowledged(&self, receiver: BorrowedFd<'_>) -> io::Result<u64>;

    /// Has `waker` woken when either end fails or is at its end, or bytes are passed to us; some
    /// milliseconds from now, too, if `soon`.
    fn wake(&self, waker: &Waker, soon: bool);
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the server.
    Up,
    /// To the client.
    Down,
}

/// One way of a joined pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// Bytes that the kernel moved.
    pub moved: u64,
    /// Bytes that it left to us, with those that were owed.
    pub passed: u64,
    /// How long ago something came.
    pub silent: Duration,
    /// Bytes were lost: the connection must be cut.
    pub broken: bool,
}

/// Bytes that a client may send ahead of being joined: one that is faster than we read is relayed.
const AHEAD_BYTES_MAX: usize = 1024 * 1024;

/// Why a connection is relayed that should have been joined.
const LOCAL_AHEAD: &str = "sends-ahead";
/// The kernel takes no socket whose peer has ended its stream.
const LOCAL_ENDED: &str = "ended-ahead";
const LOCAL_NOT_JOINED: &str = "not-joined";

/// Looks in vain before a connection that waits for room is looked at once a tick only.
const DULL_MAX: u32 = 8;

/// How long a connection whose last word was the server's must have been silent to be taken for
/// idle when the switch stops: requests and replies are not told apart here.
const STOP_SILENCE: Duration = Duration::from_secs(1);

/// How a joined pair ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Both sides ended their streams, or the switch stops.
    Both,
    /// Nothing came either way for too long.
    Silence,
    /// The server failed.
    Server,
    /// The client failed.
    Client,
}

/// Serves a request and all that follow on its connection by joining the sockets.
pub(crate) async fn run(
    exchange: &mut Exchange,
    mut upstream: Upstream,
    client: &mut Client,
    worker: &Worker,
    backend: &Arc<Backend>,
) -> Result<After, Failure> {
    let joined = match join(exchange, &mut upstream, client, worker) {
        Ok(joined) => joined,
        Err(why) => {
            relay_instead(exchange, client, worker, why);
            return Conversation::new(exchange, upstream).run(client, worker, backend).await;
        }
    };
    worker.counters().spliced.add(1);
    let mut owed = worker.buffer();
    owed.extend_from_slice(&exchange.head);
    owed.extend_from_slice(&client.inbox);
    let owed_bytes = owed.len();
    let (Ok(near), Ok(far)) = (client.socket.fd(), upstream.socket.fd()) else {
        return Err(Failure::connect(false));
    };
    let up = Lane::new(Way::Up, near, far, owed);
    let down = Lane::new(Way::Down, far, near, Vec::new());
    let patience = Patience::of(&exchange.live.settings.timeouts, worker);
    let mut pair = Pair { joined, up, down, patience, mark: 0, dull: 0 };
    client.watch.arm(pair.patience.whole);
    let ended = poll_fn(|cx| pair.poll(cx, &client.watch, worker)).await;
    let Pair { joined, up, down, .. } = pair;
    drop(joined);
    // Nothing came but what was sent, and nothing went back: another server may be asked.
    if ended == Ended::Server && up.is_only(owed_bytes) && down.is_only(0) {
        return Err(Failure::of(Cause::ServerHead));
    }
    let (moved, tally) = (up.moved + down.moved, &mut exchange.tally);
    (tally.bytes_in, tally.bytes_out) = (up.bytes(), down.bytes());
    (tally.bytes_spliced, tally.delivered) = (moved, Delivered::Splice);
    worker.counters().bytes_spliced.add(moved);
    worker.recycle(up.held);
    worker.recycle(core::mem::take(&mut client.inbox));
    // That something is missing, the client learns by a reset.
    exchange.until_close = true;
    exchange.tally.cause = Cause::Tunnel;
    let cut = |cause| Err(Failure { reply_begun: true, ..Failure::of(cause) });
    match ended {
        Ended::Both => Ok(After::Close),
        Ended::Silence => Ok(After::Reset),
        Ended::Server => cut(Cause::ServerData),
        Ended::Client => cut(Cause::ClientData),
    }
}

/// Joins the sockets, or says why not.
fn join(
    exchange: &Exchange,
    upstream: &mut Upstream,
    client: &mut Client,
    worker: &Worker,
) -> Result<Box<dyn Joined>, &'static str> {
    let joiner = worker.shared.joiner.get().ok_or(LOCAL_NOT_JOINED)?;
    // A reactor would be woken by each segment.
    client.socket.detach().map_err(|_| LOCAL_NOT_JOINED)?;
    upstream.socket.detach().map_err(|_| LOCAL_NOT_JOINED)?;
    let near = client.socket.fd().map_err(|_| LOCAL_NOT_JOINED)?;
    let far = upstream.socket.fd().map_err(|_| LOCAL_NOT_JOINED)?;
    // The kernel takes what is unread segment by segment: none may be read in part.
    match drain(near, &mut client.inbox, AHEAD_BYTES_MAX, worker) {
        Ok(Drained::Dry) => {}
        Ok(Drained::Ended) => return Err(LOCAL_ENDED),
        Ok(Drained::Over) => return Err(LOCAL_AHEAD),
        Err(_) => return Err(LOCAL_NOT_JOINED),
    }
    let owed = exchange.head.len() + client.inbox.len();
    joiner.join(near, far, owed as u64).map_err(|_| LOCAL_NOT_JOINED)
}

/// Makes the request one for the relay, which its connection stays with.
fn relay_instead(exchange: &mut Exchange, client: &mut Client, worker: &Worker, why: &'static str) {
    worker.counters().unspliced.add(1);
    (client.spliced, client.local, exchange.tally.local) = (false, why, why);
    let raw = core::mem::replace(&mut exchange.head, worker.buffer());
    let mut slots = Slots::new();
    let head = request::parse(&raw, &exchange.live.settings.wire, &mut slots);
    // It was parsed by the same settings before.
    if let Ok(Some(head)) = head {
        let (live, id) = (&exchange.live, exchange.id.as_ref());
        write_head(&head, client, live, id, &mut exchange.head);
    }
    worker.recycle(raw);
}

/// A joined pair, and what user space waits for.
struct Pair<'f> {
    joined: Box<dyn Joined>,
    up: Lane<'f>,
    down: Lane<'f>,
    patience: Patience,
    /// What both ways came to when they were last looked at for progress.
    mark: u64,
    /// Looks in a row that found no room.
    dull: u32,
}

/// How long silence is borne.
struct Patience {
    /// Whatever the silence is: no reply yet, a stalled body, no next request. They cannot be told
    /// apart here, so it is the longest of the three.
    whole: Duration,
    /// The same, once a side has ended.
    half: Duration,
    /// In ticks of the worker: when to look whether there was progress.
    due: u64,
}

impl Patience {
    fn of(timeouts: &Timeouts, worker: &Worker) -> Self {
        let whole = timeouts.idle.max(timeouts.first_byte).max(timeouts.body);
        let half = timeouts.tunnel_half_closed.min(whole);
        Self { whole, half, due: worker.watches.now() + ticks(whole) }
    }
}

impl Pair<'_> {
    fn poll(&mut self, cx: &mut Context<'_>, watch: &Watched, worker: &Worker) -> Poll<Ended> {
        // First: what happens behind this wakes us again.
        self.joined.wake(cx.waker(), false);
        let halves_before = (self.up.told, self.down.told);
        let before = (self.up.bytes(), self.down.bytes());
        let up = self.up.step(&*self.joined, worker);
        let down = self.down.step(&*self.joined, worker);
        let (up, down) = match (up, down) {
            (Ok(up), Ok(down)) => (up, down),
            // Who has the whole reply and its end misses nothing.
            _ if self.down.told && self.up.told => return Poll::Ready(Ended::Both),
            (Err(Snapped::From), _) | (_, Err(Snapped::To)) => return Poll::Ready(Ended::Client),
            _ if self.down.told => return Poll::Ready(Ended::Both),
            _ => return Poll::Ready(Ended::Server),
        };
        if (up, down) == (Wait::Over, Wait::Over) {
            return Poll::Ready(Ended::Both);
        }
        if halves_before != (self.up.told, self.down.told) {
            self.wait(watch, worker, self.patience.half);
        }
        if (up, down) != (Wait::Any, Wait::Any) && [up, down].contains(&Wait::Room) {
            let moved = before != (self.up.bytes(), self.down.bytes());
            self.dull = if moved { 0 } else { self.dull + 1 };
            if self.dull < DULL_MAX {
                self.joined.wake(cx.waker(), true);
            } else {
                watch.arm(TICK);
            }
        } else {
            self.dull = 0;
        }
        if let Some(ended) = self.stopping(watch, worker) {
            return Poll::Ready(ended);
        }
        while watch.expired(cx) {
            if let Some(ended) = self.expire(watch, worker) {
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    }

    /// Looks for progress in `patience`.
    fn wait(&mut self, watch: &Watched, worker: &Worker, patience: Duration) {
        self.patience.due = worker.watches.now() + ticks(patience);
        watch.arm(patience);
    }

    /// The watch has expired: whether that was for silence.
    fn expire(&mut self, watch: &Watched, worker: &Worker) -> Option<Ended> {
        let now = worker.watches.now();
        if now < self.patience.due {
            let left = u32::try_from(self.patience.due - now).unwrap_or(u32::MAX);
            watch.arm(TICK * left);
            return None;
        }
        let patience =
            if self.up.told || self.down.told { self.patience.half } else { self.patience.whole };
        let mark = self.up.mark(&*self.joined).wrapping_add(self.down.mark(&*self.joined));
        let silent = self.up.silent.min(self.down.silent);
        let progress = mark != core::mem::replace(&mut self.mark, mark);
        if !progress && silent >= patience {
            return Some(Ended::Silence);
        }
        // What came last says how long it has been; what a receiver took, only that it did.
        let left = if silent < patience { patience - silent } else { patience };
        self.wait(watch, worker, left);
        None
    }

    /// Once the switch stops: whether the connection is idle, as far as that can be known.
    fn stopping(&mut self, watch: &Watched, worker: &Worker) -> Option<Ended> {
        if !worker.stopping.get() {
            return None;
        }
        let drained = self.up.drained(&*self.joined) == Ok(true)
            && self.down.drained(&*self.joined) == Ok(true);
        // A tick more, for the kernel's clock is as coarse as one of its own.
        let answered = self.down.silent <= self.up.silent + TICK && self.down.bytes() > 0;
        if drained && answered && self.down.silent >= STOP_SILENCE {
            return Some(Ended::Both);
        }
        watch.arm(STOP_SILENCE / 4);
        None
    }
}
