//! What follows from the figures, in sentences, each with how sure it is: what is said to be sure
//! is the sentence before it and nothing else.

mod needed;
mod pair;
mod reach;

pub(super) use needed::gaps as gaps_of_need;
pub(super) use reach::gap as gap_of_reach;

use super::cell::Cell;
use super::study::Study;
use super::words::{self, percent, requests, servers, times};
use pair::{Pair, pairs};
use sim::replay::{Pace, Strain};
use std::fmt::Write;

/// Policies that do not look at what is asked for, the usual one first: what others are held
/// against.
const BLIND: [&str; 6] = ["wrr", "round-robin", "least-loaded", "wrr-num", "random", "p2c"];

/// Policies whose capacities differ by less are as good as each other.
const AS_GOOD: f64 = 1.01;

/// Requests below which one in a hundred is too few for a percentile.
const MANY: u64 = 10_000;

/// Half an interval in percent above which a figure is no more than likely.
const HALF_MAX: f64 = 20.0;

/// Share of the log's parts that must agree.
const PARTS_MIN: f64 = 0.8;

/// Below this share of what it can do the busiest server is idle, even in the busiest part.
const IDLE: f64 = 0.1;

/// A p99 so many times that of the quickest number of servers tells of a rush.
const RUSH: f64 = 2.0;

/// How busy a server may be in reasonable use.
const BUSY: f64 = 0.7;

/// How sure a sentence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// The interval says so, and most parts of the log agree.
    Sure,
    /// The interval says so.
    Likely,
    /// Another log of the same site may say otherwise.
    Open,
}

impl Sure {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
            Self::Open => "not sure",
        }
    }
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// In sentences.
    pub text: String,
    /// How sure it is.
    pub sure: Sure,
    /// Why it is so sure, or not.
    pub because: String,
}

/// What follows from the figures; at least one piece.
pub fn advice(study: &Study) -> Vec<Advice> {
    let mut found: Vec<Advice> = rejected(study).into_iter().collect();
    found.push(extent(study));
    if let Some((blind, aware)) = opponents(study) {
        for &cache_bytes in &study.caches {
            let pairs = pairs(study, blind, aware, cache_bytes);
            let tried = || pairs.iter().filter(|pair| study.servers.contains(&pair.servers()));
            let Some(shown) = tried().find(|pair| pair.servers() == 8).or(tried().next_back())
            else {
                continue;
            };
            found.push(lead(study, shown));
            found.extend(p99(study, shown));
            found.extend(reach::reach(study, &pairs));
            found.extend(small(study, shown));
        }
        found.extend(needed::needed(study, blind, aware));
    }
    found.extend(idle(study));
    found
}

/// The advice as paragraphs for a terminal.
pub fn text(advice: &[Advice]) -> String {
    let mut out = String::from("\nAdvice\n");
    for one in advice {
        let line = format!("{} [{}: {}]", one.text, one.sure.name(), one.because);
        out.push_str(&words::wrapped(&line, 98, "  "));
        out.push('\n');
    }
    out
}

/// Says first of all so when much of the log was passed over.
fn rejected(study: &Study) -> Option<Advice> {
    let lines = study.many_rejected()?;
    let text = format!("{lines} What follows is true of the others; is --format right?");
    Some(Advice { text, sure: Sure::Sure, because: "counted".to_owned() })
}

/// How large the question is beside the log.
fn extent(study: &Study) -> Advice {
    let survey = &study.survey;
    let (footprint, smallest) = (survey.footprint_bytes(), study.caches[0]);
    let (sure, because) = if survey.requests < MANY {
        (Sure::Open, format!("counted in {} only", requests(survey.requests)))
    } else {
        (Sure::Sure, "counted".to_owned())
    };
    if let Some(text) = nothing_to_cache(study) {
        return Advice { text, sure, because };
    }
    let mut text = format!(
        "All targets together are {}; as each must be read once, no cache can answer more than \
         {} of these requests.",
        words::size(footprint),
        percent(survey.hit_ratio_max())
    );
    if footprint <= smallest {
        let _ = write!(
            text,
            " The log is too small for this question: every single cache holds all of it. Ask with \
             less, such as --cache {}.",
            suggestion(footprint)
        );
    }
    Advice { text, sure, because }
}

/// Says that no size of cache changes anything, where it is so.
fn nothing_to_cache(study: &Study) -> Option<String> {
    let survey = &study.survey;
    if survey.cacheable == 0 {
        let text = "Nothing in this log may come from a cache (that is, GETs answered with 200, \
                    206 or 304), so that caches and their sizes change nothing here.";
        return Some(text.to_owned());
    }
    (survey.footprint_bytes() == 0).then(|| {
        "The log tells the size of no target, so that any cache holds all of them, and the size \
         of caches changes nothing here."
            .to_owned()
    })
}

/// A cache that a quarter of everything fits in: a power of two.
fn suggestion(footprint_bytes: u64) -> String {
    let bytes = (footprint_bytes / 4).max(1 << 10);
    words::size(1 << bytes.ilog2()).replace(' ', "")
}

/// The policy that others are held against.
pub(super) fn blind(study: &Study) -> &'static str {
    let asked = |name: &&&str| study.policies.contains(*name);
    BLIND.iter().find(asked).copied().unwrap_or(study.policies[0])
}

/// The policy that others are held against, and the best of those: by its capacity in parts of the
/// former's, in the geometric mean of all clusters.
pub(super) fn opponents(study: &Study) -> Option<(&'static str, &'static str)> {
    let others = scores(study);
    let best = others.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some((blind(study), best.0))
}

/// Every policy but the one that others are held against, with its lead over that.
fn scores(study: &Study) -> Vec<(&'static str, f64)> {
    let blind = blind(study);
    let score = |name: &&'static str| {
        let (mut sum, mut cells) = (0.0, 0_u32);
        for cell in study.cells.iter().filter(|cell| cell.policy == *name) {
            // Clusters that were tried to narrow an answer exist for two policies only.
            if !study.servers.contains(&cell.servers) {
                continue;
            }
            let other = study.cell(blind, cell.servers, cell.cache_bytes);
            let other = other.map_or(1.0, |other| other.figures.capacity_rps.mean);
            sum += (cell.figures.capacity_rps.mean / other.max(1e-12)).max(1e-12).ln();
            cells += 1;
        }
        (*name, (sum / f64::from(cells.max(1))).exp())
    };
    study.policies.iter().filter(|name| **name != blind).map(score).collect()
}

/// What the better policy brings with one size of cache.
fn lead(study: &Study, shown: &Pair<'_>) -> Advice {
    let (one, other) = (&shown.aware.figures, &shown.blind.figures);
    let (aware, blind) = (shown.aware.policy, shown.blind.policy);
    let (mine, others) = (percent(one.hit_ratio.mean), percent(other.hit_ratio.mean));
    let hits = if mine == others {
        format!("{aware} answers {mine} from caches, as {blind} does")
    } else {
        format!("{aware} answers {mine} from caches where {blind} answers {others}")
    };
    let mut text = format!(
        "{} {hits}, and does {} times the {} of {blind}.",
        cluster(shown),
        times(shown.lead.mean),
        if study.closed() { "throughput" } else { "capacity" },
    );
    text.push_str(match (shown.blind.overloaded(), shown.aware.overloaded()) {
        (true, true) => " Neither can do what is asked for.",
        (true, false) => " The latter cannot do what is asked for.",
        (false, true) => " The former cannot do what is asked for.",
        (false, false) => "",
    });
    let scores = scores(study);
    let best = scores.iter().find(|(name, _)| *name == aware).map_or(1.0, |(_, score)| *score);
    let as_good = |(name, score): &&(&str, f64)| *name != aware && score * AS_GOOD >= best;
    let rivals: Vec<&str> = scores.iter().filter(as_good).map(|(name, _)| *name).collect();
    if !rivals.is_empty() {
        let _ = write!(text, " As good within 1 % over all clusters: {}.", rivals.join(", "));
    }
    let (sure, because) = shown.sureness();
    Advice { text, sure, because }
}

fn cluster(shown: &Pair<'_>) -> String {
    format!("With {} of {},", servers(shown.servers()), words::size(shown.aware.cache_bytes))
}

/// What the better policy does for latency, with a confidence of its own.
fn p99(study: &Study, shown: &Pair<'_>) -> Option<Advice> {
    if study.closed() || shown.blind.overloaded() || shown.aware.overloaded() {
        return None;
    }
    let (one, other) = (shown.aware.figures.p99_ms, shown.blind.figures.p99_ms);
    let (aware, blind) = (shown.aware.policy, shown.blind.policy);
    let (mine, others) = (words::ms(one.mean), words::ms(other.mean));
    let cluster = cluster(shown);
    let mut text = if mine == others {
        format!("{cluster} the p99 of both {aware} and {blind} is {mine}.")
    } else {
        format!("{cluster} the p99 of {aware} is {mine} where that of {blind} is {others}.")
    };
    let passing = |cell: &Cell| matches!(cell.figures.strain, Strain::Passing(_));
    let passing = passing(shown.aware) || passing(shown.blind);
    if passing {
        text.push_str(" At times more came than one of them can do.");
    }
    let half = |estimate: sim::stats::Estimate| 100.0 * estimate.half_width / estimate.mean;
    let measured = one.half_width.is_finite() && other.half_width.is_finite();
    let (sure, because) = if study.survey.requests < MANY {
        let few = requests(study.survey.requests);
        (Sure::Open, format!("one in a hundred of {few} is too few"))
    } else if measured {
        let because = format!(
            "95 % intervals over {} seeds are ±{:.0} % and ±{:.0} %",
            study.seeds,
            half(one),
            half(other)
        );
        let told =
            if mine == others { half(one).max(half(other)) < 5.0 } else { one.differs(&other) };
        let wide = half(one).max(half(other)) > HALF_MAX;
        let sure = match (told, passing || wide) {
            (true, false) => Sure::Sure,
            (true, true) => Sure::Likely,
            (false, _) => Sure::Open,
        };
        (sure, because)
    } else if study.seeds == 1 {
        (Sure::Open, "one seed tells no interval; ask for --seeds 3".to_owned())
    } else {
        (Sure::Open, "the seeds differ in nothing, so that they tell no interval".to_owned())
    };
    Some(Advice { text, sure, because })
}

/// Says so when a single cache holds everything: then policies differ in first reads alone.
fn small(study: &Study, shown: &Pair<'_>) -> Option<Advice> {
    let cache_bytes = shown.aware.cache_bytes;
    if study.survey.footprint_bytes() > cache_bytes || nothing_to_cache(study).is_some() {
        return None;
    }
    let settled = |cell: &Cell| percent(cell.settled_hit_ratio());
    let (mine, others) = (settled(shown.aware), settled(shown.blind));
    let (aware, blind) = (shown.aware.policy, shown.blind.policy);
    let later = if mine == others {
        format!("both answer {mine} from caches")
    } else {
        format!("{aware} answers {mine} from caches and {blind} {others}")
    };
    let text = format!(
        "{} holds all that was asked for: what differs is in how many caches a target has to be \
         read for the first time. In the second half of the log {later}. The longer it runs, the \
         less hits matter here.",
        words::size(cache_bytes),
    );
    Some(Advice { text, sure: Sure::Open, because: "the log is too small".to_owned() })
}

/// Says so when nothing is ever busy: then latencies do not depend on load.
fn idle(study: &Study) -> Option<Advice> {
    let Pace::Open { speed } = study.pace else { return None };
    let most = study.cells.iter().map(|cell| cell.figures.peak).fold(0.0, f64::max);
    let strained = study.cells.iter().any(|cell| cell.figures.strain != Strain::None);
    if strained || most >= IDLE || most <= 0.0 {
        return None;
    }
    let faster = speed * BUSY / most;
    let digits = 10_f64.powf(faster.log10().floor());
    let rush = study.cells.iter().filter_map(|cell| {
        let least = study.counts(cell.cache_bytes).into_iter();
        let least = least.filter_map(|servers| study.cell(cell.policy, servers, cell.cache_bytes));
        let least = least.min_by(|one, other| p99_ms(one).total_cmp(&p99_ms(other)))?;
        Some((cell, least, p99_ms(cell) / p99_ms(least).max(1e-9)))
    });
    let rush = rush.max_by(|one, other| one.2.total_cmp(&other.2));
    let rush = rush.filter(|(.., ratio)| *ratio > RUSH);
    let then = if let Some((cell, least, _)) = rush {
        format!(
            "yet requests that come together wait for each other: the p99 of {} is {} with {} of \
             {} and {} with {}",
            cell.policy,
            words::ms(p99_ms(cell)),
            servers(cell.servers),
            words::size(cell.cache_bytes),
            words::ms(p99_ms(least)),
            servers(least.servers),
        )
    } else if study.servers.len() > 1 {
        "and more servers make no p99 much shorter, so that any of these clusters will do; what \
         differs is how often a miss is waited for"
            .to_owned()
    } else {
        "so that latencies tell of misses, and of requests that come together".to_owned()
    };
    Some(Advice {
        text: format!(
            "At this rate even the busiest CPU or disk has work for {} of the time in the busiest \
             part of the log, {then}. To see what the clusters can take, ask with --speed {} or \
             --closed.",
            percent(most),
            (faster / digits).floor() * digits
        ),
        sure: if study.survey.requests < MANY { Sure::Likely } else { Sure::Sure },
        because: "measured in every run, in each part of the log".to_owned(),
    })
}

fn p99_ms(cell: &Cell) -> f64 {
    cell.figures.p99_ms.mean
}
