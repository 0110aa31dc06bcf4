//! Promise: bodies of any size arrive byte for byte, both ways, copied or spliced, however slow
//! the reader or the sender.
//!
//! Method: bodies whose every byte depends on its place, checked while they are read.

use crate::peer::{End, Peer, field};
use crate::server::{Server, ok};
use crate::stage::Stage;
use std::sync::OnceLock;

/// Around the size from which bodies are spliced, the buffer, and far beyond every socket buffer.
const SIZES: [usize; 9] =
    [0, 1, 4095, 31 << 10, (32 << 10) - 1, 32 << 10, (64 << 10) + 1, 1 << 20, 20 << 20];
const LARGEST: usize = 50 << 20;

/// Bytes `from..from + count` of the pattern. Its period is prime, so that a piece that is lost,
/// doubled or in the wrong place shows.
fn pattern(from: usize, count: usize) -> &'static [u8] {
    const PERIOD: usize = 65_521;
    static ALL: OnceLock<Vec<u8>> = OnceLock::new();
    let period = || (0..PERIOD).map(|at| (at ^ (at >> 8)) as u8).collect::<Vec<u8>>();
    &ALL.get_or_init(|| period().repeat(LARGEST.div_ceil(PERIOD)))[from..from + count]
}

fn send_pattern(peer: &mut Peer, length: usize, piece: usize) -> bool {
    (0..length).step_by(piece).all(|at| peer.send(pattern(at, piece.min(length - at))))
}

/// How many bytes of the pattern came before the first that is wrong or the end.
fn check_pattern(peer: &mut Peer, length: usize, piece: usize) -> usize {
    let mut at = 0;
    while at < length {
        let want = piece.min(length - at);
        let got = peer.take(want);
        if got != pattern(at, want) {
            break;
        }
        at += want;
    }
    at
}

/// Sends as many bytes of the pattern as the path says; counts what it is sent.
fn server(piece: usize) -> Server {
    Server::scripted(move |peer, _| {
        while let Some(head) = peer.head() {
            if let Some(length) = field(&head, "content-length") {
                let length = length.parse().unwrap();
                let good = check_pattern(peer, length, piece);
                peer.send(ok(good.to_string()));
                continue;
            }
            let path = head.split(' ').nth(1).unwrap();
            let length: usize = path[2..].parse().unwrap();
            match &path[..2] {
                "/l" => peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")),
                "/c" => {
                    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                    for at in (0..length).step_by(100_000) {
                        let count = 100_000.min(length - at);
                        peer.send(format!("{count:x}\r\n"));
                        peer.send(pattern(at, count));
                        peer.send("\r\n");
                    }
                    peer.send("0\r\n\r\n");
                    continue;
                }
                _ => peer.send("HTTP/1.1 200 OK\r\n\r\n"),
            };
            send_pattern(peer, length, piece);
            if path.starts_with("/u") {
                return;
            }
        }
    })
}

#[test]
fn replies_of_any_size_and_framing_arrive_whole() {
    let server = server(64 << 10);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for size in SIZES {
        for form in ["l", "c", "u"] {
            let body = client.get(&format!("/{form}{size}")).body;
            assert!(body == pattern(0, size), "{form} {size}: {} bytes", body.len());
        }
    }
    stage.settle();
    assert!(stage.sum(|c| &c.bytes_spliced) > 20 << 20, "large ones are spliced");
}

#[test]
fn the_size_of_one_reply_does_not_matter_to_the_next() {
    let server = server(64 << 10);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    // After a large one little is read at first; around that little, around the size from which
    // bodies are spliced, and a body that is large without saying so.
    let nexts = ["l0", "l1", "l1990", "l2048", "l16384", "l32768", "l34816", "c100", "c99999"];
    for next in nexts {
        for path in ["l1048576", next, next, "l65536"] {
            let body = client.get(&format!("/{path}")).body;
            let size = path[1..].parse().unwrap();
            assert!(body == pattern(0, size), "{path} around {next}: {} bytes", body.len());
        }
    }
    assert_eq!(server.connections(), 1, "all on one connection");
}

#[test]
fn a_long_head_behind_a_large_body_arrives_whole() {
    let long = "y".repeat(10_000);
    let server = Server::answering(move |asked| match asked.path() {
        "/large" => ok(pattern(0, 100_000)),
        _ => format!("HTTP/1.1 200 OK\r\nX: {long}\r\nContent-Length: 2\r\n\r\nok").into(),
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for _ in 0..3 {
        assert!(client.get("/large").body == pattern(0, 100_000));
        let reply = client.get("/long");
        assert_eq!((reply.text().as_str(), reply.field("x").unwrap().len()), ("ok", 10_000));
    }
}

#[test]
fn a_reply_before_the_end_of_a_connection_arrives_whole() {
    let server = server(64 << 10);
    let stage = Stage::before(&[server.address]);
    for size in SIZES {
        for form in ["l", "c", "u"] {
            let mut client = stage.client();
            client.send(format!("GET /{form}{size} HTTP/1.1\r\nConnection: close\r\n"));
            client.send("Host: a\r\n\r\n");
            let body = client.reply().body;
            assert!(body == pattern(0, size), "{form} {size}: {} bytes", body.len());
            assert_eq!(client.rest(), (Vec::new(), End::Closed));
        }
    }
}

#[test]
fn a_client_of_http_1_0_gets_them_whole_too() {
    let server = server(64 << 10);
    let stage = Stage::before(&[server.address]);
    for size in SIZES {
        for form in ["l", "c", "u"] {
            let mut client = stage.client();
            client.send(format!("GET /{form}{size} HTTP/1.0\r\n\r\n"));
            let body = client.reply().body;
            assert!(body == pattern(0, size), "{form} {size}: {} bytes", body.len());
        }
    }
}

#[test]
fn uploads_of_any_size_arrive_whole() {
    let server = server(64 << 10);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for size in SIZES {
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n"));
        assert!(send_pattern(&mut client, size, 64 << 10));
        assert_eq!(client.reply().text(), size.to_string());
    }
    assert_eq!(server.connections(), 1);
    stage.settle();
}

#[test]
fn a_reader_far_behind_gets_the_largest_body_whole() {
    let server = server(256 << 10);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send(format!("GET /l{LARGEST} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client.head().unwrap();
    // Another client is served while this one does not read at all.
    assert_eq!(stage.get("/l100").body.len(), 100);
    assert_eq!(check_pattern(&mut client, LARGEST, 4 << 20), LARGEST);
    assert_eq!(client.get("/l3").body, pattern(0, 3));
    stage.settle();
}

#[test]
fn a_sender_in_small_pieces_is_followed() {
    let server = server(97);
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for size in [1000, 100_000] {
        assert!(client.get(&format!("/l{size}")).body == pattern(0, size));
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n"));
        assert!(send_pattern(&mut client, size, 89));
        assert_eq!(client.reply().text(), size.to_string());
    }
}

#[test]
fn bodies_of_many_clients_do_not_mix() {
    let server = server(16 << 10);
    let stage = Stage::with(&[server.address], |setup| setup.workers = 2);
    std::thread::scope(|scope| {
        for at in 0..16 {
            let stage = &stage;
            scope.spawn(move || {
                let mut client = stage.client();
                for round in 0..5 {
                    let size = 100_000 * (at + 1) + round;
                    assert!(client.get(&format!("/l{size}")).body == pattern(0, size));
                }
            });
        }
    });
    stage.settle();
}
