//! What the fuzzer runs, and what the tests run on its corpora: one function for each target.
//!
//! Each panics when a promise of [`http`](crate::http) does not hold for the bytes given:
//! how the bytes are cut up makes no difference, and what is sent on reads like what came in.

use crate::http::emit::{BodyEdit, RequestEdit, RequestId, ResponseEdit};
use crate::http::{
    BadChunk, Body, Chunks, Framing, Limits, Method, RequestContext, RequestHead, ResponseHead,
    Slots, Version, body, emit, request, response,
};

/// Small, so that short inputs reach them.
const LIMITS: Limits = Limits {
    head_bytes_max: 600,
    fields_max: 12,
    target_bytes_max: 200,
    body_bytes_max: 100_000,
    chunk_line_bytes_max: 40,
    trailer_bytes_max: 60,
};

/// Wide enough for a head that was taken and sent on: what was added must not be refused.
const LIMITS_NEXT: Limits =
    Limits { head_bytes_max: 4096, fields_max: 40, target_bytes_max: 600, ..LIMITS };

/// The longest head whose every cut is tried; of longer ones about so many.
const CUTS: usize = 64;

fn cuts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    (0..bytes.len()).step_by(bytes.len() / CUTS + 1)
}

/// A request head: read whole, read in parts, sent on and read again.
pub fn request_head(bytes: &[u8]) {
    let mut slots = Slots::new();
    let whole = request::parse(bytes, &LIMITS, &mut slots);
    for cut in cuts(bytes) {
        let mut slots = Slots::new();
        match request::parse(&bytes[..cut], &LIMITS, &mut slots) {
            Ok(None) => {}
            Ok(Some(head)) => {
                let whole = whole.as_ref().ok().and_then(Option::as_ref);
                assert_eq!(Some(request_facts(&head)), whole.map(request_facts), "cut at {cut}");
            }
            Err(fault) => assert_eq!(Some(fault), whole.as_ref().err().copied(), "cut at {cut}"),
        }
    }
    let Ok(Some(head)) = whole else { return };
    let plain = RequestEdit { upgrade: true, expect: true, ..RequestEdit::default() };
    let full = RequestEdit {
        via: Some("here"),
        client: Some("2001:db8::1"),
        scheme: Some("https"),
        x_forwarded: true,
        forwarded: true,
        trusted: bytes.len().is_multiple_of(2),
        request_id: RequestId::KeepOr("id-1"),
        ..RequestEdit::default()
    };
    for edit in [plain, full] {
        request_sent_on(&head, &edit);
    }
}

fn request_facts<'b>(head: &RequestHead<'b, '_>) -> impl PartialEq + core::fmt::Debug + use<'b> {
    (
        (head.method, head.method_name, head.target, head.path, head.query, head.authority),
        (head.version, head.head_bytes, head.body, head.keep_alive, head.expect_continue),
        (head.upgrade, head.te_trailers),
        head.fields().iter().collect::<Vec<_>>(),
    )
}

fn request_sent_on(head: &RequestHead<'_, '_>, edit: &RequestEdit<'_>) {
    let mut sent = Vec::new();
    emit::request(head, edit, &mut sent);
    let mut slots = Slots::new();
    let next = match request::parse(&sent, &LIMITS_NEXT, &mut slots) {
        Ok(Some(next)) => next,
        other => panic!("{other:?} of {}", sent.escape_ascii()),
    };
    assert_eq!(next.head_bytes, sent.len());
    assert_eq!(next.version, Version::Http11);
    assert_eq!((next.method, next.method_name), (head.method, head.method_name));
    assert_eq!((next.path, next.query), (head.path, head.query));
    assert_eq!(next.body, head.body, "the server sees another body");
    assert_eq!(next.authority, head.authority, "the server sees another host");
    assert_eq!(next.upgrade, head.upgrade.filter(|_| edit.upgrade));
    for (index, (name, value)) in head.fields().iter().enumerate() {
        let added = ["x-forwarded", "forwarded", "via", "x-request-id", "host", "expect", "max-"];
        let is_added = added.iter().any(|start| name.to_ascii_lowercase().starts_with(start));
        if !head.is_hop_by_hop(index) && !is_added {
            assert!(next.fields().iter().any(|f| f == (name, value)), "{name} is lost");
        }
    }
}

/// A response head, likewise; the first byte says what was asked.
pub fn response_head(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let method = if choice & 1 == 0 { Method::Get } else { Method::Head };
    let asked = RequestContext { method, upgrade: choice & 2 != 0 };
    let mut slots = Slots::new();
    let whole = response::parse(bytes, &asked, &LIMITS, &mut slots);
    for cut in cuts(bytes) {
        let mut slots = Slots::new();
        match response::parse(&bytes[..cut], &asked, &LIMITS, &mut slots) {
            Ok(None) => {}
            Ok(Some(head)) => {
                let whole = whole.as_ref().ok().and_then(Option::as_ref);
                assert_eq!(Some(response_facts(&head)), whole.map(response_facts), "cut at {cut}");
            }
            Err(fault) => assert_eq!(Some(fault), whole.as_ref().err().copied(), "cut at {cut}"),
        }
    }
    let Ok(Some(head)) = whole else { return };
    for client in [Version::Http10, Version::Http11] {
        let body = match (head.body, client) {
            (Framing::Chunked, Version::Http10) => BodyEdit::Dechunk,
            (Framing::UntilClose, Version::Http11) => BodyEdit::Chunk,
            _ => BodyEdit::Keep,
        };
        let edit = ResponseEdit { via: Some("here"), client, body, ..ResponseEdit::default() };
        response_sent_on(&head, &asked, &edit);
    }
}

fn response_facts<'b>(head: &ResponseHead<'b, '_>) -> impl PartialEq + core::fmt::Debug + use<'b> {
    (
        (head.status, head.version, head.head_bytes, head.body, head.keep_alive),
        head.fields().iter().collect::<Vec<_>>(),
    )
}

fn response_sent_on(head: &ResponseHead<'_, '_>, asked: &RequestContext, edit: &ResponseEdit<'_>) {
    let mut sent = Vec::new();
    emit::response(head, edit, &mut sent);
    let mut slots = Slots::new();
    let next = match response::parse(&sent, asked, &LIMITS_NEXT, &mut slots) {
        Ok(Some(next)) => next,
        other => panic!("{other:?} of {}", sent.escape_ascii()),
    };
    assert_eq!((next.head_bytes, next.version), (sent.len(), Version::Http11));
    assert_eq!(next.status, head.status);
    let expected = match edit.body {
        BodyEdit::Keep => head.body,
        BodyEdit::Dechunk => Framing::UntilClose,
        BodyEdit::Chunk => Framing::Chunked,
    };
    assert_eq!(next.body, expected, "the client sees another body");
}

/// A chunked body: scanned whole, byte by byte, in parts, and with its data unseen.
pub fn chunks(bytes: &[u8]) {
    let whole = scan(bytes, bytes.len().max(1));
    for size in [1, 2, 3, 7, 64] {
        assert_eq!(scan(bytes, size), whole, "in parts of {size}");
    }
    if let Ok((consumed, content)) = whole {
        let mut unseen = Body::new(Framing::Chunked, &LIMITS);
        let (mut at, mut skipped) = (0, 0);
        while at < consumed {
            let opaque = unseen.opaque().min((consumed - at) as u64);
            unseen.skip(opaque);
            skipped += opaque;
            at += opaque as usize;
            if at < consumed {
                let scan = unseen.advance(&bytes[at..=at]);
                assert_eq!(scan.map(|scan| scan.consumed), Ok(1), "at {at}");
                at += 1;
            }
        }
        assert_eq!(skipped, content.len() as u64, "content is what may pass unseen");
    }
}

/// Bytes that belong to the body and its content, from parts of `size` bytes.
fn scan(bytes: &[u8], size: usize) -> Result<(usize, Vec<u8>), BadChunk> {
    let (mut by_advance, mut by_next) = (Chunks::new(&LIMITS), Chunks::new(&LIMITS));
    let (mut consumed, mut content) = (0, Vec::new());
    for part in bytes.chunks(size) {
        let scan = by_advance.advance(part);
        let pieces = collect(&mut by_next, part, &mut content);
        assert_eq!(scan, pieces, "both ways of reading agree");
        let scan = scan?;
        consumed += scan.consumed;
        if scan.done {
            assert!(by_advance.is_done());
            return Ok((consumed, content));
        }
        assert_eq!(scan.consumed, part.len(), "what is not over takes all it is given");
    }
    Ok((consumed, content))
}

fn collect(
    chunks: &mut Chunks,
    part: &[u8],
    content: &mut Vec<u8>,
) -> Result<body::Scan, BadChunk> {
    let mut at = 0;
    loop {
        match chunks.next(&part[at..])? {
            body::Piece::Data(range) => {
                content.extend_from_slice(&part[at + range.start..at + range.end]);
                at += range.end;
            }
            body::Piece::More => return Ok(body::Scan { consumed: part.len(), done: false }),
            body::Piece::End(end) => return Ok(body::Scan { consumed: at + end, done: true }),
        }
    }
}
