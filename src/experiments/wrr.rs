//! Casalicchio, Colajanni, WWW10 2001, Fig. 3: WRR by the metric and period of its weights, live.

use super::cap::slowed;
use super::picture::Picture;
use super::users::{Crowd, Files, Servers, covered, hurried};
use super::{Experiment, Front, Job, Row, Size};
use anyhow::Result;
use serde::Deserialize;
use sim::site::scenario::PROTOTYPE;
use std::sync::Arc;
use workload::visits::{Mix, PUBLISHING_STATIC, Visits};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "wrr",
    title: "WRR by the metric and period of its weights",
    source: "after Casalicchio, Colajanni, WWW10 2001, Fig. 3",
    paper: "Simulated there: WRR with weights from active connections (num) or from mean service \
            times (time), recomputed every so many seconds, on a publishing and a commerce site. \
            Connections with a small period are best; badly tuned, WRR is worse than random and \
            round robin.",
    here: "Real: users in open loop, sockets, the switch, which counts and computes the weights. \
           Emulated: four servers of CAP's prototype. The prototype's dynamic workload stands for \
           the commerce site: nothing is enciphered here.",
    left_out: "more periods than two; the publishing site",
    scenario: include_str!("../../experiments/wrr/scenario.toml"),
    plan,
    pictures: &[
        Picture::new("publishing", "page_p90_ms", "Publishing site", PERIOD).with_levels(LEVELS),
        Picture::new("dynamic", "page_p90_ms", "Dynamic site", PERIOD).with_levels(LEVELS),
    ],
    columns: &["page_p90_ms", "utilisation_min", "utilisation_max", "front_cpu"],
};

const PERIOD: &str = "period of the weights (s)";

/// Who has no weights.
const LEVELS: &[&str] = &["RR", "random"];

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    slower: f64,
    publishing_users_s: f64,
    dynamic_users_s: f64,
    servers: Servers,
    site: Files,
    full: Extent,
    quick: Extent,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    periods_s: Vec<f64>,
    publishing_repeats: u32,
    dynamic_repeats: u32,
    warm_s: f64,
    measure_s: f64,
}

fn plan(scenario: &str, size: Size) -> Result<Vec<Job>> {
    let scenario: Scenario = toml::from_str(scenario)?;
    let extent = match size {
        Size::Full => scenario.full.clone(),
        Size::Quick => scenario.quick.clone(),
    };
    let sites = [
        ("publishing", PUBLISHING_STATIC, scenario.publishing_users_s, extent.publishing_repeats),
        ("dynamic", PROTOTYPE, scenario.dynamic_users_s, extent.dynamic_repeats),
    ];
    let scale = scenario.servers.scale;
    let longest_s = extent.periods_s.iter().copied().fold(0.0, f64::max);
    covered(longest_s * scale, extent.warm_s, extent.measure_s)?;
    let (cpu, spans) = (slowed(scenario.slower), (extent.warm_s, extent.measure_s));
    let mut jobs = Vec::new();
    for (case, mix, users_s, repeats) in sites {
        let mix = hurried(&Mix { site: scenario.site.site(), ..mix }, scale)?;
        for repeat in 1..=repeats {
            let visits = Arc::new(Visits::new(&mix, 1).with_users(u64::from(repeat)));
            for (curve, policy, period_s) in points(&extent.periods_s, scale) {
                let crowd = Crowd::Open(users_s);
                let visited = scenario.servers.visited(cpu, &visits, crowd, spans);
                let row = Row::new(case, curve, period_s, repeat);
                let label = format!("{case}, {curve}, {period_s} s, {repeat}");
                let front = Front::relay(policy);
                jobs.push(Job::new(row, label, visited.about_s(), move |lab, row| {
                    visited.measure(lab, &front, row)
                }));
            }
        }
    }
    Ok(jobs)
}

/// Curve, lines of `[policy]`, and period; the two that have none stand at the first one.
fn points(periods_s: &[f64], scale: f64) -> Vec<(&'static str, String, f64)> {
    let mut all = Vec::new();
    for period_s in periods_s {
        for (curve, name) in [("WRR num", "wrr-num"), ("WRR time", "wrr-time")] {
            let gather_ms = (period_s * scale * 1e3).round().max(1.0);
            all.push((curve, format!("name = \"{name}\"\ngather = \"{gather_ms}ms\""), *period_s));
        }
    }
    let first = periods_s.first().copied().unwrap_or(1.0);
    for (curve, name) in [("RR", "round-robin"), ("random", "random")] {
        all.push((curve, format!("name = \"{name}\""), first));
    }
    all
}
