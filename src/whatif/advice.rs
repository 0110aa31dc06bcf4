//! What follows from the figures, in sentences, each with how sure it is.

use super::cell::Cell;
use super::study::Study;
use super::words::{self, count, figure, ms, percent, times};
use sim::replay::Pace;
use sim::stats::Estimate;
use std::fmt::Write;

/// Policies that do not look at what is asked for, the usual one first: what others are held
/// against.
const BLIND: [&str; 6] = ["wrr", "round-robin", "least-loaded", "wrr-num", "random", "p2c"];

/// A lead in capacity below this is not worth a change.
const LEAD_MIN: f64 = 1.05;

/// A p99 that is not at least so much shorter is the same to users.
const P99_MIN: f64 = 0.9;

/// Share of hits that more servers must bring to be worth mentioning.
const HITS_MIN: f64 = 0.01;

/// Share of the log's parts that must agree.
const PARTS_MIN: f64 = 0.8;

/// Below this share of what it can do the busiest server is idle.
const IDLE: f64 = 0.1;

/// How busy a server may be in reasonable use.
const BUSY: f64 = 0.7;

/// How sure a sentence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// The intervals are apart, and most parts of the log agree.
    Sure,
    /// One of both.
    Likely,
    /// Neither: another log of the same site may say otherwise.
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
    let mut found = vec![extent(study)];
    if let Some((blind, aware)) = opponents(study) {
        for &cache_bytes in &study.caches {
            found.push(lead(study, blind, aware, cache_bytes));
        }
        found.extend(needed(study, blind, aware));
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

/// How large the question is beside the log.
fn extent(study: &Study) -> Advice {
    let survey = &study.survey;
    let (footprint, smallest) = (survey.footprint_bytes(), study.caches[0]);
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
    let (sure, because) = if survey.requests < 10_000 {
        (Sure::Open, format!("{} requests are few", count(survey.requests)))
    } else {
        (Sure::Sure, "counted".to_owned())
    };
    Advice { text, sure, because }
}

/// A cache that a quarter of everything fits in: a power of two.
fn suggestion(footprint_bytes: u64) -> String {
    let bytes = (footprint_bytes / 4).max(1 << 10);
    words::size(1 << bytes.ilog2()).replace(' ', "")
}

/// The policy that others are held against, and the best of those.
fn opponents(study: &Study) -> Option<(&'static str, &'static str)> {
    let asked = |name: &&&str| study.policies.contains(*name);
    let blind = BLIND.iter().find(asked).copied().unwrap_or(study.policies[0]);
    let score = |name: &&&str| {
        let mut sum = 0.0;
        for cell in study.cells.iter().filter(|cell| cell.policy == **name) {
            let other = study.cell(blind, cell.servers, cell.cache_bytes);
            let other = other.map_or(1.0, |other| other.figures.capacity_rps.mean);
            sum += (cell.figures.capacity_rps.mean / other.max(1e-12)).max(1e-12).ln();
        }
        // Of two as good, the one that also spreads what is hot.
        sum + if **name == "lard-r" { 0.01 * study.cells.len() as f64 } else { 0.0 }
    };
    let others = study.policies.iter().filter(|name| **name != blind);
    let aware = others.max_by(|one, other| score(one).total_cmp(&score(other)))?;
    Some((blind, aware))
}

/// Two clusters that differ in their policy.
struct Pair<'a> {
    blind: &'a Cell,
    aware: &'a Cell,
    /// Capacity of the second in parts of that of the first.
    lead: Estimate,
}

impl Pair<'_> {
    /// Whether the policy matters here.
    fn matters(&self) -> bool {
        let low = if self.lead.half_width.is_finite() { self.lead.half_width } else { 0.0 };
        self.lead.mean - low > LEAD_MIN
            || (self.blind.overloaded() && !self.aware.overloaded())
            || self.p99_shorter()
    }

    fn p99_shorter(&self) -> bool {
        let (blind, aware) = (self.blind.figures.p99_ms, self.aware.figures.p99_ms);
        let comparable = !self.blind.overloaded() && !self.aware.overloaded();
        comparable && aware.mean < P99_MIN * blind.mean && clearly(&aware, &blind)
    }
}

/// Whether two estimates are apart; means alone decide where there is one seed.
fn clearly(one: &Estimate, other: &Estimate) -> bool {
    !one.half_width.is_finite() || !other.half_width.is_finite() || one.differs(other)
}

fn pairs<'a>(study: &'a Study, blind: &str, aware: &str, cache_bytes: u64) -> Vec<Pair<'a>> {
    let pair = |servers: &u16| {
        let blind = study.cell(blind, *servers, cache_bytes)?;
        let aware = study.cell(aware, *servers, cache_bytes)?;
        Some(Pair { blind, aware, lead: aware.lead(blind) })
    };
    study.servers.iter().filter_map(pair).collect()
}

/// What the better policy brings with one size of cache, and up to how many servers.
fn lead(study: &Study, blind: &str, aware: &str, cache_bytes: u64) -> Advice {
    let pairs = pairs(study, blind, aware, cache_bytes);
    let shown = pairs.iter().find(|pair| pair.aware.servers == 8).or(pairs.last());
    let shown = shown.expect("there is at least one number of servers");
    let (one, other) = (&shown.aware.figures, &shown.blind.figures);
    let mut text = format!(
        "With {} of {}, {aware} answers {} from caches where {blind} answers {}: {} times the \
         {} of {blind}",
        servers(shown.aware.servers),
        words::size(cache_bytes),
        percent(one.hit_ratio.mean),
        percent(other.hit_ratio.mean),
        times(shown.lead.mean),
        if study.closed() { "throughput" } else { "capacity" },
    );
    match (shown.blind.overloaded(), shown.aware.overloaded()) {
        (true, true) => text.push_str("; neither can do what is asked for."),
        (true, false) => {
            let _ = write!(text, ", which cannot do what is asked for.");
        }
        (false, true) => text.push_str(", and yet it cannot do what is asked for."),
        (false, false) => {
            let _ = write!(
                text,
                "; p99 is {} instead of {}.",
                ms(one.p99_ms.mean),
                ms(other.p99_ms.mean)
            );
        }
    }
    let holds_all = study.survey.footprint_bytes() <= cache_bytes;
    text.push_str(&reach(&pairs, aware, holds_all));
    let (sure, because) = sureness(shown);
    if holds_all {
        let _ = write!(
            text,
            " But {} holds all that was asked for: what differs is in how many caches a target has \
             to be read for the first time, and in the second half of the log the hit ratios are \
             {} and {}. The longer it runs, the less any policy matters here.",
            words::size(cache_bytes),
            percent(shown.aware.settled_hit_ratio()),
            percent(shown.blind.settled_hit_ratio()),
        );
        return Advice { text, sure: Sure::Open, because: "the log is too small".to_owned() };
    }
    Advice { text, sure, because }
}

fn servers(count: u16) -> String {
    if count == 1 { "1 server".to_owned() } else { format!("{count} servers") }
}

/// From how many servers on it stops to matter, and from how many on more bring no more hits.
fn reach(pairs: &[Pair<'_>], aware: &str, holds_all: bool) -> String {
    if pairs.len() < 2 {
        return String::new();
    }
    let leads: Vec<String> = pairs
        .iter()
        .map(|pair| format!("{} with {}", times(pair.lead.mean), pair.aware.servers))
        .collect();
    let mut text = format!(" Its lead is {}", leads.join(", "));
    let last = pairs.last().map_or(0, |pair| pair.aware.servers);
    let matters = pairs.iter().rposition(Pair::matters);
    let _ = match matters {
        _ if holds_all => write!(text, "."),
        None => write!(text, ": the choice of policy does not matter here."),
        Some(at) if at + 1 == pairs.len() => {
            write!(text, ": it still matters with {last} servers, the most that were tried.")
        }
        Some(at) => {
            let from = pairs[at + 1].aware.servers;
            write!(text, ": it stops to matter from {from} servers on.")
        }
    };
    if holds_all {
        return text;
    }
    let hits = |pair: &Pair<'_>| pair.aware.figures.hit_ratio.mean;
    let most = pairs.iter().map(hits).fold(0.0, f64::max);
    let enough = pairs.iter().find(|pair| hits(pair) >= most - HITS_MIN);
    if let Some(enough) = enough.filter(|pair| pair.aware.servers != last) {
        let _ =
            write!(text, " More than {} servers bring {aware} no more hits.", enough.aware.servers);
    }
    text
}

/// How sure the comparison of two clusters is, and why.
fn sureness(pair: &Pair<'_>) -> (Sure, String) {
    let (won, parts) = pair.aware.parts_won(pair.blind);
    let agree = won.max(parts - won) as f64 >= PARTS_MIN * parts.max(1) as f64 && parts >= 5;
    let lead = pair.lead;
    let apart = lead.half_width.is_finite()
        && ((lead.mean - LEAD_MIN).abs() > lead.half_width || lead.mean < 1.0);
    let sure = match (apart, agree || !pair.matters()) {
        (true, true) => Sure::Sure,
        (true, false) | (false, true) => Sure::Likely,
        (false, false) => Sure::Open,
    };
    let interval = if lead.half_width.is_finite() {
        format!(
            "the lead is {} to {} (95 %, by the parts of the log)",
            times((lead.mean - lead.half_width).max(0.0)),
            times(lead.mean + lead.half_width)
        )
    } else {
        "one seed says nothing of chance".to_owned()
    };
    (sure, format!("{interval}; more hits in {won} of {parts} parts of the log"))
}

/// How many servers are needed for the rate, with either policy.
fn needed(study: &Study, blind: &str, aware: &str) -> Option<Advice> {
    let rate = study.rate_rps()?;
    let mut lines = Vec::new();
    for &cache_bytes in &study.caches {
        let enough = |policy: &str| {
            let fits = |servers: &&u16| {
                let larger = study.servers.iter().filter(|more| more >= servers);
                larger.clone().all(|more| {
                    study.cell(policy, *more, cache_bytes).is_some_and(|cell| !cell.overloaded())
                })
            };
            study.servers.iter().find(fits).copied()
        };
        let (few, many) = (enough(aware), enough(blind));
        if few == many {
            continue;
        }
        let say = |count: Option<u16>| {
            count.map_or_else(
                || format!("more than {}", study.servers.last().copied().unwrap_or(0)),
                |count| count.to_string(),
            )
        };
        lines.push(format!(
            "with {} each, {blind} needs {} and {aware} {}",
            words::size(cache_bytes),
            say(many),
            say(few)
        ));
    }
    if lines.is_empty() {
        return None;
    }
    Some(Advice {
        text: format!(
            "Servers needed for {} requests a second, of those that were tried: {}.",
            figure(rate),
            lines.join("; ")
        ),
        sure: Sure::Likely,
        because: "as far as the costs are those of your servers".to_owned(),
    })
}

/// Says so when nothing is ever busy: then latencies do not depend on load.
fn idle(study: &Study) -> Option<Advice> {
    let Pace::Open { speed } = study.pace else { return None };
    let most = study.cells.iter().map(|cell| cell.figures.work.mean).fold(0.0, f64::max);
    if most >= IDLE {
        return None;
    }
    let faster = speed * BUSY / most.max(1e-6);
    let digits = 10_f64.powf(faster.log10().floor());
    Some(Advice {
        text: format!(
            "At this rate even the busiest CPU or disk has work for {} of the time, so that any of \
             these clusters will do; what differs is how often a miss is waited for. To see what \
             they can take, ask with --speed {} or --closed.",
            percent(most),
            (faster / digits).floor() * digits
        ),
        sure: Sure::Sure,
        because: "measured in every run".to_owned(),
    })
}
