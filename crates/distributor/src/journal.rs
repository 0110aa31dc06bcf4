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
        let length = text.len().min(N).min(usize::from(u8::MAX));
        short.bytes[..length].copy_from_slice(&text[..length]);
        short.length = length as u8;
        short
    }

    /// The text; what is not UTF-8 is replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes[..usize::from(self.length)])
    }
}

/// One request and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When its head was whole.
    pub at: policy::Instant,
    /// Its method.
    pub method: Short<16>,
    /// Its host.
    pub host: Short<64>,
    /// Its path and query.
    pub path: Short<128>,
    /// Who asked.
    pub client: Option<IpAddr>,
    /// What it leans on.
    pub class: Class,
    /// What it names.
    pub target: TargetId,
    /// Name of the server that was chosen last.
    pub server: Short<48>,
    /// Why; `None` when none was.
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
        all.sort_by_key(|record| core::cmp::Reverse(record.at));
        all.truncate(count);
        all
    }

    /// When the clock of the records was at zero, in milliseconds since 1970.
    pub fn started_unix_ms(&self) -> u64 {
        let since = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(0)
    }

    pub(crate) fn remember(&self, worker: usize, record: &Record) {
        let mut recent = self.recent[worker].lock().unwrap_or_else(PoisonError::into_inner);
        let next = recent.next;
        if next < recent.records.len() {
            recent.records[next] = *record;
        } else {
            recent.records.push(*record);
        }
        recent.next = (next + 1) % RECENT_MAX;
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

/// What a line of the log has beyond the record: texts at full length.
pub(crate) struct Texts<'a> {
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
    record: &Record,
    texts: &Texts<'_>,
) {
    let ms = |us: u64| us as f64 / 1000.0;
    let client = client_text(record);
    let line = JsonLine {
        time_ms: started_unix_ms + record.at.0 / 1_000_000,
        client: &client,
        method: &record.method.text(),
        host: &record.host.text(),
        path: texts.path,
        status: record.status,
        bytes: record.bytes_out,
        bytes_in: record.bytes_in,
        policy: texts.policy,
        class: texts.class,
        target: format!("{:016x}", record.target.0),
        server: &record.server.text(),
        reason: record.why.map_or("-", Why::name),
        load_chosen: record.load_chosen.as_f64(),
        load_least: record.load_least.as_f64(),
        expect: record.expect.name(),
        mechanism: "relay",
        attempts: record.attempts,
        queue_ms: ms(record.queue_us),
        connect_ms: ms(record.connect_us),
        first_byte_ms: ms(record.first_byte_us),
        total_ms: ms(record.total_us),
        term: record.cause.code(),
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
    record: &Record,
    texts: &Texts<'_>,
) {
    let unix_s = (started_unix_ms + record.at.0 / 1_000_000) / 1000;
    let quoted = |text: &str| if text.is_empty() { "-".to_owned() } else { escape(text) };
    // Writing to a Vec cannot fail.
    let _infallible = writeln!(
        out,
        "{} - - [{}] \"{} {} {}\" {} {} \"{}\" \"{}\" policy={} class={} target={:016x} server={} \
         reason={} load={}/{} expect={} mechanism=relay attempts={} queue_ms={:.3} \
         connect_ms={:.3} first_byte_ms={:.3} total_ms={:.3} term={} id={}",
        client_text(record),
        clf_time(unix_s),
        record.method.text(),
        escape(texts.path),
        texts.version,
        record.status,
        record.bytes_out,
        quoted(texts.referer),
        quoted(texts.agent),
        texts.policy,
        texts.class,
        record.target.0,
        record.server.text(),
        record.why.map_or("-", Why::name),
        record.load_chosen,
        record.load_least,
        record.expect.name(),
        record.attempts,
        record.queue_us as f64 / 1000.0,
        record.connect_us as f64 / 1000.0,
        record.first_byte_us as f64 / 1000.0,
        record.total_us as f64 / 1000.0,
        record.cause.code(),
        if texts.request_id.is_empty() { "-" } else { texts.request_id },
    );
}

fn client_text(record: &Record) -> String {
    record.client.map_or_else(|| "-".to_owned(), |ip| ip.to_canonical().to_string())
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
