//! Method: servers reply in every way HTTP knows, close, restart, refuse and die, with an
//! unmodified nginx or, where one has to pause in the middle, a server of the test's own; clients
//! compare each byte and who sent it.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use handoff::{Delivery, Row, State};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use site::client::{Client, Reply, get, request};
use site::{Asked, PATIENCE, accept, becomes, by_query, everywhere, open_back, open_front};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testbed::{Host, Plan, TestBed, Variant, content};

/// What a client that is reset or let go may wait for that: far less than a retransmission that
/// nobody answers.
const PROMPT: Duration = Duration::from_secs(6);

fn assert_from(reply: &Reply, status: u16, server: u16) {
    assert_eq!((reply.status, reply.server()), (status, Some(server)), "{}", reply.head);
}

#[test]
fn replies_of_every_kind_end_where_they_end_and_the_next_request_moves() {
    everywhere(|one_way, vip| {
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            let file = one_way.file("/4k");
            for turn in 0..4 {
                let (here, there) = (turn % 2 + 1, 2 - turn % 2);
                client.send(&request("HEAD", "/4k", here, ""));
                let head = client.head().unwrap();
                assert_from(&head, 200, here);
                let tag = head.field("ETag").unwrap().to_owned();
                client.fetch(one_way.file("/1500"), there);
                client.send(&request("GET", "/4k", here, &format!("If-None-Match: {tag}\r\n")));
                assert_from(&client.reply().unwrap(), 304, here);
                client.fetch(one_way.file("/0"), there);
                let date = head.field("Last-Modified").unwrap();
                let since = format!("If-Modified-Since: {date}\r\n");
                client.send(&request("GET", "/4k", here, &since));
                assert_from(&client.reply().unwrap(), 304, here);
                for path in ["/4k", "/128k", "/1m"] {
                    client.send(&get(&format!("/chunked{path}"), there));
                    let chunked = client.reply().unwrap();
                    assert_eq!(chunked.field("Transfer-Encoding"), Some("chunked"));
                    let server = chunked.server().unwrap();
                    chunked.assert_is(one_way.file(path), server);
                    assert!(server == there || path != "/4k", "{}", one_way.counts());
                }
                client.send(&get("/nothing", here));
                let nothing = client.reply().unwrap();
                assert_eq!(nothing.status, 404, "{}", nothing.head);
                client.fetch(file, nothing.server().unwrap());
            }
        });
    });
}

#[test]
fn a_server_that_wants_to_see_the_head_first_gets_its_body_then() {
    everywhere(|one_way, vip| {
        let body = content::slice("/a-body", 0, 20_000);
        let fields = format!("Content-Length: {}\r\nExpect: 100-continue\r\n", body.len());
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            for turn in 0..6 {
                let server = turn % 2 + 1;
                client.send(&request("POST", "/echo", server, &fields));
                assert_eq!(client.reply().unwrap().status, 100);
                client.send(body);
                let echo = client.reply().unwrap();
                assert_from(&echo, 200, server);
                assert!(echo.body == body, "another body comes back");
            }
        });
    });
}

#[test]
fn a_reply_may_end_with_its_connection_and_clients_may_be_old() {
    everywhere(|one_way, vip| {
        let file = one_way.file("/128k");
        one_way.client(|| {
            for server in [1, 2] {
                let mut client = Client::connect(vip).unwrap();
                client.fetch(one_way.file("/1500"), 1);
                client.send(&get("/close/128k", server));
                client.reply().unwrap().assert_is(file, server);
                client.ends().unwrap();
                let mut old = Client::connect(vip).unwrap();
                old.send(format!("GET /128k?s{server} HTTP/1.0\r\n\r\n").as_bytes());
                old.reply().unwrap().assert_is(file, server);
                old.ends().unwrap();
                let mut kept = Client::connect(vip).unwrap();
                for server in [server, 3 - server] {
                    let line = format!("GET /128k?s{server} HTTP/1.0\r\n");
                    kept.send(format!("{line}Connection: keep-alive\r\n\r\n").as_bytes());
                    kept.reply().unwrap().assert_is(file, server);
                }
            }
        });
    });
}

#[test]
fn a_request_after_the_server_has_gone_is_refused_promptly() {
    everywhere(|one_way, vip| {
        one_way.client(|| {
            for next in [1, 2] {
                let mut client = Client::connect(vip).unwrap();
                // nginx rests for a second, and then ends the connection.
                client.send(&get("/brief/1500", 1));
                client.reply().unwrap().assert_is(one_way.file("/1500"), 1);
                assert_eq!(client.stream.peek(&mut [0]).unwrap(), 0);
                let began = Instant::now();
                client.send(&get("/1500", next));
                let error = client.reply().unwrap_err().kind();
                let refused = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset];
                assert!(refused.contains(&error), "{error}");
                assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
                let mut again = Client::connect(vip).unwrap();
                again.fetch(one_way.file("/1500"), next);
            }
        });
        // A server's RST does not pass the front-end: what the client does not end is silent.
        let gone = || {
            one_way.front.sweep(Duration::ZERO, usize::MAX);
            one_way.open() == 0
        };
        assert!(becomes(PATIENCE, gone));
    });
}

/// The nginx of a server.
struct Nginx<'a> {
    bed: &'a TestBed,
    host: Host,
    home: PathBuf,
}

impl<'a> Nginx<'a> {
    fn of(bed: &'a TestBed, number: u16) -> Self {
        let host = Host::Server(number);
        let pins = bed.pins(host);
        let folder = pins.parent().and_then(|pins| pins.parent()).unwrap();
        Self { bed, host, home: folder.join(host.to_string()) }
    }

    fn signal(&self, signal: Signal) -> Pid {
        let text = std::fs::read_to_string(self.home.join("nginx.pid")).unwrap();
        let pid = Pid::from_raw(text.trim().parse().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        pid
    }

    fn stop(&self) {
        let pid = self.signal(Signal::TERM);
        assert!(becomes(PATIENCE, || test_kill_process(pid).is_err()), "nginx does not end");
    }

    fn start(&self) {
        let mut nginx = Command::new("nginx");
        nginx.arg("-p").arg(&self.home).arg("-c").arg(self.home.join("nginx.conf"));
        nginx.arg("-e").arg(self.home.join("error.log"));
        assert!(self.bed.enter(self.host, || nginx.status()).unwrap().unwrap().success());
    }
}

#[test]
fn a_server_that_reads_its_configuration_again_loses_no_request() {
    everywhere(|one_way, vip| {
        let nginx = Nginx::of(&one_way.bed, 1);
        one_way.client(|| {
            for _ in 0..3 {
                let mut client = Client::connect(vip).unwrap();
                client.fetch(one_way.file("/1500"), 1);
                let mut there = Client::connect(vip).unwrap();
                there.fetch(one_way.file("/1500"), 1);
                there.fetch(one_way.file("/1500"), 2);
                nginx.signal(Signal::HUP);
                // The old worker ends connections that rest; elsewhere nothing happens.
                client.ends().unwrap();
                there.fetch(one_way.file("/4k"), 2);
                there.fetch(one_way.file("/4k"), 1);
            }
        });
    });
}

#[test]
fn a_request_for_a_server_that_starts_again_is_answered_when_it_has() {
    everywhere(|one_way, vip| {
        let nginx = Nginx::of(&one_way.bed, 2);
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            let mut fresh = Client::connect(vip).unwrap();
            client.fetch(one_way.file("/1500"), 1);
            nginx.stop();
            let before = one_way.count_back("no_listener");
            client.send(&get("/64k", 2));
            fresh.send(&get("/128k", 2));
            assert!(becomes(PATIENCE, || one_way.count_back("no_listener") >= before + 2));
            nginx.start();
            client.reply().unwrap().assert_is(one_way.file("/64k"), 2);
            fresh.reply().unwrap().assert_is(one_way.file("/128k"), 2);
        });
    });
}

#[test]
fn clients_of_a_dead_server_are_reset_promptly_and_nobody_else_is() {
    everywhere(|one_way, vip| {
        let row = |state| Row {
            address: (one_way.bed.server(1).v4, 80).into(),
            name: 1,
            state,
            agent_port: 0,
        };
        let set = |state| {
            let set = || one_way.front.set_row(0, Some(&row(state))).unwrap();
            one_way.bed.enter(Host::Front, set).unwrap();
        };
        let count = one_way.count("reset_down");
        one_way.client(|| {
            let mut clients: Vec<_> = (0..20)
                .map(|number| {
                    let mut client = Client::connect(vip).unwrap();
                    client.fetch(one_way.file("/1500"), number % 2 + 1);
                    client
                })
                .collect();
            // Those of the address before have left.
            assert!(becomes(PATIENCE, || one_way.front.books().book(0).open == 10));
            set(State::Down);
            let began = Instant::now();
            assert_eq!(one_way.front.reset(0, usize::MAX), 10);
            for client in clients.iter_mut().step_by(2) {
                assert_eq!(client.ends().unwrap_err().kind(), ErrorKind::ConnectionReset);
            }
            assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
            assert_eq!(one_way.front.books().book(0).open, 0);
            assert_eq!(one_way.count("reset_down"), count + 10);
            clients.iter_mut().skip(1).step_by(2).for_each(|client| {
                client.fetch(one_way.file("/4k"), 2);
                // The first one is down: what is for it stays.
                client.send(&get("/4k", 1));
                client.reply().unwrap().assert_is(one_way.file("/4k"), 2);
            });
            set(State::Up);
            clients[1].fetch(one_way.file("/4k"), 1);
        });
    });
}

#[test]
fn a_connection_stays_while_its_server_pauses_in_the_middle_of_a_reply() {
    everywhere(|one_way, vip| {
        let listener = one_way.own_server(vip);
        // Begin and end of a reply, with all of the first part acknowledged between them.
        let pauses: [(&[u8], &[u8], &[u8]); 6] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", b"world", b"helloworld"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"hello", b"hello"),
            (b"HTTP/1.1 200 OK\r\nContent-L", b"ength: 5\r\n\r\nhello", b"hello"),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                b"1\r\n!\r\n0\r\n\r\n",
                b"hello!",
            ),
            // Counted in 32 bits this chunk ends before it begins.
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffe\r\n0\r\n\r\n",
                b"",
                b"",
            ),
            (b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 204 None\r\n\r\n", b""),
        ];
        let next = get("/1500", 2);
        for (begin, end, body) in pauses {
            one_way.client(|| {
                let mut client = Client::connect(vip).unwrap();
                client.send(&get("/0", 1));
                let mut server = accept(&listener);
                assert_eq!(server.some(get("/0", 1).len()).unwrap(), get("/0", 1));
                server.send(begin);
                let mut some = vec![0; begin.len()];
                let all = |count: std::io::Result<usize>| count.ok() == Some(begin.len());
                assert!(becomes(PATIENCE, || all(client.stream.peek(&mut some))));
                let kept = one_way.count_back("kept");
                client.send(&next);
                // It comes here, though it is for the second server, and is answered here.
                assert_eq!(server.some(next.len()).unwrap(), next);
                assert_eq!(one_way.count_back("kept"), kept + 1, "{}", one_way.counts());
                // Of 4 GiB nobody sends all.
                if end.is_empty() {
                    return;
                }
                server.send(end);
                server.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
                let mut reply = client.reply().unwrap();
                if reply.status == 103 {
                    reply = client.reply().unwrap();
                }
                assert_eq!(reply.body, body);
                assert_eq!(client.reply().unwrap().body, b"yes");
            });
        }
        assert_eq!(one_way.count("moved"), 0, "{}", one_way.counts());
    });
}

#[test]
fn clients_in_front_of_a_full_queue_are_served_when_there_is_room() {
    everywhere(|one_way, vip| {
        let listener = one_way.own_server(vip);
        rustix::net::listen(&listener, 2).unwrap();
        let full = || one_way.netstat(Host::Server(1), "ListenOverflows");
        let before = full();
        one_way.client(|| {
            let mut clients: Vec<_> = (0..8).map(|_| Client::connect(vip).unwrap()).collect();
            clients.iter_mut().for_each(|client| client.send(&get("/0", 1)));
            assert!(becomes(PATIENCE, || full() > before), "{}", one_way.counts());
            let mut servers: Vec<_> = clients.iter().map(|_| accept(&listener)).collect();
            for server in &mut servers {
                assert_eq!(server.some(get("/0", 1).len()).unwrap(), get("/0", 1));
                server.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
            }
            for client in &mut clients {
                assert_eq!(client.reply().unwrap().body, b"yes");
                client.fetch(one_way.file("/1500"), 2);
            }
        });
    });
}

/// Clients that go on asking, also after whoever was killed is back.
fn go_on(bed: &TestBed, clients: &mut [Client], moving: bool) {
    let file = &bed.plan().files[1];
    for (client, holder) in clients.iter_mut().zip([1, 2, 1, 2]) {
        client.fetch(file, holder);
        if moving {
            client.fetch(file, 3 - holder);
            client.fetch(file, holder);
        }
    }
}

#[test]
fn connections_outlive_the_processes_and_their_successors_take_them_over() {
    if !site::is_possible() {
        return;
    }
    for variant in [Variant::Bridge, Variant::Routed] {
        let plan = Plan::new(2).wired(variant);
        let bed = TestBed::up(&plan).unwrap();
        let front = Arc::new(open_front(&bed, Delivery::Multi));
        let backs: Vec<_> = [1, 2].map(|number| open_back(&bed, number, Delivery::Multi)).into();
        let asked = Asked::begin(Arc::clone(&front), by_query);
        let vips = bed.vip().at(80);
        let connect = || [0, 0, 1, 1].map(|at| Client::connect(vips[at]).unwrap());
        let mut clients = bed.enter(Host::Client, connect).unwrap();
        go_on(&bed, &mut clients, true);
        // Without user space: whoever stays where it is does not notice. Nobody is asked, for the
        // answers that may be repeated are in the kernel.
        for server in [1, 2] {
            let what = handoff::Repeat::Server {
                slot: server - 1,
                load_max: u64::MAX,
                until_ns: u64::MAX,
            };
            let memo = handoff::Memo { what, epoch: 1, target: 0, class: 0 };
            let key = front.key(&get(&plan.files[1].path, server)).unwrap();
            front.remember(key, &memo).unwrap();
        }
        drop(asked);
        drop(front);
        drop(backs);
        go_on(&bed, &mut clients, true);
        let mut fresh = bed.enter(Host::Client, connect).unwrap();
        go_on(&bed, &mut fresh, false);
        let front = Arc::new(open_front(&bed, Delivery::Multi));
        let asked = Asked::begin(Arc::clone(&front), by_query);
        let _backs = [1, 2].map(|number| open_back(&bed, number, Delivery::Multi));
        front.forget_all();
        assert_eq!(front.list(100).len(), 8);
        go_on(&bed, &mut clients, true);
        go_on(&bed, &mut fresh, true);
        drop((clients, fresh));
        let open = || (0..2).map(|slot| front.books().book(slot).open).sum::<u64>();
        assert!(becomes(PATIENCE, || open() == 0));
        drop(asked);
    }
}
