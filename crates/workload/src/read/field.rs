//! What a part of a log line means, and how parts become a record.
//!
//! Every format names its parts with [`Field`]s and puts them into a [`Draft`]; only here is known
//! how a status, a byte count or a span of time is written. Values stay slices of the line.

use super::Cause;
use super::stamp::Calendar;
use super::value::{
    Unit, add, address, blank, bytes, first_of, hit, last_of, request_line, span_ns, spans_ns,
    status, token, url, utf8,
};
use crate::civil::number;
use crate::record::Record;
use std::borrow::Cow;
use std::mem::take;
use std::time::Duration;

/// What a part of a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Nothing of interest.
    Skip,
    /// Who asked.
    Client,
    /// Who asked, with the port, perhaps behind what syslog puts before a line.
    Peer,
    /// `X-Forwarded-For`: who asked is the first in the list.
    Forwarded,
    /// The site.
    Site,
    /// The site's port: digits, which tells `site:port` from an address with colons.
    Port,
    /// Method, URL and version.
    Request,
    /// The method.
    Method,
    /// The URL, with its query.
    Url,
    /// The URL without its query.
    Path,
    /// The query, with or without its question mark.
    Query,
    /// The status.
    Status,
    /// Bytes of the reply.
    Bytes,
    /// A point in time, in any notation that [`Calendar::stamp`] knows.
    At,
    /// When the request came, where another [`Field::At`] says when its reply ended.
    Began,
    /// A day in ISO 8601; the time of day is elsewhere.
    Date,
    /// The time of day that belongs to [`Field::Date`].
    TimeOfDay,
    /// From the request to the end of the reply; several of them add up.
    Took(Unit),
    /// What the server took; several of them add up.
    Served(Unit),
    /// Part of both, [`Field::Took`] and [`Field::Served`].
    TookAndServed(Unit),
    /// Waiting that [`Field::Served`] includes although no server is to blame.
    Waited(Unit),
    /// Who answered.
    Server,
    /// Who answered, as the last of several that were tried.
    Servers,
    /// A word that says whether a cache had it.
    Hit,
    /// Must be this word, or the line is no request.
    Event(&'static str),
}

impl Field {
    /// What is wrong with a line that ends before this field.
    pub(super) const fn cause(self) -> Cause {
        match self {
            Self::Client | Self::Peer | Self::Forwarded => Cause::Client,
            Self::At | Self::Began | Self::Date | Self::TimeOfDay => Cause::Time,
            Self::Port => Cause::Site,
            Self::Status => Cause::Status,
            Self::Bytes => Cause::Bytes,
            _ => Cause::Request,
        }
    }
}

/// What a format says about all its lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Habits {
    /// Times are of the reply's end, so a request came by what it took earlier.
    pub at_end: bool,
    /// URLs are whole, with the site in front.
    pub absolute: bool,
    /// Lines say when.
    pub timed: bool,
    /// Lines say how a request was answered.
    pub answered: bool,
}

/// A record in the making.
#[derive(Default)]
pub(super) struct Draft<'a> {
    client: Cow<'a, [u8]>,
    site: Cow<'a, [u8]>,
    method: Cow<'a, [u8]>,
    url: Cow<'a, [u8]>,
    query: Cow<'a, [u8]>,
    server: Cow<'a, [u8]>,
    at: Option<crate::Stamp>,
    began: bool,
    date_ms: Option<i64>,
    of_day_ms: Option<i64>,
    status: Option<u16>,
    bytes: u64,
    took_ns: Option<u64>,
    served_ns: Option<u64>,
    /// The line says that no server answered.
    unserved: bool,
    waited_ns: u64,
    hit: Option<bool>,
}

impl<'a> Draft<'a> {
    /// Takes the value of a field, as it stands in the line.
    pub(super) fn set(
        &mut self,
        field: Field,
        value: Cow<'a, [u8]>,
        calendar: &mut Calendar,
    ) -> Result<(), Cause> {
        match field {
            Field::Skip => {}
            Field::Client => self.client = value,
            Field::Peer if self.client.is_empty() => self.client = part(value, address),
            Field::Peer => {}
            Field::Forwarded => {
                let first = part(value, |text| first_of(text, b','));
                if !blank(&first) || self.client.is_empty() {
                    self.client = first;
                }
            }
            Field::Site if blank(&self.site) => self.site = value,
            Field::Site => {}
            Field::Port if number(&value, u16::MAX.into()).is_some() => {}
            Field::Port => return Err(Cause::Site),
            Field::Request => self.request(value)?,
            Field::Method => self.method = value,
            Field::Url | Field::Path => self.url = value,
            Field::Query => self.query = value,
            Field::Status => self.status = Some(status(&value)?),
            Field::Bytes => self.bytes = bytes(&value)?,
            Field::At if self.began => {}
            Field::At => self.at = Some(calendar.stamp(value.trim_ascii()).ok_or(Cause::Time)?),
            Field::Began => {
                self.at = Some(calendar.stamp(value.trim_ascii()).ok_or(Cause::Time)?);
                self.began = true;
            }
            Field::Date => self.date_ms = Some(calendar.date_ms(&value).ok_or(Cause::Time)?),
            Field::TimeOfDay => {
                self.of_day_ms = Some(super::stamp::of_day_ms(&value).ok_or(Cause::Time)?);
            }
            Field::Took(unit) => add(&mut self.took_ns, span_ns(value.trim_ascii(), unit)),
            Field::Served(unit) => add(&mut self.served_ns, spans_ns(&value, unit)),
            Field::TookAndServed(unit) => {
                let span_ns = span_ns(value.trim_ascii(), unit);
                add(&mut self.took_ns, span_ns);
                add(&mut self.served_ns, span_ns);
            }
            Field::Waited(unit) => {
                let waited_ns = spans_ns(&value, unit).unwrap_or(0);
                self.waited_ns = self.waited_ns.saturating_add(waited_ns);
            }
            Field::Server => self.answered_by(value),
            Field::Servers => self.answered_by(part(value, last_of)),
            Field::Hit => self.hit = hit(&value).or(self.hit),
            Field::Event(word) if *value == *word.as_bytes() => {}
            Field::Event(_) => return Err(Cause::Event),
        }
        Ok(())
    }

    fn request(&mut self, value: Cow<'a, [u8]>) -> Result<(), Cause> {
        match value {
            Cow::Borrowed(text) => {
                let (method, url) = request_line(text)?;
                (self.method, self.url) = (Cow::Borrowed(method), Cow::Borrowed(url));
            }
            Cow::Owned(text) => {
                let (method, url) = request_line(&text)?;
                (self.method, self.url) = (Cow::Owned(method.into()), Cow::Owned(url.into()));
            }
        }
        Ok(())
    }

    fn answered_by(&mut self, value: Cow<'a, [u8]>) {
        if *value == *b"<CACHE>" {
            self.hit = Some(true);
        }
        // HAProxy's <NOSRV>, <STATS> and the like are no servers.
        self.unserved = blank(&value) || value.starts_with(b"<");
        if !self.unserved {
            self.server = value;
        }
    }

    /// The record, if nothing is missing that the format has.
    pub(super) fn record(&mut self, habits: Habits) -> Result<Option<Record<'a>>, Cause> {
        if let (Some(date_ms), Some(of_day_ms)) = (self.date_ms, self.of_day_ms) {
            self.at = Some(crate::Stamp { local_ms: date_ms + of_day_ms, ahead_s: 0 });
        }
        if self.client.is_empty() {
            self.client = Cow::Borrowed(b"-");
        }
        let mut at = match self.at {
            Some(at) => at,
            None if habits.timed => return Err(Cause::Time),
            None => crate::Stamp::default(),
        };
        let ended = (habits.at_end && !self.began && self.took_ns.is_some()).then_some(at);
        if ended.is_some() {
            let took_ms = i64::try_from(self.took_ns.unwrap_or(0) / 1_000_000).unwrap_or(i64::MAX);
            at.local_ms = at.local_ms.saturating_sub(took_ms);
        }
        if self.method.is_empty() {
            self.method = Cow::Borrowed(b"GET");
        }
        if habits.absolute {
            self.part_url();
        }
        if blank(&self.url) || !token(&self.method) {
            return Err(Cause::Request);
        }
        let status = match self.status {
            Some(status) => status,
            None if habits.answered => return Err(Cause::Status),
            None => 200,
        };
        let served_ns = self.served_ns.filter(|_| !self.unserved);
        let served_ns = served_ns.map(|served| served.saturating_sub(self.waited_ns));
        Ok(Some(Record {
            at,
            ended,
            site: if blank(&self.site) { Cow::Borrowed("") } else { utf8(take(&mut self.site)) },
            client: utf8(take(&mut self.client)),
            method: utf8(take(&mut self.method)),
            url: url(take(&mut self.url), &self.query),
            status,
            bytes: self.bytes,
            size: None,
            took: self.took_ns.map(Duration::from_nanos),
            served: served_ns.map(Duration::from_nanos),
            server: (!blank(&self.server)).then(|| utf8(take(&mut self.server))),
            hit: self.hit,
        }))
    }

    /// Takes `http://site:port/path` apart, if it is that.
    fn part_url(&mut self) {
        let Some(scheme_end) = memchr::memmem::find(&self.url, b"://") else { return };
        if memchr::memchr(b'/', &self.url[..scheme_end]).is_some() {
            return;
        }
        let start = scheme_end + 3;
        let end = memchr::memchr2(b'/', b'?', &self.url[start..]);
        let end = end.map_or(self.url.len(), |end| start + end);
        if blank(&self.site) {
            let site = &self.url[start..end];
            let usual = [&b":80"[..], b":443"].iter().find_map(|port| site.strip_suffix(*port));
            self.site = cut(&self.url, start, start + usual.unwrap_or(site).len());
        }
        self.url = match &self.url[end..] {
            b"" => Cow::Borrowed(b"/"),
            _ => cut(&self.url, end, self.url.len()),
        };
    }
}

/// A part of a text that borrows from the line if the text does.
fn cut<'a>(text: &Cow<'a, [u8]>, start: usize, end: usize) -> Cow<'a, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
        Cow::Owned(text) => Cow::Owned(text[start..end].to_vec()),
    }
}

/// What `choose` takes of a text; borrows from the line if the text does.
fn part<'a>(text: Cow<'a, [u8]>, choose: impl Fn(&[u8]) -> &[u8]) -> Cow<'a, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(choose(text)),
        Cow::Owned(text) => Cow::Owned(choose(&text).to_vec()),
    }
}
