//! The comparison as a table for a terminal.

use super::cell::Cell;
use super::study::Study;
use super::words::{self, count, figure, ms, percent};
use model::DiskCost;
use sim::replay::{Pace, Strain, Times};
use sim::stats::Estimate;
use std::fmt::Write;

/// Columns of a line.
const WIDTH: usize = 100;

/// What was asked, what the log is, and a row for each cluster.
pub fn table(study: &Study) -> String {
    let mut out = String::new();
    for line in setting(study) {
        out.push_str(&words::wrapped(&line, WIDTH, ""));
        out.push('\n');
    }
    let rate = if study.closed() { "req/s" } else { "capacity/s" };
    let name = study.policies.iter().map(|name| name.len()).max().unwrap_or(0).max(6);
    for &cache_bytes in &study.caches {
        let _ = writeln!(out, "\ncache of {} for each server", words::size(cache_bytes));
        let _ = writeln!(
            out,
            "{:>7}  {:<name$} {:>10} {:>7} {:>7} {:>9} {:>9} {:>9} {:>6} {:>10} {:>6}",
            "servers",
            "policy",
            rate,
            "hits %",
            "bytes %",
            "p50",
            "p90",
            "p99",
            "max/m",
            "replicated",
            "busy"
        );
        for cell in study.cells.iter().filter(|cell| cell.cache_bytes == cache_bytes) {
            out.push_str(&row(cell, name));
        }
    }
    out.push('\n');
    for line in legend(study) {
        out.push_str(&words::wrapped(&line, WIDTH, ""));
        out.push('\n');
    }
    out
}

fn row(cell: &Cell, name: usize) -> String {
    let figures = &cell.figures;
    let latency = if cell.overloaded() {
        format!("{:>29}", "not sustainable")
    } else {
        let one = |estimate: Estimate| ms(estimate.mean);
        format!("{:>9} {:>9} {:>9}", one(figures.p50_ms), one(figures.p90_ms), one(figures.p99_ms))
    };
    let mark = if matches!(figures.strain, Strain::Passing(_)) { "*" } else { "" };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>7}  {:<name$} {:>10} {:>7.1} {:>7.1} {latency}{mark:<1}{:>6.2} {:>10} {:>6}",
        cell.servers,
        cell.policy,
        figure(figures.capacity_rps.mean),
        100.0 * figures.hit_ratio.mean,
        100.0 * figures.byte_hit_ratio.mean,
        figures.imbalance.mean,
        count(figures.replicated.mean.round() as u64),
        busy(figures.work.mean),
    );
    out
}

/// A share of what can be done, where there is one.
pub(super) fn busy(work: f64) -> String {
    if work.is_finite() { format!("{:.0}%", 100.0 * work) } else { "-".to_owned() }
}

/// What was played to what, a sentence each.
pub(super) fn setting(study: &Study) -> Vec<String> {
    let survey = &study.survey;
    let mut lines = vec![format!(
        "{} in {} ({} a second); clients: {}; targets: {}, {} in all; {} may come from a cache.",
        words::requests(survey.requests),
        words::span(std::time::Duration::from_secs_f64(survey.span_s())),
        figure(survey.rate_rps()),
        count(survey.clients),
        count(survey.targets()),
        words::size(survey.footprint_bytes()),
        percent(survey.cacheable as f64 / survey.requests.max(1) as f64),
    )];
    lines.push(match study.pace {
        Pace::Open { speed: 1.0 } => "Requests come when they were logged.".to_owned(),
        Pace::Open { speed } => format!(
            "Requests come {speed} times as fast as they were logged: {} a second.",
            figure(survey.rate_rps() * speed)
        ),
        Pace::Closed { limit: Some(limit) } => {
            format!("A request is let in as soon as another has ended; {limit} are served at once.")
        }
        Pace::Closed { limit: None } => {
            "A request is let in as soon as another has ended; as many are served at once as \
             LARD's front-end lets in."
                .to_owned()
        }
    });
    lines.push(costs(study));
    lines.extend(study.caveats());
    lines
}

fn costs(study: &Study) -> String {
    let (cores, disks) = study.lanes;
    let span = |span: std::time::Duration| ms(span.as_secs_f64() * 1e3);
    let from = match study.learnt.times {
        Times::Logged { hit, miss } => format!(
            "Times are the log's own: a hit takes {}, a miss typically {}",
            span(study.costs.hit.unwrap_or(hit)),
            span(study.costs.miss.unwrap_or(miss))
        ),
        Times::Costs => {
            let hit = study.costs.hit.map_or_else(
                || format!("what the cost set {:?} says (a machine of 1998)", study.costs_name),
                span,
            );
            let miss = study.costs.miss.map_or_else(
                || match study.costs.disk {
                    DiskCost::ASPLOS => {
                        "28 ms and more by the disk's formula of LARD's paper".to_owned()
                    }
                    disk => format!("{} and more by the disk given", span(disk.read(0))),
                },
                span,
            );
            format!("A request takes {hit} of the CPU, a miss {miss}")
        }
    };
    let several = |count: u16, one: &str, many: &str| match count {
        1 => one.to_owned(),
        count => format!("{count} {many}"),
    };
    format!(
        "{from}. Each server does {} and {} at once; its cache gives up by {}.",
        several(cores, "one request", "requests"),
        several(disks, "one miss", "misses"),
        study.cache_policy.name()
    )
}

/// What the columns mean, and how wide the intervals are.
fn legend(study: &Study) -> Vec<String> {
    let mut lines = vec![format!(
        "{}; hits: requests answered from caches, bytes likewise; max/m: mean load of the busiest \
         server over the mean of all; replicated: targets in more than one cache at the end; busy: \
         work given to the busiest CPU or disk.",
        study.capacity_means()
    )];
    if study.cells.iter().any(|cell| matches!(cell.figures.strain, Strain::Passing(_))) {
        lines.push(
            "*: at times more came than the busiest server can do; the percentiles tell of that."
                .to_owned(),
        );
    }
    if study.cells.iter().any(Cell::overloaded) {
        lines.push(
            "not sustainable: more came over the whole log than the busiest server can do, so \
             latencies only tell how long the log is."
                .to_owned(),
        );
    }
    lines.extend(refused(study));
    lines.push(sureness(study));
    lines
}

/// Says which clusters turned requests away.
pub(super) fn refused(study: &Study) -> Option<String> {
    let refused = |cell: &&Cell| cell.figures.refused.mean > 0.0;
    let said: Vec<String> = study
        .cells
        .iter()
        .filter(refused)
        .map(|cell| {
            format!(
                "{} with {} of {} {}",
                cell.policy,
                words::servers(cell.servers),
                words::size(cell.cache_bytes),
                count(cell.figures.refused.mean.round() as u64)
            )
        })
        .collect();
    let all = said.join(", ");
    (!said.is_empty()).then(|| format!("Turned away, because too many were being served: {all}."))
}

/// How wide the 95 % intervals are at most: those over the seeds, and those of capacities, which
/// one run at full load has of its own.
pub(super) fn sureness(study: &Study) -> String {
    let mut said = seeds_sureness(study);
    let capacities = study.cells.iter().map(|cell| cell.figures.capacity_rps);
    let widest = capacities.filter(|one| one.half_width.is_finite()).map(relative);
    if let Some(widest) = widest.reduce(f64::max) {
        let rate = if study.closed() { "Req/s" } else { "Capacity" };
        let over = if study.closed() || study.full_load { "parts of the log" } else { "seeds" };
        let _ = write!(said, " {rate}: ±{widest:.1} % at most, over the {over}.");
    }
    said
}

/// Half an interval in percent of what it is around.
fn relative(estimate: Estimate) -> f64 {
    100.0 * estimate.half_width / estimate.mean.max(1e-12)
}

fn seeds_sureness(study: &Study) -> String {
    if study.seeds == 1 {
        return "One seed: no confidence intervals over seeds; ask for --seeds 3.".to_owned();
    }
    let measured = || {
        let cells = study.cells.iter().filter(|cell| !cell.overloaded());
        cells.filter(|cell| cell.figures.hit_ratio.half_width.is_finite())
    };
    if measured().next().is_none() {
        return if study.cells.iter().all(Cell::overloaded) {
            "No cluster can do what is asked for: no intervals.".to_owned()
        } else {
            "The seeds differ in nothing here: no intervals over them.".to_owned()
        };
    }
    let widest = |of: &dyn Fn(&Cell) -> f64| measured().map(of).fold(0.0, f64::max);
    format!(
        "The widest 95 % intervals over {} seeds: hits ±{:.2} points, p50 ±{:.1} %, p99 \
         ±{:.1} %.",
        study.seeds,
        widest(&|cell| 100.0 * cell.figures.hit_ratio.half_width),
        widest(&|cell| relative(cell.figures.p50_ms)),
        widest(&|cell| relative(cell.figures.p99_ms)),
    )
}
