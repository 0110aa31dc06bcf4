//! What happened, request by request: the ring of recent decisions and the access log.
//!
//! The ring is always on and has a fixed size. The log, when asked for, is formatted by the worker
//! into a buffer of its own and written by a thread of its own, so a slow disk delays no request:
//! when the writer cannot keep up, lines are dropped and counted.

use crate::counters::Cause;
use policy::{Class, Expect, Load, TargetId, Why};
use serde::Serialize;
use std::io::Write;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

/// Decisions remembered per worker.
pub const RECENT_MAX: usize = 256;

/// Buffers of log lines on their way to the writer; each of about [`FLUSH_BYTES`].
const LOG_BUFFERS_MAX: usize = 64;

/// A worker hands its log lines on when it has this many bytes (or at its next tick).
pub(crate) const FLUSH_BYTES: usize = 32 * 1024;

/// Recent decisions by worker, and the way to the log's writer.
pub struct Journal {
    recent: Vec<Mutex<Recent>>,
    lines: Mutex<Option<Log>>,
    started: SystemTime,
}

struct Log {
    sender: SyncSender<Vec<u8>>,
    writer: JoinHandle<()>,
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
    /// Load of the chosen server at the decision, without this request.
    pub load_chosen: Load,
    /// Load of the least loaded server at the decision.
    pub load_least: Load,
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
    /// Bytes of the reply.
    pub bytes_out: u64,
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
            load_chosen: Load::ZERO,
            load_least: Load::ZERO,
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
        }
    }
}

impl Journal {
    /// A journal for `workers` workers, without a log.
    pub fn new(workers: usize) -> Self {
        Self {
            recent: (0..workers).map(|_| Mutex::default()).collect(),
            lines: Mutex::new(None),
            started: SystemTime::now(),
        }
    }

    /// Starts (or stops, with `None`) writing the access log. Lines given to the log before go out
    /// first.
    ///
    /// # Errors
    /// When the writing thread cannot be started.
    pub fn log_to(&self, sink: Option<Box<dyn Write + Send>>) -> std::io::Result<()> {
        let log = match sink {
            None => None,
            Some(sink) => {
                let (sender, receiver) = sync_channel(LOG_BUFFERS_MAX);
                let writer = std::thread::Builder::new()
                    .name("baton-log".to_owned())
                    .spawn(move || write_out(&receiver, sink))?;
                Some(Log { sender, writer })
            }
        };
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = log;
        Ok(())
    }

    /// Ends the access log; returns when its last line is written.
    pub fn close(&self) {
        let log = self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Log { sender, writer }) = log {
            drop(sender);
            // A writer that panicked has said so; there is nothing left to write.
            let _panicked = writer.join();
        }
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

    /// Hands lines to the writer. False: they were dropped, because it cannot keep up.
    pub(crate) fn hand_on(&self, lines: Vec<u8>) -> bool {
        let log = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(log) = &*log else { return true };
        !matches!(log.sender.try_send(lines), Err(TrySendError::Full(_)))
    }
}

fn write_out(lines: &Receiver<Vec<u8>>, mut sink: Box<dyn Write + Send>) {
    while let Ok(buffer) = lines.recv() {
        if let Err(error) = sink.write_all(&buffer).and_then(|()| sink.flush()) {
            eprintln!("baton: the access log cannot be written ({error}); it stops here");
            return;
        }
    }
}

/// What a line of the log has beyond the tally: texts at full length.
pub(crate) struct Texts<'a> {
    pub(crate) method: &'a str,
    pub(crate) host: &'a str,
    pub(crate) server: &'a str,
    pub(crate) path: &'a str,
    pub(crate) policy: &'a str,
    pub(crate) class: &'a str,
    pub(crate) referer: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) request_id: &'a str,
    pub(crate) version: &'a str,
}

#[derive(Serialize)]
struct JsonLine<'a> {
    time_ms: u64,
    client: &'a str,
    method: &'a str,
    host: &'a str,
    path: &'a str,
    status: u16,
    bytes: u64,
    bytes_in: u64,
    policy: &'a str,
    class: &'a str,
    target: String,
    server: &'a str,
    reason: &'a str,
    load_chosen: f64,
    load_least: f64,
    expect: &'a str,
    mechanism: &'a str,
    attempts: u32,
    queue_ms: f64,
    connect_ms: f64,
    first_byte_ms: f64,
    total_ms: f64,
    term: &'a str,
    request_id: &'a str,
    referer: &'a str,
    agent: &'a str,
}

/// Appends one JSON object and a line end.
pub(crate) fn write_json(
    out: &mut Vec<u8>,
    started_unix_ms: u64,
    tally: &Tally,
    texts: &Texts<'_>,
) {
    let ms = |us: u64| us as f64 / 1000.0;
    let client = tally.client.to_string();
    let line = JsonLine {
        time_ms: started_unix_ms + tally.at.0 / 1_000_000,
        client: &client,
        method: texts.method,
        host: texts.host,
        path: texts.path,
        status: tally.status,
        bytes: tally.bytes_out,
        bytes_in: tally.bytes_in,
        policy: texts.policy,
        class: texts.class,
        target: format!("{:016x}", tally.target.0),
        server: texts.server,
        reason: tally.why.map_or("-", Why::name),
        load_chosen: tally.load_chosen.as_f64(),
        load_least: tally.load_least.as_f64(),
        expect: tally.expect.name(),
        mechanism: "relay",
        attempts: tally.attempts,
        queue_ms: ms(tally.queue_us),
        connect_ms: ms(tally.connect_us),
        first_byte_ms: ms(tally.first_byte_us),
        total_ms: ms(tally.total_us),
        term: tally.cause.code(),
        request_id: texts.request_id,
        referer: texts.referer,
        agent: texts.agent,
    };
    if serde_json::to_writer(&mut *out, &line).is_ok() {
        out.push(b'\n');
    }
}

/// Appends a line of the Combined Log Format with the decision fields behind it, as `name=value`.
pub(crate) fn write_combined(
    out: &mut Vec<u8>,
    started_unix_ms: u64,
    tally: &Tally,
    texts: &Texts<'_>,
) {
    let unix_s = (started_unix_ms + tally.at.0 / 1_000_000) / 1000;
    let quoted = |text: &str| if text.is_empty() { "-".to_owned() } else { escape(text) };
    // Writing to a Vec cannot fail.
    let _infallible = writeln!(
        out,
        "{} - - [{}] \"{} {} {}\" {} {} \"{}\" \"{}\" policy={} class={} target={:016x} server={} \
         reason={} load={}/{} expect={} mechanism=relay attempts={} queue_ms={:.3} \
         connect_ms={:.3} first_byte_ms={:.3} total_ms={:.3} term={} id={}",
        tally.client,
        clf_time(unix_s),
        texts.method,
        escape(texts.path),
        texts.version,
        tally.status,
        tally.bytes_out,
        quoted(texts.referer),
        quoted(texts.agent),
        texts.policy,
        texts.class,
        tally.target.0,
        texts.server,
        tally.why.map_or("-", Why::name),
        tally.load_chosen,
        tally.load_least,
        tally.expect.name(),
        tally.attempts,
        tally.queue_us as f64 / 1000.0,
        tally.connect_us as f64 / 1000.0,
        tally.first_byte_us as f64 / 1000.0,
        tally.total_us as f64 / 1000.0,
        tally.cause.code(),
        if texts.request_id.is_empty() { "-" } else { texts.request_id },
    );
}

/// Quotes, backslashes and control characters as nginx writes them, so that a line stays a line.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\x22"),
            '\\' => out.push_str("\\x5C"),
            control if control.is_control() => out.push_str(&format!("\\x{:02X}", control as u32)),
            plain => out.push(plain),
        }
    }
    out
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `unix_s` as the Common Log Format writes times, in UTC. Days to a date by the usual
/// era-of-400-years arithmetic on a year that begins in March.
fn clf_time(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400 + 719_468, unix_s % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{day:02}/{}/{year}:{:02}:{:02}:{:02} +0000",
        MONTHS[month as usize - 1],
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_the_common_log_format_wants() {
        assert_eq!(clf_time(0), "01/Jan/1970:00:00:00 +0000");
        assert_eq!(clf_time(951_827_696), "29/Feb/2000:12:34:56 +0000");
        assert_eq!(clf_time(1_795_211_999), "20/Nov/2026:21:59:59 +0000");
    }

    #[test]
    fn a_quote_in_a_path_cannot_break_a_line() {
        assert_eq!(escape("/a\"b\\c\nd"), "/a\\x22b\\x5Cc\\x0Ad");
    }
}
