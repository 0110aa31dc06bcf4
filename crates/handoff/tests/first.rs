//! One connection, many requests: who answers, and are the bytes right?

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use handoff::{Delivery, Question, Verdict};
use site::OneWay;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use testbed::{Host, Plan};

/// `/1500?s2`: the second server.
fn by_query(question: &Question) -> Verdict {
    let text = String::from_utf8_lossy(question.payload()).into_owned();
    let digit = text.split("?s").nth(1).and_then(|rest| rest[..1].parse::<u16>().ok());
    digit.map_or(Verdict::Relay, |number| Verdict::Server(number - 1))
}

fn get(stream: &mut TcpStream, path: &str) -> (String, Vec<u8>) {
    // One segment: `write!` would send its pieces.
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: bed\r\n\r\n").as_bytes()).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    let server = head.lines().find_map(|line| line.strip_prefix("X-Served-By: ")).unwrap();
    (server.to_owned(), body)
}

#[test]
fn requests_of_one_connection_are_answered_by_the_servers_they_are_for() {
    if !site::is_possible() {
        return;
    }
    let plan = Plan::new(2);
    let path = plan.files[1].path.clone();
    let one_way = OneWay::up(&plan, Delivery::Multi, by_query);
    for vip in one_way.bed.vip().each() {
        let work = || {
            let at = SocketAddr::new(vip, 80);
            let mut stream = TcpStream::connect_timeout(&at, site::PATIENCE).unwrap();
            stream.set_read_timeout(Some(site::PATIENCE)).unwrap();
            stream.set_nodelay(true).unwrap();
            for turn in 0..20 {
                let number = turn % 2 + 1;
                let (server, body) = get(&mut stream, &format!("{path}?s{number}"));
                assert_eq!(server, format!("server{number}"));
                assert!(testbed::content::verify(&path, 0, &body));
            }
        };
        one_way
            .bed
            .enter(Host::Client, || std::panic::catch_unwind(work))
            .unwrap()
            .unwrap_or_else(|_| panic!("{vip}: {}", one_way.counts()));
    }
}

#[test]
fn the_driver_answers_syns_where_it_can() {
    if !site::is_possible() {
        return;
    }
    let plan = Plan::new(1);
    let path = plan.files[1].path.clone();
    let one_way = OneWay::up(&plan, Delivery::Handoff, |_| Verdict::Server(0));
    let early = |interface: &str| one_way.front.attach_early(interface).unwrap();
    one_way.bed.enter(Host::Front, || early(one_way.bed.interface())).unwrap();
    // A virtual Ethernet takes what its peer sends that way only if it has a program as well.
    one_way.bed.enter(Host::Wire, || early("front")).unwrap();
    for vip in one_way.bed.vip().each() {
        let work = || {
            let at = SocketAddr::new(vip, 80);
            let mut stream = TcpStream::connect_timeout(&at, site::PATIENCE).unwrap();
            stream.set_read_timeout(Some(site::PATIENCE)).unwrap();
            let (server, body) = get(&mut stream, &path);
            assert_eq!(server, "server1");
            assert!(testbed::content::verify(&path, 0, &body));
        };
        one_way
            .bed
            .enter(Host::Client, || std::panic::catch_unwind(work))
            .unwrap()
            .unwrap_or_else(|_| panic!("{vip}: {}", one_way.counts()));
    }
}
