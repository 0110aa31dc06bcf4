//! How much more one cluster can do than another, and how sure that is: from the parts of one log.
//!
//! Method: batch means with few and large batches, the cold beginning left out (Conway, *Management
//! Science* 10, 1963; Schmeiser, *Operations Research* 30, 1982: beyond some thirty batches nothing
//! is won, and with fewer each is less like its neighbour). The interval tells what this site may
//! do as long as it goes on as it does in the log; of a site that changes no log can tell.

use sim::replay::{Outcome, Slice};
use sim::stats::Estimate;

/// One part in so many at the beginning is left out: caches fill in it.
const COLD: usize = 5;

/// Batches. Student's t for as few is wide, which is honest: neighbours still resemble each other.
const BATCHES: usize = 6;

/// Parts of a batch, at least: below, the log is too short for an interval.
const BATCH_PARTS_MIN: usize = 2;

/// What no part of the log can show, as a share of a lead: which targets the site happens to have,
/// and how large its favourites are. Synthetic sites that differ in their seed alone differ in
/// their leads by a standard deviation of 1 to 2 %, and `tests/what_if/sure.rs` holds the interval
/// to that.
const UNSEEN: f64 = 0.03;

/// The capacity of one cluster in parts of that of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lead {
    /// The ratio.
    pub mean: f64,
    /// Where it is with 95 % confidence; nothing where the log is too short to tell.
    pub interval: Option<(f64, f64)>,
    /// Warm parts of the log in which the first was the faster.
    pub ahead: usize,
    /// Warm parts in which one of them was.
    pub parts: usize,
}

impl Lead {
    /// `mean`, with what the parts of the log say of it: `one` leads `other`, both at full load or
    /// both at the log's pace.
    pub(super) fn new(mean: f64, one: &Outcome, other: &Outcome) -> Self {
        let (mine, others) = (costs_s(one), costs_s(other));
        let pairs = || mine.iter().zip(&others).filter(|(mine, others)| mine != others);
        Self {
            mean,
            interval: share(&others, &mine).map(|share| {
                let factor = share.hypot(UNSEEN).exp();
                (mean / factor, mean * factor)
            }),
            ahead: pairs().filter(|(mine, others)| mine < others).count(),
            parts: pairs().count(),
        }
    }

    /// Whether the log has parts enough, and in most of them the cluster that leads in all leads.
    pub(super) fn parts_agree(&self, share: f64) -> bool {
        let agree = if self.mean >= 1.0 { self.ahead } else { self.parts - self.ahead };
        self.parts > 0 && agree as f64 >= share * self.parts as f64
    }
}

/// Requests per second of a cluster at full load once caches are warm, with an interval; of a log
/// too short for that, all of it and no interval.
pub(super) fn capacity_rps(outcome: &Outcome) -> Estimate {
    let whole = Estimate { mean: outcome.capacity_rps(), half_width: f64::INFINITY };
    let warm = warm(&outcome.slices);
    // Where requests are let in at no time, the cluster was only being filled.
    if !outcome.closed || warm.len() < BATCHES * BATCH_PARTS_MIN || warm.iter().any(instant) {
        return whole;
    }
    let requests: Vec<f64> = warm.iter().map(|slice| slice.requests as f64).collect();
    let spans_s = costs_s(outcome);
    let mean = requests.iter().sum::<f64>() / spans_s.iter().sum::<f64>();
    let half_width = share(&requests, &spans_s).map_or(f64::INFINITY, |share| mean * share);
    Estimate { mean, half_width }
}

fn instant(slice: &Slice) -> bool {
    slice.span.is_zero()
}

/// The parts of a log but the cold ones, and but a last one that is cut short.
pub(super) fn warm(slices: &[Slice]) -> &[Slice] {
    let whole = match slices {
        [first, .., last] if last.requests < first.requests => &slices[..slices.len() - 1],
        _ => slices,
    };
    &whole[whole.len().div_ceil(COLD).min(whole.len())..]
}

/// What each warm part cost: its time at full load, else the work of the busiest CPU or disk.
fn costs_s(outcome: &Outcome) -> Vec<f64> {
    let cost = |slice: &Slice| if outcome.closed { slice.span } else { slice.given };
    warm(&outcome.slices).iter().map(|slice| cost(slice).as_secs_f64()).collect()
}

/// Half the 95 % interval of the ratio of two sums over the same parts, as a share of the ratio:
/// the classical ratio estimator over batches (Cochran, *Sampling Techniques*, 1977, chapter 6).
fn share(over: &[f64], under: &[f64]) -> Option<f64> {
    let parts = over.len().min(under.len());
    let size = parts / BATCHES;
    if size < BATCH_PARTS_MIN {
        return None;
    }
    // What is left over goes from the beginning, the colder end.
    let batched = |values: &[f64]| -> Vec<f64> {
        let values = &values[parts - size * BATCHES..parts];
        values.chunks(size).map(|batch| batch.iter().sum()).collect()
    };
    let (over, under) = (batched(over), batched(under));
    let ratio = over.iter().sum::<f64>() / under.iter().sum::<f64>();
    let residuals: Vec<f64> = over.iter().zip(&under).map(|(o, u)| o - ratio * u).collect();
    let share = Estimate::of(&residuals).half_width * BATCHES as f64 / over.iter().sum::<f64>();
    share.is_finite().then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Dice;

    #[test]
    fn a_ratio_is_sure_when_all_parts_have_it() {
        let under: Vec<f64> = (1..=12).map(f64::from).collect();
        let over: Vec<f64> = under.iter().map(|value| 2.0 * value).collect();
        assert!(share(&over, &under).unwrap() < 1e-9);
        let mut odd = over;
        odd[5] *= 3.0;
        assert!(share(&odd, &under).unwrap() > 0.1);
    }

    #[test]
    fn a_short_log_has_no_interval() {
        assert_eq!(share(&[1.0; 11], &[1.0; 11]), None);
        assert_eq!(share(&[0.0; 20], &[0.0; 20]), None, "nor have parts that cost nothing");
    }

    /// Parts that resemble the part before, as those of real logs do.
    #[test]
    fn the_interval_has_the_truth_in_it_as_often_as_it_says() {
        let mut covered = 0;
        for seed in 0..1_000 {
            let mut dice = Dice::new(seed);
            let mut part = |level: &mut f64| {
                let noise: f64 = (0..12).map(|_| dice.unit()).sum::<f64>() - 6.0;
                *level = 0.4 * *level + noise;
                10.0 + *level
            };
            let (mut a, mut b) = (0.0, 0.0);
            let over: Vec<f64> = (0..48).map(|_| 1.5 * part(&mut a)).collect();
            let under: Vec<f64> = (0..48).map(|_| part(&mut b)).collect();
            let ratio = over.iter().sum::<f64>() / under.iter().sum::<f64>();
            let share = share(&over, &under).unwrap();
            covered += usize::from((ratio / 1.5).ln().abs() <= share);
        }
        assert!((920..=990).contains(&covered), "{covered} of 1000");
    }
}
