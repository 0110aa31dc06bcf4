//! Promise: a request goes to the server that somebody else chose for it, found by where it begins
//! in the client's stream, whatever came before it there.

use crate::server::{Server, ok};
use crate::stage::Stage;
use distributor::{Found, Told};
use policy::TargetId;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// The first byte of every stream: sequence numbers go round within the first request.
const FIRST: u32 = u32::MAX - 5;

type Seen = Arc<Mutex<Vec<Found>>>;

/// Sends every second request elsewhere, and notes where they were.
struct Alternating(Seen);

impl Told for Alternating {
    fn first(&self, _: SocketAddr, _: SocketAddr) -> Option<u32> {
        Some(FIRST)
    }

    fn target(&self, request: &Found) -> TargetId {
        let mut seen = self.0.lock().unwrap();
        seen.push(*request);
        TargetId((seen.len() as u64 - 1) % 2)
    }
}

/// A switch that is told, and what it asked.
fn stage(servers: &[SocketAddr]) -> (Stage, Seen) {
    let seen = Seen::default();
    let told = Some(Box::new(Alternating(Arc::clone(&seen))) as Box<dyn Told>);
    (Stage::with(servers, |setup| setup.told = told), seen)
}

#[test]
fn a_request_is_known_by_its_place_in_the_stream_behind_bodies_of_every_kind() {
    let echo = |name: &'static str| {
        Server::answering(move |asked| ok(format!("{name} {}", asked.body.len())))
    };
    let (here, there) = (echo("here"), echo("there"));
    let (stage, seen) = stage(&[here.address, there.address]);
    let mut client = stage.client();
    let to = client.stream().peer_addr().unwrap();
    let from = client.stream().local_addr().unwrap();
    let ask = |line: &str, fields: &str, body: &str| {
        format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}")
    };
    let (large, chunks) = ("x".repeat(300_000), "4;x=1\r\nwiki\r\n0\r\nX-A: 1\r\n\r\n");
    let requests = [
        (ask("GET /1", "", ""), "here 0"),
        (ask("POST /2", "Content-Length: 300000\r\n", &large), "there 300000"),
        (ask("POST /3", "Transfer-Encoding: chunked\r\n", chunks), "here 4"),
        (ask("HEAD /4", "", ""), ""),
        (ask("GET /5", "", ""), "here 0"),
    ];
    let mut seq = FIRST;
    for (number, (request, answer)) in requests.iter().enumerate() {
        client.send(request);
        let reply = match *answer {
            "" => client.head().unwrap(),
            _ => client.reply().text(),
        };
        assert!(reply.contains(answer), "{reply}");
        let found = Found { client: from, to, seq: Some(seq), pipelined: false };
        assert_eq!(seen.lock().unwrap()[number], found);
        seq = seq.wrapping_add(request.len() as u32);
    }
    assert_eq!((here.connections(), there.connections()), (1, 1), "both are kept");
    stage.settle();
}

#[test]
fn requests_that_came_along_with_others_are_marked() {
    let (here, there) = (Server::saying("here"), Server::saying("there"));
    let (stage, seen) = stage(&[here.address, there.address]);
    let mut client = stage.client();
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(get.repeat(2));
    assert_eq!((client.reply().text(), client.reply().text()), ("here".into(), "there".into()));
    client.send(get);
    assert_eq!(client.reply().text(), "here");
    let places: Vec<_> = seen.lock().unwrap().iter().map(|at| (at.seq, at.pipelined)).collect();
    let at = |count: u32| Some(FIRST.wrapping_add(count * get.len() as u32));
    assert_eq!(places, [(at(0), false), (at(1), true), (at(2), false)]);
}

#[test]
fn the_holder_stands_in_for_a_server_that_is_gone_and_others_for_the_holder() {
    let here = Server::saying("here");
    let (stage, _) = stage(&[here.address, Server::nowhere()]);
    let mut client = stage.client();
    for _ in 0..4 {
        assert_eq!(client.get("/").text(), "here");
    }
    // Nothing of a body had gone out: the holder gets it whole.
    client.get("/");
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(client.reply().text(), "here");
    assert_eq!(stage.sum(|counters| &counters.retries), 3);

    let there = Server::saying("there");
    let (other, _) = self::stage(&[Server::nowhere(), there.address]);
    assert_eq!(other.get("/").text(), "there");
}
