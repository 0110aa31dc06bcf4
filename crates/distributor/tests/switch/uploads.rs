//! Promise: a request's body reaches the server as it came, a client that waits for permission
//! gets it from the server, and a reply that comes early ends the upload without losing itself.

use crate::peer::{End, STUCK};
use crate::server::{Server, next, ok};
use crate::stage::Stage;
use std::sync::mpsc;

#[test]
fn chunks_and_trailers_reach_the_server_as_they_came() {
    let server = Server::answering(|asked| {
        ok(format!("{} {:?}", String::from_utf8_lossy(&asked.body), asked.trailers))
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("4;x=1\r\nwiki\r\n");
    client.send("5\r\npedia\r\n0\r\nX-Sum: 9\r\n\r\n");
    assert_eq!(client.reply().text(), "wikipedia \"X-Sum: 9\\r\\n\\r\\n\"");
    assert_eq!(client.get("/").text(), " \"\"");
}

#[test]
fn a_client_that_waits_for_100_gets_it_from_the_server() {
    let server = Server::scripted(|peer, _| {
        while let Some(head) = peer.head() {
            assert!(head.contains("Expect: 100-continue"), "{head}");
            peer.send("HTTP/1.1 100 Continue\r\n\r\n");
            let body = peer.take(5);
            peer.send(ok(body));
        }
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for _ in 0..2 {
        client
            .send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
        assert_eq!(client.reply().status, 100);
        client.send("hello");
        assert_eq!(client.reply().text(), "hello");
    }
    stage.settle();
}

#[test]
fn a_client_that_waits_for_100_may_get_the_final_reply_instead() {
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        peer.rest();
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    let reply = client.reply();
    assert_eq!((reply.status, reply.text().as_str()), (403, "no"));
    assert_eq!(reply.field("connection").as_deref(), Some("close"), "its body is still owed");
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
    stage.settle();
}

#[test]
fn a_reply_during_the_upload_arrives_whole_and_ends_it() {
    // The server reads nothing of the body, and closes: with unread bytes that is a reset.
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 100000\r\n\r\n");
        peer.send([b'n'; 100_000]);
        peer.half_close();
        peer.rest();
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n");
    client.send([b'u'; 100_000]);
    let reply = client.reply();
    assert_eq!((reply.status, reply.body.len()), (413, 100_000));
    drop(client);
    stage.settle();
}

#[test]
fn an_upload_goes_on_beside_a_reply_that_began_early() {
    // An echo: the reply is as long as the request, and begins before it has ended.
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n");
        for _ in 0..3 {
            let part = peer.take(1000);
            peer.send(part);
        }
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n");
    assert!(client.head().unwrap().starts_with("HTTP/1.1 200"));
    for letter in [b'a', b'b', b'c'] {
        client.send([letter; 1000]);
        assert_eq!(client.take(1000), [letter; 1000]);
    }
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
    stage.settle();
}

#[test]
fn a_client_that_goes_away_during_its_upload_is_nobodys_fault_but_its_own() {
    let (tell, told) = mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let server = Server::scripted(move |peer, _| {
        peer.head();
        let (body, end) = peer.rest();
        let _ = tell.lock().unwrap().send((body.len(), end));
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf");
    crate::stage::eventually("the request is under way", || server.connections() == 1);
    client.reset();
    assert_eq!(told.recv_timeout(STUCK).unwrap().0, 4, "the server sees that it is not whole");
    stage.settle();
    assert_eq!(stage.ends(distributor::counters::Cause::ClientRequest), 1);
    let live = stage.shared.live.load();
    let backend = live.backends[0].as_ref().unwrap();
    assert_eq!(backend.counters.sum(|c| &c.failed), 0);
}

#[test]
fn a_body_that_came_with_its_head_is_not_lost_when_the_first_server_refuses() {
    let server = Server::scripted(|peer, _| {
        while let Some(asked) = next(peer) {
            peer.send(ok(asked.body));
        }
    });
    let stage = Stage::before(&[Server::nowhere(), server.address]);
    for _ in 0..4 {
        let mut client = stage.client();
        client.send(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
             GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        );
        assert_eq!(client.reply().text(), "hello");
        assert_eq!(client.reply().text(), "");
    }
    stage.settle();
}
