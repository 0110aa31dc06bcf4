//! Simulated requests per second on one core: 16 servers, each row of POLICIES. The goal is
//! 2,000,000 for LARD.
//!
//! The stream is drawn beforehand, like the Rice trace in numbers: 31,000 targets with 1 GB, of
//! which a cache of 85 MB has room for a twelfth, Zipf's law with exponent 1. Requests come in an
//! open loop at half of what the cluster can do. Printed is the median of several rounds, and the
//! best in brackets: on a machine with other work the best is nearer to the truth.

// The one place of this crate that looks at a clock.
#![allow(clippy::disallowed_types)]

use model::CachePolicy;
use policy::{Class, Dice, Entry, Instant, POLICIES, Params};
use sim::replay::{Demand, Pace, Run, Setup};
use std::hint::black_box;
use std::time::{Duration, Instant as Clock};

const TARGETS: usize = 31_000;
const REQUESTS: usize = 1_000_000;
const CHUNK: usize = 16_384;
const ROUNDS: usize = 3;
const GOAL_RPS: f64 = 2e6;

/// Requests by Zipf's law.
fn stream() -> Vec<Demand> {
    let mut sum = 0.0;
    let weigh = |rank: usize| {
        sum += 1.0 / rank as f64;
        sum
    };
    let cumulative: Vec<f64> = (1..=TARGETS).map(weigh).collect();
    let mut dice = Dice::new(1);
    let sizes: Vec<u64> = (0..TARGETS).map(|_| 2_000 + dice.below(64_000) as u64).collect();
    let gap_ns = 250_000;
    let demand = |number: usize, dice: &mut Dice| {
        let drawn = dice.unit() * sum;
        let rank = cumulative.partition_point(|below| *below <= drawn).min(TARGETS - 1);
        // Neighbours in the log are no neighbours by rank.
        let target = (rank * 7_919) % TARGETS;
        Demand {
            at: Instant(number as u64 * gap_ns),
            target: target as u32,
            client: dice.below(50_000) as u32,
            size_bytes: sizes[target],
            reply_bytes: sizes[target],
            cpu_ns: 1_000_000,
            disk_ns: 5_000_000,
            wait_ns: 0,
            miss_wait_ns: 0,
            cacheable: 1.0,
            judged: false,
            class: Class::STATIC,
        }
    };
    (0..REQUESTS).map(|number| demand(number, &mut dice)).collect()
}

fn setup(entry: &'static Entry) -> Setup {
    Setup {
        policy: entry,
        params: Params::new(entry.params),
        servers: 16,
        cache_bytes: 85 << 20,
        cache_policy: CachePolicy::Lru,
        cores: 1,
        disks: 1,
        pace: Pace::Open { speed: 1.0 },
        grain: Duration::from_millis(1),
        seed: 1,
    }
}

fn main() {
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let stream = stream();
    for entry in POLICIES.iter().filter(|entry| only.as_ref().is_none_or(|o| o == entry.name)) {
        let mut rates = [0.0; ROUNDS];
        let mut said = String::new();
        for rate in &mut rates {
            let begun = Clock::now();
            let mut run = Run::new(&setup(entry));
            for chunk in stream.chunks(CHUNK) {
                run.feed(chunk);
            }
            let outcome = black_box(run.finish(&[]));
            *rate = REQUESTS as f64 / begun.elapsed().as_secs_f64();
            said = format!("hits {:.1} %, {:?}", outcome.hit_ratio() * 100.0, outcome.strain());
        }
        rates.sort_by(f64::total_cmp);
        let (median, best) = (rates[ROUNDS / 2], rates[ROUNDS - 1]);
        let goal = if entry.name == "lard" { format!(", goal {GOAL_RPS}") } else { String::new() };
        println!(
            "replay/{:<18} {median:>10.0} requests/s/core (best {best:.0}{goal}; {said})",
            entry.name
        );
    }
}
