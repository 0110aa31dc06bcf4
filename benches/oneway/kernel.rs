//! How long the programs in the kernel run: the kernel's own count, by `bpftool`.
//!
//! Counting costs two readings of a clock for each packet, so it is switched on for a pass of its
//! own, from which nothing else is taken.

use crate::site::SERVERS;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::process::Command;
use testbed::{Host, TestBed};

const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// Counting, while this lives.
pub struct Counting(String);

impl Counting {
    /// Switches it on.
    pub fn on() -> Result<Self> {
        let before = fs::read_to_string(SWITCH).with_context(|| format!("cannot read {SWITCH}"))?;
        fs::write(SWITCH, "1").with_context(|| format!("cannot write {SWITCH}"))?;
        Ok(Self(before))
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        // Who may switch it on may switch it off.
        let _left_on = fs::write(SWITCH, &self.0);
    }
}

/// What programs did so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    pub run_ns: u64,
    /// Packets.
    pub runs: u64,
}

impl Times {
    pub fn since(self, before: Self) -> Self {
        Self { run_ns: self.run_ns - before.run_ns, runs: self.runs - before.runs }
    }

    fn plus(self, other: Self) -> Self {
        Self { run_ns: self.run_ns + other.run_ns, runs: self.runs + other.runs }
    }
}

/// The programs at the front-end, and those at all servers together.
pub fn times(bed: &TestBed) -> Result<(Times, Times)> {
    let front = at(bed, Host::Front)?;
    let servers = SERVERS.into_iter().map(|server| at(bed, server));
    let back = servers.reduce(|one, other| Ok(one?.plus(other?))).expect("there are two servers");
    Ok((front, back?))
}

/// All programs on the interface of a machine.
fn at(bed: &TestBed, host: Host) -> Result<Times> {
    let (mut sum, mut programs) = (Times::default(), 0);
    for way in ["ingress", "egress"] {
        let mut tc = bed.command(host, "tc");
        let filters = json(tc.args(["-j", "filter", "show", "dev", bed.interface(), way]))?;
        for filter in filters.as_array().into_iter().flatten() {
            let Some(id) = filter["options"]["prog"]["id"].as_u64() else { continue };
            sum = sum.plus(of(id)?);
            programs += 1;
        }
    }
    ensure!(programs > 0, "there is no program at {host}");
    Ok(sum)
}

/// One program.
fn of(id: u64) -> Result<Times> {
    let mut bpftool = Command::new("bpftool");
    let program = json(bpftool.args(["-j", "prog", "show", "id", &id.to_string()]))?;
    let field = |name: &str| program[name].as_u64().unwrap_or(0);
    Ok(Times { run_ns: field("run_time_ns"), runs: field("run_cnt") })
}

fn json(command: &mut Command) -> Result<Value> {
    let name = format!("{:?}", command.get_program());
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} failed: {}", said.trim());
    let text = if output.stdout.is_empty() { b"[]".to_vec() } else { output.stdout };
    Ok(serde_json::from_slice(&text)?)
}
