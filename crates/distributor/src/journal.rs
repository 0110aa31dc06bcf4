//! What happened, request by request: the ring of recent decisions and the access log.
//!
//! The ring is always on and has a fixed size. The log, when asked for, is formatted by the worker
//! (`access`) into a buffer of its own and written by a thread of its own, so a slow disk delays no
//! request: when the writer cannot keep up, lines are dropped and counted.

use crate::counters::Cause;
use crate::log_writer::LogWriter;
use crate::say::say;
use policy::{Class, Expect, Load, TargetId, Why};
use std::io::Write;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

/// Decisions remembered per worker.
pub const RECENT_MAX: usize = 256;

/// A worker hands its log lines on when it has this many bytes (or at its next tick).
pub(crate) const FLUSH_BYTES: usize = 32 * 1024;

/// Recent decisions by worker, and the way to the log's writer.
pub struct Journal {
    recent: Vec<Mutex<Recent>>,
    lines: Mutex<Option<LogWriter>>,
    lost: Arc<AtomicU64>,
    started: SystemTime,
}

#[derive(Default)]
struct Recent {
    records: Vec<Record>,
    next: usize,
}

/// A short text in place, cut to `N` bytes: records are copied, not allocated.
#[derive(Clone, Copy, Debug)]
pub struct Short<const N: usize> {
    length: u8,
    bytes: [u8; N],
}

impl<const N: usize> Short<N> {
    /// The first `N` bytes of `text`.
    pub fn cut(text: &[u8]) -> Self {
        let mut short = Self { length: 0, bytes: [0; N] };
        short.set(text);
        short
    }

    /// Becomes the first `N` bytes of `text`.
    pub(crate) fn set(&mut self, text: &[u8]) {
        let length = text.len().min(N).min(usize::from(u8::MAX));
        self.bytes[..length].copy_from_slice(&text[..length]);
        self.length = length as u8;
    }

    /// The text; what is not UTF-8 is replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes[..usize::from(self.length)])
    }
}

/// One request and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its method.
    pub method: Short<16>,
    /// Its host.
    pub host: Short<64>,
    /// Its path and query.
    pub path: Short<128>,
    /// Name of the server that was chosen last.
    pub server: Short<48>,
    /// What is known beside texts.
    pub tally: Tally,
}

/// What the decision was between.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// Servers that could be chosen.
    pub candidates: u32,
    /// Load of the chosen server, without this request.
    pub load_chosen: Load,
    /// Load of the least loaded server.
    pub load_least: Load,
}

/// What is known of a request beside texts. Filled in while it is served.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// When its head was whole.
    pub at: policy::Instant,
    /// Who asked.
    pub client: IpAddr,
    /// What it leans on.
    pub class: Class,
    /// What it names.
    pub target: TargetId,
    /// Why the server was chosen; `None` when none was.
    pub why: Option<Why>,
    /// Between whom it was chosen.
    pub choice: Choice,
    /// Whether the server was believed to have it cached.
    pub expect: Expect,
    /// Attempts made.
    pub attempts: u32,
    /// Time in the server's queue.
    pub queue_us: u64,
    /// Time to connect; zero over an open connection.
    pub connect_us: u64,
    /// From the head of the request to the first byte of the reply.
    pub first_byte_us: u64,
    /// From the head of the request to the end.
    pub total_us: u64,
    /// Status sent to the client; zero if none was.
    pub status: u16,
    /// How it ended.
    pub cause: Cause,
    /// Bytes of the request's body.
    pub bytes_in: u64,
    /// Bytes of the reply, its head included.
    pub bytes_out: u64,
    /// Of the reply's head.
    pub head_out: u64,
    /// Bytes of either body that went by splice.
    pub bytes_spliced: u64,
    /// How it reached its server.
    pub delivered: Delivered,
    /// Why it was relayed, where its listener hands connections over; else empty.
    pub local: &'static str,
}

/// How a request reached its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// Through the switch.
    Relay,
    /// Through its kernel alone.
    Splice,
    /// With the connection, which nobody had before.
    Handoff,
    /// With the connection, which another server had.
    Moved,
    /// By way of the server that has the connection.
    Forward,
    /// On the connection that the server has already.
    Stayed,
}

impl Delivered {
    /// Every one, in declaration order.
    pub const ALL: &'static [Self] =
        &[Self::Relay, Self::Splice, Self::Handoff, Self::Moved, Self::Forward, Self::Stayed];

    /// The word used in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Splice => "splice",
            Self::Handoff => "handoff",
            Self::Moved => "moved",
            Self::Forward => "forward",
            Self::Stayed => "stayed",
        }
    }
}

impl Record {
    fn blank() -> Self {
        let nowhere = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
        let (at, target, class) = (policy::Instant::ZERO, TargetId(0), Class::STATIC);
        let question = policy::Request { at, target, class, holder: None };
        Self {
            method: Short::cut(b""),
            host: Short::cut(b""),
            path: Short::cut(b""),
            server: Short::cut(b""),
            tally: Tally::new(&question, nowhere),
        }
    }
}

impl Tally {
    /// Of a request that nobody has been asked about yet.
    pub(crate) fn new(question: &policy::Request, client: IpAddr) -> Self {
        Self {
            at: question.at,
            client,
            class: question.class,
            target: question.target,
            why: None,
            choice: Choice::default(),
            expect: Expect::Unknown,
            attempts: 0,
            queue_us: 0,
            connect_us: 0,
            first_byte_us: 0,
            total_us: 0,
            status: 0,
            cause: Cause::ClientRequest,
            bytes_in: 0,
            bytes_out: 0,
            head_out: 0,
            bytes_spliced: 0,
            delivered: Delivered::Relay,
            local: "",
        }
    }

    /// Bytes of the reply's body that were sent, as they went over the wire.
    pub fn body_out(&self) -> u64 {
        self.bytes_out.saturating_sub(self.head_out)
    }

    /// How the bytes passed us: copied, or by the kernel alone.
    pub(crate) fn mechanism(&self) -> &'static str {
        if self.bytes_spliced > 0 { "splice" } else { "relay" }
    }
}

impl Journal {
    /// A journal for `workers` workers and a [`crate::Scribe`], without a log.
    pub fn new(workers: usize) -> Self {
        Self {
            recent: (0..=workers).map(|_| Mutex::default()).collect(),
            lines: Mutex::new(None),
            lost: Arc::default(),
            started: SystemTime::now(),
        }
    }

    /// Starts (or stops, with `None`) writing the access log. Lines given to the log before go out
    /// first.
    ///
    /// # Errors
    /// When the writing thread cannot be started.
    pub fn log_to(&self, sink: Option<Box<dyn Write + Send>>) -> std::io::Result<()> {
        let log = sink
            .map(|sink| LogWriter::start(sink, Arc::clone(&self.lost), |line| say(line)))
            .transpose()?;
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = log;
        Ok(())
    }

    /// Ends the access log, and waits until its last line is written, but no longer than
    /// `patience`: whoever reads it may never read on.
    pub fn close(&self, patience: Duration) {
        let log = self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        if log.is_some_and(|log| !log.finish(patience)) {
            say("the access log is stuck; its last lines are lost");
        }
    }

    /// Lines that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The latest `count` records of all workers, newest first.
    pub fn recent(&self, count: usize) -> Vec<Record> {
        let mut all: Vec<Record> = Vec::new();
        for worker in &self.recent {
            all.extend(&worker.lock().unwrap_or_else(PoisonError::into_inner).records);
        }
        all.sort_by_key(|record| core::cmp::Reverse(record.tally.at));
        all.truncate(count);
        all
    }

    /// When the clock of the records was at zero, in milliseconds since 1970.
    pub fn started_unix_ms(&self) -> u64 {
        let since = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(0)
    }

    /// Writes a record over the oldest one of a worker.
    pub(crate) fn remember(&self, worker: usize, write: impl FnOnce(&mut Record)) {
        let mut recent = self.recent[worker].lock().unwrap_or_else(PoisonError::into_inner);
        let Recent { records, next } = &mut *recent;
        if *next == records.len() {
            records.push(Record::blank());
        }
        write(&mut records[*next]);
        *next = (*next + 1) % RECENT_MAX;
    }

    /// Where a [`crate::Scribe`] remembers records: behind the workers.
    pub(crate) fn scribes(&self) -> usize {
        self.recent.len() - 1
    }

    /// Counts lines that were dropped before the writer had them.
    pub(crate) fn lose(&self, lines: u64) {
        self.lost.fetch_add(lines, Ordering::Relaxed);
    }

    /// Hands lines to the writer. False: they were dropped, because it cannot keep up.
    pub(crate) fn hand_on(&self, lines: Vec<u8>) -> bool {
        let log = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        log.as_ref().is_none_or(|log| log.write(lines))
    }
}
