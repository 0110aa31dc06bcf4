//! Method: the pure parts over random sequences, against the plainest statement of their rule;
//! probes against real little servers on 127.0.0.1.

// A panic is how a test says no.
#![allow(clippy::unwrap_used)]

mod fake;

use control::health::{Health, Turn};
use control::{Ejection, EjectionRule, HealthRule, Probe, slow_start};
use policy::{Instant, WARM};
use proptest::prelude::*;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

proptest! {
    /// The rule in its plainest form: look back over the verdicts since the last change.
    #[test]
    fn health_changes_exactly_after_so_many_verdicts_in_a_row(
        verdicts in proptest::collection::vec(any::<bool>(), 1..200),
        rise in 1u32..5,
        fall in 1u32..5,
    ) {
        let rule = HealthRule { rise, fall };
        let mut health = Health::unknown(Instant::ZERO);
        let mut passing = verdicts[0];
        let mut since_change = 0;
        for (index, verdict) in verdicts.iter().enumerate() {
            let now = Instant(index as u64 + 1);
            let why = format!("check {index}");
            let turn = health.observe(if *verdict { Ok(&why) } else { Err(&why) }, rule, now);
            let needed = if passing { fall } else { rise } as usize;
            let tail = &verdicts[since_change..=index];
            let turned = tail.len() >= needed
                && tail[tail.len() - needed..].iter().all(|verdict| *verdict != passing);
            if index > 0 && turned {
                passing = !passing;
                prop_assert_eq!(turn, Some(if passing { Turn::Up } else { Turn::Down }));
                prop_assert_eq!(health.why(), &why);
                prop_assert_eq!(health.since(), now);
                since_change = index + 1;
            } else {
                let first_down = (index == 0 && !verdict).then_some(Turn::Down);
                prop_assert_eq!(turn, first_down);
                since_change = since_change.max(usize::from(index == 0));
            }
            prop_assert_eq!(health.passing(), passing);
        }
    }

    #[test]
    fn warmth_rises_from_its_floor_to_full_and_never_falls(
        span_ms in 0u64..100_000,
        steps in proptest::collection::vec(0u64..1_000, 0..100),
    ) {
        let span = Duration::from_millis(span_ms);
        let (mut elapsed, mut before) = (Duration::ZERO, 0);
        for step in steps {
            elapsed += Duration::from_millis(step);
            let warmth = slow_start::warmth(elapsed, span);
            prop_assert!(warmth >= before);
            prop_assert!((slow_start::WARMTH_MIN..=WARM).contains(&warmth));
            prop_assert_eq!(warmth == WARM, elapsed >= span, "{:?} of {:?}", elapsed, span);
            before = warmth;
        }
        prop_assert_eq!(slow_start::warmth(span, span), WARM);
    }

    #[test]
    fn ejections_never_take_the_last_server_nor_more_than_their_share(
        servers in 0usize..50,
        share_max in 0.0f64..=1.0,
    ) {
        let rule = EjectionRule { share_max, ..EjectionRule::default() };
        let ejected = (0..=servers).find(|ejected| !rule.allows(*ejected, servers));
        let ejected = ejected.expect("not even a share of one takes all");
        prop_assert!(ejected == 0 || ejected < servers);
        prop_assert!(ejected as f64 <= (share_max * servers as f64).max(1.0));
    }
}

#[test]
fn a_server_in_the_middle_of_its_slow_start_has_the_middle_share() {
    let half = slow_start::warmth(Duration::from_secs(5), Duration::from_secs(10));
    assert_eq!(half, (WARM - slow_start::WARMTH_MIN) / 2 + slow_start::WARMTH_MIN);
}

#[test]
fn ejections_double_up_to_a_cap_and_are_forgiven_in_quiet_times() {
    let secs = Duration::from_secs;
    let rule = EjectionRule { span: secs(30), span_max: secs(100), ..EjectionRule::default() };
    let (mut ejection, mut now) = (Ejection::default(), Instant::ZERO);
    let mut spans = Vec::new();
    for _ in 0..5 {
        let span = ejection.eject(&rule, now);
        spans.push(span.as_secs());
        assert!(!ejection.returns(Instant(now.plus(span).0 - 1)), "one nanosecond early");
        now = now.plus(span);
        assert!(ejection.returns(now) && !ejection.returns(now), "back once");
    }
    assert_eq!(spans, [30, 60, 100, 100, 100]);
    // Three of the five strikes are forgiven after three quiet spans, more than all later.
    assert_eq!(ejection.eject(&rule, now.plus(secs(100))), secs(100));
    assert!(ejection.returns(now.plus(secs(200))));
    assert_eq!(ejection.eject(&rule, now.plus(secs(10_000))), secs(30));
}

#[test]
fn a_very_long_row_of_ejections_stays_at_the_cap() {
    let rule = EjectionRule::default();
    let (mut ejection, mut now) = (Ejection::default(), Instant::ZERO);
    for _ in 0..100 {
        let span = ejection.eject(&rule, now);
        assert!(span <= rule.span_max);
        now = now.plus(span);
        ejection.returns(now);
    }
    assert_eq!(ejection.eject(&rule, now), rule.span_max);
}

/// A server that greets each client with `greeting`, reads its request and answers `answer`.
async fn server(greeting: &'static str, answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let _ = stream.write_all(greeting.as_bytes()).await;
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                assert!(request.starts_with(b"GET /up?x=1 HTTP/1.1\r\nHost: 127.0.0.1:"));
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    address
}

/// An address on which nothing listens: a port the kernel gave and took back.
fn nobody() -> String {
    testbed::Port::kept().unwrap().for_ever().to_string()
}

#[tokio::test]
async fn each_kind_of_trouble_is_told_in_a_sentence() {
    // Listens, but nobody accepts: the kernel completes the handshake and all is silence.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cases = [
        (server("", "HTTP/1.1 200 OK\r\n\r\n").await, Ok("answered status 200")),
        (server("", "HTTP/1.0 302 Found\r\n\r\n").await, Ok("answered status 302")),
        (
            server("", "HTTP/1.1 500 Oops\r\n\r\n").await,
            Err("answered status 500 instead of 200-399"),
        ),
        (
            server("SSH-2.0-OpenSSH_9.2\r\n", "").await,
            Err("answered 'SSH-2.0-OpenSSH_9.2' instead of HTTP"),
        ),
        (server("hello?", "").await, Err("answered 'hello?' instead of HTTP")),
        (server("", "").await, Err("closed the connection without an answer")),
        (nobody(), Err("refused the connection: nothing listens on its port")),
        (
            silent.local_addr().unwrap().to_string(),
            Err("accepted the connection but did not answer within 300ms"),
        ),
    ];
    let probe = Probe::http("/up?x=1");
    for (address, expected) in cases {
        let limit = match expected {
            Err(sentence) if sentence.contains("300ms") => Duration::from_millis(300),
            _ => fake::LIMIT,
        };
        let found = probe.ask(&address, limit).await.map_err(|fault| fault.to_string());
        let found = found.as_deref().map_err(String::as_str);
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn a_tcp_check_asks_for_a_connection_only() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    assert!(Probe::Tcp.ask(&address, fake::LIMIT).await.is_ok());
    assert!(Probe::Tcp.ask(&nobody(), fake::LIMIT).await.is_err());
}

#[tokio::test]
async fn the_host_field_and_the_expected_statuses_are_as_configured() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let probe = Probe::Http { path: "/".into(), host: Some("shop".into()), expect: 401..=401 };
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        stream.write_all(b"HTTP/1.1 401 Who\r\n\r\n").await.unwrap();
        String::from_utf8(request[..length].to_vec()).unwrap()
    };
    let (found, request) = tokio::join!(probe.ask(&address, fake::LIMIT), serve);
    assert_eq!(found.unwrap(), "answered status 401");
    assert!(request.contains("\r\nHost: shop\r\n"), "{request}");
}
