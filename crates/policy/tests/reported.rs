//! LARD and LARD/R by what servers last said of their open connections.
//!
//! Method: reports are set by hand, the books of load to something else, and answers compared with
//! those that the published rule gives for the reports.

mod setup;

use policy::{Instant, Report, State, Value, Why};
use setup::{A, B, Stage, ask_for, policy, spec};

/// What servers say that they have.
fn reports(stage: &mut Stage, requests: [u32; 2]) {
    for (id, active) in [A, B].into_iter().zip(requests) {
        stage.cluster.set_report(id, Report { active, ..Report::default() });
    }
}

#[test]
fn lard_by_reports_compares_what_servers_last_said_and_promises_nothing() {
    let cases = [
        ([66, 24], B, Why::SpillOverload, "A is above T_high and B below T_low"),
        ([66, 25], A, Why::Affinity, "B is at T_low, not below"),
        ([65, 24], A, Why::Affinity, "A is at T_high, not above"),
        ([130, 129], B, Why::SpillOverload, "A is at 2 T_high, whatever B is"),
    ];
    for (name, spilt) in [("lard", Why::SpillOverload), ("lard-r", Why::Replicate)] {
        for (requests, server, why, reason) in cases {
            let metric = [("metric", Value::Word("reported"))];
            let mut stage = Stage::new(policy(name, &metric), &[0, 0]);
            assert_eq!(stage.assign(&ask_for(1)).server, A, "no report counts as idle");
            // What the books say is another matter.
            stage.loads(&[1000, 0]);
            assert_eq!(stage.answer(&ask_for(1)).server, A, "nobody has reported");
            reports(&mut stage, requests);
            let answer = stage.answer(&ask_for(1));
            let why = if why == Why::SpillOverload { spilt } else { why };
            assert_eq!((answer.server, answer.why), (server, why), "{name}: {reason}");
            assert_eq!(answer.guard, None, "who knows what the next report says");
        }
    }
}

#[test]
fn between_two_reports_all_that_is_new_goes_to_the_server_that_reported_least() {
    let metric = [("metric", Value::Word("reported"))];
    let mut stage = Stage::new(policy("lard", &metric), &[0, 0]);
    reports(&mut stage, [3, 2]);
    for target in 0..200 {
        assert_eq!(stage.assign(&ask_for(target)).server, B, "the herd");
    }
    reports(&mut stage, [3, 200]);
    assert_eq!(stage.assign(&ask_for(1000)).server, A);
    assert_eq!(stage.assign(&ask_for(1)).server, A, "B is above twice T_high");
}

#[test]
fn reported_loads_are_felt_by_weight_and_capacity_like_those_in_the_books() {
    let metric = ("metric", Value::Word("reported"));
    let auto = [metric.clone(), ("t_low", Value::Auto), ("t_high", Value::Auto)];
    // Auto: A works on 13 at once, so 14 are above its T_high; B has the paper's 65 and 25.
    // Fixed: with half of B's weight, A feels 33 as 66.
    for (params, capacity, weight, requests) in
        [(&auto[..], Some(13), 1, [14, 24]), (&[metric][..], None, 2, [33, 24])]
    {
        let mut stage = Stage::new(policy("lard", params), &[]);
        for (number, capacity, weight) in [(0, capacity, 1), (1, None, weight)] {
            let spec = policy::Spec { capacity, weight, ..spec(number) };
            stage.cluster.join(spec, State::Up, Instant::ZERO).unwrap();
        }
        assert_eq!(stage.assign(&ask_for(1)).server, A);
        reports(&mut stage, [requests[0] - 1, requests[1]]);
        assert_eq!(stage.answer(&ask_for(1)).server, A);
        reports(&mut stage, requests);
        assert_eq!(stage.answer(&ask_for(1)).server, B);
    }
}
