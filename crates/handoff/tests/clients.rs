//! Method: clients do what clients do besides asking politely, and each must get what TCP and HTTP
//! owe it, promptly; then nothing of it may be left in the books.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use rustix::net::sockopt::{set_socket_linger, set_tcp_cork};
use site::client::{Client, get, request};
use site::{OneWay, PATIENCE, accept, becomes, everywhere};
use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;
use testbed::{Adversity, Host, content};

#[test]
fn a_client_that_has_said_its_last_word_gets_its_reply() {
    everywhere(|one_way, vip| {
        // All of it is on its way before nginx sees the end, at which it stops sending.
        let file = one_way.file("/8k");
        one_way.client(|| {
            // First or second request; together with the last word or before it.
            for (first, together) in [(true, true), (true, false), (false, true), (false, false)] {
                let mut client = Client::connect(vip).unwrap();
                if !first {
                    client.fetch(one_way.file("/1500"), 1);
                }
                set_tcp_cork(&client.stream, together).unwrap();
                client.send(&get(&file.path, 2));
                client.stream.shutdown(Shutdown::Write).unwrap();
                // A last word that overtakes its request keeps the connection where it is.
                let reply = client.reply().unwrap();
                let server = reply.server().unwrap();
                assert!(server == 2 || !first, "{}", reply.head);
                reply.assert_is(file, server);
                client.ends().unwrap();
            }
        });
    });
}

#[test]
fn a_client_that_resets_is_forgotten() {
    everywhere(|one_way, vip| {
        one_way.client(|| {
            for server in [1, 2] {
                let mut client = Client::connect(vip).unwrap();
                client.fetch(one_way.file("/1500"), 1);
                client.send(&get("/10m", server));
                client.some(100_000).unwrap();
                set_socket_linger(&client.stream, Some(Duration::ZERO)).unwrap();
            }
        });
        assert!(becomes(PATIENCE, || one_way.open() == 0), "{}", one_way.counts());
    });
}

#[test]
fn a_client_whose_window_was_closed_gets_every_byte() {
    everywhere(|one_way, vip| {
        let probes = || one_way.netstat(Host::Server(2), "TCPWinProbe");
        let before = probes();
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            client.fetch(one_way.file("/1500"), 1);
            client.send(&get("/10m", 2));
            assert!(becomes(PATIENCE, || probes() > before), "nobody probes a closed window");
            client.reply().unwrap().assert_is(one_way.file("/10m"), 2);
            client.fetch(one_way.file("/4k"), 1);
        });
    });
}

#[test]
fn slow_readers_get_every_byte() {
    everywhere(|one_way, vip| {
        let file = one_way.file("/1m");
        let read_slowly = |number: u16| {
            let mut client = Client::connect(vip).unwrap();
            client.fetch(one_way.file("/0"), 1);
            client.send(&get(&file.path, number % 2 + 1));
            let head = client.head().unwrap();
            let mut body = Vec::new();
            while (body.len() as u64) < file.bytes {
                std::thread::park_timeout(Duration::from_millis(1));
                let count = (file.bytes as usize - body.len()).min(10_007);
                body.extend(client.some(count).unwrap());
            }
            assert!(content::verify(&file.path, 0, &body), "{}", head.head);
            client.fetch(one_way.file("/1500"), 2);
        };
        one_way.client(|| {
            std::thread::scope(|scope| {
                for number in 0..10 {
                    scope.spawn(move || read_slowly(number));
                }
            });
        });
    });
}

#[test]
fn a_client_that_is_silent_for_too_long_is_reset_when_it_speaks() {
    everywhere(|one_way, vip| {
        let mut client = one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            client.fetch(one_way.file("/1500"), 1);
            client
        });
        one_way.front.sweep(PATIENCE, usize::MAX);
        assert_eq!(one_way.open(), 1);
        assert!(becomes(PATIENCE, || one_way.front.sweep(Duration::ZERO, 9999).idle == 1));
        assert_eq!(one_way.open(), 0);
        client.send(&get("/1500", 2));
        assert_eq!(client.reply().unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_client_that_leaves_before_it_asked_is_let_go() {
    everywhere(|one_way, vip| {
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            client.stream.shutdown(Shutdown::Write).unwrap();
            client.ends().unwrap();
            drop(Client::connect(vip).unwrap());
        });
        assert_eq!(one_way.count("handed_over"), 0, "{}", one_way.counts());
        assert!(one_way.front.list(1).is_empty());
    });
}

#[test]
fn bodies_go_to_one_server_and_the_next_request_to_another() {
    everywhere(|one_way, vip| {
        let body: Vec<u8> = content::slice("/a-body", 0, 200_000).to_vec();
        let length = format!("Content-Length: {}\r\n", body.len());
        let with_body =
            |method, path, server| [request(method, path, server, &length), body.clone()].concat();
        let name = if vip.is_ipv4() { "/put/v4" } else { "/put/v6" };
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            for turn in 0..6 {
                let server = turn % 2 + 1;
                client.send(&with_body("POST", "/echo", server));
                // More of a body may be on its way than can wait for a decision: then it stays.
                let echo = client.reply().unwrap();
                assert!(echo.status == 200 && echo.body == body, "{}", echo.head);
                client.fetch(one_way.file("/1500"), 3 - server);
                client.send(&with_body("PUT", name, server));
                let put = client.reply().unwrap();
                assert!(matches!(put.status, 201 | 204), "{}", put.head);
                let who = put.server().unwrap();
                client.fetch(one_way.file("/0"), 3 - who);
                client.send(&get(name, who));
                let kept = client.reply().unwrap();
                assert!(kept.server() == Some(who) && kept.body == body, "{}", kept.head);
            }
        });
    });
}

/// A client may send more at once than the ten segments that are usual (RFC 6928): what comes
/// behind the first segment while that is held must not be taken for nobody's.
#[test]
fn a_large_first_flight_to_a_target_that_nobody_knows_arrives() {
    everywhere(|one_way, vip| {
        let wide = ["route", "replace", &vip.ip().to_string(), "dev", one_way.bed.interface()]
            .map(str::to_owned);
        let via = one_way.bed.plan().variant == testbed::Variant::Bridge;
        if via {
            let mut command = one_way.bed.command(testbed::Host::Client, "ip");
            let status = command.args(&wide).args(["initcwnd", "60"]).status().unwrap();
            assert!(status.success());
        }
        let body: Vec<u8> = content::slice("/a-body", 0, 120_000).to_vec();
        let length = format!("Content-Length: {}\r\n", body.len());
        one_way.client(|| {
            for server in [1, 2] {
                let mut client = Client::connect(vip).unwrap();
                client.send(&[request("POST", "/echo", server, &length), body.clone()].concat());
                let echo = client.reply().unwrap();
                assert!(echo.status == 200 && echo.body == body, "{}", echo.head);
            }
        });
    });
}

#[test]
fn heads_over_several_segments_are_answered_wherever_the_connection_is() {
    everywhere(|one_way, vip| {
        // Larger than a segment; the second kind is larger than what is looked at.
        for bytes in [1800, 4096] {
            let field = format!("X-Long: {}\r\n", "x".repeat(bytes - 60));
            one_way.client(|| {
                let mut client = Client::connect(vip).unwrap();
                client.fetch(one_way.file("/0"), 1);
                for turn in 0..4 {
                    let server = turn % 2 + 1;
                    client.send(&request("GET", "/4k", server, &field));
                    let reply = client.reply().unwrap();
                    reply.assert_is(one_way.file("/4k"), reply.server().unwrap());
                }
                // In pieces that are no request by themselves.
                let whole = get("/1500", 2);
                for piece in whole.chunks(9) {
                    client.send(piece);
                }
                let reply = client.reply().unwrap();
                reply.assert_is(one_way.file("/1500"), reply.server().unwrap());
            });
        }
    });
}

#[test]
fn what_no_server_can_be_given_comes_to_the_relay_with_every_byte() {
    everywhere(|one_way, vip| {
        let relay = one_way.listener(Host::Front, vip);
        let long = request("GET", "/1500", 1, &format!("X-Long: {}\r\n", "x".repeat(4000)));
        let two = [get("/0", 1), get("/0", 2)].concat();
        let cases: [(&[u8], &str); 7] = [
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a hello of TLS", "local_not_http"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "local_not_http"),
            (b"\0\xff garbage", "local_not_http"),
            (b"GET /1500?s1 HT", "local_split_head"),
            (&long, "local_split_head"),
            (&two, "local_pipelined"),
            (b"GET /nobody's HTTP/1.1\r\nHost: bed\r\n\r\n", "local_verdict"),
        ];
        for (bytes, why) in cases {
            let before = one_way.count(why);
            one_way.client(|| {
                let mut client = Client::connect(vip).unwrap();
                client.send(bytes);
                let mut there = accept(&relay);
                let address = client.stream.local_addr().unwrap();
                assert_eq!(there.stream.peer_addr().unwrap(), address);
                assert_eq!(there.some(bytes.len()).unwrap(), bytes);
                // It goes on there, both ways, and ends there.
                client.send(b"more");
                assert_eq!(there.some(4).unwrap(), b"more");
                let reply = content::slice("/a-reply", 0, 100_000);
                std::thread::scope(|scope| {
                    scope.spawn(|| there.send(reply));
                    assert!(client.some(reply.len()).unwrap() == reply);
                });
                drop(client);
                there.ends().unwrap();
            });
            assert_eq!(one_way.count(why), before + 1, "{why}: {}", one_way.counts());
        }
        assert_eq!(one_way.count("handed_over"), 0);
    });
}

#[test]
fn a_connection_may_go_to_the_relay_after_it_was_with_a_server() {
    everywhere(|one_way, vip| {
        let relay = one_way.listener(Host::Front, vip);
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            client.fetch(one_way.file("/4k"), 1);
            let other = b"GET /nobody's HTTP/1.1\r\nHost: bed\r\n\r\n";
            client.send(other);
            let mut there = accept(&relay);
            assert_eq!(there.some(other.len()).unwrap(), other);
            there.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
            assert_eq!(client.reply().unwrap().body, b"hello");
            client.send(b"GET");
            assert_eq!(there.some(3).unwrap(), b"GET");
        });
    });
}

/// Uses a port again and again, whatever the connection before it left behind.
fn reuse(one_way: &OneWay, vip: SocketAddr, mut leave: impl FnMut(Client)) {
    let first = Client::connect(vip).unwrap();
    let port = first.stream.local_addr().unwrap().port();
    set_socket_linger(&first.stream, Some(Duration::ZERO)).unwrap();
    drop(first);
    for servers in [[1, 1], [1, 2], [2, 1], [2, 2], [1, 2]] {
        // It is free when the end of the connection before it has been acknowledged.
        let mut client = None;
        let free = || {
            client = Client::connect_from(port, vip).ok();
            client.is_some()
        };
        assert!(becomes(PATIENCE, free));
        let mut client = client.unwrap();
        client.fetch(one_way.file("/4k"), servers[0]);
        client.fetch(one_way.file("/1500"), servers[1]);
        leave(client);
    }
}

#[test]
fn a_port_can_be_used_again_whatever_is_left_on_the_servers() {
    everywhere(|one_way, vip| {
        // The server closes first: it keeps the connection in TIME-WAIT. The client's time stamps
        // have an offset or not: at one of the changes they go back.
        let mut offsets = ["1", "2"].into_iter().cycle();
        one_way.client(|| {
            reuse(one_way, vip, |mut client| {
                client.send(&request("GET", "/1500", 1, "Connection: close\r\n"));
                client.reply().unwrap().assert_is(one_way.file("/1500"), 1);
                client.ends().unwrap();
                let how = offsets.next().unwrap();
                one_way.bed.set(Host::Client, "ipv4/tcp_timestamps", how).unwrap();
            });
        });
        one_way.bed.set(Host::Client, "ipv4/tcp_timestamps", "1").unwrap();
        // The client resets, which the server hears, or does not.
        let wire = one_way.bed.wire(Host::Client).unwrap();
        for loss in [0.0, 1.0] {
            one_way.client(|| {
                reuse(one_way, vip, |client| {
                    wire.set(Adversity { loss, ..Adversity::default() }).unwrap();
                    let sent = wire.counts()[1].frames;
                    set_socket_linger(&client.stream, Some(Duration::ZERO)).unwrap();
                    drop(client);
                    assert!(becomes(PATIENCE, || wire.counts()[1].frames > sent));
                    wire.set(Adversity::default()).unwrap();
                });
            });
        }
        // Of the last one's end nobody has heard.
        assert!(becomes(PATIENCE, || one_way.front.sweep(Duration::ZERO, 9999).idle == 1));
    });
}

#[test]
fn a_reply_that_nobody_reads_does_not_keep_the_connection_open() {
    everywhere(|one_way, vip| {
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            client.send(&get("/1m", 2));
            let mut some = [0; 10_000];
            client.stream.read_exact(&mut some).unwrap();
        });
        assert!(becomes(PATIENCE, || one_way.open() == 0), "{}", one_way.counts());
    });
}

#[test]
fn a_connection_that_is_used_again_while_it_is_judged_is_not_forgotten() {
    everywhere(|one_way, vip| {
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            client.fetch(one_way.file("/1500"), 1);
            let seen = one_way.count("forwarded");
            let mut speaks = |_: &SocketAddr, _: &SocketAddr| {
                client.fetch(one_way.file("/4k"), 1);
                // What it acknowledges counts too: nothing is under way any more.
                assert!(becomes(PATIENCE, || one_way.count("forwarded") > seen + 1));
                false
            };
            assert_eq!(one_way.front.disown(0, u64::MAX, &mut speaks), 0);
            assert_eq!(one_way.open(), 1);
            client.fetch(one_way.file("/1500"), 2);
            let mut is_silent = |_: &SocketAddr, _: &SocketAddr| false;
            assert_eq!(one_way.front.disown(1, u64::MAX, &mut is_silent), 1);
        });
    });
}
