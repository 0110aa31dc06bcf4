//! The report on a terminal.

use super::story::{asked, caveats, failed_pages, failures, headline, how, when};
use super::study::{Row, SHARE_NAMES, Study};
use crate::whatif::words::{count, figure, ms, percent, wrapped};
use load::Outcome;
use sim::stats::Estimate;
use std::fmt::Write;

/// Columns of a terminal.
const WIDTH: usize = 90;

/// Failures of each cause that are shown.
const EXAMPLES_MAX: usize = 2;

/// The whole report.
pub fn text(study: &Study) -> String {
    let job = &study.job;
    let mut out = format!("{}\n{}\n{}\n\n", asked(job), when(job), how(job));
    out += &format!("{}\n", wrapped(&headline(study), WIDTH, ""));
    for line in caveats(study) {
        out += &format!("{}\n", wrapped(&line, WIDTH, ""));
    }
    out.push('\n');
    out += &rates(study);
    let rows = study.rows();
    if !rows.is_empty() {
        let all: Vec<&Row> = rows.iter().filter(|row| row.class.is_none()).collect();
        let classes: Vec<&Row> = rows.iter().filter(|row| row.class.is_some()).collect();
        out += &latencies(study, "latency from when it was due", &all, |row| &row.due_ms);
        out += &latencies(study, "from the sending on", &all, |row| &row.sent_ms);
        if !classes.is_empty() {
            out += &latencies(study, "by class, from due", &classes, |row| &row.due_ms);
        }
    }
    out += &failed(&study.whole);
    out
}

fn rates(study: &Study) -> String {
    let whole = &study.whole;
    let mut table = vec![vec![String::new(), "a second".to_owned(), "in all".to_owned()]];
    let mut row = |name: &str, of: &dyn Fn(&Outcome) -> f64, all: String| {
        let rate = with_half(study, &study.estimate(of), figure);
        table.push(vec![name.to_owned(), rate, all]);
    };
    let arrived_s = |outcome: &Outcome| {
        let took_s = outcome.took.as_secs_f64();
        if took_s > 0.0 { outcome.arrived as f64 / took_s } else { 0.0 }
    };
    row("sessions", &arrived_s, count(whole.arrived));
    row("connections", &Outcome::connections_s, count(whole.connections));
    row("pages", &Outcome::pages_s, count(whole.pages.done));
    row("requests", &Outcome::requests_s, count(whole.answered()));
    row("Mb", &Outcome::body_mbit_s, figure(whole.body_bytes as f64 * 8.0 / 1e6));
    let mut out = aligned(&table);
    if let Some(ratio) = study.hit_ratio() {
        let ratio = with_half(study, &ratio, percent);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "caches had {ratio} of what was asked, by Cache-Status");
    }
    if let Some(failed) = failed_pages(study) {
        let _ = writeln!(out, "{failed}");
    }
    let [pages, sessions] = [&whole.pages, &whole.sessions].map(|timing| count(timing.cut_off));
    let requests = count(whole.cut_off);
    let _ = writeln!(
        out,
        "{requests} cut off: requests that were due and unanswered at the end; of pages {pages}, \
         of sessions {sessions}"
    );
    if whole.resent > 0 {
        let resent = count(whole.resent);
        let _ = writeln!(out, "{resent} requests were sent again on a new connection");
    }
    out.push('\n');
    out
}

fn latencies(
    study: &Study,
    title: &str,
    rows: &[&Row],
    pick: fn(&Row) -> &[Option<Estimate>],
) -> String {
    let mut table = vec![vec![title.to_owned(), "count".to_owned()]];
    table[0].extend(SHARE_NAMES.map(str::to_owned));
    for row in rows {
        let name = row.class.map_or(String::new(), |class| format!("{class} "));
        let mut cells = vec![format!("  {name}{}", row.of), count(row.count)];
        let mean = |found: &Option<Estimate>| found.map_or("-".to_owned(), |it| ms(it.mean));
        cells.extend(pick(row).iter().map(mean));
        table.push(cells);
        if study.repeated() {
            let half = |found: &Option<Estimate>| match found {
                Some(it) if it.half_width.is_finite() => format!("±{}", ms(it.half_width)),
                _ => String::new(),
            };
            let mut cells = vec![String::new(), "95 %".to_owned()];
            cells.extend(pick(row).iter().map(half));
            table.push(cells);
        }
    }
    aligned(&table) + "\n"
}

fn failed(outcome: &Outcome) -> String {
    let mut out = String::new();
    for (cause, number) in failures(&outcome.failed) {
        out += &format!("failed: {} by {cause}\n", count(number));
        let examples = outcome.examples.iter().filter(|example| example.cause == cause);
        for example in examples.take(EXAMPLES_MAX) {
            out += &format!("  {}: {}\n", example.target, example.detail);
        }
    }
    out
}

/// A figure with half its interval, where there is one.
fn with_half(study: &Study, estimate: &Estimate, write: fn(f64) -> String) -> String {
    let mean = write(estimate.mean);
    if study.repeated() && estimate.half_width.is_finite() {
        format!("{mean} ±{}", write(estimate.half_width))
    } else {
        mean
    }
}

/// Columns side by side: the first to the left, the others to the right.
fn aligned(table: &[Vec<String>]) -> String {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        let cells = table.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in table {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let width = widths[at];
            line += &if at == 0 { format!("{cell:width$}") } else { format!("  {cell:>width$}") };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}
