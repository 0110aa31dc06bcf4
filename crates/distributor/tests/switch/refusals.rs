//! Promise: what cannot be served is refused with the status and a sentence that say why, what
//! could be read in two ways never reaches a server, and no connection goes on after that.

use crate::peer::End;
use crate::server::{Server, ok};
use crate::stage::Stage;
use distributor::counters::Cause;
use std::time::Duration;

/// Each line: the status, and a request that gets it.
const REFUSED: &[(u16, &str)] = &[
    (400, "GET / HTTP/1.1\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n"),
    (400, "GET / HTTP/1.1\nHost: a\n\n"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"),
    (400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    (400, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
    (400, "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n"),
    (
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    (400, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
    (501, "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
    (405, "TRACE / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 5\r\n\r\n"),
    (417, "POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 1\r\n\r\nx"),
    (505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
];

#[test]
fn a_request_that_can_be_read_two_ways_gets_its_status_and_the_end() {
    let server = Server::saying("smuggled");
    let stage = Stage::before(&[server.address]);
    for (status, request) in REFUSED {
        let mut client = stage.client();
        client.send(format!("{request}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
        let reply = client.reply();
        assert_eq!(reply.status, *status, "{request:?}");
        assert_eq!(reply.field("connection").as_deref(), Some("close"), "{request:?}");
        assert!(reply.text().starts_with(&format!("{status} ")), "{:?}", reply.text());
        assert_eq!(client.rest(), (Vec::new(), End::Closed), "{request:?}");
    }
    assert_eq!(server.connections(), 0, "nothing reached a server: {:?}", server.seen());
    assert_eq!(stage.ends(Cause::BadRequest), REFUSED.len() as u64);
}

/// Chunked bodies that are none; each is tried with the head and behind it.
const BAD_CHUNKS: &[&str] = &[
    "zz\r\nabc\r\n0\r\n\r\n",
    "0x3\r\nabc\r\n0\r\n\r\n",
    "-1\r\nabc\r\n0\r\n\r\n",
    "3 \r\nabc\r\n0\r\n\r\n",
    "3\nabc\n0\n\n",
    "3\r\nabcd\r\n0\r\n\r\n",
    "ffffffffffffffff1\r\nabc\r\n0\r\n\r\n",
    "3;a=\x01\r\nabc\r\n0\r\n\r\n",
    "0\r\nGET /smuggled HTTP/1.1\r\n\r\n",
];

#[test]
fn a_malformed_chunk_is_400_whether_it_comes_with_the_head_or_behind_it() {
    for body in BAD_CHUNKS {
        for split in [false, true] {
            let server = Server::answering(|_| ok("taken"));
            let stage = Stage::before(&[server.address, Server::saying("other").address]);
            let mut client = stage.client();
            let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
            client.send(head);
            if split {
                crate::stage::eventually("the head came", || {
                    stage.sum(|c| &c.server_connects) == 1
                });
            }
            client.send(format!("{body}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
            let reply = client.reply();
            assert_eq!(reply.status, 400, "{body:?} {split}: {}", reply.text());
            assert_eq!(client.rest(), (Vec::new(), End::Closed));
            stage.settle();
            assert_eq!(server.seen(), [""; 0], "{body:?}");
            assert_eq!(stage.sum(|c| &c.retries), 0, "it is not tried elsewhere");
        }
    }
}

#[test]
fn heads_and_targets_have_limits() {
    let server = Server::saying("x");
    let stage = Stage::before(&[server.address]);
    let many: String = (0..200).map(|at| format!("X-{at}: 1\r\n")).collect();
    for (status, request) in [
        (431, format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(20_000))),
        (431, format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n")),
        (414, format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "y".repeat(10_000))),
    ] {
        let mut client = stage.client();
        client.send(request);
        assert_eq!(client.reply().status, status);
        assert_eq!(client.rest(), (Vec::new(), End::Closed));
    }
    // A head without an end is refused as soon as it is too long.
    let mut client = stage.client();
    client.send(format!("GET / HTTP/1.1\r\nX: {}", "y".repeat(17_000)));
    assert_eq!(client.reply().status, 431);
}

#[test]
fn the_largest_head_that_may_be_configured_passes() {
    let server = Server::answering(|asked| ok(asked.head.len().to_string()));
    let stage =
        Stage::with(&[server.address], |setup| setup.settings.wire.head_bytes_max = 64 * 1024);
    let mut client = stage.client();
    let field = "y".repeat(64 * 1024 - 100);
    for _ in 0..2 {
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\nX: {field}\r\n\r\n"));
        let length: usize = client.reply().text().parse().unwrap();
        assert!(length > field.len());
    }
    client.send(format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "y".repeat(70_000)));
    assert_eq!(client.reply().status, 431);
}

#[test]
fn content_that_is_too_long_is_413_whether_it_says_so_or_not() {
    let server = Server::answering(|asked| ok(&asked.body));
    let stage = Stage::with(&[server.address], |setup| setup.settings.wire.body_bytes_max = 10);
    let mut client = stage.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789");
    assert_eq!(client.reply().text(), "0123456789");
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n0123456789a");
    assert_eq!(client.reply().status, 413);
    let mut client = stage.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("b\r\n0123456789a\r\n0\r\n\r\n");
    assert_eq!(client.reply().status, 413);
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
}

#[test]
fn a_client_of_http_1_0_that_is_refused_is_not_left_waiting_for_the_end() {
    let stage = Stage::before(&[]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let (bytes, end) = client.rest();
    assert!(bytes.starts_with(b"HTTP/1.1 503 ") && end == End::Closed);
}

#[test]
fn no_server_is_503_with_a_time_to_come_back_and_the_connection_stays() {
    let stage = Stage::before(&[]);
    let mut client = stage.client();
    for _ in 0..2 {
        let reply = client.get("/");
        assert_eq!(reply.status, 503);
        assert_eq!(reply.field("retry-after").as_deref(), Some("1"));
        assert_eq!(reply.text(), "503 Service Unavailable: no server is up\n");
    }
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply_to("HEAD").status, 503);
    assert_eq!(client.get("/").status, 503);
    stage.settle();
}

#[test]
fn a_server_that_speaks_no_http_is_502_with_the_reason() {
    for (reply, why) in [
        ("SSH-2.0-OpenSSH_9.2\r\n", "does not begin with HTTP"),
        ("HTTP/1.1 abc OK\r\n\r\n", "status line is malformed"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "twice"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "contradict",
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            "nobody asked",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not hexadecimal"),
    ] {
        let server = Server::answering(move |_| reply.as_bytes().to_vec());
        let stage = Stage::before(&[server.address]);
        let mut client = stage.client();
        let got = client.get("/");
        assert_eq!(got.status, 502, "{reply:?}");
        assert!(got.text().contains(why), "{reply:?}: {}", got.text());
        assert_eq!(client.get("/").status, 502, "the client's connection stays");
        stage.settle();
    }
}

#[test]
fn a_reply_whose_head_has_no_end_is_502() {
    let server = Server::scripted(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\n");
        while peer.send("X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n") {}
    });
    let stage = Stage::before(&[server.address]);
    assert_eq!(stage.get("/").status, 502);
}

#[test]
fn a_server_that_says_nothing_is_504() {
    let server = Server::scripted(|peer, _| drop(peer.rest()));
    let stage = Stage::with(&[server.address], |setup| {
        setup.settings.timeouts.first_byte = Duration::from_millis(200);
    });
    let mut client = stage.client();
    assert_eq!(client.get("/").status, 504);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
    assert_eq!(client.reply().status, 504);
    stage.settle();
}

#[test]
fn a_server_that_refuses_is_502_even_if_it_is_the_only_one() {
    let stage = Stage::before(&[Server::nowhere()]);
    assert_eq!(stage.get("/").status, 502);
    stage.settle();
    assert_eq!(stage.ends(Cause::Connect), 1);
}
