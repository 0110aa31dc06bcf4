//! Andreolini, Colajanni, Nuccio, WWW 2003: the stress test, one small file by servers.

use super::closed::{Closed, Window};
use super::cluster::{Cluster, by_request, closing};
use super::peers::Program;
use super::picture::Picture;
use super::{Experiment, Front, Job, Row, Size};
use crate::demo::catalogue;
use anyhow::Result;
use model::CpuCost;
use serde::Deserialize;
use std::sync::Arc;
use workload::Plan;
use workload::draw::Draw;
use workload::synth::Zipf;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "clubweb-static",
    title: "ClubWeb's stress test: a 1.5 KB file over 1 to 8 servers",
    source: "after Andreolini, Colajanni, Nuccio, WWW 2003, Figs. 7 and 8",
    paper: "A switch in Linux' kernel before up to seven servers (two Pentium III, 833 MHz, Apache \
            2.0) on a LAN of 100 Mb/s, httperf asking for a file of about 1.5 KB, a connection for \
            each request: throughput grew nearly linearly until the LAN was full. A TCP gateway \
            (Apache with mod_rewrite and mod_proxy) gave in at two servers, about 600 \
            connections a second.",
    here: "Real: client, sockets, the switch as a two-way relay with one worker, HAProxy, nginx \
           and Apache as programs with one thread or process each (settings in experiments/peers). \
           Emulated: the servers, 866 requests a second each (Apache's costs of P-HTTP), all in \
           the model's time. No LAN: loopback never fills, so what a wire of 100 Mb/s would carry \
           is a line of arithmetic. In the second part servers take no time at all, until what \
           stands before them gives in.",
    left_out: "",
    scenario: include_str!("../../experiments/clubweb-static/scenario.toml"),
    plan,
    pictures: &[
        Picture::new("small-file", "requests_s", "A 1.5 KB file: connections a second", "servers"),
        Picture::new("small-file", "megabits_s", "A 1.5 KB file: Mb/s of content", "servers"),
        Picture::new("saturation", "requests_s", "Servers without delay", "sessions at a time"),
        Picture::new("saturation", "front_us", "CPU for a connection", "sessions at a time"),
    ],
    columns: &["requests_s", "megabits_s", "p99_ms", "front_us", "front_cpu"],
};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    bytes: u32,
    scale: f64,
    sessions_per_server: usize,
    saturation_servers: usize,
    saturation_sessions: Vec<usize>,
    full: Extent,
    quick: Extent,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    servers: Vec<usize>,
    warm_s: f64,
    measure_s: f64,
    repeats: u32,
    saturation_s: f64,
    saturation_repeats: u32,
}

/// More than are asked for in any point: what ends a point is its time.
const REQUESTS: u32 = 400_000;

fn fronts() -> Vec<(&'static str, Front)> {
    let mut all = vec![("Baton relay", Front::relay("name = \"round-robin\""))];
    let peers = [
        ("HAProxy", Program::HaProxy),
        ("nginx", Program::Nginx),
        ("Apache TCP gateway", Program::Apache),
    ];
    all.extend(
        peers
            .iter()
            .filter(|(_, peer)| peer.is_there())
            .map(|(name, peer)| (*name, Front::Peer(*peer))),
    );
    all
}

fn plan(scenario: &str, size: Size) -> Result<Vec<Job>> {
    let scenario: Scenario = toml::from_str(scenario)?;
    let extent = match size {
        Size::Full => scenario.full.clone(),
        Size::Quick => scenario.quick.clone(),
    };
    let one = Zipf {
        targets: 1,
        sizes: Draw::Constant(scenario.bytes.into()),
        requests: REQUESTS,
        ..Zipf::default()
    };
    let plan = closing(one.trace()?);
    let fronts = fronts();
    let mut jobs = Vec::new();
    let mut add = |row: Row, servers: usize, sessions: usize, scale: f64, front: &Front, s: f64| {
        let closed = closed(&plan, sessions, (extent.warm_s, s));
        let cluster = Cluster {
            servers,
            cache_bytes: 1 << 20,
            cpu: by_request(CpuCost::APACHE, 1.0),
            time_scale: scale,
            sizes: catalogue(&plan),
        };
        let front = front.clone();
        let label = format!("{}, {}, {}, {}", row.case, row.curve, row.x, row.repeat);
        let work = move |lab: &_, row: &_| closed.measure(lab, &front, cluster.configs(), row);
        jobs.push(Job::new(row, label, extent.warm_s + s, work));
    };
    for repeat in 1..=extent.repeats {
        for servers in &extent.servers {
            for (curve, front) in &fronts {
                let row = Row::new("small-file", curve, *servers as f64, repeat);
                let sessions = servers * scenario.sessions_per_server;
                add(row, *servers, sessions, scenario.scale, front, extent.measure_s);
            }
        }
    }
    for repeat in 1..=extent.saturation_repeats {
        for sessions in &scenario.saturation_sessions {
            for (curve, front) in &fronts {
                let row = Row::new("saturation", curve, *sessions as f64, repeat);
                let servers = scenario.saturation_servers;
                add(row, servers, *sessions, 0.0, front, extent.saturation_s);
            }
        }
    }
    Ok(jobs)
}

fn closed(plan: &Arc<Plan>, sessions: usize, (warm_s, measure_s): (f64, f64)) -> Closed {
    Closed {
        plan: Arc::clone(plan),
        sessions,
        pipelining: false,
        window: Window::Seconds { warm: warm_s, measured: measure_s },
    }
}
