//! Pictures of tables: one column of one workload, all its curves.

use super::Table;
use super::bars::{self, Words};
use super::table::short;
use crate::figures;
use anyhow::Result;
use sim::{Axis, Figure, Row, Study};
use std::path::Path;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// The workload.
    pub case: &'static str,
    /// The column.
    pub column: &'static str,
    /// Above it.
    pub title: &'static str,
    /// What goes to the right.
    pub x: &'static str,
    /// Curves that have nothing to do with that: measured at one place, they are levels.
    pub levels: &'static [&'static str],
}

impl Picture {
    /// A picture of `column` of `case` over `x`.
    pub const fn new(
        case: &'static str,
        column: &'static str,
        title: &'static str,
        x: &'static str,
    ) -> Self {
        Self { case, column, title, x, levels: &[] }
    }

    /// The same, with these curves as levels.
    pub const fn with_levels(self, levels: &'static [&'static str]) -> Self {
        Self { levels, ..self }
    }

    /// Its file's name.
    pub fn file(&self) -> String {
        format!("{}-{}.svg", self.case, self.column.replace('_', "-"))
    }

    /// Draws the middle of each point's repeats. Nothing is drawn of a workload that was not
    /// measured.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn draw(&self, table: &Table, source: &'static str, folder: &Path) -> Result<()> {
        let notes = ["command", "machine", "date", "commit"].map(|key| table.note(key)).join("; ");
        let path = folder.join(self.file());
        if let [x] = table.places(self.case)[..] {
            return self.bars(table, x, source, notes, &path);
        }
        let rows = self.rows(table);
        if rows.is_empty() {
            return Ok(());
        }
        let figure = Figure { columns: &["y"], rows };
        let study = Study {
            id: "experiment",
            title: self.title,
            source,
            x: Axis::linear(self.x),
            y: Axis::linear(axis(table, self.case, self.column)),
            columns: &["y"],
            caption: |_| String::new(),
            runs: |_, _| Vec::new(),
        };
        figures::draw(&study, &figure, &notes, &path)
    }

    /// The points of all curves.
    fn rows(&self, table: &Table) -> Vec<Row> {
        let mut rows = Vec::new();
        for curve in table.curves(self.case) {
            let points = table.curve(self.case, curve, self.column);
            let row = |x: f64, y: f64| Row::new(curve.to_owned(), x, vec![y]);
            if let ([(_, level)], true) = (&points[..], self.levels.contains(&curve)) {
                rows.extend(table.places(self.case).into_iter().map(|x| row(x, level.median)));
            } else {
                rows.extend(points.iter().map(|(x, spread)| row(*x, spread.median)));
            }
        }
        rows
    }

    /// The same of a workload that was measured at `x` alone: curves would be single points.
    fn bars(&self, table: &Table, x: f64, source: &str, notes: String, path: &Path) -> Result<()> {
        let curves = table.curves(self.case).into_iter();
        let bars: Vec<_> = curves
            .filter_map(|curve| Some((curve, table.at(self.case, curve, x, self.column)?)))
            .collect();
        let words = Words {
            heading: format!("{}, {} {} ({source})", self.title, short(x), self.x),
            scale: axis(table, self.case, self.column),
            caption: notes,
        };
        bars::draw(&words, &bars, path)
    }
}

/// A column of a workload in words.
pub fn axis(table: &Table, case: &str, column: &'static str) -> &'static str {
    // Where no time passes in the model, the machine's own counts.
    let scales = table.curves(case).into_iter().flat_map(|curve| {
        let scales = table.curve(case, curve, "time_scale");
        scales.into_iter().map(|(_, scale)| scale.max)
    });
    let real = scales.reduce(f64::max) == Some(0.0);
    match (column, real) {
        ("requests_s", false) => "requests a second (the model's)",
        ("requests_s", true) => "requests a second (real)",
        ("hit_ratio", _) => "hit ratio of the servers' caches",
        ("page_p90_ms", false) => "90-percentile of pages (ms, the model's)",
        ("page_p90_ms", true) => "90-percentile of pages (ms, real)",
        ("p90_ms", false) => "90-percentile of requests (ms, the model's)",
        ("p90_ms", true) => "90-percentile of requests (ms, real)",
        ("p99_ms", false) => "99-percentile of requests (ms, the model's)",
        ("p99_ms", true) => "99-percentile of requests (ms, real)",
        ("megabits_s", false) => "Mb/s of content (the model's)",
        ("megabits_s", true) => "Mb/s of content (real)",
        ("pages_s", false) => "pages a second (the model's)",
        ("pages_s", true) => "pages a second (real)",
        ("front_us", _) => "CPU of the front-end a request (us, real)",
        ("front_cpu", _) => "CPU of the front-end (cores)",
        ("utilisation_mean", _) => "utilisation of the servers, on average",
        ("utilisation_max", _) => "utilisation of the busiest server",
        ("utilisation_min", _) => "utilisation of the idlest server",
        (other, _) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Row as Point;

    #[test]
    fn a_curve_that_does_not_depend_on_the_place_is_a_level_and_another_is_not() {
        let mut table = Table::default();
        for (curve, x) in [("a", 1.0), ("a", 2.0), ("level", 1.0), ("lone", 1.0)] {
            let mut point = Point::new("case", curve, x, 1);
            point.set("requests_s", 100.0 * x);
            table.rows.push(point);
        }
        let picture = Picture::new("case", "requests_s", "t", "x").with_levels(&["level"]);
        let rows = picture.rows(&table);
        let places = |curve: &str| rows.iter().filter(|row| row.curve == curve).count();
        assert_eq!([places("a"), places("level"), places("lone")], [2, 2, 1]);
    }

    #[test]
    fn rates_of_servers_that_take_no_time_are_called_real() {
        let mut table = Table::default();
        for (case, scale) in [("small-file", 0.5), ("saturation", 0.0)] {
            let mut point = Point::new(case, "a", 1.0, 1);
            point.set("time_scale", scale);
            table.rows.push(point);
        }
        for column in ["requests_s", "megabits_s", "p99_ms"] {
            assert!(axis(&table, "small-file", column).contains("the model's"), "{column}");
            assert!(axis(&table, "saturation", column).contains("real"), "{column}");
        }
    }
}
