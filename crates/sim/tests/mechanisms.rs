//! What connections cost by each mechanism. Method: everything is in memory and one CPU is the
//! limit, so that throughput follows from the constants by arithmetic; where a paper published the
//! outcome, that is what is asked for.

use model::CpuCost;
use policy::{Dice, Params, Value};
use sim::cluster::cost::FrontCost;
use sim::cluster::{Chooser, Mechanism, Report, Script, Setup, run};

const KB: u64 = 1024;

/// Connections of `per_connection` requests for targets of one size, all as popular.
fn script(targets: usize, bytes: u64, connections: u32, per_connection: u32) -> Script {
    let mut script = Script::new((0..targets).map(|_| bytes));
    let mut dice = Dice::new(3);
    let mut target = || dice.below(targets) as u32;
    for _ in 0..connections {
        script.batch([target()]);
        script.batch((1..per_connection).map(|_| target()));
        script.close();
    }
    script
}

fn setup(nodes: u16, cpu: CpuCost, policy: &str) -> Setup {
    let chooser = Chooser::named(policy).expect("it is listed");
    Setup { warm_up: 0.2, ..Setup::phttp(nodes, cpu, chooser) }
}

fn near(report: &Report, theory_rps: f64, share: f64) {
    let off = report.throughput_rps / theory_rps - 1.0;
    assert!(off.abs() < share, "{} instead of {theory_rps}/s", report.throughput_rps);
}

#[test]
fn one_node_delivers_the_published_capacities() {
    let published = [(CpuCost::ASPLOS, 1075.0), (CpuCost::APACHE, 682.0), (CpuCost::FLASH, 1248.0)];
    for (cpu, rps) in published {
        near(&run(&setup(1, cpu, "wrr"), &script(100, 8 * KB, 20_000, 1)), rps, 0.005);
    }
}

#[test]
fn persistent_connections_save_their_set_up_and_nothing_else() {
    let per_connection = [(2, 841.0, 1488.0), (4, 952.0, 1646.0), (10, 1035.0, 1758.0)];
    for (requests, apache, flash) in per_connection {
        let script = script(100, 8 * KB, 5_000, requests);
        near(&run(&setup(1, CpuCost::APACHE, "wrr"), &script), apache, 0.005);
        near(&run(&setup(1, CpuCost::FLASH, "wrr"), &script), flash, 0.005);
    }
}

/// Twenty nodes could do 16,000 requests for 1 KB.
fn behind(front: FrontCost, mechanism: Mechanism) -> Report {
    let setup = Setup { front, mechanism, ..setup(20, CpuCost::FLASH, "wrr") };
    run(&setup, &script(200, KB, 60_000, 1))
}

#[test]
fn a_single_front_end_is_the_limit_of_a_large_cluster() {
    let free = behind(FrontCost::FREE, Mechanism::SingleHandoff);
    assert!(free.throughput_rps > 15_000.0 && free.front == 0.0, "{}", free.throughput_rps);
    // "Nearly 300 us" a connection, and "more than 750 us" (USENIX 2000).
    let handoff = behind(FrontCost::HANDOFF, Mechanism::SingleHandoff);
    near(&handoff, 1.0 / 300e-6, 0.02);
    assert!(handoff.front > 0.99);
    let splicing = behind(FrontCost::SPLICING, Mechanism::Splicing);
    assert!(splicing.throughput_rps < 1_333.0 && splicing.front > 0.99);
    let relaying = behind(FrontCost::RELAYING, Mechanism::Relaying);
    near(&relaying, 1.0 / 513e-6, 0.02);
}

/// Extended LARD that never takes a disk for idle: with all in memory it would forward nothing.
fn by_cost(mechanism: Mechanism, cpu: CpuCost, bytes: u64) -> Report {
    let entry = policy::entry("lard-ext").expect("it is listed");
    let mut params = Params::new(entry.params);
    params.set("disk_low", Value::Count(0)).expect("it is declared, and may be 0");
    let chooser = Chooser::Row(entry, params);
    let setup = Setup { mechanism, chooser, ..setup(2, cpu, "lard-ext") };
    run(&setup, &script(1_001, bytes, 20_000, 6))
}

#[test]
fn forwarding_suits_small_replies_and_handing_on_large_ones() {
    for (cpu, crossover) in [(CpuCost::APACHE, 11_860), (CpuCost::FLASH, 5_500)] {
        let gain = |bytes| {
            let forwarding = by_cost(Mechanism::Forwarding, cpu, bytes).throughput_rps;
            forwarding / by_cost(Mechanism::MultipleHandoff, cpu, bytes).throughput_rps - 1.0
        };
        assert!(gain(crossover / 2) > 0.03, "{}", gain(crossover / 2));
        assert!(gain(crossover * 2) < -0.03, "{}", gain(crossover * 2));
    }
}

#[test]
fn the_ideal_mechanism_moves_connections_for_nothing() {
    let ideal = by_cost(Mechanism::Ideal, CpuCost::APACHE, 8 * KB);
    let handing = by_cost(Mechanism::MultipleHandoff, CpuCost::APACHE, 8 * KB);
    let forwarding = by_cost(Mechanism::Forwarding, CpuCost::APACHE, 8 * KB);
    // Two nodes at six requests a connection.
    near(&ideal, 2.0 * 996.0, 0.01);
    assert!(ideal.moved > 0 && handing.moved > 0 && forwarding.moved == 0);
    assert!(forwarding.forwarded > 0 && ideal.forwarded == 0 && handing.forwarded == 0);
    assert!(ideal.throughput_rps > handing.throughput_rps);
    assert!(ideal.throughput_rps > forwarding.throughput_rps);
}

#[test]
fn a_global_memory_reads_only_what_no_node_has() {
    let mut blind = Setup { warm_up: 0.5, ..setup(4, CpuCost::FLASH, "wrr") };
    // A third of the targets fits one node, all fit four.
    blind.node.cache_bytes = 350 * 8 * KB;
    let global = Setup { global_memory: true, ..blind.clone() };
    let script = script(1_000, 8 * KB, 40_000, 1);
    let (alone, together) = (run(&blind, &script), run(&global, &script));
    assert!(alone.miss_ratio > 0.6, "{}", alone.miss_ratio);
    assert!(together.miss_ratio < 0.1, "{}", together.miss_ratio);
    assert!(together.forwarded > 10_000, "three of four are elsewhere: {}", together.forwarded);
    assert!(together.throughput_rps > 3.0 * alone.throughput_rps);
}
