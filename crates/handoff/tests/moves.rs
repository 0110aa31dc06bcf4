//! Method: clients ask for files of all sizes on connections that move from server to server, and
//! compare each byte; then the books must be exact.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use handoff::Delivery;
use site::client::{Client, get};
use site::{OneWay, by_query, everywhere};
use std::net::SocketAddr;
use testbed::{File, Host, Plan, Variant};

const BOTH: [Variant; 2] = [Variant::Bridge, Variant::Routed];

/// Which file a connection asks for at a turn: large ones seldom, each size at least once.
fn file_at(files: &[File], number: u32, turn: u32) -> &File {
    let large = files.len() - 2;
    // Of the others the smaller ones more often.
    let some = if turn.is_multiple_of(13) { large } else { 5 };
    match (turn, number) {
        (7, 0..4) => files.last().unwrap(),
        (11, _) => &files[large],
        _ => &files[(turn * 7 + number) as usize % some],
    }
}

/// `connections` clients that ask `turns` times each, another server every time.
fn move_about(one_way: &OneWay, connections: u32, turns: u32) {
    let (files, servers) = (&one_way.bed.plan().files, one_way.bed.plan().servers);
    let vips = one_way.bed.vip().at(80);
    let one = |number: u32| {
        let mut client = Client::connect(vips[number as usize % 2]).unwrap();
        for turn in 0..turns {
            let server = ((number + turn) % u32::from(servers)) as u16 + 1;
            client.fetch(file_at(files, number, turn), server);
        }
    };
    one_way.client(|| {
        std::thread::scope(|scope| {
            for number in 0..connections {
                scope.spawn(move || one(number));
            }
        });
    });
}

#[test]
fn twenty_thousand_requests_move_at_every_request() {
    if !site::is_possible() {
        return;
    }
    for variant in BOTH {
        let one_way = OneWay::up(&Plan::new(3).wired(variant), Delivery::Multi, by_query);
        one_way.remember_all();
        let turns = 400 * site::times();
        move_about(&one_way, 50, turns);
        let told = one_way.counts();
        assert_eq!(one_way.count("asked"), 0, "{told}");
        assert_eq!(one_way.count("handed_over"), 50, "{told}");
        assert_eq!(one_way.count("moved"), u64::from(50 * (turns - 1)), "{told}");
        one_way.assert_settled();
    }
}

#[test]
fn requests_that_user_space_decides_move_as_well() {
    if !site::is_possible() {
        return;
    }
    for variant in BOTH {
        let one_way = OneWay::up(&Plan::new(2).wired(variant), Delivery::Multi, by_query);
        move_about(&one_way, 20, 50 * site::times());
        assert_eq!(one_way.count("asked"), one_way.count("answered"), "{}", one_way.counts());
        one_way.assert_settled();
    }
}

/// What a reply after a move may send at once is for the server's routes to say.
#[test]
fn a_moved_connection_begins_with_the_window_of_the_route() {
    everywhere(|one_way, vip| {
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            client.fetch(one_way.file("/1500"), 1);
            client.fetch(one_way.file("/1500"), 2);
            let port = client.stream.local_addr().unwrap().port();
            let mut ss = one_way.bed.command(Host::Server(2), "ss");
            let output = ss.args(["-tinH", "dport", "=", &format!(":{port}")]).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let window = said.split_whitespace().find_map(|word| word.strip_prefix("cwnd:"));
            let plan = one_way.bed.plan();
            assert_eq!(window, Some(&*plan.initial_window.to_string()), "{vip}: {said}");
        });
    });
}

/// A site of two neighbouring servers whose answers are in the kernel, and its IPv4 address.
fn pair() -> (OneWay, SocketAddr) {
    let one_way = OneWay::up(&Plan::new(2), Delivery::Multi, by_query);
    one_way.remember_all();
    let vip = one_way.bed.vip().at(80)[0];
    (one_way, vip)
}

#[test]
fn requests_pipelined_in_one_segment_are_all_answered_in_order() {
    if !site::is_possible() {
        return;
    }
    let (one_way, vip) = pair();
    let files = &one_way.bed.plan().files;
    one_way.client(|| {
        let mut client = Client::connect(vip).unwrap();
        client.fetch(&files[1], 1);
        for _ in 0..20 {
            // Both for another server: they stay where the connection is.
            client.send(&[get(&files[2].path, 2), get(&files[3].path, 2)].concat());
            client.reply().unwrap().assert_is(&files[2], 1);
            client.reply().unwrap().assert_is(&files[3], 1);
        }
    });
    assert_eq!(one_way.count("moved"), 0);
    one_way.assert_settled();
}

#[test]
fn requests_pipelined_in_segments_of_their_own_are_all_answered_in_order() {
    if !site::is_possible() {
        return;
    }
    for (variant, memos) in [(0, true), (1, true), (0, false), (1, false)] {
        let plan = Plan::new(3).wired(BOTH[variant]);
        let one_way = OneWay::up(&plan, Delivery::Multi, by_query);
        if memos {
            one_way.remember_all();
        }
        let files = &one_way.bed.plan().files;
        let vip = one_way.bed.vip().at(80)[variant];
        one_way.client(|| {
            for servers in [[1, 2], [2, 2], [2, 3], [3, 1]] {
                let mut client = Client::connect(vip).unwrap();
                for turn in 0..25 {
                    let pair = [&files[turn % 6], &files[(turn + 1) % 6]];
                    for (file, server) in pair.iter().zip(servers) {
                        client.send(&get(&file.path, server));
                    }
                    for file in pair {
                        let reply = client.reply().unwrap();
                        reply.assert_is(file, reply.server().unwrap());
                    }
                }
            }
        });
        one_way.assert_settled();
    }
}

#[test]
fn a_connection_that_is_handed_over_for_good_stays_whatever_it_asks() {
    if !site::is_possible() {
        return;
    }
    for variant in BOTH {
        let plan = Plan::new(2).wired(variant);
        let one_way = OneWay::up(&plan, Delivery::Handoff, by_query);
        let files = &one_way.bed.plan().files;
        for vip in one_way.bed.vip().at(80) {
            one_way.client(|| {
                for first in [1, 2] {
                    let mut client = Client::connect(vip).unwrap();
                    // Pipelined from the beginning: there is one server, and it keeps the order.
                    client.send(&[get(&files[1].path, first), get(&files[0].path, 1)].concat());
                    client.reply().unwrap().assert_is(&files[1], first);
                    client.reply().unwrap().assert_is(&files[0], first);
                    for turn in 0..40 {
                        let file = &files[turn % files.len()];
                        client.send(&get(&file.path, turn as u16 % 2 + 1));
                        client.reply().unwrap().assert_is(file, first);
                    }
                }
            });
        }
        assert_eq!((one_way.count("asked"), one_way.count("queried")), (4, 0));
        one_way.assert_settled();
    }
}
