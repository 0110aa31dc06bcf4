//! Method: twins are made with as few requests as their facts allow, and with `Statistics` and
//! `Sessions`, which know nothing of how they were made, are looked at as any log would be. What
//! was published is typed here again, so that a slip in the constants shows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use workload::draw::{Draw, Exponential};
use workload::synth::{Drift, Facts, Hot, Structure, TWINS, Twin, Unfit, Zipf, facts};
use workload::{Builder, Clock, Sessions, Shape, Statistics, Trace, format, read};

/// Name, targets, megabytes, and megabytes for 97, 98, 99 per cent, as published.
const PUBLISHED: [(&str, u64, f64, [f64; 3]); 4] = [
    ("rice", 31_000, 1015.0, [526.0, 619.0, 745.0]),
    ("ibm", 38_500, 984.0, [43.0, 69.0, 165.0]),
    ("rice-1998", 37_703, 1418.0, [560.0, 705.0, 927.0]),
    ("ibm-1998", 38_527, 1029.0, [51.0, 80.0, 182.0]),
];

/// As few as every twin can be made of.
const REQUESTS: u32 = 300_000;

fn twin(name: &str, structure: Structure) -> Twin {
    let facts: Facts = *facts(name).expect("it is in the list");
    Twin { requests: REQUESTS, structure, ..Twin::new(facts) }
}

/// Rice with pages, which most tests look at.
fn rice() -> &'static Trace {
    static TRACE: OnceLock<Trace> = OnceLock::new();
    TRACE.get_or_init(|| twin("rice", Structure::Pages).trace().expect("these fit"))
}

fn within(found: f64, expected: f64, percent: f64) -> bool {
    (found - expected).abs() <= expected * percent / 100.0
}

#[test]
fn every_twin_has_its_published_facts_within_one_per_cent() {
    for (name, targets, megabytes, coverage) in PUBLISHED {
        let trace = twin(name, Structure::Independent).trace().unwrap();
        let found = Statistics::of(&trace, None);
        assert_eq!(found.counted, u64::from(REQUESTS), "{name}");
        assert_eq!(found.targets, targets, "{name}");
        let bytes = found.footprint_bytes as f64 / 1e6;
        assert!(within(bytes, megabytes, 0.1), "{name}: {bytes} MB");
        for (found, published) in found.coverage.iter().zip(coverage) {
            let bytes = found.bytes / 1e6;
            assert!(within(bytes, published, 1.0), "{name}, {} %: {bytes} MB", found.percent);
        }
    }
}

#[test]
fn chess_fits_the_cache_of_one_node_and_replies_have_their_mean() {
    let trace = twin("chess", Structure::Pages).trace().unwrap();
    let found = Statistics::of(&trace, None);
    assert!(found.footprint_bytes < 32 << 20, "the cache of the LARD paper's nodes");
    let rice = Statistics::of(rice(), None);
    for (found, facts) in [(found, "chess"), (rice, "rice")] {
        let assumed = facts_of(facts).reply_bytes_mean as f64;
        let mean = found.reply_bytes_mean;
        assert!(within(mean, assumed, 25.0), "{facts}: {mean} of {assumed}");
    }
}

fn facts_of(name: &str) -> Facts {
    *facts(name).expect("it is in the list")
}

#[test]
fn the_structure_changes_neither_what_is_asked_for_nor_how_often() {
    let counts = |structure| {
        let trace = twin("chess", structure).trace().unwrap();
        let mut asked = vec![0_u32; trace.targets.len()];
        trace.requests.iter().for_each(|entry| asked[entry.target as usize] += 1);
        let mut pairs: Vec<_> =
            asked.into_iter().zip(trace.targets.iter().map(|target| target.size)).collect();
        pairs.sort_unstable();
        pairs
    };
    let independent = counts(Structure::Independent);
    assert_eq!(independent, counts(Structure::Pages));
    assert_eq!(independent, counts(Structure::SharedObjects));
}

/// For each connection that the paper's rule finds: the targets of its batches.
fn connections(trace: &Trace) -> Vec<Vec<Vec<u32>>> {
    let target = |&number: &u32| trace.requests[number as usize].target;
    let sessions = Sessions::of(trace, Shape::default());
    sessions
        .iter()
        .map(|session| session.batches().map(|batch| batch.iter().map(target).collect()).collect())
        .collect()
}

#[test]
fn an_object_belongs_to_one_page_and_is_asked_for_behind_it() {
    let trace = rice();
    let found = connections(trace);
    let mean = f64::from(REQUESTS) / found.len() as f64;
    assert!(within(mean, 2.3, 2.0), "{mean} requests a connection");
    let is_page = |target: u32| trace.targets[target as usize].url.starts_with("/page/");
    let mut page_of = BTreeMap::new();
    let (mut batches, mut once) = ([0_u32; 4], true);
    for connection in &found {
        batches[connection.len().min(3)] += 1;
        let page = connection[0][0];
        assert!(connection[0].len() == 1 && is_page(page), "the page comes first, alone");
        let objects: Vec<u32> = connection[1..].concat();
        once &= objects.iter().collect::<BTreeSet<_>>().len() == objects.len();
        for object in objects {
            assert!(!is_page(object));
            assert_eq!(*page_of.entry(object).or_insert(page), page);
        }
    }
    assert!(once, "no object twice on one connection");
    let [_, one, two, three] = batches.map(|count| f64::from(count) / found.len() as f64);
    assert!(one > 0.1 && two > 0.2 && three > 0.02, "{batches:?}");
}

#[test]
fn shared_objects_are_few_and_no_page_is_among_them() {
    let trace = twin("chess", Structure::SharedObjects).trace().unwrap();
    let found = connections(&trace);
    assert!(within(f64::from(REQUESTS) / found.len() as f64, 2.3, 2.0));
    let firsts: BTreeSet<u32> = found.iter().map(|connection| connection[0][0]).collect();
    let laters: BTreeSet<u32> =
        found.iter().flat_map(|connection| connection[1..].concat()).collect();
    assert!(firsts.is_disjoint(&laters));
    assert!(laters.len() * 10 < firsts.len(), "{} of {}", laters.len(), firsts.len());
}

#[test]
fn independent_requests_are_first_and_later_alike() {
    let mut twin = twin("chess", Structure::Independent);
    twin.per_connection = 5.0;
    let trace = twin.trace().unwrap();
    let found = connections(&trace);
    assert!(within(f64::from(REQUESTS) / found.len() as f64, 5.0, 2.0));
    let firsts: BTreeSet<u32> = found.iter().map(|connection| connection[0][0]).collect();
    let laters: BTreeSet<u32> =
        found.iter().flat_map(|connection| connection[1..].concat()).collect();
    assert!(firsts.intersection(&laters).count() * 10 > 9 * firsts.len());
}

#[test]
fn a_client_that_comes_back_at_a_busy_site_has_waited_for_its_connection_to_end() {
    // All of it in 40 seconds: clients would come back within the 15 s that servers wait.
    let twin = Twin { requests: 20_000, rate_rps: 500.0, ..twin("chess", Structure::Pages) };
    let found = connections(&twin.trace().unwrap());
    assert!(within(20_000.0 / found.len() as f64, 2.3, 2.0), "{} connections", found.len());
}

#[test]
fn one_request_a_connection_is_http_1_0() {
    let mut twin = twin("chess", Structure::Pages);
    twin.per_connection = 1.0;
    let trace = twin.trace().unwrap();
    assert_eq!(Sessions::of(&trace, Shape::default()).len(), REQUESTS as usize);
}

#[test]
fn a_trace_reads_back_as_it_was_written_and_is_in_order() {
    let trace = rice();
    assert!(trace.requests.is_sorted_by_key(|entry| entry.at_ms));
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    let mut builder = Builder::new(Clock::Kept);
    let own = format("baton").unwrap();
    let tally = read(own, text.as_slice(), |record| builder.push("", record).unwrap()).unwrap();
    assert_eq!(tally.rejects(), 0);
    assert_eq!(&builder.finish(), trace);
}

/// A number that any change of any request changes.
fn fingerprint(trace: &Trace) -> u64 {
    let mut sum = 0_u64;
    for entry in &trace.requests {
        let size = trace.target(entry).size;
        for word in [entry.at_ms, u64::from(entry.client), u64::from(entry.target), size] {
            sum = policy::TargetId(sum ^ word).mixed(1);
        }
    }
    sum
}

#[test]
fn a_seed_gives_the_same_trace_on_every_machine_and_another_seed_another() {
    let twin = Twin { requests: 20_000, ..twin("chess", Structure::Pages) };
    let found = fingerprint(&twin.trace().unwrap());
    assert_eq!(found, FINGERPRINT, "{found:#x}");
    assert_ne!(found, fingerprint(&Twin { seed: 2, ..twin }.trace().unwrap()));
}

/// What one machine made; another has to make the same.
const FINGERPRINT: u64 = 0x9814_ce37_8b14_0378;

#[test]
fn what_cannot_be_made_is_refused() {
    for facts in TWINS {
        let small = Twin { requests: 5_000, ..Twin::new(*facts) };
        assert_eq!(small.trace().err(), Some(Unfit::Few), "{}", facts.name);
        assert_eq!(Twin { requests: 0, ..small }.trace().err(), Some(Unfit::Few));
    }
    let chess = twin("chess", Structure::Pages);
    for per_connection in [0.5, 65.0, f64::NAN] {
        let found = Twin { per_connection, ..chess }.trace();
        assert_eq!(found.err(), Some(Unfit::PerConnection));
    }
    for rate_rps in [0.0, -1.0, f64::NAN] {
        assert_eq!(Twin { rate_rps, ..chess }.trace().err(), Some(Unfit::Rate));
    }
}

#[test]
fn popularity_is_natural_where_the_requests_suffice() {
    assert_eq!(Twin::new(facts_of("rice")).natural_requests(), 852_000);
    let ibm = Twin::new(facts_of("ibm"));
    assert!((3_200_000..3_210_000).contains(&ibm.natural_requests()));
    assert!(TWINS.iter().all(|facts| Twin::new(*facts).natural_requests() <= facts.requests));
}

fn zipf() -> Zipf {
    Zipf { targets: 2_000, exponent: 0.8, requests: 200_000, ..Zipf::default() }
}

#[test]
fn zipf_has_its_slope_its_sizes_and_its_connections() {
    let mut zipf = zipf();
    zipf.sizes = Draw::Exponential(Exponential { mean: 5_000.0 });
    let trace = zipf.trace().unwrap();
    let found = Statistics::of(&trace, None);
    assert_eq!((found.requests, found.targets), (200_000, 2_000));
    assert!((found.zipf_slope - 0.8).abs() < 0.02, "{}", found.zipf_slope);
    let mean = found.footprint_bytes as f64 / found.targets as f64;
    assert!(within(mean, 5_000.0, 10.0), "{mean}");
    let per_session = found.counted as f64 / found.sessions as f64;
    assert!(within(per_session, zipf.per_connection, 2.0), "{per_session}");
    assert_eq!(fingerprint(&trace), fingerprint(&zipf.trace().unwrap()));
}

#[test]
fn hot_targets_have_their_share_and_drift_moves_it_on() {
    let mut zipf = zipf();
    zipf.hot = Some(Hot { targets: 4, share: 0.5 });
    // With the times of a quiet site, connections follow each other as they were drawn.
    zipf.rate_rps = 0.01;
    let hottest = |trace: &Trace, requests: std::ops::Range<usize>| {
        let mut asked: BTreeMap<u32, u32> = BTreeMap::new();
        for entry in &trace.requests[requests] {
            *asked.entry(entry.target).or_default() += 1;
        }
        let mut list: Vec<(u32, u32)> = asked.into_iter().map(|(t, count)| (count, t)).collect();
        list.sort_unstable_by(|left, right| right.cmp(left));
        let share = list[..4].iter().map(|(count, _)| f64::from(*count)).sum::<f64>();
        let url = |&(_, target): &(u32, u32)| trace.targets[target as usize].url.clone();
        (share, list[..4].iter().map(url).collect::<BTreeSet<_>>())
    };
    let still = zipf.trace().unwrap();
    let (share, first) = hottest(&still, 0..100_000);
    assert!(within(share, 50_000.0, 2.0), "{share}");
    assert_eq!(hottest(&still, 100_000..200_000).1, first);

    zipf.drift = Some(Drift { every_requests: 100_000, ranks: 4 });
    let moving = zipf.trace().unwrap();
    assert_eq!(hottest(&moving, 0..100_000).1, first);
    assert!(hottest(&moving, 100_000..200_000).1.is_disjoint(&first));
}

#[test]
fn a_zipf_trace_that_makes_no_sense_is_refused() {
    let zipf = zipf();
    let cases = [
        Zipf { targets: 0, ..zipf },
        Zipf { exponent: -0.1, ..zipf },
        Zipf { exponent: f64::NAN, ..zipf },
        Zipf { hot: Some(Hot { targets: 2_000, share: 0.5 }), ..zipf },
        Zipf { hot: Some(Hot { targets: 1, share: 1.5 }), ..zipf },
        Zipf { drift: Some(Drift { every_requests: 0, ranks: 1 }), ..zipf },
    ];
    for case in cases {
        assert_eq!(case.trace().err(), Some(Unfit::Zipf), "{case:?}");
    }
    assert_eq!(Zipf { requests: 0, ..zipf }.trace().unwrap().requests.len(), 0);
}
