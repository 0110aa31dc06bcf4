//! Method: heads, bodies and cuts drawn at random (proptest); what must hold of all of them. The
//! promises about arbitrary bytes are those of the fuzzer's functions, run here once more on bytes
//! that look a little like HTTP.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::fuzzing;
use wire::http::emit::{self, HeadBuilder, RequestEdit};
use wire::http::{Body, Framing, Limits, Slots, body::Piece, request};

fn fields() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let name = "[A-Za-z][A-Za-z0-9-]{0,14}".prop_map(|name| format!("Q-{name}"));
    let value = "[!-~]([ -~]{0,30}[!-~])?".prop_map(String::into_bytes);
    vec((name, value), 0..20)
}

/// Bytes of which many are parts of HTTP.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"GET / HTTP/1.1\r\n".to_vec()),
        Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Just(b"Host: a\r\n".to_vec()),
        Just(b"Content-Length: 3\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Connection: upgrade, x\r\n".to_vec()),
        Just(b"Upgrade: x\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"5\r\nhello\r\n".to_vec()),
        Just(b"0\r\n".to_vec()),
        vec(any::<u8>(), 0..4),
    ];
    vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn what_was_built_is_what_is_read_and_what_is_sent_on(
        method in "[A-Z]{1,9}",
        target in "/[!-\"$-~]{0,40}",
        fields in fields(),
        length in proptest::option::of(any::<u32>()),
    ) {
        prop_assume!(method != "CONNECT");
        let mut bytes = Vec::new();
        let mut head = HeadBuilder::request(&method, &target, &mut bytes).field("Host", b"a:1");
        for (name, value) in &fields {
            head = head.field(name, value);
        }
        if let Some(length) = length {
            head = head.number("Content-Length", length.into());
        }
        head.end().unwrap();
        let mut slots = Slots::new();
        let read = request::parse(&bytes, &Limits::default(), &mut slots).unwrap().unwrap();
        prop_assert_eq!(read.method_name, method);
        prop_assert_eq!(read.target, target);
        prop_assert_eq!(read.authority, Some("a:1"));
        let expected = length.map_or(Framing::None, |length| Framing::Length(length.into()));
        prop_assert_eq!(read.body, expected);
        let got: Vec<_> = read.fields().iter().skip(1).take(fields.len()).collect();
        let built: Vec<_> = fields.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
        prop_assert_eq!(got, built);
        let mut sent = Vec::new();
        emit::request(&read, &RequestEdit::default(), &mut sent);
        prop_assert_eq!(sent, bytes);
    }

    #[test]
    fn content_put_into_chunks_comes_out_again_however_it_is_cut(
        parts in vec(vec(any::<u8>(), 1..300), 0..8),
        cuts in vec(1usize..90, 1..9),
    ) {
        let mut bytes = Vec::new();
        for part in &parts {
            emit::chunk_size(part.len() as u64, &mut bytes);
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(emit::CHUNK_END);
        }
        bytes.extend_from_slice(emit::LAST_CHUNK);
        let end = bytes.len();
        bytes.extend_from_slice(b"GET / HTTP/1.1\r\n");

        let Body::Chunked(mut chunks) = Body::new(Framing::Chunked, &Limits::default()) else {
            panic!("chunks are chunked")
        };
        let (mut content, mut at, mut cut) = (Vec::new(), 0, 0);
        while !chunks.is_done() {
            let piece = &bytes[at..(at + cuts[cut % cuts.len()]).min(bytes.len())];
            cut += 1;
            match chunks.next(piece).unwrap() {
                Piece::Data(range) => {
                    content.extend_from_slice(&piece[range.clone()]);
                    at += range.end;
                }
                Piece::More => at += piece.len(),
                Piece::End(used) => at += used,
            }
        }
        prop_assert_eq!(at, end);
        prop_assert_eq!(content, parts.concat());
    }

    #[test]
    fn whatever_arrives_reads_the_same_in_parts_and_sent_on(bytes in soup()) {
        fuzzing::request_head(&bytes);
        fuzzing::response_head(&bytes);
        fuzzing::chunks(&bytes);
    }

    #[test]
    fn a_body_of_known_length_takes_its_bytes_and_no_more(
        length in 0u64..500,
        cuts in vec(0usize..200, 1..20),
    ) {
        let mut body = Body::new(Framing::Length(length), &Limits::default());
        let (mut taken, mut shown) = (0, 0);
        for cut in cuts {
            let scan = body.advance(&vec![0; cut]).unwrap();
            taken += scan.consumed as u64;
            shown += cut as u64;
            prop_assert_eq!(scan.done, body.is_done());
        }
        prop_assert_eq!(taken, length.min(shown));
        prop_assert_eq!(body.is_done(), shown >= length);
    }
}
