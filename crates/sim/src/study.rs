//! What is run to draw a figure: independent runs, and the rows they give.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use workload::Trace;

/// How much of each workload is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scale {
    /// Enough to see the shape: for tests, seconds in all.
    Quick,
    /// What the figures are drawn from.
    Full,
}

/// An axis of a figure.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// What is on it, with its unit.
    pub name: &'static str,
    /// Whether it is logarithmic.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub const fn linear(name: &'static str) -> Self {
        Self { name, log: false }
    }

    /// A logarithmic axis.
    pub const fn log(name: &'static str) -> Self {
        Self { name, log: true }
    }
}

/// A figure that can be made: of a paper, or a sensitivity that explains one.
pub struct Study {
    /// Its name in file names and on the command line, such as `phttp-7`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Paper and figure, or `sensitivity`.
    pub source: &'static str,
    /// What goes to the right.
    pub x: Axis,
    /// What goes up: the first of `columns`.
    pub y: Axis,
    /// What each row tells, beside its curve and its place on the horizontal axis.
    pub columns: &'static [&'static str],
    /// Parameters and seed, for the caption.
    pub caption: fn(Scale) -> String,
    /// The runs it is made of. They may be done in any order, side by side.
    pub runs: fn(&mut Traces, Scale) -> Vec<Run>,
}

/// One independent piece of work.
pub struct Run {
    /// What it is, for progress and errors.
    pub label: String,
    /// Does it.
    pub work: Box<dyn FnOnce() -> Vec<Row> + Send>,
}

impl Run {
    /// A run called `label` that does `work`.
    pub fn new(label: String, work: impl FnOnce() -> Vec<Row> + Send + 'static) -> Self {
        Self { label, work: Box::new(work) }
    }
}

/// A point of a curve, with everything that was measured there.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which curve.
    pub curve: Cow<'static, str>,
    /// Where on the horizontal axis.
    pub x: f64,
    /// One value for each of [`Study::columns`].
    pub values: Vec<f64>,
}

impl Row {
    /// A point at `x` of the curve called `curve`.
    pub fn new(curve: impl Into<Cow<'static, str>>, x: f64, values: Vec<f64>) -> Self {
        Self { curve: curve.into(), x, values }
    }
}

/// Traces that several studies share, made when first asked for.
#[derive(Default)]
pub struct Traces(BTreeMap<String, Arc<Trace>>);

impl Traces {
    /// The trace called `name`, which must name everything that `make` depends on.
    pub fn get(&mut self, name: &str, make: impl FnOnce() -> Trace) -> Arc<Trace> {
        if let Some(trace) = self.0.get(name) {
            return Arc::clone(trace);
        }
        let trace = Arc::new(make());
        self.0.insert(name.into(), Arc::clone(&trace));
        trace
    }
}

/// What a study gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The names of the values, as in [`Study::columns`].
    pub columns: &'static [&'static str],
    /// In the order of the study's runs.
    pub rows: Vec<Row>,
}

impl Figure {
    /// The names of the curves, by first appearance.
    pub fn curves(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.curve.as_ref()) {
                names.push(&row.curve);
            }
        }
        names
    }

    /// The points of a curve, from left to right, with the value called `column`.
    ///
    /// # Panics
    /// When the figure has no such column: claims name columns of their own study.
    pub fn curve(&self, curve: &str, column: &str) -> Vec<(f64, f64)> {
        let column = self.columns.iter().position(|name| *name == column);
        let column = column.expect("a claim names a column of its study");
        let rows = self.rows.iter().filter(|row| row.curve == curve);
        let mut points: Vec<_> = rows.map(|row| (row.x, row.values[column])).collect();
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        points
    }

    /// The value called `column` of a curve at `x`; NaN when it has no such point.
    pub fn at(&self, curve: &str, x: f64, column: &str) -> f64 {
        let points = self.curve(curve, column);
        points.iter().find(|point| point.0 == x).map_or(f64::NAN, |point| point.1)
    }

    /// The rows as CSV with a header; six significant digits, so that equal figures are equal
    /// files.
    pub fn csv(&self, x: &str) -> String {
        let mut text = format!("curve,{x}");
        for column in self.columns {
            let _ = write!(text, ",{column}");
        }
        text.push('\n');
        for row in &self.rows {
            let _ = write!(text, "{},{}", quoted(&row.curve), significant(row.x));
            for value in &row.values {
                let _ = write!(text, ",{}", significant(*value));
            }
            text.push('\n');
        }
        text
    }
}

/// The figures made so far, by the name of their study.
pub type Figures = BTreeMap<&'static str, Figure>;

/// A name as a field of CSV (RFC 4180).
fn quoted(name: &str) -> String {
    if name.contains([',', '"']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into()
    }
}

/// Six significant digits, without an exponent, without trailing zeros.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { value.to_string() };
    }
    let mut whole_digits = 0_i32;
    let mut rest = value.abs();
    while rest >= 1.0 {
        rest /= 10.0;
        whole_digits += 1;
    }
    while rest < 0.1 {
        rest *= 10.0;
        whole_digits -= 1;
    }
    let decimals = usize::try_from(6 - whole_digits).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(curve: &'static str, x: f64, value: f64) -> Row {
        Row::new(curve, x, vec![value])
    }

    #[test]
    fn a_curve_runs_from_left_to_right_whatever_the_order_of_the_runs() {
        let rows = vec![row("lard", 2.0, 20.0), row("wrr", 1.0, 5.0), row("lard", 1.0, 10.0)];
        let figure = Figure { columns: &["rps"], rows };
        assert_eq!(figure.curves(), ["lard", "wrr"]);
        assert_eq!(figure.curve("lard", "rps"), [(1.0, 10.0), (2.0, 20.0)]);
        assert_eq!(figure.at("lard", 2.0, "rps"), 20.0);
        assert!(figure.at("lard", 3.0, "rps").is_nan());
    }

    #[test]
    fn csv_keeps_six_digits_and_no_more() {
        let cases = [
            (0.0, "0"),
            (1_234_567.8, "1234568"),
            (1_234.567_89, "1234.57"),
            (0.001_234_567, "0.00123457"),
            (-2.5, "-2.5"),
            (100.0, "100"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
        let figure = Figure { columns: &["rps"], rows: vec![row("lard", 2.0, 20.25)] };
        assert_eq!(figure.csv("nodes"), "curve,nodes,rps\nlard,2,20.25\n");
        let rows = vec![row("lard, \"hot\"", 2.0, 20.25)];
        let figure = Figure { columns: &["rps"], rows };
        assert_eq!(figure.csv("nodes"), "curve,nodes,rps\n\"lard, \"\"hot\"\"\",2,20.25\n");
    }

    #[test]
    fn a_trace_is_made_once() {
        let mut traces = Traces::default();
        let first = traces.get("empty", Trace::default);
        let again = traces.get("empty", || unreachable!("it was made before"));
        assert!(Arc::ptr_eq(&first, &again));
    }
}
