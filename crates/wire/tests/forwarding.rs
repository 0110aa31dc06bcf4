//! Method: heads as they come in beside heads as they go out, byte for byte, each with the rule
//! that explains the difference (`cases/requests.txt`, `cases/responses.txt`); and replies beside
//! what they mean for the connection (`cases/replies.txt`).

mod cases;

use cases::{Case, shown};
use wire::http::emit::{BodyEdit, ErrorEdit, HeadBuilder, RequestEdit, RequestId, ResponseEdit};
use wire::http::{
    Framing, Limits, Method, RequestContext, Slots, Version, date, emit, request, response,
};

/// The words in brackets at a title's end.
fn edits(title: &str) -> impl Iterator<Item = &str> {
    let words = title.split_once(" [").and_then(|(_, words)| words.strip_suffix(']'));
    words.unwrap_or("").split_ascii_whitespace()
}

fn request_edit(title: &str) -> RequestEdit<'_> {
    let mut edit = RequestEdit::default();
    for word in edits(title) {
        match word.split_once('=').unwrap_or((word, "")) {
            ("close", _) => edit.close = true,
            ("upgrade", _) => edit.upgrade = true,
            ("expect", _) => edit.expect = true,
            ("trusted", _) => edit.trusted = true,
            ("forwarded", _) => edit.forwarded = true,
            ("x-forwarded", _) => edit.x_forwarded = true,
            ("for", address) => edit.client = Some(address),
            ("proto", scheme) => edit.scheme = Some(scheme),
            ("host", host) => edit.host = Some(host),
            ("via", name) => edit.via = Some(name),
            ("id", id) => edit.request_id = RequestId::KeepOr(id),
            ("id:", id) => edit.request_id = RequestId::Set(id),
            _ => panic!("unknown edit {word}"),
        }
    }
    edit
}

fn response_edit(title: &str) -> ResponseEdit<'_> {
    let mut edit = ResponseEdit::default();
    for word in edits(title) {
        match word.split_once('=').unwrap_or((word, "")) {
            ("close", _) => edit.close = true,
            ("chunk", _) => edit.body = BodyEdit::Chunk,
            ("dechunk", _) => edit.body = BodyEdit::Dechunk,
            ("client", _) => edit.client = Version::Http10,
            ("via", name) => edit.via = Some(name),
            ("id", id) => edit.request_id = Some(id),
            ("date", date) => edit.date = Some(date.as_bytes()),
            _ => panic!("unknown edit {word}"),
        }
    }
    edit
}

#[test]
fn a_request_goes_out_as_the_rules_say() {
    for Case { title, lines } in cases::read("requests.txt", 36) {
        let mut slots = Slots::new();
        let head = request::parse(&lines[0], &Limits::default(), &mut slots).unwrap().unwrap();
        let mut out = b"before".to_vec();
        emit::request(&head, &request_edit(&title), &mut out);
        assert_eq!(shown(&out), format!("before{}", shown(&lines[1])), "{title}");
    }
}

#[test]
fn a_response_goes_out_as_the_rules_say() {
    let asked = RequestContext { method: Method::Get, upgrade: true };
    for Case { title, lines } in cases::read("responses.txt", 15) {
        let mut slots = Slots::new();
        let head = response::parse(&lines[0], &asked, &Limits::default(), &mut slots);
        let mut out = Vec::new();
        emit::response(&head.unwrap().unwrap(), &response_edit(&title), &mut out);
        assert_eq!(shown(&out), shown(&lines[1]), "{title}");
    }
}

#[test]
fn a_reply_ends_where_rfc_9112_says_or_is_not_believed() {
    for Case { title, lines } in cases::read("replies.txt", 33) {
        let mut words = title.split(' ');
        let asked = RequestContext { method: Method::named(words.next().unwrap()), upgrade: true };
        let mut slots = Slots::new();
        let got = match response::parse(&lines[0], &asked, &Limits::default(), &mut slots) {
            Ok(None) => panic!("{title}: it is whole"),
            Err(broken) => {
                assert!(!broken.why.is_empty());
                "broken".to_string()
            }
            Ok(Some(head)) => {
                let end = match head.body {
                    Framing::None => "none".to_string(),
                    Framing::Length(length) => length.to_string(),
                    Framing::Chunked => "chunked".to_string(),
                    Framing::UntilClose => "until-close".to_string(),
                };
                end + if head.keep_alive { "+stays" } else { "+closes" }
            }
        };
        assert_eq!(Some(got.as_str()), words.next(), "{title}");
    }
}

#[test]
fn a_switch_of_protocols_nobody_asked_for_is_not_believed() {
    let unasked = RequestContext { method: Method::Get, upgrade: false };
    let text = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
    assert!(response::parse(text, &unasked, &Limits::default(), &mut Slots::new()).is_err());
}

#[test]
fn an_error_says_why_and_ends_where_it_says() {
    let date = date::format(784_111_777);
    let edit = ErrorEdit {
        close: true,
        retry_after_s: Some(3),
        request_id: Some("7"),
        date: Some(&date),
        ..ErrorEdit::default()
    };
    for (status, why) in [(503, "every server is at its limit"), (799, ""), (431, "too long")] {
        for head_only in [false, true] {
            let mut out = Vec::new();
            let head_bytes = emit::error(status, why, &ErrorEdit { head_only, ..edit }, &mut out);
            let asked = RequestContext { method: Method::Get, upgrade: false };
            let mut slots = Slots::new();
            let head = response::parse(&out, &asked, &Limits::default(), &mut slots);
            let head = head.unwrap().expect("it is whole");
            assert_eq!((head.status, head.keep_alive), (status, false));
            assert_eq!(head.head_bytes, head_bytes);
            assert_eq!(head.field("retry-after"), Some(b"3".as_slice()));
            assert_eq!(head.field("x-request-id"), Some(b"7".as_slice()));
            assert_eq!(head.field("date"), Some(date.as_slice()));
            let body = &out[head.head_bytes..];
            if head_only {
                assert!(body.is_empty());
            } else {
                assert_eq!(head.body, Framing::Length(body.len() as u64));
                assert!(shown(body).contains(why));
            }
        }
    }
}

#[test]
fn what_would_break_out_of_its_place_is_not_sent() {
    let mut out = b"before".to_vec();
    for (method, target) in
        [("G T", "/"), ("", "/"), ("GET", ""), ("GET", "/a b"), ("GET", "/\r\n")]
    {
        assert!(HeadBuilder::request(method, target, &mut out).end().is_err(), "{target:?}");
    }
    for (name, value) in [("", "x"), ("a b", "x"), ("a:", "x"), ("a", "x\r\ny: z"), ("a", "\0")] {
        let built = HeadBuilder::response(200, &mut out).field(name, value.as_bytes()).end();
        assert!(built.is_err(), "{name:?}: {value:?}");
    }
    assert!(HeadBuilder::response(99, &mut out).end().is_err());
    assert_eq!(out, b"before");
    HeadBuilder::response(200, &mut out).number("Content-Length", u64::MAX).end().unwrap();
    assert_eq!(shown(&out), "beforeHTTP/1.1 200 OK|Content-Length: 18446744073709551615||");
}
