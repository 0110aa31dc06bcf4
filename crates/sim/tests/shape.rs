//! The shape of it all: policies by cluster sizes, as a table that somebody has looked at.
//!
//! Method: one Zipf workload whose targets fit into eight nodes' caches. `UPDATE=1 cargo test -p
//! sim --test shape` writes the table anew: read the difference before you keep it. What theory
//! promises is asserted apart from it, so that a new table cannot make a wrong one right.

mod asked;

use sim::cluster::{Chooser, Mechanism, Report, Setup, run};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

const SIZES: [u16; 5] = [1, 2, 4, 8, 16];
const POLICIES: [&str; 6] = ["wrr", "target-hash", "lard", "lard-r", "lard-ext", "lb-gc"];
const CACHE_BYTES: u64 = 6 << 20;

/// By policy and cluster size.
fn table() -> Vec<Vec<Report>> {
    let script = asked::script(&asked::sizes(5_000, 1_000, 18_000), 1.0, 40_000, 2);
    let report = |policy, nodes| {
        let mut setup = Setup::phttp(
            nodes,
            model::CpuCost::ASPLOS,
            Chooser::named(policy).expect("it is listed"),
        );
        setup.node.cache_bytes = CACHE_BYTES;
        setup.warm_up = 0.4;
        if policy == "lard-ext" {
            setup.mechanism = Mechanism::Forwarding;
        } else {
            // The others know of no connections: each request is decided.
            setup.mechanism = Mechanism::Relaying;
        }
        run(&setup, &script)
    };
    POLICIES.map(|policy| SIZES.map(|nodes| report(policy, nodes)).to_vec()).to_vec()
}

fn text(table: &[Vec<Report>]) -> String {
    let mut text = String::from("requests/s, misses in %, largest mean load over mean load\n");
    let _ = write!(text, "{:12}", "nodes");
    for nodes in SIZES {
        let _ = write!(text, "{nodes:>22}");
    }
    for (policy, reports) in POLICIES.iter().zip(table) {
        let _ = write!(text, "\n{policy:12}");
        for report in reports {
            let misses = report.miss_ratio * 100.0;
            let (rps, imbalance) = (report.throughput_rps, report.imbalance);
            let _ = write!(text, "{rps:>9.0} {misses:5.1}% {imbalance:5.2}");
        }
    }
    text + "\n"
}

fn of<'a>(table: &'a [Vec<Report>], policy: &str) -> &'a [Report] {
    &table[POLICIES.iter().position(|name| *name == policy).expect("it is in the table")]
}

#[test]
fn the_table_is_the_one_that_was_reviewed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shape.txt");
    let found = text(&table());
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let reviewed = fs::read_to_string(&path).unwrap();
    assert!(found == reviewed, "found\n{found}\ninstead of\n{reviewed}");
}

#[test]
fn what_theory_promises_holds_whatever_the_table_says() {
    let table = table();
    let throughput = |policy| of(&table, policy).iter().map(|report| report.throughput_rps);
    let misses = |policy| of(&table, policy).iter().map(|report| report.miss_ratio);

    let one: Vec<f64> = table.iter().map(|reports| reports[0].miss_ratio).collect();
    let same = one.iter().all(|misses| (misses - one[0]).abs() < 0.01);
    assert!(same, "on one node all policies are the same: {one:?}");
    for policy in POLICIES {
        let all: Vec<f64> = throughput(policy).collect();
        assert!(all.is_sorted(), "{policy}: more nodes never serve less: {all:?}");
    }
    for policy in ["target-hash", "lard", "lard-r"] {
        let all: Vec<f64> = misses(policy).collect();
        assert!(all[3] < all[0] / 2.0, "{policy}: eight caches together miss less: {all:?}");
    }
    let blind: Vec<f64> = misses("wrr").collect();
    assert!(blind.iter().all(|m| (m / blind[0] - 1.0).abs() < 0.2), "wrr's stay: {blind:?}");
    for (blind, lard) in throughput("wrr").zip(throughput("lard")).skip(1) {
        assert!(lard > blind, "locality pays as soon as there is a choice: {lard} {blind}");
    }
    let balance = |policy| of(&table, policy).last().unwrap().imbalance;
    assert!(balance("target-hash") > balance("lard"), "a hash looks at no load");
}
