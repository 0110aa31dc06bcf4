//! Promise: whatever clients do, others are served promptly meanwhile, and afterwards nothing is
//! left of it: no connection, no request in flight, no load in the books.

use crate::peer::{End, Peer, STUCK};
use crate::server::{Server, ok};
use crate::stage::{Stage, eventually};
use policy::{Dice, Edit, State};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What a client waits at most while a storm goes on, on a busy machine.
const PROMPT: Duration = Duration::from_secs(5);

fn open(stage: &Stage) -> usize {
    stage.shared.open.load(Ordering::Relaxed)
}

fn answered(stage: &Stage) -> bool {
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.head().is_some_and(|head| head.starts_with("HTTP/1.1 200 "))
}

fn promptly(stage: &Stage) {
    let began = Instant::now();
    assert_eq!(stage.get("/").status, 200);
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
}

#[test]
fn garbage_gets_an_answer_or_the_end_and_breaks_nothing() {
    let server = Server::answering(|asked| ok(&asked.body));
    let stage = Stage::with(&[server.address], |setup| {
        setup.defer = false;
        setup.settings.timeouts.head = Duration::from_millis(300);
        setup.settings.timeouts.body = Duration::from_millis(300);
    });
    let mut dice = Dice::new(1);
    let words = [
        "GET ",
        "POST ",
        "/",
        " HTTP/1.1",
        "\r\n",
        "Host: a",
        "Content-Length: 5",
        "\r\n\r\n",
        "Transfer-Encoding: chunked",
        "0\r\n\r\n",
        ":",
        "\0",
        "\u{ff}",
        "Upgrade: x\r\nConnection: upgrade",
    ];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let mut dice = Dice::new(dice.bits());
            let stage = &stage;
            scope.spawn(move || {
                for _ in 0..40 {
                    let mut client = stage.client();
                    let mut bytes: Vec<u8> = Vec::new();
                    for _ in 0..dice.below(20) {
                        match dice.below(3) {
                            0 => bytes.extend(dice.bits().to_le_bytes()),
                            _ => bytes.extend(words[dice.below(words.len())].as_bytes()),
                        }
                    }
                    client.send(&bytes);
                    if dice.below(2) == 0 {
                        client.half_close();
                    }
                    match dice.below(3) {
                        0 => client.reset(),
                        _ => drop(client.rest()),
                    }
                }
            });
        }
        promptly(&stage);
    });
    promptly(&stage);
    stage.settle();
    eventually("all connections are closed", || open(&stage) == 0);
}

#[test]
fn clients_that_go_away_in_every_phase_leave_nothing_behind() {
    let server = Server::scripted(|peer, _| {
        while peer.head().is_some() {
            if !peer.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n{}",
                "x".repeat(200_000)
            )) {
                return;
            }
        }
    });
    let stage = Stage::with(&[server.address], |setup| setup.workers = 2);
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for taken in [0, 1, 10, 300, 70_000, 200_000] {
        for sent in [0, 1, 10, request.len()] {
            for reset in [false, true] {
                let mut client = stage.client();
                client.send(&request[..sent]);
                if sent == request.len() {
                    client.take(taken);
                }
                if reset {
                    client.reset();
                }
            }
        }
    }
    promptly(&stage);
    stage.settle();
    eventually("all connections are closed", || open(&stage) == 0);
}

#[test]
fn servers_that_go_away_in_every_phase_leave_nothing_behind() {
    let reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let server = Server::scripted(move |peer, connection| {
        peer.take([0, 5, 500][connection % 3]);
        peer.send(&reply[..connection % reply.len()]);
        if connection % 2 == 0 {
            peer.reset_on_close();
        }
    });
    let stage = Stage::with(&[server.address], |setup| {
        setup.settings.timeouts.first_byte = Duration::from_millis(300);
    });
    for at in 0..200 {
        let mut client = stage.client();
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n\r\n");
        client.send([b'x'; 600]);
        let head = client.head();
        assert!(
            head.is_some_and(|head| head.starts_with("HTTP/1.1 ")),
            "client {at} hears something"
        );
        client.rest();
    }
    stage.settle();
    eventually("all connections are closed", || open(&stage) == 0);
}

/// Those that make tables beforehand, and some with others.
const POLICIES: [&str; 4] = ["maglev", "lard-r", "bounded-hash", "maglev"];

fn policy(name: &str) -> Box<dyn policy::Policy> {
    let entry = policy::entry(name).unwrap();
    (entry.build)(&policy::Params::new(entry.params))
}

/// For a while, servers go down, drain and come up, and policies take over from each other.
fn come_and_go(stage: &Stage) {
    let mut dice = Dice::new(99);
    for turn in 0..200 {
        let server = policy::ServerId(dice.below(4) as u16);
        let state = [State::Down, State::Up, State::Draining][dice.below(3)];
        let another = (turn % 8 == 0).then(|| POLICIES[turn / 8 % POLICIES.len()]);
        let set_state = |edit: &mut Edit<'_>| edit.set_state(server, state);
        stage.shared.ask.change_with(another.map(policy), set_state, |books, ()| {
            let cluster = books.desk().cluster();
            assert_eq!(cluster.is_usable(server), state == State::Up);
        });
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

#[test]
fn the_books_balance_after_a_storm_with_a_queue() {
    let servers: Vec<Server> = (0..3)
        .map(|at| {
            Server::scripted(move |peer, connection| {
                let mut dice = Dice::new(at * 1000 + connection as u64);
                while let Some(asked) = crate::server::next(peer) {
                    let goes_on = match dice.below(8) {
                        0 => false,
                        1 => {
                            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx");
                            false
                        }
                        2 => peer.send("nonsense\r\n\r\n"),
                        _ => peer.send(ok(&asked.body)),
                    };
                    if !goes_on {
                        return;
                    }
                }
            })
        })
        .collect();
    let mut addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    addresses.push(Server::nowhere());
    let stage = Stage::with(&addresses, |setup| {
        setup.workers = 2;
        setup.gate = Some((2, 4));
        setup.settings.queue_deadline = Duration::from_millis(50);
        setup.settings.timeouts.first_byte = Duration::from_millis(500);
    });
    std::thread::scope(|scope| {
        for seed in 0..16 {
            let stage = &stage;
            scope.spawn(move || {
                let mut dice = Dice::new(seed);
                for _ in 0..40 {
                    let mut client = stage.client();
                    client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1 + dice.below(3)));
                    if dice.below(4) == 0 {
                        client.reset();
                    } else {
                        client.half_close();
                        client.rest();
                    }
                }
            });
        }
        come_and_go(&stage);
    });
    stage.settle();
    (0..4).for_each(|server| assert_eq!(stage.waiting(server), 0));
    // Every place was given back: each server takes a request again.
    let up = |edit: &mut Edit<'_>| {
        (0..3).for_each(|at| edit.set_state(policy::ServerId(at), State::Up));
    };
    stage.shared.ask.change(up);
    let good = (0..30).filter(|_| answered(&stage)).count();
    assert!(good > 10, "{good}");
    eventually("all connections are closed", || open(&stage) == 0);
}

#[test]
fn thousands_of_silent_and_slow_clients_hold_nobody_up() {
    // Two descriptors a connection, for both ends are ours.
    const WANTED: u64 = 8_000;
    let now = getrlimit(Resource::Nofile);
    let hard = now.maximum.unwrap_or(u64::MAX);
    setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum }).unwrap();
    let count = WANTED.min(hard.saturating_sub(2_000) / 2) as usize;
    assert!(count > 100, "this needs descriptors: {hard} are allowed");
    let server = Server::saying("x");
    let stage = Stage::with(&[server.address], |setup| {
        setup.workers = 2;
        // They are slow for as long as all of them take to come.
        setup.settings.timeouts.head = Duration::from_secs(60);
    });
    let mut crowd: Vec<TcpStream> = Vec::with_capacity(count);
    for at in 0..count {
        let mut stream = TcpStream::connect(stage.address).unwrap();
        // Half of them say the beginning of a request, so that they are not left in the kernel.
        if at % 2 == 0 {
            std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\nHost").unwrap();
        }
        crowd.push(stream);
        if at % 1000 == 999 {
            promptly(&stage);
        }
    }
    eventually("the crowd is there", || open(&stage) >= count / 2);
    for _ in 0..20 {
        promptly(&stage);
    }
    for stream in crowd.iter_mut().step_by(1000) {
        std::io::Write::write_all(stream, b": a\r\n\r\n").unwrap();
        assert_eq!(Peer::over(stream.try_clone().unwrap()).reply().text(), "x");
    }
    drop(crowd);
    eventually("all connections are closed", || open(&stage) == 0);
    stage.settle();
}

#[test]
fn no_more_connections_are_taken_than_the_limit_and_the_others_wait_for_their_turn() {
    let server = Server::saying("x");
    let stage = Stage::with(&[server.address], |setup| setup.settings.connections_max = 10);
    let mut first: Vec<Peer> = (0..10).map(|_| stage.client()).collect();
    first.iter_mut().for_each(|client| assert_eq!(client.get("/").text(), "x"));
    let mut next: Vec<Peer> = (0..5).map(|_| stage.client()).collect();
    next.iter_mut().for_each(|client| assert!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")));
    assert_eq!(first[0].get("/").text(), "x");
    assert_eq!(open(&stage), 10);
    first.truncate(5);
    next.iter_mut().for_each(|client| assert_eq!(client.reply().text(), "x"));
    assert!(open(&stage) <= 10);
}

#[test]
fn stopping_finishes_what_is_open_and_takes_nothing_new() {
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let server = Server::scripted(move |peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
        let _ = gone.lock().unwrap().recv();
        peer.send("cd");
        peer.rest();
    });
    let stage = Stage::before(&[server.address]);
    let (address, shared) = (stage.address, std::sync::Arc::clone(&stage.shared));
    let mut idle = stage.client();
    idle.send("\r\n");
    let mut busy = stage.client();
    busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    busy.head().unwrap();
    let stopping = std::thread::spawn(move || stage.stop(STUCK));
    eventually("nobody is let in", || TcpStream::connect(address).is_err());
    go.send(()).unwrap();
    assert_eq!(busy.take(4), b"abcd", "what was open is finished");
    assert_eq!(busy.rest().1, End::Closed);
    drop(idle);
    assert_eq!(stopping.join().unwrap(), 0, "nobody was cut off");
    assert_eq!(shared.ask.books().desk().cluster().total(), policy::Load::ZERO);
}

#[test]
fn what_does_not_end_in_time_is_cut_off_and_counted() {
    let server = Server::scripted(|peer, _| drop(peer.rest()));
    let stage = Stage::before(&[server.address]);
    let shared = std::sync::Arc::clone(&stage.shared);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("it is under way", || server.connections() == 1);
    assert_eq!(stage.stop(Duration::from_millis(50)), 1);
    client.rest();
    assert_eq!(
        shared.ask.books().desk().cluster().total(),
        policy::Load::ZERO,
        "its place is back"
    );
    assert_eq!(shared.counters.sum(|c| &c.in_flight), 0);
}
