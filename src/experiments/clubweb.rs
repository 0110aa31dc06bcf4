//! Andreolini, Colajanni, Nuccio, WWW 2003: the realistic workload, by offered load.

use super::picture::Picture;
use super::users::{Crowd, Servers, hurried};
use super::{Experiment, Front, Job, Row, Size};
use anyhow::Result;
use serde::Deserialize;
use sim::site::scenario::CLUBWEB_SERVER;
use std::sync::Arc;
use std::time::Duration;
use workload::visits::{CLUBWEB_CPU, CLUBWEB_DISK, Mix, Visits};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "clubweb",
    title: "ClubWeb's realistic workload: pages and throughput by offered load",
    source: "after Andreolini, Colajanni, Nuccio, WWW 2003, Figs. 9 and 10",
    paper: "Seven servers behind the switch in the kernel; users with SURGE's distributions, 40 % \
            static, 40 % lightly dynamic, 20 % heavy for the CPU or for the disk. CAP's \
            90-percentile of page response time is below LARD's for both models at every load, \
            and the switch's CPU is never above half busy.",
    here: "Real: users in open loop (a page's time counts from when it was due), sockets, the \
           switch as a relay that decides on each request, the servers' reports. Emulated: the \
           servers' CPU, disk, cache and programs. No LAN.",
    left_out: "more offered loads than two, where Figs. 9 and 10 have curves",
    scenario: include_str!("../../experiments/clubweb/scenario.toml"),
    plan,
    pictures: &[
        Picture::new("cpu-bound", "page_p90_ms", "CPU-bound model: pages", USERS),
        Picture::new("cpu-bound", "megabits_s", "CPU-bound model: throughput", USERS),
        Picture::new("disk-bound", "page_p90_ms", "Disk-bound model: pages", USERS),
        Picture::new("disk-bound", "megabits_s", "Disk-bound model: throughput", USERS),
    ],
    columns: &["page_p90_ms", "megabits_s", "hit_ratio", "utilisation_max", "front_cpu"],
};

const USERS: &str = "new users a second";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    balance_factor: u32,
    reports_s: f64,
    servers: Servers,
    full: Extent,
    quick: Extent,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    users_s: Vec<f64>,
    repeats: u32,
    other_repeats: u32,
    warm_s: f64,
    measure_s: f64,
}

const MODELS: [(&str, Mix<'static>); 2] =
    [("cpu-bound", CLUBWEB_CPU), ("disk-bound", CLUBWEB_DISK)];

/// Curve, front, and whether a claim is about it.
fn fronts(scenario: &Scenario) -> Vec<(&'static str, Front, bool)> {
    let bounded = format!("name = \"bounded-hash\"\nbalance_factor = {}", scenario.balance_factor);
    let utilisation = Front::Baton {
        policy: "name = \"lard\"\nmetric = \"utilisation\"".to_owned(),
        delivery: "relay",
        reports: Some(Duration::from_secs_f64(scenario.reports_s * scenario.servers.scale)),
    };
    vec![
        ("CAP", Front::relay("name = \"cap\""), true),
        ("LARD", Front::relay("name = \"lard\""), true),
        ("LARD on utilisation", utilisation, true),
        ("RR", Front::relay("name = \"round-robin\""), false),
        ("bounded hashing", Front::relay(bounded), false),
    ]
}

fn plan(scenario: &str, size: Size) -> Result<Vec<Job>> {
    let scenario: Scenario = toml::from_str(scenario)?;
    let extent = match size {
        Size::Full => scenario.full.clone(),
        Size::Quick => scenario.quick.clone(),
    };
    let fronts = fronts(&scenario);
    let (servers, spans) = (scenario.servers, (extent.warm_s, extent.measure_s));
    let mut jobs = Vec::new();
    for (case, mix) in MODELS {
        let mix = hurried(&mix, servers.scale)?;
        for repeat in 1..=extent.repeats {
            let visits = Arc::new(Visits::new(&mix, 1).with_users(u64::from(repeat)));
            for users_s in &extent.users_s {
                for (curve, front, claimed) in &fronts {
                    if repeat > extent.other_repeats && !claimed {
                        continue;
                    }
                    let crowd = Crowd::Open(*users_s);
                    let visited = servers.visited(CLUBWEB_SERVER, &visits, crowd, spans);
                    let row = Row::new(case, curve, *users_s, repeat);
                    let label = format!("{case}, {curve}, {users_s} users/s, {repeat}");
                    let front = front.clone();
                    jobs.push(Job::new(row, label, visited.about_s(), move |lab, row| {
                        visited.measure(lab, &front, row)
                    }));
                }
            }
        }
    }
    Ok(jobs)
}
