//! One pass over the fields of a head: what they say of framing, connection and host.
//!
//! Shared by both directions. Faults are [`Reject`]s; to a response's reader they are the server's.

use super::head::Marks;
use super::names::{Name, known};
use super::request::Reject;
use httparse::Header;

/// Connection options other than the usual ones that one head may list. Each is compared with
/// every field's name, so an unbounded list would buy a client a lot of our time.
const CONNECTION_OPTIONS_MAX: usize = 16;

/// What Transfer-Encoding says, all its fields taken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Coding {
    #[default]
    Absent,
    Chunked,
    Unknown,
    /// `chunked` not last, or twice: nobody can say where such a message ends.
    ChunkedInside,
    EmptyElement,
}

/// What the fields of a head say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Judged<'b> {
    pub marks: Marks,
    pub content_length: Option<u64>,
    pub coding: Coding,
    pub close: bool,
    pub keep_alive: bool,
    pub upgrade_option: bool,
    pub upgrade: Option<&'b [u8]>,
    pub host: Option<&'b [u8]>,
    pub host_twice: bool,
    pub expect_continue: bool,
    pub expect_other: bool,
    pub te_trailers: bool,
    options_other: usize,
}

impl<'b> Judged<'b> {
    /// Reads the fields `list` of the head `raw`, which ends with its blank line. Fills in place:
    /// returned by value, the marks would be copied twice on the way.
    #[inline]
    pub(crate) fn read(&mut self, raw: &'b [u8], list: &[Header<'b>]) -> Result<(), Reject> {
        if !raw.ends_with(b"\r\n\r\n") {
            return Err(BARE_LF);
        }
        for (index, field) in list.iter().enumerate() {
            // The splitter takes a bare LF for a line's end; the line before ends where this one
            // begins, and a CR can be nowhere else.
            let start = field.name.as_ptr().addr() - raw.as_ptr().addr();
            if raw[start - 2] != b'\r' {
                return Err(BARE_LF);
            }
            if let Some(name) = known(field.name) {
                self.take(name, index, field.value)?;
            }
        }
        if self.options_other > 0 {
            self.nominate(list)?;
        }
        Ok(())
    }

    fn take(&mut self, name: Name, index: usize, value: &'b [u8]) -> Result<(), Reject> {
        let ends_here = matches!(name, Name::Connection | Name::Te);
        self.marks.set(if ends_here { Name::Hop } else { name }, index);
        match name {
            Name::ContentLength => {
                if self.content_length.is_some() {
                    return Err(Reject::new(400, "Content-Length is there twice"));
                }
                self.content_length = Some(content_length(value)?);
            }
            Name::TransferEncoding => {
                for coding in value.split(|b| *b == b',') {
                    self.coding = self.coding.then(coding.trim_ascii());
                }
            }
            Name::Connection => self.connection(value)?,
            Name::Host => {
                self.host_twice |= self.host.is_some();
                self.host = Some(value);
            }
            Name::Upgrade => self.upgrade = Some(value),
            Name::Expect => {
                let is_continue = value.eq_ignore_ascii_case(b"100-continue");
                self.expect_continue |= is_continue;
                self.expect_other |= !is_continue;
            }
            Name::Te => {
                let mut codings = value.split(|b| *b == b',');
                self.te_trailers |=
                    codings.any(|c| c.trim_ascii().eq_ignore_ascii_case(b"trailers"));
            }
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, value: &'b [u8]) -> Result<(), Reject> {
        for option in value.split(|b| *b == b',') {
            match option.trim_ascii() {
                o if o.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = true,
                o if o.eq_ignore_ascii_case(b"close") => self.close = true,
                o if o.eq_ignore_ascii_case(b"upgrade") => self.upgrade_option = true,
                // Without them the next hop would frame or place the message differently.
                o if o.eq_ignore_ascii_case(b"content-length")
                    || o.eq_ignore_ascii_case(b"transfer-encoding")
                    || o.eq_ignore_ascii_case(b"host") =>
                {
                    return Err(Reject::new(400, "Connection names a field that must stay"));
                }
                _ => self.options_other += 1,
            }
        }
        Ok(())
    }

    /// Marks the fields that Connection names as ending here (RFC 9110, 7.6.1).
    #[cold]
    fn nominate(&mut self, list: &[Header<'b>]) -> Result<(), Reject> {
        if self.options_other > CONNECTION_OPTIONS_MAX {
            return Err(Reject::new(400, "Connection has too many options"));
        }
        for connection in list.iter().filter(|f| known(f.name) == Some(Name::Connection)) {
            for option in connection.value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                for (index, field) in list.iter().enumerate() {
                    if field.name.as_bytes().eq_ignore_ascii_case(option) {
                        self.marks.set(Name::Hop, index);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Coding {
    fn then(self, coding: &[u8]) -> Self {
        let chunked = coding.eq_ignore_ascii_case(b"chunked");
        match self {
            _ if coding.is_empty() => Self::EmptyElement,
            Self::Absent if chunked => Self::Chunked,
            Self::Absent => Self::Unknown,
            Self::Chunked => Self::ChunkedInside,
            settled => settled,
        }
    }
}

const BARE_LF: Reject = Reject::new(400, "a line ends with LF alone");

/// 1*DIGIT and nothing else: no sign, no list, no overflow.
fn content_length(value: &[u8]) -> Result<u64, Reject> {
    const WRONG: Reject = Reject::new(400, "Content-Length is not a plain number");
    if value.is_empty() || value.len() > 19 {
        return Err(WRONG);
    }
    value.iter().try_fold(0u64, |sum, byte| match byte {
        b'0'..=b'9' => Ok(sum * 10 + u64::from(byte - b'0')),
        _ => Err(WRONG),
    })
}
