//! Method: heads as they come in beside heads as they go out, byte for byte, each with the rule
//! that explains the difference. `|` stands for a line's end, so that a row fits a line.

use wire::http::emit::{BodyEdit, ErrorEdit, HeadBuilder, RequestEdit, RequestId, ResponseEdit};
use wire::http::{
    Framing, Limits, Method, RequestContext, Slots, Version, date, emit, request, response,
};

const PLAIN: RequestEdit<'static> = RequestEdit {
    via: None,
    forwarded_for: None,
    forwarded_proto: None,
    forwarded_host: false,
    forwarded: false,
    trusted: false,
    request_id: RequestId::Untouched,
    host: None,
    close: false,
    upgrade: false,
    expect: false,
};
const WAY: RequestEdit<'static> = RequestEdit {
    forwarded_for: Some("192.0.2.1"),
    forwarded_proto: Some("http"),
    forwarded_host: true,
    ..PLAIN
};
const RFC7239: RequestEdit<'static> =
    RequestEdit { forwarded_for: Some("2001:db8::1"), forwarded: true, ..PLAIN };

fn wired(text: &str) -> Vec<u8> {
    text.replace('|', "\r\n").into_bytes()
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "|")
}

#[test]
#[rustfmt::skip]
fn a_request_goes_out_as_the_rules_say() {
    let cases: &[(&str, RequestEdit<'_>, &str, &str)] = &[
        ("nothing to change", PLAIN,
         "GET /a?b HTTP/1.1|Host: a|X: 1||", "GET /a?b HTTP/1.1|Host: a|X: 1||"),
        ("what ends at this hop goes", PLAIN,
         "GET / HTTP/1.1|Keep-Alive: 1|Host: a|Proxy-Connection: x|Proxy: y|X: 1|Proxy-Authorization: z||",
         "GET / HTTP/1.1|Host: a|X: 1||"),
        ("so does what Connection names", PLAIN,
         "GET / HTTP/1.1|Host: a|X-A: 1|Connection: x-a, X-B|x-b: 2|X-C: 3||",
         "GET / HTTP/1.1|Host: a|X-C: 3||"),
        ("chunks pass as they come", PLAIN,
         "POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked|Trailer: X||",
         "POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked|Trailer: X||"),
        ("of TE only trailers are true here too", PLAIN,
         "GET / HTTP/1.1|Host: a|TE: gzip, trailers|Connection: TE||",
         "GET / HTTP/1.1|Host: a|TE: trailers|Connection: TE||"),
        ("TE without trailers goes", PLAIN,
         "GET / HTTP/1.1|Host: a|TE: gzip||", "GET / HTTP/1.1|Host: a||"),
        ("the connection to the server is ours to close", RequestEdit { close: true, ..PLAIN },
         "GET / HTTP/1.1|Host: a|Connection: keep-alive||", "GET / HTTP/1.1|Host: a|Connection: close||"),
        ("the client's wish to close is not the server's matter", PLAIN,
         "GET / HTTP/1.1|Connection: close|Host: a||", "GET / HTTP/1.1|Host: a||"),
        ("an upgrade that is passed on", RequestEdit { upgrade: true, ..PLAIN },
         "GET / HTTP/1.1|Host: a|Upgrade: websocket|Connection: X-A, Upgrade|X-A: 1||",
         "GET / HTTP/1.1|Host: a|Upgrade: websocket|Connection: upgrade||"),
        ("an upgrade that is not", PLAIN,
         "GET / HTTP/1.1|Host: a|Upgrade: websocket|Connection: Upgrade||", "GET / HTTP/1.1|Host: a||"),
        ("HTTP/2 in clear text never is", RequestEdit { upgrade: true, ..PLAIN },
         "GET / HTTP/1.1|Host: a|Upgrade: h2c|Connection: Upgrade, HTTP2-Settings|HTTP2-Settings: A||",
         "GET / HTTP/1.1|Host: a||"),
        ("nor an upgrade Connection does not name", RequestEdit { upgrade: true, ..PLAIN },
         "GET / HTTP/1.1|Host: a|Upgrade: websocket||", "GET / HTTP/1.1|Host: a||"),
        ("an expectation this switch meets", PLAIN,
         "PUT / HTTP/1.1|Host: a|Expect: 100-continue|Content-Length: 1||",
         "PUT / HTTP/1.1|Host: a|Content-Length: 1||"),
        ("one the server shall meet", RequestEdit { expect: true, ..PLAIN },
         "PUT / HTTP/1.1|Host: a|Expect: 100-continue|Content-Length: 1||",
         "PUT / HTTP/1.1|Host: a|Expect: 100-continue|Content-Length: 1||"),
        ("HTTP/1.0 becomes 1.1, which demands Host", PLAIN,
         "GET /a?b HTTP/1.0|X: 1||", "GET /a?b HTTP/1.1|Host: |X: 1||"),
        ("an absolute target becomes a path and a Host", PLAIN,
         "GET http://b:81/c?d HTTP/1.1|X: 1|Host: a||", "GET /c?d HTTP/1.1|Host: b:81|X: 1||"),
        ("an empty path is the root", PLAIN,
         "GET http://b?d HTTP/1.1|Host: a||", "GET /?d HTTP/1.1|Host: b||"),
        ("or, for OPTIONS, the server", PLAIN,
         "OPTIONS http://b HTTP/1.1|Host: a||", "OPTIONS * HTTP/1.1|Host: b||"),
        ("another Host", RequestEdit { host: Some("inner"), ..PLAIN },
         "GET / HTTP/1.1|X: 1|Host: a||", "GET / HTTP/1.1|Host: inner|X: 1||"),
        ("Via is added behind those that came", RequestEdit { via: Some("b"), ..PLAIN },
         "GET / HTTP/1.0|Host: a|Via: 1.1 x||", "GET / HTTP/1.1|Host: a|Via: 1.1 x|Via: 1.0 b||"),
        ("where it came from", WAY, "GET / HTTP/1.1|Host: a||",
         "GET / HTTP/1.1|Host: a|X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|X-Forwarded-Host: a||"),
        ("a stranger's word is replaced", WAY,
         "GET / HTTP/1.1|X-Forwarded-For: 10.0.0.1|X-Forwarded-Proto: https|X-Forwarded-Host: z|Host: a||",
         "GET / HTTP/1.1|Host: a|X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|X-Forwarded-Host: a||"),
        ("a friend's is kept, lists are joined", RequestEdit { trusted: true, ..WAY },
         "GET / HTTP/1.1|X-Forwarded-For: 10.0.0.1|X-Forwarded-Proto: https|X-Forwarded-For: 10.0.0.2, 10.0.0.3|Host: a||",
         "GET / HTTP/1.1|X-Forwarded-Proto: https|Host: a|X-Forwarded-For: 10.0.0.1, 10.0.0.2, 10.0.0.3, 192.0.2.1|X-Forwarded-Host: a||"),
        ("but not what the friend's Connection removes", RequestEdit { trusted: true, ..WAY },
         "GET / HTTP/1.1|X-Forwarded-For: 10.0.0.1|Connection: x-forwarded-for|Host: a||",
         "GET / HTTP/1.1|Host: a|X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|X-Forwarded-Host: a||"),
        ("the same as RFC 7239 says it", RFC7239, "GET / HTTP/1.1|Host: a:80|Forwarded: for=x||",
         "GET / HTTP/1.1|Host: a:80|X-Forwarded-For: 2001:db8::1|Forwarded: for=\"[2001:db8::1]\";host=\"a:80\"||"),
        ("joined to a friend's", RequestEdit { trusted: true, ..RFC7239 },
         "GET / HTTP/1.0|Forwarded: for=x||",
         "GET / HTTP/1.1|Host: |X-Forwarded-For: 2001:db8::1|Forwarded: for=x, for=\"[2001:db8::1]\"||"),
        ("a request without a name gets one", RequestEdit { request_id: RequestId::KeepOr("7"), ..PLAIN },
         "GET / HTTP/1.1|Host: a||", "GET / HTTP/1.1|Host: a|X-Request-Id: 7||"),
        ("one with a name keeps it", RequestEdit { request_id: RequestId::KeepOr("7"), ..PLAIN },
         "GET / HTTP/1.1|Host: a|x-request-id: 3||", "GET / HTTP/1.1|Host: a|x-request-id: 3||"),
        ("unless it must not", RequestEdit { request_id: RequestId::Set("7"), ..PLAIN },
         "GET / HTTP/1.1|X-Request-ID: 3|Host: a||", "GET / HTTP/1.1|Host: a|X-Request-Id: 7||"),
    ];
    for (rule, edit, came, goes) in cases {
        let came = wired(came);
        let mut slots = Slots::new();
        let head = request::parse(&came, &Limits::default(), &mut slots).unwrap().unwrap();
        let mut out = b"before".to_vec();
        emit::request(&head, edit, &mut out);
        assert_eq!(shown(&out), format!("before{goes}"), "{rule}");
    }
}

const BACK: ResponseEdit<'static> = ResponseEdit {
    via: None,
    client: Version::Http11,
    close: false,
    body: BodyEdit::Keep,
    request_id: None,
    date: None,
};

#[test]
#[rustfmt::skip]
fn a_response_goes_out_as_the_rules_say() {
    let closing = ResponseEdit { close: true, ..BACK };
    let old = ResponseEdit { client: Version::Http10, ..BACK };
    let cases: &[(&str, ResponseEdit<'_>, &str, &str)] = &[
        ("nothing to change", BACK,
         "HTTP/1.1 200 OK|Content-Length: 1||", "HTTP/1.1 200 OK|Content-Length: 1||"),
        ("what ends at this hop goes", BACK,
         "HTTP/1.1 200 OK|Connection: close, x-a|X-A: 1|Keep-Alive: 5|Proxy-Authenticate: b|Content-Length: 1||",
         "HTTP/1.1 200 OK|Content-Length: 1||"),
        ("the version is ours", BACK, "HTTP/1.0 404 Nope|Content-Length: 1||", "HTTP/1.1 404 Nope|Content-Length: 1||"),
        ("a reason may be empty, its space may not be missing", BACK,
         "HTTP/1.1 200|Content-Length: 1||", "HTTP/1.1 200 |Content-Length: 1||"),
        ("a connection that closes", closing,
         "HTTP/1.1 200 OK|Content-Length: 1||", "HTTP/1.1 200 OK|Content-Length: 1|Connection: close||"),
        ("an old client must be told that it stays", old,
         "HTTP/1.1 200 OK|Content-Length: 1||", "HTTP/1.1 200 OK|Content-Length: 1|Connection: keep-alive||"),
        ("an old client gets no chunks", ResponseEdit { body: BodyEdit::Dechunk, close: true, ..old },
         "HTTP/1.1 200 OK|Transfer-Encoding: chunked||", "HTTP/1.1 200 OK|Connection: close||"),
        ("a new one may get a body without end in chunks", ResponseEdit { body: BodyEdit::Chunk, ..BACK },
         "HTTP/1.0 200 OK||", "HTTP/1.1 200 OK|Transfer-Encoding: chunked||"),
        ("interim replies pass, and close nothing", closing,
         "HTTP/1.1 103 Early Hints|Link: x|Connection: x||", "HTTP/1.1 103 Early Hints|Link: x||"),
        ("204 has no length", BACK, "HTTP/1.1 204 No Content|Content-Length: 5||", "HTTP/1.1 204 No Content||"),
        ("304 may have one, of what it did not send", BACK,
         "HTTP/1.1 304 Not Modified|Content-Length: 5||", "HTTP/1.1 304 Not Modified|Content-Length: 5||"),
        ("a switch of protocols", BACK,
         "HTTP/1.1 101 Switching Protocols|Upgrade: websocket|Connection: Upgrade, X-A|X-A: 1||",
         "HTTP/1.1 101 Switching Protocols|Upgrade: websocket|Connection: upgrade||"),
        ("426 says what would be needed", closing,
         "HTTP/1.1 426 Upgrade Required|Upgrade: x|Content-Length: 0||",
         "HTTP/1.1 426 Upgrade Required|Upgrade: x|Content-Length: 0|Connection: close, upgrade||"),
        ("what else is added", ResponseEdit { via: Some("b"), request_id: Some("7"), date: Some(b"now"), ..BACK },
         "HTTP/1.0 200 OK|X-Request-ID: 3|Content-Length: 1||",
         "HTTP/1.1 200 OK|Content-Length: 1|Date: now|X-Request-Id: 7|Via: 1.0 b||"),
        ("a server's Date stays", ResponseEdit { date: Some(b"now"), ..BACK },
         "HTTP/1.1 200 OK|Date: then|Content-Length: 1||", "HTTP/1.1 200 OK|Date: then|Content-Length: 1||"),
    ];
    for (rule, edit, came, goes) in cases {
        let came = wired(came);
        let asked = RequestContext { method: Method::Get, upgrade: true };
        let mut slots = Slots::new();
        let head = response::parse(&came, &asked, &Limits::default(), &mut slots).unwrap().unwrap();
        let mut out = Vec::new();
        emit::response(&head, edit, &mut out);
        assert_eq!(shown(&out), *goes, "{rule}");
    }
}

/// What a reply means: end of its body and whether the connection stays; or not believed.
#[test]
#[rustfmt::skip]
fn a_reply_ends_where_rfc_9112_says_or_is_not_believed() {
    use Framing::{Chunked, Length, None as Empty, UntilClose};
    let cases: &[(&str, Method, &str, Option<(Framing, bool)>)] = &[
        ("a length", Method::Get, "HTTP/1.1 200 OK|Content-Length: 5||", Some((Length(5), true))),
        ("chunks", Method::Get, "HTTP/1.1 200 OK|Transfer-Encoding: chunked||", Some((Chunked, true))),
        ("neither", Method::Get, "HTTP/1.1 200 OK||", Some((UntilClose, false))),
        ("it will close", Method::Get, "HTTP/1.1 200 OK|Content-Length: 5|Connection: x, Close||", Some((Length(5), false))),
        ("1.0 closes", Method::Get, "HTTP/1.0 200 OK|Content-Length: 5||", Some((Length(5), false))),
        ("unless it says it stays", Method::Get, "HTTP/1.0 200 OK|Content-Length: 5|Connection: Keep-Alive||", Some((Length(5), true))),
        ("close wins", Method::Get, "HTTP/1.1 200 OK|Content-Length: 5|Connection: keep-alive, close||", Some((Length(5), false))),
        ("HEAD", Method::Head, "HTTP/1.1 200 OK|Content-Length: 5||", Some((Empty, true))),
        ("HEAD of chunks", Method::Head, "HTTP/1.1 200 OK|Transfer-Encoding: chunked||", Some((Empty, true))),
        ("204", Method::Get, "HTTP/1.1 204 No Content||", Some((Empty, true))),
        ("304", Method::Get, "HTTP/1.1 304 Not Modified|Content-Length: 5||", Some((Empty, true))),
        ("100", Method::Get, "HTTP/1.1 100 Continue||", Some((Empty, true))),
        ("101", Method::Get, "HTTP/1.1 101 Switching Protocols|Upgrade: x|Connection: upgrade||", Some((Empty, false))),
        ("CONNECT", Method::Connect, "HTTP/1.1 200 OK|Content-Length: 5||", Some((Empty, true))),
        ("CONNECT refused", Method::Connect, "HTTP/1.1 403 No|Content-Length: 5||", Some((Length(5), true))),
        ("205 is like 200", Method::Get, "HTTP/1.1 205 Reset Content|Content-Length: 0||", Some((Length(0), true))),
        ("an unregistered status", Method::Get, "HTTP/1.1 799 ?|Content-Length: 0||", Some((Length(0), true))),
        ("both", Method::Get, "HTTP/1.1 200 OK|Content-Length: 5|Transfer-Encoding: chunked||", None),
        ("both, for HEAD", Method::Head, "HTTP/1.1 200 OK|Content-Length: 5|Transfer-Encoding: chunked||", None),
        ("two lengths", Method::Get, "HTTP/1.1 200 OK|Content-Length: 5|Content-Length: 5||", None),
        ("a strange coding", Method::Get, "HTTP/1.1 200 OK|Transfer-Encoding: gzip||", None),
        ("chunks in 1.0", Method::Get, "HTTP/1.0 200 OK|Transfer-Encoding: chunked||", None),
        ("101 without Upgrade", Method::Get, "HTTP/1.1 101 Switching Protocols|Connection: upgrade||", None),
        ("a status below 100", Method::Get, "HTTP/1.1 099 ?|Content-Length: 0||", None),
        ("a status of two digits", Method::Get, "HTTP/1.1 20 OK||", None),
        ("an empty line first", Method::Get, "|HTTP/1.1 200 OK|Content-Length: 0||", None),
        ("LF alone", Method::Get, "HTTP/1.1 200 OK\nContent-Length: 0\n\n", None),
        ("LF alone, once", Method::Get, "HTTP/1.1 200 OK|X: 1\nContent-Length: 0||", None),
        ("LF alone after the status", Method::Get, "HTTP/1.1 200 OK\nContent-Length: 0||", None),
        ("a folded line", Method::Get, "HTTP/1.1 200 OK|X: a| b||", None),
        ("a space before a colon", Method::Get, "HTTP/1.1 200 OK|X : a||", None),
        ("HTTP/2", Method::Get, "HTTP/2 200||", None),
        ("no HTTP", Method::Get, "220 mail.example ESMTP||", None),
    ];
    for (what, method, text, expected) in cases {
        let asked = RequestContext { method: *method, upgrade: true };
        let mut slots = Slots::new();
        let text = wired(text);
        let got = response::parse(&text, &asked, &Limits::default(), &mut slots);
        let got = got.ok().map(|head| head.expect("it is whole")).map(|h| (h.body, h.keep_alive));
        assert_eq!(got, *expected, "{what}");
    }
    let unasked = RequestContext { method: Method::Get, upgrade: false };
    let text = wired("HTTP/1.1 101 Switching Protocols|Upgrade: x|Connection: upgrade||");
    assert!(response::parse(&text, &unasked, &Limits::default(), &mut Slots::new()).is_err());
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
            emit::error(status, why, &ErrorEdit { head_only, ..edit }, &mut out);
            let asked = RequestContext { method: Method::Get, upgrade: false };
            let mut slots = Slots::new();
            let head = response::parse(&out, &asked, &Limits::default(), &mut slots);
            let head = head.unwrap().expect("it is whole");
            assert_eq!((head.status, head.keep_alive), (status, false));
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
