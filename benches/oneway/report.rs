//! What is printed, and the lines of results.

use crate::client::{CONNECTIONS, THREADS};
use crate::measure::Spread;
use crate::measure::machine::Machine;
use crate::modes::{LOADS, Load, Mode};
use crate::run::{Cell, KernelCost};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// All cells of a run.
pub struct Results {
    pub cells: Vec<Cell>,
    /// Ways that could not be measured, and why.
    pub skipped: Vec<(Mode, String)>,
}

impl Results {
    /// One of them, if it was measured.
    pub fn cell(&self, mode: Mode, load: &str) -> Option<&Cell> {
        let found = self.cells.iter().find(|cell| cell.mode == mode && cell.load.name == load);
        found.filter(|cell| !cell.rounds.is_empty())
    }

    /// The cells of a load, in order.
    pub fn under(&self, load: &'static Load) -> impl Iterator<Item = &Cell> {
        Mode::ALL.into_iter().filter_map(|mode| self.cell(mode, load.name))
    }

    /// Microseconds of the front-end's program for each request.
    fn front_us(&self, mode: Mode, load: &str) -> Option<f64> {
        Some(self.cell(mode, load)?.kernel(|cost| cost.front_us)?.median)
    }

    /// CPU time of the whole machine over that of `direct`.
    pub fn over_direct(&self, mode: Mode, load: &str) -> Option<f64> {
        Some(self.cell(mode, load)?.over(self.cell(Mode::Direct, load)?).median)
    }

    /// The figures of the last line that have a goal, with what is to be reached.
    fn figures(&self) -> [(&'static str, Option<f64>, f64); 4] {
        [
            ("pinned_us", self.front_us(Mode::Handoff, "keepalive"), 0.7),
            ("moved_us", self.front_us(Mode::MultiHandoff, "keepalive"), 1.0),
            ("close_us", self.front_us(Mode::Handoff, "close"), 3.2),
            ("over_direct", self.over_direct(Mode::Handoff, "keepalive"), 1.2),
        ]
    }

    /// The last line.
    pub fn last(&self) -> String {
        let word = |number: Option<f64>| number.map_or("n/a".to_owned(), |n| format!("{n:.2}"));
        let ours = self.figures().map(|(name, value, _)| format!("{name}={}", word(value)));
        let haproxy = word(self.over_direct(Mode::HaProxy, "keepalive"));
        format!("bench-oneway: {} haproxy_over_direct={haproxy}", ours.join(" "))
    }

    /// What was to be reached, and whether it was.
    pub fn goals(&self) -> String {
        let goal = |(name, value, most): (&str, Option<f64>, f64)| {
            let how = match value {
                None => "not measured".to_owned(),
                Some(value) if value <= most => "reached".to_owned(),
                Some(value) => format!("missed by {:.0} %", (value / most - 1.0) * 100.0),
            };
            format!("{name} {most} ({how})")
        };
        format!("To reach, at most: {}.", self.figures().map(goal).join(", "))
    }

    /// One table for each load.
    pub fn tables(&self) -> String {
        LOADS.iter().map(|load| self.table(load)).collect::<Vec<_>>().join("\n")
    }

    fn table(&self, load: &'static Load) -> String {
        let mut text = format!("{}: {}\n", load.name, load.about);
        text += &format!(
            "  {:<13} {:>8} {:>17} {:>9} {:>9} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8}\n",
            "",
            "CPU us",
            "(min-max)",
            "/direct",
            "req/s",
            "p50 us",
            "p99 us",
            "moved",
            "front us",
            "packets",
            "back us"
        );
        for cell in self.under(load) {
            let cpu = cell.spread(|round| round.cpu_us);
            let kernel = |of: fn(&KernelCost) -> f64| {
                cell.kernel(of).map_or("-".to_owned(), |cost| format!("{:.2}", cost.median))
            };
            let ratio = self.over_direct(cell.mode, load.name);
            text += &format!(
                "  {:<13} {:>8.1} {:>17} {:>9} {:>9.0} {:>8.0} {:>8.0} {:>6.2} {:>8} {:>8} {:>8}\n",
                cell.mode.name(),
                cpu.median,
                format!("({:.1}-{:.1})", cpu.min, cpu.max),
                ratio.map_or("n/a".to_owned(), |ratio| format!("{ratio:.2}")),
                cell.spread(|round| round.requests_per_second).median,
                cell.spread(|round| round.p50_us as f64).median,
                cell.spread(|round| round.p99_us as f64).median,
                cell.spread(|round| round.moved).median,
                kernel(|cost| cost.front_us),
                kernel(|cost| cost.front_packets),
                kernel(|cost| cost.back_us),
            );
        }
        text
    }

    /// Appends a line for each cell.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(
        &self,
        path: &Path,
        machine: &Machine,
        round_ms: u128,
        load_average: f64,
    ) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let Machine { date, commit, cpu, kernel } = machine;
        for cell in LOADS.iter().flat_map(|load| self.under(load)) {
            let front = cell.rounds.iter().filter_map(|round| round.front_cpu_us);
            let front = Spread::of(front).map(Spread::json);
            let direct = self.cell(Mode::Direct, cell.load.name);
            let spent = |of: fn(&KernelCost) -> f64| cell.kernel(of).map(Spread::json);
            let line = json!({
                "date": date,
                "commit": commit,
                "machine": cpu,
                "kernel": kernel,
                "congestion": "reno",
                "initial_window": testbed::INITIAL_WINDOW,
                "load_average": load_average,
                "load": cell.load.name,
                "body_bytes": cell.load.bytes,
                "connections": THREADS * CONNECTIONS,
                "rounds": cell.rounds.len(),
                "round_ms": round_ms,
                "mode": cell.mode.name(),
                "cpu_us": cell.spread(|round| round.cpu_us).json(),
                "cpu_over_direct": direct.map(|direct| cell.over(direct).json()),
                "front_process_us": front,
                "requests_per_second": cell.spread(|round| round.requests_per_second).json(),
                "p50_us": cell.spread(|round| round.p50_us as f64).json(),
                "p99_us": cell.spread(|round| round.p99_us as f64).json(),
                "moved_per_request": cell.spread(|round| round.moved).json(),
                "front_bpf_us": spent(|cost| cost.front_us),
                "front_packets_per_request": spent(|cost| cost.front_packets),
                "back_bpf_us": spent(|cost| cost.back_us),
                "back_packets_per_request": spent(|cost| cost.back_packets),
            });
            writeln!(file, "{line}")?;
        }
        Ok(())
    }
}
