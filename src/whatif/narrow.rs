//! Narrows an answer down: numbers of servers between those of a range that was doubled through.
//!
//! "From how many servers on" deserves an exact answer, and all clusters of a range would take many
//! times as long. So after the first play the two policies that the advice compares are played once
//! more, with the numbers in between which the answer is.

use super::advice::{gap_of_reach, gaps_of_need, opponents};
use super::logs::Logs;
use super::plan::Plan;
use super::running::{Bar, play};
use super::study::Study;
use anyhow::Result;
use std::collections::BTreeSet;

/// Numbers tried in one gap: all of one up to this size, else as many, evenly spread.
const TRIED_MAX: u16 = 15;

/// Plays what is needed to narrow the answers of `study` down, and adds it. Does nothing for
/// numbers of servers that were listed one by one, and for logs that can be read only once.
///
/// # Errors
/// As those of [`play`].
pub fn narrow(
    study: &mut Study,
    mut plan: Plan,
    logs: &mut Logs,
    threads: usize,
    bar: &dyn Bar,
) -> Result<()> {
    let Some((blind, aware)) = opponents(study).filter(|_| plan.doubling && logs.can_repeat())
    else {
        return Ok(());
    };
    let mut wanted = BTreeSet::new();
    for &cache_bytes in &study.caches {
        let names = (blind, aware);
        let gaps = gaps_of_need(study, names, cache_bytes);
        for gap in gaps.into_iter().chain(gap_of_reach(study, names, cache_bytes)) {
            wanted.extend(between(gap));
        }
    }
    wanted.retain(|count| !study.servers.contains(count));
    if wanted.is_empty() {
        return Ok(());
    }
    plan.servers = wanted.into_iter().collect();
    plan.policies.retain(|choice| [blind, aware].contains(&choice.entry.name));
    logs.again()?;
    let more = play(&plan, logs, threads, bar)?;
    study.add(more.cells);
    Ok(())
}

/// Numbers between two.
fn between((few, many): (u16, u16)) -> impl Iterator<Item = u16> {
    let step = (many - few - 1).div_ceil(TRIED_MAX).max(1);
    (few + step..many).step_by(step.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_filled_with_few_numbers() {
        let all = |gap| between(gap).collect::<Vec<_>>();
        assert_eq!(all((2, 4)), [3]);
        assert_eq!(all((3, 4)), [] as [u16; 0]);
        assert_eq!(all((8, 16)), (9..16).collect::<Vec<_>>());
        let wide = all((512, 1024));
        assert!(wide.len() <= 15 && wide[0] > 512 && *wide.last().unwrap() < 1024, "{wide:?}");
    }
}
