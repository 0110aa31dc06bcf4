//! The machine: what it is, and what is installed.

use std::fs;
use std::process::Command;

/// What a line of results says of where it was measured.
pub struct Machine {
    pub date: String,
    pub commit: String,
    pub cpu: String,
    pub kernel: String,
}

impl Machine {
    pub fn look() -> Self {
        let described = read("/proc/cpuinfo");
        let model =
            described.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let name = model.map_or("unknown CPU", |(_, name)| name.trim());
        let count = described.lines().filter(|line| line.starts_with("processor")).count();
        Self {
            date: said("date", &["--utc", "+%Y-%m-%dT%H:%M:%SZ"]).unwrap_or_default(),
            commit: said("git", &["describe", "--always", "--dirty", "--exclude=*"])
                .unwrap_or_else(|| "unknown".to_owned()),
            cpu: format!("{count} x {name}"),
            kernel: read("/proc/sys/kernel/osrelease"),
        }
    }
}

/// Processes that ran or wanted to on average in the last minute.
pub fn load_average() -> f64 {
    let text = read("/proc/loadavg");
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// The first line of what a program says, if it is installed. (`wrk -v` exits with 1.)
pub fn said(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Some(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// A file without the spaces around what it says; empty if it cannot be read.
pub fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
