//! Method: the turns of one thread are taken one by one, against sockets of the test's own; what
//! the server's side writes before a turn is there when the turn begins.

use super::worker::{Beginnings, Worker};
use super::*;
use crate::{One, Site};
use policy::Class;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Longer than any test should take.
const LONG: Duration = Duration::from_secs(30);

/// Bytes of a read here: a body need not be large to take many of them.
const READ_BYTES: usize = 16;

/// Reads of a connection in a turn; the engine's own number is held against this one.
const READS: u64 = 8;

/// A reply that is there with the third read.
const SHORT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Lets `test` take the turns of a thread with so many users, each of whom has asked; shows it the
/// server's ends of their connections.
fn with_worker(users: usize, test: impl FnOnce(Worker<'_>, Vec<TcpStream>)) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = One { host: "a".into(), path: "/".into(), requests: 1, class: Class::STATIC };
    let base = Scenario::new(listener.local_addr().unwrap(), Site::One(one), Users::Closed(users));
    let scenario = Scenario { warm_up: Duration::ZERO, duration: LONG, ..base };
    let (next, broken, stop) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let (reports, _inbox) = std::sync::mpsc::channel();
    let (zero, scenario, stop) = (Instant::now(), &scenario, &stop);
    let shared = Shared { scenario, threads: 1, zero, next, stop, broken, reports };
    let mut worker = Worker::new(&shared, 0, Beginnings::Closed).unwrap();
    let mut servers = Vec::new();
    for _ in 0..users {
        worker.begin_another(0);
        let (mut server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        let mut head = [0; 1024];
        while server.read(&mut head).is_err() {
            turn(&mut worker);
        }
        server.set_nonblocking(false).unwrap();
        servers.push(server);
    }
    worker.scratch = vec![0; READ_BYTES].into_boxed_slice();
    test(worker, servers);
}

fn turn(worker: &mut Worker<'_>) {
    worker.turn().unwrap();
    assert!(worker.now_ns < LONG.as_nanos() as u64, "it takes too long");
}

/// Bytes of the longest body that is being read.
fn longest(worker: &Worker<'_>) -> u64 {
    let exchanges = worker.conns.iter().filter_map(|(_, conn)| conn.exchange.as_ref());
    exchanges.map(|exchange| exchange.reply.body_bytes).max().unwrap_or(0)
}

fn send_long(server: &mut TcpStream, body_bytes: usize) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n\r\n");
    server.write_all(head.as_bytes()).unwrap();
}

#[test]
fn a_connection_that_is_always_readable_waits_for_others_after_eight_reads() {
    with_worker(3, |mut worker, mut servers| {
        let body = vec![b'x'; 8192];
        for server in [0, 1] {
            send_long(&mut servers[server], body.len());
            servers[server].write_all(&body).unwrap();
        }
        servers[2].write_all(SHORT).unwrap();
        turn(&mut worker);
        assert_eq!(worker.tally.outcome.answered(), 1, "who asked for little waits for one turn");
        let mut turns = 1;
        while worker.tally.outcome.answered() < 3 {
            assert!(longest(&worker) <= turns * READS * READ_BYTES as u64, "{turns} turns");
            turn(&mut worker);
            turns += 1;
        }
        assert_eq!(worker.tally.outcome.body_bytes, 2 * 8192 + 5, "all is read in the end");
        assert!(turns >= 8192 / (READS * READ_BYTES as u64), "{turns} turns");
    });
}

#[test]
fn news_of_more_do_not_give_a_connection_more_reads() {
    with_worker(1, |mut worker, mut servers| {
        send_long(&mut servers[0], 1 << 20);
        servers[0].write_all(&[b'x'; 32 * 1024]).unwrap();
        let mut before = 0;
        for number in 0..20 {
            // Something new about a connection of which not all was read.
            servers[0].write_all(b"x").unwrap();
            turn(&mut worker);
            let read = longest(&worker) - before;
            before += read;
            assert!(read <= READS * READ_BYTES as u64, "turn {number}: {read} bytes");
        }
    });
}

#[test]
fn a_server_that_closes_while_there_is_more_to_read_is_read_to_its_end() {
    with_worker(1, |mut worker, mut servers| {
        let mut server = servers.remove(0);
        server.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        server.write_all(&[b'x'; 4096]).unwrap();
        turn(&mut worker);
        assert_eq!(worker.unread.len(), 1, "it is not read in a turn");
        drop(server);
        while worker.tally.outcome.answered() == 0 {
            turn(&mut worker);
        }
        assert_eq!(worker.tally.outcome.body_bytes, 4096);
    });
}
