//! The distributed front-end. Method: small clusters whose figures follow from the constants by
//! arithmetic; conservation and the books are audited after each step, also while nodes die.

use core::time::Duration;
use model::CpuCost;
use policy::Instant;
use sim::cluster::cost::{DistributedCost, FrontCost};
use sim::cluster::{
    Arrivals, Chooser, Engine, Fault, FaultKind, Limit, Loss, Mechanism, Report, Script, Setup, run,
};

/// `connections` for one request each, of a few small targets that every cache holds.
fn small(connections: u32) -> Script {
    let mut script = Script::new([1024; 40]);
    for number in 0..connections {
        script.batch([number % 40]);
        script.close();
    }
    script
}

fn setup(nodes: u16, policy: &str) -> Setup {
    let chooser = Chooser::named(policy).expect("there is such a policy");
    let mut setup = Setup::phttp(nodes, CpuCost::APACHE, chooser);
    setup.warm_up = 0.2;
    setup.distributed = Some(DistributedCost::PENTIUM_300);
    setup
}

fn audited(setup: &Setup, script: &Script) -> Report {
    let mut engine = Engine::new(setup, script);
    while engine.step() {
        engine.audit();
    }
    engine.audit();
    engine.report()
}

#[test]
fn the_cpu_of_a_node_pays_for_distributing_and_serving() {
    let script = small(40_000);
    let report = run(&setup(4, "round-robin"), &script);
    let cost = DistributedCost::PENTIUM_300;
    // Round robin at both stages: three connections of four change the node.
    let away = cost.handoff * 3 / 4;
    let serve = CpuCost::APACHE.exchange(1024);
    let messages = cost.node_message.as_secs_f64() / report.batch_mean;
    let each = (cost.accept + away + serve).as_secs_f64() + messages;
    let expected = 4.0 / each;
    let off = (report.throughput_rps / expected - 1.0).abs();
    assert!(off < 0.02, "{} requests/s, expected {expected}", report.throughput_rps);
}

#[test]
fn one_node_hands_nothing_to_another_and_still_asks() {
    let report = audited(&setup(1, "lard"), &small(2_000));
    assert_eq!(report.totals.answered, 2_000);
    assert!(report.dispatcher > 0.0);
}

#[test]
fn batches_grow_when_the_dispatcher_is_slow() {
    let script = small(20_000);
    let mut slow = setup(8, "lard");
    slow.arrivals = Arrivals::Poisson(1_500.0);
    let quick = run(&slow, &script);
    let cost = DistributedCost::PENTIUM_300;
    // One question a message could not be answered more often than 200 times a second.
    slow.distributed = Some(DistributedCost { message: Duration::from_millis(5), ..cost });
    let slow = run(&slow, &script);
    assert!(quick.batch_mean < 1.2, "{}", quick.batch_mean);
    assert!(slow.batch_mean > 7.0, "{}", slow.batch_mean);
    assert!((slow.throughput_rps / quick.throughput_rps - 1.0).abs() < 0.02, "{slow:?}");
}

#[test]
fn the_layer_4_stage_limits_what_enters() {
    let mut fast = setup(32, "round-robin");
    let cost = DistributedCost::PENTIUM_300;
    fast.distributed = Some(DistributedCost { layer4: Duration::from_millis(1), ..cost });
    let report = run(&fast, &small(20_000));
    assert!((report.throughput_rps - 1000.0).abs() < 10.0, "{}", report.throughput_rps);
    assert!(report.layer4 > 0.99);
}

#[test]
fn a_single_front_end_saturates_where_its_cost_says() {
    let mut setup = setup(12, "round-robin");
    setup.distributed = None;
    setup.front = FrontCost::HANDOFF;
    let report = run(&setup, &small(40_000));
    assert!((report.throughput_rps - 1e6 / 300.0).abs() < 40.0, "{}", report.throughput_rps);
    assert!(report.front > 0.98);
}

#[test]
fn nobody_is_lost_when_distributors_die_and_the_books_balance() {
    let mut script = Script::new([4096; 500]);
    for number in 0..1_500_u32 {
        script.batch([number % 500]);
        script.batch([(number * 7) % 500, (number * 13) % 500]);
        script.close();
    }
    for seed in 0..16_u64 {
        for (mechanism, policy) in [
            (Mechanism::SingleHandoff, "lard"),
            (Mechanism::MultipleHandoff, "lard-ext"),
            (Mechanism::Forwarding, "lard-ext"),
        ] {
            let mut setup = setup(4, policy);
            (setup.mechanism, setup.seed) = (mechanism, seed);
            setup.arrivals = Arrivals::Closed(Limit::PerNode(20));
            setup.loss = Loss::Retry;
            let at = |ms: u64| Instant::ZERO.plus(Duration::from_millis(ms));
            let fault = |ms, node, kind| Fault { at: at(ms), node, kind };
            let shift = seed * 37;
            setup.faults = vec![
                fault(200 + shift, 1, FaultKind::Down),
                fault(400 + shift, 2, FaultKind::Down),
                fault(600 + shift, 1, FaultKind::Up),
                fault(900 + shift, 2, FaultKind::Up),
            ];
            let report = audited(&setup, &script);
            let totals = report.totals;
            assert_eq!((totals.entered, totals.left), (1_500, 1_500), "seed {seed}");
            assert_eq!(totals.answered, 4_500, "seed {seed}, {mechanism:?}: {totals:?}");
            assert!(totals.retried > 0, "seed {seed}: nobody was hit");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let script = small(5_000);
    assert_eq!(run(&setup(5, "lard-r"), &script), run(&setup(5, "lard-r"), &script));
}
