//! Method: a bed is made for real, as root, and looked at from inside: who reaches whom, who
//! answers what, with every byte of every file compared; then it is removed, and everywhere
//! where it could have left something is looked.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use site::{get, up};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Instant;
use testbed::{Host, INITIAL_WINDOW, Plan, TestBed, Variant, content};

/// Every server directly, by either protocol.
fn each_server_serves(variant: Variant) {
    let Some(bed) = up(&Plan::new(3).wired(variant)) else { return };
    for number in 1..=3 {
        for address in bed.server(number).each() {
            for file in &bed.plan().files {
                let reply = get(&bed, address, &file.path).unwrap();
                assert!(reply.head.starts_with("HTTP/1.1 200 "), "{}", reply.head);
                assert_eq!(reply.field("X-Served-By"), Some(&*format!("server{number}")));
                assert_eq!(reply.body.len() as u64, file.bytes, "{}", file.path);
                assert!(content::verify(&file.path, 0, &reply.body), "{}", file.path);
            }
        }
    }
}

#[test]
fn each_server_serves_every_file_to_the_client_among_neighbours() {
    each_server_serves(Variant::Bridge);
}

#[test]
fn each_server_serves_every_file_to_the_client_behind_a_router() {
    each_server_serves(Variant::Routed);
}

/// The congestion window of a server's only connection, in segments.
fn window(bed: &TestBed, address: IpAddr) -> u16 {
    bed.enter(Host::Client, || {
        let at = SocketAddr::new(address, 80);
        let _connection = TcpStream::connect_timeout(&at, site::PATIENCE).unwrap();
        // The server has it when the handshake's end has come, and the one before no longer when
        // that one's end has.
        let begin = Instant::now();
        loop {
            let output = bed.command(Host::Server(1), "ss").arg("-tinH").output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let values = said.split_whitespace().filter_map(|word| word.strip_prefix("cwnd:"));
            let values: Vec<u16> = values.map(|value| value.parse().unwrap()).collect();
            match values[..] {
                [value] => return value,
                _ => assert!(begin.elapsed() < site::PATIENCE, "{said}"),
            }
        }
    })
    .unwrap()
}

#[test]
fn servers_begin_with_the_window_of_the_plan() {
    for variant in [Variant::Bridge, Variant::Routed] {
        for segments in [INITIAL_WINDOW, 10] {
            let plan = Plan { initial_window: segments, ..Plan::new(1).wired(variant) };
            let Some(bed) = up(&plan) else { return };
            for address in bed.server(1).each() {
                assert_eq!(window(&bed, address), segments, "{variant:?} {address}");
            }
        }
    }
}
