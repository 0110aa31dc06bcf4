//! `baton fidelity`: the same experiments live and in the simulator, and how far they are apart.

use crate::exit::{Exit, Outcome, say};
use crate::experiments::Lab;
use crate::fidelity::{self, Closed, Comparison, Pages, Runs, Span};
use crate::flags::{Fidelity, FidelityKind};
use anyhow::{Context, Result};
use policy::Entry;
use std::fs;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

/// How much is done.
struct Effort {
    runs: Runs,
    /// Requests of the trace, and policies under which they are asked.
    requests: usize,
    policies: &'static [&'static str],
    /// How long users come, at which loads (their name, new users a second), under which policies.
    span: Span,
    loads: &'static [(&'static str, f64)],
    page_policies: &'static [&'static str],
}

const FULL: Effort = Effort {
    runs: Runs { least: 3, most: 16, thrown: 16 },
    requests: 8_000,
    policies: &["wrr", "lard", "lard-r", "bounded-hash", "cap"],
    span: Span { warm_up: Duration::from_secs(15), measured: Duration::from_secs(30) },
    loads: &[("medium", MEDIUM_USERS_S), ("heavy", HEAVY_USERS_S)],
    page_policies: &["cap", "lard", "round-robin"],
};

const QUICK: Effort = Effort {
    runs: Runs { least: 3, most: 3, thrown: 3 },
    requests: 4_000,
    policies: &["wrr", "lard"],
    span: Span { warm_up: Duration::from_secs(10), measured: Duration::from_secs(30) },
    loads: &[("medium", MEDIUM_USERS_S)],
    page_policies: &["cap"],
};

/// New users a second at which the busiest component of a server works 60 % of the time, about.
const MEDIUM_USERS_S: f64 = 7.2;
/// The same for 85 %.
const HEAVY_USERS_S: f64 = 10.2;

/// Real seconds for each second of the model: slow enough that sockets, switch and client, which
/// run on this machine at their own pace, are little beside the servers' times.
const TRACE_SCALE: f64 = 0.25;
/// See [`TRACE_SCALE`].
const PAGES_SCALE: f64 = 0.25;

/// Compares, prints, and judges.
///
/// # Errors
/// When servers or switch cannot be started, or requests fail.
pub fn run(args: &Fidelity) -> Outcome {
    let usual = if args.quick { QUICK } else { FULL };
    let runs = args.runs.map_or(usual.runs, |most| {
        let most = usize::from(most);
        Runs { least: usual.runs.least.min(most), most, ..usual.runs }
    });
    let effort = Effort { runs, ..usual };
    let lab = Lab::open()?;
    let (mut notes, mut found) = (Vec::new(), Vec::new());
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    if let Some(others) = disturbed(&load, cores) {
        note(&mut notes, others);
    }
    let wanted = |kind| args.only.is_none_or(|only| only == kind);
    if wanted(FidelityKind::Trace) {
        let closed = Closed::new(effort.requests, TRACE_SCALE, args.seed)?;
        crate::limits::connections_allowed(4 * Closed::sessions());
        if !trace(&closed, &effort, &lab, &mut notes, &mut found)? {
            return interrupted(&found);
        }
    }
    if wanted(FidelityKind::Pages) {
        let site = Pages::new(effort.span, PAGES_SCALE, args.seed);
        crate::limits::connections_allowed(CONNECTIONS);
        if !pages(&site, &effort, &lab, &mut notes, &mut found)? {
            return interrupted(&found);
        }
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{:#}", fidelity::json(&notes, &found))?;
    } else {
        for note in &notes {
            writeln!(out, "{note}")?;
        }
        writeln!(out, "\n{}", fidelity::text(&found))?;
    }
    writeln!(out, "{}", fidelity::summary(&found))?;
    Ok(if fidelity::holds(&found) { Exit::Done } else { Exit::Invalid })
}

/// Descriptors for users with browsers: thousands of connections, on both sides of the switch.
const CONNECTIONS: usize = 5_000;

fn trace(
    closed: &Closed,
    effort: &Effort,
    lab: &Lab,
    notes: &mut Vec<String>,
    found: &mut Vec<Comparison>,
) -> Result<bool> {
    note(notes, closed.about());
    let Some(floor) = closed.floor(lab)? else { return Ok(false) };
    note(
        notes,
        format!(
            "  measured before, given to the simulator: client, switch and sockets take \
                         {:.0} us for a request",
            floor.as_secs_f64() * 1e6
        ),
    );
    for name in effort.policies {
        let Some(more) = closed.compare(entry(name)?, effort.runs, floor, lab)? else {
            return Ok(false);
        };
        progress(&more);
        found.extend(more);
    }
    Ok(true)
}

fn pages(
    site: &Pages,
    effort: &Effort,
    lab: &Lab,
    notes: &mut Vec<String>,
    found: &mut Vec<Comparison>,
) -> Result<bool> {
    note(notes, site.about());
    let Some(floor) = site.floor(MEDIUM_USERS_S, lab)? else { return Ok(false) };
    note(
        notes,
        format!(
            "  measured before, given to the simulator: client, switch and sockets add \
                         {:.0} us to a request",
            floor.as_secs_f64() * 1e6
        ),
    );
    for (load, users_s) in effort.loads {
        for name in effort.page_policies {
            let which = (entry(name)?, *load);
            let Some(more) = site.compare(which, *users_s, effort.runs, floor, lab)? else {
                return Ok(false);
            };
            progress(&more);
            found.extend(more);
        }
    }
    Ok(true)
}

/// What to think of live figures on a machine that has other work, by its load average.
fn disturbed(load: &str, cores: usize) -> Option<String> {
    let load: f64 = load.split_whitespace().next()?.parse().ok()?;
    (load > cores as f64 / 2.0).then(|| {
        format!(
            "this machine has other work (load average {load}, {cores} cores): live servers, \
             switch and clients have to wait for it, and the simulated ones do not"
        )
    })
}

fn entry(name: &str) -> Result<&'static Entry> {
    policy::entry(name).with_context(|| format!("there is no policy {name}"))
}

fn note(notes: &mut Vec<String>, line: String) {
    say(&line);
    notes.push(line);
}

fn progress(comparisons: &[Comparison]) {
    for line in fidelity::text(comparisons).lines().skip(1) {
        say(line);
    }
}

fn interrupted(found: &[Comparison]) -> Outcome {
    if !found.is_empty() {
        writeln!(io::stdout().lock(), "{}", fidelity::text(found))?;
    }
    say("baton: interrupted; servers and switch are stopped");
    Ok(Exit::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_work_on_the_machine_is_said() {
        assert_eq!(disturbed("0.60 1.00 9.00 1/200 1", 2), None);
        assert!(disturbed("3.10 1.00 1.00 1/200 1", 2).is_some_and(|line| line.contains("3.1")));
        assert_eq!(disturbed("", 2), None);
    }
}
