//! Logs that begin by naming their columns: W3C Extended Log Format, as Amazon CloudFront and
//! Microsoft IIS write it.
//!
//! Hallam-Baker, Behlendorf: *Extended Log File Format*, W3C Working Draft WD-logfile-960323. A
//! line `#Fields:` names the columns of what follows, blanks or tabs part them, "-" is nothing, and
//! other lines with "#" are remarks. Times are UTC and, says the draft, in seconds; IIS writes
//! milliseconds and says who it is in `#Software:`.

use super::field::{Draft, Field, Habits};
use super::stamp::Calendar;
use super::value::Unit;
use super::{Cause, Format, Parse};
use crate::Record;
use std::borrow::Cow;

/// Columns that are looked at; further ones are passed over.
const COLUMNS_MAX: usize = 128;

const COLUMNS: &[(&str, Field)] = &[
    ("timestamp", Field::At),
    ("timestamp(ms)", Field::At),
    ("date", Field::Date),
    ("time", Field::TimeOfDay),
    ("c-ip", Field::Client),
    ("c-dns", Field::Client),
    ("x-forwarded-for", Field::Forwarded),
    ("cs-host", Field::Site),
    ("x-host-header", Field::Site),
    ("cs(Host)", Field::Site),
    ("cs-method", Field::Method),
    ("cs-uri", Field::Url),
    ("cs-uri-stem", Field::Path),
    ("cs-uri-query", Field::Query),
    ("sc-status", Field::Status),
    ("sc-bytes", Field::Bytes),
    ("bytes", Field::Bytes),
    ("time-taken", Field::Took(Unit::Seconds)),
    ("cached", Field::Skip),
    ("x-edge-result-type", Field::Hit),
];

/// CloudFront's and nobody else's.
const EDGE: &[u8] = b"x-edge-location";

pub(super) const W3C: Format = Format {
    name: "w3c",
    about: "W3C Extended Log Format (IIS and others): the columns named by a line #Fields:",
    parser: || Box::new(W3c { edge: false, ..W3c::default() }),
};

pub(super) const CLOUDFRONT: Format = Format {
    name: "cloudfront",
    about: "Amazon CloudFront's standard logs: W3C with x-edge-location among the #Fields:",
    parser: || Box::new(W3c { edge: true, ..W3c::default() }),
};

#[derive(Clone, Default)]
struct W3c {
    /// Only CloudFront's will do.
    edge: bool,
    /// Spans of time are milliseconds.
    millis: bool,
    fields: Option<Vec<Field>>,
    calendar: Calendar,
}

impl W3c {
    fn directive(&mut self, text: &[u8]) -> Result<(), Cause> {
        if let Some(software) = text.strip_prefix(b"Software:") {
            self.millis = software.trim_ascii_start().starts_with(b"Microsoft");
        }
        let Some(names) = text.strip_prefix(b"Fields:") else { return Ok(()) };
        let words = names.split(|byte| matches!(byte, b' ' | b'\t'));
        let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).take(COLUMNS_MAX).collect();
        self.fields = None;
        if self.edge && !words.contains(&EDGE) {
            return Err(Cause::Header);
        }
        let mut fields: Vec<Field> = words.iter().map(|word| self.column(word)).collect();
        // CloudFront's cs(Host) is its own name for the site.
        if let Some(host) = words.iter().position(|word| *word == b"cs(Host)")
            && words.contains(&&b"x-host-header"[..])
        {
            fields[host] = Field::Skip;
        }
        // The whole URL, where there is one, says all that its parts say.
        if fields.contains(&Field::Url) {
            for field in &mut fields {
                if matches!(field, Field::Path | Field::Query) {
                    *field = Field::Skip;
                }
            }
        }
        let target = fields.iter().any(|field| matches!(field, Field::Url | Field::Path));
        self.fields = Some(fields).filter(|_| target);
        if target { Ok(()) } else { Err(Cause::Header) }
    }

    fn column(&self, word: &[u8]) -> Field {
        let known = COLUMNS.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word));
        match known {
            Some((_, Field::Took(_))) if self.millis => Field::Took(Unit::Millis),
            Some(&(_, field)) => field,
            None => Field::Skip,
        }
    }

    fn record<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause> {
        let fields = self.fields.as_deref().ok_or(Cause::Header)?;
        let tabs = memchr::memchr(b'\t', line).is_some();
        let mut words = line.split(|&byte| byte == b'\t' || (byte == b' ' && !tabs));
        let mut draft = Draft::default();
        for &field in fields {
            let word = words.next().ok_or(Cause::Columns)?;
            if field != Field::Skip && word != b"-" {
                draft.set(field, Cow::Borrowed(word), &mut self.calendar)?;
            }
        }
        let has = |wanted| fields.contains(&wanted);
        draft.record(Habits {
            at_end: true,
            absolute: true,
            timed: has(Field::At) || (has(Field::Date) && has(Field::TimeOfDay)),
            answered: has(Field::Status),
        })
    }
}

impl Parse for W3c {
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause> {
        match line.strip_prefix(b"#") {
            Some(text) => self.directive(text).map(|()| None),
            None => self.record(line),
        }
    }

    fn sure(&mut self, line: &[u8]) -> Option<u8> {
        match self.line(line) {
            Ok(Some(_)) => Some(if self.edge { 99 } else { 96 }),
            Ok(None) => None,
            Err(_) => Some(0),
        }
    }

    fn fork(&self) -> Box<dyn Parse> {
        Box::new(self.clone())
    }
}
