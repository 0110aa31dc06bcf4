//! An origin over real sockets: what a client sees of its HTTP. Every origin listens on a port from
//! the kernel and is shut down at the end of its test.

use crate::support::{Client, LIMIT, Running};
use origin::{Config, Origin, content};
use policy::TargetId;
use std::io::Read;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Answers at once: for tests of HTTP alone.
fn instantly() -> Config {
    Config { time_scale: 0.0, ..Config::default() }
}

fn target(path: &str) -> TargetId {
    content::target(Some("a.example"), path)
}

#[test]
fn every_byte_is_what_the_content_function_says() {
    let origin = Running::start(instantly());
    let mut client = origin.client();
    for bytes in [0u64, 1, 1500, 45_056, 45_057, 300_000, 3_000_000] {
        for path in [format!("/bytes/{bytes}/x"), format!("/bytes/{bytes}/x?chunked")] {
            let response = client.get(&path);
            assert_eq!((response.status, response.body.len() as u64), (200, bytes), "{path}");
            assert!(content::verify(target(&path), 0, &response.body), "{path}");
            assert_eq!(response.field("transfer-encoding").is_some(), path.ends_with("chunked"));
        }
    }
    assert_eq!(client.get("/?size=77").body.len(), 77);
    assert_eq!(client.get("/drawn").body, client.get("/drawn").body);
    assert_eq!(client.get("/bytes/99999999999").status, 400);
}

#[test]
fn a_head_request_gets_the_head_that_a_get_would() {
    let origin = Running::start(instantly());
    let mut client = origin.client();
    client.send("HEAD /bytes/5000/x HTTP/1.1\r\nHost: a.example\r\n\r\n");
    let head = client.response("HEAD").unwrap();
    assert_eq!((head.status, head.field("content-length")), (200, Some("5000")));
    assert_eq!(client.get("/bytes/10").body.len(), 10, "no content came in between");
    assert_eq!(origin.status()["disk"]["reads"], 1, "only the GET was read from the disk");
}

#[test]
fn http_1_0_closes_unless_asked_to_stay_and_1_1_stays_unless_asked_to_close() {
    let origin = Running::start(instantly());
    for (version, connection, stays) in [
        ("1.0", "", false),
        ("1.0", "Connection: keep-alive\r\n", true),
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
    ] {
        let mut client = origin.client();
        client.send(&format!("GET /bytes/9?chunked HTTP/{version}\r\nHost: a\r\n{connection}\r\n"));
        let response = client.response("GET").unwrap();
        assert_eq!(response.body.len(), 9, "{version} {connection}");
        assert_eq!(response.field("connection") == Some("close"), !stays, "{version} {connection}");
        if stays {
            assert_eq!(client.get("/bytes/7").body.len(), 7);
        } else {
            assert!(client.is_closed(), "{version} {connection}");
        }
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let origin = Running::start(Config { time_scale: 0.01, ..Config::default() });
    let mut client = origin.client();
    let requests: String = (0..200)
        .map(|i| format!("GET /bytes/{}/{i} HTTP/1.1\r\nHost: a.example\r\n\r\n", i % 7 * 1000))
        .collect();
    client.send(&requests);
    for i in 0..200 {
        let path = format!("/bytes/{}/{i}", i % 7 * 1000);
        let response = client.response("GET").unwrap();
        assert_eq!(response.body.len(), i % 7 * 1000);
        assert!(content::verify(target(&path), 0, &response.body), "{path}");
    }
}

#[test]
fn a_request_that_comes_byte_by_byte_is_understood() {
    let origin = Running::start(instantly());
    let mut client = origin.client();
    for byte in "POST /bytes/5 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc".chars() {
        client.send(&byte.to_string());
    }
    assert_eq!(client.response("POST").unwrap().body.len(), 5);
}

#[test]
fn the_content_of_a_request_is_read_to_its_end_and_dropped() {
    let origin = Running::start(instantly());
    let mut client = origin.client();
    let large = "x".repeat(500_000);
    client.send(&format!(
        "POST /bytes/5 HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n{large}"
    ));
    assert_eq!(client.response("POST").unwrap().body.len(), 5);

    let chunked = "4\r\nabcd\r\n0\r\nA-Trailer: x\r\n\r\n";
    client.send(&format!(
        "PUT /bytes/6 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"
    ));
    assert_eq!(client.response("PUT").unwrap().body.len(), 6);

    client.send(
        "POST /bytes/7 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    );
    assert_eq!(client.response("POST").unwrap().status, 100, "before the content is sent");
    client.send("ab");
    assert_eq!(client.response("POST").unwrap().body.len(), 7);
}

#[test]
fn what_is_no_request_gets_its_status_and_the_end() {
    let origin = Running::start(instantly());
    for (text, status) in [
        ("GARBAGE\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        ("GET / HTTP/3.7\r\nHost: a\r\n\r\n", 505),
    ] {
        let mut client = origin.client();
        client.send(text);
        assert_eq!(client.response("GET").unwrap().status, status, "{text}");
        assert!(client.is_closed(), "{text}");
    }
    let mut client = origin.client();
    client.send(&format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}", "x".repeat(40_000)));
    assert_eq!(client.response("GET").unwrap().status, 431);
    assert_eq!(origin.status()["refused"], 6);
}

#[test]
fn the_status_and_the_health_are_there() {
    let origin = Running::start(Config { name: "o 1".into(), ..instantly() });
    assert_eq!(origin.get("/bytes/100").field("cache-status"), Some("\"o 1\"; fwd=miss"));
    let status = origin.status();
    assert_eq!((&status["name"], &status["requests"]), (&"o 1".into(), &1.into()));
    assert_eq!((&status["bytes"], &status["cache"]["bytes"]), (&100.into(), &100.into()));
    let health = origin.get("/.origin/health");
    assert_eq!((health.status, health.body.as_slice()), (200, b"up\n".as_slice()));
    assert_eq!(origin.get("/.origin/nonsense").status, 404);
}

#[test]
fn a_slow_reader_gets_every_byte_and_does_not_hold_up_others() {
    let origin = Running::start(instantly());
    let mut slow = origin.client();
    slow.send("GET /bytes/30000000/x HTTP/1.1\r\nHost: a.example\r\n\r\n");
    // More than the socket buffers take: the answer is stuck until it is read.
    origin.wait("the large answer", |status| status["finished"] == 1);
    assert_eq!(origin.get("/bytes/10").body.len(), 10);
    let response = slow.response("GET").unwrap();
    assert!(content::verify(target("/bytes/30000000/x"), 0, &response.body));
    assert_eq!(response.body.len(), 30_000_000);
}

#[test]
fn a_client_that_leaves_in_the_middle_leaves_nothing_behind() {
    let origin = Running::start(Config { time_scale: 0.5, ..Config::default() });
    for _ in 0..20 {
        let mut client = origin.client();
        client.send("GET /bytes/5000000/x HTTP/1.1\r\nHost: a.example\r\n\r\n");
        let _ = client.stream.read(&mut [0; 10]).unwrap();
    }
    origin.wait("the end of the others", |status| status["connections"] == 1);
}

#[test]
fn idle_and_stuck_connections_are_closed_and_busy_ones_are_not() {
    let short = Duration::from_millis(800);
    let config = Config { idle_timeout: short, progress_timeout: short, ..instantly() };
    let origin = Running::start(config);
    let (mut idle, mut stuck) = (origin.client(), origin.client());
    stuck.send("GET / HT");
    assert!(idle.is_closed() && stuck.is_closed());

    // A request that the model keeps for longer is not touched: ten seeks of 14 ms, 20 times.
    let config = Config {
        idle_timeout: short,
        progress_timeout: short,
        time_scale: 20.0,
        ..Config::default()
    };
    let origin = Running::start(config);
    let start = Instant::now();
    assert_eq!(origin.get("/bytes/200000").body.len(), 200_000);
    assert!(start.elapsed() > 2 * short);
}

#[test]
fn connections_beyond_the_maximum_wait_until_others_are_closed() {
    let origin = Running::start(Config { connections_max: 2, ..instantly() });
    let (mut first, mut second) = (origin.client(), origin.client());
    assert_eq!((first.get("/").status, second.get("/").status), (200, 200));
    let mut third = origin.client();
    third.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    third.stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(third.response("GET").is_err(), "it waits");
    drop(first);
    third.stream.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(third.response("GET").unwrap().status, 200);
}

#[test]
fn a_shutdown_finishes_what_is_in_progress_and_closes_the_rest() {
    // Kept, so that nobody else is given the port once the origin has let it go.
    let kept = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    kept.set_reuse_address(true).unwrap();
    kept.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let listen = kept.local_addr().unwrap().as_socket().unwrap();
    let mut origin = Running::start(Config { listen, time_scale: 50.0, ..Config::default() });
    let (mut idle, mut busy) = (origin.client(), origin.client());
    assert_eq!(idle.get("/.origin/health").status, 200);
    busy.send("GET /bytes/8192 HTTP/1.1\r\nHost: a.example\r\n\r\n");
    origin.wait("the request", |status| status["active"] == 1);
    origin.stop();
    assert!(idle.is_closed());
    let response = busy.response("GET").unwrap();
    assert!(content::verify(target("/bytes/8192"), 0, &response.body));
    assert!(busy.is_closed());
    origin.join();
    assert!(std::net::TcpStream::connect(origin.addr).is_err());
}

#[test]
fn a_port_in_use_is_one_clear_sentence() {
    let origin = Running::start(instantly());
    let error = Origin::bind(Config { listen: origin.addr, ..instantly() }).err().unwrap();
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot listen on {}: ", origin.addr)), "{text}");
}

#[test]
fn a_crowd_that_comes_at_once_is_let_in_to_the_last() {
    // Others on the machine may hold one crowd up, not each of three.
    let took: Vec<_> = (0..3).map(|_| a_crowd_is_let_in()).take_while(is_late).collect();
    assert!(took.len() < 3, "they do not wait for the next sweep: {took:?}");
}

/// Whether it took as long as three sweeps, of which there is one a second.
fn is_late(took: &Duration) -> bool {
    *took >= Duration::from_secs(3)
}

/// How long it takes until the last of a crowd has its answer.
fn a_crowd_is_let_in() -> Duration {
    // They wait in the kernel's queue before the first is accepted.
    let origin = Origin::bind(instantly()).unwrap();
    let mut crowd: Vec<_> = (0..300).map(|_| Client::new(origin.addr())).collect();
    for client in &mut crowd {
        client.send("GET /bytes/100 HTTP/1.1\r\nHost: a.example\r\n\r\n");
    }
    let start = Instant::now();
    let origin = Running::serve(origin);
    for client in &mut crowd {
        assert_eq!(client.response("GET").unwrap().body.len(), 100);
    }
    let took = start.elapsed();
    drop(crowd);
    let status = origin.wait("their end", |status| status["connections"] == 1);
    assert!(
        status["cpu"]["queue"].as_u64().unwrap() <= 1,
        "what is over leaves no queue: {status}"
    );
    took
}

#[test]
fn a_field_can_name_the_class() {
    let origin = Running::start(Config { class_field: Some("X-Class".into()), ..instantly() });
    let mut client = origin.client();
    client.send("GET /bytes/9 HTTP/1.1\r\nHost: a\r\nx-class: disk\r\n\r\n");
    let response = client.response("GET").unwrap();
    assert_eq!(response.field("cache-status"), Some("origin; fwd=bypass"));
}
