//! Method: scenarios run for some hundred milliseconds against a server on 127.0.0.1 that behaves
//! as the test tells it to; what the server saw and what the outcome says must agree. Where times
//! are compared, one is longer than the other by construction, however busy the machine.

mod server;

use load::{
    Arrivals, Cause, Content, Manner, One, Outcome, RunError, Scenario, Site, Users, files, path,
    run,
};
use policy::{Class, TargetId};
use server::{Answer, Seen, Server, whole};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use workload::draw::Draw;
use workload::visits::{
    Answer as Kind, Mix, Object, PUBLISHING_STATIC, Service, Site as Of, Visits,
};
use workload::{Builder, Clock, Pick, Plan, Shape, format, read};

/// Longer than any test should take.
const LONG: Duration = Duration::from_secs(30);

/// Users of so many pages, each with `embedded` objects of five bytes.
fn visits(pages: f64, embedded: f64, think_s: f64) -> Site {
    let part = [(1.0, Kind { class: Class::STATIC, program: false })];
    let html = Kind { class: Class::LIGHT, program: true };
    let services = [Service { share: 1.0, html, secure: false, embedded: &part }];
    let mix = Mix {
        pages: Draw::Constant(pages),
        think_s: Draw::Constant(think_s),
        objects: Draw::Constant(embedded),
        objects_with_html: false,
        html_bytes: Draw::Constant(5.0),
        embedded_bytes: Draw::Constant(5.0),
        services: &services,
        site: Of { documents: 10, objects: 1000, programs: 3, exponent: 0.5 },
        ..PUBLISHING_STATIC
    };
    Site::Visits(Arc::new(Visits::new(&mix, 1)))
}

fn one(requests: u64) -> Site {
    Site::One(One { host: "a.test".into(), path: "/x".into(), requests, class: Class::CPU })
}

/// Everything is measured, from the beginning on.
fn scenario(address: SocketAddr, site: Site, users: Users) -> Scenario {
    let (warm_up, duration) = (Duration::ZERO, LONG);
    Scenario { warm_up, duration, ..Scenario::new(address, site, users) }
}

/// So many sessions at once, and no more: steps that end.
fn sessions(plan: &Arc<Plan>) -> (Site, Users) {
    (Site::Trace(Arc::clone(plan), None), Users::Closed(1))
}

fn play(scenario: &Scenario) -> Outcome {
    run(scenario, |_| {}, &AtomicBool::new(false)).expect("the scenario can be run")
}

/// Runs until the server, or whoever else, says that it is enough.
fn play_until(scenario: &Scenario, enough: impl Fn(&Outcome) -> bool) -> Outcome {
    let stop = AtomicBool::new(false);
    let mut last = 0;
    let look = |outcome: &Outcome| {
        assert!(outcome.answered() >= last, "figures only grow");
        last = outcome.answered();
        if enough(outcome) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = run(scenario, look, &stop).expect("the scenario can be run");
    assert!(outcome.stopped, "{outcome:?}");
    outcome
}

/// A plan of `(millisecond, client, url)`, five bytes each.
fn plan(rows: &[(u32, u32, &str)]) -> Arc<Plan> {
    let mut text =
        String::from("#baton-trace/1\tat_ms\tclient\tmethod\tstatus\tbytes\tsite\tsize\turl\n");
    for (at_ms, client, url) in rows {
        text += &format!("{at_ms}\t{client}\tGET\t200\t0\ta.test\t5\t{url}\n");
    }
    let mut builder = Builder::new(Clock::Kept);
    let own = format("baton").expect("it is in the list");
    read(own, text.as_bytes(), |record| builder.push("", record).expect("it is far from full"))
        .expect("reading from memory cannot fail");
    Arc::new(Plan::new(builder.finish(), Pick::All, Shape::default()))
}

fn hello(_: &Seen) -> Answer {
    Answer::Send(whole("hello"))
}

/// The only cause of failure, and how often it was.
fn only(outcome: &Outcome, cause: Cause) -> u64 {
    let count = outcome.failed[cause.index()];
    assert_eq!(outcome.failures(), count, "{:?}", outcome.examples);
    count
}

/// A gate that holds whoever passes until it is opened.
#[derive(Default)]
struct Gate(Mutex<(bool, usize)>, Condvar);

impl Gate {
    fn pass(&self) {
        let mut state = self.0.lock().unwrap();
        state.1 += 1;
        self.1.notify_all();
        let (state, waited) = self.1.wait_timeout_while(state, LONG, |state| !state.0).unwrap();
        drop(state);
        assert!(!waited.timed_out(), "somebody opens the gate");
    }

    fn open(&self) {
        self.0.lock().unwrap().0 = true;
        self.1.notify_all();
    }

    fn waiting(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

#[test]
fn a_page_is_its_html_and_then_its_objects_on_parallel_connections() {
    // The objects are answered when six of them have come together.
    let gate = Arc::new(Gate::default());
    let (doors, html) = (Arc::clone(&gate), AtomicBool::new(false));
    let server = Server::start(move |seen| {
        if seen.head.starts_with("GET /light/") {
            html.store(true, Ordering::SeqCst);
        } else {
            assert!(html.load(Ordering::SeqCst), "the HTML names the objects");
            if doors.waiting() == 5 {
                doors.open();
            }
            doors.pass();
        }
        Answer::Send(whole("hello"))
    });
    let scenario = scenario(server.address, visits(1.0, 9.0, 0.0), Users::Closed(1));
    let outcome = play_until(&scenario, |outcome| outcome.pages.due_us.len() >= 1);
    assert!(gate.waiting() >= 6);
    assert_eq!(outcome.failures(), 0, "{:?}", outcome.examples);
    let first: Vec<_> = server.heads().into_iter().filter(|seen| seen.connection < 6).collect();
    let connections: BTreeSet<_> = first.iter().map(|seen| seen.connection).collect();
    assert_eq!(connections.len(), 6, "one for the HTML, five more for what is in it");
    let host = format!(" HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    assert!(first[0].head.ends_with(&host), "{}", first[0].head);
    let light = outcome.classes.iter().find(|class| class.class == Class::LIGHT).unwrap();
    assert_eq!(light.pages.due_us.len(), outcome.pages.due_us.len(), "by the class of the HTML");
}

#[test]
fn pipelined_objects_go_out_together_on_one_connection() {
    // Nothing is answered before all nine objects have come.
    let server = Server::start(|seen| match seen.place % 10 {
        0 => Answer::Send(whole("hello")),
        1..=8 => Answer::Silence,
        _ => Answer::Send(whole("hello").repeat(9)),
    });
    let manner = Manner::Pipelined;
    let scenario = scenario(server.address, visits(2.0, 9.0, 0.0), Users::Closed(1));
    let outcome = play_until(&Scenario { manner, ..scenario }, |outcome| outcome.answered() >= 20);
    assert_eq!(outcome.failures(), 0, "{:?}", outcome.examples);
    let first = server.heads().iter().filter(|seen| seen.connection == 0).count();
    assert_eq!(first, 20, "it persists across the pages of a session, and ends with it");
}

#[test]
fn closing_opens_a_connection_for_each_request() {
    let server = Server::start(|_| Answer::Close(b"HTTP/1.0 200 OK\r\n\r\nhello".to_vec()));
    let scenario = scenario(server.address, visits(1.0, 4.0, 0.0), Users::Closed(1));
    let manner = Manner::Closing(2);
    let outcome = play_until(&Scenario { manner, ..scenario }, |outcome| outcome.answered() >= 10);
    assert_eq!((outcome.failures(), outcome.resent), (0, 0), "{:?}", outcome.examples);
    let heads = server.heads();
    assert!(heads.iter().all(|seen| seen.place == 0 && seen.head.contains(" HTTP/1.0\r\n")));
    assert!(outcome.connections >= outcome.answered());
    assert_eq!(outcome.body_bytes, outcome.answered() * 5);
}

#[test]
fn a_stalled_server_shows_in_times_since_due_and_hides_in_times_since_sent() {
    // One connection for all: while the first reply is held back, the others cannot be sent.
    let gate = Arc::new(Gate::default());
    let doors = Arc::clone(&gate);
    let server = Server::start(move |seen| {
        if seen.head.starts_with("GET /0 ") {
            doors.pass();
        }
        Answer::Send(whole("hello"))
    });
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
fn each_kind_of_bad_reply_is_its_own_cause() {
    type Bad = (Cause, fn() -> Answer);
    let cases: [Bad; 8] = [
        (Cause::ShortBody, || {
            Answer::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel".to_vec())
        }),
        (Cause::Size, || Answer::Send(whole("hell"))),
        (Cause::Content, || Answer::Send(whole("hexlo"))),
        (Cause::LongBody, || {
            Answer::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!".to_vec())
        }),
        (Cause::Status, || {
            Answer::Send(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec())
        }),
        (Cause::Malformed, || Answer::Close(b"SSH-2.0-x\r\n\r\n".to_vec())),
        (Cause::Reset, || Answer::Close(b"HTTP/1.1 200 OK\r\nCont".to_vec())),
        (Cause::Timeout, || Answer::Silence),
    ];
    let rows = [(0, 0, "/0"), (1, 0, "/1"), (1, 0, "/2"), (1, 0, "/3")];
    let plan = plan(&rows);
    for (cause, bad) in cases {
        for manner in [Manner::Parallel(2), Manner::Pipelined, Manner::Closing(3)] {
            if manner == Manner::Pipelined && matches!(cause, Cause::LongBody | Cause::Timeout) {
                // A surplus byte within a pipeline belongs to the next reply, and spoils it; a
                // reply that is left out is taken for the next one.
                continue;
            }
            let server = Server::start(move |seen| match &seen.head[..7] {
                "GET /1 " => bad(),
                _ => Answer::Send(whole("hello")),
            });
            let (site, users) = sessions(&plan);
            let content = Content::new(|site, url, offset, bytes| {
                assert!(site == "a.test" && url.starts_with('/'));
                b"hello"[offset as usize..].starts_with(bytes)
            });
            let outcome = play(&Scenario {
                manner,
                content: Some(content),
                timeout: Duration::from_millis(if cause == Cause::Timeout { 80 } else { 20_000 }),
                ..scenario(server.address, site, users)
            });
            assert_eq!(only(&outcome, cause), 1, "{cause} {manner:?}");
            assert_eq!((outcome.answered(), outcome.pages_failed), (3, 1), "{cause} {manner:?}");
            assert_eq!(outcome.examples[0].target, "a.test/1");
        }
    }
}

#[test]
fn a_refused_connection_is_counted_and_does_not_spin() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let outcome =
        play_until(&scenario(address, one(1), Users::Closed(2)), |outcome| outcome.failures() >= 4);
    assert!(only(&outcome, Cause::Connect) >= 4);
    let most = 2.0 * (outcome.took.as_secs_f64() / 0.01 + 2.0);
    assert!(outcome.failures() as f64 <= most, "{} in {:?}", outcome.failures(), outcome.took);
    assert_eq!(outcome.connections, 0);
}

#[test]
fn an_idle_connection_that_the_server_closed_is_no_failure() {
    let server = Server::start(|_| Answer::Close(whole("hello")));
    let rows = [(0, 0, "/0"), (1, 0, "/1"), (1, 0, "/2"), (1, 0, "/3")];
    for manner in [Manner::Parallel(1), Manner::Parallel(4), Manner::Pipelined] {
        let (site, users) = sessions(&plan(&rows));
        let outcome = play(&Scenario { manner, ..scenario(server.address, site, users) });
        assert_eq!((outcome.answered(), outcome.failures()), (4, 0), "{:?}", outcome.examples);
        assert_eq!(outcome.connections, 4, "{manner:?}");
    }
}

#[test]
fn a_closed_loop_keeps_so_many_users() {
    let gate = Arc::new(Gate::default());
    let doors = Arc::clone(&gate);
    let server = Server::start(move |_| {
        doors.pass();
        Answer::Send(whole("hello"))
    });
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
fn a_session_without_end_keeps_its_connection() {
    let server = Server::start(hello);
    let outcome = play_until(&scenario(server.address, one(0), Users::Closed(3)), |outcome| {
        outcome.answered() >= 100
    });
    assert_eq!((outcome.connections, outcome.arrived, outcome.failures()), (3, 3, 0));
    assert!(outcome.requests_s() > 0.0 && outcome.cut_off <= 3);
}

#[test]
fn users_who_are_too_many_are_turned_away_and_that_is_said() {
    let server = Server::start(|_| Answer::Silence);
    let users = Users::Open(Arrivals::Gaps(Draw::Constant(0.005)));
    let scenario = Scenario { sessions_max: 4, ..scenario(server.address, one(1), users) };
    let outcome = play_until(&scenario, |outcome| outcome.pace.turned_away >= 5);
    assert_eq!(outcome.arrived, outcome.pace.turned_away + 4);
    assert_eq!(outcome.cut_off, 4);
    assert!(outcome.bottleneck().is_some_and(|why| why.contains("turned away")));
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
    assert_eq!(outcome.slices[0].under_way, outcome.arrived, "all think");
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
    let (warm_up, duration) = (Duration::from_millis(300), Duration::from_millis(200));
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
