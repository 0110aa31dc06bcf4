//! A little of `baton fidelity`: the simulator is near the live switch, by bounds that hold on a
//! machine with other work. What it is held to on a quiet one is in the command.

use baton::experiments::Lab;
use baton::fidelity::{Closed, Comparison, Kind, Pages, Runs, Span};
use std::time::Duration;

/// Slow enough that a build without optimisation is little beside the servers' times.
const SCALE: f64 = 0.5;

/// Runs that others disturb are thrown away: three, then they have to do.
const ONCE: Runs = Runs { least: 1, most: 1, thrown: 3 };

fn near(found: &[Comparison]) {
    for comparison in found {
        let bound = match comparison.kind {
            Kind::Hits => 8.0,
            Kind::Throughput => 25.0,
            Kind::PageP90 => 50.0,
        };
        assert!(comparison.error().abs() <= bound, "{comparison:?}: {}", comparison.error());
    }
}

#[test]
fn a_trace_in_a_closed_loop_is_answered_as_on_paper() {
    let lab = Lab::open().expect("a reactor");
    let closed = Closed::new(1_200, SCALE, 1).expect("the trace is whole");
    let floor = closed.floor(&lab).expect("it is measured").expect("nobody stops it");
    for name in ["lard", "wrr"] {
        let policy = policy::entry(name).expect("it is one of POLICIES");
        let found = closed.compare(policy, ONCE, floor, &lab).expect("it runs");
        let found = found.expect("nobody stops it");
        assert_eq!(found.len(), 2);
        near(&found);
    }
}

#[test]
fn users_with_browsers_wait_as_on_paper() {
    let lab = Lab::open().expect("a reactor");
    let span = Span { warm_up: Duration::from_secs(2), measured: Duration::from_secs(10) };
    let pages = Pages::new(span, SCALE, 1);
    let floor = pages.floor(4.0, &lab).expect("it is measured").expect("nobody stops it");
    let policy = policy::entry("cap").expect("it is one of POLICIES");
    let found = pages.compare((policy, "light"), 4.0, ONCE, floor, &lab).expect("it runs");
    let found = found.expect("nobody stops it");
    assert_eq!(found.len(), 3);
    near(&found);
}
