//! Method: links lose, double, reorder and delay frames while connections move at every request;
//! every byte must be right, and every reply must come while retransmission is still trying.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use handoff::{Delivery, Row, State};
use rustix::net::sockopt::set_socket_linger;
use site::client::{Client, get, request};
use site::{OneWay, accept, becomes, by_query, everywhere};
use std::io::ErrorKind;
use std::net::{Shutdown, SocketAddr};
use std::time::{Duration, Instant};
use testbed::{Adversity, Host, Plan, Variant, Wire, content};

/// Retransmissions that find the way after several were lost are a second apart and more.
const PATIENCE: Duration = Duration::from_secs(25);

/// Clients at once.
const CLIENTS: u16 = 10;

/// Requests of each under one kind of adversity.
const REQUESTS: u32 = 12;

/// One kind of adversity.
fn kinds() -> [(&'static str, Adversity); 5] {
    let none = Adversity { seed: 5, ..Adversity::default() };
    let delay = Duration::from_millis(2);
    [
        ("1 % lost", Adversity { loss: 0.01, ..none }),
        ("5 % lost", Adversity { loss: 0.05, ..none }),
        ("20 % doubled", Adversity { duplicate: 0.2, ..none }),
        ("reordered and late", Adversity { reorder: 0.2, delay, ..none }),
        ("all", Adversity { loss: 0.01, duplicate: 0.2, reorder: 0.1, delay, ..none }),
    ]
}

/// A client that tries again when even its SYNs were lost, as people do.
fn connect(vip: SocketAddr) -> Client {
    let client = (0..3).find_map(|_| Client::connect(vip).ok()).expect("a connection");
    client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

/// Asks for small files, another server each time. A connection may stay, but not lie.
fn ask_about(one_way: &OneWay, number: u16) {
    let plan = one_way.bed.plan();
    let vips = one_way.bed.vip().at(80);
    let mut client = connect(vips[usize::from(number % 2)]);
    let began = Instant::now();
    for turn in 0..REQUESTS * site::times() {
        let file = &plan.files[[0, 1, 1, 2, 1, 5][turn as usize % 6]];
        let server = (number + turn as u16) % plan.servers + 1;
        let body = content::slice("/a-body", 0, 20_000);
        let echo = turn % 6 == 3;
        let length = format!("Content-Length: {}\r\n", body.len());
        match echo {
            true => client.send(&[&request("POST", "/echo", server, &length), body].concat()),
            false => client.send(&get(&file.path, server)),
        }
        let reply = client.reply().unwrap_or_else(|error| {
            let from = client.stream.local_addr().unwrap();
            panic!("{from}, request {turn}, after {:?}: {error}", began.elapsed())
        });
        match echo {
            true => assert!(reply.status == 200 && reply.body == body, "{}", reply.head),
            false => reply.assert_is(file, reply.server().unwrap()),
        }
    }
}

/// No late copy of a request made another socket, which would have answered it once more.
fn assert_once_each(one_way: &OneWay) {
    one_way.assert_settled();
    let given = one_way.count("handed_over") + one_way.count("moved");
    assert_eq!(one_way.count_back("adopted"), given, "{}", one_way.counts());
}

/// Every kind of adversity on each of these links, and on all of them.
fn suffer(variant: Variant, memos: bool) {
    if !site::is_possible() {
        return;
    }
    let one_way = OneWay::up(&Plan::new(2).wired(variant), Delivery::Multi, by_query);
    if memos {
        one_way.remember_all();
    }
    let wires = [Host::Client, Host::Server(1), Host::Server(2)];
    let wires = wires.map(|host| one_way.bed.wire(host).unwrap());
    for (kind, adversity) in kinds() {
        for (place, range) in [("clients", 0..1), ("servers", 1..3), ("both", 0..3)] {
            let set = |wire: &Wire, what| wire.set(what).unwrap();
            wires.iter().for_each(|wire| set(wire, Adversity::default()));
            wires[range].iter().for_each(|wire| set(wire, adversity));
            let (began, moved) = (Instant::now(), one_way.count("moved"));
            one_way.client(|| {
                std::thread::scope(|scope| {
                    for number in 0..CLIENTS {
                        let one_way = &one_way;
                        scope.spawn(move || ask_about(one_way, number));
                    }
                });
            });
            let moved = one_way.count("moved") - moved;
            println!("{kind}, {place}: {moved} moved in {:?}", began.elapsed());
            let all = u64::from(u32::from(CLIENTS) * (REQUESTS * site::times() - 1));
            assert!(moved > all / 2, "{kind}, {place}: {moved} of {all}\n{}", one_way.counts());
        }
    }
    wires.iter().for_each(|wire| wire.set(Adversity::default()).unwrap());
    assert_once_each(&one_way);
}

#[test]
fn no_byte_is_wrong_and_nobody_waits_for_ever_among_neighbours() {
    suffer(Variant::Bridge, true);
}

#[test]
fn no_byte_is_wrong_and_nobody_waits_for_ever_behind_a_router() {
    suffer(Variant::Routed, true);
}

#[test]
fn no_byte_is_wrong_and_nobody_waits_for_ever_where_user_space_is_asked() {
    suffer(Variant::Bridge, false);
}

/// Short connections from one port: two requests, and an end that leaves something behind.
fn use_again(one_way: &OneWay, number: u16) {
    let vip = one_way.bed.vip().at(80)[usize::from(number % 2)];
    let first = connect(vip);
    let port = first.stream.local_addr().unwrap().port();
    set_socket_linger(&first.stream, Some(Duration::ZERO)).unwrap();
    drop(first);
    let file = one_way.file("/4k");
    for turn in 0..(REQUESTS * site::times()) as u16 {
        let mut client = None;
        let free = || {
            client = Client::connect_from(port, vip).ok();
            client.is_some()
        };
        assert!(becomes(PATIENCE, free));
        let mut client = client.unwrap();
        client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (here, there) = ((number + turn) % 2 + 1, (number + turn / 2) % 2 + 1);
        let told = |error| panic!("port {port}, turn {turn}: {error}");
        client.send(&get(&file.path, here));
        client.reply().unwrap_or_else(told).assert_is(file, here);
        client.send(&request("GET", &file.path, there, "Connection: close\r\n"));
        let reply = client.reply().unwrap_or_else(told);
        reply.assert_is(file, reply.server().unwrap());
        client.ends().unwrap_or_else(|error| panic!("port {port}, turn {turn}: {error}"));
    }
}

#[test]
fn ports_that_are_used_again_over_bad_links_begin_anew_each_time() {
    if !site::is_possible() {
        return;
    }
    let one_way = OneWay::up(&Plan::new(2), Delivery::Multi, by_query);
    one_way.remember_all();
    let wires = [Host::Client, Host::Server(1), Host::Server(2)];
    let wires = wires.map(|host| one_way.bed.wire(host).unwrap());
    for (kind, adversity) in kinds() {
        wires.iter().for_each(|wire| wire.set(adversity).unwrap());
        let began = Instant::now();
        one_way.client(|| {
            std::thread::scope(|scope| {
                for number in 0..CLIENTS {
                    let one_way = &one_way;
                    scope.spawn(move || use_again(one_way, number));
                }
            });
        });
        println!("{kind}: {:?}\n{}", began.elapsed(), one_way.counts());
    }
    wires.iter().for_each(|wire| wire.set(Adversity::default()).unwrap());
    assert_once_each(&one_way);
}

/// On a site with one network the answer that the holder let go comes by the interface of the
/// clients, and from a server.
#[test]
fn a_client_whose_next_server_dies_while_its_holder_lets_go_is_told_at_once() {
    everywhere(|one_way, vip| {
        let set = |state| {
            let address = (one_way.bed.server(2).v4, 80).into();
            let row = Row { address, name: 2, state, agent_port: 0 };
            let set = || one_way.front.set_row(1, Some(&row)).unwrap();
            one_way.bed.enter(Host::Front, set).unwrap();
        };
        let wire = one_way.bed.wire(Host::Server(1)).unwrap();
        one_way.client(|| {
            let mut client = connect(vip);
            client.fetch(one_way.file("/1500"), 1);
            let (queried, reset) = (one_way.count("queried"), one_way.count("reset_down"));
            let delay = Duration::from_millis(300);
            wire.set(Adversity { delay, ..Adversity::default() }).unwrap();
            client.send(&get("/1500", 2));
            assert!(becomes(PATIENCE, || one_way.count("queried") > queried));
            set(State::Down);
            assert_eq!(client.ends().unwrap_err().kind(), ErrorKind::ConnectionReset);
            // Not only when it spoke again.
            assert_eq!(one_way.count("reset_down"), reset + 1, "{}", one_way.counts());
        });
        set(State::Up);
        wire.set(Adversity::default()).unwrap();
    });
}

/// It has nothing more to say, so that nothing but a reset tells it.
#[test]
fn a_client_that_waits_for_the_reply_of_a_server_that_died_is_told() {
    everywhere(|one_way, vip| {
        let at = SocketAddr::new(vip.ip(), 8080);
        let listener = one_way.listener(Host::Server(1), at);
        one_way.backs[0].listen(vip, Some(Delivery::Multi), 8080, 8080).unwrap();
        let set = |state| {
            let address = (one_way.bed.server(1).v4, 80).into();
            let row = Row { address, name: 1, state, agent_port: 0 };
            let set = || one_way.front.set_row(0, Some(&row)).unwrap();
            one_way.bed.enter(Host::Front, set).unwrap();
        };
        one_way.client(|| {
            let mut client = connect(vip);
            client.send(&get("/0", 1));
            client.stream.shutdown(Shutdown::Write).unwrap();
            let _silent = accept(&listener);
            let hour = Duration::from_secs(3600);
            // Out of the books after a while, and not forgotten.
            let gone = || {
                one_way.front.sweep(hour, usize::MAX);
                one_way.open() == 0
            };
            assert!(becomes(PATIENCE, gone));
            set(State::Down);
            assert_eq!(one_way.front.reset(0, usize::MAX), 1);
            assert_eq!(client.ends().unwrap_err().kind(), ErrorKind::ConnectionReset);
        });
        set(State::Up);
        one_way.backs[0].listen(vip, Some(Delivery::Multi), 80, 80).unwrap();
    });
}

/// Replies that take many flights, each from another server than the one before.
#[test]
fn large_replies_arrive_whole_over_links_that_lose() {
    if !site::is_possible() {
        return;
    }
    let one_way = OneWay::up(&Plan::new(2), Delivery::Multi, by_query);
    let wires = [Host::Client, Host::Server(1), Host::Server(2)];
    let wires = wires.map(|host| one_way.bed.wire(host).unwrap());
    for (loss, paths) in [(0.01, &["/1m", "/10m", "/1m", "/1m"][..]), (0.05, &["/1m", "/1m"])] {
        let adversity = Adversity { loss, seed: 7, ..Adversity::default() };
        wires.iter().for_each(|wire| wire.set(adversity).unwrap());
        let moved = one_way.count("moved");
        one_way.client(|| {
            for vip in one_way.bed.vip().at(80) {
                let mut client = connect(vip);
                for (turn, path) in (0u16..).zip(paths) {
                    let file = one_way.file(path);
                    client.send(&get(path, turn % 2 + 1));
                    let reply = client.reply().unwrap_or_else(|error| panic!("{path}: {error}"));
                    reply.assert_is(file, reply.server().unwrap());
                }
            }
        });
        let moved = one_way.count("moved") - moved;
        assert!(moved > 0, "{loss}: {}", one_way.counts());
    }
    wires.iter().for_each(|wire| wire.set(Adversity::default()).unwrap());
    one_way.assert_settled();
}
