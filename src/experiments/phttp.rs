//! Aron, Druschel, Zwaenepoel, USENIX 1999: the prototype, with and without persistent connections.

use super::closed::{Closed, Window, about_s};
use super::cluster::{Cluster, by_request, closing, divided, kept, strayed};
use super::picture::Picture;
use super::{Experiment, Front, Job, Row, Size};
use crate::demo::catalogue;
use crate::exit::say;
use anyhow::{Context, Result, ensure};
use model::CpuCost;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use workload::Plan;
use workload::synth::{Facts, RICE, Structure, Twin};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "phttp",
    title: "Persistent connections: what a mechanism is worth",
    source: "after Aron, Druschel, Zwaenepoel, USENIX ATC 1999, Fig. 13",
    paper: "Six servers (Apache 1.3.3) behind a front-end in the kernel; the Rice log, clients as \
            fast as they were answered. Extended LARD with back-end forwarding served four times \
            as much as WRR, and up to 26 % more with persistent connections than without; LARD \
            whose first request decides for the connection lost up to 35 % by them.",
    here: "Real: client, sockets, the switch, its decisions, the servers' reports of their disk \
           queues. Emulated: the servers (Apache's costs, 85 MB caches; the Rice twin of 1999 with \
           an eighth of all that has a size). Not back-end forwarding, which needs network \
           namespaces and root (`make bench-oneway` measures what it costs): the relay itself \
           fetches each request's reply from whom the policy lard-ext names, so that forwarding \
           costs servers nothing; the paper puts such a front-end at most 8 % above. LARD without \
           a mechanism is `delivery = \"splice\"`: the kernel joins client and server after the \
           first request, for the whole connection. Connections' set-up is charged to servers by \
           request: whole with HTTP/1.0, divided by the mean requests of a connection with 1.1. Of \
           kept connections 30 % of the later requests stray from their page, as in the \
           simulator.",
    left_out: "other numbers of servers than six",
    scenario: include_str!("../../experiments/phttp/scenario.toml"),
    plan,
    pictures: &[
        Picture::new("rice", "requests_s", "Rice twin: throughput", "nodes"),
        Picture::new("rice", "hit_ratio", "Rice twin: hit ratio", "nodes"),
    ],
    columns: &["requests_s", "hit_ratio", "p99_ms", "utilisation_mean", "front_cpu"],
};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    part: u32,
    cache_mib: u64,
    requests: u32,
    per_connection: f64,
    strays: f64,
    reports_ms: u64,
    sessions_per_server: usize,
    warm_requests: u64,
    measured_requests: u64,
    seconds_max: f64,
    full: Extent,
    quick: Extent,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    nodes: Vec<usize>,
    scale: Vec<f64>,
    repeats: u32,
}

/// The one whose later requests are all for objects of their page, measured once.
pub(super) const UNSTRAYED: &str = "LARD HTTP/1.1 first decides (no strays)";

/// What is asked of a contender.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// A connection for each request.
    Closing,
    /// Connections are kept, and some of their requests stray.
    Kept,
    /// Connections are kept, and no request strays.
    Straight,
}

/// Who is compared: curve, front, and what is asked.
fn contenders(reports_ms: u64) -> Vec<(&'static str, Front, Asked)> {
    let lard = || "name = \"lard\"".to_owned();
    let reports = Some(Duration::from_millis(reports_ms));
    let extended =
        Front::Baton { policy: "name = \"lard-ext\"".to_owned(), delivery: "relay", reports };
    let mut all = vec![
        ("WRR HTTP/1.0", Front::relay("name = \"wrr\""), Asked::Closing),
        ("WRR HTTP/1.1", Front::relay("name = \"wrr\""), Asked::Kept),
        ("LARD HTTP/1.0", Front::relay(lard()), Asked::Closing),
        ("ext-LARD HTTP/1.1", extended, Asked::Kept),
    ];
    if rustix::process::geteuid().is_root() && cfg!(feature = "oneway") {
        let first = Front::Baton { policy: lard(), delivery: "splice", reports: None };
        all.push(("LARD HTTP/1.1 first decides", first.clone(), Asked::Kept));
        all.push((UNSTRAYED, first, Asked::Straight));
    } else {
        say(format_args!(
            "skipped: LARD without a mechanism, because delivery \"splice\" needs root and a baton \
             built with the feature oneway"
        ));
    }
    all
}

fn plan(scenario: &str, size: Size) -> Result<Vec<Job>> {
    let scenario: Scenario = toml::from_str(scenario)?;
    let extent = match size {
        Size::Full => scenario.full.clone(),
        Size::Quick => scenario.quick.clone(),
    };
    ensure!(extent.scale.len() == extent.nodes.len(), "a time scale for each number of nodes");
    let facts = divided(&RICE, scenario.part);
    let contenders = contenders(scenario.reports_ms);
    let requests = scenario.warm_requests + scenario.measured_requests;
    let mut jobs = Vec::new();
    for repeat in 1..=extent.repeats {
        let twin = rice(&facts, &scenario, u64::from(repeat))?;
        let sizes = catalogue(&twin.kept);
        for (nodes, time_scale) in extent.nodes.iter().zip(&extent.scale) {
            for (curve, front, asked) in &contenders {
                let (plan, share) = match asked {
                    Asked::Closing => (&twin.closing, 1.0),
                    Asked::Kept => (&twin.kept, scenario.per_connection),
                    Asked::Straight if repeat > 1 => continue,
                    Asked::Straight => (&twin.straight, scenario.per_connection),
                };
                let closed = Closed {
                    plan: Arc::clone(plan),
                    sessions: scenario.sessions_per_server * nodes,
                    pipelining: *asked != Asked::Closing,
                    window: Window::Requests {
                        warm: scenario.warm_requests,
                        measured: scenario.measured_requests,
                        seconds_max: scenario.seconds_max,
                    },
                };
                let cluster = Cluster {
                    servers: *nodes,
                    cache_bytes: (scenario.cache_mib << 20) / u64::from(scenario.part),
                    cpu: by_request(CpuCost::APACHE, share),
                    time_scale: *time_scale,
                    sizes: Arc::clone(&sizes),
                };
                let row = Row::new("rice", curve, *nodes as f64, repeat);
                let front = front.clone();
                let label = format!("{curve}, {nodes} nodes, {repeat}");
                let work =
                    move |lab: &_, row: &_| closed.measure(lab, &front, cluster.configs(), row);
                jobs.push(Job::new(row, label, about_s(requests, curve.starts_with("WRR")), work));
            }
        }
    }
    Ok(jobs)
}

/// The twin as it is asked.
struct Asks {
    closing: Arc<Plan>,
    kept: Arc<Plan>,
    straight: Arc<Plan>,
}

fn rice(facts: &Facts, scenario: &Scenario, seed: u64) -> Result<Asks> {
    let Scenario { requests, per_connection, strays, .. } = *scenario;
    let structure = Structure::Pages;
    let twin = Twin { requests, per_connection, seed, structure, ..Twin::new(*facts) };
    let trace = twin.trace().context("the twin cannot be made of so few requests")?;
    Ok(Asks {
        closing: closing(trace.clone()),
        straight: kept(trace.clone()),
        kept: kept(strayed(trace, strays, seed)),
    })
}
