//! Andreolini, Colajanni, Nuccio: *Scalability of content-aware server switches for cluster-based
//! Web information systems*, WWW 2003 (ClubWeb).
//!
//! The realistic test (figures 9 and 10) over the model of [`crate::site`]: programs on the
//! servers, one LAN for all replies, a decision for every request. The scalability test (figures 7
//! and 8) as a model too: its servers and its TCP gateway are calibrated to the published
//! saturation, so that it shows what follows from that and no more.

mod claims;

pub(super) use claims::CLAIMS;

use crate::site::scenario::{
    self as scenario, CAP, CLUBWEB_SERVERS, LARD_CONNECTIONS, ROUND_ROBIN, clubweb_audience,
    clubweb_setup, lard, small_file_audience,
};
use crate::site::{Contender, Delivery, Layer, Outcome, run};
use crate::stats::Estimate;
use crate::{Axis, Row, Run, Scale, Study};
use core::time::Duration;
use workload::visits::{self, Mix};

const SERVERS: Axis = Axis::linear("servers");
const OFFERED: Axis = Axis::linear("offered load (new users per second)");

/// Its figures.
pub(super) const STUDIES: &[Study] = &[
    Study {
        id: "clubweb-7",
        title: "A 1.5 KB file: throughput by servers",
        source: "ClubWeb, Fig. 7",
        x: SERVERS,
        y: Axis::linear("Mb/s on the wire"),
        columns: &["wire_megabits_s", "connections_s", "switch"],
        caption: stress_caption,
        runs: |_, scale| stress(scale, [0, 1, 2]),
    },
    Study {
        id: "clubweb-8",
        title: "A 1.5 KB file: connections by servers",
        source: "ClubWeb, Fig. 8",
        x: SERVERS,
        y: Axis::linear("connections per second"),
        columns: &["connections_s", "wire_megabits_s", "switch"],
        caption: stress_caption,
        runs: |_, scale| stress(scale, [1, 0, 2]),
    },
    Study {
        id: "clubweb-9",
        title: "Realistic workload: page response time",
        source: "ClubWeb, Fig. 9",
        x: OFFERED,
        y: Axis::log("90-percentile of page response time (s)"),
        columns: &["p90_s", "megabits_s", "mean_s", "switch", "hit_ratio", "cpu", "disk"],
        caption: realistic_caption,
        runs: |_, scale| realistic(scale, [0, 1, 2, 3, 4, 5, 6]),
    },
    Study {
        id: "clubweb-10",
        title: "Realistic workload: throughput",
        source: "ClubWeb, Fig. 10",
        x: OFFERED,
        y: Axis::linear("Mb/s"),
        columns: &["megabits_s", "p90_s"],
        caption: realistic_caption,
        runs: |_, scale| realistic(scale, [1, 0]),
    },
];

/// A switch of the scalability test: the name of its curve, its CPUs, and how replies go.
const SWITCHES: [(&str, u32, Delivery); 3] = [
    ("one-way, 1 CPU", 1, Delivery::OneWayShared),
    ("one-way, 2 CPUs", 2, Delivery::OneWayShared),
    ("TCP gateway", 1, Delivery::Gateway),
];

/// Figures 7 and 8: what is offered is a little more than the servers can answer.
fn stress<const N: usize>(scale: Scale, columns: [usize; N]) -> Vec<Run> {
    const OFFERED_S: f64 = 900.0;
    let servers: &[usize] =
        if scale == Scale::Quick { &[1, 2, 4, 8] } else { &[1, 2, 3, 4, 5, 6, 7, 8] };
    let cases = SWITCHES.iter().flat_map(|switch| servers.iter().map(move |n| (*switch, *n)));
    let at = |((name, cpus, delivery), servers): ((&'static str, u32, Delivery), usize)| {
        Run::new(format!("{name}, {servers} servers"), move || {
            let (warm_up, span) = (Duration::from_secs(1), Duration::from_secs(4));
            let mut setup = clubweb_setup(servers, warm_up, span);
            setup.delivery = delivery;
            setup.cache_share = 1.0;
            setup.switch = setup.switch.with_cpus(cpus);
            let audience = small_file_audience(OFFERED_S * servers as f64);
            let contender = Contender { layer: Layer::Seven, ..ROUND_ROBIN };
            let outcome = run(&setup, &audience, &contender, 1);
            let wire_megabits_s = outcome.wire_bytes as f64 * 8.0 / 1e6 / span.as_secs_f64();
            let values = [wire_megabits_s, outcome.pages_s(), outcome.switch];
            vec![Row::new(name, servers as f64, columns.map(|column| values[column]).into())]
        })
    };
    cases.map(at).collect()
}

fn stress_caption(_: Scale) -> String {
    "One request a connection for a file of 1500 bytes, 900 offered a second and server, round \
     robin. Server: Apache's CPU costs of P-HTTP (calibrated: seven servers fill the LAN of 100 \
     Mb/s). Switch: hand-off of 0.3 ms at 300 MHz (published, USENIX 2000), scaled to its 833 MHz. \
     TCP gateway: 1.67 ms a request (calibrated to the published 600/s). 1 s to warm up, 4 s \
     measured; seed 1."
        .into()
}

/// Figures 9 and 10: each policy under each model.
fn realistic<const N: usize>(scale: Scale, columns: [usize; N]) -> Vec<Run> {
    let offered: &[f64] =
        if scale == Scale::Quick { &[8.0, 20.0] } else { &[4.0, 8.0, 12.0, 16.0, 20.0, 23.0] };
    const MODELS: [(&str, &Mix<'static>); 2] =
        [("CPU bound", &visits::CLUBWEB_CPU), ("disk bound", &visits::CLUBWEB_DISK)];
    let policies = || [Contender { layer: Layer::SevenEach, ..CAP }, lard(), LARD_CONNECTIONS];
    let mut runs = Vec::new();
    for (model, mix) in MODELS {
        for contender in policies() {
            for users_s in offered {
                let (users_s, contender) = (*users_s, contender.clone());
                let curve = format!("{}, {model}", contender.curve);
                runs.push(Run::new(format!("{curve} at {users_s}"), move || {
                    let values = realistic_values(scale, mix, &contender, users_s);
                    vec![Row::new(curve, users_s, columns.map(|column| values[column]).into())]
                }));
            }
        }
    }
    runs
}

fn realistic_values(
    scale: Scale,
    mix: &Mix<'static>,
    contender: &Contender,
    users_s: f64,
) -> [f64; 7] {
    let (warm_up_s, span_s, seeds) = realistic_times_s(scale);
    let (warm_up, span) = (Duration::from_secs(warm_up_s), Duration::from_secs(span_s));
    let setup = clubweb_setup(CLUBWEB_SERVERS, warm_up, span);
    let audience = clubweb_audience(mix, users_s);
    let outcomes: Vec<_> =
        (1..=seeds).map(|seed| run(&setup, &audience, contender, seed)).collect();
    let mean = |figure: fn(&Outcome) -> f64| {
        Estimate::of(&outcomes.iter().map(figure).collect::<Vec<_>>()).mean
    };
    [
        mean(|outcome| outcome.percentile(0.9)),
        mean(Outcome::megabits_s),
        mean(Outcome::latency_mean_s),
        mean(|outcome| outcome.switch),
        mean(Outcome::hit_ratio),
        mean(|outcome| outcome.mean(|server| server.cpu)),
        mean(|outcome| outcome.mean(|server| server.disk)),
    ]
}

/// Warm-up, span, and the number of seeds.
const fn realistic_times_s(scale: Scale) -> (u64, u64, u64) {
    match scale {
        Scale::Quick => (60, 60, 1),
        Scale::Full => (100, 200, 3),
    }
}

fn realistic_caption(scale: Scale) -> String {
    let (warm_up_s, span_s, seeds) = realistic_times_s(scale);
    let queries = scenario::CLUBWEB_ACCESSES;
    format!(
        "{CLUBWEB_SERVERS} servers (published), every request decided on (chosen); programs of \
         {:?} CPU (lightly dynamic), {:?} CPU or {queries} disk accesses (heavily dynamic) \
         (chosen); Zipf's law with 0.9 over 20,000 files, caches of 15 % (chosen); LARD on \
         utilisation 0.3/0.7 reported every 1 s, and on connections 25/65; {warm_up_s} s to warm \
         up, {span_s} s measured; mean of seeds 1-{seeds}.",
        scenario::CLUBWEB_LIGHT,
        scenario::CLUBWEB_HEAVY,
    )
}
