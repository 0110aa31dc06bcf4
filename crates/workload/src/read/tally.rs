//! What became of the lines of a log, and why some are no requests.

use std::collections::BTreeMap;

/// Rejected lines kept as examples.
pub const EXAMPLES_MAX: usize = 8;

/// Characters of a rejected line that are shown.
const EXCERPT_CHARS_MAX: usize = 80;

/// Why a line is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Cause {
    /// Longer than [`crate::LINE_BYTES_MAX`].
    #[error("longer than 65536 bytes")]
    Long,
    /// The client is missing.
    #[error("no client at the start")]
    Client,
    /// The site has no port where the format has one.
    #[error("no site with a port at the start")]
    Site,
    /// The time is missing or no time.
    #[error("no valid time")]
    Time,
    /// The time is none that a web server can have had, see [`crate::Stamp::plausible`].
    #[error("a time before 1970 or after 2099")]
    Year,
    /// There is no request, or it is not a method and a URL.
    #[error("no request with a method and a URL")]
    Request,
    /// The status is missing or no number from 100 to 999.
    #[error("no status code")]
    Status,
    /// The client got no reply: it left, or sent nothing that could be answered.
    #[error("no reply was sent")]
    Unanswered,
    /// The byte count is neither a number nor "-".
    #[error("no byte count")]
    Bytes,
    /// The size is no number.
    #[error("no target size")]
    Size,
    /// A line has fewer columns than the header names.
    #[error("fewer columns than the header names")]
    Columns,
    /// The log does not begin with its header, or the header names unknown or missing columns.
    #[error("no header of this format before it")]
    Header,
    /// A trace file of a later version.
    #[error("a version of the format that this program does not know")]
    Version,
    /// The line is not a JSON object, or is cut.
    #[error("no JSON object")]
    Json,
    /// The line tells of something that is no request.
    #[error("an event of another kind")]
    Event,
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
    /// Of these, blank lines, headers, comments and events of other kinds.
    pub skipped: u64,
    /// Of these, lines that are no records, by cause.
    pub rejected: BTreeMap<Cause, u64>,
    /// The first [`EXAMPLES_MAX`] rejected lines.
    pub examples: Vec<Reject>,
}

/// No line of a log is a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// There is no line.
    #[error("the log is empty")]
    Empty,
    /// There are headers, comments or blank lines only.
    #[error("none of the log's {0} lines is a request: all are blank or comments")]
    Blank(u64),
    /// All that could be requests were rejected.
    #[error("none of the log's {lines} lines is a request; line {}: {}: {}", .first.line,
            .first.cause, .first.excerpt)]
    Rejected {
        /// Lines read.
        lines: u64,
        /// The first one rejected.
        first: Reject,
    },
}

impl Tally {
    /// Lines that are no records, whatever the cause.
    pub fn rejects(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// Whether there is anything to work with.
    ///
    /// # Errors
    /// [`Unusable`], a sentence for whoever gave the log.
    pub fn usable(&self) -> Result<(), Unusable> {
        match self.examples.first() {
            _ if self.records > 0 => Ok(()),
            Some(first) => Err(Unusable::Rejected { lines: self.lines, first: first.clone() }),
            None if self.lines == 0 => Err(Unusable::Empty),
            None => Err(Unusable::Blank(self.lines)),
        }
    }

    /// Adds what became of the lines that follow those counted here.
    pub fn append(&mut self, next: Self) {
        for mut reject in next.examples {
            if self.examples.len() < EXAMPLES_MAX {
                reject.line += self.lines;
                self.examples.push(reject);
            }
        }
        for (cause, count) in next.rejected {
            *self.rejected.entry(cause).or_default() += count;
        }
        self.lines += next.lines;
        self.records += next.records;
        self.skipped += next.skipped;
    }

    pub(super) fn reject(&mut self, cause: Cause, line: &[u8]) {
        *self.rejected.entry(cause).or_default() += 1;
        if self.examples.len() < EXAMPLES_MAX {
            let text = String::from_utf8_lossy(&line[..line.len().min(4 * EXCERPT_CHARS_MAX)]);
            let excerpt = text.chars().take(EXCERPT_CHARS_MAX).collect();
            self.examples.push(Reject { line: self.lines, cause, excerpt });
        }
    }
}
