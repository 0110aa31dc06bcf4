//! Promise: a client never takes half a reply for the whole, nor the half of one for the next.

use crate::peer::End;
use crate::server::Server;
use crate::stage::Stage;
use distributor::counters::Cause;

/// Sends `reply` and ends, by closing or with a reset.
fn server(reply: String, reset: bool) -> Server {
    let reply = std::sync::Arc::new(reply);
    Server::scripted(move |peer, _| {
        peer.head();
        peer.send(reply.as_bytes());
        if reset {
            peer.reset_on_close();
        }
    })
}

#[test]
fn a_body_shorter_than_announced_ends_the_connection() {
    for length in [100, 1_000_000] {
        let server = server(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}",
                "x".repeat(length / 2)
            ),
            false,
        );
        let stage = Stage::before(&[server.address]);
        let mut client = stage.client();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = client.head().unwrap();
        assert!(head.contains(&format!("Content-Length: {length}")));
        assert_eq!(client.rest().0.len(), length / 2, "and no reply behind it");
        stage.settle();
        assert_eq!(stage.ends(Cause::ServerData), 1);
    }
}

#[test]
fn chunks_without_the_last_one_end_the_connection() {
    for rest in ["", "5", "5\r\nab"] {
        let reply =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n{rest}");
        let server = server(reply, false);
        let stage = Stage::before(&[server.address]);
        let mut client = stage.client();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        client.head().unwrap();
        let (body, _) = client.rest();
        assert_eq!(String::from_utf8_lossy(&body), format!("3\r\nabc\r\n{rest}"));
        stage.settle();
    }
}

#[test]
fn chunks_that_turn_malformed_end_the_connection() {
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let server = Server::scripted(move |peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        let _ = gone.lock().unwrap().recv();
        peer.send("zz\r\n0\r\n\r\n");
        peer.rest();
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.head().unwrap();
    assert_eq!(client.take(8), b"3\r\nabc\r\n");
    go.send(()).unwrap();
    let (body, _) = client.rest();
    assert_eq!(String::from_utf8_lossy(&body), "", "nothing of the malformed part is passed on");
    stage.settle();
}

#[test]
fn a_reset_is_passed_on_where_the_end_of_the_connection_is_the_end_of_the_body() {
    // To HTTP/1.0 an orderly end would say that this is all.
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    for (reply, reset) in [("HTTP/1.1 200 OK\r\n\r\nabc", true), (chunked, false), (chunked, true)]
    {
        let server = server(reply.to_owned(), reset);
        let stage = Stage::before(&[server.address]);
        let mut client = stage.client();
        client.send("GET / HTTP/1.0\r\n\r\n");
        assert_eq!(client.rest().1, End::Reset, "{reply:?} {reset}");
        stage.settle();
    }
}

#[test]
fn a_reset_in_the_middle_leaves_chunks_open_for_a_client_of_http_1_1() {
    let server = server("HTTP/1.1 200 OK\r\n\r\nabc".to_owned(), true);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let (bytes, _) = client.rest();
    let text = String::from_utf8_lossy(&bytes);
    // The reset may overtake what was sent before it: then it is an error, said as one.
    assert!(!text.contains("0\r\n\r\n") || text.starts_with("HTTP/1.1 502"), "{text}");
}
