//! Method: two tables, of request heads and of chunked bodies, each case with the answer it must
//! get and why (`cases/heads.txt`, `cases/bodies.txt`). They are the specification of what this
//! switch believes. Every head is also tried behind an empty line and byte by byte, for the answer
//! must not depend on that.

mod cases;

use cases::{Case, shown};
use wire::http::body::Chunks;
use wire::http::{BadChunk, Framing, Limits, Reject, Slots, request};

fn limits() -> Limits {
    Limits { body_bytes_max: 1000, ..Limits::default() }
}

/// The status a head is refused with, `taken`, or nothing as long as it is not whole.
fn answer(bytes: &[u8]) -> Option<String> {
    match request::parse(bytes, &limits(), &mut Slots::new()) {
        Ok(None) => None,
        Ok(Some(_)) => Some("taken".to_string()),
        Err(Reject { status, why }) => {
            assert!(!why.is_empty() && !why.ends_with('.'));
            Some(status.to_string())
        }
    }
}

/// Answer and bytes of each head, and the case as text.
fn heads() -> impl Iterator<Item = (Option<String>, Vec<u8>, String)> {
    cases::read("heads.txt", 130).into_iter().map(|Case { title, lines }| {
        let expected = title.split_once(' ').map(|(answer, _)| answer.to_string());
        let text = format!("{title}: {}", shown(&lines[0]));
        (expected, [lines[0].as_slice(), b"\r\n"].concat(), text)
    })
}

#[test]
fn every_head_gets_the_answer_the_table_gives() {
    for (expected, head, text) in heads() {
        assert_eq!(answer(&head), expected, "{text}");
    }
}

#[test]
fn the_answer_to_a_head_does_not_depend_on_how_it_arrives() {
    for (expected, head, text) in heads() {
        let whole = [head.as_slice(), b"GET /next HTTP/1.1\r\n"].concat();
        let first = (0..=whole.len()).find_map(|end| answer(&whole[..end]));
        assert_eq!(first, expected, "{text}");
        if !matches!(head[0], b'\r' | b'\n') {
            let behind = [b"\r\n", whole.as_slice()].concat();
            assert_eq!(answer(&behind), expected, "behind an empty line, {text}");
        }
    }
}

#[test]
fn a_head_is_refused_as_soon_as_it_is_too_long() {
    let limits = Limits { head_bytes_max: 100, target_bytes_max: 50, fields_max: 3, ..limits() };
    let answer = |text: &str| request::parse(text.as_bytes(), &limits, &mut Slots::new()).err();
    let status = |text: &str| answer(text).map(|reject| reject.status);
    let a = |count| "a".repeat(count);
    assert_eq!(status(&format!("GET /{}", a(49))), None, "50 bytes of target");
    assert_eq!(status(&format!("GET /{}", a(50))), Some(414), "51 bytes, and no end in sight");
    assert_eq!(status(&format!("GET /{} HTTP/9\r\n", a(50))), Some(414), "the first fault counts");
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nX: {}", a(80))), None, "99 bytes of head");
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nX: {}", a(81))), Some(431), "100 and no end");
    let fields = |count| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: b\r\n".repeat(count));
    assert_eq!(status(&fields(2)), None, "3 fields");
    assert_eq!(status(&fields(3)), Some(431), "4 fields");
}

#[test]
fn every_chunked_body_gets_the_answer_the_table_gives() {
    for Case { title, lines } in cases::read("bodies.txt", 36) {
        let body = lines[0].as_slice();
        let mut chunks = Chunks::new(&limits());
        let got = match chunks.advance(&[body, b"GET"].concat()) {
            Ok(scan) => {
                assert!(scan.done && scan.consumed == body.len(), "{title}");
                format!("taken={}", chunks.body_bytes())
            }
            Err(bad) => bad.status().to_string(),
        };
        assert_eq!(Some(got.as_str()), title.split(' ').next(), "{title}: {}", shown(body));
    }
}

#[test]
fn what_surrounds_the_data_is_bounded() {
    let refused = |text: String| {
        Chunks::new(&Limits::default()).advance(text.as_bytes()).map_err(BadChunk::status)
    };
    let a = |count| "a".repeat(count);
    assert_eq!(refused(format!("5;{}", a(4096))), Err(400), "one long extension");
    let many = format!("1;{}\r\nx\r\n", a(100)).repeat(200);
    assert_eq!(refused(many), Err(400), "many short ones, with next to no data");
    let paid = format!("400;{}\r\n{}\r\n", a(100), a(1024)).repeat(200);
    assert!(refused(paid).is_ok(), "extensions that data makes up for");
    assert_eq!(refused(format!("0\r\n{}", "A: b\r\n".repeat(2000))), Err(400), "trailers");
}

#[test]
fn the_end_of_an_accepted_body_is_the_one_the_fields_name() {
    let framing = |fields: &str| {
        let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        request::parse(text.as_bytes(), &limits(), &mut Slots::new()).unwrap().unwrap().body
    };
    assert_eq!(framing(""), Framing::None);
    assert_eq!(framing("Content-Length: 0\r\n"), Framing::Length(0));
    assert_eq!(framing("Content-Length: 017\r\n"), Framing::Length(17));
    assert_eq!(framing("Transfer-Encoding: chunked\r\n"), Framing::Chunked);
}

#[test]
fn a_client_of_http_1_0_never_waits_for_an_interim_reply() {
    for (version, expected) in [("1.0", false), ("1.1", true)] {
        let text = format!("PUT / HTTP/{version}\r\nHost: a\r\nExpect: 100-continue\r\n\r\n");
        let mut slots = Slots::new();
        let head = request::parse(text.as_bytes(), &limits(), &mut slots).unwrap().unwrap();
        assert_eq!(head.expect_continue, expected, "{version}");
    }
}
