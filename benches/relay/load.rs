//! The load: wrk, on the server's CPU, and what it says.

use crate::cases::Case;
use crate::measure::Summary;
use crate::stage::{CPU_OTHERS, Proxy, start};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Connections at once, for every case and program.
pub const CONNECTIONS: u32 = 64;

/// What one program did in one round.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// CPU microseconds of the program, user and system, for each request.
    pub cpu_us: f64,
    pub requests_per_second: f64,
    /// As the client saw it; 64 connections wait for each other, so it is the whole queue's time.
    pub p99_us: u64,
}

/// Drives load at a program for a while and reads its CPU time before and after.
pub fn drive(proxy: &Proxy, case: &Case, time: Duration, dir: &Path) -> Result<Figures> {
    let script = dir.join("load.lua");
    fs::write(&script, include_str!("../measure/load.lua"))?;
    let (script, url) =
        (script.display().to_string(), format!("http://{}/{}", proxy.address, case.name));
    let (connections, seconds) = (CONNECTIONS.to_string(), format!("{}s", time.as_secs()));
    let mut command = vec!["wrk", "-t", "1", "-c", &connections, "-d", &seconds, "-s", &script];
    if case.close {
        command.extend(["-H", "Connection: close"]);
    }
    command.push(&url);
    let before = proxy.child.cpu_ns()?;
    let said = start("wrk", CPU_OTHERS, dir, &command)?.finish()?;
    let cpu_ns = proxy.child.cpu_ns()? - before;
    judge(&said, case, cpu_ns).with_context(|| {
        format!("{} ({}), {}:\n{said}", proxy.program.name(), proxy.variant.label, case.name)
    })
}

/// Figures of a run in which every request was answered, with 200 and in full.
fn judge(said: &str, case: &Case, cpu_ns: u64) -> Result<Figures> {
    let summary = Summary::of(said, case.bytes)?;
    for error in ["connect", "read", "write", "timeout", "status"] {
        ensure!(summary.field(error)? == 0, "requests failed ({error})");
    }
    Ok(Figures {
        cpu_us: cpu_ns as f64 / 1e3 / summary.field("requests")? as f64,
        requests_per_second: summary.requests_per_second()?,
        p99_us: summary.field("p99_us")?,
    })
}
