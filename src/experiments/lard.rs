//! Pai and others, ASPLOS 1998: the prototype, by nodes.

use super::closed::{Closed, Window, about_s};
use super::cluster::{Cluster, by_request, divided, kept};
use super::peers::Program;
use super::picture::Picture;
use super::{Experiment, Front, Job, Row, Size};
use crate::demo::{TRACE_NAME, catalogue, plan as real_plan, sessions};
use anyhow::{Context, Result, bail, ensure};
use model::CpuCost;
use serde::Deserialize;
use std::sync::Arc;
use workload::Plan;
use workload::synth::{Facts, IBM_1998, RICE_1998, Twin};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "lard",
    title: "LARD's prototype: throughput and hit ratio by nodes",
    source: "after Pai and others, ASPLOS 1998",
    paper: "A front-end in FreeBSD's kernel handed connections to six servers (Pentium II, 300 \
            MHz, Apache); clients played the Rice log as fast as it was answered. LARD/R served \
            about 2.5 times as much as WRR; the simulations of the same paper went to 16 nodes.",
    here: "Real: client, sockets, the switch with its decisions and books, HAProxy. Emulated: the \
           servers' CPU, disk and cache (costs of ASPLOS 1998, 32 MB under Greedy-Dual-Size). A \
           relay routes each request of a connection by itself; servers are charged with a \
           connection's set-up for each request, as the paper's were. Rice and IBM are twins with \
           an eighth of all that has a size; the real trace is the one that ships, three sites \
           merged. Forty thousand requests for as many targets as an eighth of the log has make \
           popularity flatter than it was there, and the same warm-up leaves the caches of many \
           nodes colder: hit ratios are lower than published, which helps whoever has locality. \
           LARD/R's K of 20 s is longer than most points. Everybody is measured on the same \
           requests, but for those whose 40 s end before; repeats are of other twins, or of the \
           next part of the real trace.",
    left_out: "IBM's twin and the real trace with other than eight servers; our own bounded \
               hashing where no claim is judged; repeats there",
    scenario: include_str!("../../experiments/lard/scenario.toml"),
    plan,
    pictures: &[
        Picture::new("rice", "requests_s", "Rice twin: throughput", NODES),
        Picture::new("rice", "hit_ratio", "Rice twin: hit ratio", NODES),
        Picture::new("ibm", "requests_s", "IBM twin: throughput", NODES),
        Picture::new("ibm", "hit_ratio", "IBM twin: hit ratio", NODES),
        Picture::new("three-sites", "requests_s", "Real merged trace: throughput", NODES),
        Picture::new("three-sites", "hit_ratio", "Real merged trace: hit ratio", NODES),
    ],
    columns: &["requests_s", "hit_ratio", "p99_ms", "utilisation_mean", "front_cpu"],
};

const NODES: &str = "nodes";

/// What the scenario says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    part: u32,
    cache_mib: u64,
    requests: u32,
    real_cache_share: f64,
    balance_factor: u32,
    haproxy_factors: Vec<u32>,
    haproxy_repeated: usize,
    warm_requests: u64,
    measured_requests: u64,
    seconds_max: f64,
    full: Vec<Extent>,
    quick: Vec<Extent>,
}

/// Points of one workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    workload: String,
    nodes: Vec<usize>,
    scale: Vec<f64>,
    /// With so many nodes everybody is measured, and those whom claims are about so often.
    close_nodes: Vec<usize>,
    repeats: u32,
}

/// A workload in one of its repeats, and the cache of a server for it.
struct Case {
    name: &'static str,
    plan: Arc<Plan>,
    cache_bytes: u64,
    /// Requests before the measurement.
    warm: u64,
}

/// Who is compared.
struct Contender {
    curve: String,
    front: Front,
    /// Measured with each number of nodes, or only with those that claims are about.
    far: bool,
    /// Measured again and again there.
    again: bool,
}

fn contenders(scenario: &Scenario) -> Vec<Contender> {
    let ours = |curve: &str, lines: String, far, again| Contender {
        curve: curve.to_owned(),
        front: Front::relay(lines),
        far,
        again,
    };
    let named = |name: &str| format!("name = \"{name}\"");
    let bounded =
        format!("{}\nbalance_factor = {}", named("bounded-hash"), scenario.balance_factor);
    let mut all = vec![
        ours("WRR", named("wrr"), true, true),
        ours("LARD", named("lard"), true, false),
        ours("LARD/R", named("lard-r"), true, true),
        ours("bounded hashing", bounded, false, false),
    ];
    if Program::HaProxy.is_there() {
        all.extend(scenario.haproxy_factors.iter().zip(0..).map(|(factor, place)| Contender {
            curve: format!("{HAPROXY} {factor}"),
            front: Front::Peer(Program::HaProxyBounded(*factor)),
            far: *factor == scenario.balance_factor,
            again: place < scenario.haproxy_repeated,
        }));
    }
    all
}

/// HAProxy's curves begin so; the factor follows.
pub(super) const HAPROXY: &str = "HAProxy bounded hashing";

fn plan(scenario: &str, size: Size) -> Result<Vec<Job>> {
    let scenario: Scenario = toml::from_str(scenario)?;
    let extents = if size == Size::Full { &scenario.full } else { &scenario.quick };
    let contenders = contenders(&scenario);
    let mut jobs = Vec::new();
    for extent in extents {
        let Extent { workload, nodes, scale, .. } = extent;
        ensure!(scale.len() == nodes.len(), "{workload}: a time scale for each number of nodes");
        for repeat in 1..=extent.repeats {
            let case = case(workload, &scenario, repeat)?;
            let needed = case.warm + scenario.measured_requests;
            let there = case.plan.trace.requests.len() as u64;
            ensure!(needed < there, "{workload}: {needed} requests are measured, it has {there}");
            for (nodes, scale) in nodes.iter().zip(scale) {
                let close = extent.close_nodes.contains(nodes);
                for contender in &contenders {
                    let first = repeat == 1 && (close || contender.far);
                    if first || (close && contender.again) {
                        jobs.push(job(&scenario, &case, (*nodes, *scale), contender, repeat));
                    }
                }
            }
        }
    }
    Ok(jobs)
}

/// Each repeat is of another twin, or of the next part of the real trace.
fn case(name: &str, scenario: &Scenario, repeat: u32) -> Result<Case> {
    let warm = scenario.warm_requests;
    let twin = |name, facts: &Facts| {
        let cache_bytes = (scenario.cache_mib << 20) / u64::from(scenario.part);
        Ok(Case { name, plan: twin(facts, scenario, repeat)?, cache_bytes, warm })
    };
    match name {
        "rice" => twin("rice", &RICE_1998),
        "ibm" => twin("ibm", &IBM_1998),
        TRACE_NAME => {
            let plan = Arc::new(real_plan(None)?);
            let cache_bytes = (plan.working_set_bytes as f64 * scenario.real_cache_share) as u64;
            let warm = warm + u64::from(repeat - 1) * scenario.measured_requests;
            Ok(Case { name: TRACE_NAME, plan, cache_bytes, warm })
        }
        _ => bail!("there is no workload {name}: rice, ibm or {TRACE_NAME}"),
    }
}

fn twin(facts: &Facts, scenario: &Scenario, repeat: u32) -> Result<Arc<Plan>> {
    let facts = divided(facts, scenario.part);
    let seed = u64::from(repeat);
    let twin = Twin { requests: scenario.requests, seed, ..Twin::new(facts) };
    Ok(kept(twin.trace().context("the twin cannot be made of so few requests")?))
}

fn job(
    scenario: &Scenario,
    case: &Case,
    (nodes, time_scale): (usize, f64),
    contender: &Contender,
    repeat: u32,
) -> Job {
    let row = Row::new(case.name, &contender.curve, nodes as f64, repeat);
    let closed = Closed {
        plan: Arc::clone(&case.plan),
        sessions: sessions(nodes),
        pipelining: false,
        window: Window::Requests {
            warm: case.warm,
            measured: scenario.measured_requests,
            seconds_max: scenario.seconds_max,
        },
    };
    let cluster = Cluster {
        servers: nodes,
        cache_bytes: case.cache_bytes,
        cpu: by_request(CpuCost::ASPLOS, 1.0),
        time_scale,
        sizes: catalogue(&case.plan),
    };
    let front = contender.front.clone();
    let label = format!("{}, {}, {nodes} nodes, {repeat}", row.case, row.curve);
    let about_s = about_s(case.warm + scenario.measured_requests, row.curve == "WRR");
    Job::new(row, label, about_s, move |lab, row| {
        closed.measure(lab, &front, cluster.configs(), row)
    })
}
