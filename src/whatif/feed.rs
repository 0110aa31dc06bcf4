//! From the numbers of a log to what its requests ask of a server.

use super::plan::Plan;
use super::survey::Survey;
use crate::flags::TimesFrom;
use crate::logs::Unfit;
use policy::{Class, Instant, TargetId};
use rules::{Described, Rules};
use sim::replay::{Costs, Demand, Logged, Pace, Reply, Teacher, Times};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use workload::{Ask, Catalogue, Intake, Sizing, grain};

/// Demands of one stamp that are kept together at most, see `sim::replay::Run::feed`.
const TOGETHER_MAX: usize = 1 << 18;

/// From here on a gap in a log may be a broken clock, in microseconds.
const GAP_US_MIN: i64 = 86_400_000_000;

/// Requests between two such gaps that are no more than these have lost their way.
const STRAYS_MAX: u64 = 3;

/// What was learnt from the beginning of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learnt {
    /// The least span that its stamps tell apart.
    pub grain: Duration,
    /// Where the times of requests come from.
    pub times: Times,
}

/// Turns asks into demands, in order.
pub struct Feeder {
    costs: Costs,
    base_us: i64,
    meanings: Meanings,
    /// Demands that wait for others of the same stamp.
    held: Vec<Demand>,
    strays: Strays,
    /// What the log is, as far as it was read.
    pub survey: Survey,
}

impl Feeder {
    /// A feeder for a log that begins with `sample`.
    ///
    /// # Errors
    /// [`Unfit`] when the log does not have what the plan needs of it.
    pub fn new(plan: &Plan, sample: &[Ask], intake: &Intake) -> Result<(Self, Learnt), Unfit> {
        let base_us = sample.first().map_or(0, |ask| ask.at_us);
        if matches!(plan.pace, Pace::Open { .. }) && sample.iter().all(|ask| ask.at_us == 0) {
            let message = "the log does not say when its requests came: play it with --closed";
            return Err(Unfit::Log(message.into()));
        }
        let mut meanings = Meanings { rules: plan.rules.clone(), ..Meanings::default() };
        let mut teacher = Teacher::default();
        for ask in sample {
            teacher.note(&meanings.logged(ask, base_us, &intake.targets).0);
        }
        let times = match plan.times {
            TimesFrom::Costs => Times::Costs,
            TimesFrom::Auto => teacher.times(),
            TimesFrom::Log => match teacher.times() {
                Times::Costs => {
                    let message = "the log has no times, or too few: leave --times log out";
                    return Err(Unfit::Log(message.into()));
                }
                times => times,
            },
        };
        let learnt = Learnt { grain: grain(sample.iter().map(|ask| ask.at_us)), times };
        let costs = Costs { times, ..plan.costs.clone() };
        let survey = Survey::default();
        let (held, strays) = (Vec::new(), Strays::default());
        Ok((Self { costs, base_us, meanings, held, strays, survey }, learnt))
    }

    /// The demands of the next asks, those held back before them first; the last ones are held back
    /// while others of their stamp may follow.
    pub fn demands(&mut self, asks: &[Ask], targets: &Catalogue, end: bool) -> Arc<[Demand]> {
        for ask in asks {
            let (logged, url) = self.meanings.logged(ask, self.base_us, targets);
            self.survey.count(ask, logged.target, url, logged.size_bytes);
            self.held.push(self.costs.demand(&logged));
            self.strays.note(ask.at_us);
            if ask.counted() {
                self.meanings.count(ask.target);
            }
        }
        if end {
            self.survey.sizes = self.meanings.sizes(targets);
            self.survey.strays = self.strays.count(self.survey.requests);
        }
        let last = self.held.last().map_or(Instant::ZERO, |demand| demand.at);
        let mut whole = self.held.partition_point(|demand| demand.at < last);
        if end || self.held.len() - whole > TOGETHER_MAX {
            whole = self.held.len();
        }
        self.held.drain(..whole).collect()
    }
}

/// What a log has of sizes, in requests that a cache may answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// All of them.
    pub requests: u64,
    /// Their target was sent in parts only: it is no smaller than the largest part.
    pub partial: u64,
    /// Nothing tells the size of their target, which is taken for nothing.
    pub unknown: u64,
}

/// Finds requests far from all others: those of a broken clock.
#[derive(Clone, Debug, Default)]
struct Strays {
    last_us: Option<i64>,
    /// Requests since the last gap.
    together: u64,
    /// Requests that were alone between two gaps.
    found: u64,
}

impl Strays {
    /// Takes note of the next request, in order of time.
    fn note(&mut self, at_us: i64) {
        let gap = self.last_us.replace(at_us).is_some_and(|last| at_us - last > GAP_US_MIN);
        if gap {
            self.close();
        }
        self.together += 1;
    }

    /// What stands between two gaps, or a gap and an end of the log, is whole.
    fn close(&mut self) {
        if self.together <= STRAYS_MAX {
            self.found += self.together;
        }
        self.together = 0;
    }

    /// How many of a log of so many `requests` have lost their way: none where that is its habit.
    fn count(&self, requests: u64) -> u64 {
        let mut all = self.clone();
        all.close();
        if all.found * 100 > requests { 0 } else { all.found }
    }
}

/// What the URLs of the log mean to the rules: each is judged once.
#[derive(Default)]
struct Meanings {
    rules: Option<Arc<Rules>>,
    /// By the catalogue's number.
    known: Vec<Option<Meaning>>,
    /// Numbers of targets, when rules make one target of several URLs.
    numbers: HashMap<TargetId, u32>,
    sizes: Vec<u64>,
    /// Requests that a cache may answer, by the catalogue's number.
    asked: Vec<u32>,
}

/// What a URL means.
#[derive(Clone, Copy)]
struct Meaning {
    target: u32,
    /// The class of a GET, and of anything else.
    class: [Class; 2],
}

impl Meanings {
    /// What is logged of an ask, and the number of its URL.
    fn logged(&mut self, ask: &Ask, base_us: i64, targets: &Catalogue) -> (Logged, u32) {
        let meaning = self.meaning(ask.target, targets);
        let at = meaning.target as usize;
        if at >= self.sizes.len() {
            self.sizes.resize(at + 1, 0);
        }
        let size = &mut self.sizes[at];
        *size = (*size).max(targets.size(ask.target));
        let logged = Logged {
            at: Instant((ask.at_us.saturating_sub(base_us).max(0) as u64).saturating_mul(1_000)),
            target: meaning.target,
            client: ask.client,
            class: meaning.class[usize::from(!ask.get())],
            reply: if ask.counted() { Reply::Target } else { Reply::Other },
            size_bytes: *size,
            reply_bytes: ask.bytes.into(),
            took: ask.served().or(ask.took()),
            till_sent: ask.served().is_none(),
            hit: ask.hit(),
        };
        (logged, ask.target)
    }

    /// Counts a request for a URL that a cache may answer.
    fn count(&mut self, url: u32) {
        let at = url as usize;
        if at >= self.asked.len() {
            self.asked.resize(at + 1, 0);
        }
        self.asked[at] = self.asked[at].saturating_add(1);
    }

    /// What is known of the sizes behind the requests so far.
    fn sizes(&self, targets: &Catalogue) -> Sizes {
        let mut sizes = Sizes::default();
        for (number, requests) in (0..).zip(&self.asked) {
            let requests = u64::from(*requests);
            sizes.requests += requests;
            match targets.sizing(number) {
                Sizing::Whole(_) => {}
                Sizing::Part(_) => sizes.partial += requests,
                Sizing::Unknown => sizes.unknown += requests,
            }
        }
        sizes
    }

    fn meaning(&mut self, url: u32, targets: &Catalogue) -> Meaning {
        let Some(rules) = &self.rules else {
            return Meaning { target: url, class: [Class::STATIC; 2] };
        };
        let at = url as usize;
        if at >= self.known.len() {
            self.known.resize(at + 1, None);
        }
        if let Some(meaning) = self.known[at] {
            return meaning;
        }
        let (site, path) = targets.name(url);
        let judge = |method: &str| {
            let described = Described::new(method, path).map(|url| url.with_field("host", site));
            described.map(|request| rules.judge(&request)).ok()
        };
        let next = self.numbers.len() as u32;
        let (get, other) = (judge("GET"), judge("POST"));
        // What could not be asked for again is a target of its own.
        let id = get.map_or(TargetId(u64::MAX - u64::from(url)), |verdict| verdict.target);
        let target = *self.numbers.entry(id).or_insert(next);
        let class = [get, other].map(|verdict| verdict.map_or(Class::STATIC, |one| one.class));
        let meaning = Meaning { target, class };
        self.known[at] = Some(meaning);
        meaning
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strays among requests at these days.
    fn strays(days: &[i64]) -> u64 {
        let mut strays = Strays::default();
        days.iter().for_each(|day| strays.note(day * 90_000_000_000));
        strays.count(days.len() as u64)
    }

    #[test]
    fn requests_far_from_all_others_are_strays() {
        let usual = [5; 1000];
        assert_eq!(strays(&usual), 0);
        assert_eq!(strays(&[&[0], &usual[..], &[9000]].concat()), 2, "one at either end");
        assert_eq!(strays(&[&usual[..], &[7; 4]].concat()), 0, "four are a habit");
        assert_eq!(strays(&[1, 3, 5, 7, 9]), 0, "so is one request a day");
    }
}
