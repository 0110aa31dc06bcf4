//! One thread of the client: its connections, its users, its timer, and one turn of them.

use super::clock::{Account, Clock, Processor};
use super::conn::{Conn, Exchange, Phase};
use super::source::{Ask, Source};
use super::table::{Key, Table};
use super::tally::{SLICE_NS, SliceTally, Tally};
use super::user::User;
use super::{Shared, arrivals::Times};
use crate::reply::Fault;
use crate::{Cause, Manner, RunError, Scenario};
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::time::Duration;
use wire::http::{Limits, Method, RequestContext};

/// What most requests are.
pub(super) const GET: RequestContext = RequestContext { method: Method::Get, upgrade: false };

/// The timer's name in the epoll set, above all connections' names.
const TIMER: u64 = u64::MAX;

/// Events taken from the kernel at once: few, so that what is due meanwhile is not late.
const EVENTS: usize = 64;

/// Sessions begun at once, so that a storm of them does not keep replies waiting.
const BEGINNINGS: usize = 64;

/// Bytes that one read can take: large bodies in few system calls.
const SCRATCH_BYTES: usize = 256 * 1024;

/// How often the thread reports, in nanoseconds.
const REPORT_NS: u64 = 100_000_000;

/// Longest and shortest tick, in nanoseconds: time-outs are late by up to two of these, and so is
/// a stop.
const TICK_NS: [u64; 2] = [2_000_000, 50_000_000];

/// Ticks of a time-out, where that is between these.
const TIMEOUT_TICKS: u64 = 10;

/// How long a server may leave a connection open after its last reply, in nanoseconds.
const LEAVING_NS: u64 = 1_000_000_000;

/// When sessions of this thread begin.
pub(super) enum Beginnings {
    /// When they arrive: the next one, its number, and how many threads share them.
    Open { times: Box<Times>, number: u64, next: Option<(u64, u64)> },
    /// When another one ended.
    Closed,
}

pub(super) struct Worker<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) shared: &'a Shared<'a>,
    pub(super) source: Source<'a>,
    pub(super) tally: Tally,
    pub(super) users: Table<User>,
    pub(super) conns: Table<Conn>,
    /// When users have thought.
    pub(super) wakes: BinaryHeap<Reverse<(u64, Key)>>,
    /// Users for whom something may have to be done.
    pub(super) ready: VecDeque<Key>,
    /// Connections of which not all was read, each once.
    pub(super) unread: VecDeque<Key>,
    #[expect(clippy::vec_box, reason = "connections own boxes: those that idle are small so")]
    pub(super) spare_exchanges: Vec<Box<Exchange>>,
    pub(super) spare_asks: Vec<Vec<Ask>>,
    pub(super) scratch: Box<[u8]>,
    pub(super) limits: Limits,
    pub(super) poll: OwnedFd,
    /// When the events that are being dealt with were fetched, and the time since.
    pub(super) turn_ns: u64,
    pub(super) now_ns: u64,
    pub(super) tick: u32,
    /// Ticks for which a server may leave a connection open after its last reply.
    pub(super) leaving_ticks: u32,
    /// Connections and users at a time.
    pub(super) connections: usize,
    pub(super) users_max: usize,
    pub(super) clock: Clock,
    index: usize,
    pub(super) beginnings: Beginnings,
    tick_ns: u64,
    timeout_ticks: u32,
    next_tick_ns: u64,
    next_report_ns: u64,
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    /// What this thread had of the processors, and up to where that is counted; not in the
    /// warm-up.
    had: Option<(Account, Processor)>,
    /// The slice that is not over yet.
    slice: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        index: usize,
        beginnings: Beginnings,
    ) -> Result<Self, RunError> {
        let scenario = shared.scenario;
        let events = |error: Errno| RunError::Events(error.into());
        let clock = Clock::new(shared.zero).map_err(events)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(events)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&poll, &clock, EventData::new_u64(TIMER), flags).map_err(events)?;
        let timeout_ns = nanoseconds(scenario.timeout);
        let tick_ns = (timeout_ns / TIMEOUT_TICKS).clamp(TICK_NS[0], TICK_NS[1]);
        let from_ns = nanoseconds(scenario.warm_up);
        let until_ns = from_ns.saturating_add(nanoseconds(scenario.duration));
        let connections = match scenario.manner {
            Manner::Parallel(count) | Manner::Closing(count) => count,
            Manner::Pipelined => 1,
        };
        Ok(Self {
            scenario,
            shared,
            source: Source::new(scenario)?,
            tally: Tally::new(from_ns, until_ns),
            users: Table::new(),
            conns: Table::new(),
            wakes: BinaryHeap::new(),
            ready: VecDeque::new(),
            unread: VecDeque::new(),
            spare_exchanges: Vec::new(),
            spare_asks: Vec::new(),
            scratch: vec![0; SCRATCH_BYTES].into_boxed_slice(),
            limits: Limits::default(),
            poll,
            turn_ns: 0,
            now_ns: 0,
            tick: 0,
            leaving_ticks: LEAVING_NS.div_ceil(tick_ns) as u32,
            connections: connections.clamp(1, super::user::CONNECTIONS_MAX),
            users_max: scenario.sessions_max.div_ceil(shared.threads),
            clock,
            index,
            beginnings,
            tick_ns,
            // One more, for the tick that is under way.
            timeout_ticks: u32::try_from(timeout_ns.div_ceil(tick_ns) + 1).unwrap_or(u32::MAX),
            next_tick_ns: tick_ns,
            next_report_ns: REPORT_NS,
            from_ns,
            until_ns,
            had: None,
            slice: 0,
        })
    }

    /// Runs until the end of the measured time, until no session is left, or until it is stopped.
    pub(super) fn run(mut self) -> Result<(), RunError> {
        self.tick();
        if matches!(self.beginnings, Beginnings::Closed) {
            for _ in 0..self.shared.clients(self.index) {
                self.begin_another(0);
            }
        } else {
            self.next_arrival();
        }
        while !self.is_over() {
            self.turn().map_err(|error| RunError::Events(error.into()))?;
        }
        self.now_ns = self.clock.now_ns().min(self.until_ns);
        if self.now_ns > self.from_ns {
            self.account();
            let begun = self.cut_off();
            let (came, waited) = self.not_begun();
            let last = self.tally.slices.entry(self.slice).or_insert_with(SliceTally::new);
            last.counts.under_way = self.users.len() as u64;
            last.counts.cut_off = begun + waited;
            last.counts.sessions += came;
        }
        self.tally.outcome.stopped = self.stopping();
        self.report();
        Ok(())
    }

    fn stopping(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed) || self.shared.broken.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        let nobody_comes = match &self.beginnings {
            Beginnings::Open { next, .. } => next.is_none(),
            Beginnings::Closed => true,
        };
        self.time_is_over()
            || (nobody_comes && self.users.len() == 0)
            || self.shared.stop.load(Ordering::Relaxed)
            || self.shared.broken.load(Ordering::Relaxed)
    }

    /// Whether the measured time is over. What happens from then on is not taken up: it would be
    /// neither settled in time nor cut off.
    pub(super) fn time_is_over(&self) -> bool {
        self.now_ns >= self.until_ns
    }

    /// Takes up what has happened and what is due, until the time is over.
    pub(super) fn turn(&mut self) -> Result<(), Errno> {
        let now_ns = self.clock.now_ns();
        let instantly = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        let idle = self.ready.is_empty() && self.unread.is_empty();
        let waits = idle && self.clock.arm(self.next_due_ns(), now_ns);
        let mut room = [const { MaybeUninit::<Event>::uninit() }; EVENTS];
        let patience = if waits { None } else { Some(&instantly) };
        let events: &[Event] = match epoll::wait(&self.poll, &mut room, patience) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => &[],
            Err(error) => return Err(error),
        };
        self.turn_ns = self.clock.now_ns();
        self.now_ns = self.turn_ns;
        // Those that have to wait from now on do so until others had news once more.
        let waited = self.unread.len();
        for event in events {
            if self.time_is_over() {
                return Ok(());
            }
            match event.data.u64() {
                TIMER => self.clock.rang(),
                name => {
                    self.happened(Key(name), event.flags);
                    self.serve(self.turn_ns);
                }
            }
        }
        for _ in 0..waited {
            if self.time_is_over() {
                return Ok(());
            }
            let Some(key) = self.unread.pop_front() else { break };
            self.receive_more(key);
            self.serve(self.turn_ns);
        }
        self.now_ns = self.clock.now_ns();
        self.due();
        if self.time_is_over() {
            return Ok(());
        }
        self.serve(self.turn_ns);
        if self.now_ns >= self.next_tick_ns {
            self.tick();
            // Pages of requests that it failed are over as well, should this be the last turn.
            self.serve(self.turn_ns);
        }
        Ok(())
    }

    /// When something is due that no event announces.
    fn next_due_ns(&self) -> u64 {
        let arrival_ns = match &self.beginnings {
            Beginnings::Open { next: Some((at_ns, _)), .. } => *at_ns,
            _ => u64::MAX,
        };
        let wake_ns = self.wakes.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
        self.next_tick_ns.min(arrival_ns).min(wake_ns)
    }

    /// Begins sessions that have arrived and pages whose users have thought.
    fn due(&mut self) {
        for _ in 0..BEGINNINGS {
            let Beginnings::Open { next: Some((at_ns, number)), .. } = self.beginnings else {
                break;
            };
            if at_ns > self.now_ns || self.time_is_over() {
                break;
            }
            self.arrive(number, at_ns);
            self.next_arrival();
            self.now_ns = self.clock.now_ns();
        }
        while let Some(&Reverse((at_ns, user))) = self.wakes.peek()
            && at_ns <= self.now_ns
            && !self.time_is_over()
        {
            self.wakes.pop();
            let due_ns = self.users.get(user).map_or(at_ns, |user| user.page_due_ns);
            self.begin_page(user, due_ns, at_ns);
            self.now_ns = self.clock.now_ns();
        }
    }

    /// Draws when the next session of this thread's share arrives.
    pub(super) fn next_arrival(&mut self) {
        let sessions = self.source.sessions().unwrap_or(u64::MAX);
        let Beginnings::Open { times, number, next } = &mut self.beginnings else { return };
        *next = None;
        for at_ns in times.by_ref() {
            let this = *number;
            if this >= sessions || at_ns >= self.until_ns {
                return;
            }
            *number += 1;
            if this % self.shared.threads as u64 == self.index as u64 {
                *next = Some((at_ns, this));
                return;
            }
        }
    }

    /// Looks after what need not be done at once: time-outs, the end, the report.
    fn tick(&mut self) {
        self.tick = self.tick.wrapping_add(1);
        self.next_tick_ns = self.now_ns + self.tick_ns;
        if self.now_ns < self.from_ns {
            self.next_tick_ns = self.next_tick_ns.min(self.from_ns);
        }
        self.next_tick_ns = self.next_tick_ns.min(self.until_ns);
        self.time_out();
        self.account();
        if self.now_ns >= self.from_ns.max(self.next_report_ns) {
            self.next_report_ns = self.now_ns + REPORT_NS;
            self.report();
        }
    }

    /// Counts what the thread had of the processors, and finishes the slices that are over.
    fn account(&mut self) {
        if self.now_ns < self.from_ns {
            return;
        }
        // Opened here, by the thread that it is the account of.
        let (account, had) = self.had.get_or_insert_with(Account::begin);
        let now = account.read();
        self.tally.had.add_since(*had, now);
        *had = now;
        // None begins at the end or behind it.
        let next_ns = |slice: u64| self.from_ns.saturating_add((slice + 1) * SLICE_NS);
        while self.now_ns >= next_ns(self.slice) && next_ns(self.slice) < self.until_ns {
            let over = self.tally.slices.entry(self.slice).or_insert_with(SliceTally::new);
            over.counts.under_way = self.users.len() as u64;
            self.slice += 1;
        }
    }

    fn report(&mut self) {
        let measured_ns = self.now_ns.min(self.until_ns).saturating_sub(self.from_ns);
        // Nobody listens any more only where the caller is unwinding.
        let _ = self.shared.reports.send((self.index, measured_ns, self.tally.take()));
    }

    /// Notes that a connection was heard of.
    pub(super) fn heard(&mut self, key: Key) {
        let late_at = self.tick.saturating_add(self.timeout_ticks);
        if let Some(conn) = self.conns.get_mut(key) {
            conn.late_at = late_at;
        }
    }

    /// Fails what has waited too long.
    fn time_out(&mut self) {
        let late = self.conns.iter().filter(|(_, conn)| conn.late_at <= self.tick);
        let late: Vec<(Key, Phase)> = late.map(|(key, conn)| (key, conn.phase)).collect();
        for (key, phase) in late {
            let timeout = self.scenario.timeout;
            match phase {
                Phase::Leaving => drop(self.conns.remove(key)),
                Phase::Opening => {
                    let detail = format!("no connection in {timeout:?}");
                    self.unopened(key, Fault::new(Cause::Timeout, detail));
                }
                Phase::Open => {
                    let detail = format!("nothing came for {timeout:?}");
                    self.broke(key, Fault::new(Cause::Timeout, detail));
                }
            }
        }
    }
}

/// A time as the engine counts it; far more than a run's is the most there is.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
}
