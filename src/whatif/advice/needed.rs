//! How many servers are needed, with either policy: decided by the busiest part of the log, for
//! that is when servers are short.

use super::super::study::Study;
use super::super::words::{figure, ms, percent, size};
use super::{Advice, Sure};

/// How busy the busiest CPU or disk may be in the busiest part of the log. Beyond, latencies grow
/// steeply, and nothing is left for a server that fails.
const BUSY_MAX: f64 = 0.8;

/// A p99 that users still take for an answer at once; where even the best cluster has a longer one,
/// so many times that.
const P99_MAX_MS: f64 = 1_000.0;
const P99_TIMES_MAX: f64 = 5.0;

/// How long the p99 may be, in milliseconds.
fn p99_max_ms(study: &Study) -> f64 {
    let p99s = study.cells.iter().map(|cell| cell.figures.p99_ms.mean);
    P99_MAX_MS.max(P99_TIMES_MAX * p99s.fold(f64::INFINITY, f64::min))
}

/// The first number of servers from which on all hold, and the one tried before it.
fn enough(study: &Study, policy: &str, cache_bytes: u64) -> (Option<u16>, Option<u16>) {
    let tried = study.counts(cache_bytes).into_iter();
    let tried = tried.filter_map(|servers| study.cell(policy, servers, cache_bytes));
    let p99_ms = p99_max_ms(study);
    let (mut few, mut enough) = (None, None);
    for cell in tried {
        if cell.holds(BUSY_MAX, p99_ms) {
            enough = enough.or(Some(cell.servers));
        } else {
            (few, enough) = (Some(cell.servers), None);
        }
    }
    (few, enough)
}

/// Numbers of servers between which is what a policy needs.
pub(in super::super) fn gaps(
    study: &Study,
    (blind, aware): (&str, &str),
    cache_bytes: u64,
) -> Vec<(u16, u16)> {
    let gap = |policy| match enough(study, policy, cache_bytes) {
        (Some(few), Some(enough)) => Some((few, enough)),
        _ => None,
    };
    if study.rate_rps().is_none() {
        Vec::new()
    } else {
        [blind, aware].into_iter().filter_map(gap).collect()
    }
}

/// How many servers are needed for the rate, with either policy.
pub(super) fn needed(study: &Study, blind: &str, aware: &str) -> Option<Advice> {
    let rate = study.rate_rps()?;
    let most = study.servers.last().copied().unwrap_or(0);
    let mut lines = Vec::new();
    for &cache_bytes in &study.caches {
        let said = |policy: &str| match enough(study, policy, cache_bytes) {
            (None, Some(first)) if first > 1 => (false, format!("{first} or fewer")),
            (None, Some(first)) => (false, first.to_string()),
            (Some(few), Some(first)) if few + 1 < first => {
                (true, format!("{} to {first}", few + 1))
            }
            (_, Some(first)) => (true, first.to_string()),
            (_, None) => (true, format!("more than {most}")),
        };
        let (many, few) = (said(blind), said(aware));
        if !many.0 && !few.0 {
            continue;
        }
        lines.push(if many.1 == few.1 {
            format!("with {} each, both {}", size(cache_bytes), few.1)
        } else {
            format!("with {} each, {blind} {} and {aware} {}", size(cache_bytes), many.1, few.1)
        });
    }
    if lines.is_empty() {
        return None;
    }
    let peak = study.peak_rps().unwrap_or(rate).max(rate);
    Some(Advice {
        text: format!(
            "Servers needed for {} requests a second, {} in the busiest part of the log, if no CPU \
             or disk shall be busier there than {} and the p99 no longer than {}: {}.",
            figure(rate),
            figure(peak),
            percent(BUSY_MAX),
            ms(p99_max_ms(study)),
            lines.join("; ")
        ),
        sure: Sure::Likely,
        because: "as far as the costs are those of your servers".to_owned(),
    })
}
