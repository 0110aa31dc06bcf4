//! Promise: a failed attempt is repeated on another server exactly when that can do no harm, and
//! never so often that a cluster in trouble is asked much more than its clients ask.

use crate::peer::STUCK;
use crate::server::{Server, next, ok};
use crate::stage::{Stage, eventually};
use distributor::counters::Cause;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::mpsc::channel;

const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";

/// Reads the request, then goes away with a reset.
fn resetting() -> Server {
    Server::scripted(|peer, _| {
        next(peer);
        peer.reset_on_close();
    })
}

fn failed(stage: &Stage, server: usize) -> u64 {
    stage.shared.live.load().backends[server].as_ref().unwrap().counters.sum(|c| &c.failed)
}

#[test]
fn a_server_that_refuses_costs_no_request_whatever_the_method() {
    let good = Server::answering(|asked| ok(&asked.body));
    let stage = Stage::before(&[Server::nowhere(), good.address]);
    for _ in 0..6 {
        assert_eq!(stage.get("/").status, 200);
        let mut client = stage.client();
        client.send(POST);
        assert_eq!(client.reply().text(), "hi");
    }
    stage.settle();
    assert_eq!(stage.sum(|c| &c.retries), failed(&stage, 0));
    assert!(failed(&stage, 0) > 0);
}

#[test]
fn a_reset_before_the_reply_is_tried_elsewhere_if_asking_twice_is_like_asking_once() {
    for (method, status) in [
        ("GET", 200),
        ("HEAD", 200),
        ("DELETE", 200),
        ("OPTIONS", 200),
        ("POST", 502),
        ("PATCH", 502),
    ] {
        let (bad, good) = (resetting(), Server::answering(|_| ok("")));
        let stage = Stage::before(&[bad.address, good.address]);
        let mut statuses = Vec::new();
        for _ in 0..2 {
            let mut client = stage.client();
            client.send(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
            statuses.push(client.reply_to(method).status);
        }
        // The rotation meets each server at least once.
        assert!(statuses.contains(&status), "{method}: {statuses:?}");
        assert!(statuses.iter().all(|s| [200, status].contains(s)), "{method}: {statuses:?}");
        stage.settle();
        assert_eq!(failed(&stage, 0), bad.connections() as u64);
        assert!(failed(&stage, 0) > 0);
    }
}

#[test]
fn a_body_that_may_be_gone_is_not_sent_twice() {
    let (bad, good) = (resetting(), Server::answering(|_| ok("")));
    let stage = Stage::before(&[bad.address, good.address]);
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let mut client = stage.client();
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
        statuses.push(client.reply().status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 502], "idempotent, but the body cannot be had again");
}

#[test]
fn a_connection_that_went_stale_is_replaced_at_the_same_server_and_nobody_is_blamed() {
    let (close, closed) = channel();
    let closed = Mutex::new(closed);
    // Connections that take one request, answer it, take the next and close without a word, as a
    // server does that closes idle ones at the wrong moment.
    let server = Server::scripted(move |peer, connection| {
        next(peer);
        peer.send(ok("x"));
        if connection == 0 {
            next(peer);
            let _ = closed.lock().unwrap().recv();
        } else {
            peer.rest();
        }
    });
    let other = Server::saying("other");
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    assert_eq!(client.get("/").text(), "x");
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    close.send(()).unwrap();
    assert_eq!(client.reply().text(), "x");
    stage.settle();
    assert_eq!((server.connections(), other.connections()), (2, 0));
    assert_eq!((failed(&stage, 0), stage.sum(|c| &c.retries)), (0, 0));
}

#[test]
fn a_connection_that_was_closed_while_it_was_unused_is_not_used_for_anything() {
    // POST may not be repeated, so it must never meet such a connection.
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let server = Server::scripted(move |peer, _| {
        next(peer);
        peer.send(ok("x"));
        peer.stream().shutdown(std::net::Shutdown::Both).unwrap();
        let _ = tell.lock().unwrap().send(());
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for _ in 0..50 {
        client.send(POST);
        assert_eq!(client.reply().status, 200);
        told.recv_timeout(STUCK).unwrap();
    }
    assert_eq!(failed(&stage, 0), 0);
}

#[test]
fn nothing_is_repeated_once_the_client_saw_a_byte() {
    let half = Server::scripted(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    });
    let good = Server::saying("whole");
    let stage = Stage::before(&[half.address, good.address]);
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let mut client = stage.client();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        client.head().unwrap();
        bodies.push(String::from_utf8(client.take(5)).unwrap());
    }
    bodies.sort_unstable();
    assert_eq!(bodies, ["half", "whole"]);
    assert_eq!(good.connections(), 1);
    assert_eq!(stage.sum(|c| &c.retries), 0);
}

#[test]
fn a_client_that_left_is_not_tried_again_elsewhere() {
    let (go, gone) = channel::<()>();
    let gone = Mutex::new(gone);
    let first = Server::scripted(move |peer, _| {
        peer.head();
        let _ = gone.lock().unwrap().recv();
        peer.send(ok("x".repeat(100_000)));
        peer.rest();
    });
    let other = Server::saying("other");
    let stage = Stage::with(&[first.address, other.address], |setup| setup.policy = "least-loaded");
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the server has it", || first.connections() + other.connections() == 1);
    if other.connections() == 1 {
        // Ties go to the server not chosen for longest, so the next one is the first server's.
        client.reply();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        eventually("the server has it", || first.connections() == 1);
    }
    let before = other.connections();
    client.reset();
    go.send(()).unwrap();
    stage.settle();
    assert_eq!(stage.sum(|c| &c.retries), 0);
    assert_eq!(other.connections(), before);
    assert_eq!((stage.ends(Cause::ClientData), failed(&stage, 0)), (1, 0));
}

#[test]
fn each_server_is_tried_once_for_a_request() {
    let bad: Vec<Server> = (0..5).map(|_| resetting()).collect();
    let addresses: Vec<SocketAddr> = bad.iter().map(|server| server.address).collect();
    for (attempts, tried) in [(0, 1), (1, 2), (4, 5), (16, 5)] {
        let stage = Stage::with(&addresses, |setup| setup.settings.retry.attempts = attempts);
        let before: Vec<usize> = bad.iter().map(Server::connections).collect();
        let reply = stage.get("/");
        assert_eq!(reply.status, 502, "{}", reply.text());
        let rounds: Vec<usize> =
            bad.iter().zip(before).map(|(server, before)| server.connections() - before).collect();
        assert!(rounds.iter().all(|count| *count <= 1), "{rounds:?}");
        assert_eq!(rounds.iter().sum::<usize>(), tried, "{rounds:?}");
        stage.settle();
        assert_eq!(stage.ends(Cause::ServerHead), 1, "the failure is named, not its consequence");
    }
}

#[test]
fn the_budget_bounds_the_retries_of_a_cluster_that_fails() {
    let bad = [Server::nowhere(), Server::nowhere(), Server::nowhere()];
    let stage = Stage::with(&bad, |setup| setup.settings.retry.budget_percent = 10);
    let mut client = stage.client();
    for _ in 0..300 {
        assert_eq!(client.get("/").status, 502);
    }
    let retries = stage.sum(|c| &c.retries);
    // A hundred at once after a quiet time, and a tenth of the requests.
    assert!((100..=130).contains(&retries), "{retries}");
    assert!(stage.sum(|c| &c.retries_refused) > 0);
    stage.settle();
}

#[test]
fn a_reply_that_is_no_http_is_tried_elsewhere_too() {
    let bad = Server::scripted(|peer, _| {
        peer.head();
        peer.send("SSH-2.0-x\r\n");
    });
    let good = Server::saying("good");
    let stage = Stage::before(&[bad.address, good.address]);
    for _ in 0..4 {
        assert_eq!(stage.get("/").text(), "good");
    }
    assert_eq!(failed(&stage, 0), bad.connections() as u64);
}
