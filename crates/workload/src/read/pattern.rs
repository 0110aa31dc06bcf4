//! Formats whose lines are fields between fixed texts: most of them, and those a user describes.
//!
//! A pattern is a log format as a server's configuration has it (see `language` for whose), made
//! into a list of fields and of the text that ends each. Reading a line is then a walk from text to
//! text, without a regular expression and without an allocation.

use super::field::{Draft, Field, Habits};
use super::language::{Token, tokens};
use super::stamp::Calendar;
use super::{Cause, Parse};
use crate::Record;
use std::borrow::Cow;
use std::sync::Arc;

/// How sure a line makes a format that it fits but for its end.
const SURE_BUT_FOR_THE_END: u8 = 20;

/// A log format that was written down as text.
///
/// Understood is what nginx calls `log_format` (`$remote_addr [$time_local] "$request" $status`),
/// what Apache calls `LogFormat` (`%h %t "%r" %>s %b %D`) and what Envoy calls a format string
/// (`%START_TIME% %REQ(:METHOD)%`), each with the names of its manual. A name that is not known is
/// a field that is passed over. Time, status, client and method may be missing; the target may not.
#[derive(Clone, Debug)]
pub struct Pattern(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    head: Box<[u8]>,
    pieces: Box<[Piece]>,
    /// Words `name=value` that may follow in any order.
    named: &'static [(&'static str, Field)],
    habits: Habits,
}

/// A field, and where it ends.
#[derive(Debug)]
struct Piece {
    field: Field,
    /// The text behind it; empty: the end of the line.
    until: Box<[u8]>,
    /// It stands in quotes, and a backslash may escape one in it.
    quoted: bool,
    /// It is a list of servers tried, as nginx writes it: blanks follow its commas and surround its
    /// colons.
    list: bool,
    /// `until` belongs to the next field.
    keep: bool,
    /// What is wrong with a line that ends here; `None` when all that follows may be missing.
    missing: Option<Cause>,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Not one variable.
    #[error(
        "the format names no field: give variables as nginx ($request), Apache (%r) or Envoy \
         (%REQ(:PATH)%) has them"
    )]
    NoFields,
    /// No URL.
    #[error(
        "the format has no target: without $request, $request_uri or $uri (in Apache's words %r or \
         %U, in Envoy's %REQ(:PATH)%) nobody knows what was asked for"
    )]
    NoTarget,
    /// Two fields with nothing between them.
    #[error("nothing stands between {0} and {1}, so nobody knows where the first one ends")]
    Adjacent(String, String),
    /// A brace or a per cent sign without its end.
    #[error("{0} has no end")]
    Open(String),
}

impl Pattern {
    /// Understands a format.
    ///
    /// # Errors
    /// [`PatternError`]: what to change.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let (tokens, at_end) = tokens(text)?;
        let habits = Habits { at_end, ..Habits::default() };
        compile(&tokens, &[], habits).map(|all| Self(Arc::new(all)))
    }

    /// A format of the program's own, whose habits are known.
    pub(super) fn with(
        text: &str,
        named: &'static [(&'static str, Field)],
        habits: Habits,
    ) -> Result<Self, PatternError> {
        let (tokens, _) = tokens(text)?;
        compile(&tokens, named, habits).map(|all| Self(Arc::new(all)))
    }

    /// A parser at the start of a log.
    pub fn parser(&self) -> Box<dyn Parse> {
        self.sure(|_| 100)
    }

    /// A parser that judges lines by `weigh`.
    pub(super) fn sure(&self, weigh: fn(&Record<'_>) -> u8) -> Box<dyn Parse> {
        Box::new(Lines { pattern: self.clone(), calendar: Calendar::default(), weigh })
    }
}

fn compile(
    tokens: &[Token],
    named: &'static [(&'static str, Field)],
    habits: Habits,
) -> Result<Compiled, PatternError> {
    let mut head = Vec::new();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut before: &[u8] = b"";
    let mut last: Option<&str> = None;
    for token in tokens {
        match token {
            Token::Text(text) => {
                before = text;
                last = None;
                match pieces.last_mut() {
                    Some(piece) => piece.until = text.as_slice().into(),
                    None => head.extend_from_slice(text),
                }
            }
            Token::Field(field, name) => {
                let Some(left) = last else {
                    let quoted = before.ends_with(b"\"");
                    pieces.push(Piece { quoted, ..Piece::new(*field, name) });
                    last = Some(name);
                    continue;
                };
                let piece = pieces.last_mut().expect("a name was given with its piece");
                let next = join(piece, *field, left, name)?;
                pieces.extend(next);
                last = Some(name);
            }
        }
    }
    if pieces.is_empty() {
        return Err(PatternError::NoFields);
    }
    let has = |known: fn(Field) -> bool| pieces.iter().any(|piece| known(piece.field));
    if !has(|field| matches!(field, Field::Request | Field::Url | Field::Path)) {
        return Err(PatternError::NoTarget);
    }
    let habits = Habits {
        timed: has(|field| matches!(field, Field::At | Field::Began)),
        answered: has(|field| field == Field::Status),
        ..habits
    };
    settle(&mut pieces);
    Ok(Compiled { head: head.into(), pieces: pieces.into(), named, habits })
}

/// Two fields with nothing between: a path and its query are a URL, and a path that follows a host
/// begins with a slash.
fn join(
    piece: &mut Piece,
    field: Field,
    left: &str,
    right: &str,
) -> Result<Option<Piece>, PatternError> {
    match (piece.field, field) {
        (Field::Path | Field::Url, Field::Query) => {
            piece.field = Field::Url;
            Ok(None)
        }
        (Field::Query, Field::Query) => Ok(None),
        (_, Field::Url | Field::Path) => {
            (piece.until, piece.keep, piece.quoted) = (b"/"[..].into(), true, false);
            Ok(Some(Piece::new(field, right)))
        }
        _ => Err(PatternError::Adjacent(left.to_owned(), right.to_owned())),
    }
}

/// Notes for each piece what a line lacks that ends there, and what really stands in quotes.
fn settle(pieces: &mut [Piece]) {
    let mut missing = None;
    for piece in pieces.iter_mut().rev() {
        piece.quoted &= piece.until.starts_with(b"\"");
        piece.missing = missing.map(|later| match piece.field {
            Field::Skip => later,
            field => field.cause(),
        });
        if matches!(
            piece.field,
            Field::At | Field::Status | Field::Request | Field::Url | Field::Path | Field::Method
        ) {
            missing = Some(piece.field.cause());
        }
    }
}

impl Piece {
    fn new(field: Field, name: &str) -> Self {
        let list = name.starts_with("$upstream_") || name.starts_with("${upstream_");
        Self { field, until: Box::default(), quoted: false, list, keep: false, missing: None }
    }

    /// Where the value ends in `rest`, and where the next one begins.
    fn end(&self, rest: &[u8]) -> Option<(usize, usize)> {
        let (&first, others) = self.until.split_first()?;
        let mut from = 0;
        loop {
            let at = if self.quoted {
                from + memchr::memchr2(b'"', b'\\', &rest[from..])?
            } else {
                from + memchr::memchr(first, &rest[from..])?
            };
            if self.quoted && rest[at] == b'\\' {
                from = (at + 2).min(rest.len());
            } else if self.list && first == b' ' && rest[..at].ends_with(b",") {
                from = at + 1;
            } else if self.list && first == b' ' && rest[at + 1..].starts_with(b": ") {
                from = at + 3;
            } else if begins(&rest[at + 1..], others) {
                return Some((at, if self.keep { at } else { at + self.until.len() }));
            } else {
                from = at + 1;
            }
        }
    }
}

/// `starts_with`, for texts of which most have no byte or one. A call of memcmp costs more than the
/// comparison, and far more for nothing: glibc's AVX-512 form loads from the dangling address of an
/// empty slice under a mask, and the processor takes its slow path for the suppressed fault.
fn begins(text: &[u8], start: &[u8]) -> bool {
    text.len() >= start.len() && text.iter().zip(start).all(|(left, right)| left == right)
}

impl Compiled {
    /// What a line says; `whole` becomes whether it is in this format to its last byte.
    fn read<'a>(
        &self,
        line: &'a [u8],
        calendar: &mut Calendar,
        whole: &mut bool,
    ) -> Result<Option<Record<'a>>, Cause> {
        let mut draft = Draft::default();
        let first = self.pieces[0].field.cause();
        let mut rest =
            if begins(line, &self.head) { &line[self.head.len()..] } else { return Err(first) };
        *whole = true;
        for piece in &self.pieces {
            let value = if let Some((end, next)) = piece.end(rest) {
                let value = &rest[..end];
                rest = &rest[next..];
                if piece.until.ends_with(b" ") {
                    while let [b' ', more @ ..] = rest {
                        rest = more;
                    }
                }
                value
            } else {
                if let Some(cause) = piece.missing {
                    return Err(cause);
                }
                let last = piece.until.is_empty();
                let one = piece.list || piece.field == Field::Skip;
                *whole &= last && (one || memchr::memchr(b' ', rest.trim_ascii()).is_none());
                *whole &= last || std::ptr::eq(piece, &self.pieces[self.pieces.len() - 1]);
                std::mem::take(&mut rest)
            };
            if piece.field == Field::Client && value.is_empty() {
                return Err(Cause::Client);
            }
            if piece.field != Field::Skip {
                draft.set(piece.field, Cow::Borrowed(value), calendar)?;
            }
        }
        *whole &= if self.named.is_empty() { rest.is_empty() } else { !rest.is_empty() };
        for word in rest.split(|&byte| byte == b' ') {
            let Some(gap) = memchr::memchr(b'=', word) else { continue };
            let field = self.named.iter().find(|(name, _)| name.as_bytes() == &word[..gap]);
            if let Some((_, field)) = field {
                let value = word[gap + 1..].strip_prefix(b"\"").unwrap_or(&word[gap + 1..]);
                let value = value.strip_suffix(b"\"").unwrap_or(value);
                draft.set(*field, Cow::Borrowed(value), calendar)?;
            }
        }
        draft.record(self.habits)
    }
}

#[derive(Clone)]
struct Lines {
    pattern: Pattern,
    calendar: Calendar,
    weigh: fn(&Record<'_>) -> u8,
}

impl Parse for Lines {
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause> {
        self.pattern.0.read(line, &mut self.calendar, &mut false)
    }

    fn sure(&mut self, line: &[u8]) -> Option<u8> {
        let mut whole = false;
        Some(match self.pattern.0.read(line, &mut self.calendar, &mut whole) {
            Ok(Some(record)) if whole => (self.weigh)(&record),
            Ok(Some(_)) => SURE_BUT_FOR_THE_END,
            _ => 0,
        })
    }

    fn fork(&self) -> Box<dyn Parse> {
        Box::new(self.clone())
    }
}
