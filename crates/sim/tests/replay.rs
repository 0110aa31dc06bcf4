//! Method: small logs are played to clusters, and what comes out is held against what must be so
//! (books that balance, theory of queues and caches) and against slower, independent ways to get
//! the same figure: a list as LRU cache, and `model::Node`, which plays every block as an event.

use model::{Agenda, Ask, CachePolicy, Calendar, Config, CpuCost, DiskCost, Node, Reading, Source};
use policy::{Class, Dice, Entry, Instant, POLICIES, Params, TargetId, Why};
use proptest::prelude::*;
use sim::replay::{Demand, OPEN_MAX, Outcome, Pace, Run, Setup, Strain};
use std::time::Duration;

const KIB: u64 = 1024;
const MS: u64 = 1_000_000;

fn entry(name: &str) -> &'static Entry {
    policy::entry(name).expect("it is one of POLICIES")
}

fn setup(name: &str, servers: u16, cache_bytes: u64) -> Setup {
    let policy = entry(name);
    Setup {
        policy,
        params: Params::new(policy.params),
        servers,
        cache_bytes,
        cache_policy: CachePolicy::Lru,
        cores: 1,
        disks: 1,
        pace: Pace::Open { speed: 1.0 },
        grain: Duration::ZERO,
        seed: 1,
    }
}

fn demand(at_ns: u64, target: u32, size_bytes: u64) -> Demand {
    Demand {
        at: Instant(at_ns),
        target,
        client: target % 50,
        size_bytes,
        reply_bytes: size_bytes,
        cpu_ns: MS / 2,
        disk_ns: 10 * MS,
        wait_ns: 0,
        miss_wait_ns: 0,
        cacheable: 1.0,
        judged: false,
        class: Class::STATIC,
    }
}

/// Requests by Zipf's law for `targets` of 4 to 36 KB, one every `gap_ns`.
fn zipf(seed: u64, requests: usize, targets: usize, gap_ns: u64) -> Vec<Demand> {
    let mut sum = 0.0;
    let weigh = |rank: usize| {
        sum += 1.0 / (rank as f64).powf(0.8);
        sum
    };
    let cumulative: Vec<f64> = (1..=targets).map(weigh).collect();
    let mut dice = Dice::new(seed);
    let one = |number: usize| {
        let drawn = dice.unit() * sum;
        let rank = cumulative.partition_point(|below| *below <= drawn).min(targets - 1);
        let size = (4 + TargetId(rank as u64).mixed(7) % 32) * KIB;
        demand(number as u64 * gap_ns, rank as u32, size)
    };
    (0..requests).map(one).collect()
}

fn play(setup: &Setup, demands: &[Demand]) -> Outcome {
    let mut run = Run::new(setup);
    demands.chunks(1_000).for_each(|chunk| run.feed(chunk));
    run.finish(&[0, 1])
}

/// Every request is somewhere, once.
fn assert_balanced(outcome: &Outcome, asked: usize) {
    assert_eq!(outcome.requests + outcome.refused, asked as u64);
    assert_eq!(outcome.hits + outcome.coalesced + outcome.misses, outcome.cacheable);
    assert_eq!(outcome.servers.iter().map(|server| server.requests).sum::<u64>(), outcome.requests);
    assert_eq!(outcome.servers.iter().map(|server| server.hits).sum::<u64>(), outcome.hits);
    assert_eq!(outcome.latency.total(), outcome.requests);
    assert_eq!(outcome.whys.iter().sum::<u64>(), outcome.requests);
    assert_eq!(outcome.slices.iter().map(|slice| slice.requests).sum::<u64>(), outcome.requests);
    assert_eq!(outcome.slices.iter().map(|slice| slice.hits).sum::<u64>(), outcome.hits);
}

#[test]
fn under_every_policy_every_request_that_enters_leaves_once() {
    let demands = zipf(1, 5_000, 800, MS);
    for policy in POLICIES {
        for pace in [Pace::Open { speed: 3.0 }, Pace::Closed { limit: None }] {
            let outcome = play(&Setup { pace, ..setup(policy.name, 5, 600 * KIB) }, &demands);
            assert_balanced(&outcome, demands.len());
            let most = outcome.servers.iter().map(|server| server.cached_bytes).max();
            assert!(most <= Some(600 * KIB), "{}: {most:?}", policy.name);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_outcome_and_chunks_do_not_matter() {
    let demands = zipf(2, 4_000, 500, MS);
    for name in ["random", "lard-r", "prequal"] {
        let setup = setup(name, 4, 500 * KIB);
        let mut whole = Run::new(&setup);
        whole.feed(&demands);
        let whole = whole.finish(&[0, 1]);
        assert_eq!(whole, play(&setup, &demands), "{name}");
        let other = play(&Setup { seed: 2, ..setup }, &demands);
        assert_eq!(name != "random", whole == other, "{name}: only that one throws the run's dice");
    }
}

#[test]
fn times_within_a_stamp_are_drawn_by_the_seed() {
    let mut demands = zipf(2, 2_000, 500, MS);
    demands.iter_mut().for_each(|demand| demand.at = Instant(demand.at.0 / 1_000_000_000));
    let grain = Duration::from_secs(1);
    let latency =
        |seed| play(&Setup { seed, grain, ..setup("wrr", 2, 500 * KIB) }, &demands).latency.mean();
    assert_eq!(latency(1), latency(1));
    assert_ne!(latency(1), latency(2));
}

#[test]
fn hits_are_those_of_an_lru_list() {
    for cache in [100 * KIB, 900 * KIB, 4_000 * KIB] {
        // So slow that every read is over before the next request.
        let demands = zipf(3, 6_000, 700, 100 * MS);
        let (mut list, mut hits) = (Vec::<(u32, u64)>::new(), 0);
        for demand in &demands {
            if let Some(at) = list.iter().position(|(target, _)| *target == demand.target) {
                let found = list.remove(at);
                list.push(found);
                hits += 1;
                continue;
            }
            list.push((demand.target, demand.size_bytes));
            while list.iter().map(|(_, size)| size).sum::<u64>() > cache {
                list.remove(0);
            }
        }
        assert_eq!(play(&setup("wrr", 1, cache), &demands).hits, hits, "cache of {cache}");
    }
}

#[test]
fn with_one_server_all_policies_are_one() {
    let demands = zipf(4, 3_000, 400, 20 * MS);
    let hits = |entry: &Entry| play(&setup(entry.name, 1, 700 * KIB), &demands).hits;
    let first = hits(&POLICIES[0]);
    assert!(first > 500, "{first}");
    POLICIES.iter().for_each(|policy| assert_eq!(hits(policy), first, "{}", policy.name));
}

#[test]
fn a_cache_that_holds_all_misses_each_target_once_where_one_server_has_it() {
    let demands = zipf(5, 4_000, 300, 50 * MS);
    let asked: std::collections::BTreeSet<u32> = demands.iter().map(|d| d.target).collect();
    let lard = play(&setup("lard", 4, u64::MAX), &demands);
    assert_eq!(lard.misses, asked.len() as u64);
    assert_eq!(lard.replicated, (0, 0));
    let wrr = play(&setup("wrr", 4, u64::MAX), &demands);
    assert!(wrr.misses > 2 * lard.misses, "{} and {}", wrr.misses, lard.misses);
    assert!(wrr.replicated.0 > 100, "{:?}", wrr.replicated);
    assert_eq!((lard.homes[0].len(), wrr.homes[0].len()), (1, 4), "the hottest is everywhere");
}

#[test]
fn lard_makes_one_cache_of_many() {
    let demands = zipf(6, 40_000, 3_000, 10 * MS);
    let ratio = |name, servers, cache| play(&setup(name, servers, cache), &demands).hit_ratio();
    let one_large = ratio("wrr", 1, 16_000 * KIB);
    let lard = ratio("lard", 8, 2_000 * KIB);
    let wrr = ratio("wrr", 8, 2_000 * KIB);
    assert!((lard - one_large).abs() < 0.03, "{lard} of eight, {one_large} of one large");
    assert!(lard > wrr + 0.15, "{lard} and {wrr}");
}

#[test]
fn more_than_the_servers_can_do_is_called_so() {
    // A miss takes 10 ms; every target is asked for once, so 2 servers do 200 in a second.
    let log = |gap_ns| -> Vec<Demand> {
        (0..3_000).map(|at| demand(u64::from(at) * gap_ns, at, KIB)).collect()
    };
    let outcome = |gap_ns| play(&setup("wrr", 2, KIB), &log(gap_ns));
    let fine = outcome(10 * MS);
    assert_eq!(fine.strain(), Strain::None, "{}", fine.work());
    assert!((fine.work() - 0.5).abs() < 0.01, "{}", fine.work());
    assert!((fine.capacity_rps() - 200.0).abs() < 1.0, "{}", fine.capacity_rps());
    let over = outcome(4 * MS);
    assert_eq!(over.strain(), Strain::Lasting, "{}", over.work());
    assert!((over.throughput_rps() - 200.0).abs() < 5.0, "{}", over.throughput_rps());
    // A burst in the middle of an easy log.
    let mut burst = log(50 * MS);
    let middle = burst[1_500].at;
    burst[1_500..2_000].iter_mut().for_each(|demand| demand.at = middle);
    let passing = play(&setup("wrr", 2, KIB), &burst);
    assert!(
        matches!(passing.strain(), Strain::Passing(share) if share < 0.5),
        "{:?}",
        passing.strain()
    );
}

#[test]
fn an_open_loop_turns_away_what_it_cannot_hold() {
    let asked = OPEN_MAX + 1_000;
    let demands: Vec<Demand> = (0..asked as u32).map(|at| demand(0, at, KIB)).collect();
    let outcome = play(&setup("wrr", 2, KIB), &demands);
    assert_eq!(outcome.refused, 1_000);
    assert_balanced(&outcome, asked);
}

#[test]
fn a_closed_loop_keeps_its_limit_and_the_bottleneck_busy() {
    let demands: Vec<Demand> = (0..4_000).map(|at| demand(0, at, KIB)).collect();
    for (limit, disks) in [(8, 1), (64, 4)] {
        let pace = Pace::Closed { limit: Some(limit) };
        let outcome = play(&Setup { pace, disks, ..setup("wrr", 2, KIB) }, &demands);
        let best = 200.0 * f64::from(disks);
        let rate = outcome.throughput_rps();
        assert!(rate > 0.95 * best && rate <= best * 1.001, "{rate} of {best}");
        // Little's law: as many are inside as come in while one is served.
        let inside = rate * outcome.latency.mean().as_secs_f64();
        assert!((inside - limit as f64).abs() < 0.05 * limit as f64, "{inside} of {limit}");
    }
}

#[test]
fn waiting_is_that_of_the_m_d_1_queue() {
    // Poisson arrivals within one long stamp, at half of what one CPU does; nothing from disk.
    let requests = 60_000_u64;
    let one = Demand { cacheable: 0.0, disk_ns: 0, cpu_ns: 10 * MS, ..demand(0, 1, KIB) };
    let grain = Duration::from_nanos(requests * 20 * MS);
    let setup = Setup { grain, ..setup("wrr", 1, KIB) };
    let mut run = Run::new(&setup);
    run.feed(&vec![one; requests as usize]);
    let waited_ms = run.finish(&[]).latency.mean().as_secs_f64() * 1e3 - 10.0;
    // Pollaczek and Khinchine: load / (2 (1 - load)) times the service time.
    assert!((waited_ms - 5.0).abs() < 0.3, "{waited_ms} ms");
}

#[test]
fn requests_for_a_target_that_is_being_read_wait_for_that_read() {
    let demands: Vec<Demand> = (0..10).map(|at| demand(at * MS, 1, KIB)).collect();
    let outcome = play(&setup("lard", 3, 10 * KIB), &demands);
    assert_eq!((outcome.misses, outcome.coalesced, outcome.hits), (1, 9, 0));
    // One comes every millisecond, and all are answered when the read is over, after 10.5 ms.
    let mean = outcome.latency.mean();
    assert_eq!(mean, Duration::from_millis(6), "one read for all");
}

#[test]
fn reasons_are_those_of_the_policies() {
    let demands = zipf(7, 2_000, 100, MS);
    let outcome = play(&setup("lard", 3, 10_000 * KIB), &demands);
    assert!(outcome.share_of(Why::Affinity) > 0.9);
    assert!(outcome.share_of(Why::FirstSeen) > 0.0);
    let outcome = play(&setup("lard-ext", 3, 10_000 * KIB), &demands);
    assert!(outcome.share_of(Why::Sticky) > 0.1, "clients come again within 15 s");
}

/// The same log on `model::Node`s, requests dealt out in turn: share of hits and mean latency.
fn on_nodes(servers: usize, cache_bytes: u64, demands: &[Demand]) -> (f64, Duration) {
    let cpu = CpuCost { request: Duration::from_micros(500), ..zero_cpu() };
    let disk =
        DiskCost { first: Duration::from_millis(10), page: Duration::ZERO, again: Duration::ZERO };
    let config = Config { cpu, disk, reading: Reading::Whole, cache_bytes, ..Config::default() };
    let config = Config { cache_policy: CachePolicy::Lru, ..config };
    let mut nodes = vec![Node::new(config); servers];
    let (mut calendar, mut agenda) = (Calendar::default(), Agenda::default());
    let mut dice = Dice::new(1);
    let (mut hits, mut total) = (0_u64, Duration::ZERO);
    let settle =
        |limit, nodes: &mut Vec<Node>, calendar: &mut Calendar<_>, total: &mut Duration| {
            let mut agenda = Agenda::default();
            while let Some((at, (node, wake))) = calendar.pop(limit) {
                let node: usize = node;
                nodes[node].step(at, wake, &mut agenda);
                agenda.wakes.drain(..).for_each(|(at, wake)| calendar.enter(at, (node, wake)));
                for line in agenda.parts.drain(..).filter_map(|part| part.end) {
                    *total += line.last_byte.since(line.arrived);
                }
            }
        };
    for (number, demand) in demands.iter().enumerate() {
        settle(demand.at, &mut nodes, &mut calendar, &mut total);
        let target = TargetId(demand.target.into());
        let bytes = demand.size_bytes;
        let tag = number as u64;
        let ask = Ask { tag, target, bytes, class: Class::STATIC, head_only: false };
        let node = number % servers;
        let source = nodes[node].admit(demand.at, ask, &mut dice, &mut agenda);
        hits += u64::from(source == Source::Hit);
        agenda.wakes.drain(..).for_each(|(at, wake)| calendar.enter(at, (node, wake)));
    }
    settle(Instant::NEVER, &mut nodes, &mut calendar, &mut total);
    (hits as f64 / demands.len() as f64, total / demands.len() as u32)
}

fn zero_cpu() -> CpuCost {
    let zero = Duration::ZERO;
    CpuCost { connect: zero, close: zero, request: zero, send_512: zero }
}

#[test]
fn servers_do_as_the_models_nodes_do() {
    for (gap_ns, allowed) in [(30 * MS, 0.01), (6 * MS, 0.05)] {
        let demands = zipf(8, 20_000, 1_500, gap_ns);
        let (ratio, latency) = on_nodes(2, 3_000 * KIB, &demands);
        let outcome = play(&setup("round-robin", 2, 3_000 * KIB), &demands);
        assert!((outcome.hit_ratio() - ratio).abs() < 0.005, "{} {ratio}", outcome.hit_ratio());
        let off = outcome.latency.mean().as_secs_f64() / latency.as_secs_f64() - 1.0;
        assert!(off.abs() < allowed, "{:?} and {latency:?}", outcome.latency.mean());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn books_balance_whatever_comes(
        asks in prop::collection::vec((0_u64..50, 0_u32..40, 0_u64..200, 0_u32..3), 1..400),
        servers in 1_u16..6,
        policy in 0..POLICIES.len(),
        seed in any::<u64>(),
        closed in any::<bool>(),
    ) {
        let mut at_ns = 0;
        let demands: Vec<Demand> = asks
            .iter()
            .map(|(gap_ms, target, kib, cacheable)| {
                at_ns += gap_ms * MS;
                let cacheable = *cacheable as f32 / 2.0;
                Demand { cacheable, ..demand(at_ns, *target, kib * KIB) }
            })
            .collect();
        let pace = if closed { Pace::Closed { limit: Some(3) } } else { Pace::Open { speed: 2.0 } };
        let grain = Duration::from_millis(seed % 3);
        let base = setup(POLICIES[policy].name, servers, 500 * KIB);
        let outcome = play(&Setup { pace, seed, grain, ..base }, &demands);
        assert_balanced(&outcome, demands.len());
    }
}
