//! Promise: nobody is waited for longer than configured, in any phase, and each is told so in the
//! way that is left.
//!
//! Method: times of a few tenths of a second (a deadline may fire two ticks of 100 ms late); what
//! is measured is that it ends at all, and not before its time.

use crate::peer::End;
use crate::server::{Server, ok};
use crate::stage::Stage;
use distributor::Timeouts;
use distributor::counters::Cause;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(300);

/// For what must not end while others have the processors.
const LONGER: Duration = Duration::from_secs(2);

/// How much sooner than asked for a deadline may fire: it is counted in ticks, of which the one
/// that is due when it is set may come at once.
const TICK: Duration = Duration::from_millis(100);

fn stage(servers: &[SocketAddr], change: impl FnOnce(&mut Timeouts)) -> Stage {
    Stage::with(servers, |setup| {
        setup.defer = false;
        change(&mut setup.settings.timeouts);
    })
}

#[test]
fn a_head_that_drips_is_408() {
    let stage = stage(&[Server::nowhere()], |t| t.head = SHORT);
    let began = Instant::now();
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\n");
    let mut dripping = crate::peer::Peer::over(client.stream().try_clone().unwrap());
    std::thread::spawn(move || {
        while dripping.send("X: y\r\n") {
            std::thread::park_timeout(Duration::from_millis(20));
        }
    });
    let reply = client.reply();
    assert_eq!(reply.status, 408, "drops do not make it wait longer");
    assert!(began.elapsed() >= SHORT - TICK, "not before its time");
    stage.settle();
}

#[test]
fn a_later_head_that_drips_is_408_too_and_silence_between_requests_is_not() {
    let server = Server::saying("x");
    let stage = stage(&[server.address], |t| (t.head, t.idle) = (LONGER, LONGER));
    let [mut late, mut idle, mut silent] = [(); 3].map(|()| stage.client());
    late.get("/");
    late.send("GET / HTTP/1.1\r\n");
    idle.get("/");
    assert_eq!(late.reply().status, 408);
    assert_eq!(idle.rest(), (Vec::new(), End::Closed), "an idle connection just ends");
    assert_eq!(silent.rest(), (Vec::new(), End::Closed), "as does one that never spoke");
}

#[test]
fn a_request_body_that_stops_is_408() {
    let server = Server::scripted(|peer, _| drop(peer.rest()));
    let stage = stage(&[server.address], |t| t.body = SHORT);
    let mut client = stage.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome");
    assert_eq!(client.reply().status, 408);
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
    stage.settle();
    assert_eq!(stage.ends(Cause::ClientRequest), 1);
}

#[test]
fn a_body_that_makes_progress_may_take_longer_than_its_time() {
    let server = Server::answering(|asked| ok(asked.body.len().to_string()));
    let stage = stage(&[server.address], |t| (t.body, t.first_byte) = (LONGER, LONGER));
    let mut client = stage.client();
    let began = Instant::now();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    while began.elapsed() < LONGER + Duration::from_millis(500) {
        assert!(client.send("1\r\nx\r\n"));
        std::thread::park_timeout(Duration::from_millis(20));
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.reply().status, 200);
}

#[test]
fn a_reply_that_stops_ends_the_connection() {
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome");
        peer.rest();
    });
    let stage = stage(&[server.address], |t| t.body = SHORT);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.head().unwrap();
    assert_eq!(client.rest().0, b"some");
    stage.settle();
    assert_eq!(stage.ends(Cause::ServerData), 1);
}

#[test]
fn a_client_that_stops_reading_is_given_up() {
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\n\r\n");
        while peer.send([b'x'; 100_000]) {}
    });
    let stage = stage(&[server.address], |t| t.body = LONGER);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    stage.settle();
    crate::stage::eventually("it is given up", || stage.ends(Cause::ClientData) == 1);
}

#[test]
fn a_server_that_does_not_take_the_connection_is_502() {
    // A listener whose queue is full drops the handshake: connecting never ends.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let _taken = TcpStream::connect(address).unwrap();
    let began = Instant::now();
    let stage = stage(&[address], |t| t.connect = SHORT);
    let reply = stage.get("/");
    assert_eq!(reply.status, 502);
    assert!(began.elapsed() >= SHORT - TICK);
    stage.settle();
    assert_eq!(stage.ends(Cause::Connect), 1);
}

#[test]
fn first_bytes_that_drip_do_not_make_it_wait_longer() {
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\n");
        while peer.send("X: y\r\n") {
            std::thread::park_timeout(Duration::from_millis(20));
        }
    });
    let stage = stage(&[server.address], |t| t.first_byte = SHORT);
    assert_eq!(stage.get("/").status, 504);
    stage.settle();
}

#[test]
fn an_unused_connection_to_a_server_is_closed() {
    let (tell, told) = std::sync::mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let server = Server::scripted(move |peer, _| {
        peer.head();
        peer.send(ok("x"));
        let _ = tell.lock().unwrap().send(peer.rest());
    });
    let stage = stage(&[server.address], |t| t.server_idle = SHORT);
    let mut client = stage.client();
    client.get("/");
    let ended = told.recv_timeout(crate::peer::STUCK).unwrap();
    assert_eq!(ended, (Vec::new(), End::Closed));
}
