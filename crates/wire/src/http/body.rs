//! Where a body ends, found while it passes by.
//!
//! Nothing is kept or copied: a caller shows what arrived, in whatever pieces, and learns how much
//! of it belongs to this body. Chunk data is skipped over, not looked at.
//!
//! Chunked bodies are passed on as they came, sizes, extensions and trailers included, so they must
//! read the same to everybody: a line ends with CR LF, a size is hexadecimal digits followed by
//! `;` or CR at once, control characters and folded trailers are refused. RFC 9112 (7.1.1) would
//! allow white space around `;`; no sender needs it, and padded sizes have been used to smuggle.

use super::Limits;
use core::ops::Range;

/// Bytes of chunk extensions that may come without as many bytes of data to justify them.
const EXTENSION_BYTES_EXCESS: u64 = 16 << 10;

/// How the end of a body is known (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none, whatever the fields say.
    None,
    /// So many bytes.
    Length(u64),
    /// Chunks, the last of them empty, then trailers.
    Chunked,
    /// Everything until the connection closes; replies only.
    UntilClose,
}

impl Framing {
    /// Whether no byte follows the head.
    pub fn is_empty(self) -> bool {
        matches!(self, Self::None | Self::Length(0))
    }
}

/// What is wrong with a chunked body. The connection cannot be used any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadChunk {
    /// It is not what RFC 9112 describes: 400 to a client, 502 for a server.
    Malformed(&'static str),
    /// It is longer than [`Limits::body_bytes_max`]: 413.
    TooLong,
}

impl BadChunk {
    /// The reason, a sentence without a full stop.
    pub fn why(self) -> &'static str {
        match self {
            Self::Malformed(why) => why,
            Self::TooLong => "the content is too long",
        }
    }

    /// The status for a client that sent it.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::TooLong => 413,
        }
    }
}

/// How much of the bytes shown belongs to the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Bytes that do, from the first.
    pub consumed: usize,
    /// Whether the body ends with them.
    pub done: bool,
}

/// What [`Chunks::next`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Content, at this range of the bytes shown; go on behind it.
    Data(Range<usize>),
    /// All bytes shown are used up.
    More,
    /// The body is over; so many of the bytes shown still belonged to it.
    End(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first digit of a size.
    Size,
    SizeMore,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailer,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// A scanner of one chunked body.
#[derive(Clone, Debug)]
pub struct Chunks {
    state: State,
    /// Size of the chunk while its line is read, then what is left of its data.
    left: u64,
    /// Bytes of this size line, or of the trailers.
    line_bytes: usize,
    /// Extension bytes that data did not make up for.
    extension_bytes: u64,
    body_bytes: u64,
    body_bytes_max: u64,
    chunk_line_bytes_max: usize,
    trailer_bytes_max: usize,
}

impl Chunks {
    /// A scanner before the first byte of the body.
    pub fn new(limits: &Limits) -> Self {
        Self {
            state: State::Size,
            left: 0,
            line_bytes: 0,
            extension_bytes: 0,
            body_bytes: 0,
            body_bytes_max: limits.body_bytes_max,
            chunk_line_bytes_max: limits.chunk_line_bytes_max,
            trailer_bytes_max: limits.trailer_bytes_max,
        }
    }

    /// Bytes of content announced so far, without the framing.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether the end was seen.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes what arrived: for a relay that passes the framing through.
    ///
    /// # Errors
    ///
    /// [`BadChunk`]; nothing of these bytes may be passed on.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<Scan, BadChunk> {
        let mut consumed = 0;
        loop {
            match self.next(&bytes[consumed..])? {
                Piece::Data(range) => consumed += range.end,
                Piece::More => return Ok(Scan { consumed: bytes.len(), done: false }),
                Piece::End(end) => return Ok(Scan { consumed: consumed + end, done: true }),
            }
        }
    }

    /// Finds the next content in what arrived: for whoever wants it without the framing.
    ///
    /// # Errors
    ///
    /// [`BadChunk`]; the body cannot be trusted from here on.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Piece, BadChunk> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            if self.state == State::Data {
                let rest = bytes.len() - at;
                let take = usize::try_from(self.left).map_or(rest, |left| left.min(rest));
                self.skip(take as u64);
                return Ok(Piece::Data(at..at + take));
            }
            self.state = self.step(bytes[at])?;
            at += 1;
        }
        if self.is_done() { Ok(Piece::End(at)) } else { Ok(Piece::More) }
    }

    /// Bytes of content that follow whatever they are: they may pass unseen (splice).
    pub fn opaque(&self) -> u64 {
        if self.state == State::Data { self.left } else { 0 }
    }

    /// Counts content that passed unseen, at most [`Chunks::opaque`] bytes.
    pub fn skip(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.opaque(), "only opaque bytes pass unseen");
        self.left = self.left.saturating_sub(bytes);
        if self.left == 0 && self.state == State::Data {
            self.state = State::DataCr;
        }
    }

    fn step(&mut self, byte: u8) -> Result<State, BadChunk> {
        let malformed = |why| Err(BadChunk::Malformed(why));
        match (self.state, byte) {
            (State::Size | State::SizeMore, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.digit(byte)
            }
            (State::SizeMore, b';') => self.extension(),
            (State::SizeMore, b'\r') => Ok(State::SizeLf),
            (State::Size | State::SizeMore, _) => malformed("a chunk size is not hexadecimal"),
            (State::Extension, b'\r') => Ok(State::SizeLf),
            (State::Extension, b) if is_text(b) => self.extension(),
            (State::Extension, _) => malformed("a chunk extension holds a control character"),
            (State::SizeLf, b'\n') => self.begin_data(),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(State::Size),
            (State::DataCr | State::DataLf, _) => malformed("chunk data is longer than its size"),
            (State::Trailer, b'\r') => Ok(State::EndLf),
            (State::Trailer, b) if is_token(b) => self.trailer(State::TrailerName),
            (State::TrailerName, b':') => self.trailer(State::TrailerValue),
            (State::TrailerName, b) if is_token(b) => self.trailer(State::TrailerName),
            (State::TrailerValue, b'\r') => self.trailer(State::TrailerLf),
            (State::TrailerValue, b) if is_text(b) => self.trailer(State::TrailerValue),
            (State::TrailerLf, b'\n') => self.trailer(State::Trailer),
            (State::Trailer | State::TrailerName | State::TrailerValue, _) => {
                malformed("a trailer is malformed")
            }
            (State::EndLf, b'\n') => Ok(State::Done),
            (State::SizeLf | State::TrailerLf | State::EndLf, _) => {
                malformed("a line of a chunk ends with CR alone")
            }
            (state @ (State::Data | State::Done), _) => Ok(state),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<State, BadChunk> {
        const DIGITS_MAX: usize = 16;
        if self.state == State::Size {
            (self.left, self.line_bytes) = (0, 0);
        }
        self.line_bytes += 1;
        if self.line_bytes > DIGITS_MAX {
            return Err(BadChunk::Malformed("a chunk size has too many digits"));
        }
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        self.left = self.left << 4 | u64::from(value);
        Ok(State::SizeMore)
    }

    fn extension(&mut self) -> Result<State, BadChunk> {
        self.line_bytes += 1;
        self.extension_bytes += 1;
        if self.line_bytes > self.chunk_line_bytes_max
            || self.extension_bytes > EXTENSION_BYTES_EXCESS
        {
            return Err(BadChunk::Malformed("chunk extensions are too long"));
        }
        Ok(State::Extension)
    }

    fn begin_data(&mut self) -> Result<State, BadChunk> {
        if self.left == 0 {
            self.line_bytes = 0;
            return Ok(State::Trailer);
        }
        self.extension_bytes = self.extension_bytes.saturating_sub(self.left);
        self.body_bytes = self.body_bytes.checked_add(self.left).ok_or(BadChunk::TooLong)?;
        if self.body_bytes > self.body_bytes_max {
            return Err(BadChunk::TooLong);
        }
        Ok(State::Data)
    }

    fn trailer(&mut self, next: State) -> Result<State, BadChunk> {
        self.line_bytes += 1;
        if self.line_bytes > self.trailer_bytes_max {
            return Err(BadChunk::Malformed("the trailers are too long"));
        }
        Ok(next)
    }
}

/// Any body, as it passes by.
#[derive(Clone, Debug)]
pub enum Body {
    /// So many bytes are still to come.
    Length(u64),
    /// Chunks.
    Chunked(Chunks),
    /// Until the connection closes.
    UntilClose,
}

impl Body {
    /// The body of a head, before its first byte.
    pub fn new(framing: Framing, limits: &Limits) -> Self {
        match framing {
            Framing::None => Self::Length(0),
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Chunks::new(limits)),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    /// Whether its last byte was seen. Never true of [`Body::UntilClose`].
    pub fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunks) => chunks.is_done(),
            Self::UntilClose => false,
        }
    }

    /// Whether it is whole if the sender closes now.
    pub fn may_end(&self) -> bool {
        self.is_done() || matches!(self, Self::UntilClose)
    }

    /// Takes what arrived.
    ///
    /// # Errors
    ///
    /// [`BadChunk`]; nothing of these bytes may be passed on.
    #[inline]
    pub fn advance(&mut self, bytes: &[u8]) -> Result<Scan, BadChunk> {
        match self {
            Self::Length(left) => {
                let all = bytes.len();
                let consumed = usize::try_from(*left).map_or(all, |left| left.min(all));
                *left -= consumed as u64;
                Ok(Scan { consumed, done: *left == 0 })
            }
            Self::Chunked(chunks) => chunks.advance(bytes),
            Self::UntilClose => Ok(Scan { consumed: bytes.len(), done: false }),
        }
    }

    /// Bytes that follow whatever they are: they may pass unseen (splice). `u64::MAX` until close.
    pub fn opaque(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Chunked(chunks) => chunks.opaque(),
            Self::UntilClose => u64::MAX,
        }
    }

    /// Counts bytes that passed unseen, at most [`Body::opaque`].
    pub fn skip(&mut self, bytes: u64) {
        match self {
            Self::Length(left) => *left = left.saturating_sub(bytes),
            Self::Chunked(chunks) => chunks.skip(bytes),
            Self::UntilClose => {}
        }
    }
}

/// A byte of a field value or a chunk extension: no control characters but the tab.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// A byte of a token (RFC 9110, 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
