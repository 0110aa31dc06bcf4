//! One run: a load on one way of delivery, and what it cost.

use crate::busy::Busy;
use crate::client::{CONNECTIONS, THREADS};
use crate::kernel::{self, Counting};
use crate::measure::{Spread, Summary};
use crate::modes::{Load, Mode};
use crate::site::{Site, Stand};
use anyhow::{Context, Result};
use std::time::Duration;
use testbed::Host;

/// What one way of delivery did in one round.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// CPU time of the whole machine for each request: client, front-end, servers, kernel.
    pub cpu_us: f64,
    /// Of it, that of the program at the front-end; `None` where none is in the way.
    pub front_cpu_us: Option<f64>,
    pub requests_per_second: f64,
    pub p50_us: u64,
    pub p99_us: u64,
    /// Times that a request went to another server than the one before.
    pub moved: f64,
}

/// What the programs in the kernel took for each request.
#[derive(Clone, Copy, Debug)]
pub struct KernelCost {
    pub front_us: f64,
    pub back_us: f64,
    /// Packets that the front-end's program looked at.
    pub front_packets: f64,
    /// Packets that all servers' programs looked at, both ways.
    pub back_packets: f64,
}

/// All rounds of one way of delivery under one load.
pub struct Cell {
    pub mode: Mode,
    pub load: &'static Load,
    pub rounds: Vec<Figures>,
    /// As many; none where the kernel has no programs.
    pub kernel: Vec<KernelCost>,
}

impl Cell {
    /// The middle of the rounds.
    pub fn spread(&self, of: impl Fn(&Figures) -> f64) -> Spread {
        Spread::of(self.rounds.iter().map(of)).expect("every cell has at least one round")
    }

    /// Likewise of the programs in the kernel.
    pub fn kernel(&self, of: impl Fn(&KernelCost) -> f64) -> Option<Spread> {
        Spread::of(self.kernel.iter().map(of))
    }

    /// CPU time over another's in the same round; then the middle of the rounds.
    pub fn over(&self, to: &Self) -> Spread {
        let pairs = self.rounds.iter().zip(&to.rounds);
        Spread::of(pairs.map(|(ours, theirs)| ours.cpu_us / theirs.cpu_us))
            .expect("every cell has at least one round")
    }
}

/// Drives a load for a while.
pub fn drive(site: &Site, stand: &Stand<'_>, load: &Load, time: Duration) -> Result<Figures> {
    let (said, cpu, front_ns, did) = {
        let before = (stand.counters()?, stand.front_cpu_ns()?, Busy::now()?);
        let said = client(site, stand, load, time)?;
        let busy = Busy::now()?.since(&before.2);
        let front_ns = stand.front_cpu_ns()?.zip(before.1).map(|(now, then)| now - then);
        (said, busy, front_ns, stand.counters()?.since(&before.0))
    };
    let judge = || -> Result<Figures> {
        let summary = Summary::of(&said, load.bytes)?;
        let requests = summary.field("requests")?;
        stand.judge(&did, load, requests)?;
        Ok(Figures {
            cpu_us: cpu.as_secs_f64() * 1e6 / requests as f64,
            front_cpu_us: front_ns.map(|ns| ns as f64 / 1e3 / requests as f64),
            requests_per_second: summary.requests_per_second()?,
            p50_us: summary.field("p50_us")?,
            p99_us: summary.field("p99_us")?,
            moved: did.moved as f64 / requests as f64,
        })
    };
    judge().with_context(|| format!("{}, {}:\n{said}", stand.mode.name(), load.name))
}

/// The same, shorter, while the kernel takes the time of its programs.
pub fn weigh(site: &Site, stand: &Stand<'_>, load: &Load, time: Duration) -> Result<KernelCost> {
    let counting = Counting::on()?;
    let before = kernel::times(site.bed())?;
    let said = client(site, stand, load, time)?;
    let after = kernel::times(site.bed())?;
    drop(counting);
    let requests = Summary::of(&said, load.bytes)?.field("requests")? as f64;
    let (front, back) = (after.0.since(before.0), after.1.since(before.1));
    Ok(KernelCost {
        front_us: front.run_ns as f64 / 1e3 / requests,
        back_us: back.run_ns as f64 / 1e3 / requests,
        front_packets: front.runs as f64 / requests,
        back_packets: back.runs as f64 / requests,
    })
}

/// Our client, as a process of its own on the client's machine: what it says at its end.
fn client(site: &Site, stand: &Stand<'_>, load: &Load, time: Duration) -> Result<String> {
    let this = std::env::current_exe()?.display().to_string();
    let (address, bytes) = (stand.address.to_string(), load.bytes.to_string());
    let run_ms = time.as_millis().to_string();
    let mut command = vec![&*this, "client", &address, &bytes, &run_ms];
    command.extend(site.paths(stand.mode, load));
    command.extend(load.close.then_some("--close"));
    site.start(Host::Client, "client", &command)?.finish()
}

/// CPU time for each request of `direct` with wrk instead of our client, microseconds: how far the
/// two are apart. `None` without wrk.
pub fn with_wrk(site: &Site, load: &Load, seconds: u64) -> Result<Option<f64>> {
    let stand = site.stand(Mode::Direct, load)?;
    let script = site.write_script(include_str!("../measure/load.lua"))?;
    let (threads, connections) = (THREADS.to_string(), (THREADS * CONNECTIONS).to_string());
    let url = format!("http://{}{}", stand.address, load.path);
    let time = format!("{seconds}s");
    let command = ["wrk", "-t", &threads, "-c", &connections, "-d", &time, "-s", &script, &url];
    let before = Busy::now()?;
    let Ok(said) = site.start(Host::Client, "wrk", &command)?.finish() else { return Ok(None) };
    let cpu = Busy::now()?.since(&before);
    let requests = Summary::of(&said, load.bytes)?.field("requests")?;
    Ok(Some(cpu.as_secs_f64() * 1e6 / requests as f64))
}
