//! How large each target of a twin is.
//!
//! Sizes are drawn from the distribution of files of SURGE and scaled within the four segments of
//! the popularity curve, so that totals and coverage points come out to the byte or nearly so.
//! Inside a segment a size has nothing to do with a rank, but for the lean that gives replies
//! their mean: what is popular is smaller than what is not, in every log that was measured.

use super::counts::SEGMENTS;
use super::{Facts, Unfit};
use crate::draw::{Draw, Hybrid, Lognormal, Pareto};
use policy::Dice;

/// Files of a Web server: body and tail of Barford, Crovella: *Generating Representative Web
/// Workloads for Network and Server Performance Evaluation* (SURGE), SIGMETRICS 1998. The largest
/// is ours: the paper's tail has no end.
const FILES: Draw = Draw::Hybrid(Hybrid {
    body: Lognormal { mu: 9.357, sigma: 1.318, max: 133_000.0 },
    tail: Pareto { alpha: 1.1, min: 133_000.0, max: 4_000_000.0 },
    tail_share: 0.07,
});

/// Steps of the search for the lean.
const LEAN_STEPS: u32 = 20;

/// Where one coverage point falls among ranks: before `start` all count, up to `end` (targets that
/// are asked for equally often) the share `needed / (end - start)`.
struct Cut {
    start: usize,
    end: usize,
    needed: usize,
}

/// Sizes by rank, for targets that are asked for so often (most often first).
pub(super) fn sizes(facts: &Facts, counts: &[u32], dice: &mut Dice) -> Result<Vec<u64>, Unfit> {
    let cuts = [97, 98, 99].map(|percent| cut(counts, percent));
    let at = cuts.each_ref().map(|cut| cut.start + cut.needed);
    let bounds = [0, at[0], at[1], at[2], counts.len()];
    let mut raw: Vec<f64> = counts.iter().map(|_| FILES.sample(dice)).collect();
    if bounds.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Unfit::Few);
    }
    lean(facts, &counts[..bounds[1]], &mut raw[..bounds[1]], dice);
    let scales = scales(facts, &raw, &cuts, bounds).ok_or(Unfit::Few)?;
    let mut sizes = Vec::with_capacity(raw.len());
    for (pair, scale) in bounds.windows(2).zip(scales) {
        // The running sum is rounded, so that a segment is exact as a whole.
        let (mut exact, mut given) = (0.0, 0);
        for value in &raw[pair[0]..pair[1]] {
            exact += value * scale;
            let size = (exact.round() as u64).saturating_sub(given).max(1);
            given += size;
            sizes.push(size);
        }
    }
    Ok(sizes)
}

fn cut(counts: &[u32], percent: u64) -> Cut {
    let requests: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let mut lacking = (requests * percent).div_ceil(100);
    let mut start = 0;
    for equals in counts.chunk_by(|left, right| left == right) {
        let needed = lacking.div_ceil(u64::from(equals[0])) as usize;
        if needed <= equals.len() {
            return Cut { start, end: start + equals.len(), needed };
        }
        lacking -= u64::from(equals[0]) * equals.len() as u64;
        start += equals.len();
    }
    Cut { start, end: start, needed: 0 }
}

/// By what the sizes of each segment are multiplied. Coverage is linear in sizes, so the four
/// published sums are four equations; `None` if no positive factors solve them.
fn scales(
    facts: &Facts,
    raw: &[f64],
    cuts: &[Cut; 3],
    bounds: [usize; SEGMENTS + 1],
) -> Option<[f64; SEGMENTS]> {
    let mut rows = [[0.0; SEGMENTS + 1]; SEGMENTS];
    for (row, cut) in rows.iter_mut().zip(cuts) {
        let share = cut.needed as f64 / (cut.end - cut.start).max(1) as f64;
        for (segment, pair) in bounds.windows(2).enumerate() {
            let sum = |from: usize, to: usize| {
                let (from, to) = (from.max(pair[0]), to.min(pair[1]));
                raw.get(from..to).map_or(0.0, |part| part.iter().sum())
            };
            row[segment] = sum(0, cut.start) + share * sum(cut.start, cut.end);
        }
    }
    for (segment, pair) in bounds.windows(2).enumerate() {
        rows[SEGMENTS - 1][segment] = raw[pair[0]..pair[1]].iter().sum();
    }
    let sums = facts.coverage_bytes.iter().chain([&facts.bytes]);
    for (row, &sum) in rows.iter_mut().zip(sums) {
        row[SEGMENTS] = sum as f64;
    }
    solved(rows).filter(|scales| scales.iter().all(|scale| *scale > 0.0))
}

/// Gauss's elimination; `None` when the equations depend on each other.
fn solved(mut rows: [[f64; SEGMENTS + 1]; SEGMENTS]) -> Option<[f64; SEGMENTS]> {
    for pivot in 0..SEGMENTS {
        let size = |row: &usize| rows[*row][pivot].abs();
        let best = (pivot..SEGMENTS).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        rows.swap(pivot, best);
        let head = rows[pivot];
        if head[pivot].abs() < 1e-9 * head[SEGMENTS].abs() {
            return None;
        }
        for (at, row) in rows.iter_mut().enumerate() {
            if at != pivot {
                let factor = row[pivot] / head[pivot];
                row.iter_mut().zip(head).for_each(|(cell, above)| *cell -= factor * above);
            }
        }
    }
    Some(std::array::from_fn(|at| rows[at][SEGMENTS] / rows[at][at]))
}

/// Gives the sizes of the first segment other ranks so that the mean reply is about
/// [`Facts::reply_bytes_mean`]: targets are ordered by a mixture of chance and size, and the
/// mixture is searched for.
fn lean(facts: &Facts, counts: &[u32], raw: &mut [f64], dice: &mut Dice) {
    let total: f64 = raw.iter().sum();
    let scale = facts.coverage_bytes[0] as f64 / total;
    let requests: f64 = counts.iter().map(|&count| f64::from(count)).sum();
    let mut sorted = raw.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let chance: Vec<f64> = raw.iter().map(|_| dice.unit()).collect();
    let length = sorted.len() as f64;
    let (mut low, mut high) = (-1.0, 1.0);
    for _ in 0..LEAN_STEPS {
        let share: f64 = (low + high) / 2.0;
        let key = |at: &usize| (1.0 - share.abs()) * chance[*at] + share * (*at as f64 / length);
        let mut order: Vec<usize> = (0..sorted.len()).collect();
        order.sort_by(|a, b| key(a).total_cmp(&key(b)));
        for (place, from) in raw.iter_mut().zip(order) {
            *place = sorted[from];
        }
        let bytes: f64 = raw.iter().zip(counts).map(|(size, &count)| size * f64::from(count)).sum();
        if bytes * scale / requests > facts.reply_bytes_mean as f64 {
            low = share
        } else {
            high = share
        }
    }
}
