//! What one thread counts between two reports.

use super::clock::Processor;
use crate::cache_status::Cached;
use crate::outcome::{add, histogram, us};
use crate::{Cause, ClassOutcome, EXAMPLES_MAX, Failure, Outcome, Slice, Unanswered};
use hdrhistogram::Histogram;
use policy::Class;
use std::collections::BTreeMap;

/// How long a slice is.
pub(crate) const SLICE_NS: u64 = 1_000_000_000;

/// A slice that is being counted.
#[derive(Clone, Debug)]
pub(crate) struct SliceTally {
    pub(crate) counts: Slice,
    pub(crate) pages_us: Histogram<u64>,
}

impl SliceTally {
    pub(crate) fn new() -> Self {
        Self { counts: Slice::default(), pages_us: histogram() }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let (sum, more) = (&mut self.counts, &other.counts);
        sum.sessions += more.sessions;
        sum.pages += more.pages;
        sum.requests += more.requests;
        sum.connections += more.connections;
        sum.body_bytes += more.body_bytes;
        sum.failed.iter_mut().zip(more.failed).for_each(|(sum, count)| *sum += count);
        sum.under_way += more.under_way;
        sum.cut_off += more.cut_off;
        add(&mut self.pages_us, &other.pages_us);
    }

    /// The slice, of this number and length.
    pub(crate) fn finish(&self, number: u64, length_s: f64) -> Slice {
        let pages_us = [0.5, 0.9, 0.99].map(|share| self.pages_us.value_at_quantile(share));
        let at_s = number as f64 * SLICE_NS as f64 / 1e9;
        Slice { at_s, length_s, pages_us, ..self.counts.clone() }
    }
}

/// What came of a request or page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: u64,
    pub(crate) end_ns: u64,
}

/// How long many things had waited when the time was over.
#[derive(Debug)]
pub(crate) struct Waits(Histogram<u64>);

impl Waits {
    pub(crate) fn new() -> Self {
        Self(histogram())
    }

    /// Adds so many that were due at `due_ns`.
    pub(crate) fn add(&mut self, due_ns: u64, end_ns: u64, count: u64) {
        let added = self.0.record_n(us(due_ns, end_ns), count);
        added.expect("it grows as far as it has to");
    }
}

/// Counts, but for what happens outside of the measured time.
#[derive(Debug)]
pub(crate) struct Tally {
    /// What is measured: from, and until.
    from_ns: u64,
    until_ns: u64,
    pub(crate) outcome: Outcome,
    /// Slices by number; the last one is being counted.
    pub(crate) slices: BTreeMap<u64, SliceTally>,
    /// What the thread had of the processors within the measured time.
    pub(crate) had: Processor,
}

impl Tally {
    pub(crate) fn new(from_ns: u64, until_ns: u64) -> Self {
        let (outcome, slices) = (Outcome::default(), BTreeMap::new());
        Self { from_ns, until_ns, outcome, slices, had: Processor::default() }
    }

    /// Takes what was counted since the last time.
    pub(crate) fn take(&mut self) -> Self {
        let fresh = Self::new(self.from_ns, self.until_ns);
        std::mem::replace(self, fresh)
    }

    /// Adds what another thread counted, or this one later.
    pub(crate) fn add(&mut self, other: &Self) {
        self.outcome.add(&other.outcome);
        for (number, slice) in &other.slices {
            self.slices.entry(*number).or_insert_with(SliceTally::new).add(slice);
        }
        self.had.add_since(Processor::default(), other.had);
    }

    fn measured(&self, now_ns: u64) -> bool {
        (self.from_ns..self.until_ns).contains(&now_ns)
    }

    /// The slice that this instant belongs to; it is within the measured time.
    pub(crate) fn slice(&mut self, now_ns: u64) -> &mut SliceTally {
        let number = (now_ns - self.from_ns) / SLICE_NS;
        self.slices.entry(number).or_insert_with(SliceTally::new)
    }

    fn class(&mut self, class: Class) -> &mut ClassOutcome {
        let classes = &mut self.outcome.classes;
        let place = match classes.binary_search_by_key(&class, |known| known.class) {
            Ok(place) => place,
            Err(place) => {
                classes.insert(place, ClassOutcome::new(class));
                place
            }
        };
        &mut classes[place]
    }

    /// A session that was due at `due_ns` begins, or is turned away.
    pub(crate) fn arrived(&mut self, due_ns: u64, now_ns: u64) {
        if self.measured(due_ns) && self.measured(now_ns) {
            self.outcome.arrived += 1;
            self.slice(now_ns).counts.sessions += 1;
        }
    }

    pub(crate) fn turned_away(&mut self, due_ns: u64) {
        if self.measured(due_ns) {
            self.outcome.pace.turned_away += 1;
        }
    }

    pub(crate) fn connected(&mut self, now_ns: u64) {
        if self.measured(now_ns) {
            self.outcome.connections += 1;
            self.slice(now_ns).counts.connections += 1;
        }
    }

    pub(crate) fn resent(&mut self, now_ns: u64) {
        self.outcome.resent += u64::from(self.measured(now_ns));
    }

    pub(crate) fn sent_late(&mut self, now_ns: u64, late_ns: u64) {
        if self.measured(now_ns) {
            let late = self.outcome.pace.late_us.record(late_ns / 1000);
            late.expect("it grows as far as it has to");
        }
    }

    /// Body bytes, also those of requests that fail.
    pub(crate) fn received(&mut self, now_ns: u64, body_bytes: u64) {
        if self.measured(now_ns) {
            self.outcome.body_bytes += body_bytes;
            self.slice(now_ns).counts.body_bytes += body_bytes;
        }
    }

    pub(crate) fn answered(&mut self, class: Class, cached: Cached, span: Span) {
        if !self.measured(span.end_ns) {
            return;
        }
        let Span { due_ns, sent_ns, end_ns } = span;
        let (hit, miss) = (u64::from(cached == Cached::Hit), u64::from(cached == Cached::Miss));
        self.outcome.requests.record(due_ns, sent_ns, end_ns);
        self.outcome.hits += hit;
        self.outcome.misses += miss;
        let of_class = self.class(class);
        of_class.requests.record(due_ns, sent_ns, end_ns);
        of_class.hits += hit;
        of_class.misses += miss;
        self.slice(end_ns).counts.requests += 1;
    }

    /// A request due at `due_ns` failed.
    pub(crate) fn failed(
        &mut self,
        class: Class,
        (due_ns, now_ns): (u64, u64),
        cause: Cause,
        example: impl FnOnce() -> Failure,
    ) {
        if !self.measured(now_ns) {
            return;
        }
        if cause == Cause::Timeout {
            self.outcome.requests.at_least(due_ns, now_ns);
            self.class(class).requests.at_least(due_ns, now_ns);
        }
        self.outcome.failed[cause.index()] += 1;
        if self.outcome.examples.len() < EXAMPLES_MAX {
            self.outcome.examples.push(example());
        }
        self.class(class).failed[cause.index()] += 1;
        self.slice(now_ns).counts.failed[cause.index()] += 1;
    }

    /// A page is over; of one that failed: by which cause first.
    pub(crate) fn page(&mut self, class: Class, failed: Option<Cause>, span: Span) {
        if !self.measured(span.end_ns) {
            return;
        }
        let Span { due_ns, sent_ns, end_ns } = span;
        if let Some(cause) = failed {
            self.outcome.pages_failed += 1;
            // Pages that nobody answered took at least that long; without them the times of a
            // server that hangs would be better than those of one that is slow.
            if cause == Cause::Timeout {
                self.outcome.pages.at_least(due_ns, end_ns);
                self.class(class).pages.at_least(due_ns, end_ns);
            }
            return;
        }
        self.outcome.pages.record(due_ns, sent_ns, end_ns);
        self.class(class).pages.record(due_ns, sent_ns, end_ns);
        let slice = self.slice(end_ns);
        slice.counts.pages += 1;
        let page = slice.pages_us.record((end_ns.saturating_sub(due_ns) / 1000).max(1));
        page.expect("it grows as far as it has to");
    }

    /// A request that is due is not settled when the time is over.
    pub(crate) fn request_cut_off(
        &mut self,
        class: Class,
        (due_ns, end_ns): (u64, u64),
        target: impl FnOnce() -> String,
    ) {
        self.outcome.requests.cut_off(due_ns, end_ns);
        self.class(class).requests.cut_off(due_ns, end_ns);
        self.outcome.cut_off += 1;
        let waited_us = end_ns.saturating_sub(due_ns) / 1000;
        if self.outcome.unanswered.as_ref().is_none_or(|one| one.waited_us < waited_us) {
            self.outcome.unanswered = Some(Unanswered { waited_us, target: target() });
        }
    }

    /// A page that is due is not complete when the time is over.
    pub(crate) fn page_cut_off(&mut self, class: Class, due_ns: u64, end_ns: u64) {
        self.outcome.pages.cut_off(due_ns, end_ns);
        self.class(class).pages.cut_off(due_ns, end_ns);
    }

    /// Sessions that were due had not begun when the time was over: so many of those that arrived
    /// within it, and how long all of them had waited.
    pub(crate) fn not_begun(&mut self, arrived: u64, waits: &Waits) {
        self.outcome.arrived += arrived;
        self.outcome.pace.not_begun += arrived;
        add(&mut self.outcome.pace.late_us, &waits.0);
    }

    /// Their first pages, each of which asks for one thing, of this class.
    pub(crate) fn crowd_cut_off(&mut self, class: Class, waits: &Waits) {
        let of_class = self.class(class);
        of_class.requests.all_cut_off(&waits.0);
        of_class.pages.all_cut_off(&waits.0);
        let outcome = &mut self.outcome;
        for timing in [&mut outcome.requests, &mut outcome.pages, &mut outcome.sessions] {
            timing.all_cut_off(&waits.0);
        }
        outcome.cut_off += waits.0.len();
    }

    /// A session is over; of one of which a page failed: by which cause. It counts as pages do.
    pub(crate) fn session(&mut self, failed: Option<Cause>, span: Span) {
        if !self.measured(span.end_ns) {
            return;
        }
        let Span { due_ns, sent_ns, end_ns } = span;
        let sessions = &mut self.outcome.sessions;
        match failed {
            None => sessions.record(due_ns, sent_ns, end_ns),
            Some(Cause::Timeout) => sessions.at_least(due_ns, end_ns),
            Some(_) => {}
        }
        self.outcome.sessions_failed += u64::from(failed.is_some());
    }
}
