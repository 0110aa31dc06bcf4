//! What the programs do with each kind of packet: their specification.
//!
//! Method: every fixture is a sentence, packets in, and what is expected for each: the verdict, all
//! that was counted and nothing else, and the packet afterwards, field by field. The programs that
//! are loaded run on them by `BPF_PROG_TEST_RUN`. Packets, envelopes, seals and cookies are built a
//! second time here, from their descriptions. All fixtures are run for IPv4 and
//! IPv6. `cargo test -p handoff --test packets -- --nocapture` prints the list.
//!
//! What a trial cannot do: it does not carry a redirect out, nor say to which interface it went; it
//! is not at tc ingress, so the kernel's call that makes sockets refuses, and where a socket should
//! have been made `local_refused` or `adopt_refused` is counted. The tests on beds have those.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

#[path = "packets/decode.rs"]
mod decode;
#[path = "packets/seal.rs"]
mod seal;
#[path = "packets/segment.rs"]
mod segment;
#[path = "packets/first.rs"]
mod first;
#[path = "packets/next.rs"]
mod next;
#[path = "packets/letters.rs"]
mod letters;
#[path = "packets/strange.rs"]
mod strange;
#[path = "packets/stage.rs"]
mod stage;
#[path = "packets/syn.rs"]
mod syn;

use stage::Stage;
use std::panic::{AssertUnwindSafe, catch_unwind};
use testbed::{Host, Plan, TestBed};

/// A sentence of the specification, and how it is shown.
pub type Fixture = (&'static str, fn(&Stage<'_>));

/// More connections than all fixtures make.
const ROOM: u32 = 65_536;

/// Runs fixtures on a front-end of their own, in all circumstances, and prints their names.
fn hold(group: &str, routed: bool, flows_max: u32, fixtures: &[Fixture]) {
    if !testbed::possible() {
        return;
    }
    let bed = TestBed::up(&Plan::new(2)).unwrap();
    let work = || {
        let mut failed = vec![];
        let mut stage = Stage::new(&bed, &bed.pins(Host::Front), routed, flows_max);
        for (name, show) in fixtures {
            let mut bad = None;
            for v6 in [false, true] {
                stage.v6 = v6;
                stage.reset();
                if catch_unwind(AssertUnwindSafe(|| show(&stage))).is_err() {
                    bad = bad.or(Some(if v6 { "IPv6" } else { "IPv4" }));
                }
            }
            println!("{} {group:10} {name}", if bad.is_none() { "ok    " } else { "FAILED" });
            failed.extend(bad.map(|how| format!("{name} ({how})")));
        }
        assert!(
            failed.is_empty(),
            "{} of {} fixtures failed:\n{}",
            failed.len(),
            fixtures.len(),
            failed.join("\n")
        );
    };
    bed.enter(Host::Front, work).unwrap();
}

#[test]
fn syns_are_answered_as_the_fixtures_say() {
    hold("syn", false, ROOM, syn::FIXTURES);
}

#[test]
fn first_requests_go_where_the_fixtures_say() {
    hold("first", false, ROOM, first::FIXTURES);
}

#[test]
fn later_requests_go_where_the_fixtures_say() {
    hold("next", false, ROOM, next::FIXTURES);
}

#[test]
fn released_connections_go_where_the_fixtures_say() {
    hold("released", false, ROOM, letters::FIXTURES);
}

#[test]
fn strange_packets_do_no_harm() {
    hold("strange", false, ROOM, strange::FIXTURES);
}

#[test]
fn behind_a_router_everything_travels_in_envelopes() {
    hold("routed", true, ROOM, next::ROUTED);
}

#[test]
fn a_full_table_is_no_end() {
    hold("full", false, 1, first::FULL);
}
