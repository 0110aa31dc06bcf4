//! Pai and others, ASPLOS 1998: the prototype, by nodes.

use super::closed::Closed;
use super::cluster::{Cluster, by_request, closing, divided, kept};
use super::peers::Program;
use super::picture::Picture;
use super::{Experiment, Front, Job, Row, Size};
use crate::demo::{TRACE_NAME, catalogue, plan as real_plan, sessions};
use anyhow::{Context, Result, bail, ensure};
use model::CpuCost;
use serde::Deserialize;
use std::sync::Arc;
use workload::Plan;
use workload::synth::{Facts, IBM_1998, RICE_1998, Structure, Twin};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "lard",
    title: "LARD's prototype: throughput and hit ratio by nodes",
    source: "Pai and others, ASPLOS 1998",
    paper: "A front-end in FreeBSD's kernel handed connections to six servers (Pentium II, 300 \
            MHz, Apache); clients played the Rice log as fast as it was answered. LARD/R served \
            about 2.5 times as much as WRR; the simulations of the same paper went to 16 nodes.",
    here: "Real: client, sockets, the switch with its decisions and books, HAProxy. Emulated: the \
           servers' CPU, disk and cache (costs of ASPLOS 1998, 32 MB under Greedy-Dual-Size). A \
           relay routes each request of a connection by itself; servers are charged with a \
           connection's set-up for each request, as the paper's were. Rice and IBM are twins with \
           an eighth of all that has a size; the real trace is the one that ships, three sites \
           merged.",
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
    warm_share: f64,
    warm_s_max: f64,
    measure_s_max: f64,
    full: Extent,
    quick: Extent,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    workloads: Vec<String>,
    nodes: Vec<usize>,
    repeats: u32,
    close_nodes: Vec<usize>,
    close_repeats: u32,
    rice_scale: Vec<f64>,
    ibm_scale: Vec<f64>,
    real_scale: Vec<f64>,
}

/// A workload, and the cache of a server for it.
struct Case {
    name: &'static str,
    plan: Arc<Plan>,
    cache_bytes: u64,
    scales: Vec<f64>,
}

/// Who is compared: the name of the curve, what stands before the servers, and whether it belongs
/// to those whose distance is small.
fn contenders(factor: u32) -> Vec<(&'static str, Front, bool)> {
    let bounded = format!("name = \"bounded-hash\"\nbalance_factor = {factor}");
    let mut all = vec![
        ("WRR", Front::relay("name = \"wrr\""), false),
        ("LARD", Front::relay("name = \"lard\""), false),
        ("LARD/R", Front::relay("name = \"lard-r\""), true),
        ("bounded hashing", Front::relay(bounded), true),
    ];
    let peer = Program::HaProxyBounded(factor);
    if peer.is_there() {
        all.push(("HAProxy bounded hashing", Front::Peer(peer), true));
    }
    all
}

fn plan(scenario: &str, size: Size) -> Result<Vec<Job>> {
    let scenario: Scenario = toml::from_str(scenario)?;
    let extent = match size {
        Size::Full => scenario.full.clone(),
        Size::Quick => scenario.quick.clone(),
    };
    let contenders = contenders(scenario.balance_factor);
    let mut jobs = Vec::new();
    for name in &extent.workloads {
        let case = case(name, &scenario, &extent)?;
        ensure!(
            case.scales.len() == extent.nodes.len(),
            "{}: a time scale for each number of nodes",
            case.name
        );
        for (at, nodes) in extent.nodes.iter().enumerate() {
            let close = extent.close_nodes.contains(nodes);
            let most = if close { extent.close_repeats } else { extent.repeats };
            for repeat in 1..=most.max(extent.repeats) {
                for (curve, front, is_close) in &contenders {
                    if repeat > extent.repeats && !is_close {
                        continue;
                    }
                    let row = Row::new(case.name, curve, *nodes as f64, repeat);
                    jobs.push(job(&scenario, &case, (*nodes, case.scales[at]), front, row));
                }
            }
        }
    }
    Ok(jobs)
}

fn case(name: &str, scenario: &Scenario, extent: &Extent) -> Result<Case> {
    let twin = |name, facts: &Facts, scales: &[f64]| {
        let cache_bytes = (scenario.cache_mib << 20) / u64::from(scenario.part);
        Ok(Case { name, plan: twin(facts, scenario)?, cache_bytes, scales: scales.to_vec() })
    };
    match name {
        "rice" => twin("rice", &RICE_1998, &extent.rice_scale),
        "ibm" => twin("ibm", &IBM_1998, &extent.ibm_scale),
        TRACE_NAME => {
            let plan = Arc::new(real_plan(None)?);
            let cache_bytes = plan.working_set_bytes as f64 * scenario.real_cache_share;
            let (cache_bytes, scales) = (cache_bytes as u64, extent.real_scale.clone());
            Ok(Case { name: TRACE_NAME, plan, cache_bytes, scales })
        }
        _ => bail!("there is no workload {name}: rice, ibm or {TRACE_NAME}"),
    }
}

fn twin(facts: &Facts, scenario: &Scenario) -> Result<Arc<Plan>> {
    let facts = divided(facts, scenario.part);
    let twin = Twin { requests: scenario.requests, ..Twin::new(facts) };
    Ok(kept(twin.trace().context("the twin cannot be made of so few requests")?))
}

fn job(
    scenario: &Scenario,
    case: &Case,
    (nodes, time_scale): (usize, f64),
    front: &Front,
    row: Row,
) -> Job {
    let closed = Closed {
        plan: Arc::clone(&case.plan),
        sessions: sessions(nodes),
        pipelining: false,
        warm_share: scenario.warm_share,
        warm_s_max: scenario.warm_s_max,
        measure_s_max: scenario.measure_s_max,
    };
    let cluster = Cluster {
        servers: nodes,
        cache_bytes: case.cache_bytes,
        cpu: by_request(CpuCost::ASPLOS, 1.0),
        time_scale,
        sizes: catalogue(&case.plan),
    };
    let front = front.clone();
    let label = format!("{}, {}, {nodes} nodes, {}", row.case, row.curve, row.repeat);
    Job::new(label, POINT_S, move |lab| closed.measure(lab, &front, cluster.configs(), row))
}

/// About how long a point takes, in real seconds.
const POINT_S: f64 = 8.0;

/// The Rice twin of another experiment, with a connection for each request or with kept ones.
pub(super) fn rice(
    facts: &Facts,
    (requests, per_connection, seed): (u32, f64, u64),
) -> Result<(Arc<Plan>, Arc<Plan>)> {
    let structure = Structure::Pages;
    let twin = Twin { requests, per_connection, seed, structure, ..Twin::new(*facts) };
    let trace = twin.trace().context("the twin cannot be made of so few requests")?;
    Ok((closing(trace.clone()), kept(trace)))
}
