//! When users come, what they wait for, and what is measured of it.

use crate::*;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A server that holds requests back whose heads begin so, until the gate is opened.
fn holding(beginning: &'static str) -> (Arc<Gate>, Server) {
    let gate = Arc::new(Gate::default());
    let doors = Arc::clone(&gate);
    let server = Server::start(move |seen| {
        if seen.head.starts_with(beginning) {
            doors.pass();
        }
        Answer::Send(whole("hello"))
    });
    (gate, server)
}

#[test]
fn a_stalled_server_shows_in_times_since_due_and_hides_in_times_since_sent() {
    // One connection for all: while the first reply is held back, the others cannot be sent.
    let (gate, server) = holding("GET /0 ");
    let urls: Vec<String> = (0..50).map(|number| format!("/{number}")).collect();
    // The first request stands alone; the others are one batch, of which "/0" is the first.
    let mut rows = vec![(0, 0, "/page")];
    rows.extend(urls.iter().map(|url| (1, 0, url.as_str())));
    let (site, users) = sessions(&plan(&rows));
    let manner = Manner::Parallel(1);
    let scenario = Scenario { manner, ..scenario(server.address, site, users) };
    let began = Mutex::new(None);
    let stall = Duration::from_millis(300);
    let look = |_: &Outcome| {
        let mut began = began.lock().unwrap();
        if gate.waiting() > 0 && began.get_or_insert_with(Instant::now).elapsed() >= stall {
            gate.open();
        }
    };
    let outcome = run(&scenario, look, &AtomicBool::new(false)).expect("it can be run");
    assert_eq!((outcome.answered(), outcome.failures()), (51, 0));
    let (due, sent) = (&outcome.requests.due_us, &outcome.requests.sent_us);
    assert!(due.value_at_quantile(0.1) >= 299_000, "all of the batch waited");
    assert!(sent.value_at_quantile(0.5) < due.value_at_quantile(0.5) / 2, "one was held back");
    assert!(sent.max() >= 299_000);
    let page = &outcome.pages;
    assert_eq!(page.due_us.len(), 2);
    assert!(page.due_us.max() >= due.max(), "a page is over with its last object");
}

#[test]
fn the_same_seed_asks_the_same_however_many_threads() {
    let asked = |seed, threads| {
        let server = Server::start(hello);
        let users = Users::Open(Arrivals::Steps(vec![
            (400.0, Duration::from_millis(100)),
            (0.0, Duration::ZERO),
        ]));
        let base = scenario(server.address, visits(2.0, 3.0, 0.01), users);
        let outcome = play(&Scenario { seed, threads, host: "h".into(), ..base });
        assert_eq!(outcome.failures(), 0, "{:?}", outcome.examples);
        assert_eq!(outcome.answered(), outcome.arrived * 2 * 4);
        assert_eq!(outcome.sessions.due_us.len(), outcome.arrived);
        let mut heads: Vec<_> = server.heads().into_iter().map(|seen| seen.head).collect();
        heads.sort();
        heads
    };
    let first = asked(1, 1);
    assert!(first.len() > 100);
    assert_eq!(first, asked(1, 3));
    assert_ne!(first, asked(2, 1), "another seed, another number of users");
}

#[test]
fn a_closed_loop_keeps_so_many_users() {
    let (gate, server) = holding("");
    let base = scenario(server.address, one(1), Users::Closed(7));
    let opened = Mutex::new(None);
    let outcome = play_until(&Scenario { threads: 2, ..base }, |outcome| {
        // For a while nobody is answered, so there are seven and no more.
        if outcome.arrived >= 7 && gate.waiting() >= 7 && opened.lock().unwrap().is_none() {
            assert_eq!((gate.waiting(), outcome.arrived, outcome.answered()), (7, 7, 0));
            *opened.lock().unwrap() = Some(());
            gate.open();
        }
        outcome.answered() >= 100
    });
    assert!(outcome.arrived <= outcome.sessions.due_us.len() + 7, "one leaves, one comes");
    assert_eq!(outcome.classes[0].class, Class::CPU);
    assert!(outcome.connections >= outcome.answered(), "a user's connection ends with the user");
}

#[test]
fn users_who_are_too_many_are_turned_away_and_that_is_said() {
    let server = Server::start(|_| Answer::Silence);
    let users = Users::Open(Arrivals::Gaps(Draw::Constant(0.005)));
    let scenario = Scenario { sessions_max: 4, ..scenario(server.address, one(1), users) };
    let outcome = play_until(&scenario, |outcome| outcome.pace.turned_away >= 5);
    // Those who were due while others had the processors are neither.
    let left = outcome.pace.not_begun;
    assert_eq!(outcome.arrived, outcome.pace.turned_away + 4 + left);
    assert_eq!(outcome.cut_off, 4 + left);
    assert!(outcome.bottleneck().is_some_and(|why| why.contains("turned away")));
}

#[test]
fn users_whom_the_client_is_too_slow_to_begin_with_are_counted_and_have_waited() {
    let address = testbed::Port::kept().unwrap().for_ever();
    // Three million a second: a system call for each of them takes longer.
    let gap = Draw::Constant(1.0 / 3e6);
    let base = scenario(address, one(1), Users::Open(Arrivals::Gaps(gap)));
    let duration = Duration::from_millis(300);
    let arrived = [1, 2].map(|threads| {
        let outcome = play(&Scenario { duration, threads, ..base.clone() });
        assert!(outcome.arrived.abs_diff(900_000) < 10, "{}", outcome.arrived);
        assert_eq!(outcome.arrived, outcome.failures() + outcome.cut_off);
        assert_eq!(outcome.arrived, outcome.pages_failed + outcome.pages.cut_off);
        assert_eq!(outcome.arrived, outcome.sessions_failed + outcome.sessions.cut_off);
        assert_eq!(outcome.sessions.done, 0, "nobody got anything");
        let sum = |of: fn(&load::Slice) -> u64| outcome.slices.iter().map(of).sum::<u64>();
        assert_eq!(sum(|slice| slice.sessions), outcome.arrived);
        assert_eq!(sum(|slice| slice.cut_off), outcome.cut_off);
        let half = outcome.sessions.due_us.value_at_quantile(0.5);
        assert!((50_000..=300_000).contains(&half), "{half}");
        let left = outcome.pace.not_begun;
        assert!(left > 450_000 && left <= outcome.cut_off, "{left}");
        assert!(outcome.bottleneck().is_some_and(|why| why.contains("could not begin")));
        assert_eq!(outcome.took, duration);
        outcome.arrived
    });
    assert_eq!(arrived[0], arrived[1]);
    // Who would have come behind a stop does not come.
    let outcome = play_until(&base, |outcome| outcome.arrived > 0);
    let most = outcome.took.as_secs_f64() * 3e6 + 10.0;
    assert!(outcome.arrived as f64 <= most, "{} of {most}", outcome.arrived);
}

#[test]
fn threads_that_have_to_share_a_processor_say_that_they_waited_for_it() {
    let server = Server::start(hello);
    let (mut one_core, ours) = (CpuSet::new(), sched_getaffinity(None).unwrap());
    one_core.set((0..CpuSet::MAX_CPU).find(|core| ours.is_set(*core)).unwrap());
    // Those of the client are started by this one, and may run where it may.
    sched_setaffinity(None, &one_core).unwrap();
    let users = Users::Closed(32);
    let scenario = Scenario { threads: 4, ..scenario(server.address, one(1000), users) };
    let outcome = play_until(&scenario, |outcome| outcome.pace.waited > 0.55);
    assert!(outcome.pace.cpu < 0.9, "{:?}", outcome.pace);
    let why = outcome.bottleneck().unwrap_or_default();
    assert!(why.contains("waited for a processor"), "{why}");
}

#[test]
fn a_trace_comes_at_its_own_times_only_faster() {
    let server = Server::start(hello);
    let plan = plan(&[(1000, 0, "/a"), (1400, 1, "/b"), (1800, 0, "/c")]);
    let site = Site::Trace(plan, Some(2.0));
    let users = Users::Open(Arrivals::Logged);
    let outcome = play(&scenario(server.address, site, users));
    assert_eq!((outcome.arrived, outcome.answered(), outcome.failures()), (2, 3, 0));
    assert!(outcome.took >= Duration::from_millis(400), "800 ms, twice as fast");
    let first = outcome.sessions.due_us.max();
    assert!(first >= 399_000, "the first session lasts from its first to its last page: {first}");
    assert!(!outcome.stopped && outcome.cut_off == 0);
}

#[test]
fn a_request_that_hangs_counts_with_what_it_waited() {
    let server = Server::start(|seen| match &seen.head[..7] {
        "GET /1 " => Answer::Silence,
        _ => Answer::Send(whole("hello")),
    });
    let plan = plan(&[(0, 0, "/0"), (6000, 0, "/1"), (12_000, 0, "/2")]);
    let site = Site::Trace(plan, Some(10.0));
    let duration = Duration::from_secs(6);
    let base = scenario(server.address, site, Users::Closed(1));
    let shape = Scenario { duration, ..base };
    let outcome = play(&shape);
    assert_eq!((outcome.answered(), outcome.failures(), outcome.cut_off), (1, 0, 2));
    let longest = outcome.unanswered.as_ref().expect("one waits");
    assert_eq!(longest.target, "a.test/1");
    assert!((3_000_000..=5_410_000).contains(&longest.waited_us), "{}", longest.waited_us);
    for (timing, count) in [(&outcome.requests, 2), (&outcome.pages, 2), (&outcome.sessions, 1)] {
        assert_eq!((timing.cut_off, timing.due_us.len()), (count, timing.done + count));
        assert_eq!(timing.sent_us.len(), timing.done, "nobody knows how long it takes");
        assert!(timing.due_us.max() >= 2_500_000);
    }
    assert_eq!(outcome.slices.len(), 6, "none begins at the end");
    assert_eq!(outcome.slices[5].cut_off, 2);
    assert!((outcome.slices[5].length_s - 1.0).abs() < 1e-6);
}

#[test]
fn a_page_of_a_log_is_due_as_logged_though_the_one_before_took_longer() {
    let (gate, server) = holding("GET /0 ");
    let rows: Vec<(u32, u32, String)> =
        (0..5).map(|number| (number * 6000, 0, format!("/{number}"))).collect();
    let rows: Vec<_> = rows.iter().map(|(at, client, url)| (*at, *client, &**url)).collect();
    let site = Site::Trace(plan(&rows), Some(100.0));
    let began = Mutex::new(None);
    let stall = Duration::from_millis(600);
    let look = |_: &Outcome| {
        let mut began = began.lock().unwrap();
        if gate.waiting() > 0 && began.get_or_insert_with(Instant::now).elapsed() >= stall {
            gate.open();
        }
    };
    let base = scenario(server.address, site, Users::Open(Arrivals::Logged));
    let outcome = run(&base, look, &AtomicBool::new(false)).expect("it can be run");
    assert_eq!((outcome.answered(), outcome.failures()), (5, 0));
    // The last one was due 240 ms after the first, which took 600 ms and more.
    let least = outcome.pages.due_us.min();
    assert!(least >= 200_000, "all of them waited: {least}");
}

#[test]
fn pages_that_time_out_are_among_the_times_and_refused_sessions_were_never_sent() {
    let server = Server::start(|_| Answer::Silence);
    let base = scenario(server.address, one(1), Users::Closed(1));
    let timeout = Duration::from_millis(60);
    let outcome = play_until(&Scenario { timeout, ..base }, |outcome| outcome.failures() >= 2);
    assert!(outcome.pages.due_us.len() >= 2 && outcome.pages.done == 0);
    assert!(outcome.sessions_failed >= 2 && outcome.sessions.done == 0);
    let waited = outcome.sessions.due_us.count_between(60_000, u64::MAX);
    assert!(waited >= outcome.sessions_failed, "with what they waited");
    assert!(outcome.requests.due_us.count_between(60_000, u64::MAX) >= 2);
    let address = testbed::Port::kept().unwrap().for_ever();
    let base = scenario(address, one(1), Users::Closed(1));
    let outcome = play_until(&base, |outcome| outcome.failures() >= 2);
    assert!(outcome.sessions_failed >= 2);
    for timing in [&outcome.sessions, &outcome.pages] {
        assert!(timing.sent_us.is_empty(), "nothing was sent");
        assert_eq!((timing.done, timing.due_us.len()), (0, timing.cut_off), "nor took a time");
    }
}

#[test]
fn a_session_of_which_a_page_failed_has_failed_whatever_came_of_its_other_pages() {
    let server = Server::start(|seen| match &seen.head[..7] {
        "GET /1 " => Answer::Close(b"SSH-2.0-x\r\n\r\n".to_vec()),
        "GET /2 " => Answer::Silence,
        _ => Answer::Send(whole("hello")),
    });
    let timeout = Duration::from_secs(2);
    // Pages that fail in the beginning, in the middle and at the end; the times of those alone
    // count of which one timed out, be it before another failure or after.
    let cases: [(&[&str], u64, u64); 6] = [
        (&["/0", "/3"], 0, 1),
        (&["/1", "/0"], 1, 0),
        (&["/0", "/1", "/3"], 1, 0),
        (&["/0", "/2"], 1, 1),
        (&["/1", "/2", "/0"], 1, 1),
        (&["/2", "/1", "/0"], 1, 1),
    ];
    for (urls, failed, found) in cases {
        // So far apart that none is of another's batch.
        let rows: Vec<_> = urls.iter().zip(0..).map(|(url, at)| (at * 6000, 0, *url)).collect();
        let (site, users) = sessions(&plan(&rows));
        let outcome = play(&Scenario { timeout, ..scenario(server.address, site, users) });
        let sessions = &outcome.sessions;
        assert_eq!((outcome.sessions_failed, sessions.done), (failed, 1 - failed), "{urls:?}");
        assert_eq!((sessions.due_us.len(), sessions.sent_us.len()), (found, 1 - failed));
        assert!(failed == 0 || found == 0 || sessions.due_us.min() >= 1_990_000, "{urls:?}");
        let mut twice = outcome.clone();
        twice.merge(&outcome);
        assert_eq!(twice.sessions_failed, 2 * failed);
    }
}

#[test]
fn users_for_whom_no_connection_opens_in_time_are_among_the_times() {
    // One connection that nobody accepts fills it: the kernel drops whoever else knocks.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let _first = std::net::TcpStream::connect(address).unwrap();
    let base = scenario(address, one(1), Users::Closed(2));
    let timeout = Duration::from_millis(60);
    let outcome = play_until(&Scenario { timeout, ..base }, |outcome| outcome.failures() >= 4);
    assert_eq!((outcome.connections, outcome.answered()), (0, 0));
    let failed = only(&outcome, Cause::Timeout);
    assert!(outcome.examples[0].detail.contains("no connection in 60ms"), "{outcome:?}");
    for timing in [&outcome.requests, &outcome.pages, &outcome.classes[0].requests] {
        assert_eq!(timing.due_us.len(), failed + timing.cut_off);
        assert!(timing.due_us.count_between(60_000, u64::MAX) >= failed, "with what they waited");
    }
}

#[test]
fn no_slice_begins_at_the_end() {
    let server = Server::start(hello);
    let base = scenario(server.address, one(0), Users::Closed(1));
    let duration = Duration::from_secs(2);
    let outcome = play(&Scenario { duration, ..base });
    let lengths: Vec<f64> = outcome.slices.iter().map(|slice| slice.length_s).collect();
    assert_eq!(lengths, [1.0, 1.0]);
    assert!(outcome.slices.iter().any(|slice| slice.requests > 0), "{:?}", outcome.slices);
}

#[test]
fn a_long_body_does_not_keep_others_waiting_and_is_read_whole() {
    let body = "x".repeat(8 << 20);
    let reply = whole(&body);
    let server = Server::start(move |_| Answer::Send(reply.clone()));
    let base = scenario(server.address, one(1), Users::Closed(2));
    let outcome = play_until(&base, |outcome| outcome.answered() >= 4);
    assert_eq!(outcome.failures(), 0, "{:?}", outcome.examples);
    assert!(outcome.body_bytes >= 4 * (8 << 20));
}

#[test]
fn thinking_is_waited_for_and_slices_tell_of_each_second() {
    let server = Server::start(hello);
    let users = Users::Open(Arrivals::Steps(vec![
        (200.0, Duration::from_millis(100)),
        (0.0, Duration::ZERO),
    ]));
    let outcome = play(&scenario(server.address, visits(2.0, 1.0, 1.2), users));
    assert_eq!(outcome.failures(), 0, "{:?}", outcome.examples);
    assert!(outcome.arrived > 5);
    assert!(outcome.sessions.due_us.min() >= 1_199_000);
    assert!(outcome.pages.due_us.len() == 2 * outcome.arrived);
    let sum = |of: fn(&load::Slice) -> u64| outcome.slices.iter().map(of).sum::<u64>();
    assert!(outcome.slices.len() >= 2);
    assert_eq!(outcome.slices[1].at_s, 1.0);
    // Where others had the processors, some may begin later.
    if outcome.pace.late_us.max() < 500_000 {
        assert_eq!(outcome.slices[0].under_way, outcome.arrived, "all think");
    }
    assert_eq!(sum(|slice| slice.requests), outcome.answered());
    assert_eq!(sum(|slice| slice.sessions), outcome.arrived);
    assert_eq!(sum(|slice| slice.pages), outcome.pages.due_us.len());
    assert_eq!(sum(|slice| slice.connections), outcome.connections);
    assert_eq!(sum(|slice| slice.body_bytes), outcome.body_bytes);
    let mut twice = outcome.clone();
    twice.merge(&outcome);
    assert_eq!(twice.answered(), 2 * outcome.answered());
    assert_eq!((twice.took, twice.slices.len()), (outcome.took * 2, outcome.slices.len() * 2));
    assert!((twice.requests_s() - outcome.requests_s()).abs() < 1e-6);
}

#[test]
fn the_warm_up_is_not_measured_and_the_end_comes_in_time() {
    let server = Server::start(hello);
    let (warm_up, duration) = (Duration::from_secs(2), Duration::from_secs(2));
    let base = scenario(server.address, one(0), Users::Closed(1));
    let outcome = play(&Scenario { warm_up, duration, ..base });
    let seen = server.heads().len() as u64;
    assert!(outcome.answered() > 0 && outcome.answered() < seen, "{seen} were asked");
    assert_eq!((outcome.took, outcome.connections, outcome.arrived), (duration, 0, 0));
}

#[test]
fn paths_say_class_and_size_and_files_are_those_that_are_asked_for() {
    let file = Object { target: TargetId(0x17), bytes: 5234, class: Class::DISK, program: false };
    assert_eq!(path(&file), "/disk/bytes/5234/17");
    let program = Object { program: true, class: Class::CPU_DISK, ..file };
    assert_eq!(path(&program), "/cpu+disk/program-17?size=5234");
    let Site::Visits(visits) = visits(3.0, 5.0, 0.0) else { unreachable!("they are visits") };
    let known: BTreeMap<String, (u64, Class)> =
        files(&visits).map(|(path, bytes, class)| (path, (bytes, class))).collect();
    assert_eq!(known.len(), 1000);
    let mut visit = workload::visits::Visit::default();
    for number in 0..20 {
        visits.visit(number, &mut visit);
        for object in visit.pages().flat_map(|page| page.objects) {
            let found = known.get(&path(object));
            let expected = (!object.program).then_some((object.bytes, object.class));
            assert_eq!(found.copied(), expected);
        }
    }
}

#[test]
fn what_cannot_be_run_is_said_so() {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let failed = |scenario: &Scenario| run(scenario, |_| {}, &AtomicBool::new(false)).unwrap_err();
    let logged = scenario(address, one(1), Users::Open(Arrivals::Logged));
    assert!(matches!(failed(&logged), RunError::NoTrace));
    let ramp = Arrivals::Ramp { from_s: f64::NAN, to_s: 1.0 };
    let ramp = scenario(address, one(1), Users::Open(ramp));
    assert!(matches!(failed(&ramp), RunError::Arrivals));
    let spaced = One { host: "a".into(), path: "/a b".into(), requests: 1, class: Class::CPU };
    let spaced = scenario(address, Site::One(spaced), Users::Closed(1));
    assert!(matches!(failed(&spaced), RunError::Unsendable(_)));
}
