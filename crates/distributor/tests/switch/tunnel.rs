//! Promise: after 101 (Switching Protocols) bytes pass both ways, as they come, until both sides
//! have ended or neither says a word for the configured time.

use crate::peer::{End, Peer};
use crate::server::Server;
use crate::stage::{Stage, eventually};
use distributor::counters::Cause;
use std::time::Duration;

const ASK: &str =
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const AGREE: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/// Agrees, greets in the same packet, then sends everything back until the client ends.
fn echo() -> Server {
    Server::scripted(|peer, _| {
        let head = peer.head().unwrap();
        assert!(
            head.contains("Connection: upgrade\r\n") && head.contains("Upgrade: websocket\r\n")
        );
        peer.send(format!("{AGREE}hello"));
        loop {
            let bytes = peer.take(1);
            if bytes.is_empty() {
                peer.send("bye");
                return;
            }
            peer.send(bytes);
        }
    })
}

fn open(stage: &Stage, first: &str) -> Peer {
    let mut client = stage.client();
    client.send(format!("{ASK}{first}"));
    let reply = client.reply();
    assert_eq!(reply.status, 101);
    assert_eq!(reply.field("upgrade").as_deref(), Some("websocket"));
    assert_eq!(reply.field("connection").as_deref(), Some("upgrade"));
    assert_eq!(client.take(5), b"hello");
    client
}

#[test]
fn bytes_pass_both_ways_and_each_side_may_end_first() {
    let server = echo();
    let stage = Stage::before(&[server.address]);
    let mut client = open(&stage, "early");
    assert_eq!(client.take(5), b"early", "what came behind the request is not lost");
    for word in ["one", "two", "three"] {
        client.send(word);
        assert_eq!(client.take(word.len()), word.as_bytes());
    }
    client.half_close();
    assert_eq!(client.rest(), (b"bye".to_vec(), End::Closed), "the server's last word arrives");
    stage.settle();
    assert_eq!(stage.ends(Cause::Tunnel), 1);
}

#[test]
fn a_server_that_ends_first_still_hears_the_client() {
    let (tell, told) = std::sync::mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let server = Server::scripted(move |peer, _| {
        peer.head();
        peer.send(format!("{AGREE}hello"));
        peer.half_close();
        let _ = tell.lock().unwrap().send(peer.rest().0);
    });
    let stage = Stage::before(&[server.address]);
    let mut client = open(&stage, "");
    assert_eq!(client.take(1), b"", "the server has ended");
    client.send("last words");
    client.half_close();
    assert_eq!(told.recv_timeout(crate::peer::STUCK).unwrap(), b"last words");
    stage.settle();
}

#[test]
fn a_tunnel_that_is_silent_for_too_long_is_closed() {
    let server = echo();
    let stage = Stage::with(&[server.address], |setup| {
        setup.settings.timeouts.tunnel = Duration::from_secs(2);
        setup.settings.timeouts.body = Duration::from_millis(1);
        setup.settings.timeouts.idle = Duration::from_millis(1);
    });
    let mut client = open(&stage, "");
    // Alive for longer than the limit as long as something is said.
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_millis(2500) {
        client.send("x");
        assert_eq!(client.take(1), b"x");
    }
    assert_eq!(client.rest().0, b"");
    stage.settle();
}

#[test]
fn a_tunnel_of_which_one_side_has_ended_is_closed_sooner() {
    // It neither ends nor says a word once the client has ended.
    let (_end, ended) = std::sync::mpsc::channel::<()>();
    let ended = std::sync::Mutex::new(ended);
    let server = Server::scripted(move |peer, _| {
        peer.head();
        peer.send(format!("{AGREE}hello"));
        while peer.take(1) == b"x" {
            peer.send("x");
        }
        let _ = ended.lock().unwrap().recv();
    });
    let stage = Stage::with(&[server.address], |setup| {
        setup.settings.timeouts.tunnel_half_closed = Duration::from_millis(200);
    });
    let mut client = open(&stage, "");
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_millis(600) {
        client.send("x");
        assert_eq!(client.take(1), b"x", "as long as both sides are there, it does not count");
    }
    client.half_close();
    assert_eq!(client.rest().0, b"");
    stage.settle();
    assert_eq!(stage.ends(Cause::Tunnel), 1);
}

#[test]
fn either_side_may_be_gone_without_a_word() {
    let server = echo();
    let stage = Stage::before(&[server.address]);
    open(&stage, "").reset();
    stage.settle();
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send(format!("{AGREE}hello"));
        peer.reset_on_close();
        peer.take(1);
    });
    let stage = Stage::before(&[server.address]);
    let mut client = open(&stage, "");
    client.send("x");
    client.rest();
    stage.settle();
}

#[test]
fn many_bytes_both_ways_at_once_arrive_whole() {
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send(format!("{AGREE}hello"));
        loop {
            let bytes = peer.take(10_000);
            if bytes.is_empty() || !peer.send(bytes) {
                return;
            }
        }
    });
    let stage = Stage::before(&[server.address]);
    let mut client = open(&stage, "");
    let mut sender = Peer::over(client.stream().try_clone().unwrap());
    const ALL: usize = 10_000_000;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            (0..ALL / 10_000).for_each(|at| assert!(sender.send([at as u8; 10_000])));
            sender.half_close();
        });
        for at in 0..ALL / 10_000 {
            assert!(client.take(10_000) == [at as u8; 10_000], "piece {at}");
        }
    });
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
    stage.settle();
}

#[test]
fn a_body_before_the_upgrade_and_bytes_behind_it_all_arrive() {
    let server = Server::scripted(|peer, _| {
        peer.head();
        assert_eq!(peer.take(4), b"body");
        peer.send(format!("{AGREE}hello"));
        let bytes = peer.take(6);
        peer.send(bytes);
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send(
        "POST /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Content-Length: 4\r\n\r\nbodybehind",
    );
    assert_eq!(client.reply_to("POST").status, 101);
    assert_eq!(client.take(11), b"hellobehind");
    drop(client);
    stage.settle();
}

#[test]
fn an_offer_that_is_declined_is_an_ordinary_request() {
    let server = Server::saying("no");
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send(ASK);
    assert_eq!(client.reply().text(), "no");
    assert_eq!(client.get("/").text(), "no");
    eventually("it is over", || stage.sum(|c| &c.in_flight) == 0);
}
