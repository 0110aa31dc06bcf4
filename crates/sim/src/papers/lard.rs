//! Pai, Aron, Banga, Svendsen, Druschel, Zwaenepoel, Nahum: *Locality-Aware Request Distribution
//! in Cluster-based Network Servers*, ASPLOS 1998.
//!
//! The simulations of the paper's section 4 over synthetic twins of its two logs: throughput, miss
//! ratio, under-utilised time and delay by cluster size, the effects of faster processors and of
//! more disks, a working set that fits one node, and hot targets. The figures' numbers are not
//! known; the claims are the paper's sentences.

mod claims;

pub(super) use claims::CLAIMS;

use crate::cluster::points::{COLUMNS, Lazy, point, singles};
use crate::cluster::{Chooser, Setup};
use crate::{Axis, Run, Scale, Study, Traces};
use model::{CachePolicy, CpuCost};
use workload::synth::{CHESS, Facts, Hot, IBM_1998, RICE_1998, Twin, Zipf};

const NODES: Axis = Axis::linear("nodes");
const THROUGHPUT: Axis = Axis::linear("throughput (requests/s)");

/// Curves of the paper, with the policies' names here.
const POLICIES: [(&str, &str); 5] = [
    ("LARD", "lard"),
    ("LARD/R", "lard-r"),
    ("WRR", "wrr"),
    ("LB", "target-hash"),
    ("LB/GC", "lb-gc"),
];

/// Nodes where a figure does not vary them.
const CLUSTER: u16 = 8;
const HOT_CLUSTER: u16 = 16;

/// Its figures.
pub(super) const STUDIES: &[Study] = &[
    Study {
        id: "lard-throughput-rice",
        title: "Throughput on the Rice twin",
        source: "LARD, section 4",
        x: NODES,
        y: THROUGHPUT,
        columns: COLUMNS,
        caption: |scale| caption(scale, &RICE_1998),
        runs: |traces, scale| by_nodes(traces, scale, RICE_1998),
    },
    Study {
        id: "lard-throughput-ibm",
        title: "Throughput on the IBM twin",
        source: "LARD, section 4",
        x: NODES,
        y: THROUGHPUT,
        columns: COLUMNS,
        caption: |scale| caption(scale, &IBM_1998),
        runs: |traces, scale| by_nodes(traces, scale, IBM_1998),
    },
    Study {
        id: "lard-cpu",
        title: "Faster processors, 8 nodes, IBM twin",
        source: "LARD, section 4",
        x: Axis::linear("speed of the CPU (1: Pentium II at 300 MHz)"),
        y: THROUGHPUT,
        columns: COLUMNS,
        caption: |scale| caption(scale, &IBM_1998),
        runs: by_speed,
    },
    Study {
        id: "lard-disks",
        title: "More disks, Rice twin",
        source: "LARD, section 4",
        x: NODES,
        y: THROUGHPUT,
        columns: COLUMNS,
        caption: |scale| caption(scale, &RICE_1998),
        runs: by_disks,
    },
    Study {
        id: "lard-lru",
        title: "Least recently used instead of Greedy-Dual-Size",
        source: "sensitivity",
        x: NODES,
        y: THROUGHPUT,
        columns: COLUMNS,
        caption: |scale| {
            let rice = "LRU instead of GDS(1); the IBM twin has as many requests as elsewhere.";
            format!("{rice} {}", caption(scale, &RICE_1998))
        },
        runs: with_lru,
    },
    Study {
        id: "lard-chess",
        title: "A working set that fits one node",
        source: "LARD, section 4",
        x: NODES,
        y: THROUGHPUT,
        columns: COLUMNS,
        caption: |scale| caption(scale, &CHESS),
        runs: |traces, scale| by_nodes(traces, scale, CHESS),
    },
    Study {
        id: "lard-hot",
        title: "Two hot targets, 16 nodes, Zipf",
        source: "LARD, section 4",
        x: Axis::linear("requests for the hot targets (%)"),
        y: THROUGHPUT,
        columns: COLUMNS,
        caption: |scale| {
            format!(
                "20,000 targets of 12 KB on average, exponent 0.8; {} requests, one a connection. \
                 {}",
                requests(scale, None),
                conditions(),
            )
        },
        runs: by_heat,
    },
];

/// Requests of a run: of the twin, enough for its published figures, or of any.
fn requests(scale: Scale, facts: Option<&Facts>) -> u32 {
    match (scale, facts) {
        (Scale::Quick, _) => 300_000,
        // From 3.2 million on a small cache sees the IBM twin's natural popularity; see `Twin`.
        (Scale::Full, Some(facts)) if facts.name == IBM_1998.name => 3_200_000,
        (Scale::Full, Some(facts)) if facts.name == CHESS.name => 400_000,
        (Scale::Full, _) => 1_200_000,
    }
}

/// Share of the requests before the measurement. Chosen: content-blind distribution fills sixteen
/// caches with the same targets one after the other, and the first half of a trace is its filling.
const WARM_UP: f64 = 0.5;

fn conditions() -> String {
    format!(
        "Caches of 32 MB a node under GDS(1), one disk, S = (n-1) 65 + 25 - 1 connections, the \
         front-end free of charge; the first {:.0} % not measured; seed 1.",
        WARM_UP * 100.0
    )
}

fn caption(scale: Scale, facts: &Facts) -> String {
    let requests = requests(scale, Some(facts));
    format!("{requests} requests of the {} twin, one a connection. {}", facts.name, conditions())
}

fn twin(traces: &mut Traces, scale: Scale, facts: Facts) -> Lazy {
    let requests = requests(scale, Some(&facts));
    let trace = traces.get(&format!("{} {requests}", facts.name), || {
        let twin = Twin { requests, ..Twin::new(facts) };
        twin.trace().expect("300,000 requests are enough for every twin")
    });
    singles(&trace)
}

fn setup(nodes: u16, policy: &str) -> Setup {
    let chooser = Chooser::named(policy).expect("the policies of the paper are listed");
    Setup { warm_up: WARM_UP, ..Setup::asplos(nodes, chooser) }
}

fn by_nodes(traces: &mut Traces, scale: Scale, facts: Facts) -> Vec<Run> {
    let script = twin(traces, scale, facts);
    let sizes: &[u16] = match scale {
        Scale::Quick => &[1, 4, 16],
        Scale::Full => &[1, 2, 4, 6, 8, 12, 16],
    };
    let points = sizes.iter().flat_map(|nodes| POLICIES.map(|policy| (*nodes, policy)));
    let mut runs: Vec<Run> = points
        .map(|(nodes, (curve, policy))| point(curve, nodes.into(), setup(nodes, policy), &script))
        .collect();
    runs.extend(sizes.iter().map(|&nodes| {
        let setup = Setup { global_memory: true, ..setup(nodes, "wrr") };
        point("WRR/GMS", nodes.into(), setup, &script)
    }));
    runs
}

/// The paper varied the speed of CPUs; memory and disks stay as they are here.
fn by_speed(traces: &mut Traces, scale: Scale) -> Vec<Run> {
    let script = twin(traces, scale, IBM_1998);
    let points =
        [1, 2, 3, 4].into_iter().flat_map(|speed| [POLICIES[1], POLICIES[2]].map(|p| (speed, p)));
    points
        .map(|(speed, (curve, policy))| {
            let mut setup = setup(CLUSTER, policy);
            let CpuCost { connect, close, request, send_512 } = setup.node.cpu;
            setup.node.cpu = CpuCost {
                connect: connect / speed,
                close: close / speed,
                request: request / speed,
                send_512: send_512 / speed,
            };
            point(curve, speed.into(), setup, &script)
        })
        .collect()
}

/// Cluster sizes where other things vary too.
fn few_sizes(scale: Scale) -> &'static [u16] {
    match scale {
        Scale::Quick => &[8],
        Scale::Full => &[4, 8, 16],
    }
}

fn by_disks(traces: &mut Traces, scale: Scale) -> Vec<Run> {
    let script = twin(traces, scale, RICE_1998);
    let mut runs = Vec::new();
    for &nodes in few_sizes(scale) {
        for disks in [1, 2, 4] {
            for (curve, policy) in [POLICIES[1], POLICIES[2]] {
                let mut setup = setup(nodes, policy);
                setup.node.disks = disks;
                runs.push(point(format!("{curve}, disks: {disks}"), nodes.into(), setup, &script));
            }
        }
    }
    runs
}

fn with_lru(traces: &mut Traces, scale: Scale) -> Vec<Run> {
    let mut runs = Vec::new();
    for (name, facts) in [("Rice", RICE_1998), ("IBM", IBM_1998)] {
        let script = twin(traces, scale, facts);
        for &nodes in few_sizes(scale) {
            for (curve, policy) in [POLICIES[1], POLICIES[2]] {
                let setup = setup(nodes, policy).with_cache(CachePolicy::Lru);
                runs.push(point(format!("{curve}, {name}"), nodes.into(), setup, &script));
            }
        }
    }
    runs
}

fn by_heat(traces: &mut Traces, scale: Scale) -> Vec<Run> {
    let requests = requests(scale, None);
    let mut runs = Vec::new();
    for percent in [0_u8, 10, 20, 30, 40, 50] {
        let hot = Some(Hot { targets: 2, share: f64::from(percent) / 100.0 });
        let zipf = Zipf { targets: 20_000, exponent: 0.8, hot, requests, ..Zipf::default() };
        let trace = traces.get(&format!("hot {percent} {requests}"), || {
            zipf.trace().expect("all figures are within their ranges")
        });
        let script = singles(&trace);
        for (curve, policy) in &POLICIES[..3] {
            runs.push(point(*curve, percent.into(), setup(HOT_CLUSTER, policy), &script));
        }
    }
    runs
}
