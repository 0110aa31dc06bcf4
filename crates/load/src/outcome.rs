//! What a run found, at its end or on the way.

use crate::{Cause, EXAMPLES_MAX, Failure, Pace};
use hdrhistogram::Histogram;
use policy::Class;
use std::time::Duration;

/// Times of one kind of thing, in microseconds.
///
/// A thing is *due* when it would be asked for if nobody had to wait: a session when it arrives, a
/// page when the user has thought, an embedded object when the page that names it is there. Times
/// from then on hide no wait (what is hidden otherwise is called coordinated omission, after Gil
/// Tene); those from the sending on are what a client sees that measures replies alone.
#[derive(Clone, Debug)]
pub struct Timing {
    /// From when it was due to its last byte. Of what was [cut off](field@Timing::cut_off) or
    /// failed by time-out, until then: it would have taken at least so long.
    pub due_us: Histogram<u64>,
    /// From when its first byte was sent to its last byte; nothing of what did not end.
    pub sent_us: Histogram<u64>,
    /// How many came to their end.
    pub done: u64,
    /// How many were due and not settled when the time was over.
    pub cut_off: u64,
}

/// What belongs to one class.
#[derive(Clone, Debug)]
pub struct ClassOutcome {
    /// Which.
    pub class: Class,
    /// Its requests.
    pub requests: Timing,
    /// The pages whose HTML is of this class.
    pub pages: Timing,
    /// Requests of which a cache said that it had the target, and those that it had not.
    pub hits: u64,
    /// See [`ClassOutcome::hits`].
    pub misses: u64,
    /// Its failed requests, by [`Cause::index`].
    pub failed: [u64; Cause::ALL.len()],
}

/// One span of the run, so that one sees how it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// Since the beginning of what is measured, in seconds.
    pub at_s: f64,
    /// Sessions that came. With the last slice all those that were due and not begun at its end.
    pub sessions: u64,
    /// Pages that were complete.
    pub pages: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// Connections opened.
    pub connections: u64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Requests that failed, by [`Cause::index`].
    pub failed: [u64; Cause::ALL.len()],
    /// Sessions under way at its end.
    pub under_way: u64,
    /// Requests that were due and not settled when the run ended: of its last slice.
    pub cut_off: u64,
    /// How long it is, in seconds: the last one may be cut short.
    pub length_s: f64,
    /// The time of pages that 50, 90 and 99 per cent did not exceed, in microseconds; 0 of none.
    pub pages_us: [u64; 3],
}

/// The request that had waited longest when the time was over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// Since when it was due, in microseconds.
    pub waited_us: u64,
    /// Site and URL.
    pub target: String,
}

/// What a run found, without the warm-up.
///
/// What ended within the measured time is in it, whenever it was due. What was due and had not
/// ended is [`Outcome::cut_off`], and among the times from due on with how long it had waited.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How long was measured.
    pub took: Duration,
    /// Sessions that ended of themselves and got all that they asked for; due when they arrive,
    /// over with their last page, thinking included.
    pub sessions: Timing,
    /// Pages: due when the user has thought, complete with the last object.
    pub pages: Timing,
    /// Requests.
    pub requests: Timing,
    /// The classes that were asked for, in the order of their numbers.
    pub classes: Vec<ClassOutcome>,
    /// Sessions that arrived: that were due within the measured time, those included that the
    /// client had not begun at its end.
    pub arrived: u64,
    /// Pages of which at least one object failed; not among `pages`.
    pub pages_failed: u64,
    /// Sessions that ended of themselves, and of which at least one page failed; not among
    /// `sessions`.
    pub sessions_failed: u64,
    /// Failed requests, by [`Cause::index`].
    pub failed: [u64; Cause::ALL.len()],
    /// The first failures, at most [`EXAMPLES_MAX`].
    pub examples: Vec<Failure>,
    /// Connections opened.
    pub connections: u64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Requests sent again because the server had closed an idle connection, as servers may.
    pub resent: u64,
    /// Answered requests of which a cache said that it had the target (Cache-Status, RFC 9211).
    pub hits: u64,
    /// Answered requests of which every cache said that it had not.
    pub misses: u64,
    /// How it went, span by span.
    pub slices: Vec<Slice>,
    /// Whether the client itself kept up.
    pub pace: Pace,
    /// Requests that were due and had neither been answered nor failed at the end.
    pub cut_off: u64,
    /// The one of them that had waited longest.
    pub unanswered: Option<Unanswered>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Digits of a time that are kept: values are exact to a thousandth.
const DIGITS: u8 = 3;

/// A histogram that grows as far as it has to.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("3 digits are allowed")
}

/// Adds histograms of [`histogram`].
pub(crate) fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) {
    sum.add(other).expect("it grows as far as it has to");
}

impl Default for Timing {
    fn default() -> Self {
        Self { due_us: histogram(), sent_us: histogram(), done: 0, cut_off: 0 }
    }
}

/// A span in microseconds, which is never none.
pub(crate) fn us(from_ns: u64, end_ns: u64) -> u64 {
    (end_ns.saturating_sub(from_ns) / 1000).max(1)
}

impl Timing {
    /// Adds what ended at `end_ns`. `sent_ns` is 0 of that of which nothing could be sent.
    pub(crate) fn record(&mut self, due_ns: u64, sent_ns: u64, end_ns: u64) {
        self.at_least(due_ns, end_ns);
        if sent_ns > 0 {
            let us = us(sent_ns, end_ns);
            self.sent_us.record(us).expect("it grows as far as it has to");
        }
        self.done += 1;
    }

    /// Adds what was due and will not end: it had waited so long at `end_ns`.
    pub(crate) fn at_least(&mut self, due_ns: u64, end_ns: u64) {
        self.due_us.record(us(due_ns, end_ns)).expect("it grows as far as it has to");
    }

    /// Adds what was due and had not ended when the time was over.
    pub(crate) fn cut_off(&mut self, due_ns: u64, end_ns: u64) {
        self.at_least(due_ns, end_ns);
        self.cut_off += 1;
    }

    /// Adds many that were cut off, by how long they had waited.
    pub(crate) fn all_cut_off(&mut self, waits_us: &Histogram<u64>) {
        add(&mut self.due_us, waits_us);
        self.cut_off += waits_us.len();
    }

    fn add(&mut self, other: &Self) {
        add(&mut self.due_us, &other.due_us);
        add(&mut self.sent_us, &other.sent_us);
        self.done += other.done;
        self.cut_off += other.cut_off;
    }
}

impl ClassOutcome {
    pub(crate) fn new(class: Class) -> Self {
        let (requests, pages) = (Timing::default(), Timing::default());
        Self { class, requests, pages, hits: 0, misses: 0, failed: [0; Cause::ALL.len()] }
    }

    fn add(&mut self, other: &Self) {
        self.requests.add(&other.requests);
        self.pages.add(&other.pages);
        self.hits += other.hits;
        self.misses += other.misses;
        self.failed.iter_mut().zip(other.failed).for_each(|(sum, count)| *sum += count);
    }

    /// Failed requests, whatever the cause.
    pub fn failures(&self) -> u64 {
        self.failed.iter().sum()
    }
}

impl Default for Outcome {
    /// Of nothing.
    fn default() -> Self {
        Self {
            took: Duration::ZERO,
            sessions: Timing::default(),
            pages: Timing::default(),
            requests: Timing::default(),
            classes: Vec::new(),
            arrived: 0,
            pages_failed: 0,
            sessions_failed: 0,
            failed: [0; Cause::ALL.len()],
            examples: Vec::new(),
            connections: 0,
            body_bytes: 0,
            resent: 0,
            hits: 0,
            misses: 0,
            slices: Vec::new(),
            pace: Pace::default(),
            cut_off: 0,
            unanswered: None,
            stopped: false,
        }
    }
}

impl Outcome {
    /// Adds another run of the same scenario, as if it had come after this one.
    pub fn merge(&mut self, other: &Self) {
        let requests = (self.answered(), other.answered());
        let us = self.pace.cpu_request_us * requests.0 as f64
            + other.pace.cpu_request_us * requests.1 as f64;
        self.add(other);
        self.pace.cpu = self.pace.cpu.max(other.pace.cpu);
        self.pace.waited = self.pace.waited.max(other.pace.waited);
        self.pace.cpu_request_us = us / ((requests.0 + requests.1).max(1)) as f64;
        let began_s = self.took.as_secs_f64();
        let later = |slice: &Slice| Slice { at_s: began_s + slice.at_s, ..slice.clone() };
        self.slices.extend(other.slices.iter().map(later));
        self.took += other.took;
        self.stopped |= other.stopped;
    }

    /// Adds counts and times; not how long it took, what it cost and its slices.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sessions.add(&other.sessions);
        self.pages.add(&other.pages);
        self.requests.add(&other.requests);
        for class in &other.classes {
            match self.classes.binary_search_by_key(&class.class, |known| known.class) {
                Ok(place) => self.classes[place].add(class),
                Err(place) => self.classes.insert(place, class.clone()),
            }
        }
        self.arrived += other.arrived;
        self.pages_failed += other.pages_failed;
        self.sessions_failed += other.sessions_failed;
        for (sum, count) in self.failed.iter_mut().zip(other.failed) {
            *sum += count;
        }
        let room = EXAMPLES_MAX.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.iter().take(room).cloned());
        self.connections += other.connections;
        self.body_bytes += other.body_bytes;
        self.resent += other.resent;
        self.hits += other.hits;
        self.misses += other.misses;
        self.cut_off += other.cut_off;
        let waited_us = |one: &Option<Unanswered>| one.as_ref().map(|one| one.waited_us);
        if waited_us(&other.unanswered) > waited_us(&self.unanswered) {
            self.unanswered.clone_from(&other.unanswered);
        }
        add(&mut self.pace.late_us, &other.pace.late_us);
        self.pace.turned_away += other.pace.turned_away;
        self.pace.not_begun += other.pace.not_begun;
    }

    /// Requests answered as they should be.
    pub fn answered(&self) -> u64 {
        self.requests.done
    }

    /// Failed requests, whatever the cause.
    pub fn failures(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Answered requests a second.
    pub fn requests_s(&self) -> f64 {
        self.rate_s(self.answered())
    }

    /// Answered requests of a class a second.
    pub fn class_requests_s(&self, class: Class) -> f64 {
        let found = self.classes.iter().find(|found| found.class == class);
        self.rate_s(found.map_or(0, |found| found.requests.done))
    }

    /// Complete pages a second.
    pub fn pages_s(&self) -> f64 {
        self.rate_s(self.pages.done)
    }

    /// Connections opened a second.
    pub fn connections_s(&self) -> f64 {
        self.rate_s(self.connections)
    }

    /// Bodies received, in Mb/s: 10^6 bits a second.
    pub fn body_mbit_s(&self) -> f64 {
        self.rate_s(self.body_bytes) * 8.0 / 1e6
    }

    /// Share of the requests of which caches told that was a hit, 0 to 1; `None` if none told.
    pub fn hit_ratio(&self) -> Option<f64> {
        let told = self.hits + self.misses;
        (told > 0).then(|| self.hits as f64 / told as f64)
    }

    fn rate_s(&self, count: u64) -> f64 {
        let took_s = self.took.as_secs_f64();
        if took_s > 0.0 { count as f64 / took_s } else { 0.0 }
    }
}
