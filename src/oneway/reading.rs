//! From a held segment to what is asked: the same head parser and the same rules as the relay's.

use super::reason::Local;
use distributor::{Asked, Live};
use rules::Verdict;
use wire::http::{Chunks, Framing, Limits, Reject, RequestHead, Slots, request};

/// A request that could be handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    /// What it is.
    pub(super) verdict: Verdict,
    /// Bytes of its head.
    pub(super) head_bytes: usize,
    /// Whether another request follows it in the same segment.
    pub(super) pipelined: bool,
}

/// Reads the request that a segment begins with, and shows its head to `seen`.
///
/// # Errors
/// Why the relay must take it.
pub(super) fn read(
    payload: &[u8],
    live: &Live,
    seen: &mut dyn FnMut(&RequestHead<'_, '_>),
) -> Result<Read, Local> {
    let mut slots = Slots::new();
    let limits = &live.settings.wire;
    let head = match request::parse(payload, limits, &mut slots) {
        Ok(Some(head)) => head,
        Ok(None) if speaks_http(payload) => return Err(Local::SplitHead),
        Ok(None) => return Err(Local::NotHttp),
        Err(reject) => return Err(refused(reject, payload)),
    };
    seen(&head);
    let verdict = live.rules.judge(&Asked(&head));
    let pipelined = is_followed(&payload[head.head_bytes..], head.body, limits);
    Ok(Read { verdict, head_bytes: head.head_bytes, pipelined })
}

/// The relay says what is wrong, but for what is not HTTP/1 at all.
fn refused(reject: Reject, payload: &[u8]) -> Local {
    match reject.status {
        413 | 414 | 431 => Local::TooLong,
        _ if !speaks_http(payload) => Local::NotHttp,
        _ => Local::BadRequest,
    }
}

/// Whether the bytes could begin a request of HTTP/1. HTTP/2 begins with a method of its own, so
/// that nobody takes it for one.
fn speaks_http(payload: &[u8]) -> bool {
    /// Letters of the longest registered method (UPDATEREDIRECTREF) and some more.
    const METHOD_BYTES_MAX: usize = 24;
    let end = payload.iter().position(|byte| *byte == b' ').unwrap_or(payload.len());
    let method = &payload[..end];
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    (1..=METHOD_BYTES_MAX).contains(&method.len()) && method.iter().all(token) && method != b"PRI"
}

/// Whether more follows than the body.
fn is_followed(rest: &[u8], framing: Framing, limits: &Limits) -> bool {
    match framing {
        Framing::None => !rest.is_empty(),
        Framing::Length(bytes) => rest.len() as u64 > bytes,
        // A chunk that is malformed is the server's to refuse.
        Framing::Chunked => {
            let scan = Chunks::new(limits).advance(rest);
            scan.is_ok_and(|scan| scan.done && scan.consumed < rest.len())
        }
        Framing::UntilClose => false,
    }
}
