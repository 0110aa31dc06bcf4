//! From how many servers on the choice of policy stops to matter.

use super::super::study::Study;
use super::super::words::{servers, size, times};
use super::pair::{Matters, Pair, pairs};
use super::{Advice, Sure};
use std::fmt::Write;

/// Share of hits that more servers must bring to be worth mentioning.
const HITS_MIN: f64 = 0.01;

/// Where the choice stops to matter, of the clusters by their number of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Nowhere,
    /// With the most servers that were tried it still does.
    Everywhere,
    /// At the first place it still does, at the second no more.
    Until(usize, usize),
    /// Behind this place, or anywhere, the log cannot tell.
    Open(Option<usize>),
}

fn reach_of(matters: &[Matters]) -> Reach {
    let last = matters.iter().rposition(|one| *one == Matters::Yes);
    let behind = last.map_or(0, |last| last + 1);
    let tail = &matters[behind..];
    match last {
        Some(_) if tail.is_empty() => Reach::Everywhere,
        _ if tail.contains(&Matters::Open) => Reach::Open(last),
        Some(last) => Reach::Until(last, behind),
        None => Reach::Nowhere,
    }
}

fn matters(pairs: &[Pair<'_>]) -> Vec<Matters> {
    pairs.iter().map(Pair::matters).collect()
}

/// Numbers of servers between which the choice stops to matter, if others are between.
pub(in super::super) fn gap(
    study: &Study,
    (blind, aware): (&str, &str),
    cache_bytes: u64,
) -> Option<(u16, u16)> {
    let pairs = pairs(study, blind, aware, cache_bytes);
    let behind = match reach_of(&matters(&pairs)) {
        Reach::Until(_, behind) => behind,
        Reach::Open(Some(last)) => last + 1,
        _ => return None,
    };
    Some((pairs[behind - 1].servers(), pairs[behind].servers()))
}

/// From how many servers on the choice stops to matter, and from how many on more bring no hits.
pub(super) fn reach(study: &Study, pairs: &[Pair<'_>]) -> Vec<Advice> {
    let cache_bytes = pairs.first().map_or(0, |pair| pair.aware.cache_bytes);
    if pairs.len() < 2 || study.survey.footprint_bytes() <= cache_bytes {
        return Vec::new();
    }
    let reach = reach_of(&matters(pairs));
    let mut found = vec![told(study, pairs, reach)];
    found.extend(no_more_hits(pairs));
    found
}

fn told(study: &Study, pairs: &[Pair<'_>], reach: Reach) -> Advice {
    let (aware, blind) = (pairs[0].aware.policy, pairs[0].blind.policy);
    let edge = |at: usize| match reach {
        Reach::Until(last, behind) => at == last || at == behind,
        Reach::Open(Some(last)) => at == last || at == last + 1,
        _ => false,
    };
    let listed = pairs.iter().enumerate();
    let listed = listed.filter(|(at, pair)| study.servers.contains(&pair.servers()) || edge(*at));
    let leads: Vec<String> = listed
        .map(|(_, pair)| format!("{} with {}", times(pair.lead.mean), pair.servers()))
        .collect();
    let mut text = format!(
        "With {} each, the lead of {aware} over {blind} is {}",
        size(pairs[0].aware.cache_bytes),
        leads.join(", ")
    );
    let most = pairs.last().map_or(0, Pair::servers);
    let worse = pairs.iter().any(|pair| pair.lead.interval.is_some_and(|(_, high)| high < 0.95));
    let _ = match reach {
        Reach::Nowhere if worse => write!(text, ": it brings nothing."),
        Reach::Nowhere => write!(text, ": the choice does not matter here."),
        Reach::Everywhere => {
            write!(text, ": the choice still matters with {most} servers, the most tried.")
        }
        Reach::Until(last, behind) => {
            let (last, from) = (pairs[last].servers(), pairs[behind].servers());
            let late = if from == last + 1 { "" } else { ", the next tried," };
            write!(
                text,
                ": the choice matters with {} and stops to matter from {from}{late} on.",
                servers(last)
            )
        }
        Reach::Open(Some(last)) => write!(
            text,
            ": the choice matters with {}; beyond, this log cannot tell.",
            servers(pairs[last].servers())
        ),
        Reach::Open(None) => write!(text, ": this log cannot tell whether the choice matters."),
    };
    let (sure, because) = match reach {
        Reach::Open(_) => (Sure::Open, "intervals reach over 1.05, or the p99 is not clear"),
        Reach::Nowhere => (Sure::Sure, "the interval of every lead ends below 1.05"),
        Reach::Everywhere => (Sure::Sure, "there the interval begins above 1.05, or p99s differ"),
        Reach::Until(..) => (Sure::Sure, "intervals are clear of 1.05 on either side"),
    };
    Advice { text, sure, because: because.to_owned() }
}

fn no_more_hits(pairs: &[Pair<'_>]) -> Option<Advice> {
    let hits = |pair: &Pair<'_>| pair.aware.figures.hit_ratio.mean;
    let most = pairs.iter().map(hits).fold(0.0, f64::max);
    let behind = pairs.iter().rposition(|pair| hits(pair) < most - HITS_MIN)? + 1;
    let enough = pairs.get(behind).filter(|_| behind + 1 < pairs.len())?;
    let text = format!(
        "More than {} bring {} no more hits.",
        servers(enough.servers()),
        enough.aware.policy
    );
    Some(Advice { text, sure: Sure::Likely, because: "within a point, of those tried".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Matters::{No, Open, Yes};

    #[test]
    fn noise_is_not_taken_for_no_difference() {
        let table: [(&[Matters], Reach); 7] = [
            (&[Yes, Yes], Reach::Everywhere),
            (&[No, Yes], Reach::Everywhere),
            (&[Yes, No, No], Reach::Until(0, 1)),
            (&[Yes, Open, No], Reach::Open(Some(0))),
            (&[Yes, No, Open], Reach::Open(Some(0))),
            (&[No, No], Reach::Nowhere),
            (&[Open, No], Reach::Open(None)),
        ];
        for (matters, reach) in table {
            assert_eq!(reach_of(matters), reach, "{matters:?}");
        }
    }
}
