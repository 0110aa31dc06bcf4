//! Logs too large for a [`crate::Trace`]: every request in 32 bytes, every name once.
//!
//! Whoever simulates a log needs no text of a request but its target's, once. So an [`Intake`]
//! turns records into [`Ask`]s, plain numbers of 32 bytes, and keeps what the numbers stand for: a
//! [`Catalogue`] of targets with their sizes, clients and servers as [`Names`]. What then to do
//! with the asks is a choice of memory: a [`Compact`] holds them all (10 million in 320 MB),
//! [`Chunks`] holds two chunks while it reads the log once. Both give them in order of time, which
//! a log is not in: servers write a line when a request ends.

use crate::grain::Begins;
use crate::names::{Catalogue, Names, Sizing};
use crate::read::{Reader, Tally};
use crate::trace::Full;
use crate::{Parse, Record};
use std::io::{self, BufRead};
use std::time::Duration;

/// Says in an [`Ask`] that the log has no such span of time.
const NO_SPAN: u32 = u32::MAX;

/// Says in an [`Ask`] that the log names no server, or too many of them.
const NO_SERVER: u8 = u8::MAX;

const MARK_GET: u8 = 1;
const MARK_HIT: u8 = 2;
const MARK_HIT_KNOWN: u8 = 4;
/// The stamp is still that of the reply's end.
const MARK_ENDED: u8 = 8;

/// One request, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// When it came: microseconds since 1970, UTC as far as the log says its zone. Logs are not
    /// finer than a millisecond, many not than a second. Fresh from an [`Intake`], a log that tells
    /// ends gives the end; [`Compact::sort`] and [`Chunks`], which see more than one line, make it
    /// the beginning.
    pub at_us: i64,
    /// What it named: a number of the [`Catalogue`].
    pub target: u32,
    /// Who asked: a number of [`Intake::clients`].
    pub client: u32,
    /// Bytes of this reply, at most 4 GiB - 1; the target's size is in the [`Catalogue`].
    pub bytes: u32,
    took_us: u32,
    served_us: u32,
    /// The status of the reply.
    pub status: u16,
    server: u8,
    marks: u8,
}

const _: () = assert!(size_of::<Ask>() == 32);

impl Ask {
    /// From the request to the end of the reply, see [`Record::took`]; at most 71 minutes.
    pub fn took(&self) -> Option<Duration> {
        span(self.took_us)
    }

    /// What the server took of that, see [`Record::served`].
    pub fn served(&self) -> Option<Duration> {
        span(self.served_us)
    }

    /// Who answered: a number of [`Intake::servers`].
    pub fn server(&self) -> Option<u32> {
        (self.server != NO_SERVER).then_some(self.server.into())
    }

    /// Whether a cache had it, see [`Record::hit`].
    pub const fn hit(&self) -> Option<bool> {
        if self.marks & MARK_HIT_KNOWN == 0 { None } else { Some(self.marks & MARK_HIT != 0) }
    }

    /// Whether the method was GET.
    pub const fn get(&self) -> bool {
        self.marks & MARK_GET != 0
    }

    /// Whether it counts, see [`crate::Entry::counted`].
    pub const fn counted(&self) -> bool {
        self.get() && matches!(self.status, 200 | 206 | 304)
    }

    /// Makes the stamp of its end, if it is that, the one of its beginning.
    fn begin(&mut self, begins: &mut Begins) {
        if self.marks & MARK_ENDED != 0 {
            self.marks &= !MARK_ENDED;
            let took_us = if self.took_us == NO_SPAN { 0 } else { self.took_us };
            self.at_us = begins.next_us(self.at_us, took_us.into());
        }
    }
}

fn span(us: u32) -> Option<Duration> {
    (us != NO_SPAN).then(|| Duration::from_micros(us.into()))
}

fn span_us(span: Option<Duration>) -> u32 {
    let longest = u128::from(NO_SPAN - 1);
    span.map_or(NO_SPAN, |span| span.as_micros().min(longest) as u32)
}

/// What the numbers in [`Ask`]s stand for.
#[derive(Debug, Default)]
pub struct Intake {
    /// Targets, with their sizes.
    pub targets: Catalogue,
    /// Clients, by the name in the log.
    pub clients: Names,
    /// Servers, by the name in the log.
    pub servers: Names,
}

impl Intake {
    /// The numbers of a record of the log of `site`; the record's own site, if it has one, goes
    /// first.
    ///
    /// # Errors
    /// [`Full`]: there are too many names to be numbered.
    pub fn ask(&mut self, site: &str, record: &Record<'_>) -> Result<Ask, Full> {
        let site = if record.site.is_empty() { site } else { &record.site };
        let get = record.method == "GET";
        let size = match record.size {
            Some(size) if size > 0 => Sizing::Whole(size),
            None if record.status == 200 && get => Sizing::Whole(record.bytes),
            _ if record.status == 206 && get => Sizing::Part(record.bytes),
            _ => Sizing::Unknown,
        };
        let target = self.targets.number(site, &record.url, size).ok_or(Full)?;
        let client = self.clients.number(record.client.as_bytes()).ok_or(Full)?;
        let server = match &record.server {
            Some(name) => self.server(name.as_bytes()),
            None => NO_SERVER,
        };
        let hit = match record.hit {
            Some(hit) => MARK_HIT_KNOWN | if hit { MARK_HIT } else { 0 },
            None => 0,
        };
        let ended = if record.ended.is_some() { MARK_ENDED } else { 0 };
        Ok(Ask {
            at_us: record.ended.unwrap_or(record.at).utc_ms().saturating_mul(1000),
            target,
            client,
            bytes: u32::try_from(record.bytes).unwrap_or(u32::MAX),
            took_us: span_us(record.took),
            served_us: span_us(record.served),
            status: record.status,
            server,
            marks: hit | ended | if get { MARK_GET } else { 0 },
        })
    }

    /// The first 255 servers have numbers; no cluster here has more.
    fn server(&mut self, name: &[u8]) -> u8 {
        let known = if self.servers.len() < NO_SERVER.into() {
            self.servers.number(name)
        } else {
            self.servers.find(name)
        };
        known.and_then(|number| u8::try_from(number).ok()).unwrap_or(NO_SERVER)
    }
}

/// A whole log in memory.
#[derive(Debug, Default)]
pub struct Compact {
    /// What the numbers stand for.
    pub intake: Intake,
    /// The requests; after [`Compact::sort`] in order of time.
    pub asks: Vec<Ask>,
}

impl Compact {
    /// Takes a record of the log of `site`.
    ///
    /// # Errors
    /// [`Full`], and the record is not taken.
    pub fn push(&mut self, site: &str, record: &Record<'_>) -> Result<(), Full> {
        self.asks.push(self.intake.ask(site, record)?);
        Ok(())
    }

    /// Brings the requests into order of time, equal times as pushed.
    pub fn sort(&mut self) {
        let mut begins = Begins::new(self.asks.iter().map(|ask| ask.at_us));
        self.asks.iter_mut().for_each(|ask| ask.begin(&mut begins));
        self.asks.sort_by_key(|ask| ask.at_us);
    }
}

/// A log of any length as chunks of requests in order of time.
///
/// Requests are put in order as far as they are not further from their place than one chunk is
/// long: then a later line would have to be older than all that has been given out. Such a request
/// is given out late, with the time of the one before it, and counted.
pub struct Chunks<'a> {
    reader: Reader,
    input: Box<dyn BufRead + 'a>,
    site: Box<str>,
    chunk: usize,
    intake: Intake,
    shared: Vec<u8>,
    asks: Vec<Ask>,
    /// Where in `asks` those begin that were given out last, and how many they are.
    start: usize,
    given: usize,
    /// Learnt from the first two chunks.
    begins: Option<Begins>,
    last_us: i64,
    late: u64,
    ended: bool,
    /// Why it ended before its end.
    broken: Option<io::Error>,
}

impl<'a> Chunks<'a> {
    /// Chunks of `chunk` requests (the last one smaller) of a log of `site`, whose numbers go on
    /// from those of `intake`.
    pub fn new(
        parser: Box<dyn Parse>,
        input: Box<dyn BufRead + 'a>,
        site: &str,
        chunk: usize,
        intake: Intake,
    ) -> Self {
        Self {
            reader: Reader::new(parser),
            input,
            site: site.into(),
            chunk: chunk.max(1),
            intake,
            shared: Vec::new(),
            asks: Vec::new(),
            start: 0,
            given: 0,
            begins: None,
            last_us: i64::MIN,
            late: 0,
            ended: false,
            broken: None,
        }
    }

    /// The same, behind a log whose last request came then, in microseconds since 1970: what came
    /// earlier is late.
    #[must_use]
    pub fn behind(mut self, last_us: i64) -> Self {
        self.last_us = last_us;
        self
    }

    /// The next chunk; empty at the end.
    ///
    /// # Errors
    /// Those of the input, when all that was read before has been given out; [`Full`] as an error
    /// of kind `OutOfMemory`.
    pub fn advance(&mut self) -> io::Result<&[Ask]> {
        self.start += self.given;
        self.given = 0;
        if !self.ended && self.asks.len() - self.start < 2 * self.chunk {
            self.asks.drain(..std::mem::take(&mut self.start));
            let known = self.asks.len();
            self.fill()?;
            let fresh = &mut self.asks[known..];
            let stamps = fresh.iter().map(|ask| ask.at_us);
            let begins = self.begins.get_or_insert_with(|| Begins::new(stamps));
            fresh.iter_mut().for_each(|ask| ask.begin(begins));
            self.asks.sort_by_key(|ask| ask.at_us);
        }
        if self.asks.len() == self.start
            && let Some(error) = self.broken.take()
        {
            return Err(error);
        }
        let held = self.asks.len() - self.start;
        self.given = if self.ended { held } else { held - self.chunk }.min(self.chunk);
        let given = &mut self.asks[self.start..self.start + self.given];
        for ask in &mut *given {
            if ask.at_us < self.last_us {
                ask.at_us = self.last_us;
                self.late += 1;
            }
            self.last_us = ask.at_us;
        }
        Ok(given)
    }

    /// Reads until there are two chunks, or the log ends, be it by an error.
    fn fill(&mut self) -> io::Result<()> {
        let mut full = false;
        while !self.ended && self.asks.len() < 2 * self.chunk {
            let (intake, asks, site) = (&mut self.intake, &mut self.asks, &self.site);
            let each = &mut |record: &Record<'_>| match intake.ask(site, record) {
                Ok(ask) => asks.push(ask),
                Err(Full) => full = true,
            };
            match self.reader.part(&mut self.input, &mut self.shared, each) {
                Ok(more) => self.ended = !more,
                Err(error) => (self.ended, self.broken) = (true, Some(error)),
            }
        }
        if full { Err(io::Error::new(io::ErrorKind::OutOfMemory, Full)) } else { Ok(()) }
    }

    /// What the numbers given out so far stand for.
    pub const fn intake(&self) -> &Intake {
        &self.intake
    }

    /// What became of the lines read so far.
    pub const fn tally(&self) -> &Tally {
        self.reader.tally()
    }

    /// When the last request came that was given out, in microseconds since 1970; the least number
    /// there is when none was.
    pub const fn last_us(&self) -> i64 {
        self.last_us
    }

    /// Requests that were given out later than they came.
    pub const fn late(&self) -> u64 {
        self.late
    }

    /// What the numbers stand for, and what became of the lines.
    pub fn finish(self) -> (Intake, Tally) {
        (self.intake, self.reader.finish())
    }
}
