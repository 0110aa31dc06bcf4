//! Method: each way to ask nginx that [`testbed::TestBed`] tells of is tried, and what comes is
//! looked at to the last byte.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use site::{Reply, ask, get, up};
use std::time::{Duration, Instant};
use testbed::{Host, Plan, TestBed, content};

const PATHS: [&str; 4] = ["/0", "/1500", "/64k", "/1m"];

fn asked(bed: &TestBed, request: &str, body: &[u8]) -> Reply {
    let all = [request.as_bytes(), body].concat();
    ask(bed, Host::Client, bed.server(1).each()[0], &all).unwrap()
}

#[test]
fn a_reply_comes_with_its_length_in_chunks_or_until_the_end() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    let at = bed.server(1).each()[0];
    for path in PATHS {
        let length = bed.plan().files.iter().find(|file| file.path == path).unwrap().bytes;
        let whole = |body: &[u8]| body.len() as u64 == length && content::verify(path, 0, body);
        let plain = get(&bed, at, path).unwrap();
        assert_eq!(plain.field("Content-Length"), Some(&*length.to_string()));
        assert!(whole(&plain.body));
        let close = get(&bed, at, &format!("/close{path}")).unwrap();
        // nginx knows that of an empty file nothing is to come.
        if length > 0 {
            assert_eq!(close.field("Content-Length"), None, "{}", close.head);
        }
        assert_eq!(close.field("Transfer-Encoding"), None);
        assert!(whole(&close.body), "{path}");
        let chunked = get(&bed, at, &format!("/chunked{path}")).unwrap();
        if length > 0 {
            assert_eq!(chunked.field("Transfer-Encoding"), Some("chunked"), "{}", chunked.head);
            assert!(whole(&chunked.unchunked()), "{path}");
        }
    }
}

#[test]
fn a_reply_without_a_body_has_none() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    let tag = get(&bed, bed.server(1).each()[0], "/4k").unwrap().field("ETag").unwrap().to_owned();
    let head = asked(&bed, "HEAD /4k HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n", b"");
    assert_eq!((head.field("Content-Length"), head.body.len()), (Some("4096"), 0));
    let known = format!("If-None-Match: {tag}\r\nConnection: close\r\n\r\n");
    let known = asked(&bed, &format!("GET /4k HTTP/1.1\r\nHost: s\r\n{known}"), b"");
    assert!(known.head.starts_with("HTTP/1.1 304 ") && known.body.is_empty(), "{known:?}");
}

#[test]
fn a_body_is_sent_back_or_kept() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    for length in [1, 1500, 200_000, 1 << 20] {
        let body = content::slice("/a-body", 0, 1 << 18);
        let body: Vec<u8> = body.iter().copied().cycle().take(length).collect();
        let fields = format!("Host: s\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        let echo = asked(&bed, &format!("POST /echo HTTP/1.1\r\n{fields}"), &body);
        assert!(echo.head.starts_with("HTTP/1.1 200 "), "{}", echo.head);
        assert!(echo.unchunked() == body, "{length} bytes come back");
        let put = asked(&bed, &format!("PUT /put/a/{length} HTTP/1.1\r\n{fields}"), &body);
        assert!(put.head.starts_with("HTTP/1.1 201 "), "{}", put.head);
        let kept = get(&bed, bed.server(1).each()[1], &format!("/put/a/{length}")).unwrap();
        assert!(kept.body == body, "{length} bytes are kept");
    }
}

#[test]
fn a_slow_reply_is_slow_and_a_brief_rest_ends_the_connection() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    let began = Instant::now();
    let slow = get(&bed, bed.server(1).each()[0], "/slow/128k").unwrap();
    assert!(content::verify("/128k", 0, &slow.body) && slow.body.len() == 128 << 10);
    assert!(began.elapsed() > Duration::from_millis(900), "{:?}", began.elapsed());
    // No `Connection: close`: it is the server that has waited long enough.
    let brief = asked(&bed, "GET /brief/1500 HTTP/1.1\r\nHost: s\r\n\r\n", b"");
    assert!(content::verify("/1500", 0, &brief.body) && brief.body.len() == 1500);
}
