//! Simulated requests a second of real time on one core; the goal is 2,000,000 for LARD on 16
//! nodes, where nearly all requests are hits.
//!
//! Two million requests, one a connection, for 40,000 targets of a Zipf popularity and 4 KB on
//! average, which fit into the nodes' caches together. Printed are all rounds' best and median.

// The one place of this crate that looks at a clock.
#![allow(clippy::disallowed_types)]

use policy::Dice;
use sim::cluster::{Chooser, Mechanism, Script, Setup, run};
use std::time::Instant;

const REQUESTS: usize = 2_000_000;
const TARGETS: usize = 40_000;
const ROUNDS: usize = 5;

/// Popularity of rank r in proportion to 1/r; `batch` requests on each connection.
fn script(per_connection: usize) -> Script {
    let mut dice = Dice::new(3);
    let sizes = (0..TARGETS).map(|_| 512 + dice.below(7 * 1024) as u64).collect::<Vec<_>>();
    let mut sum = 0.0;
    let cumulative: Vec<f64> = (1..=TARGETS)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    let mut draw = || {
        let at = dice.unit() * sum;
        cumulative.partition_point(|below| *below <= at).min(TARGETS - 1) as u32
    };
    let mut script = Script::new(sizes);
    for _ in 0..REQUESTS / per_connection {
        script.batch([draw()]);
        if per_connection > 1 {
            script.batch((1..per_connection).map(|_| draw()));
        }
        script.close();
    }
    script
}

fn measure(name: &str, setup: &Setup, script: &Script) {
    // `cargo bench -p sim --bench cluster -- NAME` measures what has NAME in its name.
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    if wanted.is_some_and(|word| !name.contains(&word)) {
        return;
    }
    let mut rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            let report = run(setup, script);
            assert_eq!(report.totals.answered as usize, script.requests());
            script.requests() as f64 / began.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let (best, median) = (rates[ROUNDS - 1] / 1e6, rates[ROUNDS / 2] / 1e6);
    println!("{name:34} {median:6.2} M requests/s (best {best:.2})");
}

fn main() {
    let (singles, sessions) = (script(1), script(5));
    for name in ["lard", "lard-r", "wrr", "target-hash", "lb-gc"] {
        let setup = Setup::asplos(16, Chooser::named(name).expect("it is listed"));
        measure(&format!("{name}, 16 nodes, HTTP/1.0"), &setup, &singles);
    }
    for mechanism in [Mechanism::Forwarding, Mechanism::MultipleHandoff] {
        let chooser = Chooser::named("lard-ext").expect("it is listed");
        let mut setup = Setup::phttp(16, model::CpuCost::FLASH, chooser);
        setup.mechanism = mechanism;
        measure(&format!("lard-ext, 16 nodes, {mechanism:?}"), &setup, &sessions);
    }
}
