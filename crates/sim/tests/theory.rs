//! The cluster against theory that was there before it: queues with one server, Little's law, and
//! caches under least recently used. Method: one node is reduced to what a formula is about (a CPU
//! alone, or a cache alone), simulated for long, and held against the formula within what chance
//! leaves; the cache also against the most naive one that can be written.

mod asked;

use asked::{Ranks, zipf};
use core::time::Duration;
use model::cost::SEND_UNIT_BYTES;
use model::{CachePolicy, Config, CpuCost, DiskCost, Reading};
use policy::Dice;
use sim::cluster::{Arrivals, Chooser, Limit, Report, Script, Setup, run};

const REQUESTS: usize = 400_000;
/// Time to send 512 bytes, which is all that a request costs.
const UNIT: Duration = Duration::from_micros(10);
const UNITS_MEAN: f64 = 200.0;

/// A node that is nothing but a CPU to which requests come by chance.
fn queue(utilisation: f64) -> Setup {
    let zero = Duration::ZERO;
    let per_second = utilisation / (UNITS_MEAN * UNIT.as_secs_f64());
    Setup {
        node: Config {
            cpu: CpuCost { connect: zero, close: zero, request: zero, send_512: UNIT },
            disk: DiskCost { first: zero, page: zero, again: zero },
            reading: Reading::Whole,
            cache_bytes: 1 << 40,
            ..Config::default()
        },
        arrivals: Arrivals::Poisson(per_second),
        warm_up: 0.2,
        ..Setup::asplos(1, Chooser::named("wrr").expect("it is listed"))
    }
}

/// Requests for targets of these many units, and the mean and the mean square of their service
/// times in seconds.
fn jobs(units: &[u64]) -> (Script, f64, f64) {
    let mut dice = Dice::new(21);
    let mut script = Script::new(units.iter().map(|units| units * SEND_UNIT_BYTES));
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..REQUESTS {
        let target = dice.below(units.len());
        let seconds = units[target] as f64 * UNIT.as_secs_f64();
        (sum, squares) = (sum + seconds, squares + seconds * seconds);
        script.batch([target as u32]);
        script.close();
    }
    (script, sum / REQUESTS as f64, squares / REQUESTS as f64)
}

/// Exponential service times: quantiles, so that their mean is exact.
fn exponential() -> Vec<u64> {
    let quantile = |share: f64| (-(1.0 - share).ln() * UNITS_MEAN).round().max(1.0) as u64;
    (0..4_000).map(|number| quantile((f64::from(number) + 0.5) / 4_000.0)).collect()
}

fn wait(report: &Report, service: f64) -> f64 {
    report.delay_mean.as_secs_f64() - service
}

fn near(measured: f64, theory: f64, share: f64) {
    let off = measured / theory - 1.0;
    assert!(off.abs() < share, "{measured} instead of {theory}: {:+.1} %", off * 100.0);
}

#[test]
fn one_cpu_with_exponential_service_waits_as_m_m_1() {
    let (script, mean, _) = jobs(&exponential());
    for utilisation in [0.3, 0.5, 0.8] {
        let report = run(&queue(utilisation), &script);
        near(wait(&report, mean), utilisation / (1.0 - utilisation) * mean, 0.06);
        near(report.nodes[0].cpu, utilisation, 0.02);
    }
}

#[test]
fn one_cpu_with_constant_service_waits_as_m_d_1_half_as_long() {
    let (script, mean, _) = jobs(&[UNITS_MEAN as u64]);
    for utilisation in [0.3, 0.5, 0.8] {
        let report = run(&queue(utilisation), &script);
        near(wait(&report, mean), utilisation / (1.0 - utilisation) * mean / 2.0, 0.05);
    }
}

#[test]
fn any_service_waits_by_its_mean_square_as_pollaczek_and_khinchin_say() {
    // One in ten takes twenty times as long.
    let units = [vec![UNITS_MEAN as u64 * 2 / 29 * 10; 9], vec![UNITS_MEAN as u64 * 200 / 29]];
    let (script, mean, square) = jobs(&units.concat());
    let setup = queue(0.6);
    let Arrivals::Poisson(per_second) = setup.arrivals else { unreachable!("it was set") };
    let report = run(&setup, &script);
    near(wait(&report, mean), per_second * square / (2.0 * (1.0 - per_second * mean)), 0.06);
}

#[test]
fn who_comes_at_equal_distances_and_is_served_faster_never_waits() {
    let (script, mean, _) = jobs(&[UNITS_MEAN as u64]);
    let gap = Duration::from_secs_f64(mean * 1.01);
    let report = run(&Setup { arrivals: Arrivals::Every(gap), ..queue(0.5) }, &script);
    assert!(wait(&report, mean).abs() < 1e-9, "{}", wait(&report, mean));
}

/// Little's law holds for any cluster: closed or open, one node or many, whatever the policy.
#[test]
fn connections_inside_are_their_rate_times_their_stay() {
    let script = asked::script(&asked::sizes(2_000, 1_000, 30_000), 0.8, 60_000, 3);
    for (policy, nodes) in [("lard-ext", 4), ("wrr", 3)] {
        for open in [false, true] {
            let mut setup =
                Setup::phttp(nodes, CpuCost::FLASH, Chooser::named(policy).expect("it is listed"));
            setup.node.cache_bytes = 8 << 20;
            setup.warm_up = 0.2;
            if open {
                setup.arrivals = Arrivals::Poisson(60.0);
            }
            let report = run(&setup, &script);
            let inside: f64 = report.nodes.iter().map(|node| node.open_mean).sum();
            let rate = report.connections as f64 / report.span.as_secs_f64();
            near(inside, rate * report.open_mean.as_secs_f64(), 0.02);
        }
    }
}

const TARGETS: usize = 5_000;
const BYTES: u64 = 10_000;

/// A node that is nothing but a cache for `kept` targets.
fn cache(kept: usize, connections: u32) -> Setup {
    let mut setup = queue(0.5);
    setup.node.cache_policy = CachePolicy::Lru;
    setup.node.cache_bytes = kept as u64 * BYTES;
    setup.arrivals = Arrivals::Closed(Limit::PerNode(connections));
    setup
}

/// The hit ratio of LRU for independent requests (Che, Tung, Wang, *Hierarchical Web Caching
/// Systems*, 2002): a target stays for a time that is nearly the same for all.
fn che(probabilities: &[f64], kept: usize) -> f64 {
    let filled = |stay: f64| probabilities.iter().map(|p| 1.0 - (-p * stay).exp()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if filled(middle) < kept as f64 { low = middle } else { high = middle }
    }
    probabilities.iter().map(|p| p * (1.0 - (-p * low).exp())).sum()
}

#[test]
fn lru_hits_as_often_as_che_says() {
    for exponent in [0.6, 0.9, 1.2] {
        let probabilities = zipf(TARGETS, exponent);
        let script = asked::script(&[BYTES; TARGETS], exponent, 300_000, 1);
        for kept in [50, 500, 2_000] {
            let hits = 1.0 - run(&cache(kept, 20), &script).miss_ratio;
            let theory = che(&probabilities, kept);
            assert!((hits - theory).abs() < 0.02, "{exponent}, {kept}: {hits:.3}, {theory:.3}");
        }
    }
}

#[test]
fn lru_hits_exactly_when_the_most_naive_cache_does() {
    let sizes = asked::sizes(600, 100, 40_000);
    let ranks = Ranks::new(&zipf(sizes.len(), 0.8));
    let mut dice = Dice::new(33);
    let mut script = Script::new(sizes.iter().copied());
    let capacity = 2_000_000;
    let (mut kept, mut misses) = (Vec::<usize>::new(), 0);
    let requests = 30_000;
    for _ in 0..requests {
        let target = ranks.draw(&mut dice) as usize;
        script.batch([target as u32]);
        script.close();
        match kept.iter().position(|other| *other == target) {
            Some(place) => drop(kept.remove(place)),
            None => misses += 1,
        }
        kept.push(target);
        while kept.iter().map(|target| sizes[*target]).sum::<u64>() > capacity {
            kept.remove(0);
        }
    }
    // One at a time, so that no read is under way when the next request comes.
    let mut setup = Setup { warm_up: 0.0, tail: true, ..cache(1, 1) };
    setup.node.cache_bytes = capacity;
    let report = run(&setup, &script);
    assert_eq!(report.nodes[0].reads, misses);
    assert_eq!(report.totals.answered, requests);
}
