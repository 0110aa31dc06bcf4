//! Method: logs made by hand, on which a mistake in the order of events, in the size of a target
//! or in the sums shows; what comes out is held against a slower, plainer way to get the figure.

use model::CachePolicy;
use policy::{Class, Dice, Instant, POLICIES, Params};
use proptest::prelude::*;
use sim::replay::{Demand, Outcome, Pace, Run, Setup, Strain};
use std::time::Duration;

const MS: u64 = 1_000_000;

fn setup(name: &str, servers: u16) -> Setup {
    let policy = policy::entry(name).expect("it is one of POLICIES");
    Setup {
        policy,
        params: Params::new(policy.params),
        servers,
        cache_bytes: 1 << 20,
        cache_policy: CachePolicy::Lru,
        cores: 1,
        disks: 1,
        pace: Pace::Open { speed: 1.0 },
        grain: Duration::ZERO,
        seed: 1,
    }
}

fn demand(at_ns: u64, target: u32, cpu_ns: u64, disk_ns: u64) -> Demand {
    Demand {
        at: Instant(at_ns),
        target,
        client: target % 50,
        size_bytes: 1_000,
        reply_bytes: 1_000,
        cpu_ns,
        disk_ns,
        wait_ns: 0,
        miss_wait_ns: 0,
        cacheable: 1.0,
        judged: false,
        class: Class::STATIC,
    }
}

fn play(setup: &Setup, demands: &[Demand]) -> Outcome {
    let mut run = Run::new(setup);
    demands.chunks(1_000).for_each(|chunk| run.feed(chunk));
    run.finish(&[])
}

/// Requests in order, each to a core that is free first, then those to one disk in the order in
/// which their cores are done: two passes over lists, no events. Latencies in nanoseconds, sorted.
fn two_stage_queue(demands: &[Demand], cores: usize) -> Vec<u64> {
    let mut free = vec![0_u64; cores];
    let mut computed: Vec<(u64, usize)> = Vec::new();
    for (number, demand) in demands.iter().enumerate() {
        let core = (0..cores).min_by_key(|core| free[*core]).expect("there is a core");
        free[core] = free[core].max(demand.at.0) + demand.cpu_ns;
        computed.push((free[core], number));
    }
    computed.sort_unstable();
    let (mut disk, mut latencies) = (0, Vec::new());
    for (at, number) in computed {
        disk = u64::max(disk, at) + demands[number].disk_ns;
        latencies.push(disk - demands[number].at.0);
    }
    latencies.sort_unstable();
    latencies
}

#[test]
fn with_several_cores_the_disk_is_entered_when_the_core_is_done() {
    let mut dice = Dice::new(3);
    let one = |number: u32| {
        let cpu_ns = if dice.below(10) == 0 { 300 * MS } else { MS / 5 };
        demand(u64::from(number) * 10 * MS + dice.below(1_000) as u64, number, cpu_ns, 5 * MS)
    };
    let demands: Vec<Demand> = (0..4_000).map(one).collect();
    for cores in [1, 2, 8] {
        let wanted = two_stage_queue(&demands, cores);
        let outcome = play(&Setup { cores: cores as u16, ..setup("wrr", 1) }, &demands);
        for quantile in [0.5, 0.9, 0.99] {
            let wanted = wanted[(quantile * wanted.len() as f64) as usize - 1] as f64;
            let found = outcome.latency.quantile(quantile).as_nanos() as f64;
            let off = found / wanted - 1.0;
            assert!(off.abs() < 0.02, "{cores} cores, {quantile}: {found} instead of {wanted}");
        }
        assert_eq!(outcome.latency.total(), demands.len() as u64);
        let summed: Duration = outcome.slices.iter().map(|slice| slice.latency).sum();
        assert_eq!(summed.as_nanos() as u64, wanted.iter().sum::<u64>(), "{cores} cores");
    }
}

#[test]
fn whoever_waits_for_a_read_that_has_not_begun_is_answered_with_it() {
    // Four cores. The first takes the CPU for 10 ms, then the disk for 5; the others join.
    let mut demands: Vec<Demand> = (0..4).map(|at| demand(at * MS, 1, MS, 5 * MS)).collect();
    demands[0].cpu_ns = 10 * MS;
    demands[3].cpu_ns = 40 * MS;
    let outcome = play(&Setup { cores: 4, ..setup("lard", 1) }, &demands);
    assert_eq!((outcome.misses, outcome.coalesced), (1, 3));
    // Ends at 15, 15, 15 and 43 ms.
    assert_eq!(outcome.latency.mean(), Duration::from_micros((15 + 14 + 13 + 40) * 250));
}

#[test]
fn a_target_takes_the_room_in_the_cache_that_it_is_known_to_need() {
    // At first only by replies without a body, so of size 0; the cache has room for a tenth.
    let round = |round: u64| {
        (0..1_000).map(move |target| {
            let size_bytes = if round == 0 { 0 } else { 10_000 };
            let at_ns = (round * 1_000 + u64::from(target)) * 50 * MS;
            Demand { size_bytes, ..demand(at_ns, target, MS, 10 * MS) }
        })
    };
    let demands: Vec<Demand> = (0..5).flat_map(round).collect();
    for cache_policy in CachePolicy::ALL.map(|(_, policy)| policy) {
        let outcome = play(&Setup { cache_policy, ..setup("wrr", 1) }, &demands);
        let server = &outcome.servers[0];
        assert!(server.cached_targets <= 104, "{cache_policy:?}: {server:?}");
        assert_eq!(server.cached_bytes, server.cached_targets * 10_000);
        assert!(outcome.hit_ratio() < 0.25, "{cache_policy:?}: {}", outcome.hit_ratio());
    }
}

#[test]
fn a_wait_that_is_the_clients_keeps_no_server_busy() {
    let waits =
        |number: u64| Demand { wait_ns: 900 * MS, ..demand(number * MS, number as u32, MS / 2, 0) };
    let demands: Vec<Demand> = (0..3_000).map(waits).collect();
    let outcome = play(&setup("wrr", 1), &demands);
    assert_eq!(outcome.strain(), Strain::None);
    assert!((outcome.work() - 0.5).abs() < 0.01, "{}", outcome.work());
    let mean_ms = outcome.latency.mean().as_secs_f64() * 1e3;
    assert!((mean_ms - 900.5).abs() < 0.1, "{mean_ms}");
    // What only a miss waits for, a hit does not.
    let misses = |number: u64| {
        let target = (number % 10) as u32;
        Demand { miss_wait_ns: 900 * MS, ..demand(number * 1_000 * MS, target, MS, 0) }
    };
    let demands: Vec<Demand> = (0..20).map(misses).collect();
    let outcome = play(&setup("wrr", 1), &demands);
    assert_eq!(outcome.latency.mean(), Duration::from_millis(451), "ten misses, ten hits");
}

#[test]
fn hits_are_also_counted_among_the_requests_that_the_log_judges() {
    // Of every target's ten requests the log judges the last five.
    let one = |number: u64| {
        let judged = number >= 500;
        Demand { judged, ..demand(number * 50 * MS, (number % 100) as u32, MS, MS) }
    };
    let demands: Vec<Demand> = (0..1_000).map(one).collect();
    let outcome = play(&setup("lard", 2), &demands);
    assert_eq!((outcome.hits, outcome.judged, outcome.judged_hits), (900, 500, 500));
}

#[test]
fn nobody_is_busier_than_always() {
    let demands: Vec<Demand> = (0..4_000).map(|at| demand(0, at, MS, 10 * MS)).collect();
    let pace = Pace::Closed { limit: Some(2_000) };
    let outcome = play(&Setup { pace, ..setup("wrr", 2) }, &demands);
    assert!(outcome.work() > 0.9 && outcome.work() <= 1.0, "{}", outcome.work());
    let one = play(&setup("wrr", 2), &demands[..1]);
    assert!(one.work() <= 1.0, "{}", one.work());
    assert_eq!(one.strain(), Strain::None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_figure_is_too_large_and_books_balance_on_several_cores(
        asks in prop::collection::vec(
            (0_u32..20, 0_u32..64, 0_u32..64, 0_u32..64, any::<bool>()), 1..100),
        policy in 0..POLICIES.len(),
        cores in 1_u16..4,
        closed in any::<bool>(),
    ) {
        let one = |(number, ask): (usize, &(u32, u32, u32, u32, bool))| {
            let (target, size, cpu, disk, whole) = *ask;
            let large = |power: u32| (1_u64 << power) + u64::from(whole);
            Demand {
                size_bytes: large(size),
                reply_bytes: large(size),
                wait_ns: large(cpu),
                miss_wait_ns: large(disk),
                cacheable: if whole { 1.0 } else { 0.5 },
                ..demand(number as u64 * MS, target, large(cpu), large(disk))
            }
        };
        let demands: Vec<Demand> = asks.iter().enumerate().map(one).collect();
        let pace = if closed { Pace::Closed { limit: Some(3) } } else { Pace::Open { speed: 2.0 } };
        let cache_bytes = u64::MAX;
        let base = setup(POLICIES[policy].name, 3);
        let outcome = play(&Setup { pace, cores, cache_bytes, ..base }, &demands);
        prop_assert_eq!(outcome.requests, demands.len() as u64);
        prop_assert_eq!(outcome.latency.total(), outcome.requests);
        prop_assert_eq!(outcome.hits + outcome.coalesced + outcome.misses, outcome.cacheable);
        prop_assert!(outcome.hit_bytes <= outcome.reply_bytes);
    }
}
