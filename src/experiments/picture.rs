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
}

impl Picture {
    /// A picture of `column` of `case` over `x`.
    pub const fn new(
        case: &'static str,
        column: &'static str,
        title: &'static str,
        x: &'static str,
    ) -> Self {
        Self { case, column, title, x }
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
        let mut rows = Vec::new();
        for curve in table.curves(self.case) {
            for (x, spread) in table.curve(self.case, curve, self.column) {
                rows.push(Row::new(curve.to_owned(), x, vec![spread.median]));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let figure = Figure { columns: &["y"], rows };
        let study = Study {
            id: "experiment",
            title: self.title,
            source,
            x: Axis::linear(self.x),
            y: Axis::linear(axis(self.column)),
            columns: &["y"],
            caption: |_| String::new(),
            runs: |_, _| Vec::new(),
        };
        figures::draw(&study, &figure, &notes, &path)
    }

    /// The same of a workload that was measured at `x` alone: curves would be single points.
    fn bars(&self, table: &Table, x: f64, source: &str, notes: String, path: &Path) -> Result<()> {
        let curves = table.curves(self.case).into_iter();
        let bars: Vec<_> = curves
            .filter_map(|curve| Some((curve, table.at(self.case, curve, x, self.column)?)))
            .collect();
        let words = Words {
            heading: format!("{}, {} {} ({source})", self.title, short(x), self.x),
            scale: axis(self.column),
            caption: notes,
        };
        bars::draw(&words, &bars, path)
    }
}

/// A column in words.
pub fn axis(column: &'static str) -> &'static str {
    match column {
        "requests_s" => "requests a second (the model's)",
        "hit_ratio" => "hit ratio of the servers' caches",
        "page_p90_ms" => "90-percentile of pages (ms, the model's)",
        "p90_ms" => "90-percentile of requests (ms, the model's)",
        "megabits_s" => "Mb/s of content (the model's)",
        "pages_s" => "pages a second (the model's)",
        "front_us" => "CPU of the front-end a request (us, real)",
        "front_cpu" => "CPU of the front-end (cores)",
        "utilisation_max" => "utilisation of the busiest server",
        "utilisation_min" => "utilisation of the idlest server",
        other => other,
    }
}
