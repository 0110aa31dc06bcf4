//! The policies that place targets by hash. Method: place many targets before and after a change
//! and compare; for bounded loads, check the bound at each placement.

#![allow(clippy::unwrap_used)] // In a test, an unwrap is an assertion.

mod farm;

use farm::Farm;
use policy::{Class, Load, ServerId, State, WARM, Why};
use proptest::prelude::*;

const TARGETS: u64 = 40_000;
const HASHING: [&str; 3] = ["target-hash", "bounded-hash", "maglev"];

fn placed(farm: &Farm) -> Vec<ServerId> {
    (0..TARGETS).map(|target| farm.look(target).server).collect()
}

fn counts(placed: &[ServerId], servers: usize) -> Vec<f64> {
    let mut counts = vec![0.0; servers];
    placed.iter().for_each(|id| counts[id.index()] += 1.0);
    counts
}

/// Part of the targets that are elsewhere now, not counting those that were on `gone`.
fn moved(before: &[ServerId], after: &[ServerId], gone: ServerId) -> f64 {
    let stayed = || before.iter().zip(after).filter(|(before, _)| **before != gone);
    stayed().filter(|(before, after)| before != after).count() as f64 / stayed().count() as f64
}

#[test]
fn targets_are_shared_evenly_and_by_weight() {
    // Deviation allowed from the fair part: a ring is uneven by design, a table is not.
    for (policy, tolerance) in [("target-hash", 0.04), ("bounded-hash", 0.30), ("maglev", 0.04)] {
        for weights in [[1, 1, 1, 1, 1], [4, 1, 2, 2, 1]] {
            let farm = Farm::new(policy, &[], &weights);
            let total = f64::from(weights.iter().sum::<u32>());
            for (count, weight) in counts(&placed(&farm), 5).iter().zip(weights) {
                let fair = TARGETS as f64 * f64::from(weight) / total;
                let off = (count / fair - 1.0).abs();
                assert!(off < tolerance, "{policy} {weights:?}: {count} for {fair}");
            }
        }
    }
}

#[test]
fn only_the_targets_of_a_server_that_goes_move() {
    for (policy, tolerance) in [("target-hash", 0.0), ("bounded-hash", 0.0), ("maglev", 0.04)] {
        let mut farm = Farm::new(policy, &[], &[1; 10]);
        let before = placed(&farm);
        farm.desk.set_state(ServerId(3), State::Down);
        let during = placed(&farm);
        let moved = moved(&before, &during, ServerId(3));
        assert!(moved <= tolerance, "{policy}: {moved} of the others' targets moved");
        assert!(during.iter().all(|id| *id != ServerId(3)), "{policy}");
        farm.desk.set_state(ServerId(3), State::Up);
        assert_eq!(placed(&farm), before, "{policy}: everything is back when the server is");
    }
}

#[test]
fn places_follow_the_name_not_the_slot() {
    for policy in HASHING {
        let one = Farm::new(policy, &[], &[1; 4]);
        let mut other = Farm::new(policy, &[], &[]);
        for number in [2, 0, 3, 1] {
            other.join(&format!("web{number}"), 1);
        }
        let name = |farm: &Farm, target| {
            let id = farm.look(target).server;
            farm.desk.cluster().server(id).unwrap().spec.name.clone()
        };
        for target in 0..TARGETS {
            assert_eq!(name(&one, target), name(&other, target), "{policy}");
        }
    }
}

#[test]
fn a_server_that_warms_up_lends_and_takes_back_its_own_targets_only() {
    for policy in HASHING {
        let mut farm = Farm::new(policy, &[], &[1; 4]);
        let home = placed(&farm);
        let mine = home.iter().filter(|id| **id == ServerId(1)).count() as f64;
        let mut kept_before = 0;
        for warmth in [16, 64, 128, 192, WARM] {
            farm.desk.set_share(ServerId(1), 1, warmth);
            let now = placed(&farm);
            let lent = moved(&home, &now, ServerId(1));
            assert_eq!(lent, 0.0, "{policy}: nobody else's targets move");
            let kept = now.iter().filter(|id| **id == ServerId(1)).count();
            assert!(kept >= kept_before, "{policy}: what was taken back stays");
            kept_before = kept;
            let ramp = f64::from(warmth) / f64::from(WARM);
            // A ring has fewer points of the server, which is its share of all points.
            let ring = 4.0 * ramp / (3.0 + ramp);
            let part = if policy == "bounded-hash" { ring } else { ramp };
            let off = (kept as f64 / mine - part).abs();
            assert!(off < 0.05, "{policy} at {warmth}: keeps {kept} of {mine}");
        }
        assert_eq!(placed(&farm), home, "{policy}");
    }
}

#[test]
fn a_lent_target_says_so() {
    for policy in HASHING {
        let mut farm = Farm::new(policy, &[], &[1; 4]);
        let home = placed(&farm);
        farm.desk.set_share(ServerId(1), 1, 1);
        for (target, home) in home.iter().enumerate().take(2_000) {
            let answer = farm.look(target as u64);
            let why = if answer.server == *home { Why::Hash } else { Why::SlowStart };
            assert_eq!(answer.why, why, "{policy}");
        }
    }
}

#[test]
fn a_cluster_that_starts_together_lends_nothing() {
    for policy in HASHING {
        let mut farm = Farm::new(policy, &[], &[1; 3]);
        for slot in 0..3 {
            farm.desk.set_share(ServerId(slot), 1, 26);
        }
        assert!((0..500).all(|target| farm.look(target).why == Why::Hash), "{policy}");
    }
}

#[test]
fn no_load_moves_a_target_of_a_guarded_hash() {
    for policy in ["target-hash", "maglev"] {
        let mut farm = Farm::new(policy, &[], &[1; 4]);
        let before = farm.look(77);
        assert_eq!(before.guard.unwrap().load_max, Load::MAX, "{policy}");
        let _work = farm.burden(before.server.0, 100_000);
        assert_eq!(farm.look(77), before, "{policy}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_server_is_ever_given_more_than_its_bound(
        weights in prop::collection::vec(1..5_u32, 1..9),
        factor in 100..300_u64,
        steps in prop::collection::vec((0..6_u64, any::<bool>(), any::<usize>()), 1..200),
    ) {
        let set = ("balance_factor", policy::Value::Count(factor));
        let mut farm = Farm::new("bounded-hash", &[set], &weights);
        let total_weight = u64::from(weights.iter().sum::<u32>());
        let mut tickets = Vec::new();
        for (target, begin, which) in steps {
            if begin || tickets.is_empty() {
                let (answer, ticket) = farm.begin(target, Class::STATIC);
                tickets.push(ticket);
                let total = tickets.len() as u64;
                let share = u64::from(weights[answer.server.index()]);
                let bound = (factor * total * share).div_ceil(100 * total_weight);
                let load = farm.desk.cluster().load(answer.server);
                prop_assert!(load <= Load::of(bound), "{load} of {total}, bound {bound}");
            } else {
                let ticket = tickets.swap_remove(which % tickets.len());
                farm.end(ticket, true);
            }
        }
    }
}

#[test]
fn work_left_on_a_server_that_is_down_does_not_raise_the_bound_of_the_others() {
    let mut farm = Farm::new("bounded-hash", &[], &[1; 5]);
    let _work = farm.burden(4, 1_000);
    farm.desk.set_state(ServerId(4), State::Down);
    let home = farm.look(5).server;
    let _tickets: Vec<_> = (0..100).map(|_| farm.begin(5, Class::STATIC).1).collect();
    assert_eq!(farm.desk.cluster().load(home), Load::of(32), "ceil(1.25 x 100 / 4)");
}

#[test]
fn a_hot_target_spills_along_the_ring_and_comes_home() {
    let mut farm = Farm::new("bounded-hash", &[], &[1; 4]);
    let home = farm.look(5).server;
    let mut tickets = Vec::new();
    for _ in 0..100 {
        let (answer, ticket) = farm.begin(5, Class::STATIC);
        assert_eq!(answer.why == Why::BoundExceeded, answer.server != home, "{answer:?}");
        tickets.push(ticket);
    }
    assert_eq!(farm.desk.cluster().load(home), Load::of(32), "ceil(1.25 x 100 / 4)");
    tickets.into_iter().for_each(|ticket| farm.end(ticket, true));
    assert_eq!(farm.look(5).server, home);
}
