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
use workload::{Ask, Catalogue, Intake};

/// Demands of one stamp that are kept together at most, see `sim::replay::Run::feed`.
const TOGETHER_MAX: usize = 1 << 18;

/// Stamps that must differ before whole minutes are taken for a habit of the log.
const STAMPS_MIN: usize = 20;

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
        let learnt = Learnt { grain: grain(sample), times };
        let costs = Costs { times, ..plan.costs.clone() };
        let survey = Survey::default();
        Ok((Self { costs, base_us, meanings, held: Vec::new(), survey }, learnt))
    }

    /// The demands of the next asks, those held back before them first; the last ones are held back
    /// while others of their stamp may follow.
    pub fn demands(&mut self, asks: &[Ask], targets: &Catalogue, end: bool) -> Arc<[Demand]> {
        for ask in asks {
            let (logged, url) = self.meanings.logged(ask, self.base_us, targets);
            self.survey.count(ask, logged.target, url, logged.size_bytes);
            self.held.push(self.costs.demand(&logged));
        }
        let last = self.held.last().map_or(Instant::ZERO, |demand| demand.at);
        let mut whole = self.held.partition_point(|demand| demand.at < last);
        if end || self.held.len() - whole > TOGETHER_MAX {
            whole = self.held.len();
        }
        self.held.drain(..whole).collect()
    }
}

/// The finest unit of which every stamp is a whole number.
fn grain(sample: &[Ask]) -> Duration {
    let whole = |unit_us: i64| sample.iter().all(|ask| ask.at_us % unit_us == 0);
    let mut stamps: Vec<i64> = sample.iter().map(|ask| ask.at_us).collect();
    stamps.dedup();
    let units_us = [60_000_000, 1_000_000, 1_000];
    let skip = usize::from(stamps.len() < STAMPS_MIN);
    let unit_us = units_us.into_iter().skip(skip).find(|unit_us| whole(*unit_us));
    Duration::from_micros(unit_us.unwrap_or(0) as u64)
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
            at: Instant((ask.at_us.saturating_sub(base_us)).max(0) as u64 * 1_000),
            target: meaning.target,
            client: ask.client,
            class: meaning.class[usize::from(!ask.get())],
            reply: if ask.counted() { Reply::Target } else { Reply::Other },
            size_bytes: *size,
            reply_bytes: ask.bytes.into(),
            took: ask.served().or(ask.took()),
            hit: ask.hit(),
        };
        (logged, ask.target)
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
