//! The policies that compare servers by load or latency. Method: an open-loop play with a clock,
//! counting who served.

#![allow(clippy::unwrap_used)] // In a test, an unwrap is an assertion.

mod farm;

use core::time::Duration;
use farm::{Farm, MS};
use policy::{Class, Load, ServerId, Ticket, Value, Why};

/// Plays `requests` arrivals, one each millisecond; each is served in the time, and with the
/// outcome, that `service` gives for its server. Returns how many each server got.
fn play(
    farm: &mut Farm,
    requests: u64,
    servers: usize,
    service: impl Fn(ServerId) -> (Duration, bool),
) -> Vec<u64> {
    let mut counts = vec![0; servers];
    let mut busy: Vec<(policy::Instant, bool, Ticket)> = Vec::new();
    for target in 0..requests {
        farm.wait(MS);
        busy.sort_by_key(|(at, ..)| *at);
        let over = busy.iter().take_while(|(at, ..)| *at <= farm.now).count();
        let now = farm.now;
        for (at, ok, ticket) in busy.drain(..over) {
            farm.now = at;
            farm.end(ticket, ok);
        }
        farm.now = now;
        let (answer, ticket) = farm.begin(target, Class::STATIC);
        counts[answer.server.index()] += 1;
        let (took, ok) = service(answer.server);
        busy.push((now.plus(took), ok, ticket));
    }
    counts
}

#[test]
fn least_loaded_takes_the_least_for_its_weight_and_the_least_recent_of_equals() {
    let mut farm = Farm::new("least-loaded", &[], &[1, 2, 1]);
    let _work = (farm.burden(0, 2), farm.burden(1, 3), farm.burden(2, 2));
    assert_eq!(farm.look(0).server, ServerId(1), "3 for weight 2 is less than 2 for weight 1");
    let _more = farm.burden(1, 3);
    assert_eq!(farm.look(0).server, ServerId(0), "0 and 2 are equal, 0 was chosen first");
}

#[test]
fn two_choices_keep_the_longest_queue_far_shorter_than_chance() {
    let longest = |policy: &str| {
        let mut farm = Farm::new(policy, &[], &[1; 16]);
        for target in 0..1_600 {
            let _ticket = farm.begin(target, Class::STATIC);
        }
        let loads = farm.desk.cluster().servers().map(|server| server.load);
        loads.max().unwrap().minus(Load::of(100))
    };
    let (chance, choice) = (longest("random"), longest("p2c"));
    assert!(choice <= Load::of(3) && chance >= Load::of(8), "{choice} against {chance}");
}

#[test]
fn random_draws_by_weight() {
    let mut farm = Farm::new("random", &[], &[3, 1]);
    let counts = play(&mut farm, 4_000, 2, |_| (MS / 2, true));
    assert!((2_900..=3_100).contains(&counts[0]), "{counts:?}");
}

#[test]
fn peak_ewma_avoids_a_slow_server() {
    let mut farm = Farm::new("peak-ewma", &[], &[1; 4]);
    let slow = |id| (if id == ServerId(2) { 200 * MS } else { 5 * MS }, true);
    let counts = play(&mut farm, 4_000, 4, slow);
    assert!(counts[2] < 120, "a fair part would be 1000: {counts:?}");
}

#[test]
fn a_server_that_fails_fast_attracts_nothing() {
    let fails_fast = |id| {
        let fails = id == ServerId(2);
        (if fails { MS / 20 } else { 10 * MS }, !fails)
    };
    for policy in ["peak-ewma", "prequal"] {
        let mut farm = Farm::new(policy, &[], &[1; 4]);
        let counts = play(&mut farm, 4_000, 4, fails_fast);
        assert!(counts[2] < 400, "{policy}, where a fair part would be 1000: {counts:?}");
        // Without the correction it would: the same play with a penalty of next to nothing.
        let none = ("penalty", Value::Span(Duration::from_nanos(1)));
        let mut farm = Farm::new(policy, &[none], &[1; 4]);
        let counts = play(&mut farm, 4_000, 4, fails_fast);
        assert!(counts[2] > 1_500, "{policy} uncorrected: {counts:?}");
    }
}

#[test]
fn a_server_that_failed_is_tried_again_in_time() {
    let mut farm = Farm::new("peak-ewma", &[], &[1; 2]);
    play(&mut farm, 200, 2, |id| (5 * MS, id == ServerId(0)));
    farm.wait(Duration::from_secs(120));
    let counts = play(&mut farm, 1_000, 2, |_| (5 * MS, true));
    assert!(counts[1] > 300, "{counts:?}");
}

#[test]
fn prequal_prefers_the_faster_of_servers_that_are_not_hot() {
    let mut farm = Farm::new("prequal", &[], &[1; 8]);
    let halves = |id: ServerId| (if id.0 < 4 { 4 * MS } else { 40 * MS }, true);
    let counts = play(&mut farm, 8_000, 8, halves);
    let fast: u64 = counts[..4].iter().sum();
    assert!(fast > 6_000, "a fair part would be 4000: {counts:?}");
}

#[test]
fn prequal_draws_by_lot_while_it_has_no_two_fresh_probes() {
    let mut farm = Farm::new("prequal", &[], &[1; 4]);
    assert_eq!(farm.begin(1, Class::STATIC).0.why, Why::Random, "there is no probe yet");
    assert_eq!(farm.begin(2, Class::STATIC).0.why, Why::Sampled);
    farm.wait(Duration::from_millis(1_001));
    assert_eq!(farm.look(3).why, Why::Random, "all are out of date");
}
