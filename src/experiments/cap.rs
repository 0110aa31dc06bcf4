//! Casalicchio, Colajanni, WWW10 2001: the prototype, by clients.

use super::picture::Picture;
use super::users::{Crowd, Files, Servers, covered, hurried};
use super::{Experiment, Front, Job, Row, Size};
use anyhow::{Context, Result};
use model::CpuCost;
use policy::Class;
use serde::Deserialize;
use sim::site::scenario::PROTOTYPE;
use std::sync::Arc;
use std::time::Duration;
use workload::draw::{Draw, Pareto};
use workload::visits::{Answer, Mix, PUBLISHING_STATIC, Service, Visits};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "cap",
    title: "CAP's prototype: throughput and utilisation by clients",
    source: "after Casalicchio, Colajanni, WWW10 2001, Figs. 7 to 10",
    paper: "A switch (an Apache reverse proxy whose policy is a program) before four servers \
            (Pentium MMX, 233 MHz); WebStone with up to 240 clients. A Collector on each server \
            counts its active connections, a Manager at the switch asks for them every 10 s, and \
            LARD acts on that. Static: both alike. Light dynamic: CAP ahead, with a smaller spread \
            of utilisation. Intensive dynamic: CAP serves 13 % more at 160 clients, 21 % more \
            at 240.",
    here: "Real: clients (closed loop, four connections a page), sockets, the switch deciding on \
           each request, Collector and Manager: servers report the requests that they work on \
           (connections there; the switch keeps its own open), and it asks for them. Emulated: \
           the servers' CPU, disk and cache, programs included. \
           The published shares of requests are taken for shares of pages: what a page embeds is \
           static here, so that programs are fewer of the requests, and cost more each. The 10 s \
           are the model's, like all times. LARD with its own, undelayed count is shown beside, \
           as it was published in 1998.",
    left_out: "the static workload with other than 160 clients and the light one with other than \
               240, which are curves in Figs. 7, 8 and 10; LARD without delay on both",
    scenario: include_str!("../../experiments/cap/scenario.toml"),
    plan,
    pictures: &[
        Picture::new("static", "requests_s", "Static workload: throughput", CLIENTS),
        Picture::new("light", "requests_s", "Light dynamic workload: throughput", CLIENTS),
        Picture::new("light", "utilisation_max", "Light dynamic: busiest server", CLIENTS),
        Picture::new("light", "utilisation_min", "Light dynamic: idlest server", CLIENTS),
        Picture::new("intensive", "requests_s", "Intensive dynamic workload: throughput", CLIENTS),
        Picture::new("intensive", "utilisation_max", "Intensive: busiest server", CLIENTS),
        Picture::new("intensive", "utilisation_min", "Intensive: idlest server", CLIENTS),
    ],
    columns: &["requests_s", "page_p90_ms", "utilisation_min", "utilisation_max", "front_cpu"],
};

const CLIENTS: &str = "clients";

/// LARD with its own count.
const UNDELAYED: &str = "LARD undelayed";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    slower: f64,
    think_s: f64,
    late_s: f64,
    servers: Servers,
    site: Files,
    full: Extent,
    quick: Extent,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extent {
    points: Vec<Points>,
    warm_s: f64,
    measure_s: f64,
}

/// Points of one workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Points {
    workload: String,
    clients: Vec<usize>,
    repeats: u32,
    /// Of LARD with its own count, which no claim needs.
    undelayed_repeats: u32,
}

/// The prototype's dynamic workload with all programs light. Our reading: the paper does not spell
/// the mix out.
const LIGHT: Mix<'static> = {
    const FILES: &[(f64, Answer)] = &[(1.0, Answer { class: Class::STATIC, program: false })];
    const fn service(share: f64, class: Class, program: bool) -> Service<'static> {
        Service { share, html: Answer { class, program }, secure: false, embedded: FILES }
    }
    const SERVICES: &[Service<'static>] =
        &[service(0.8, Class::STATIC, false), service(0.2, Class::LIGHT, true)];
    Mix { name: "prototype-light", services: SERVICES, ..PUBLISHING_STATIC }
};

/// The workloads.
const WORKLOADS: [(&str, Mix<'static>); 3] =
    [("static", PUBLISHING_STATIC), ("light", LIGHT), ("intensive", PROTOTYPE)];

/// Apache of P-HTTP on a CPU that is so much slower.
pub(super) fn slowed(slower: f64) -> CpuCost {
    let CpuCost { connect, close, request, send_512 } = CpuCost::APACHE;
    let [connect, close, request, send_512] =
        [connect, close, request, send_512].map(|cost| cost.mul_f64(slower));
    CpuCost { connect, close, request, send_512 }
}

fn plan(scenario: &str, size: Size) -> Result<Vec<Job>> {
    let scenario: Scenario = toml::from_str(scenario)?;
    let extent = match size {
        Size::Full => scenario.full.clone(),
        Size::Quick => scenario.quick.clone(),
    };
    let late = Duration::from_secs_f64(scenario.late_s * scenario.servers.scale);
    covered(late.as_secs_f64(), extent.warm_s, extent.measure_s)?;
    let reported = Front::Baton {
        policy: "name = \"lard\"\nmetric = \"reported\"".to_owned(),
        delivery: "relay",
        reports: Some(late),
    };
    let fronts = [
        ("CAP", Front::relay("name = \"cap\"")),
        ("LARD 10 s late", reported),
        (UNDELAYED, Front::relay("name = \"lard\"")),
    ];
    let (cpu, spans) = (slowed(scenario.slower), (extent.warm_s, extent.measure_s));
    let mut jobs = Vec::new();
    for points in &extent.points {
        let known = WORKLOADS.iter().find(|(name, _)| *name == points.workload);
        let (case, mix) = known.with_context(|| format!("no workload {}", points.workload))?;
        let mix = site(&scenario, mix)?;
        for repeat in 1..=points.repeats {
            // Others come each time, to the same site.
            let visits = Arc::new(Visits::new(&mix, 1).with_users(u64::from(repeat)));
            for clients in &points.clients {
                for (curve, front) in &fronts {
                    if *curve == UNDELAYED && repeat > points.undelayed_repeats {
                        continue;
                    }
                    let crowd = Crowd::Closed(*clients);
                    let visited = scenario.servers.visited(cpu, &visits, crowd, spans);
                    let row = Row::new(case, curve, *clients as f64, repeat);
                    let label = format!("{case}, {curve}, {clients} clients, {repeat}");
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

/// The workload on the scenario's site.
fn site(scenario: &Scenario, mix: &Mix<'static>) -> Result<Mix<'static>> {
    let site = scenario.site.site();
    let think_s = match mix.think_s {
        Draw::Pareto(pareto) => {
            let times = scenario.think_s / pareto.min;
            Draw::Pareto(Pareto { min: scenario.think_s, max: pareto.max * times, ..pareto })
        }
        other => other,
    };
    hurried(&Mix { site, think_s, ..*mix }, scenario.servers.scale)
}
