//! An origin told to misbehave, as the tests of the switch tell it: each fault does what its row in
//! the table says, to as many requests as was said, and nothing without leave.

use crate::support::{Client, Response, Running};
use origin::Config;
use std::time::{Duration, Instant};

fn faulty() -> Running {
    Running::start(Config { faults: true, time_scale: 0.0, ..Config::default() })
}

fn post(origin: &Running, path: &str) -> u16 {
    let mut client = origin.client();
    client.send(&format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"));
    client.response("POST").unwrap().status
}

fn ask(origin: &Running) -> (Client, Result<Response, String>) {
    let mut client = origin.client();
    client.send("GET /bytes/1000 HTTP/1.1\r\nHost: a.example\r\n\r\n");
    let answer = client.response("GET");
    (client, answer)
}

#[test]
fn without_leave_nothing_can_be_spoilt() {
    let origin = Running::start(Config { time_scale: 0.0, ..Config::default() });
    assert_eq!(post(&origin, "/.origin/fault?kind=reset"), 403);
    assert_eq!(post(&origin, "/.origin/health?state=down"), 403);
    assert_eq!((ask(&origin).1.unwrap().status, origin.get("/.origin/health").status), (200, 200));
}

#[test]
fn health_goes_down_and_up_as_told() {
    let origin = faulty();
    assert_eq!(post(&origin, "/.origin/health?state=down"), 200);
    assert_eq!(origin.get("/.origin/health").status, 503);
    assert_eq!(ask(&origin).1.unwrap().status, 200, "content is served all the same");
    assert_eq!(post(&origin, "/.origin/health?state=up"), 200);
    assert_eq!(origin.get("/.origin/health").status, 200);
    assert_eq!(post(&origin, "/.origin/health?state=sideways"), 400);
}

#[test]
fn each_fault_spoils_as_many_requests_as_was_said() {
    let cases = [
        ("kind=reset&count=2", "reset by peer"),
        ("kind=close&count=2", "closed after 0 bytes"),
        ("kind=bad-head&count=2", "no status line: HTPP/9 yes"),
        ("kind=truncate&count=2", "closed after 500 bytes"),
    ];
    for (fault, outcome) in cases {
        let origin = faulty();
        assert_eq!(post(&origin, &format!("/.origin/fault?{fault}")), 200);
        for _ in 0..2 {
            let error = ask(&origin).1.unwrap_err();
            assert!(error.contains(outcome), "{fault}: {error}");
        }
        assert_eq!(ask(&origin).1.unwrap().body.len(), 1000, "{fault} is over");
    }
}

#[test]
fn a_status_is_answered_and_the_connection_lives_on() {
    let origin = faulty();
    assert_eq!(post(&origin, "/.origin/fault?kind=status&code=503"), 200);
    let (mut client, answer) = ask(&origin);
    assert_eq!(answer.unwrap().status, 503);
    assert_eq!(client.get("/bytes/5").body.len(), 5);
}

#[test]
fn a_delay_holds_one_request_back_and_no_other() {
    let origin = faulty();
    assert_eq!(post(&origin, "/.origin/fault?kind=delay&ms=3000"), 200);
    let mut delayed = origin.client();
    let start = Instant::now();
    delayed.send("GET /bytes/1000 HTTP/1.1\r\nHost: a.example\r\n\r\n");
    // The delayed one took the fault first, or this one has it: tell them apart by the order.
    origin.wait("two connections", |status| status["accepted"].as_u64() >= Some(2));
    assert_eq!(origin.get("/.origin/health").status, 200);
    assert!(start.elapsed() < Duration::from_secs(3), "others are answered meanwhile");
    assert_eq!(delayed.response("GET").unwrap().body.len(), 1000);
    // The origin's clock may be that of the turn's beginning.
    assert!(start.elapsed() >= Duration::from_millis(2900));
}
