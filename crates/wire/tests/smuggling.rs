//! Method: a table of request heads, each with the answer it must get and why; it is the
//! specification of what this switch believes. A second table does the same for chunked bodies.
//!
//! Statuses: 0 stands for "taken". Every head that is refused is also tried behind an empty line
//! and byte by byte, for the answer must not depend on that.

use wire::http::body::Chunks;
use wire::http::{BadChunk, Framing, Limits, Reject, Slots, request};

const TAKEN: u16 = 0;

/// Heads without their last empty line: the answer, the bytes, the reason.
#[rustfmt::skip]
const HEADS: &[(u16, &str, &str)] = &[
    // Where the body ends.
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n", "a length is enough"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n", "nothing is a length too"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\n", "leading zeros are digits"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:5\r\n", "no space is needed after the colon"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \t5 \t\r\n", "space around a value is not part of it"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n", "chunks are enough"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\ntransfer-ENCODING: ChunkeD\r\n", "names and codings have no case"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", "CL.TE: two readers, two ends"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", "TE.CL: the order changes nothing"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nContent-Length: 5\r\n", "an unknown coding does not free the length"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n", "which of the two?"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n", "RFC 9112 allows the repair; refusing is as allowed"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n", "nor in one line"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5,6\r\n", "a list is no number"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n", "many number parsers take a sign"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n", "some even this one"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n", "not hexadecimal"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 6\r\n", "a space ends the number for some"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n", "not a fraction"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n", "not a Rust or Python literal"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n", "an empty number is no zero"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n", "overflow wraps for some"),
    (413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n", "longer than this test's limit of 1000"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n", "as long as the limit"),
    (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n", "a coding nobody here knows"),
    (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n", "even if the end would be known"),
    (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n", "removed from HTTP in 2014; readers differ"),
    (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n", "a search for the word would find it"),
    (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n", "quotes belong to the name"),
    (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;a=b\r\n", "chunked has no parameters"),
    (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked identity\r\n", "one word, then rubbish"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n", "chunked must be last"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n", "chunked must be once"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "once, in two lines as in one"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "two lines are one list"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n", "an empty element"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n", "a coding that is no coding"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n", "a vertical tab is a space for some"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n", "a space before the colon hides the field from some"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n", "the same for the length"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n", "or a tab"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n", "a space before the name: a folded line"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n", "a folded value"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tContent-Length: 5\r\n", "folded with a tab"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer\0-Encoding: chunked\r\n", "NUL in a name"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nX\u{e9}: b\r\n", "a name beyond ASCII"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\n: b\r\n", "a name of no letters"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length\r\n", "a line without a colon"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nContent_Length: 5\r\n", "another name to us; servers must not equate them"),
    (400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.0 has no chunks: faulty, says RFC 9112"),
    (TAKEN, "POST / HTTP/1.0\r\nContent-Length: 5\r\n", "but lengths it has"),
    // Line ends.
    (400, "GET / HTTP/1.1\nHost: a\r\n", "LF alone ends the request line for some"),
    (400, "GET / HTTP/1.1\r\nHost: a\nX: b\r\n", "LF alone ends a field for some"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\n", "LF alone before the empty line"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\n\n", "an empty line of LF alone"),
    (400, "GET / HTTP/1.1\rHost: a\r\n", "CR alone ends the request line for some"),
    (400, "GET / HTTP/1.1\r\nHost: a\rX: b\r\n", "CR alone ends a field for some"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\r\n", "CR twice"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n", "NUL ends a string for some"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\x7fc\r\n", "DEL is a control character"),
    (TAKEN, "GET / HTTP/1.1\r\nHost: a\r\nX: b\tc\r\n", "a tab inside a value is text"),
    (TAKEN, "GET / HTTP/1.1\r\nHost: a\r\nX: \u{e9}\r\n", "bytes beyond ASCII are opaque"),
    (TAKEN, "GET / HTTP/1.1\r\nHost: a\r\nX:\r\n", "an empty value is a value"),
    (TAKEN, "\r\nGET / HTTP/1.1\r\nHost: a\r\n", "one empty line first is forgiven"),
    (400, "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n", "two are not"),
    (400, "\nGET / HTTP/1.1\r\nHost: a\r\n", "nor half of one"),
    (400, "\rGET / HTTP/1.1\r\nHost: a\r\n", "nor the other half"),
    (400, " GET / HTTP/1.1\r\nHost: a\r\n", "a space first"),
    // Host.
    (400, "GET / HTTP/1.1\r\nX: b\r\n", "HTTP/1.1 demands Host"),
    (TAKEN, "GET / HTTP/1.0\r\nX: b\r\n", "HTTP/1.0 does not know it"),
    (TAKEN, "GET / HTTP/1.1\r\nHost:\r\n", "an empty one says that there is none"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", "which of the two?"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n", "equal ones count as two"),
    (400, "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n", "in HTTP/1.0 too"),
    (400, "GET / HTTP/1.1\r\nHost: a b\r\n", "a space in a host"),
    (400, "GET / HTTP/1.1\r\nHost: a,b\r\n", "a list of hosts"),
    (400, "GET / HTTP/1.1\r\nHost: a/b\r\n", "a path in a host"),
    (400, "GET / HTTP/1.1\r\nHost: u@a\r\n", "a user in a host: which side is the host?"),
    (400, "GET / HTTP/1.1\r\nHost: a?b\r\n", "a query in a host"),
    (400, "GET / HTTP/1.1\r\nHost: a#b\r\n", "a fragment in a host"),
    (400, "GET / HTTP/1.1\r\nHost: \u{e9}.example\r\n", "a host beyond ASCII"),
    (400, "GET / HTTP/1.1\r\nHost: a%2eb\r\n", "percent signs, decoded by some"),
    (400, "GET / HTTP/1.1\r\nHost: :80\r\n", "a port without a host"),
    (400, "GET / HTTP/1.1\r\nHost: a:b\r\n", "a port that is no number"),
    (400, "GET / HTTP/1.1\r\nHost: a:65536\r\n", "a port that does not exist"),
    (400, "GET / HTTP/1.1\r\nHost: a:80:80\r\n", "two ports"),
    (TAKEN, "GET / HTTP/1.1\r\nHost: a:\r\n", "an empty port is in the grammar"),
    (TAKEN, "GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n", "an address of version 6"),
    (400, "GET / HTTP/1.1\r\nHost: [2001:db8::1\r\n", "an address that does not end"),
    (400, "GET / HTTP/1.1\r\nHost: [a]b\r\n", "letters behind an address"),
    (400, "GET / HTTP/1.1\r\nHost: 2001:db8::1\r\n", "an address without brackets"),
    // The request line.
    (400, "GET  / HTTP/1.1\r\nHost: a\r\n", "two spaces: the target is empty"),
    (400, "GET /  HTTP/1.1\r\nHost: a\r\n", "two spaces: the version has one"),
    (400, "GET / HTTP/1.1 \r\nHost: a\r\n", "a space behind the version"),
    (400, "GET /a b HTTP/1.1\r\nHost: a\r\n", "a space in the target"),
    (400, "GET /a\tb HTTP/1.1\r\nHost: a\r\n", "a tab in the target"),
    (400, "GET\t/\tHTTP/1.1\r\nHost: a\r\n", "tabs between the parts"),
    (400, "GET /a\0b HTTP/1.1\r\nHost: a\r\n", "NUL in the target"),
    (400, "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n", "a target beyond ASCII"),
    (400, "GET /a#b HTTP/1.1\r\nHost: a\r\n", "a fragment is for the client only"),
    (400, "GET /?a#b HTTP/1.1\r\nHost: a\r\n", "also behind a query"),
    (400, "GET a HTTP/1.1\r\nHost: a\r\n", "a path begins with a slash"),
    (400, "GET ?a HTTP/1.1\r\nHost: a\r\n", "also with a query"),
    (400, "GET * HTTP/1.1\r\nHost: a\r\n", "the asterisk is for OPTIONS"),
    (TAKEN, "OPTIONS * HTTP/1.1\r\nHost: a\r\n", "and there it is"),
    (TAKEN, "GET //a/../b HTTP/1.1\r\nHost: a\r\n", "paths are passed as they are"),
    (TAKEN, "GET http://b/c HTTP/1.1\r\nHost: a\r\n", "an absolute target overrides Host"),
    (400, "GET http://b/c HTTP/1.1\r\nX: b\r\n", "but Host must be there"),
    (400, "GET http://b/c HTTP/1.1\r\nHost: a b\r\n", "and valid"),
    (400, "GET http:///c HTTP/1.1\r\nHost: a\r\n", "a URI without a host"),
    (400, "GET http://u@b/c HTTP/1.1\r\nHost: a\r\n", "a URI with a user"),
    (400, "GET ftp://b/c HTTP/1.1\r\nHost: a\r\n", "a URI of another scheme"),
    (400, "GET http://b\\c/ HTTP/1.1\r\nHost: a\r\n", "a backslash, a slash to some"),
    (501, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n", "no forward proxy"),
    (400, "GET a:443 HTTP/1.1\r\nHost: a\r\n", "the authority form is for CONNECT"),
    (400, "G(T / HTTP/1.1\r\nHost: a\r\n", "a method is a token"),
    (TAKEN, "get / HTTP/1.1\r\nHost: a\r\n", "another method than GET, passed on"),
    (TAKEN, "PURGE / HTTP/1.1\r\nHost: a\r\n", "an extension"),
    (400, "GET /\r\n", "HTTP/0.9"),
    (400, "GET / http/1.1\r\nHost: a\r\n", "the version has a case"),
    (505, "GET / HTTP/1.2\r\nHost: a\r\n", "a version that does not exist"),
    (505, "GET / HTTP/2.0\r\nHost: a\r\n", "a version not spoken here"),
    (505, "PRI * HTTP/2.0\r\n", "a client of HTTP/2 with prior knowledge"),
    // Connection, Expect.
    (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: Content-Length\r\n", "without its length the body is a request"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, host\r\n", "without its host it goes elsewhere"),
    (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n", "without its coding chunks are requests"),
    (400, "GET / HTTP/1.1\r\nHost: a\r\nConnection: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\r\n", "each option costs a pass over all fields"),
    (TAKEN, "GET / HTTP/1.1\r\nHost: a\r\nConnection: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p\r\n", "sixteen are borne"),
    (417, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: miracles\r\n", "an expectation that cannot be met"),
    (TAKEN, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-CONTINUE\r\n", "the one that can"),
];

fn limits() -> Limits {
    Limits { body_bytes_max: 1000, ..Limits::default() }
}

fn answer(bytes: &[u8]) -> Option<u16> {
    match request::parse(bytes, &limits(), &mut Slots::new()) {
        Ok(None) => None,
        Ok(Some(_)) => Some(TAKEN),
        Err(Reject { status, why }) => {
            assert!(!why.is_empty() && !why.ends_with('.'));
            Some(status)
        }
    }
}

#[test]
fn every_head_gets_the_answer_the_table_gives() {
    for (expected, head, why) in HEADS {
        let whole = format!("{head}\r\n").into_bytes();
        assert_eq!(answer(&whole), Some(*expected), "{head:?}: {why}");
    }
}

#[test]
fn the_answer_to_a_head_does_not_depend_on_how_it_arrives() {
    for (expected, head, why) in HEADS {
        let whole = format!("{head}\r\nGET /next HTTP/1.1\r\n").into_bytes();
        let first = (0..=whole.len()).find_map(|end| answer(&whole[..end]));
        assert_eq!(first, Some(*expected), "{head:?}: {why}");
        if !head.starts_with(['\r', '\n']) {
            let behind = [b"\r\n", whole.as_slice()].concat();
            assert_eq!(answer(&behind), Some(*expected), "behind an empty line, {head:?}: {why}");
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

/// Chunked bodies: taken with so many bytes of content, or refused; the bytes; the reason.
#[rustfmt::skip]
const BODIES: &[(Result<u64, u16>, &str, &str)] = &[
    (Ok(0), "0\r\n\r\n", "the shortest"),
    (Ok(5), "5\r\nhello\r\n0\r\n\r\n", "one chunk"),
    (Ok(5), "00005\r\nhello\r\n000\r\n\r\n", "zeros in front"),
    (Ok(26), "1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n", "digits of either case"),
    (Ok(2), "2\r\n\r\n\r\n0\r\n\r\n", "line ends as data"),
    (Ok(5), "5;a=b;c=\"d\"\r\nhello\r\n0\r\n\r\n", "extensions"),
    (Ok(0), "0\r\nA: b\r\nC: d\r\n\r\n", "trailers"),
    (Err(400), "5\nhello\r\n0\r\n\r\n", "a size line that ends with LF alone"),
    (Err(400), "5\r\nhello\n0\r\n\r\n", "data that ends with LF alone"),
    (Err(400), "5;a\nhello\r\n0\r\n\r\n", "LF alone in an extension (TERM.EXT)"),
    (Err(400), "5\rXhello\r\n0\r\n\r\n", "CR and something else"),
    (Err(400), "5\r\nhelloXX0\r\n\r\n", "any two bytes behind the data: a spilled length"),
    (Err(400), "5\r\nhello!\r\n0\r\n\r\n", "more data than announced"),
    (Err(400), "5 \r\nhello\r\n0\r\n\r\n", "a padded size"),
    (Err(400), " 5\r\nhello\r\n0\r\n\r\n", "a space first"),
    (Err(400), "5 ;a\r\nhello\r\n0\r\n\r\n", "a space before an extension"),
    (Err(400), "+5\r\nhello\r\n0\r\n\r\n", "a sign"),
    (Err(400), "-5\r\nhello\r\n0\r\n\r\n", "the other sign"),
    (Err(400), "0x5\r\nhello\r\n0\r\n\r\n", "a prefix: zero to some"),
    (Err(400), "\r\n", "no size"),
    (Err(400), ";a\r\n", "an extension of nothing"),
    (Err(400), "g\r\n", "no digit"),
    (Err(400), "5_0\r\n", "a separator"),
    (Err(400), "10000000000000005\r\nhello\r\n", "a size of 65 bits: five to some"),
    (Err(413), "ffffffffffffffff\r\n", "a size of 64 bits"),
    (Err(413), "3e9\r\n", "1001 bytes, with a limit of 1000"),
    (Err(400), "0\r\nA b\r\n\r\n", "a trailer without a colon"),
    (Err(400), "0\r\nA : b\r\n\r\n", "a trailer with a space before its colon"),
    (Err(400), "0\r\n A: b\r\n\r\n", "a folded trailer"),
    (Err(400), "0\r\nA: b\n\r\n", "a trailer that ends with LF alone"),
    (Err(400), "0\r\nA: \0\r\n\r\n", "NUL in a trailer"),
    (Err(400), "0\r\n\rX", "an end that is none"),
    (Err(400), "0\r\n\n", "an end of LF alone"),
    (Err(400), "5;\0\r\n", "NUL in an extension"),
];

#[test]
fn every_chunked_body_gets_the_answer_the_table_gives() {
    for (expected, text, why) in BODIES {
        let mut chunks = Chunks::new(&limits());
        let next = format!("{text}GET");
        let got = match chunks.advance(next.as_bytes()) {
            Ok(scan) => {
                assert!(scan.done && scan.consumed == text.len(), "{text:?}: {why}");
                Ok(chunks.body_bytes())
            }
            Err(bad) => Err(bad.status()),
        };
        assert_eq!(got, *expected, "{text:?}: {why}");
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
