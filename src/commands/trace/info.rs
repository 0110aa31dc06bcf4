//! `baton trace info`: the figures by which papers describe their traces.

use super::{add, one_stdin};
use crate::exit::{Exit, Outcome};
use crate::flags::TraceInfo;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use workload::synth::{Facts, facts};
use workload::{Builder, Clock, Statistics, Trace};

/// The site of logs that name none.
const SITE: &str = "";

/// A trace or a part of it, described.
struct Column {
    name: String,
    /// From the first request to the last.
    days: f64,
    found: Statistics,
    /// What was published of it, if it is a synthetic stand-in.
    published: Option<&'static Facts>,
}

/// Describes each file.
///
/// # Errors
/// When one cannot be read or has no request in it, or nothing can be written.
pub fn run(args: &TraceInfo) -> Outcome {
    one_stdin(&args.files)?;
    let mut columns = Vec::new();
    let mut broken = None;
    for path in &args.files {
        let mut builder = Builder::new(Clock::Kept);
        let added = add(&mut builder, path, args.format.format.as_deref(), SITE);
        let trace = builder.finish();
        if let Err(error) = added {
            if trace.requests.is_empty() {
                return Err(error);
            }
            // What is there of a log that breaks off is described, and then the trouble told.
            broken.get_or_insert(error);
        }
        if args.sites {
            for (site, name) in (0_u16..).zip(&trace.sites) {
                columns.push(column(&trace, if name.is_empty() { "-" } else { name }, Some(site)));
            }
        }
        if !args.sites || trace.sites.len() > 1 {
            columns.push(column(&trace, &short(path), None));
        }
    }
    let mut out = io::stdout().lock();
    if args.json {
        let objects: Vec<_> = columns.iter().map(object).collect();
        writeln!(out, "{:#}", Value::from(objects))?;
    } else {
        out.write_all(table(&columns).as_bytes())?;
    }
    broken.map_or(Ok(Exit::Done), Err)
}

fn column(trace: &Trace, name: &str, site: Option<u16>) -> Column {
    let times = || {
        let of_site = trace.requests.iter();
        let of_site = of_site.filter(|entry| site.is_none_or(|s| trace.target(entry).site == s));
        of_site.map(|entry| entry.at_ms)
    };
    let span_ms = times().max().unwrap_or(0) - times().min().unwrap_or(0);
    let only = site.map_or(trace.sites.len() == 1, |_| true);
    let site_name = site.map_or(trace.sites.first(), |site| trace.sites.get(usize::from(site)));
    Column {
        name: name.to_owned(),
        days: span_ms as f64 / 86_400_000.0,
        found: Statistics::of(trace, site),
        published: site_name.filter(|_| only).and_then(|name| facts(name)),
    }
}

fn short(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Figures from top to bottom, traces side by side.
fn table(columns: &[Column]) -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut row = |label: &str, cell: &dyn Fn(&Column) -> String| {
        rows.push((label.to_owned(), columns.iter().map(cell).collect()));
    };
    row("", &|column| column.name.clone());
    row("requests", &|column| grouped(column.found.requests));
    row("  counted", &|column| grouped(column.found.counted));
    row("days", &|column| format!("{:.2}", column.days));
    row("clients", &|column| grouped(column.found.clients));
    row("requests a session", &|column| format!("{:.2}", per_session(&column.found)));
    row("targets", &|column| grouped(column.found.targets));
    row("  asked for once", &|column| grouped(column.found.once_only));
    row("footprint MB", &|column| mb(column.found.footprint_bytes as f64));
    for (at, percent) in [97, 98, 99].iter().enumerate() {
        row(&format!("MB for {percent} %"), &|column| mb(column.found.coverage[at].bytes));
        row("  from - to", &|column| {
            let coverage = &column.found.coverage[at];
            format!("{} - {}", mb(coverage.bytes_min as f64), mb(coverage.bytes_max as f64))
        });
    }
    row("top 100 targets", &|column| format!("{:.1} %", column.found.top_100_share * 100.0));
    row("Zipf slope", &|column| format!("{:.2}", column.found.zipf_slope));
    row("mean reply B", &|column| format!("{:.0}", column.found.reply_bytes_mean));
    row("median reply B", &|column| format!("{:.0}", column.found.reply_bytes_median));
    let mut text = aligned(&rows);
    for column in columns {
        let Some(facts) = column.published else { continue };
        let [first, second, third] = facts.coverage_bytes.map(|bytes| mb(bytes as f64));
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n{} stands in for {}: {} targets, {} MB; {first}, {second}, {third} MB for 97, 98, \
             99 %\n  ({})\n",
            column.name,
            facts.about,
            grouped(facts.targets.into()),
            mb(facts.bytes as f64),
            facts.source,
        );
    }
    text
}

fn aligned(rows: &[(String, Vec<String>)]) -> String {
    let width = |cells: &mut dyn Iterator<Item = &String>| {
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let label = width(&mut rows.iter().map(|row| &row.0));
    let columns = rows.first().map_or(0, |row| row.1.len());
    let widths: Vec<usize> =
        (0..columns).map(|at| width(&mut rows.iter().map(|row| &row.1[at]))).collect();
    let mut text = String::new();
    for (name, cells) in rows {
        text += &format!("{name:label$}");
        for (cell, width) in cells.iter().zip(&widths) {
            text += &format!("  {cell:>width$}");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn object(column: &Column) -> Value {
    let Statistics { coverage, .. } = &column.found;
    let found = &column.found;
    json!({
        "name": column.name,
        "requests": found.requests,
        "counted": found.counted,
        "days": column.days,
        "clients": found.clients,
        "sessions": found.sessions,
        "requests_per_session": per_session(found),
        "targets": found.targets,
        "once_only": found.once_only,
        "footprint_bytes": found.footprint_bytes,
        "coverage": coverage.iter().map(|of| json!({
            "percent": of.percent,
            "bytes": of.bytes,
            "bytes_min": of.bytes_min,
            "bytes_max": of.bytes_max,
        })).collect::<Vec<_>>(),
        "top_100_share": found.top_100_share,
        "zipf_slope": found.zipf_slope,
        "reply_bytes_mean": found.reply_bytes_mean,
        "reply_bytes_median": found.reply_bytes_median,
        "published": column.published.map(|facts| json!({
            "name": facts.name,
            "source": facts.source,
            "targets": facts.targets,
            "footprint_bytes": facts.bytes,
            "coverage_bytes": facts.coverage_bytes,
        })),
    })
}

fn per_session(found: &Statistics) -> f64 {
    found.counted as f64 / found.sessions.max(1) as f64
}

/// Megabytes (10^6), with as many digits as say something.
fn mb(bytes: f64) -> String {
    let megabytes = bytes / 1e6;
    if megabytes >= 100.0 { format!("{megabytes:.0}") } else { format!("{megabytes:.1}") }
}

/// A number with commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
