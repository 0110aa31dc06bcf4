//! What was measured, as rows that all experiments share: a CSV file with the circumstances above.

use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// What each row tells, beside where it belongs. Times and rates are the modelled cluster's, but
/// for those called `real`, and those of a time scale of 0; an empty field was not measured.
pub const COLUMNS: [&str; 26] = [
    // Answered requests a second.
    "requests_s",
    // Share of requests that the servers' caches had.
    "hit_ratio",
    // Latency of requests.
    "p50_ms",
    "p90_ms",
    "p99_ms",
    // Time of whole pages.
    "page_p90_ms",
    // Pages a second.
    "pages_s",
    // Bytes of bodies.
    "megabits_s",
    // Of the servers' busiest component.
    "utilisation_min",
    "utilisation_mean",
    "utilisation_max",
    // CPU of each, in cores.
    "front_cpu",
    "client_cpu",
    "origins_cpu",
    "others_cpu",
    // CPU of what stands before the servers, for a request, in microseconds.
    "front_us",
    // How late emulated answers left, on average, in real microseconds.
    "late_us",
    // Requests that failed.
    "failed",
    // Share of the requests due that had neither been answered nor failed at the end, or of the
    // pages, whichever is greater, 0 to 1.
    "cut_off",
    // Pages of which an object failed.
    "pages_failed",
    // Users who were turned away because too many were there.
    "turned_away",
    // Which requests of the trace were measured: so many settled before, and at the end.
    "first_request",
    "last_request",
    "real_requests_s",
    "real_seconds",
    "time_scale",
];

/// From this share of a core on, others are the reason when answers are late.
const LATE_BY_OTHERS: f64 = 0.05;

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The workload.
    pub case: String,
    /// Which curve: policy, or program.
    pub curve: String,
    /// Where on the horizontal axis.
    pub x: f64,
    /// Which of the repeats, from 1; also the seed of what is drawn.
    pub repeat: u32,
    /// By [`COLUMNS`]; NaN where nothing was measured.
    pub values: [f64; COLUMNS.len()],
    /// What, other than the modelled cluster, may have been the bottleneck; empty for nothing.
    pub limit: String,
}

impl Row {
    /// A row in which nothing was measured yet.
    pub fn new(case: &str, curve: &str, x: f64, repeat: u32) -> Self {
        let values = [f64::NAN; COLUMNS.len()];
        let (case, curve) = (case.to_owned(), curve.to_owned());
        Self { case, curve, x, repeat, values, limit: String::new() }
    }

    /// Notes a value.
    ///
    /// # Panics
    /// When there is no such column: names are ours.
    pub fn set(&mut self, column: &str, value: f64) {
        self.values[position(column)] = value;
    }

    /// Notes something that may have been the bottleneck.
    pub fn limited_by(&mut self, what: &str) {
        if !self.limit.split('+').any(|known| known == what) {
            let between = if self.limit.is_empty() { "" } else { "+" };
            self.limit = format!("{}{between}{what}", self.limit);
        }
    }

    /// Whether the other one is of the same repeat of the same point.
    pub fn is_of(&self, other: &Self) -> bool {
        (&self.case, &self.curve, self.repeat) == (&other.case, &other.curve, other.repeat)
            && self.x == other.x
    }

    /// Whether others used the processors meanwhile, programs, or machines on the same ones: much,
    /// or as little as it takes to make answers, or the client's questions, late.
    pub fn is_disturbed(&self) -> bool {
        let is = |what: &str| self.limit.split('+').any(|limit| limit == what);
        let late = is("late") || is("client");
        is("others") || (late && self.get("others_cpu") > LATE_BY_OTHERS)
    }

    /// A value; NaN if it was not measured.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn get(&self, column: &str) -> f64 {
        self.values[position(column)]
    }
}

fn position(column: &str) -> usize {
    let found = COLUMNS.iter().position(|name| *name == column);
    found.unwrap_or_else(|| panic!("rows have no column {column}"))
}

/// The middle of several repeats, and how far apart they were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle one; of an even number, the mean of the two middle ones.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// How many repeats have a value.
    pub count: usize,
    /// Whether anything but the modelled cluster may have limited any of them.
    pub limited: bool,
}

/// The middle of sorted values; of an even number, the mean of the two middle ones. `None` of none.
pub(super) fn middle(sorted: &[f64]) -> Option<f64> {
    let before = sorted.len().checked_sub(1)? / 2;
    Some(f64::midpoint(sorted[before], sorted[sorted.len() / 2]))
}

/// All rows of an experiment, and under which circumstances they came about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Machine, date, command and the like: lines above the rows.
    pub notes: Vec<(String, String)>,
    /// In the order in which they were measured.
    pub rows: Vec<Row>,
}

impl Table {
    /// What a note says; empty if there is none.
    pub fn note(&self, key: &str) -> &str {
        self.notes.iter().find(|(known, _)| known == key).map_or("", |(_, text)| text)
    }

    /// The workloads, by first appearance.
    pub fn cases(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.case.as_str()))
    }

    /// The curves of a workload, by first appearance.
    pub fn curves(&self, case: &str) -> Vec<&str> {
        distinct(self.rows.iter().filter(|row| row.case == case).map(|row| row.curve.as_str()))
    }

    /// The places of a workload on the horizontal axis, from left to right.
    pub fn places(&self, case: &str) -> Vec<f64> {
        let mut places: Vec<f64> =
            self.rows.iter().filter(|row| row.case == case).map(|row| row.x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// A curve's value at `x` over its repeats; `None` where nothing was measured.
    pub fn at(&self, case: &str, curve: &str, x: f64, column: &str) -> Option<Spread> {
        let here = |row: &&Row| row.case == case && row.curve == curve && row.x == x;
        let rows: Vec<&Row> = self.rows.iter().filter(here).collect();
        let mut values: Vec<f64> =
            rows.iter().map(|row| row.get(column)).filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let median = middle(&values)?;
        let limited = rows.iter().any(|row| !row.limit.is_empty());
        Some(Spread { median, min, max, count: values.len(), limited })
    }

    /// A curve from left to right.
    pub fn curve(&self, case: &str, curve: &str, column: &str) -> Vec<(f64, Spread)> {
        let places = self.places(case).into_iter();
        places.filter_map(|x| Some((x, self.at(case, curve, x, column)?))).collect()
    }

    /// As text: notes, a header, rows. Six significant digits are more than what is measured has.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.notes {
            let _ = writeln!(text, "# {key}: {value}");
        }
        let _ = writeln!(text, "case,curve,x,repeat,{},limit", COLUMNS.join(","));
        for row in &self.rows {
            let _ = write!(text, "{},{},{},{}", row.case, row.curve, short(row.x), row.repeat);
            for value in row.values {
                let _ = write!(text, ",{}", short(value));
            }
            let _ = writeln!(text, ",{}", row.limit);
        }
        text
    }

    /// Reads what [`Table::csv`] wrote.
    ///
    /// # Errors
    /// The first line that is none, with its number.
    pub fn parse(text: &str) -> Result<Self> {
        let mut table = Self::default();
        let header = format!("case,curve,x,repeat,{},limit", COLUMNS.join(","));
        let mut body = false;
        for (number, line) in text.lines().enumerate() {
            let place = || format!("line {}: {line}", number + 1);
            if let Some(note) = line.strip_prefix("# ") {
                let (key, value) = note.split_once(": ").with_context(place)?;
                table.notes.push((key.to_owned(), value.to_owned()));
            } else if !body {
                ensure!(line == header, "{}: other columns; measure again", place());
                body = true;
            } else {
                table.rows.push(parsed(line).with_context(place)?);
            }
        }
        ensure!(body, "it has no header");
        Ok(table)
    }

    /// Reads the table of an experiment from `<folder>/<name>/results.csv`.
    ///
    /// # Errors
    /// A file that is missing or is no table.
    pub fn load(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name).join("results.csv");
        let text = fs::read_to_string(&path).with_context(|| {
            format!("cannot read {}: `baton experiment {name}` writes it", path.display())
        })?;
        Self::parse(&text).with_context(|| format!("{} is damaged", path.display()))
    }
}

fn parsed(line: &str) -> Result<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    ensure!(fields.len() == COLUMNS.len() + 5, "it has {} fields", fields.len());
    let mut row = Row::new(fields[0], fields[1], number(fields[2])?, fields[3].parse()?);
    for (value, field) in row.values.iter_mut().zip(&fields[4..]) {
        *value = number(field)?;
    }
    row.limit = fields[COLUMNS.len() + 4].to_owned();
    Ok(row)
}

fn number(field: &str) -> Result<f64> {
    if field.is_empty() {
        return Ok(f64::NAN);
    }
    field.parse().with_context(|| format!("{field:?} is no number"))
}

/// Six significant digits without an exponent; nothing for what was not measured.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let digits = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    let decimals = usize::try_from(6 - digits).unwrap_or(0).min(12);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(curve: &str, x: f64, repeat: u32, requests_s: f64) -> Row {
        let mut row = Row::new("rice", curve, x, repeat);
        row.set("requests_s", requests_s);
        row
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut limited = row("lard-r", 16.0, 2, 1234.5678);
        limited.limit = "client+late".to_owned();
        let table = Table {
            notes: vec![("machine".to_owned(), "2 x CPU: fast".to_owned())],
            rows: vec![row("wrr", 1.0, 1, 0.000_123_456_78), limited],
        };
        let read = Table::parse(&table.csv()).expect("it is read");
        assert_eq!(read.csv(), table.csv());
        assert_eq!(read.note("machine"), "2 x CPU: fast");
        assert_eq!(read.rows[1].get("requests_s"), 1234.57);
        assert!(read.rows[1].get("hit_ratio").is_nan());
        assert_eq!(read.rows[1].limit, "client+late");
    }

    #[test]
    fn who_was_late_by_others_was_disturbed_and_who_was_late_by_itself_was_not() {
        for (limit, others_cpu, disturbed) in [
            ("others", 0.3, true),
            ("late", 0.1, true),
            ("client", 0.1, true),
            ("late", 0.01, false),
            ("client", 0.01, false),
            ("front", 0.1, false),
        ] {
            let mut row = row("a", 1.0, 1, 1.0);
            row.set("others_cpu", others_cpu);
            row.limited_by(limit);
            assert_eq!(row.is_disturbed(), disturbed, "{limit} {others_cpu}");
        }
    }

    #[test]
    fn the_middle_of_repeats_counts_and_a_limited_one_marks_all() {
        let mut table = Table::default();
        table.rows.extend([(1, 10.0), (2, 30.0), (3, 20.0)].map(|(n, v)| row("lard", 8.0, n, v)));
        let spread = table.at("rice", "lard", 8.0, "requests_s").expect("measured");
        assert_eq!((spread.median, spread.min, spread.max), (20.0, 10.0, 30.0));
        assert!(!spread.limited);
        table.rows[0].limit = "client".to_owned();
        assert!(table.at("rice", "lard", 8.0, "requests_s").expect("measured").limited);
        assert_eq!(table.at("rice", "lard", 8.0, "hit_ratio"), None);
        assert_eq!(table.at("rice", "wrr", 8.0, "requests_s"), None);
    }

    #[test]
    fn a_damaged_line_is_named() {
        let good = Table { notes: Vec::new(), rows: vec![row("wrr", 1.0, 1, 5.0)] }.csv();
        let error = format!("{:#}", Table::parse(&good.replace(",5,", ",five,")).unwrap_err());
        assert!(error.contains("line 2") && error.contains("five"), "{error}");
        assert!(Table::parse("case,curve\n").is_err());
    }
}
