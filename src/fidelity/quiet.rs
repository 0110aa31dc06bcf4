//! Live runs, repeated until they say something: those during which others used the processors are
//! thrown away, and there are as many as it takes to be sure.

use super::verdict::{Comparison, Kind, Verdict};
use crate::exit::say;
use crate::experiments::Lab;
use anyhow::Result;
use std::time::Duration;

/// How many live runs a comparison is made of.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// So many at least.
    pub least: usize,
    /// And more until the error is known to be within its tolerance or beyond, but no more than
    /// these.
    pub most: usize,
    /// Disturbed runs that are thrown away, at most; then they have to do.
    pub thrown: usize,
}

/// From this share of a core on, others disturb a run: a stall of a quarter of a second in one of
/// ten seconds is seen in the slowest tenth of pages.
const OTHERS_MAX: f64 = 0.05;

/// A run waits for others to be still before it begins, but not longer.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Waits for others to be still; not at all where disturbed runs count.
pub(super) fn settled(runs: Runs, lab: &Lab) -> Result<()> {
    let mut most = if runs.thrown > 0 { WAIT_MAX } else { Duration::ZERO };
    lab.settle(&mut most)
}

/// What a live run found, and which share of a core others used meanwhile.
pub(super) struct Run<T> {
    pub found: T,
    pub others: f64,
}

/// Live runs and what is simulated for each.
pub(super) struct Pairs<T> {
    pub live: Vec<T>,
    pub simulated: Vec<T>,
    /// Whether there were too few runs without others.
    pub disturbed: bool,
}

impl<T> Pairs<T> {
    /// One figure of all runs beside the simulated ones.
    pub fn compare(&self, experiment: &str, kind: Kind, of: fn(&T) -> f64) -> Comparison {
        Comparison {
            experiment: experiment.to_owned(),
            kind,
            live: self.live.iter().map(of).collect(),
            simulated: self.simulated.iter().map(of).collect(),
            disturbed: self.disturbed,
        }
    }
}

/// Plays run after run, by number from 0, until `compare` is sure of all it makes of them; `None`
/// when we were asked to stop. Which runs count is said by what others did, never by what was
/// found.
pub(super) fn until_sure<T>(
    runs: Runs,
    mut play: impl FnMut(usize) -> Result<Option<Run<T>>>,
    mut paper: impl FnMut(usize) -> T,
    compare: impl Fn(&Pairs<T>) -> Vec<Comparison>,
) -> Result<Option<Vec<Comparison>>> {
    let mut pairs = Pairs { live: Vec::new(), simulated: Vec::new(), disturbed: false };
    let mut thrown = 0;
    loop {
        let number = pairs.live.len();
        let Some(run) = play(number)? else { return Ok(None) };
        if run.others > OTHERS_MAX {
            if thrown < runs.thrown {
                thrown += 1;
                say(format_args!("  a run is repeated: others used {:.2} cores", run.others));
                continue;
            }
            pairs.disturbed = true;
        }
        pairs.live.push(run.found);
        pairs.simulated.push(paper(number));
        let count = pairs.live.len();
        if count < runs.least {
            continue;
        }
        let comparisons = compare(&pairs);
        let sure = |one: &Comparison| one.verdict() != Verdict::Undecided;
        if count >= runs.most || pairs.disturbed || comparisons.iter().all(sure) {
            return Ok(Some(comparisons));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: Runs = Runs { least: 2, most: 5, thrown: 4 };

    fn compared(pairs: &Pairs<f64>) -> Vec<Comparison> {
        vec![pairs.compare("e", Kind::PageP90, |found| *found)]
    }

    fn played(runs: &[(f64, f64)]) -> (Comparison, usize) {
        let mut next = runs.iter().cycle();
        let mut count = 0;
        let play = |_| {
            count += 1;
            let (found, others) = *next.next().expect("it goes round");
            Ok(Some(Run { found, others }))
        };
        let found = until_sure(RUNS, play, |_| 100.0, compared).expect("played");
        (found.expect("nobody stops it").remove(0), count)
    }

    #[test]
    fn runs_that_agree_are_enough_and_others_are_repeated_to_the_most() {
        let (agreed, count) = played(&[(100.0, 0.0), (101.0, 0.0)]);
        assert_eq!((agreed.live.len(), count, agreed.verdict()), (2, 2, Verdict::Within));
        let (apart, count) = played(&[(100.0, 0.0), (900.0, 0.0)]);
        assert_eq!((apart.live.len(), count, apart.verdict()), (5, 5, Verdict::Undecided));
    }

    #[test]
    fn a_disturbed_run_is_thrown_away_until_there_were_too_many() {
        let (found, count) = played(&[(500.0, 0.5), (100.0, 0.0)]);
        assert_eq!((found.live, count, found.disturbed), (vec![100.0, 100.0], 4, false));
        let (found, count) = played(&[(100.0, 0.5)]);
        assert_eq!((found.live.len(), count), (2, 6));
        assert_eq!(found.verdict(), Verdict::Undecided);
    }
}
