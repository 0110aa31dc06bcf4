//! Lines to records: the seam behind which the log formats are.
//!
//! A format is one file and one row of [`FORMATS`]. Its parser may keep state from line to line
//! (a header that names columns). A line that cannot be parsed is counted, the first ones are kept
//! with their number and cause, and nothing else is lost.

mod clf;
mod epa;
mod native;

use crate::Record;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

pub(crate) use native::{HEADER, row};

/// Longest line that is read; no server logs more than its head limit, of which this is a multiple.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// Rejected lines kept as examples.
pub const EXAMPLES_MAX: usize = 8;

/// Characters of a rejected line that are shown.
const EXCERPT_CHARS_MAX: usize = 80;

/// Turns the lines of one log into records.
pub trait Parse {
    /// The request of one line (without its line end); `None` for lines that are none, such as
    /// headers and comments. Any bytes may come; nothing panics.
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause>;
}

/// A row of [`FORMATS`].
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence: who writes it, and what a line looks like.
    pub about: &'static str,
    /// How sure a single line makes one that a log is in this format, 0 to 100.
    pub detect: fn(&[u8]) -> u8,
    /// A parser at the start of a log.
    pub parser: fn() -> Box<dyn Parse>,
}

/// Every format that can be read: the only list.
pub const FORMATS: &[Format] = &[native::FORMAT, clf::FORMAT, epa::FORMAT];

/// The format called `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format that the first lines of a log look most like, and how sure that is (1 to 100, the
/// mean over the lines that are not blank); `None` when no format knows any of them.
pub fn detect(sample: &[&[u8]]) -> Option<(&'static Format, u8)> {
    let lines: Vec<&[u8]> =
        sample.iter().copied().filter(|line| !line.trim_ascii().is_empty()).collect();
    let mut best: Option<(&'static Format, u8)> = None;
    for format in FORMATS {
        let sum: usize = lines.iter().map(|line| usize::from((format.detect)(line))).sum();
        let sure = u8::try_from(sum / lines.len().max(1)).unwrap_or(100);
        if sure > best.map_or(0, |(_, sure)| sure) {
            best = Some((format, sure));
        }
    }
    best
}

/// Why a line is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Cause {
    /// Longer than [`LINE_BYTES_MAX`].
    #[error("longer than 65536 bytes")]
    Long,
    /// The client is missing.
    #[error("no client at the start")]
    Client,
    /// The time is missing or no time.
    #[error("no valid time")]
    Time,
    /// There is no request, or it is not a method and a URL.
    #[error("no request with a method and a URL")]
    Request,
    /// The status is missing or no number from 100 to 999.
    #[error("no status code")]
    Status,
    /// The byte count is neither a number nor "-".
    #[error("no byte count")]
    Bytes,
    /// The size is no number.
    #[error("no target size")]
    Size,
    /// A line of a trace file has fewer columns than its header.
    #[error("fewer columns than the header names")]
    Columns,
    /// A trace file does not begin with its header, or the header names unknown or missing columns.
    #[error("no header of this format before it")]
    Header,
    /// A trace file of a later version.
    #[error("a version of the format that this program does not know")]
    Version,
}

/// A line that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub cause: Cause,
    /// Its beginning.
    pub excerpt: String,
}

/// What became of the lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines read.
    pub lines: u64,
    /// Of these, records.
    pub records: u64,
    /// Of these, blank lines, headers and comments.
    pub skipped: u64,
    /// Of these, lines that are no records, by cause.
    pub rejected: BTreeMap<Cause, u64>,
    /// The first [`EXAMPLES_MAX`] rejected lines.
    pub examples: Vec<Reject>,
}

impl Tally {
    /// Lines that are no records, whatever the cause.
    pub fn rejects(&self) -> u64 {
        self.rejected.values().sum()
    }

    fn reject(&mut self, cause: Cause, line: &[u8]) {
        *self.rejected.entry(cause).or_default() += 1;
        if self.examples.len() < EXAMPLES_MAX {
            let text = String::from_utf8_lossy(&line[..line.len().min(4 * EXCERPT_CHARS_MAX)]);
            let excerpt = text.chars().take(EXCERPT_CHARS_MAX).collect();
            self.examples.push(Reject { line: self.lines, cause, excerpt });
        }
    }
}

/// Reads a log to its end and gives each record to `each`, in the order of the log.
///
/// # Errors
/// Only those of `input`. Lines that are no records are in the [`Tally`].
pub fn read(
    format: &Format,
    mut input: impl BufRead,
    mut each: impl FnMut(&Record<'_>),
) -> io::Result<Tally> {
    let mut parser = (format.parser)();
    let mut tally = Tally::default();
    let mut line = Vec::new();
    while next_line(&mut input, &mut line)? {
        tally.lines += 1;
        if line.len() > LINE_BYTES_MAX {
            tally.reject(Cause::Long, &line);
        } else if line.trim_ascii().is_empty() {
            tally.skipped += 1;
        } else {
            match parser.line(&line) {
                Ok(Some(record)) => {
                    tally.records += 1;
                    each(&record);
                }
                Ok(None) => tally.skipped += 1,
                Err(cause) => tally.reject(cause, &line),
            }
        }
    }
    Ok(tally)
}

/// Puts the next line without its end into `line`; of a line longer than [`LINE_BYTES_MAX`] the
/// first bytes, more than that, and the rest is passed over. False at the end of the input.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let limit = LINE_BYTES_MAX as u64 + 2;
    if input.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    } else if line.len() as u64 == limit {
        input.skip_until(b'\n')?;
    }
    Ok(true)
}

/// The method and the URL of a logged request line. HTTP/0.9 has no version; URLs with raw blanks
/// were sent and logged.
fn request_line(request: &[u8]) -> Result<(&[u8], &[u8]), Cause> {
    let request = request.trim_ascii();
    let gap = request.iter().position(|&byte| byte == b' ').ok_or(Cause::Request)?;
    let (method, rest) = request.split_at(gap);
    let url = match rest.iter().rposition(|&byte| byte == b' ') {
        Some(at) if rest[at + 1..].starts_with(b"HTTP/") => rest[..at].trim_ascii(),
        _ => rest.trim_ascii(),
    };
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    if url.is_empty() || method.is_empty() || !method.iter().all(token) {
        return Err(Cause::Request);
    }
    Ok((method, url))
}

/// A status code, and what follows it.
fn status(text: &[u8]) -> Result<(u16, &[u8]), Cause> {
    let text = text.trim_ascii_start();
    let digits = text.get(..3).ok_or(Cause::Status)?;
    let code = crate::civil::number(digits, 999).filter(|&code| code >= 100);
    match text.get(3) {
        None | Some(b' ' | b'\t') => {
            let code = code.and_then(|code| u16::try_from(code).ok()).ok_or(Cause::Status)?;
            Ok((code, &text[3..]))
        }
        Some(_) => Err(Cause::Status),
    }
}

/// A byte count: a number, or 0 for "-" and for nothing at all (both are logged).
fn bytes(text: &[u8]) -> Result<u64, Cause> {
    let word = text.trim_ascii().split(|&byte| byte == b' ').next().unwrap_or_default();
    match word {
        b"" | b"-" => Ok(0),
        digits => crate::civil::number(digits, u64::MAX).ok_or(Cause::Bytes),
    }
}
