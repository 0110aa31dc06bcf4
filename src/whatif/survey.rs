//! What the log is: counted while it is read, for the advice and the report.

use super::feed::Sizes;
use super::live::Measured;
use workload::Ask;

/// Targets whose homes are reported.
const HOT_MAX: usize = 20;

/// What is known of a target.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    requests: u32,
    /// Whether a cache may ever give it.
    cacheable: bool,
    size_bytes: u64,
    /// The catalogue's number of the first URL that named it.
    url: u32,
}

/// A target that is asked for much.
#[derive(Clone, Debug, PartialEq)]
pub struct Hot {
    /// Its number.
    pub target: u32,
    /// The (first) URL by which it was asked for, with the site before it if the log names one.
    pub url: String,
    /// How often.
    pub requests: u64,
    /// Its size.
    pub size_bytes: u64,
}

/// What the log is.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Requests.
    pub requests: u64,
    /// Of these, replies that a cache may give.
    pub cacheable: u64,
    /// Bytes of all replies.
    pub reply_bytes: u64,
    /// The first and the last stamp, in microseconds since 1970.
    pub from_us: i64,
    /// See [`Survey::from_us`].
    pub until_us: i64,
    /// Different clients.
    pub clients: u64,
    /// Requests whose stamp was earlier than one before, beyond what was put in order.
    pub late: u64,
    /// Requests that are more than a day from all but a few others: a broken clock's, which stretch
    /// the log.
    pub strays: u64,
    /// What the log has of sizes.
    pub sizes: Sizes,
    /// What the log itself says of times, caches and servers.
    pub measured: Measured,
    targets: Vec<Known>,
}

impl Survey {
    /// Counts a request for `target`, which has `size_bytes` and whose URL has the number `url`;
    /// `cacheable` tells whether a cache may give the reply.
    pub(super) fn count(&mut self, ask: &Ask, target: u32, url: u32, size_bytes: u64) {
        if self.requests == 0 {
            (self.from_us, self.until_us) = (ask.at_us, ask.at_us);
        }
        self.until_us = self.until_us.max(ask.at_us);
        self.requests += 1;
        self.reply_bytes += u64::from(ask.bytes);
        let at = target as usize;
        if at >= self.targets.len() {
            self.targets.resize(at + 1, Known::default());
        }
        let known = &mut self.targets[at];
        if known.requests == 0 {
            known.url = url;
        }
        known.requests = known.requests.saturating_add(1);
        if ask.counted() {
            self.cacheable += 1;
            known.cacheable = true;
            known.size_bytes = known.size_bytes.max(size_bytes);
        }
        self.measured.count(ask);
    }

    /// Different targets.
    pub fn targets(&self) -> u64 {
        self.targets.len() as u64
    }

    /// The share of requests that one cache with room for all could answer: each target must be
    /// read once.
    pub fn hit_ratio_max(&self) -> f64 {
        let read = self.targets.iter().filter(|known| known.cacheable).count() as u64;
        self.cacheable.saturating_sub(read) as f64 / self.requests.max(1) as f64
    }

    /// The working set: the sizes of all targets.
    pub fn footprint_bytes(&self) -> u64 {
        self.targets.iter().fold(0, |sum, known| known.size_bytes.saturating_add(sum))
    }

    /// From the first request to the last.
    pub fn span_s(&self) -> f64 {
        (self.until_us - self.from_us).max(0) as f64 / 1e6
    }

    /// Requests per second, as logged.
    pub fn rate_rps(&self) -> f64 {
        self.requests as f64 / self.span_s().max(1.0)
    }

    /// The targets asked for most, most first; of equals, the earlier one. `name` gives the text of
    /// a URL's number.
    pub(super) fn hottest(&self, name: impl Fn(u32) -> String) -> Vec<Hot> {
        let mut order: Vec<u32> = (0..self.targets.len() as u32).collect();
        let rank = |target: &u32| (u32::MAX - self.targets[*target as usize].requests, *target);
        let count = HOT_MAX.min(order.len());
        if count < order.len() {
            order.select_nth_unstable_by_key(count, rank);
            order.truncate(count);
        }
        order.sort_unstable_by_key(rank);
        let hot = |target: u32| {
            let known = self.targets[target as usize];
            let (requests, size_bytes) = (known.requests.into(), known.size_bytes);
            Hot { target, url: name(known.url), requests, size_bytes }
        };
        order.into_iter().map(hot).collect()
    }
}
