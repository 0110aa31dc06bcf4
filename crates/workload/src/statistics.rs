//! What a trace is like: the figures by which papers describe theirs.
//!
//! Only [`Entry::counted`] requests count. Coverage is the papers' working set: targets by number
//! of requests, sizes summed until a share of all requests is covered. Most cuts fall among targets
//! with equal counts, whose order is arbitrary, so each figure is the expectation over random
//! order, with both extremes beside it.

use crate::{Entry, Sessions, Shape, Trace};

/// Ranks over which the Zipf slope is fitted.
const ZIPF_RANKS: usize = 1000;

/// Bytes of the most requested targets that cover a share of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Per cent of the requests.
    pub percent: u32,
    /// Bytes, as expected over random order of equals.
    pub bytes: f64,
    /// Bytes with the smallest of equals first.
    pub bytes_min: u64,
    /// Bytes with the largest of equals first.
    pub bytes_max: u64,
}

/// What a trace, or one of its sites, is like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Requests of every kind.
    pub requests: u64,
    /// GETs answered with 200, 206 or 304: all that follows is about these.
    pub counted: u64,
    /// Different clients.
    pub clients: u64,
    /// Different targets.
    pub targets: u64,
    /// Targets requested once.
    pub once_only: u64,
    /// The targets' sizes, summed.
    pub footprint_bytes: u64,
    /// Working sets for 97, 98 and 99 per cent of the requests.
    pub coverage: [Coverage; 3],
    /// Share of requests that name one of the 100 most requested targets, 0 to 1.
    pub top_100_share: f64,
    /// Mean of the 200 replies, in bytes.
    pub reply_bytes_mean: f64,
    /// Median of the 200 replies, in bytes.
    pub reply_bytes_median: f64,
    /// Zipf exponent: minus the slope of log count over log rank, least squares, ranks 1 to 1000.
    pub zipf_slope: f64,
    /// Connections, when gaps of at most 15 s do not end one.
    pub sessions: u64,
}

impl Statistics {
    /// Describes a whole trace, or the part of it that went to one site (an index into
    /// [`Trace::sites`]).
    pub fn of(trace: &Trace, site: Option<u16>) -> Self {
        let of_site = |entry: &&Entry| site.is_none_or(|site| trace.target(entry).site == site);
        let mut counts = vec![0_u64; trace.targets.len()];
        let mut clients = vec![false; trace.clients() as usize];
        let mut replies = Vec::new();
        let mut all = Self::default();
        for entry in trace.requests.iter().filter(of_site) {
            all.requests += 1;
            if entry.counted() {
                all.counted += 1;
                counts[entry.target as usize] += 1;
                clients[entry.client as usize] = true;
                if entry.status == 200 {
                    replies.push(entry.bytes);
                }
            }
        }
        all.clients = clients.into_iter().filter(|asked| *asked).count() as u64;
        all.sessions = sessions(trace, site);
        (all.reply_bytes_mean, all.reply_bytes_median) = centre(replies);
        let mut ranked: Vec<Rank> = counts
            .iter()
            .zip(&trace.targets)
            .filter(|(count, _)| **count > 0)
            .map(|(&count, target)| Rank { count, bytes: target.size })
            .collect();
        ranked.sort_unstable_by_key(|rank| (std::cmp::Reverse(rank.count), rank.bytes));
        all.describe(&ranked);
        all
    }

    fn describe(&mut self, ranked: &[Rank]) {
        self.targets = ranked.len() as u64;
        self.once_only = ranked.iter().filter(|rank| rank.count == 1).count() as u64;
        self.footprint_bytes = sum(ranked);
        let top: u64 = ranked.iter().take(100).map(|rank| rank.count).sum();
        self.top_100_share = top as f64 / self.counted.max(1) as f64;
        self.zipf_slope = zipf_slope(ranked);
        self.coverage = [97, 98, 99].map(|percent| coverage(ranked, self.counted, percent));
    }
}

/// A target among others: how often it was asked for, and its size.
#[derive(Clone, Copy)]
struct Rank {
    count: u64,
    bytes: u64,
}

/// `ranked` is by count, the largest first, and within equal counts by size, the smallest first.
fn coverage(ranked: &[Rank], requests: u64, percent: u32) -> Coverage {
    let mut lacking = (requests * u64::from(percent)).div_ceil(100);
    let mut bytes = 0_u64;
    for equals in ranked.chunk_by(|left, right| left.count == right.count) {
        let count = equals[0].count;
        let needed = usize::try_from(lacking.div_ceil(count)).unwrap_or(usize::MAX);
        if needed < equals.len() {
            return Coverage {
                percent,
                bytes: bytes as f64 + sum(equals) as f64 * needed as f64 / equals.len() as f64,
                bytes_min: bytes.saturating_add(sum(&equals[..needed])),
                bytes_max: bytes.saturating_add(sum(&equals[equals.len() - needed..])),
            };
        }
        bytes = bytes.saturating_add(sum(equals));
        lacking = lacking.saturating_sub(count * equals.len() as u64);
    }
    Coverage { percent, bytes: bytes as f64, bytes_min: bytes, bytes_max: bytes }
}

/// Logs may claim any sizes: a sum stops at the largest number.
fn sum(ranked: &[Rank]) -> u64 {
    ranked.iter().fold(0, |sum, rank| sum.saturating_add(rank.bytes))
}

/// Mean and median; 0 of nothing.
fn centre(mut values: Vec<u64>) -> (f64, f64) {
    values.sort_unstable();
    let count = values.len();
    if count == 0 {
        return (0.0, 0.0);
    }
    let mean = values.iter().map(|&value| value as f64).sum::<f64>() / count as f64;
    (mean, (values[(count - 1) / 2] as f64 + values[count / 2] as f64) / 2.0)
}

fn zipf_slope(ranked: &[Rank]) -> f64 {
    let points: Vec<(f64, f64)> = (1_u32..)
        .zip(ranked.iter().take(ZIPF_RANKS))
        .map(|(rank, target)| (f64::from(rank).ln(), (target.count as f64).ln()))
        .collect();
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
    let slope: f64 = points.iter().map(|point| (point.0 - mean_x) * (point.1 - mean_y)).sum();
    if spread > 0.0 { -slope / spread } else { 0.0 }
}

fn sessions(trace: &Trace, site: Option<u16>) -> u64 {
    let mut counted = trace.clone();
    counted.requests.retain(|entry| {
        entry.counted() && site.is_none_or(|site| trace.target(entry).site == site)
    });
    Sessions::of(&counted, Shape { gap_ms_max: 15_000, ..Shape::default() }).len() as u64
}
