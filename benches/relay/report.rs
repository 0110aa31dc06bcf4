//! What is printed and what is kept.

use crate::cases::Case;
use crate::load::{CONNECTIONS, Figures};
use crate::measure::machine::Machine;
use crate::measure::{Spread, Variant};
use crate::stage::Program;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Versions of the programs, as they say themselves.
pub struct Versions(pub Vec<(&'static str, String)>);

/// All rounds of one program in one case.
pub struct Row {
    pub program: Program,
    pub variant: &'static Variant,
    pub rounds: Vec<Figures>,
}

impl Row {
    fn spread(&self, of: impl Fn(&Figures) -> f64) -> Spread {
        Spread::of(self.rounds.iter().map(of)).expect("every case has at least one round")
    }

    /// CPU per request over another program's in the same round; then the middle of the rounds.
    pub fn ratio(&self, to: &Self) -> Spread {
        let pairs = self.rounds.iter().zip(&to.rounds);
        Spread::of(pairs.map(|(ours, theirs)| ours.cpu_us / theirs.cpu_us))
            .expect("every case has at least one round")
    }
}

/// The row that others are compared with: HAProxy with the settings chosen for this case.
pub fn reference<'a>(case: &Case, rows: &'a [Row]) -> Option<&'a Row> {
    let chosen =
        |row: &&Row| row.program == Program::HaProxy && std::ptr::eq(row.variant, case.haproxy);
    rows.iter().find(chosen)
}

/// Prints the table of a case.
pub fn table(case: &Case, rows: &[Row]) {
    println!("\n{}: {}", case.name, case.about);
    println!(
        "  {:<8} {:<22} {:>8} {:>17} {:>11} {:>9}   CPU over haproxy's",
        "", "settings", "CPU us", "(min-max)", "requests/s", "p99 ms"
    );
    let reference = reference(case, rows);
    for row in rows {
        let cpu = row.spread(|round| round.cpu_us);
        let ratio = reference.map_or("n/a".to_owned(), |reference| {
            let ratio = row.ratio(reference);
            format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.min, ratio.max)
        });
        println!(
            "  {:<8} {:<22} {:>8.2} {:>17} {:>11.0} {:>9.2}   {ratio}",
            row.program.name(),
            row.variant.label,
            cpu.median,
            format!("({:.2}-{:.2})", cpu.min, cpu.max),
            row.spread(|round| round.requests_per_second).median,
            row.spread(|round| round.p99_us as f64).median / 1e3,
        );
    }
}

/// What all lines of one run have in common.
pub struct Setting<'a> {
    pub machine: &'a Machine,
    pub versions: &'a Versions,
    pub congestion: &'a str,
    pub seconds: u64,
}

/// Appends a line for each program of a case.
///
/// # Errors
/// When the file cannot be written.
pub fn keep(path: &Path, setting: &Setting<'_>, case: &Case, rows: &[Row]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let Machine { date, commit, cpu, kernel } = setting.machine;
    let reference = reference(case, rows);
    for row in rows {
        let name = row.program.name();
        let version = setting.versions.0.iter().find(|(of, _)| *of == name);
        let line = json!({
            "date": date,
            "commit": commit,
            "machine": cpu,
            "kernel": kernel,
            "congestion": setting.congestion,
            "case": case.name,
            "body_bytes": case.bytes,
            "connections": CONNECTIONS,
            "rounds": row.rounds.len(),
            "round_seconds": setting.seconds,
            "program": name,
            "version": version.map(|(_, version)| version),
            "settings": row.variant.label,
            "cpu_us": row.spread(|round| round.cpu_us).json(),
            "requests_per_second": row.spread(|round| round.requests_per_second).json(),
            "p99_us": row.spread(|round| round.p99_us as f64).json(),
            "cpu_over_haproxy": reference.map(|reference| row.ratio(reference).json()),
        });
        writeln!(file, "{line}")?;
    }
    Ok(())
}
