//! Where and when something was measured.

use super::peers::Program;
use super::{Experiment, Notes, Size};
use std::fs;
use std::process::Command;
use xxhash_rust::xxh3::xxh3_64;

/// What is said of a scenario of one's own.
pub(super) const OTHER_SCENARIO: &str = " --scenario scenario.toml";

/// The circumstances of a measurement that begins now, and what is measured.
pub fn notes(experiment: &Experiment, scenario: &str, size: Size) -> Notes {
    let quick = if size == Size::Quick { " --quick" } else { "" };
    let own = if scenario == experiment.scenario { "" } else { OTHER_SCENARIO };
    let peers = [Program::HaProxy, Program::Nginx, Program::Apache];
    let version = |peer: &Program| {
        peer.version().unwrap_or_else(|| format!("{} not installed, skipped", peer.name()))
    };
    let versions: Vec<String> = peers.iter().map(version).collect();
    let pairs = [
        ("command", format!("baton experiment {}{quick}{own}", experiment.name)),
        ("scenario", format!("{:016x} (xxh3)", xxh3_64(scenario.as_bytes()))),
        ("size", size.name().to_owned()),
        ("machine", machine()),
        ("date", said("date", &["--utc", "+%Y-%m-%dT%H:%M:%SZ"])),
        ("commit", said("git", &["describe", "--always", "--dirty", "--exclude=*"])),
        ("peers", versions.join("; ")),
        ("load average", load_average()),
    ];
    pairs.map(|(key, text)| (key.to_owned(), text)).into()
}

fn machine() -> String {
    let described = read("/proc/cpuinfo");
    let model = described.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = model.map_or("unknown CPU", |(_, name)| name.trim());
    let count = described.lines().filter(|line| line.starts_with("processor")).count();
    format!("{count} x {name}, Linux {}", read("/proc/sys/kernel/osrelease").trim())
}

fn load_average() -> String {
    let text = read("/proc/loadavg");
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// A file's text; empty if it cannot be read.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The first line of what a program says.
fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().ok().filter(|out| out.status.success());
    let text = output.map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    let line = text.as_deref().and_then(|text| text.lines().next()).unwrap_or("unknown");
    line.trim().to_owned()
}
