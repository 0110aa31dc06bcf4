//! Method: the turns of one thread are taken one by one, against sockets of the test's own; what
//! the server's side writes before a turn is there when the turn begins.

use super::arrivals::Times;
use super::tally::SliceTally;
use super::worker::{Beginnings, Worker, nanoseconds};
use super::*;
use crate::{Arrivals, One, Outcome, Site};
use policy::Class;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use workload::draw::Draw;
use workload::visits::Visits;

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

/// A thread that wakes when its run has been over for long: of users who came at equal distances.
fn overslept(site: Site, gap_s: f64, duration: Duration) -> Outcome {
    let address = testbed::Port::kept().unwrap().for_ever();
    let users = Users::Open(Arrivals::Gaps(Draw::Constant(gap_s)));
    let base = Scenario::new(address, site, users);
    let scenario = Scenario { warm_up: Duration::from_secs(1), duration, ..base };
    let times = Times::new(&Arrivals::Gaps(Draw::Constant(gap_s)), &scenario).unwrap();
    let open = Beginnings::Open { times: Box::new(times), number: 0, next: None };
    let (next, broken, stop) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let (reports, inbox) = std::sync::mpsc::channel();
    let zero = Instant::now().checked_sub(2 * LONG).expect("the machine runs for a minute");
    let (scenario, stop) = (&scenario, &stop);
    let shared = Shared { scenario, threads: 1, zero, next, stop, broken, reports };
    Worker::new(&shared, 0, open).unwrap().run().unwrap();
    let mut outcome = Outcome::default();
    let mut slices = std::collections::BTreeMap::new();
    for (_, measured_ns, tally) in inbox.try_iter() {
        assert!(measured_ns <= nanoseconds(duration));
        outcome.add(&tally.outcome);
        for (number, slice) in &tally.slices {
            slices.entry(*number).or_insert_with(SliceTally::new).add(slice);
        }
    }
    outcome.slices = slices.iter().map(|(number, slice)| slice.finish(*number, 1.0)).collect();
    outcome
}

#[test]
fn users_who_were_due_while_the_client_was_stopped_have_waited_until_the_end() {
    let one = One { host: "a".into(), path: "/".into(), requests: 3, class: Class::CPU };
    // 500 a second in 1 + 5 s; whether the last one comes just in time is a matter of rounding.
    let outcome = overslept(Site::One(one), 0.002, Duration::from_secs(5));
    assert!((2499..=2501).contains(&outcome.arrived), "{}", outcome.arrived);
    assert!((2999..=3000).contains(&outcome.cut_off), "{}", outcome.cut_off);
    assert_eq!((outcome.answered(), outcome.failures(), outcome.connections), (0, 0, 0));
    assert_eq!(outcome.pace.not_begun, outcome.arrived, "those due in the warm-up came before");
    let class = &outcome.classes[0];
    assert_eq!((class.class, outcome.classes.len()), (Class::CPU, 1));
    let late = &outcome.pace.late_us;
    let timings = [&outcome.sessions, &outcome.pages, &outcome.requests, &class.pages];
    assert!(timings.iter().all(|timing| timing.cut_off == outcome.cut_off));
    for times in timings.map(|timing| &timing.due_us).into_iter().chain([late]) {
        assert_eq!(times.len(), outcome.cut_off);
        assert!((5_990_000..=6_005_000).contains(&times.max()), "{}", times.max());
        let half = times.value_at_quantile(0.5);
        assert!((2_990_000..=3_010_000).contains(&half), "{half}");
    }
    let longest = outcome.unanswered.as_ref().expect("all of them wait");
    assert_eq!((longest.waited_us, &*longest.target), (5_998_000, "a/"));
    let slices: Vec<_> = outcome.slices.iter().map(|it| (it.at_s, it.sessions)).collect();
    let last = (4.0, outcome.arrived);
    assert_eq!(slices, [(0.0, 0), (1.0, 0), (2.0, 0), (3.0, 0), last], "with the last slice");
    assert_eq!(outcome.slices[4].cut_off, outcome.cut_off);
    let why = outcome.bottleneck().unwrap_or_default();
    let said = format!("{0} of {0} users were due and could not begin", outcome.arrived);
    assert!(why.starts_with(&said), "{why}");
}

#[test]
fn however_many_could_not_begin_they_are_counted_soon() {
    // A hundred million in two seconds, of which no more than some are drawn one by one.
    let mix = workload::visits::PUBLISHING_STATIC;
    let one = One { host: "a".into(), path: "/".into(), requests: 0, class: Class::CPU };
    let visits = Site::Visits(std::sync::Arc::new(Visits::new(&mix, 1)));
    for site in [Site::One(one), visits] {
        let outcome = overslept(site, 2e-8, Duration::from_secs(1));
        for (count, expected) in [(outcome.cut_off, 1e8), (outcome.arrived, 5e7)] {
            assert!((count as f64 - expected).abs() < expected / 1000.0, "{count}");
        }
        let classes = outcome.classes.iter().map(|class| class.pages.cut_off).sum::<u64>();
        let timings = [&outcome.sessions, &outcome.pages, &outcome.requests];
        for count in timings.map(|timing| timing.cut_off).into_iter().chain([classes]) {
            assert_eq!(count, outcome.cut_off);
        }
        for timing in timings {
            assert_eq!(timing.due_us.len(), outcome.cut_off);
            let half = timing.due_us.value_at_quantile(0.5);
            assert!((995_000..=1_005_000).contains(&half), "{half}");
        }
    }
}

#[test]
fn all_pages_of_a_log_that_were_due_are_counted_of_users_who_could_not_begin() {
    let mut text =
        String::from("#baton-trace/1\tat_ms\tclient\tmethod\tstatus\tbytes\tsite\tsize\turl\n");
    // Each of ten asks for three objects, ten seconds between them: the third one is not due.
    for (at_s, client) in (0..3).flat_map(|at| (0..10).map(move |client| (10 * at, client))) {
        let at_ms = 1000 * at_s;
        text += &format!("{at_ms}\t{client}\tGET\t200\t0\ta.test\t5\t/{at_s}\n");
    }
    let mut builder = workload::Builder::new(workload::Clock::Kept);
    let own = workload::format("baton").expect("it is in the list");
    let read = workload::read(own, text.as_bytes(), |record| {
        builder.push("", record).expect("it is far from full");
    });
    read.expect("reading from memory cannot fail");
    let (pick, shape) = (workload::Pick::All, workload::Shape::default());
    let plan = std::sync::Arc::new(workload::Plan::new(builder.finish(), pick, shape));
    for (speed, pages) in [(Some(1.0), 20), (None, 10)] {
        let site = Site::Trace(std::sync::Arc::clone(&plan), speed);
        let outcome = overslept(site, 0.5, Duration::from_secs(18));
        assert_eq!((outcome.arrived, outcome.sessions.cut_off), (9, 10), "one in the warm-up");
        assert_eq!((outcome.cut_off, outcome.pages.cut_off), (pages, pages));
        let most = outcome.pages.due_us.max();
        assert!((18_480_000..=18_520_000).contains(&most), "{most}");
    }
}

#[test]
fn what_comes_when_the_time_is_over_is_cut_off_and_not_lost() {
    with_worker(2, |mut worker, mut servers| {
        servers[0].write_all(SHORT).unwrap();
        worker.until_ns = worker.now_ns + 1;
        turn(&mut worker);
        assert_eq!((worker.tally.outcome.answered(), worker.cut_off()), (0, 2));
    });
}

#[test]
fn a_page_that_was_due_and_not_begun_is_cut_off() {
    with_worker(1, |mut worker, _servers| {
        let thinking = super::user::User::new(7, worker.now_ns / 2);
        worker.users.insert(thinking);
        let later = super::user::User::new(8, 2 * worker.now_ns);
        worker.users.insert(later);
        assert_eq!(worker.cut_off(), 2, "one is under way and one is due");
        let outcome = &worker.tally.outcome;
        assert_eq!((outcome.pages.cut_off, outcome.sessions.cut_off), (2, 2));
    });
}
