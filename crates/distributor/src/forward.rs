//! The request as a server gets it: what is added to the client's head.

use crate::client::Client;
use crate::counters::Cause;
use crate::exchange::ID_BYTES_MAX;
use crate::journal::Short;
use crate::settings::Forwarding;
use crate::shared::Live;
use crate::worker::Worker;
use wire::http::emit::{RequestEdit, RequestId};
use wire::http::{RequestHead, emit};

/// Method and target of the head that was sent.
pub(crate) fn first_line(head: &[u8]) -> (&[u8], &[u8]) {
    let mut words = head.splitn(3, |byte| *byte == b' ');
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// The answer of a request that must go no further than here, and why not.
pub(crate) fn last_word(
    head: &RequestHead<'_, '_>,
    forwarding: &Forwarding,
) -> Option<(Cause, (u16, &'static str))> {
    if head.max_forwards() == Some(0) {
        let said = "the request may go no further than this switch";
        return Some((Cause::Complete, (200, said)));
    }
    // A server that is the switch itself would be asked until no descriptor is left.
    forwarding.via().filter(|name| head.came_by(name)).map(|_| {
        let said = "the request passed this switch before: a server leads back to it";
        (Cause::Loop, (508, said))
    })
}

/// The identifier for `X-Request-Id`: the client's own where it is believed and is one word, else
/// a new one.
pub(crate) fn identify(
    head: &RequestHead<'_, '_>,
    live: &Live,
    worker: &Worker,
) -> Option<Short<ID_BYTES_MAX>> {
    let forwarding = &live.settings.forwarding;
    if !forwarding.request_id {
        return None;
    }
    let theirs = if forwarding.trust { head.field("x-request-id") } else { None };
    // It goes into the log unquoted: whatever could end a value there does not fit.
    let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    let fits = |id: &&[u8]| (1..=ID_BYTES_MAX).contains(&id.len()) && id.iter().all(plain);
    Some(theirs.filter(fits).map_or_else(|| worker.new_id(), Short::cut))
}

/// Appends the head for the server: as `bytes` have it, where the requests behind it will not be
/// seen and nothing can be added to them either.
pub(crate) fn write_first(
    head: &RequestHead<'_, '_>,
    bytes: &[u8],
    client: &Client,
    live: &Live,
    id: Option<&Short<ID_BYTES_MAX>>,
    out: &mut Vec<u8>,
) {
    match client.spliced {
        true => out.extend_from_slice(&bytes[..head.head_bytes]),
        false => write_head(head, client, live, id, out),
    }
}

/// Appends the head for the server.
pub(crate) fn write_head(
    head: &RequestHead<'_, '_>,
    client: &Client,
    live: &Live,
    id: Option<&Short<ID_BYTES_MAX>>,
    out: &mut Vec<u8>,
) {
    let forwarding = &live.settings.forwarding;
    let id = id.map(Short::text);
    let edit = RequestEdit {
        via: forwarding.via(),
        client: Some(&*client.peer_text),
        scheme: Some("http"),
        x_forwarded: forwarding.x_forwarded,
        forwarded: forwarding.forwarded,
        trusted: forwarding.trust,
        request_id: id.as_ref().map_or(RequestId::Untouched, |id| RequestId::Set(id)),
        host: None,
        close: false,
        upgrade: true,
        expect: true,
    };
    emit::request(head, &edit, out);
}
