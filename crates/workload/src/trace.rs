//! A trace in memory: what one or several sites were asked, in order of time.
//!
//! Flat and lean: 32 bytes a request, each target's URL once. Everything is numbered by
//! first appearance, so equal logs give equal traces.

use crate::civil::DAY_MS;
use crate::grain::Begins;
use crate::read::{HEADER, row};
use crate::record::{Record, Stamp};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The method that every trace knows under number 0.
const GET: u8 = 0;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Milliseconds since the start of the (first) day, by the site's clock.
    pub at_ms: u64,
    /// Bytes of this reply's body, as logged.
    pub bytes: u64,
    /// Who asked, by first appearance.
    pub client: u32,
    /// What was asked: an index into [`Trace::targets`].
    pub target: u32,
    /// The status of the reply.
    pub status: u16,
    /// An index for [`Trace::method`].
    pub method: u8,
}

impl Entry {
    /// Whether the request counts in the papers' sense: a GET that was answered with the document,
    /// a part of it, or leave to use the copy the client had (200, 206, 304).
    pub const fn counted(&self) -> bool {
        self.method == GET && matches!(self.status, 200 | 206 | 304)
    }
}

/// What requests name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Path and query, fit to be sent.
    pub url: Box<str>,
    /// Bytes: the largest 200 reply to a GET; 0 when there was none.
    pub size: u64,
    /// An index into [`Trace::sites`].
    pub site: u16,
}

/// What was asked, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The names of the sites, used as hosts.
    pub sites: Vec<Box<str>>,
    /// What was asked for, by first appearance.
    pub targets: Vec<Target>,
    /// The requests.
    pub requests: Vec<Entry>,
    methods: Vec<Box<str>>,
    clients: u32,
}

impl Trace {
    /// The method of a request, as sent.
    pub fn method(&self, entry: &Entry) -> &str {
        &self.methods[usize::from(entry.method)]
    }

    /// The target of a request.
    pub fn target(&self, entry: &Entry) -> &Target {
        &self.targets[entry.target as usize]
    }

    /// The site of a target.
    pub fn site(&self, target: &Target) -> &str {
        &self.sites[usize::from(target.site)]
    }

    /// How many clients there are; their numbers are below.
    pub const fn clients(&self) -> u32 {
        self.clients
    }

    /// A trace of GETs to one site, from requests in any order (equal times stay as they are) whose
    /// targets are indices of `targets`. Targets that nothing asks for are left out.
    pub(crate) fn of_one_site(
        site: &str,
        targets: Vec<Target>,
        mut requests: Vec<Entry>,
        clients: u32,
    ) -> Self {
        requests.sort_by_key(|entry| entry.at_ms);
        let mut numbers = Renumbering::new(targets.len());
        for entry in &mut requests {
            entry.target = numbers.number(entry.target);
        }
        let asked = numbers.next as usize;
        let mut targets = numbers.sorted(targets);
        targets.truncate(asked);
        Self { sites: vec![site.into()], targets, requests, methods: vec!["GET".into()], clients }
    }

    /// Keeps only the requests of which `keep` says so; targets and clients keep their numbers.
    pub fn retain(&mut self, mut keep: impl FnMut(&Entry, &Target) -> bool) {
        let targets = &self.targets;
        self.requests.retain(|entry| keep(entry, &targets[entry.target as usize]));
    }

    /// Writes the trace in our own format.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        writeln!(out, "{HEADER}")?;
        let mut line = String::new();
        for entry in &self.requests {
            let target = self.target(entry);
            line.clear();
            let at_ms = i64::try_from(entry.at_ms).unwrap_or(i64::MAX);
            row(
                &mut line,
                &Record {
                    at: Stamp { local_ms: at_ms, ahead_s: 0 },
                    site: self.site(target).into(),
                    client: entry.client.to_string().into(),
                    method: self.method(entry).into(),
                    url: Cow::Borrowed(&target.url),
                    status: entry.status,
                    bytes: entry.bytes,
                    size: Some(target.size),
                    ..Record::default()
                },
            );
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

/// What becomes of the days of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// They follow each other, as logged.
    Kept,
    /// All are laid over one, by local time of day, and each day's clients are new ones. Gaps
    /// within a day stay, so sessions survive; popularity becomes stationary.
    Folded,
}

/// A trace has more sites, methods, clients, targets or requests than its numbers can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the trace is full: it can hold 65,536 sites, 256 methods and 2^32 - 1 of anything else")]
pub struct Full;

/// Makes a trace from records, in any order.
#[derive(Debug)]
pub struct Builder {
    clock: Clock,
    counted_only: bool,
    sites: Names,
    methods: Names,
    /// By site: URL to number.
    numbers: Vec<Names>,
    targets: Vec<Target>,
    /// By site and day: address to number.
    addresses: BTreeMap<(u16, i64), BTreeMap<Box<str>, u32>>,
    clients: u32,
    /// With when they came; what they took of that, in milliseconds, waits in `at_ms` where the log
    /// tells ends.
    requests: Vec<(i64, Entry)>,
}

/// Numbers for names, by first appearance.
#[derive(Debug, Default)]
struct Names(BTreeMap<Box<str>, u32>);

impl Names {
    fn number(&mut self, name: &str, count_max: u32) -> Result<u32, Full> {
        if let Some(&number) = self.0.get(name) {
            return Ok(number);
        }
        let number = u32::try_from(self.0.len()).map_err(|_| Full)?;
        if number >= count_max {
            return Err(Full);
        }
        self.0.insert(name.into(), number);
        Ok(number)
    }

    fn into_list(self) -> Vec<Box<str>> {
        let mut pairs: Vec<_> = self.0.into_iter().collect();
        pairs.sort_unstable_by_key(|&(_, number)| number);
        pairs.into_iter().map(|(name, _)| name).collect()
    }
}

impl Builder {
    /// A builder without records.
    pub fn new(clock: Clock) -> Self {
        let get = Names(BTreeMap::from([("GET".into(), u32::from(GET))]));
        Self {
            clock,
            counted_only: false,
            sites: Names::default(),
            methods: get,
            numbers: Vec::new(),
            targets: Vec::new(),
            addresses: BTreeMap::new(),
            clients: 0,
            requests: Vec::new(),
        }
    }

    /// The builder, made to pass over what is not [`Entry::counted`].
    #[must_use]
    pub const fn counted_only(mut self) -> Self {
        self.counted_only = true;
        self
    }

    /// Takes a record of the log of `site`; the record's own site, if it has one, goes first.
    ///
    /// # Errors
    /// [`Full`], and the record is not taken.
    pub fn push(&mut self, site: &str, record: &Record<'_>) -> Result<(), Full> {
        if self.counted_only && !record.counted() {
            return Ok(());
        }
        if self.requests.len() >= u32::MAX as usize {
            return Err(Full);
        }
        let site = if record.site.is_empty() { site } else { &record.site };
        let site = u16::try_from(self.sites.number(site, 1 << 16)?).map_err(|_| Full)?;
        let method = u8::try_from(self.methods.number(&record.method, 1 << 8)?);
        let method = method.map_err(|_| Full)?;
        let target = self.target(site, &record.url)?;
        let (at, client) = self.place(site, record)?;
        let size = match record.size {
            Some(size) => size,
            None if record.status == 200 && method == GET => record.bytes,
            None => 0,
        };
        let known = &mut self.targets[target as usize].size;
        *known = size.max(*known);
        let (bytes, status) = (record.bytes, record.status);
        let at_ms = record.ended.map_or(0, |ended| ended.utc_ms().abs_diff(record.at.utc_ms()));
        self.requests.push((at, Entry { at_ms, bytes, client, target, status, method }));
        Ok(())
    }

    fn target(&mut self, site: u16, url: &str) -> Result<u32, Full> {
        if self.numbers.len() <= usize::from(site) {
            self.numbers.resize_with(usize::from(site) + 1, Names::default);
        }
        let of_site = &mut self.numbers[usize::from(site)].0;
        if let Some(&number) = of_site.get(url) {
            return Ok(number);
        }
        let number = u32::try_from(self.targets.len()).map_err(|_| Full)?;
        of_site.insert(url.into(), number);
        self.targets.push(Target { url: url.into(), size: 0, site });
        Ok(number)
    }

    /// When the record counts, and the number of its client.
    fn place(&mut self, site: u16, record: &Record<'_>) -> Result<(i64, u32), Full> {
        let (at, day) = match self.clock {
            Clock::Kept => (record.at.utc_ms(), 0),
            Clock::Folded => {
                let local_ms = record.at.local_ms;
                (local_ms.rem_euclid(DAY_MS), local_ms.div_euclid(DAY_MS))
            }
        };
        let of_day = self.addresses.entry((site, day)).or_default();
        if let Some(&number) = of_day.get(record.client.as_ref()) {
            return Ok((at, number));
        }
        let number = self.clients;
        self.clients = number.checked_add(1).ok_or(Full)?;
        of_day.insert(record.client.as_ref().into(), number);
        Ok((at, number))
    }

    /// The trace: in order of time (equal times as pushed), numbered by first appearance. Day 0
    /// begins at the midnight before the first request, in UTC where the log says its zone.
    pub fn finish(mut self) -> Trace {
        self.begin();
        self.requests.sort_by_key(|&(at, _)| at);
        let first = self.requests.first().map_or(0, |&(at, _)| at.div_euclid(DAY_MS) * DAY_MS);
        let mut clients = Renumbering::new(self.clients as usize);
        let mut targets = Renumbering::new(self.targets.len());
        let mut methods = Renumbering::new(self.methods.0.len());
        let mut sites = Renumbering::new(self.sites.0.len());
        methods.number(u32::from(GET));
        let mut requests = Vec::with_capacity(self.requests.len());
        for (at, mut entry) in self.requests {
            entry.at_ms = at.abs_diff(first);
            entry.client = clients.number(entry.client);
            let target = &mut self.targets[entry.target as usize];
            if targets.is_new(entry.target) {
                target.site = sites.number(u32::from(target.site)) as u16;
            }
            entry.target = targets.number(entry.target);
            entry.method = methods.number(u32::from(entry.method)) as u8;
            requests.push(entry);
        }
        Trace {
            sites: sites.sorted(self.sites.into_list()),
            targets: targets.sorted(self.targets),
            requests,
            methods: methods.sorted(self.methods.into_list()),
            clients: self.clients,
        }
    }
}

impl Builder {
    /// Makes of the ends that were logged when requests began, see [`Begins`].
    fn begin(&mut self) {
        let us = |ms: u64| i64::try_from(ms.saturating_mul(1000)).unwrap_or(i64::MAX);
        let ended_us =
            |(at, entry): &(i64, Entry)| at.saturating_mul(1000).saturating_add(us(entry.at_ms));
        let mut begins = Begins::new(self.requests.iter().map(ended_us));
        let last_ms = match self.clock {
            Clock::Kept => i64::MAX,
            Clock::Folded => DAY_MS - 1,
        };
        for request in self.requests.iter_mut().filter(|(_, entry)| entry.at_ms > 0) {
            let began_us = begins.next_us(ended_us(request), us(request.1.at_ms));
            request.0 = (began_us / 1000).min(last_ms);
        }
    }
}

/// Old numbers to new ones, given out in the order in which they are asked for.
struct Renumbering {
    new: Vec<Option<u32>>,
    next: u32,
}

impl Renumbering {
    fn new(count: usize) -> Self {
        Self { new: vec![None; count], next: 0 }
    }

    fn is_new(&self, old: u32) -> bool {
        self.new[old as usize].is_none()
    }

    fn number(&mut self, old: u32) -> u32 {
        let next = self.next;
        *self.new[old as usize].get_or_insert_with(|| {
            self.next += 1;
            next
        })
    }

    /// `items`, which have the old numbers, in the order of the new ones.
    fn sorted<T>(&self, items: Vec<T>) -> Vec<T> {
        let mut pairs: Vec<_> = self.new.iter().zip(items).collect();
        pairs.sort_by_key(|&(number, _)| number.unwrap_or(u32::MAX));
        pairs.into_iter().map(|(_, item)| item).collect()
    }
}
