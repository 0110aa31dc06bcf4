//! A line to standard error that may get lost: `eprintln!` panics when nobody reads any more.

use std::io::Write;

/// Says it, if somebody listens.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _unheard = writeln!(std::io::stderr().lock(), "{line}");
}
