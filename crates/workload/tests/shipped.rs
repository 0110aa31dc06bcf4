//! Method: the trace that ships is read whole and its figures are compared with those that were
//! published for the three logs before they were folded; then it is written and read again.

use std::io::BufReader;
use std::sync::OnceLock;
use workload::{Builder, Clock, Pick, Plan, Sessions, Shape, Statistics, Trace, format, read};

const SHIPPED: &[u8] = include_bytes!("../../../data/three-sites.trace.zst");

fn parse(text: impl std::io::Read) -> Trace {
    let mut builder = Builder::new(Clock::Kept);
    let own = format("baton").expect("it is in the list");
    let tally = read(own, BufReader::new(text), |record| {
        builder.push("", record).expect("it is far from full");
    })
    .expect("the archive is whole");
    assert_eq!(tally.rejects(), 0, "{:?}", tally.examples);
    builder.finish()
}

fn shipped() -> &'static Trace {
    static TRACE: OnceLock<Trace> = OnceLock::new();
    TRACE.get_or_init(|| parse(zstd::Decoder::new(SHIPPED).expect("it is a zstd archive")))
}

/// A row of the published table. MB are rounded there, so half a unit either way is right.
struct Published {
    site: &'static str,
    counted: u64,
    targets: u64,
    once_only: u64,
    footprint_mb: u64,
    /// Expected, smallest first, largest first; for 97, 98, 99 per cent.
    coverage_mb: [[u64; 3]; 3],
    top_100_percent: f64,
    mean: u64,
    median: f64,
    zipf_slope: f64,
    per_session: f64,
}

/// EPA's table says 5,138 targets and 3,018 once only: two were one URL, raw and encoded.
const PUBLISHED: [Published; 3] = [
    Published {
        site: "epa",
        counted: 40_591,
        targets: 5_137,
        once_only: 3_016,
        footprint_mb: 113,
        coverage_mb: [[87, 52, 112], [96, 54, 113], [105, 58, 113]],
        top_100_percent: 60.1,
        mean: 8_241,
        median: 1_726.0,
        zipf_slope: 1.06,
        per_session: 2.58,
    },
    Published {
        site: "semicomplete",
        counted: 9_581,
        targets: 1_387,
        once_only: 757,
        footprint_mb: 561,
        coverage_mb: [[474, 333, 560], [503, 334, 561], [532, 336, 561]],
        top_100_percent: 71.5,
        mean: 300_895,
        median: 12_292.0,
        zipf_slope: 1.10,
        per_session: 2.47,
    },
    Published {
        site: "airisdata",
        counted: 98_878,
        targets: 3_297,
        once_only: 1_019,
        footprint_mb: 213,
        coverage_mb: [[106, 98, 118], [126, 119, 129], [148, 146, 191]],
        top_100_percent: 57.5,
        mean: 56_288,
        median: 27_905.0,
        zipf_slope: 0.96,
        per_session: 2.32,
    },
];

#[test]
fn its_figures_are_those_published_for_the_three_logs() {
    let trace = shipped();
    for row in &PUBLISHED {
        let place = trace.sites.iter().position(|name| **name == *row.site).unwrap();
        let found = Statistics::of(trace, Some(u16::try_from(place).unwrap()));
        let mb = |bytes: f64| (bytes / 1e6).round() as u64;
        assert_eq!(found.requests, row.counted, "{}", row.site);
        assert_eq!(found.counted, row.counted, "{}", row.site);
        assert_eq!(found.targets, row.targets, "{}", row.site);
        assert_eq!(found.once_only, row.once_only, "{}", row.site);
        assert_eq!(mb(found.footprint_bytes as f64), row.footprint_mb, "{}", row.site);
        let coverage = found
            .coverage
            .map(|of| [mb(of.bytes), mb(of.bytes_min as f64), mb(of.bytes_max as f64)]);
        assert_eq!(coverage, row.coverage_mb, "{}", row.site);
        assert!((found.top_100_share * 100.0 - row.top_100_percent).abs() < 0.05 + 1e-9);
        assert_eq!(found.reply_bytes_mean.round() as u64, row.mean, "{}", row.site);
        assert!((found.reply_bytes_median - row.median).abs() < 0.5, "{}", row.site);
        assert!((found.zipf_slope - row.zipf_slope).abs() < 0.005 + 1e-9, "{}", row.site);
        // Folding cuts the few sessions that cross midnight, so this one is only near.
        let per_session = found.counted as f64 / found.sessions as f64;
        assert!((per_session - row.per_session).abs() < 0.01, "{}: {per_session}", row.site);
    }
}

#[test]
fn it_is_one_day_in_order_with_urls_fit_to_be_sent() {
    let trace = shipped();
    assert_eq!((trace.requests.len(), trace.clients()), (149_050, 22_446));
    assert!(trace.requests.is_sorted_by_key(|entry| entry.at_ms));
    assert!(trace.requests.iter().all(|entry| entry.at_ms < 86_400_000 && entry.counted()));
    for target in &trace.targets {
        assert!(target.url.starts_with('/') && target.url.len() < 2048, "{}", target.url);
        assert!(target.url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
        assert!(!target.url.contains('@') && !target.url.contains("%40"), "{}", target.url);
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    let trace = shipped();
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    assert_eq!(text, zstd::decode_all(SHIPPED).unwrap());
    assert_eq!(&parse(text.as_slice()), trace);
}

#[test]
fn every_request_is_in_one_session_and_a_prefix_has_its_own_working_set() {
    let trace = shipped();
    let sessions = Sessions::of(trace, Shape::default());
    let mut seen = vec![false; trace.requests.len()];
    for session in sessions.iter() {
        assert_eq!(session.batches().next().unwrap().len(), 1, "the page stands alone");
        assert_eq!(session.batches().map(<[u32]>::len).sum::<usize>(), session.requests().len());
        for &number in session.requests() {
            assert!(!std::mem::replace(&mut seen[number as usize], true));
        }
    }
    assert!(seen.into_iter().all(|seen| seen));

    let plan = Plan::new(trace.clone(), Pick::First(40_000), Shape::default());
    let mut asked: Vec<u32> = plan.trace.requests.iter().map(|entry| entry.target).collect();
    asked.sort_unstable();
    asked.dedup();
    let sizes = asked.iter().map(|&target| trace.targets[target as usize].size);
    assert_eq!(plan.trace.requests.len(), 40_000);
    assert_eq!(plan.targets, asked.len());
    assert_eq!(plan.working_set_bytes, sizes.sum::<u64>());

    let mut small = trace.clone();
    small.retain(|_, target| target.size <= 10_000_000);
    let without = Plan::new(small, Pick::All, Shape::default());
    let larger = trace.targets.iter().filter(|target| target.size > 10_000_000);
    let sizes = trace.targets.iter().map(|target| target.size).sum::<u64>();
    let larger = larger.map(|target| target.size).sum::<u64>();
    assert_eq!(without.working_set_bytes, sizes - larger);

    let tenth = Plan::new(trace.clone(), Pick::Clients { of: 10, seed: 1 }, Shape::default());
    let share = tenth.trace.requests.len() as f64 / trace.requests.len() as f64;
    assert!((0.05..0.15).contains(&share), "{share}");
}
