//! Promise: whichever way a server ends its replies, each client gets them whole, told apart and
//! in a form that it understands.

use crate::peer::{End, Peer};
use crate::server::{Server, ok};
use crate::stage::Stage;
use distributor::counters::Cause;
use std::sync::{Arc, Barrier};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
    5\r\nhello\r\n6;note=a\r\n world\r\n0\r\nX-Sum: 11\r\n\r\n";
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello world";

/// A server that sends `reply` to each request, and closes if the reply needs that for its end.
fn server(reply: &'static str) -> Server {
    Server::scripted(move |peer, _| {
        while peer.head().is_some() {
            peer.send(reply);
            if !reply.contains("Length") && !reply.contains("chunked") {
                return;
            }
        }
    })
}

fn ask_10(client: &mut Peer, fields: &str) {
    client.send(format!("GET /a HTTP/1.0\r\nHost: a.example\r\n{fields}\r\n"));
}

#[test]
fn both_sides_keep_their_connection() {
    let server = Server::answering(|asked| ok(asked.path()));
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for at in 0..50 {
        assert_eq!(client.get(&format!("/{at}")).text(), format!("/{at}"));
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(stage.sum(|c| &c.server_connects), 1);
    stage.settle();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::answering(|asked| ok(format!("{} {}", asked.path(), asked.body.len())));
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    let mut all = String::new();
    for at in 0..40 {
        all += &match at % 3 {
            0 => format!("GET /{at} HTTP/1.1\r\nHost: a\r\n\r\n"),
            1 => format!("POST /{at} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"),
            _ => format!(
                "POST /{at} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                 2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
            ),
        };
    }
    client.send(all);
    for at in 0..40 {
        let length = if at % 3 == 0 { 0 } else { 3 };
        assert_eq!(client.reply().text(), format!("/{at} {length}"));
    }
    stage.settle();
}

#[test]
fn requests_that_arrive_byte_by_byte_are_understood() {
    let server = Server::answering(|asked| ok(&asked.body));
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    let request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nabc\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send_slowly(request);
    assert_eq!(client.reply().text(), "abc");
    assert_eq!(client.reply().text(), "");
}

#[test]
fn replies_that_arrive_byte_by_byte_are_understood() {
    let server = Server::scripted(|peer, _| {
        while peer.head().is_some() {
            peer.send_slowly(CHUNKED);
        }
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for _ in 0..2 {
        assert_eq!(client.get("/").text(), "hello world");
    }
}

#[test]
fn replies_without_a_body_leave_the_connection_in_step() {
    let server = Server::answering(|asked| match asked.path() {
        "/head" => b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec(),
        "/head-chunked" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
        "/204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        "/304" => {
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: \"a\"\r\n\r\n".to_vec()
        }
        _ => ok("whole"),
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for (method, path, status) in [
        ("HEAD", "/head", 200),
        ("HEAD", "/head-chunked", 200),
        ("GET", "/204", 204),
        ("GET", "/304", 304),
    ] {
        client.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(client.reply_to(method).status, status, "{path}");
        assert_eq!(client.get("/").text(), "whole", "after {path}");
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn chunks_and_trailers_reach_a_client_of_http_1_1_as_they_came() {
    let server = server(CHUNKED);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    let reply = client.get("/");
    assert_eq!(
        (reply.text().as_str(), reply.trailers.as_str()),
        ("hello world", "X-Sum: 11\r\n\r\n")
    );
    assert_eq!(client.get("/").text(), "hello world");
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_client_of_http_1_0_gets_the_content_of_chunks_and_then_the_end() {
    let server = server(CHUNKED);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    ask_10(&mut client, "Connection: keep-alive\r\n");
    let reply = client.reply();
    assert_eq!(reply.text(), "hello world");
    assert_eq!(reply.field("transfer-encoding"), None);
    assert_eq!(reply.field("connection").as_deref(), Some("close"));
    // The server's connection is whole all the same.
    assert_eq!(stage.get("/").text(), "hello world");
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_body_that_ends_with_the_connection_is_put_in_chunks_for_a_client_that_stays() {
    let server = server(UNTIL_CLOSE);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for _ in 0..3 {
        let reply = client.get("/");
        assert_eq!(reply.field("transfer-encoding").as_deref(), Some("chunked"));
        assert_eq!(reply.text(), "hello world");
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_body_that_ends_with_the_connection_ends_so_for_those_who_want_or_know_no_better() {
    let server = server(UNTIL_CLOSE);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    ask_10(&mut client, "");
    let (bytes, end) = client.rest();
    assert!(bytes.ends_with(b"\r\n\r\nhello world") && end == End::Closed);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let (bytes, end) = client.rest();
    assert!(bytes.ends_with(b"\r\n\r\nhello world") && end == End::Closed);
    stage.settle();
}

#[test]
fn a_client_of_http_1_0_stays_only_if_it_asks_to() {
    let server = Server::saying("x");
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for _ in 0..2 {
        ask_10(&mut client, "Connection: keep-alive\r\n");
        assert_eq!(client.reply().field("connection").as_deref(), Some("keep-alive"));
    }
    ask_10(&mut client, "");
    assert_eq!(client.reply().text(), "x");
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
}

#[test]
fn a_server_of_http_1_0_is_understood() {
    let server = server("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for _ in 0..2 {
        let reply = client.get("/");
        assert!(reply.head.starts_with("HTTP/1.1 200 "));
        assert_eq!(reply.text(), "ok");
    }
    assert_eq!(server.connections(), 2, "1.0 without keep-alive serves once");
}

#[test]
fn a_client_that_says_close_gets_its_reply_and_the_end() {
    let server = Server::saying("bye");
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(client.reply().field("connection").as_deref(), Some("close"));
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
    assert_eq!(stage.get("/").text(), "bye");
    assert_eq!(server.connections(), 1, "the client's wish is not the server's business");
}

#[test]
fn what_a_client_pipelines_behind_its_last_request_does_not_cost_it_the_reply() {
    let server = Server::saying("last");
    let stage = Stage::before(&[server.address]);
    for _ in 0..20 {
        let mut client = stage.client();
        client.send(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".to_owned()
                + &"x".repeat(300_000),
        );
        let (bytes, end) = client.rest();
        assert!(bytes.ends_with(b"\r\n\r\nlast"), "the reply is whole");
        assert_eq!(end, End::Closed, "no reset overtakes it");
    }
}

#[test]
fn what_a_client_sends_late_behind_its_last_request_does_not_cost_it_the_reply() {
    let (asked, late) = (Barrier::new(2), Barrier::new(2));
    let waits = Arc::new((asked, late));
    let theirs = Arc::clone(&waits);
    let server = Server::answering(move |_| {
        theirs.0.wait();
        theirs.1.wait();
        ok("last")
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    waits.0.wait();
    // Nobody reads this: the switch has the whole request.
    client.send("\r\n");
    waits.1.wait();
    assert!(client.rest().0.ends_with(b"\r\n\r\nlast"), "no reset overtakes the reply");
}

#[test]
fn a_client_that_half_closes_still_gets_its_reply() {
    let server = Server::saying("late");
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.half_close();
    assert_eq!(client.reply().text(), "late");
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
}

#[test]
fn interim_replies_go_to_clients_that_know_them_only() {
    let server = Server::scripted(|peer, _| {
        while peer.head().is_some() {
            peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n");
            peer.send(
                "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            );
        }
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    let hints = client.get("/");
    assert_eq!((hints.status, hints.field("link").as_deref()), (103, Some("</a.css>")));
    assert_eq!(client.reply().status, 102);
    assert_eq!(client.reply().text(), "x");
    ask_10(&mut client, "Connection: keep-alive\r\n");
    assert_eq!(client.reply().status, 200, "HTTP/1.0 has no interim replies");
}

#[test]
fn interim_replies_without_end_are_a_broken_server() {
    let server = Server::scripted(|peer, _| {
        peer.head();
        while peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n".repeat(100)) {}
    });
    let stage = Stage::before(&[server.address]);
    // One that does not read, so that they would have to be kept.
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    crate::stage::eventually("the server is given up", || stage.ends(Cause::BadReply) == 1);
    stage.settle();
}

#[test]
fn bytes_behind_a_reply_poison_nothing() {
    for reply in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\
         HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil",
    ] {
        let server = Server::answering(move |_| reply.as_bytes().to_vec());
        let stage = Stage::before(&[server.address]);
        let mut client = stage.client();
        for _ in 0..5 {
            let got = client.get("/");
            let body = if got.status == 200 { "ok" } else { "" };
            assert_eq!((got.status == 200, got.text().as_str()), (got.status == 200, body));
            assert_ne!(got.text(), "evil");
        }
        assert_eq!(server.connections(), 5, "such a connection is not used again: {reply}");
    }
}

#[test]
fn bytes_behind_a_reply_that_is_spliced_poison_nothing() {
    let body = "x".repeat(100_000);
    for behind in ["\n", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"] {
        let answer = [ok(&body), behind.into()].concat();
        let server = Server::answering(move |_| answer.clone());
        let stage = Stage::before(&[server.address]);
        let mut client = stage.client();
        for _ in 0..5 {
            assert!(client.get("/").text() == body, "the body and nothing behind it");
        }
        assert_eq!(server.connections(), 5, "such a connection is not used again: {behind:?}");
    }
}
