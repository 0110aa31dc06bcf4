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

#[path = "packets/back.rs"]
mod back;
#[path = "packets/chance.rs"]
mod chance;
#[path = "packets/decode.rs"]
mod decode;
#[path = "packets/ends.rs"]
mod ends;
#[path = "packets/first.rs"]
mod first;
#[path = "packets/fuzz.rs"]
mod fuzz;
#[path = "packets/keys.rs"]
mod keys;
#[path = "packets/letters.rs"]
mod letters;
#[path = "packets/next.rs"]
mod next;
#[path = "packets/reasons.rs"]
mod reasons;
#[path = "packets/seal.rs"]
mod seal;
#[path = "packets/segment.rs"]
mod segment;
#[path = "packets/server.rs"]
mod server;
#[path = "packets/stage.rs"]
mod stage;
#[path = "packets/strange.rs"]
mod strange;
#[path = "packets/syn.rs"]
mod syn;

use server::Server;
use stage::Stage;
use std::panic::{AssertUnwindSafe, catch_unwind};
use testbed::{Host, Plan, TestBed};

/// A sentence of the specification, and how it is shown.
pub type Fixture = (&'static str, for<'a, 'b> fn(&'a Stage<'b>));

/// More connections than all fixtures make.
const ROOM: u32 = 65_536;

/// A sentence about a program, and how it is shown on a machine of some kind.
type Sentence<M> = (&'static str, fn(&M));

/// Runs fixtures for clients of both families and prints their names.
fn run<M>(group: &str, stage: &mut M, fixtures: &[Sentence<M>], begin: impl Fn(&mut M, bool)) {
    let mut failed = vec![];
    for (name, show) in fixtures {
        let mut holds = |v6| {
            begin(stage, v6);
            catch_unwind(AssertUnwindSafe(|| show(stage))).is_ok()
        };
        let results = [holds(false), holds(true)];
        let ok = results == [true; 2];
        println!("{} {group:10} {name}", if ok { "ok    " } else { "FAILED" });
        if !ok {
            failed.push(format!("{name} (with IPv4 and IPv6: {results:?})"));
        }
    }
    let of = fixtures.len();
    assert!(failed.is_empty(), "{} of {of} fixtures failed:\n{}", failed.len(), failed.join("\n"));
}

/// Runs fixtures on a front-end of their own.
fn hold(group: &str, routed: bool, flows_max: u32, fixtures: &[Fixture]) {
    if !testbed::possible() {
        return;
    }
    let bed = TestBed::up(&Plan::new(2)).unwrap();
    let work = || {
        let mut stage = Stage::new(&bed, &bed.pins(Host::Front), routed, flows_max);
        run(group, &mut stage, fixtures, |stage, v6| {
            stage.v6 = v6;
            stage.reset();
        });
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
    hold("ends", false, ROOM, ends::FIXTURES);
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
    hold("full", false, 1, &[first::FULL, reasons::FULL].concat());
}

#[test]
fn why_a_connection_is_relayed_is_told_as_the_fixtures_say() {
    hold("reasons", false, ROOM, reasons::FIXTURES);
}

#[test]
fn program_and_user_space_know_requests_by_the_same_key() {
    hold(
        "keys",
        false,
        ROOM,
        &[("heads made by chance have the same key on both sides", keys::agree)],
    );
}

#[test]
fn no_packet_makes_a_program_do_what_it_was_not_made_for() {
    if !testbed::possible() {
        return;
    }
    let bed = TestBed::up(&Plan::new(2)).unwrap();
    let work = || {
        let stage = Stage::new(&bed, &bed.pins(Host::Front), false, ROOM);
        stage.reset();
        fuzz::both(&stage, &bed.pins(Host::Server(1)));
    };
    bed.enter(Host::Front, work).unwrap();
}

#[test]
fn servers_do_as_the_fixtures_say() {
    if !testbed::possible() {
        return;
    }
    let bed = TestBed::up(&Plan::new(1)).unwrap();
    let work = || {
        let mut server = Server::new(&bed);
        run("server", &mut server, back::FIXTURES, |server, v6| server.v6 = v6);
    };
    bed.enter(Host::Server(1), work).unwrap();
}
