//! Promise: a server works on no more requests at once than it may; the others wait in order, not
//! too many and not too long; and a place is given back however a request ends.

use crate::peer::{Peer, Reply, STUCK};
use crate::server::{Server, next, ok};
use crate::stage::{Stage, eventually};
use distributor::counters::Cause;
use policy::{ServerId, State};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A server that says which request it has and answers when it is let.
struct Held {
    server: Server,
    came: Receiver<String>,
    go: Sender<()>,
}

impl Held {
    fn new() -> Self {
        let ((tell, came), (go, let_go)) = (channel(), channel::<()>());
        let (tell, let_go) = (Mutex::new(tell), Arc::new(Mutex::new(let_go)));
        let server = Server::scripted(move |peer, _| {
            while let Some(asked) = next(peer) {
                let _ = tell.lock().unwrap().send(asked.path().to_owned());
                if let_go.lock().unwrap().recv().is_err() || !peer.send(ok(asked.path())) {
                    return;
                }
            }
        });
        Self { server, came, go }
    }

    fn next(&self) -> String {
        self.came.recv_timeout(STUCK).unwrap()
    }
}

fn stage(servers: &[SocketAddr], gate: (u32, u32), deadline: Duration) -> Stage {
    Stage::with(servers, |setup| {
        setup.gate = Some(gate);
        setup.settings.queue_deadline = deadline;
    })
}

fn ask(stage: &Stage, path: &str) -> Peer {
    let mut client = stage.client();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client
}

fn is_503(reply: &Reply) {
    assert_eq!((reply.status, reply.field("retry-after").as_deref()), (503, Some("1")));
}

#[test]
fn those_who_wait_are_served_in_order_and_one_at_a_time() {
    let held = Held::new();
    let stage = stage(&[held.server.address], (1, 10), STUCK);
    let mut clients = vec![ask(&stage, "/0")];
    for at in 1..=10 {
        clients.push(ask(&stage, &format!("/{at}")));
        eventually("it waits", || stage.waiting(0) == at);
    }
    is_503(&ask(&stage, "/too-many").reply());
    eventually("it is counted", || stage.ends(Cause::QueueFull) == 1);
    for (at, client) in clients.iter_mut().enumerate() {
        assert_eq!(held.next(), format!("/{at}"));
        assert!(held.came.try_recv().is_err(), "one at a time");
        held.go.send(()).unwrap();
        assert_eq!(client.reply().text(), format!("/{at}"));
    }
    stage.settle();
}

#[test]
fn who_waits_too_long_is_503_and_leaves_its_place_in_the_queue() {
    let held = Held::new();
    let stage = stage(&[held.server.address], (1, 2), Duration::from_millis(200));
    let mut first = ask(&stage, "/first");
    held.next();
    for _ in 0..3 {
        let began = Instant::now();
        let mut waiting = [ask(&stage, "/a"), ask(&stage, "/b")];
        waiting.iter_mut().for_each(|client| is_503(&client.reply()));
        // A tick of 100 ms that is due when they come may count for the deadline.
        assert!(began.elapsed() >= Duration::from_millis(100), "they had a place to wait in");
        assert_eq!(stage.waiting(0), 0, "who gave up takes no place");
    }
    eventually("they are counted", || stage.ends(Cause::QueueTimeout) == 6);
    assert_eq!(stage.ends(Cause::QueueFull), 0);
    held.go.send(()).unwrap();
    assert_eq!(first.reply().text(), "/first");
    held.go.send(()).unwrap();
    assert_eq!(first.get("/again").text(), "/again");
    stage.settle();
}

#[test]
fn a_client_that_left_while_it_waited_costs_the_server_at_most_its_request() {
    let held = Held::new();
    let stage = stage(&[held.server.address], (1, 10), STUCK);
    let mut first = ask(&stage, "/first");
    held.next();
    let leaving = ask(&stage, "/leaving");
    eventually("it waits", || stage.waiting(0) == 1);
    let mut last = ask(&stage, "/last");
    eventually("both wait", || stage.waiting(0) == 2);
    leaving.reset();
    (0..3).for_each(|_| held.go.send(()).unwrap());
    assert_eq!(first.reply().text(), "/first");
    assert_eq!(last.reply().text(), "/last");
    stage.settle();
}

#[test]
fn who_resets_while_it_waits_leaves_its_place_at_once() {
    let held = Held::new();
    let stage = stage(&[held.server.address], (1, 1), STUCK);
    let mut first = ask(&stage, "/first");
    held.next();
    for gone in 1..=3 {
        let leaving = ask(&stage, "/leaving");
        eventually("it waits", || stage.waiting(0) == 1);
        leaving.reset();
        eventually("its place is free", || stage.waiting(0) == 0);
        eventually("it is counted", || stage.ends(Cause::ClientQueue) == gone);
    }
    held.go.send(()).unwrap();
    assert_eq!(first.reply().text(), "/first");
    stage.settle();
    assert!(held.came.try_recv().is_err(), "none of them cost the server anything");
}

#[test]
fn who_has_only_nothing_more_to_say_or_says_more_goes_on_waiting() {
    let held = Held::new();
    let stage = stage(&[held.server.address], (1, 10), STUCK);
    let mut first = ask(&stage, "/first");
    held.next();
    let mut half = ask(&stage, "/half");
    let mut eager = ask(&stage, "/eager");
    eventually("both wait", || stage.waiting(0) == 2);
    half.half_close();
    eager.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    (0..4).for_each(|_| held.go.send(()).unwrap());
    assert_eq!(first.reply().text(), "/first");
    assert_eq!(half.reply().text(), "/half");
    assert_eq!(eager.reply().text(), "/eager");
    assert_eq!(eager.reply().text(), "/next");
    stage.settle();
    assert_eq!(stage.ends(Cause::ClientQueue), 0);
}

#[test]
fn those_who_wait_for_a_server_that_goes_down_are_sent_to_another() {
    let (down, up) = (Held::new(), Held::new());
    let stage = stage(&[down.server.address, up.server.address], (1, 10), STUCK);
    let mut busy = [ask(&stage, "/busy"), ask(&stage, "/busy")];
    down.next();
    up.next();
    let mut waiting: Vec<Peer> = (0..6).map(|_| ask(&stage, "/waiting")).collect();
    eventually("they wait for both", || stage.waiting(0) == 3 && stage.waiting(1) == 3);
    stage.shared.ask.change(|edit| edit.set_state(ServerId(0), State::Down));
    eventually("all wait for one", || stage.waiting(0) == 0 && stage.waiting(1) == 6);
    down.go.send(()).unwrap();
    (0..7).for_each(|_| up.go.send(()).unwrap());
    busy.iter_mut().for_each(|client| assert_eq!(client.reply().text(), "/busy"));
    waiting.iter_mut().for_each(|client| assert_eq!(client.reply().text(), "/waiting"));
    stage.settle();
    assert_eq!(down.server.connections(), 1);
}

#[test]
fn with_no_other_server_they_are_told_so_at_once() {
    let held = Held::new();
    let stage = stage(&[held.server.address], (1, 10), STUCK);
    let mut busy = ask(&stage, "/busy");
    held.next();
    let mut waiting = ask(&stage, "/waiting");
    eventually("it waits", || stage.waiting(0) == 1);
    stage.shared.ask.change(|edit| edit.set_state(ServerId(0), State::Draining));
    is_503(&waiting.reply());
    held.go.send(()).unwrap();
    assert_eq!(busy.reply().text(), "/busy", "what it has, it finishes");
    stage.settle();
}

#[test]
fn a_place_comes_back_after_every_kind_of_end() {
    // The path says how the server ends it.
    let server = Server::scripted(|peer, _| {
        while let Some(asked) = next(peer) {
            let goes_on = match asked.path() {
                "/close" => false,
                "/reset" => {
                    peer.reset_on_close();
                    false
                }
                "/garbage" => peer.send("SSH\r\n\r\n"),
                "/half" => {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx");
                    false
                }
                "/silence" => !peer.rest().0.is_empty(),
                "/tunnel" => {
                    peer.send("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
                    false
                }
                path => peer.send(ok(path)),
            };
            if !goes_on {
                return;
            }
        }
    });
    let stage = Stage::with(&[server.address], |setup| {
        setup.gate = Some((1, 0));
        setup.settings.timeouts.first_byte = Duration::from_secs(2);
        setup.settings.retry.attempts = 0;
    });
    for path in ["/ok", "/close", "/reset", "/garbage", "/half", "/silence", "/tunnel", "/gone"] {
        let before = stage.sum(|c| &c.requests);
        let mut client = stage.client();
        client.send(format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
        ));
        eventually("it was read", || stage.sum(|c| &c.requests) > before);
        if path == "/gone" {
            client.reset();
        } else {
            client.head();
            drop(client);
        }
        stage.settle();
        assert_eq!(stage.get("/after").text(), "/after", "after {path}");
    }
    stage.settle();
}

#[test]
fn a_limit_that_is_raised_lets_those_in_who_wait() {
    let held = Held::new();
    let stage = stage(&[held.server.address], (1, 10), STUCK);
    let mut clients: Vec<Peer> = (0..4).map(|_| ask(&stage, "/x")).collect();
    eventually("three wait", || stage.waiting(0) == 3);
    stage.shared.ask.set_gate(ServerId(0), 0, 10);
    (0..4).for_each(|_| assert_eq!(held.next(), "/x"));
    (0..4).for_each(|_| held.go.send(()).unwrap());
    clients.iter_mut().for_each(|client| assert_eq!(client.reply().text(), "/x"));
    stage.settle();
}

#[test]
fn a_server_whose_queue_is_full_too_leaves_its_requests_to_one_with_room() {
    let (full, free) = (Held::new(), Held::new());
    let stage = stage(&[full.server.address, free.server.address], (1, 0), STUCK);
    // One target, one holder: LARD would send all of it to the same server.
    let mut clients = [ask(&stage, "/same"), ask(&stage, "/same")];
    let (first, second) = (full.came.recv_timeout(STUCK), free.came.recv_timeout(STUCK));
    assert_eq!((first.unwrap(), second.unwrap()), ("/same".to_owned(), "/same".to_owned()));
    is_503(&ask(&stage, "/same").reply());
    full.go.send(()).unwrap();
    free.go.send(()).unwrap();
    for client in &mut clients {
        assert_eq!(client.reply().status, 200);
    }
    stage.settle();
}
