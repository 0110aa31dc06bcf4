//! Method: a supervisor with a fake switch and real little servers whose answer a test can turn;
//! what counts is what the switch was told, in order.

// A panic is how a test says no.
#![allow(clippy::unwrap_used)]

mod fake;

use control::view::ServerState;
use control::{Check, EjectionRule, HealthRule, Probe, Refusal, ServerSpec, Supervisor};
use fake::{Fake, until};
use policy::{State, WARM};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that passes its checks while the switch is on.
async fn server() -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let well = Arc::new(AtomicBool::new(true));
    let answers = well.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let status = if answers.load(Ordering::Relaxed) { "200 OK" } else { "500 Oops" };
            let _ = stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await;
        }
    });
    (address, well)
}

fn spec(name: &str) -> ServerSpec {
    ServerSpec {
        name: name.to_owned(),
        address: "127.0.0.1:1".to_owned(),
        check: None,
        ejection: EjectionRule {
            failures: 3,
            span: Duration::from_millis(200),
            ..EjectionRule::default()
        },
        slow_start: Duration::ZERO,
    }
}

fn checked(name: &str, address: &str) -> ServerSpec {
    let check = Check {
        probe: Probe::http("/"),
        interval: Duration::from_millis(10),
        time_max: fake::LIMIT,
        rule: HealthRule { rise: 2, fall: 2 },
    };
    ServerSpec { address: address.to_owned(), check: Some(check), ..spec(name) }
}

type Lines = Arc<Mutex<Vec<String>>>;

/// A supervisor whose log is kept.
fn supervisor(names: &[&str]) -> (Arc<Fake>, Arc<Supervisor>, Lines) {
    let switch = Arc::new(Fake::new(names));
    let lines = Lines::default();
    let kept = lines.clone();
    let log = Box::new(move |line: &str| kept.lock().unwrap().push(line.to_owned()));
    (switch.clone(), Supervisor::with_log(switch, log), lines)
}

fn run(supervisor: &Arc<Supervisor>) {
    let supervisor = supervisor.clone();
    tokio::spawn(async move { supervisor.run().await });
}

#[tokio::test]
async fn a_server_that_fails_its_checks_goes_down_with_the_reason_and_comes_back() {
    let (address, well) = server().await;
    let (switch, supervisor, lines) = supervisor(&["a"]);
    supervisor.apply(vec![checked("a", &address)]);
    run(&supervisor);
    until("the first check has passed", || {
        supervisor.reports()[0].standing.why == "answered status 200"
    })
    .await;
    assert!(supervisor.ready().is_ok());

    well.store(false, Ordering::Relaxed);
    until("it is down", || switch.states("a") == [State::Up, State::Down]).await;
    let standing = supervisor.reports()[0].standing.clone();
    assert_eq!(standing.state, ServerState::Down);
    assert_eq!(standing.why, "answered status 500 instead of 200-399");
    assert!(!standing.check.unwrap().passed);
    assert_eq!(supervisor.ready().unwrap_err().0, "no server is up");

    well.store(true, Ordering::Relaxed);
    until("it is up again", || switch.states("a") == [State::Up, State::Down, State::Up]).await;
    let event = &supervisor.events(1)[0];
    assert_eq!((event.from.as_deref(), event.to.as_deref()), (Some("down"), Some("up")));
    assert_eq!(
        lines.lock().unwrap()[1..],
        [
            "server a: up -> down: answered status 500 instead of 200-399",
            "server a: down -> up: answered status 200",
        ]
    );
}

#[tokio::test]
async fn failed_requests_in_a_row_eject_a_server_for_a_while() {
    let (switch, supervisor, _) = supervisor(&["a", "b"]);
    supervisor.apply(vec![spec("a"), spec("b")]);
    run(&supervisor);
    let feed = supervisor.feed("a").unwrap();
    // A success in between begins the count anew.
    (0..2).for_each(|_| feed.failure());
    feed.success();
    (0..2).for_each(|_| feed.failure());
    assert_eq!(switch.states("a"), [State::Up]);
    feed.failure();
    until("it is ejected", || switch.states("a").contains(&State::Ejected)).await;
    let why = supervisor.reports()[0].standing.why.clone();
    assert_eq!(why, "3 requests in a row failed; left alone for 200ms");

    // The other one is the last that is left: it stays, however it fails.
    let feed = supervisor.feed("b").unwrap();
    (0..30).for_each(|_| feed.failure());
    until("it is back", || switch.states("a").last() == Some(&State::Up)).await;
    let told = switch.told.lock().unwrap();
    let when = |name: &str, state| {
        told.iter().rposition(|told| *told == fake::Told::State(name.to_owned(), state))
    };
    let back = when("a", State::Up).unwrap();
    assert!(when("b", State::Ejected).is_none_or(|ejected| ejected > back), "{told:?}");
}

#[tokio::test]
async fn the_last_server_is_never_ejected() {
    let (switch, supervisor, _) = supervisor(&["a", "b", "c"]);
    supervisor.apply(vec![spec("a"), spec("b"), checked("c", "127.0.0.1:1")]);
    supervisor.drain("b", true).unwrap();
    run(&supervisor);
    until("c is down", || switch.states("c").last() == Some(&State::Down)).await;
    let feed = supervisor.feed("a").unwrap();
    (0..9).for_each(|_| feed.failure());
    // Each probe of c that ends is a round in which a could have been ejected.
    let probed_at = || supervisor.reports()[2].standing.check.clone().unwrap().at_unix_ms;
    let before = probed_at();
    until("some rounds have passed", || probed_at() > before + 50).await;
    assert_eq!(switch.states("a"), [State::Up]);
}

#[tokio::test]
async fn a_drain_survives_a_reload_and_ends_when_the_operator_says_so() {
    let (switch, supervisor, lines) = supervisor(&["a", "b"]);
    supervisor.apply(vec![spec("a"), spec("b")]);
    assert!(!supervisor.drain("a", true).unwrap());
    assert!(supervisor.drain("a", true).unwrap(), "it drained before");
    supervisor.apply(vec![spec("a"), spec("b")]);
    assert_eq!(switch.states("a"), [State::Up, State::Draining]);
    supervisor.drain("a", false).unwrap();
    assert_eq!(switch.states("a"), [State::Up, State::Draining, State::Up]);
    let lines = lines.lock().unwrap();
    assert!(lines.contains(&"server a: up -> draining: the operator drains it".to_owned()));
    assert!(lines.contains(&"server a: draining -> up: the operator ended the drain".to_owned()));
    let refused = supervisor.drain("c", true).unwrap_err();
    let said = "no server is called 'c'; there are: a, b".to_owned();
    assert_eq!(refused, Refusal::Unknown(said));
}

#[tokio::test]
async fn a_server_that_joins_a_running_switch_warms_up_step_by_step() {
    let (switch, supervisor, _) = supervisor(&["a", "b"]);
    let slow = |name| ServerSpec { slow_start: Duration::from_millis(600), ..spec(name) };
    supervisor.apply(vec![slow("a")]);
    run(&supervisor);
    supervisor.apply(vec![slow("a"), slow("b")]);
    until("it is warm", || switch.warmths("b").last() == Some(&WARM)).await;
    let warmths = switch.warmths("b");
    assert!(warmths[0] < WARM / 4, "{warmths:?}");
    assert!(warmths.is_sorted(), "{warmths:?}");
    assert!(warmths.len() >= 3, "{warmths:?}");
    assert!(switch.warmths("a").iter().all(|warmth| *warmth == WARM), "the first were warm");
}

#[tokio::test]
async fn a_reload_keeps_what_is_known_and_forgets_who_is_gone() {
    let (address, well) = server().await;
    well.store(false, Ordering::Relaxed);
    let (switch, supervisor, _) = supervisor(&["a", "b"]);
    supervisor.apply(vec![checked("a", &address), spec("b")]);
    run(&supervisor);
    until("it is down", || switch.states("a").last() == Some(&State::Down)).await;
    let feed = supervisor.feed("a").unwrap();
    switch.told.lock().unwrap().clear();
    supervisor.apply(vec![checked("a", &address)]);
    assert_eq!(switch.states("a"), [State::Down], "told again, for the books may be new");
    assert_eq!(supervisor.reports()[1].standing.state, ServerState::Left);
    assert!(supervisor.feed("b").is_none());

    // Another address makes the old verdict worthless; the first verdict of the new one decides.
    let (other, _well) = server().await;
    let mut moved = checked("a", &other);
    moved.check.as_mut().unwrap().rule.rise = u32::MAX;
    supervisor.apply(vec![moved.clone()]);
    until("it is well", || supervisor.reports()[0].standing.why == "answered status 200").await;
    assert_eq!(switch.states("a"), [State::Down, State::Up]);
    // The feed that a worker holds is still heard.
    supervisor.apply(vec![moved, spec("b")]);
    (0..3).for_each(|_| feed.failure());
    until("it is ejected", || switch.states("a").contains(&State::Ejected)).await;
}

#[tokio::test]
async fn servers_are_not_probed_in_lockstep() {
    // Servers that note when they are asked; their clocks start together.
    let asked: Arc<Mutex<Vec<(usize, tokio::time::Instant)>>> = Arc::default();
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut specs = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut spec = checked(name, &listener.local_addr().unwrap().to_string());
        spec.check.as_mut().unwrap().interval = Duration::from_millis(200);
        spec.check.as_mut().unwrap().probe = Probe::Tcp;
        specs.push(spec);
        let asked = asked.clone();
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                asked.lock().unwrap().push((index, tokio::time::Instant::now()));
            }
        });
    }
    let (_switch, supervisor, _) = supervisor(&names);
    supervisor.apply(specs);
    run(&supervisor);
    until("each was asked five times", || {
        let asked = asked.lock().unwrap();
        (0..names.len()).all(|index| asked.iter().filter(|(i, _)| *i == index).count() >= 5)
    })
    .await;
    let asked = asked.lock().unwrap();
    let time = |index, round| asked.iter().filter(|(i, _)| *i == index).nth(round).unwrap().1;
    let spread = |round| {
        let times: Vec<_> = (0..names.len()).map(|index| time(index, round)).collect();
        *times.iter().max().unwrap() - *times.iter().min().unwrap()
    };
    // Six uniform phases of 200 ms lie within 5 ms once in about ten million runs. Where others
    // have the processors, those of a round may be noted together or torn apart, but not those of
    // three.
    let mut spreads: Vec<_> = (1..5).map(spread).collect();
    spreads.sort_unstable();
    assert!(spreads[2] > Duration::from_millis(5), "{spreads:?}");
}

#[tokio::test]
async fn a_switch_that_stops_is_not_ready() {
    let (switch, supervisor, _) = supervisor(&["a"]);
    assert!(supervisor.ready().is_err(), "no server is looked after yet");
    supervisor.apply(vec![spec("a")]);
    assert!(supervisor.ready().is_ok());
    switch.status.lock().unwrap().listeners.clear();
    assert_eq!(supervisor.ready().unwrap_err().0, "the switch does not listen yet");
    supervisor.stopping();
    assert_eq!(supervisor.ready().unwrap_err().0, "the switch is stopping");
}

#[test]
fn the_ring_of_events_is_bounded_and_counts_what_it_forgot() {
    let (_, supervisor, _) = supervisor(&[]);
    for _ in 0..control::EVENTS_MAX + 10 {
        supervisor.note(control::Event::default());
    }
    let events = supervisor.events(usize::MAX);
    assert_eq!(events.len(), control::EVENTS_MAX);
    assert_eq!(events[0].serial as usize, control::EVENTS_MAX + 10);
    assert_eq!(events.last().unwrap().serial, 11);
}

#[tokio::test]
async fn a_log_that_panics_or_asks_back_stops_no_health_check() {
    let (address, _) = server().await;
    let own: Arc<Mutex<Option<Arc<Supervisor>>>> = Arc::default();
    let asked = own.clone();
    let log = move |line: &str| {
        let supervisor = asked.lock().unwrap().clone();
        // Deadlocks if a lock is held while the log is written.
        assert!(supervisor.is_none_or(|own| own.events(1).len() == 1));
        assert!(!line.contains("odd"), "this logger fails");
    };
    let switch = Arc::new(Fake::new(&["a"]));
    let supervisor = Supervisor::with_log(switch.clone(), Box::new(log));
    *own.lock().unwrap() = Some(supervisor.clone());
    let noting = supervisor.clone();
    let odd = control::Event { message: "odd".to_owned(), ..control::Event::default() };
    assert!(std::thread::spawn(move || noting.note(odd)).join().is_err());
    assert_eq!(supervisor.events(1)[0].message, "odd");
    supervisor.apply(vec![checked("a", &address)]);
    run(&supervisor);
    until("it was checked", || supervisor.reports()[0].standing.check.is_some()).await;
    *own.lock().unwrap() = None;
}
