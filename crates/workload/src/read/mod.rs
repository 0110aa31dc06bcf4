//! Lines to records: the seam behind which the log formats are.
//!
//! A format is one row of [`FORMATS`]. Most are of a family: a pattern of fields and the texts
//! between them (`pattern`, rows in `texts`), a JSON object (`json`), columns that the log itself
//! names (`w3c`); the others have a file of their own. All put their fields into a draft (`field`)
//! that becomes a [`Record`]. Its parser may keep state from line to line (a header that names
//! columns). A line that cannot be parsed is counted, the first ones are kept with their number and
//! cause, and nothing else is lost.

mod detect;
mod epa;
mod field;
mod json;
mod language;
mod native;
mod pattern;
mod reader;
mod stamp;
mod tally;
mod texts;
mod value;
mod w3c;

use crate::Record;

pub use detect::{Guess, detect};
pub(crate) use native::{HEADER, row};
pub use pattern::{Pattern, PatternError};
pub use reader::{LINE_BYTES_MAX, Reader, read, whole_lines};
pub use tally::{Cause, EXAMPLES_MAX, Reject, Tally, Unusable};

/// Turns the lines of one log into records.
pub trait Parse: Send {
    /// The request of one line (without its line end); `None` for lines that are none, such as
    /// headers and comments. Any bytes may come; nothing panics.
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause>;

    /// How sure the line makes one that the log is in this format, 0 to 100; `None` when it says
    /// nothing about that. Like [`Parse::line`], it learns from headers.
    fn sure(&mut self, line: &[u8]) -> Option<u8>;

    /// A parser that knows what this one knows, to read lines elsewhere.
    fn fork(&self) -> Box<dyn Parse>;
}

/// A row of [`FORMATS`].
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence: who writes it, and what a line looks like.
    pub about: &'static str,
    /// A parser at the start of a log.
    pub parser: fn() -> Box<dyn Parse>,
}

/// Every format that can be read: the only list.
pub const FORMATS: &[Format] = &[
    native::FORMAT,
    json::BATON,
    texts::BATON_COMBINED,
    texts::COMMON,
    texts::COMBINED,
    texts::NGINX,
    texts::NGINX_UPSTREAM,
    texts::NGINX_NAMED,
    texts::NGINX_MAIN,
    texts::NGINX_INGRESS,
    texts::APACHE_MICROS,
    texts::APACHE_SECONDS,
    texts::APACHE_VHOST,
    texts::APACHE_VHOST_MICROS,
    texts::HAPROXY,
    texts::ENVOY,
    texts::ISTIO,
    json::ENVOY,
    texts::TRAEFIK,
    json::TRAEFIK,
    json::CADDY,
    json::NGINX,
    texts::ALB,
    w3c::CLOUDFRONT,
    w3c::W3C,
    texts::SQUID,
    epa::FORMAT,
    texts::CLF,
];

/// The format called `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
