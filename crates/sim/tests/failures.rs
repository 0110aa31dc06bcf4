//! Nodes that fail and come back in mid-run. Method: 64 seeds, each with its own cluster, policy,
//! mechanism and faults; the books are audited after every single step, and a failure names its
//! seed. `SEED=17 cargo test -p sim --test failures` runs one alone, `SEEDS=10000` more of them.

mod asked;

use policy::{Dice, Instant};
use sim::cluster::{
    Chooser, Engine, Fault, FaultKind, Loss, Mechanism, Report, Script, Setup, run,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const POLICIES: [&str; 6] = ["lard", "lard-r", "lard-cost", "lard-ext", "wrr", "lb-gc"];
const MECHANISMS: [Mechanism; 4] = [
    Mechanism::SingleHandoff,
    Mechanism::MultipleHandoff,
    Mechanism::Forwarding,
    Mechanism::Relaying,
];

/// Down and up again by turns, so that at the end all are up.
fn faults(dice: &mut Dice, nodes: u16) -> Vec<Fault> {
    let mut faults = Vec::new();
    for _ in 0..3 {
        let node = dice.below(usize::from(nodes)) as u16;
        let (at_ms, for_ms) = (dice.below(6_000) as u64, 1 + dice.below(2_000) as u64);
        let fault = |ms: u64, kind| Fault { at: Instant(ms * 1_000_000), node, kind };
        faults.push(fault(at_ms, FaultKind::Down));
        faults.push(fault(at_ms + for_ms, FaultKind::Up));
    }
    faults
}

fn setup(seed: u64) -> Setup {
    let mut dice = Dice::new(seed);
    let nodes = 1 + dice.below(5) as u16;
    let chooser = Chooser::named(POLICIES[dice.below(POLICIES.len())]).expect("it is listed");
    let mut setup = Setup::phttp(nodes, model::CpuCost::APACHE, chooser);
    setup.node.cache_bytes = 2 << 20;
    setup.mechanism = MECHANISMS[dice.below(MECHANISMS.len())];
    setup.faults = faults(&mut dice, nodes);
    setup.loss = if dice.below(2) == 0 { Loss::Retry } else { Loss::Fail };
    setup.tail = true;
    setup.seed = seed;
    setup
}

fn script() -> Script {
    asked::script(&asked::sizes(400, 500, 40_000), 0.8, 500, 3)
}

fn audited(setup: &Setup, script: &Script) -> Report {
    let mut engine = Engine::new(setup, script);
    while engine.step() {
        engine.audit();
    }
    engine.report()
}

fn check(seed: u64, script: &Script) {
    let setup = setup(seed);
    let totals = audited(&setup, script).totals;
    assert_eq!(totals.entered, totals.left);
    assert_eq!(totals.answered + totals.failed, script.requests() as u64);
    if setup.loss == Loss::Retry {
        assert_eq!(totals.failed, 0, "all nodes are up at the end, so all is answered");
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_fails_the_books_balance_after_every_step() {
    let script = script();
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SEEDS").unwrap_or(64),
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(seed, &script))) {
            eprintln!("SEED={seed} cargo test -p sim --test failures");
            resume_unwind(panic);
        }
    }
}

/// One node of two is gone for good.
fn halved(loss: Loss) -> Setup {
    let at = Instant(2_000_000_000);
    let mut setup = setup(1);
    setup.nodes = 2;
    setup.faults = vec![Fault { at, node: 1, kind: FaultKind::Down }];
    Setup { loss, ..setup }
}

#[test]
fn what_a_lost_node_had_is_answered_by_the_other_one() {
    let script = script();
    let report = run(&halved(Loss::Retry), &script);
    assert_eq!(report.totals.answered, script.requests() as u64);
    assert!(report.totals.retried > 0, "it had connections");
    let lost = run(&halved(Loss::Fail), &script).totals;
    assert!(lost.failed > 0 && lost.retried == 0, "{lost:?}");
}

#[test]
fn a_node_that_comes_back_has_to_read_everything_again() {
    let script = script();
    let whole = run(&Setup { faults: Vec::new(), ..halved(Loss::Retry) }, &script);
    let at = |ms: u64, kind| Fault { at: Instant(ms * 1_000_000), node: 1, kind };
    let faults = vec![at(2_000, FaultKind::Down), at(2_001, FaultKind::Up)];
    let back = run(&Setup { faults, ..halved(Loss::Retry) }, &script);
    assert!(back.miss_ratio > whole.miss_ratio, "{} {}", back.miss_ratio, whole.miss_ratio);
    assert_eq!(back.totals.answered, whole.totals.answered);
}

#[test]
fn without_any_node_all_that_is_left_is_lost() {
    let script = script();
    let mut setup = halved(Loss::Retry);
    let at = setup.faults[0].at;
    setup.faults.push(Fault { at, node: 0, kind: FaultKind::Down });
    let totals = run(&setup, &script).totals;
    assert!(totals.failed > 0 && totals.answered > 0, "{totals:?}");
    assert_eq!(totals.answered + totals.failed, script.requests() as u64);
    assert_eq!(totals.left, script.connections() as u64);
}
