//! How often each target of a twin is asked for: exact whole numbers, not a sample.
//!
//! Sampling a Zipf distribution would leave the tail, on which the coverage points depend, to
//! chance. Here ranks are cut into four segments, one for each 97, 1, 1 and 1 per cent of the
//! requests, so long that sizes independent of rank give the published bytes. The first segment
//! follows Mandelbrot's form of Zipf's law, the others fall smoothly to one request a target.

use super::{Facts, Unfit};
use crate::draw::series::{exp, ln, pow};

/// Share of the requests that name the most popular target. Assumed: real logs of the period
/// have 5 to 8 per cent, for a logo or the first page.
const TOP_SHARE: f64 = 0.05;

/// Segments: up to 97, 98, 99 and 100 per cent of the requests.
pub(super) const SEGMENTS: usize = 4;

/// Steps of a search that halves its interval.
const HALVINGS: u32 = 60;

/// Requests by rank, most popular first: `facts.targets` numbers, none 0, their sum `requests`.
pub(super) fn counts(facts: &Facts, requests: u32) -> Result<Vec<u32>, Unfit> {
    let shares = segment_requests(requests);
    let lengths = segment_targets(facts, shares)?;
    let means: [f64; SEGMENTS] =
        std::array::from_fn(|at| f64::from(shares[at]) / f64::from(lengths[at]));
    if means.windows(2).any(|pair| pair[0] <= pair[1]) {
        return Err(Unfit::Few);
    }
    let edges = edges(means);
    let mut counts = Vec::with_capacity(facts.targets as usize);
    let top = TOP_SHARE * f64::from(requests);
    head(top.max(means[0]), edges[0], lengths[0], shares[0], &mut counts)?;
    for at in 1..SEGMENTS {
        let (start, end, mean) = (edges[at - 1], edges[at], means[at]);
        // start..end by a power whose mean is the segment's.
        let power = (start - end) / (mean - end).max(1e-6) - 1.0;
        let length = f64::from(lengths[at]);
        let curve = |rank: f64| end + (start - end) * pow(1.0 - (rank + 0.5) / length, power);
        whole((0..lengths[at]).map(|rank| curve(rank.into())), shares[at], &mut counts)?;
    }
    counts.sort_unstable_by(|left, right| right.cmp(left));
    Ok(counts)
}

/// Requests of each segment. The cuts are those at which [`crate::Statistics`] looks.
fn segment_requests(requests: u32) -> [u32; SEGMENTS] {
    let cut = |percent: u64| (u64::from(requests) * percent).div_ceil(100) as u32;
    [cut(97), cut(98) - cut(97), cut(99) - cut(98), requests - cut(99)]
}

/// Targets of each segment in proportion to its bytes: then sizes are independent of ranks.
fn segment_targets_natural(facts: &Facts) -> [u32; SEGMENTS] {
    let [first, second, third] = facts.coverage_bytes;
    let bytes = [first, second - first, third - second, facts.bytes - third];
    let share = |part: u64| u128::from(facts.targets) * u128::from(part) / u128::from(facts.bytes);
    bytes.map(|part| share(part) as u32)
}

/// Requests for each target of a segment, at least: so that each has more than the next.
const fn requests_each_min(segment: usize) -> u32 {
    (SEGMENTS - segment) as u32
}

/// From how many requests on no segment has to have fewer targets than its bytes are worth.
pub(super) fn natural_requests(facts: &Facts) -> u32 {
    let lengths = segment_targets_natural(facts);
    let needed = |at: usize| lengths[at].saturating_mul(100 * requests_each_min(at));
    (1..SEGMENTS).map(needed).max().unwrap_or(0)
}

/// Targets of each segment, as many as it naturally has if the requests suffice for that.
fn segment_targets(facts: &Facts, requests: [u32; SEGMENTS]) -> Result<[u32; SEGMENTS], Unfit> {
    let mut lengths = segment_targets_natural(facts);
    let mut left = facts.targets;
    for at in (1..SEGMENTS).rev() {
        lengths[at] = lengths[at].min(requests[at] / requests_each_min(at));
        left = left.checked_sub(lengths[at]).ok_or(Unfit::Few)?;
    }
    lengths[0] = left;
    if lengths.contains(&0) { Err(Unfit::Few) } else { Ok(lengths) }
}

/// Requests for a target at the end of each segment, between the means of its neighbours.
fn edges([first, second, third, fourth]: [f64; SEGMENTS]) -> [f64; SEGMENTS] {
    // The first segment is so steep that the next two say more about its end than its own mean.
    let steep = second * (second / third).sqrt();
    let first = steep.min((first * second).sqrt());
    [first, (second * third).sqrt(), (third * fourth).sqrt(), 1.0]
}

/// The first segment: counts in proportion to `(rank + shift)^-power`, ranks from 0, from `top`
/// to `end`, with the shift above 0 that makes their sum `sum`.
fn head(top: f64, end: f64, length: u32, sum: u32, counts: &mut Vec<u32>) -> Result<(), Unfit> {
    let last = f64::from(length.max(2));
    let fall = ln(top / end);
    let curve = |shift: f64| {
        let power = fall / ln((last - 1.0 + shift) / shift);
        move |rank: u32| top * pow(shift / (f64::from(rank) + shift), power)
    };
    // The larger the shift, the flatter the top and the larger the sum.
    let (mut low, mut high) = (ln(1e-3), ln(1e6));
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        let found: f64 = (0..length).map(curve(exp(middle))).sum();
        if found < f64::from(sum) { low = middle } else { high = middle }
    }
    whole((0..length).map(curve(exp(low))), sum, counts)
}

/// Appends whole numbers of at least 1 that follow `curve` and sum to `sum`: what lies above 1 is
/// scaled, and the running sum is rounded.
fn whole(
    curve: impl Iterator<Item = f64> + Clone,
    sum: u32,
    counts: &mut Vec<u32>,
) -> Result<(), Unfit> {
    let (length, total) =
        curve.clone().fold((0_u32, 0.0), |(length, total), value| (length + 1, total + value));
    let (above, wanted) = (total - f64::from(length), sum.checked_sub(length).ok_or(Unfit::Few)?);
    let scale = if above > 0.0 { f64::from(wanted) / above } else { 0.0 };
    let (mut exact, mut given) = (0.0, 0);
    let start = counts.len();
    for value in curve {
        exact += (value - 1.0).max(0.0) * scale;
        let share = (exact.round() as u32).min(wanted) - given;
        given += share;
        counts.push(1 + share);
    }
    // What rounding leaves belongs to the most popular.
    counts[start] += wanted - given;
    Ok(())
}
