//! Aron, Sanders, Druschel, Zwaenepoel: *Scalable Content-aware Request Distribution in
//! Cluster-based Network Servers*, USENIX ATC 2000.
//!
//! Every node is a distributor and a server, one more is the dispatcher; beside it the conventional
//! cluster with one front-end. The policy is LARD, the servers are Apache, connections are
//! HTTP/1.0 and enter as others leave. The number on the horizontal axis is that of the nodes that
//! serve, as in the paper: neither the front-end nor the dispatcher is counted.

mod claims;

pub(super) use claims::CLAIMS;

use crate::cluster::cost::{APACHE_ATHLON, CACHE_ATHLON, DistributedCost, FrontCost};
use crate::cluster::{Arrivals, Chooser, Report, Script, Setup, run};
use crate::{Axis, Row, Run, Scale, Study, Traces};
use policy::Dice;
use std::sync::Arc;
use workload::synth::{Facts, IBM, RICE, Structure, Twin};

/// The curve of the paper's proposal.
const DISTRIBUTED: &str = "distributed";
/// The curve of one front-end with TCP hand-off.
const SINGLE: &str = "single front-end";

const COLUMNS: &[&str] =
    &["connections/s", "miss ratio", "cpu", "disk", "front-end", "dispatcher", "batch", "delay ms"];

const NODES: Axis = Axis::linear("nodes that serve");
const RATE: Axis = Axis::linear("connections/s");

/// Nodes of the 300 MHz cluster, and what the figures of the 800 MHz cluster go up to.
const SMALL: [u16; 9] = [1, 2, 3, 4, 5, 6, 8, 10, 12];
const LARGE: [u16; 8] = [1, 2, 4, 6, 8, 10, 12, 16];

/// Share of the connections that enter before anything is measured.
const WARM_UP: f64 = 0.4;

pub(super) const STUDIES: &[Study] = &[
    Study {
        id: "scalable-9",
        title: "Small cached files: throughput over nodes",
        source: "USENIX 2000, Fig. 9",
        x: NODES,
        y: RATE,
        columns: COLUMNS,
        caption: |scale| {
            let count = small_connections(scale);
            format!(
                "{SMALL_FILES} files of 5 KB by chance, {count} connections, warm. {}",
                machines(&PENTIUM)
            )
        },
        runs: |_, scale| {
            let script = Arc::new(small_files(small_connections(scale)));
            sweep(&script, &PENTIUM, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        },
    },
    Study {
        id: "scalable-12",
        title: "IBM trace: throughput over nodes",
        source: "USENIX 2000, Fig. 12",
        x: NODES,
        y: RATE,
        columns: COLUMNS,
        caption: |scale| caption(&IBM, scale, &PENTIUM),
        runs: |traces, scale| sweep(&twin(traces, &IBM, scale), &PENTIUM, &SMALL),
    },
    Study {
        id: "scalable-13",
        title: "Rice trace: throughput over nodes",
        source: "USENIX 2000, Fig. 13",
        x: NODES,
        y: RATE,
        columns: COLUMNS,
        caption: |scale| caption(&RICE, scale, &PENTIUM),
        runs: |traces, scale| sweep(&twin(traces, &RICE, scale), &PENTIUM, &SMALL),
    },
    Study {
        id: "scalable-14",
        title: "Rice trace on 800 MHz nodes: throughput over nodes",
        source: "USENIX 2000, Fig. 14",
        x: NODES,
        y: RATE,
        columns: COLUMNS,
        caption: |scale| caption(&RICE, scale, &ATHLON),
        runs: |traces, scale| sweep(&twin(traces, &RICE, scale), &ATHLON, &LARGE),
    },
    Study {
        id: "scalable-load",
        title: "Up to 32 nodes: utilisation of the dispatcher over connections/s",
        source: "ours; USENIX 2000 predicts 50,000 connections/s",
        x: Axis::linear("connections/s"),
        y: Axis::linear("busy share of the dispatcher"),
        columns: &["dispatcher", "nodes", "batch"],
        caption: |scale| {
            let count = small_connections(scale);
            format!(
                "{SMALL_FILES} files of 5 KB by chance, {count} connections, warm, 1 to 32 \
                 nodes. {}",
                machines(&ATHLON)
            )
        },
        runs: dispatcher_load,
    },
    Study {
        id: "scalable-delay",
        title: "Mean delay of a request while the cluster is lightly loaded",
        source: "ours; USENIX 2000, abstract",
        x: NODES,
        y: Axis::linear("mean delay in ms"),
        columns: &["delay ms", "connections/s"],
        caption: |scale| {
            let count = small_connections(scale) / 4;
            format!(
                "{SMALL_FILES} files of 5 KB by chance, {count} connections at \
                 {LIGHT_LOAD} a second for each node, by chance. {}",
                machines(&PENTIUM)
            )
        },
        runs: light_load,
    },
];

/// Connections a second for each node when delays are compared: a tenth of what Apache serves.
const LIGHT_LOAD: f64 = 60.0;

/// What a cluster is made of.
struct Machines {
    name: &'static str,
    node: fn(u16) -> Setup,
    front: FrontCost,
    distributed: DistributedCost,
}

const PENTIUM: Machines = Machines {
    name: "300 MHz Pentium II, Apache, 85 MB of cache",
    node: |nodes| Setup::phttp(nodes, model::CpuCost::APACHE, lard()),
    front: FrontCost::HANDOFF,
    distributed: DistributedCost::PENTIUM_300,
};

const ATHLON: Machines = Machines {
    name: "800 MHz Athlon, Apache, 213 MB of cache",
    node: |nodes| {
        let mut setup = Setup::phttp(nodes, APACHE_ATHLON, lard());
        setup.node.cache_bytes = CACHE_ATHLON;
        setup
    },
    front: FrontCost::HANDOFF_ATHLON,
    distributed: DistributedCost::ATHLON_800,
};

fn lard() -> Chooser {
    Chooser::named("lard").expect("LARD is a row")
}

fn machines(machines: &Machines) -> String {
    format!("LARD, HTTP/1.0, 65 connections a node; {}. Seed 1.", machines.name)
}

fn caption(facts: &Facts, scale: Scale, machines_: &Machines) -> String {
    let requests = requests(facts, scale);
    let warm = WARM_UP * 100.0;
    format!(
        "Synthetic twin of the {} trace, {requests} requests, the first {warm:.0} % not \
         measured. {}",
        facts.name,
        machines(machines_)
    )
}

/// The twins need their natural length, see [`Twin::natural_requests`].
fn requests(facts: &Facts, scale: Scale) -> u32 {
    match scale {
        Scale::Full => facts.requests,
        Scale::Quick => 300_000,
    }
}

fn small_connections(scale: Scale) -> u32 {
    match scale {
        Scale::Full => 400_000,
        Scale::Quick => 40_000,
    }
}

/// Small files, as many as spread over all nodes and are soon in memory.
const SMALL_FILES: u32 = 300;
const SMALL_BYTES: u64 = 5 * 1024;

/// The files by chance.
fn small_files(connections: u32) -> Script {
    let mut dice = Dice::new(1);
    let mut script = Script::new((0..SMALL_FILES).map(|_| SMALL_BYTES));
    for _ in 0..connections {
        script.batch([dice.below(SMALL_FILES as usize) as u32]);
        script.close();
    }
    script
}

fn twin(traces: &mut Traces, facts: &Facts, scale: Scale) -> Arc<Script> {
    let requests = requests(facts, scale);
    let trace = traces.get(&format!("{} {requests} independent", facts.name), || {
        let twin = Twin { requests, structure: Structure::Independent, ..Twin::new(*facts) };
        twin.trace().expect("the published facts fit this many requests")
    });
    Arc::new(Script::singles(&trace))
}

fn setup(machines: &Machines, curve: &str, nodes: u16) -> Setup {
    let mut setup = (machines.node)(nodes);
    setup.warm_up = WARM_UP;
    if curve == DISTRIBUTED {
        setup.distributed = Some(machines.distributed);
    } else {
        setup.front = machines.front;
    }
    setup
}

/// Both clusters at each of these sizes.
fn sweep(script: &Arc<Script>, machines: &'static Machines, sizes: &[u16]) -> Vec<Run> {
    let mut runs = Vec::new();
    for curve in [DISTRIBUTED, SINGLE] {
        for &nodes in sizes {
            let script = Arc::clone(script);
            runs.push(Run::new(format!("{curve}, {nodes} nodes"), move || {
                let report = run(&setup(machines, curve, nodes), &script);
                vec![Row::new(curve, f64::from(nodes), values(&report))]
            }));
        }
    }
    runs
}

fn values(report: &Report) -> Vec<f64> {
    vec![
        report.throughput_rps,
        report.miss_ratio,
        report.node_mean(|node| node.cpu),
        report.node_mean(|node| node.disk),
        report.front,
        report.dispatcher,
        report.batch_mean,
        report.delay_mean.as_secs_f64() * 1e3,
    ]
}

fn dispatcher_load(_: &mut Traces, scale: Scale) -> Vec<Run> {
    let script = Arc::new(small_files(small_connections(scale)));
    let size = |nodes: u16| {
        let script = Arc::clone(&script);
        Run::new(format!("dispatcher, {nodes} nodes"), move || {
            let report = run(&setup(&ATHLON, DISTRIBUTED, nodes), &script);
            let values = vec![report.dispatcher, f64::from(nodes), report.batch_mean];
            vec![Row::new(DISTRIBUTED, report.throughput_rps, values)]
        })
    };
    [1, 2, 4, 8, 12, 16, 20, 24, 28, 32].map(size).into()
}

fn light_load(_: &mut Traces, scale: Scale) -> Vec<Run> {
    let script = Arc::new(small_files(small_connections(scale) / 4));
    let mut runs = Vec::new();
    for curve in [DISTRIBUTED, SINGLE] {
        for nodes in [2, 4, 8, 16] {
            let script = Arc::clone(&script);
            runs.push(Run::new(format!("{curve}, {nodes} nodes, light load"), move || {
                let mut setup = setup(&PENTIUM, curve, nodes);
                setup.arrivals = Arrivals::Poisson(LIGHT_LOAD * f64::from(nodes));
                let report = run(&setup, &script);
                let values = vec![report.delay_mean.as_secs_f64() * 1e3, report.throughput_rps];
                vec![Row::new(curve, f64::from(nodes), values)]
            }));
        }
    }
    runs
}
