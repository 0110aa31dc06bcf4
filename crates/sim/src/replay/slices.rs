//! How a run went along: the log in slices of equally many requests, of which there are never more
//! than a few dozen. When there would be, neighbours are joined; so nobody need know the log's
//! length beforehand.

use core::time::Duration;
use policy::Instant;

/// Slices kept at most.
pub const SLICES_MAX: usize = 64;

/// Requests of a slice, to begin with.
const REQUESTS_FIRST: u64 = 256;

/// A part of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// Requests that came in it.
    pub requests: u64,
    /// Of these, answered from a cache.
    pub hits: u64,
    /// The latencies that became known in it, summed: mostly those of its own requests.
    pub latency: Duration,
    /// How long it was.
    pub span: Duration,
    /// The work that was given to the busiest CPU or disk in that time.
    pub given: Duration,
}

impl Slice {
    /// Both together; the busiest station need not be the same, so that its work is an estimate
    /// from above.
    fn join(self, next: Self) -> Self {
        Self {
            requests: self.requests + next.requests,
            hits: self.hits + next.hits,
            latency: self.latency.saturating_add(next.latency),
            span: self.span + next.span,
            given: self.given + next.given,
        }
    }

    /// The work given to the busiest CPU or disk, in parts of what it can do: above 1, work piles
    /// up. Infinite for requests that all come at once.
    pub fn work(&self) -> f64 {
        if self.given.is_zero() {
            return 0.0;
        }
        self.given.as_secs_f64() / self.span.as_secs_f64()
    }

    /// Share of requests answered from a cache; 0 of none.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / self.requests.max(1) as f64
    }
}

/// The slices of a run so far.
#[derive(Clone, Debug)]
pub(crate) struct Slices {
    done: Vec<Slice>,
    now: Slice,
    /// The latencies of the slice, summed.
    latency_ns: u64,
    /// Requests of a slice.
    requests: u64,
    began: Instant,
    /// What each station had been given when the slice began.
    given: Vec<Duration>,
}

impl Slices {
    pub(crate) fn new() -> Self {
        Self {
            done: Vec::with_capacity(SLICES_MAX),
            now: Slice::default(),
            latency_ns: 0,
            requests: REQUESTS_FIRST,
            began: Instant::ZERO,
            given: Vec::new(),
        }
    }

    /// Counts a request; true when the slice is full and [`Slices::end`] is due.
    #[inline]
    pub(crate) fn count(&mut self, hit: bool) -> bool {
        self.now.requests += 1;
        self.now.hits += u64::from(hit);
        self.now.requests >= self.requests
    }

    /// Counts a latency, as soon as it is known.
    #[inline]
    pub(crate) fn timed(&mut self, latency_ns: u64) {
        self.latency_ns = self.latency_ns.saturating_add(latency_ns);
    }

    /// Ends the slice at `now`, when each station has been `given` so much work ever.
    pub(crate) fn end(&mut self, now: Instant, given: impl Iterator<Item = Duration>) {
        let latency = Duration::from_nanos(std::mem::take(&mut self.latency_ns));
        if self.now.requests == 0 {
            // What became known after the last request belongs to its slice.
            if let Some(last) = self.done.last_mut() {
                last.latency = last.latency.saturating_add(latency);
            }
            return;
        }
        let mut slice = std::mem::take(&mut self.now);
        slice.latency = latency;
        slice.span = now.since(self.began);
        let mut most = Duration::ZERO;
        for (station, given) in given.enumerate() {
            if station == self.given.len() {
                self.given.push(Duration::ZERO);
            }
            most = most.max(given.saturating_sub(self.given[station]));
            self.given[station] = given;
        }
        slice.given = most;
        self.began = now;
        self.done.push(slice);
        if self.done.len() == SLICES_MAX {
            self.done = self.done.chunks(2).map(|pair| pair[0].join(pair[1])).collect();
            self.requests *= 2;
        }
    }

    /// All of them; call [`Slices::end`] first.
    pub(crate) fn into_list(self) -> Vec<Slice> {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_few_and_lose_nothing() {
        let mut slices = Slices::new();
        let requests = 1_000_000_u64;
        for number in 0..requests {
            slices.timed(1_000);
            if slices.count(number % 4 == 0) {
                let now = Instant(number * 1_000_000);
                slices.end(now, [Duration::from_micros(number * 700)].into_iter());
            }
        }
        slices.end(
            Instant(requests * 1_000_000),
            [Duration::from_micros(requests * 700)].into_iter(),
        );
        let list = slices.into_list();
        assert!((SLICES_MAX / 2..=SLICES_MAX).contains(&list.len()), "{}", list.len());
        assert_eq!(list.iter().map(|slice| slice.requests).sum::<u64>(), requests);
        assert_eq!(list.iter().map(|slice| slice.hits).sum::<u64>(), requests / 4);
        for slice in &list {
            assert!((slice.work() - 0.7).abs() < 0.01, "{slice:?}");
        }
    }
}
