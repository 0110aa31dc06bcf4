//! The published rules on small cases whose answers were worked out by hand.
//!
//! Method: a policy learns where a target is while that server is idle; then loads are set by hand
//! and one answer is compared, server and reason. Each case says in a sentence why.

mod setup;

use policy::{
    Admission, AdmissionForm, Change, Charge, Cluster, Desk, Expect, Held, Instant, Load, Outcome,
    Report, Request, ServerId, State, Value, Why,
};
use proptest::prelude::*;
use setup::{A, B, C, Stage, ask_for, at, policy, set_load, spec};
use std::time::Duration;

/// Asks for target 1 while A is idle and the others are not.
fn mapped_to_a(name: &str, servers: usize) -> Stage {
    let mut loads = vec![10; servers];
    loads[0] = 0;
    let mut stage = Stage::new(policy(name, &[]), &loads);
    let answer = stage.assign(&ask_for(1));
    assert_eq!((answer.server, answer.why), (A, Why::FirstSeen));
    stage
}

#[test]
fn basic_lard_moves_a_target_only_for_the_published_reasons() {
    let cases = [
        ([66, 24], B, Why::SpillOverload, "A is above T_high and B below T_low"),
        ([66, 25], A, Why::Affinity, "B is at T_low, not below"),
        ([65, 24], A, Why::Affinity, "A is at T_high, not above"),
        ([130, 129], B, Why::SpillOverload, "A is at 2 T_high, whatever B is"),
        ([129, 100], A, Why::Affinity, "A is below 2 T_high and nobody below T_low"),
        ([130, 131], A, Why::Affinity, "A is at 2 T_high but the least loaded all the same"),
    ];
    for (loads, server, why, reason) in cases {
        let mut stage = mapped_to_a("lard", 2);
        stage.loads(&loads);
        let answer = stage.assign(&ask_for(1));
        assert_eq!((answer.server, answer.why), (server, why), "{loads:?}: {reason}");
        stage.loads(&[0, 0]);
        assert_eq!(stage.answer(&ask_for(1)).server, server, "the mapping is what was answered");
    }
}

#[test]
fn the_utilisation_form_of_lard_compares_reports() {
    let metric = [("metric", Value::Word("utilisation"))];
    let cases = [
        ([0.71, 0.29], B, "A is above 0.7 and B below 0.3"),
        ([0.71, 0.30], A, "B is not below 0.3"),
        ([0.70, 0.0], A, "A is not above 0.7"),
    ];
    for (utilisations, server, reason) in cases {
        let mut stage = Stage::new(policy("lard", &metric), &[0, 10]);
        assert_eq!(stage.assign(&ask_for(1)).server, A, "no report counts as idle");
        stage.loads(&[1000, 1000]);
        for (id, cpu) in [A, B].into_iter().zip(utilisations) {
            stage.cluster.set_report(id, Report { cpu, ..Report::default() });
        }
        let answer = stage.answer(&ask_for(1));
        assert_eq!(answer.server, server, "{reason}");
        assert_eq!(answer.guard, None, "loads promise nothing here");
    }
}

#[test]
fn the_auto_thresholds_follow_each_servers_capacity() {
    let auto = [("t_low", Value::Auto), ("t_high", Value::Auto)];
    // A works on 13 at once: T_high 13, T_low 5. B has the paper's 65 and 25.
    let cases = [
        ([13, 0], A, "A is at its T_high"),
        ([14, 24], B, "A is above its own T_high and B below 25"),
        ([14, 25], A, "B is at its T_low"),
        ([26, 64], B, "A is at twice its T_high and feels twice as busy as B"),
    ];
    for (loads, server, reason) in cases {
        let mut stage = Stage::new(policy("lard", &auto), &[]);
        for (number, capacity) in [Some(13), None].into_iter().enumerate() {
            let spec = policy::Spec { capacity, ..spec(number) };
            let id = stage.cluster.join(spec, State::Up, Instant::ZERO).unwrap();
            stage.cluster.begin(id, Load::of(number as u64), Instant::ZERO);
        }
        assert_eq!(stage.assign(&ask_for(1)).server, A);
        assert_eq!(stage.answer(&ask_for(1)).guard.unwrap().load_max.0 / Load::ONE.0, 13);
        stage.loads(&loads);
        assert_eq!(stage.answer(&ask_for(1)).server, server, "{loads:?}: {reason}");
    }
}

/// Target 1 on A and B since second 0, C without it.
fn replicated() -> Stage {
    let mut stage = mapped_to_a("lard-r", 3);
    stage.loads(&[70, 10, 80]);
    let answer = stage.assign(&ask_for(1));
    assert_eq!((answer.server, answer.why), (B, Why::Replicate));
    assert_eq!(stage.policy.gauges().replicated, 1);
    stage
}

#[test]
fn lard_r_adds_the_least_loaded_server_when_all_replicas_are_busy() {
    let mut stage = replicated();
    stage.loads(&[70, 90, 10]);
    let answer = stage.assign(&ask_for(1));
    assert_eq!((answer.server, answer.why, answer.expect), (C, Why::Replicate, Expect::Miss));
    for (loads, server) in [([1, 2, 2], A), ([2, 1, 2], B), ([2, 2, 1], C)] {
        stage.loads(&loads);
        assert_eq!(stage.answer(&ask_for(1)).server, server, "all three have it");
    }
}

#[test]
fn lard_r_may_grow_and_shrink_by_the_same_request() {
    let mut stage = replicated();
    stage.loads(&[70, 90, 10]);
    let answer = stage.assign(&Request { at: at(21), ..ask_for(1) });
    assert_eq!((answer.server, answer.why), (C, Why::Replicate));
    stage.loads(&[2, 0, 3]);
    assert_eq!(stage.answer(&ask_for(1)).server, A, "B was the most loaded: it left");
    stage.loads(&[3, 0, 2]);
    assert_eq!(stage.answer(&ask_for(1)).server, C);
}

#[test]
fn lard_r_shrinks_only_after_more_than_k() {
    for (seconds, why) in [(20, Why::Affinity), (21, Why::Shrink)] {
        let mut stage = replicated();
        stage.loads(&[5, 5, 0]);
        let answer = stage.assign(&Request { at: at(seconds), ..ask_for(1) });
        assert_eq!((answer.why, answer.expect), (why, Expect::Hit));
        assert_eq!(stage.policy.gauges().replicated, usize::from(why == Why::Affinity));
        stage.loads(&[9, 9, 0]);
        let again = stage.answer(&ask_for(1));
        assert_eq!(again.server, answer.server, "who serves never leaves by the same request");
        assert_eq!(again.guard.is_some(), why == Why::Shrink, "one member is guarded");
    }
}

#[test]
fn a_target_whose_servers_are_gone_counts_as_never_seen() {
    for name in ["lard", "lard-r", "lard-cost", "lard-ext"] {
        let mut stage = mapped_to_a(name, 3);
        stage.cluster.set_state(A, State::Down);
        stage.loads(&[0, 9, 10]);
        let answer = stage.assign(&ask_for(1));
        assert_eq!((answer.server, answer.why), (B, Why::FirstSeen), "{name}");
        stage.cluster.leave(B);
        stage.policy.changed(Change::Left(B), &stage.cluster);
        let answer = stage.answer(&ask_for(1));
        assert_eq!((answer.server, answer.why), (C, Why::FirstSeen), "{name}");
    }
}

#[test]
fn the_three_costs_move_a_target_at_80_and_at_130() {
    let cases = [
        ([79, 29], A, [50.0, 50.0], "a tie stays with the mapped server"),
        ([80, 29], B, [51.0, 50.0], "one more and the other is cheaper"),
        ([129, 30], A, [100.0, 100.0], "a busy server would also evict: twice the miss cost"),
        ([130, 129], B, [f64::INFINITY, 199.0], "overloaded costs infinitely much"),
    ];
    for (loads, server, costs, reason) in cases {
        let mut stage = mapped_to_a("lard-cost", 2);
        stage.loads(&loads);
        let cost = |id| stage.policy.cost(id, &ask_for(1), &stage.cluster).unwrap();
        assert_eq!([cost(A), cost(B)], costs, "{loads:?}");
        assert_eq!(stage.answer(&ask_for(1)).server, server, "{loads:?}: {reason}");
    }
}

#[test]
fn when_all_are_overloaded_the_least_loaded_serves() {
    let mut stage = mapped_to_a("lard-cost", 3);
    stage.loads(&[140, 135, 150]);
    assert_eq!(stage.answer(&ask_for(1)).server, B);
}

#[test]
fn unmapped_targets_spread_over_idle_servers() {
    // All idle servers cost the same; by index, or by cost alone, all would go to A.
    let mut stage = Stage::new(policy("lard-cost", &[]), &[0, 0, 0, 0]);
    let servers: Vec<_> = (0..8)
        .map(|target| {
            let server = stage.assign(&ask_for(target)).server;
            stage.cluster.begin(server, Load::ZERO, Instant::ZERO);
            server.0
        })
        .collect();
    assert_eq!(servers, [0, 1, 2, 3, 0, 1, 2, 3]);
}

fn later(target: u64, holder: ServerId) -> Request {
    Request { holder: Some(holder), ..ask_for(target) }
}

/// Target 1 is at B; A holds the connection, with `queue` reads waiting for its disk.
fn extended(queue: Option<u32>, loads: &[u64]) -> Stage {
    let mut stage = Stage::new(policy("lard-ext", &[]), &[10, 0]);
    assert_eq!(stage.assign(&ask_for(1)).server, B);
    stage.loads(loads);
    if let Some(disk_queue) = queue {
        stage.cluster.set_report(A, Report { disk_queue, ..Report::default() });
    }
    stage
}

#[test]
fn extended_lard_reads_locally_while_the_holders_disk_is_little_used() {
    let mut stage = extended(Some(4), &[50, 60]);
    let answer = stage.assign(&later(1, A));
    assert_eq!((answer.server, answer.why, answer.cache), (A, Why::Sticky, true));
    assert_eq!(answer.expect, Expect::Miss);
    assert_eq!(stage.answer(&later(1, A)).expect, Expect::Hit, "A has it now");
    assert_eq!(stage.answer(&later(1, B)).expect, Expect::Hit, "and B still has it");
    assert_eq!(stage.policy.gauges().replicated, 1);
}

#[test]
fn extended_lard_forwards_when_that_costs_less_than_a_read() {
    // A: 20 + 50 + 50 = 120. B: 30 + 1 + 0 = 31. No report: the disk is not known to be idle.
    for queue in [Some(5), None] {
        let mut stage = extended(queue, &[50, 60]);
        let answer = stage.assign(&later(1, A));
        assert_eq!((answer.server, answer.why, answer.cache), (B, Why::Forward, false));
        assert_eq!(stage.policy.gauges().replicated, 0, "A did not keep it");
    }
}

#[test]
fn extended_lard_reads_without_caching_when_the_other_is_overloaded() {
    let mut stage = extended(Some(5), &[50, 130]);
    let answer = stage.assign(&later(1, A));
    assert_eq!((answer.server, answer.why, answer.cache), (A, Why::Sticky, false));
    assert_eq!(stage.answer(&later(1, A)).expect, Expect::Miss, "the map did not change");
}

#[test]
fn extended_lard_caches_at_the_holder_what_nobody_has() {
    let mut stage = extended(Some(500), &[50, 60]);
    let answer = stage.assign(&later(2, A));
    assert_eq!((answer.server, answer.cache, answer.expect), (A, true, Expect::Miss));
    assert_eq!(stage.answer(&later(2, A)).expect, Expect::Hit);
}

#[test]
fn a_batch_of_four_with_three_at_b_charges_b_three_quarters() {
    for (charge, share) in [(Charge::PerRequest, (3, 4)), (Charge::PerServer, (1, 4))] {
        let mut cluster = Cluster::new(0.0);
        for number in 0..2 {
            cluster.join(spec(number), State::Up, Instant::ZERO).unwrap();
        }
        let mut desk = Desk::new(policy("lard-ext", &[]), cluster, 1);
        let (answer, unit) = desk.assign(&ask_for(1), &[]).unwrap();
        assert_eq!(answer.server, A);
        let mut held = Held::open(unit, charge);
        held.batch_begin(&mut desk, at(1));
        for server in [B, A, B, B] {
            held.serve(&mut desk, &ask_for(2), server);
        }
        assert_eq!(desk.cluster().load(B), Load::ONE.scaled(share.0, share.1));
        assert_eq!(desk.cluster().load(A), Load::ONE);
        held.batch_begin(&mut desk, at(2));
        assert_eq!(desk.cluster().load(B), Load::ZERO, "a new batch: the old one is over");
        held.close(&mut desk, Outcome { at: at(3), ok: true, first_byte: None });
        assert_eq!(desk.cluster().total(), Load::ZERO);
    }
}

fn loaded(loads: &[u64]) -> Cluster {
    let mut cluster = Cluster::new(0.0);
    for (number, load) in loads.iter().enumerate() {
        let id = cluster.join(spec(number), State::Up, Instant::ZERO).expect("a slot is free");
        cluster.begin(id, Load::of(*load), Instant::ZERO);
    }
    cluster
}

#[test]
fn the_admission_limit_is_219_or_221_for_four_servers() {
    let limit = |form| Admission::new(Some(25), Some(65), form).limit(&loaded(&[0; 4]));
    assert_eq!(limit(AdmissionForm::MinusOne), Load::of(219));
    assert_eq!(limit(AdmissionForm::PlusOne), Load::of(221));
    let admission = Admission::new(Some(25), Some(65), AdmissionForm::MinusOne);
    assert!(admission.admits(&loaded(&[218, 0, 0, 0])));
    assert!(!admission.admits(&loaded(&[219, 0, 0, 0])));
    assert!(!admission.admits(&loaded(&[])), "nobody could serve it");
}

#[test]
fn with_the_limit_one_server_is_below_t_low_or_two_below_t_high() {
    // Every state of three servers that a limit lets in, T = (2, 5).
    let broken = |form| {
        let admission = Admission::new(Some(2), Some(5), form);
        let limit = admission.limit(&loaded(&[0; 3])).0 / Load::ONE.0;
        let states = (0..=limit).flat_map(|a| (0..=limit).map(move |b| (a, b)));
        let states = states.flat_map(|(a, b)| (0..=limit).map(move |c| [a, b, c]));
        let breaks = |state: &[u64; 3]| {
            let high = state.iter().filter(|load| **load >= 5).count();
            high >= 2 && !state.iter().any(|load| *load < 2)
        };
        states.filter(|state| state.iter().sum::<u64>() <= limit).filter(breaks).count()
    };
    assert_eq!(broken(AdmissionForm::MinusOne), 0);
    assert_eq!(broken(AdmissionForm::PlusOne), 12);
}

#[test]
fn with_limits_of_their_own_the_promise_of_admission_holds_too() {
    // Capacities 13 and 26: T_high 13 and 26, T_low 5 and 10.
    let admission = Admission::new(None, None, AdmissionForm::MinusOne);
    let mut cluster = Cluster::new(0.0);
    for (number, capacity) in [13, 26].into_iter().enumerate() {
        let spec = policy::Spec { capacity: Some(capacity), ..spec(number) };
        let id = cluster.join(spec, State::Up, Instant::ZERO).unwrap();
        cluster.begin(id, Load::ZERO, Instant::ZERO);
    }
    for a in 0..40 {
        for b in 0..40 {
            set_load(&mut cluster, A, Load::of(a));
            set_load(&mut cluster, B, Load::of(b));
            let stuck = (a >= 13 && b >= 10) || (b >= 26 && a >= 5);
            let over = cluster.total() > admission.limit(&cluster);
            assert!(!stuck || over, "({a}, {b}) was let in");
        }
    }
    assert_eq!(admission.limit(&cluster), Load::of(13 + 26 - 16 - 1));
}

#[test]
fn a_request_with_an_earlier_time_does_not_shrink_a_set() {
    let mut stage = mapped_to_a("lard-r", 2);
    stage.loads(&[70, 0]);
    assert_eq!(stage.assign(&Request { at: at(50), ..ask_for(1) }).why, Why::Replicate);
    stage.loads(&[0, 0]);
    assert_eq!(stage.assign(&Request { at: at(49), ..ask_for(1) }).why, Why::Affinity);
}

#[test]
fn k_is_a_parameter() {
    let k = ("k", Value::Span(Duration::from_secs(1)));
    let mut stage = Stage::new(policy("lard/r", &[k]), &[0, 10]);
    stage.assign(&ask_for(1));
    stage.loads(&[66, 0]);
    assert_eq!(stage.assign(&ask_for(1)).why, Why::Replicate);
    stage.loads(&[0, 0]);
    assert_eq!(stage.answer(&Request { at: at(2), ..ask_for(1) }).why, Why::Shrink);
}

proptest! {
    #[test]
    fn without_holders_extended_lard_is_the_three_cost_form(
        steps in prop::collection::vec((0u64..6, 0u16..3, 0u64..150), 0..60),
    ) {
        let mut pair = ["lard-cost", "lard-ext"].map(|name| {
            Stage::new(policy(name, &[]), &[0, 0, 0])
        });
        for (target, server, load) in steps {
            let answers = pair.each_mut().map(|stage| {
                set_load(&mut stage.cluster, ServerId(server), Load::of(load));
                let answer = stage.assign(&ask_for(target));
                (answer.server, answer.why, answer.expect)
            });
            prop_assert_eq!(answers[0], answers[1]);
        }
    }
}
