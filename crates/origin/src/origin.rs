//! The engine: one epoll set with the listener, the timer and all connections, and one turn of it.

use crate::Config;
use crate::conn::Conn;
use crate::faults::Faults;
use crate::real::{Outcome, Real};
use crate::reply::Today;
use crate::status::Window;
use crate::table::{Table, Tag};
use crate::timed::Timed;
use crate::usage::Usage;
use core::mem::MaybeUninit;
use core::net::SocketAddr;
use model::Part;
use policy::Instant;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::SocketFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use wire::http::Limits;

/// Names of the listener, the timer and the threads' bell in the epoll set, above all connections'
/// names.
const LISTENER: u64 = u64::MAX;
pub(crate) const TIMER: u64 = u64::MAX - 1;
pub(crate) const BELL: u64 = u64::MAX - 2;

/// Events taken from the kernel at once.
const EVENTS: usize = 256;

/// Connections accepted at once, so that a storm of them does not keep the others waiting.
const ACCEPTS: usize = 64;

/// Turns in a row before other origins on the same thread get theirs.
const TURNS: usize = 16;

/// How often in one turn answers may give rise to requests that are due at once.
const ROUNDS: usize = 64;

/// An emulated Web server.
pub struct Origin {
    pub(crate) config: Config,
    pub(crate) timed: Timed,
    /// What does the work instead of `timed`, in the real mode.
    pub(crate) real: Option<Box<Real>>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) faults: Faults,
    /// What happened in the last second, report period and sample.
    pub(crate) window: Window,
    pub(crate) reported: Window,
    pub(crate) sampled: Window,
    pub(crate) usage: Usage,
    /// Bytes of content that the model has let go.
    pub(crate) out_bytes: u64,
    pub(crate) today: Today,
    /// Its name as `Cache-Status` wants it.
    pub(crate) cache_name: String,
    pub(crate) limits: Limits,
    /// The buffer lent to the connection that is being worked on.
    pub(crate) buffer: Vec<u8>,
    pub(crate) conns: Table,
    pub(crate) accepted: u64,
    /// Requests that were no HTTP.
    pub(crate) refused: u64,
    /// Real time of this turn.
    pub(crate) now: Instant,
    /// Connections that used up their steps and go on in the next turn.
    pub(crate) unfinished: Vec<Tag>,
    /// Whether it is shutting down, and until when it may.
    pub(crate) drain_until: Option<Instant>,
    pub(crate) addr: SocketAddr,
    pub(crate) listener: Option<OwnedFd>,
    /// Connections that may wait in the kernel.
    pub(crate) backlog: u32,
    /// Whether the listener is in the set: not while there are too many connections.
    pub(crate) accepting: bool,
    /// Whether more clients wait than were accepted in one go.
    pub(crate) more_clients: bool,
    /// When something periodic is to be done, and what.
    pub(crate) tick_at: Instant,
    pub(crate) sweep_at: Instant,
    pub(crate) sample_at: Instant,
    pub(crate) report_at: Instant,
    pub(crate) parts: Vec<Part>,
    pub(crate) poll: OwnedFd,
}

impl Origin {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// How busy it is over time; to be asked while it serves and after.
    pub fn usage(&self) -> Usage {
        self.usage.clone()
    }

    /// Answers until `shutdown` is done; then finishes what is in progress, no longer than
    /// [`Config::drain_timeout`]. Runs on a current-thread runtime with I/O enabled, beside others.
    ///
    /// # Errors
    ///
    /// What the kernel says when the epoll set itself fails.
    pub async fn serve(mut self, shutdown: impl Future<Output = ()>) -> std::io::Result<()> {
        #[expect(
            deprecated,
            reason = "its successor is the same but marked unsafe, for descriptors that somebody \
                      else may close; this one is owned by what it is given to"
        )]
        let ready = AsyncFd::with_interest(self.poll.try_clone()?, Interest::READABLE)?;
        let mut shutdown = std::pin::pin!(shutdown);
        self.turn()?;
        while !self.is_over() {
            tokio::select! {
                guard = ready.readable() => {
                    let mut guard = guard?;
                    if self.turns()? {
                        guard.retain_ready();
                        tokio::task::yield_now().await;
                    } else {
                        guard.clear_ready();
                    }
                }
                () = &mut shutdown, if self.drain_until.is_none() => {
                    self.drain();
                    self.turn()?;
                }
            }
        }
        self.now = self.timed.clock.real();
        self.take_sample();
        Ok(())
    }

    /// Some turns; true if there is more to do at once.
    fn turns(&mut self) -> rustix::io::Result<bool> {
        for _ in 0..TURNS {
            if !self.turn()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes up what has happened and what is due; true if there may be more at once.
    fn turn(&mut self) -> rustix::io::Result<bool> {
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        let instantly = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        let events: &[Event] = match epoll::wait(&self.poll, &mut room, Some(&instantly)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => &[],
            Err(cause) => return Err(cause),
        };
        self.now = self.timed.clock.real();
        for event in events {
            self.happened(event.data.u64(), event.flags);
        }
        let full = events.len() == EVENTS;
        for tag in core::mem::take(&mut self.unfinished) {
            self.drive(tag);
        }
        let pumped = self.pump();
        if self.now >= self.tick_at {
            self.tick();
        }
        self.timed.arm(self.tick_at);
        Ok(full || !pumped || self.more_clients || !self.unfinished.is_empty())
    }

    fn happened(&mut self, name: u64, flags: EventFlags) {
        match name {
            LISTENER => self.accept(),
            TIMER => self.timed.clock.rang(),
            // What was done is looked for in every turn.
            BELL => {}
            _ => {
                let Some(conn) = self.conns.get_mut(Tag(name)) else { return };
                if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
                    let conn = self.conns.take(Tag(name)).expect("the connection was just seen");
                    self.close(Tag(name), conn);
                    return;
                }
                conn.readable |= flags.intersects(EventFlags::IN | EventFlags::RDHUP);
                self.drive(Tag(name));
            }
        }
    }

    /// Carries out what the model has due, and what comes of it, until nothing is due. False if it
    /// stopped before, to let others have their turn.
    fn pump(&mut self) -> bool {
        for _ in 0..ROUNDS {
            self.now = self.timed.clock.real();
            while let Some(tag) = self.timed.undelayed(self.now) {
                self.undelay(tag);
            }
            let delivered = self.deliver();
            let mut parts = core::mem::take(&mut self.parts);
            self.timed.run(self.now, &mut parts);
            let done = parts.is_empty() && !delivered;
            for (at, part) in parts.iter().enumerate() {
                self.release(part);
                // Several parts for one connection are written at once.
                if parts.get(at + 1).is_none_or(|next| next.tag != part.tag) {
                    self.drive(Tag(part.tag));
                }
            }
            parts.clear();
            self.parts = parts;
            if done {
                return true;
            }
        }
        false
    }

    fn accept(&mut self) {
        self.more_clients = false;
        for _ in 0..ACCEPTS {
            if self.conns.len() >= self.config.connections_max {
                self.stop_accepting();
                return;
            }
            let Some(listener) = &self.listener else { return };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match rustix::net::accept_with(listener, flags) {
                Ok(socket) => self.welcome(socket),
                // A client that gave up before it was accepted.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // No more descriptors: leave the rest in the queue until one is closed.
                Err(_) => return self.stop_accepting(),
            }
        }
        self.more_clients = true;
    }

    fn welcome(&mut self, socket: OwnedFd) {
        self.accepted += 1;
        self.charge_connect(self.now);
        let tag = self.conns.reserve();
        self.conns.put(tag, Box::new(Conn::new(socket, self.now)));
        // Its first request is mostly there already: look before asking the kernel to watch.
        self.drive(tag);
    }

    /// Closes a connection that was taken out of the table.
    pub(crate) fn close(&mut self, tag: Tag, conn: Box<Conn>) {
        drop(conn);
        self.charge_close(self.now);
        self.conns.release(tag);
        self.accept_more();
    }

    /// Has the kernel watch a connection, for room to write too if it waits for that. False when
    /// the kernel cannot.
    pub(crate) fn watch(&self, tag: Tag, conn: &mut Conn, out: bool) -> bool {
        if conn.watched && (conn.watched_out || !out) {
            return true;
        }
        let mut flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        flags.set(EventFlags::OUT, out);
        let name = EventData::new_u64(tag.0);
        let done = if conn.watched {
            epoll::modify(&self.poll, &conn.socket, name, flags)
        } else {
            epoll::add(&self.poll, &conn.socket, name, flags)
        };
        (conn.watched, conn.watched_out) = (true, out);
        done.is_ok()
    }

    /// Begins to shut down: no new connections, and none kept without a request.
    fn drain(&mut self) {
        self.stop_accepting();
        self.listener = None;
        self.drain_until = Some(self.timed.clock.real().plus(self.config.drain_timeout));
        (self.sweep_at, self.tick_at) = (Instant::ZERO, Instant::ZERO);
    }

    fn is_over(&self) -> bool {
        let Some(until) = self.drain_until else { return false };
        self.conns.len() == 0 || self.timed.clock.real() >= until
    }

    pub(crate) fn accept_more(&mut self) {
        let Some(listener) = &self.listener else { return };
        if !self.accepting && self.conns.len() < self.config.connections_max {
            let name = EventData::new_u64(LISTENER);
            self.accepting = epoll::add(&self.poll, listener, name, EventFlags::IN).is_ok();
        }
    }

    fn stop_accepting(&mut self) {
        if let Some(listener) = &self.listener
            && self.accepting
        {
            let gone = epoll::delete(&self.poll, listener);
            self.accepting = gone.is_err();
        }
    }
}
