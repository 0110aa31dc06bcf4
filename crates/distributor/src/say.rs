//! The switch's own log: lines to standard error, each with its time.
//!
//! A line may get lost: `eprintln!` panics when nobody reads any more.

use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::http::date;

/// Says it, if somebody listens: time, `baton:`, and `line`. Under systemd the journal has the
/// time already; it tells so by its variable.
pub fn say(line: impl Display) {
    static BY_JOURNAL: OnceLock<bool> = OnceLock::new();
    let timed = *BY_JOURNAL.get_or_init(|| std::env::var_os("JOURNAL_STREAM").is_some());
    let stamp = if timed { String::new() } else { now() + " " };
    let _unheard = writeln!(std::io::stderr().lock(), "{stamp}baton: {line}");
}

fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date::rfc3339(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
