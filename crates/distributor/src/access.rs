//! Lines of the access log.

use crate::counters::Cause;
use crate::exchange::Exchange;
use crate::journal::{Delivered, Tally};
use crate::settings::AccessFormat;
use crate::worker::Worker;
use policy::Why;
use serde::Serialize;
use std::io::Write;
use wire::http::{Slots, Version, request};

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
    pub(crate) trace_id: &'a str,
    pub(crate) version: &'a str,
}

impl<'a> Texts<'a> {
    /// Of a request that could not be read.
    pub(crate) fn unknown(policy: &'a str) -> Self {
        let (class, unknown) = ("-", "-");
        Self {
            method: unknown,
            host: unknown,
            server: unknown,
            path: unknown,
            policy,
            class,
            referer: "",
            agent: "",
            request_id: "",
            trace_id: "",
            version: unknown,
        }
    }
}

/// Adds the line of an exchange that has ended; the texts come from the head as it was sent.
pub(crate) fn served(exchange: &Exchange, format: AccessFormat, server: &str, worker: &Worker) {
    let mut slots = Slots::new();
    let limits = exchange.live.settings.wire_for_log();
    let Ok(Some(head)) = request::parse(&exchange.head, &limits, &mut slots) else { return };
    let field = |name| head.field(name).map(String::from_utf8_lossy).unwrap_or_default();
    let id = exchange.id.map(|id| id.text().into_owned()).unwrap_or_default();
    let texts = Texts {
        method: head.method_name,
        host: &exchange.host.text(),
        server,
        path: head.target,
        policy: &exchange.live.policy,
        class: exchange.live.rules.classes().name(exchange.question.class),
        referer: &field("referer"),
        agent: &field("user-agent"),
        request_id: &id,
        trace_id: head.field("traceparent").and_then(trace_id).unwrap_or(""),
        version: if exchange.version == Version::Http10 { "HTTP/1.0" } else { "HTTP/1.1" },
    };
    let started = worker.shared.journal.started_unix_ms();
    worker.log(|out| write(format, out, started, &exchange.tally, &texts));
}

/// Appends a line in `format`.
pub(crate) fn write(
    format: AccessFormat,
    out: &mut Vec<u8>,
    started_unix_ms: u64,
    tally: &Tally,
    texts: &Texts<'_>,
) {
    match format {
        AccessFormat::Json => write_json(out, started_unix_ms, tally, texts),
        AccessFormat::Combined => write_combined(out, started_unix_ms, tally, texts),
    }
}

#[derive(Serialize)]
struct JsonLine<'a> {
    time_ms: u64,
    client: &'a str,
    method: &'a str,
    host: &'a str,
    path: &'a str,
    status: Option<u16>,
    bytes: Option<u64>,
    bytes_out: Option<u64>,
    bytes_in: Option<u64>,
    policy: &'a str,
    class: &'a str,
    target: String,
    server: &'a str,
    reason: &'a str,
    candidates: u32,
    load_chosen: f64,
    load_least: f64,
    expect: &'a str,
    mechanism: Option<&'a str>,
    delivery: &'a str,
    local: Option<&'a str>,
    attempts: u32,
    queue_ms: f64,
    connect_ms: f64,
    first_byte_ms: Option<f64>,
    total_ms: Option<f64>,
    term: &'a str,
    request_id: &'a str,
    trace_id: &'a str,
    referer: &'a str,
    agent: &'a str,
}

/// Appends one JSON object and a line end.
fn write_json(out: &mut Vec<u8>, started_unix_ms: u64, tally: &Tally, texts: &Texts<'_>) {
    let ms = |us: u64| us as f64 / 1000.0;
    let client = tally.client.to_string();
    // Of a reply that did not pass here nothing is known; of one that the kernel moved, its bytes.
    let seen = tally.cause != Cause::OneWay;
    let read = seen && tally.delivered != Delivered::Splice;
    let line = JsonLine {
        time_ms: started_unix_ms + tally.at.0 / 1_000_000,
        client: &client,
        method: texts.method,
        host: texts.host,
        path: texts.path,
        status: read.then_some(tally.status),
        bytes: seen.then(|| tally.body_out()),
        bytes_out: seen.then_some(tally.bytes_out),
        bytes_in: seen.then_some(tally.bytes_in),
        policy: texts.policy,
        class: texts.class,
        target: format!("{:016x}", tally.target.0),
        server: texts.server,
        reason: tally.why.map_or("-", Why::name),
        candidates: tally.choice.candidates,
        load_chosen: tally.choice.load_chosen.as_f64(),
        load_least: tally.choice.load_least.as_f64(),
        expect: tally.expect.name(),
        mechanism: seen.then(|| tally.mechanism()),
        delivery: tally.delivered.name(),
        local: Some(tally.local).filter(|why| !why.is_empty()),
        attempts: tally.attempts,
        queue_ms: ms(tally.queue_us),
        connect_ms: ms(tally.connect_us),
        first_byte_ms: read.then(|| ms(tally.first_byte_us)),
        total_ms: seen.then(|| ms(tally.total_us)),
        term: tally.cause.code(),
        request_id: texts.request_id,
        trace_id: texts.trace_id,
        referer: texts.referer,
        agent: texts.agent,
    };
    if serde_json::to_writer(&mut *out, &line).is_ok() {
        out.push(b'\n');
    }
}

/// Appends a line of the Combined Log Format with the decision fields behind it, as `name=value`.
fn write_combined(out: &mut Vec<u8>, started_unix_ms: u64, tally: &Tally, texts: &Texts<'_>) {
    let unix_s = (started_unix_ms + tally.at.0 / 1_000_000) / 1000;
    let quoted = |text: &str| if text.is_empty() { "-".to_owned() } else { escape(text) };
    let seen = tally.cause != Cause::OneWay;
    let read = seen && tally.delivered != Delivered::Splice;
    let number = |number: u64| if seen { number.to_string() } else { "-".to_owned() };
    let status = if read { tally.status.to_string() } else { "-".to_owned() };
    let ms = |us: u64| if seen { format!("{:.3}", us as f64 / 1000.0) } else { "-".to_owned() };
    // Writing to a Vec cannot fail.
    let _infallible = writeln!(
        out,
        "{} - - [{}] \"{} {} {}\" {} {} \"{}\" \"{}\" policy={} class={} target={:016x} server={} \
         reason={} candidates={} load={}/{} expect={} mechanism={} delivery={} local={} \
         attempts={} queue_ms={:.3} connect_ms={:.3} first_byte_ms={} total_ms={} term={} \
         trace={} id={}",
        tally.client,
        clf_time(unix_s),
        texts.method,
        escape(texts.path),
        texts.version,
        status,
        number(tally.body_out()),
        quoted(texts.referer),
        quoted(texts.agent),
        texts.policy,
        texts.class,
        tally.target.0,
        texts.server,
        tally.why.map_or("-", Why::name),
        tally.choice.candidates,
        tally.choice.load_chosen,
        tally.choice.load_least,
        tally.expect.name(),
        if seen { tally.mechanism() } else { "-" },
        tally.delivered.name(),
        known(tally.local),
        tally.attempts,
        tally.queue_us as f64 / 1000.0,
        tally.connect_us as f64 / 1000.0,
        if read { ms(tally.first_byte_us) } else { "-".to_owned() },
        ms(tally.total_us),
        tally.cause.code(),
        known(texts.trace_id),
        known(texts.request_id),
    );
}

fn known(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// The trace that a `traceparent` (W3C Trace Context) belongs to: the 32 digits in its middle.
fn trace_id(field: &[u8]) -> Option<&str> {
    let field = core::str::from_utf8(field).ok()?;
    let (version, id) = (field.get(..3)?, field.get(3..35)?);
    let hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let whole = version.ends_with('-') && hex(&version[..2]) && field[35..].starts_with('-');
    (whole && hex(id) && id.bytes().any(|byte| byte != b'0')).then_some(id)
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
    fn a_trace_is_known_by_its_32_digits_or_not_at_all() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let with = |id: &str| format!("00-{id}-00f067aa0ba902b7-01");
        assert_eq!(trace_id(with(id).as_bytes()), Some(id));
        let wrong = [String::new(), id.to_owned(), format!("00-{id}"), with(&id[1..])];
        let evil =
            [with(&id.replace('4', " ")), with(&id.replace('4', "\"")), with(&"0".repeat(32))];
        for text in wrong.iter().chain(&evil) {
            assert_eq!(trace_id(text.as_bytes()), None, "{text}");
        }
        assert_eq!(trace_id(b"00-\xc3\xa4\xff"), None);
    }

    #[test]
    fn a_quote_in_a_path_cannot_break_a_line() {
        assert_eq!(escape("/a\"b\\c\nd"), "/a\\x22b\\x5Cc\\x0Ad");
    }
}
