//! A client's request as a server gets it.

use super::{decimal, field};
use crate::http::names::Name;
use crate::http::request::Form;
use crate::http::{RequestHead, Version};

/// What becomes of X-Request-Id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestId<'e> {
    /// It passes as it came, if it came.
    #[default]
    Untouched,
    /// The client's stays; this one is given where there is none.
    KeepOr(&'e str),
    /// This one, whatever came.
    Set(&'e str),
}

/// How a request changes on its way. The default adds nothing and removes what ends at this hop.
/// Strings must be fit for a field value: one line, no control characters.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestEdit<'e> {
    /// This switch's name in Via, which is added as `1.1 name`.
    pub via: Option<&'e str>,
    /// The client's address, as text without a port.
    pub client: Option<&'e str>,
    /// How the client reached us, `http` or `https`.
    pub scheme: Option<&'e str>,
    /// Whether X-Forwarded-For, -Proto and -Host tell the server of client, scheme and the host
    /// that was asked for, as far as they are known.
    pub x_forwarded: bool,
    /// Whether Forwarded (RFC 7239) does.
    pub forwarded: bool,
    /// Whether the client is a proxy that is believed: then X-Forwarded-For and Forwarded are
    /// appended to, the others kept. What anybody else says of itself in these fields, or in
    /// X-Forwarded-Port and X-Real-IP, never passes, whether or not others are written.
    pub trusted: bool,
    /// What becomes of X-Request-Id.
    pub request_id: RequestId<'e>,
    /// Another Host than the client's.
    pub host: Option<&'e str>,
    /// Whether the connection to the server is closed after this request.
    pub close: bool,
    /// Whether the request's wish to switch protocols is passed on.
    pub upgrade: bool,
    /// Whether the server is to be asked for 100 (Continue); else Expect ends here, because this
    /// switch has answered it.
    pub expect: bool,
}

/// Appends the head to send to a server: HTTP/1.1, origin form, without what ends at this hop.
///
/// `Transfer-Encoding: chunked` stays, for chunks are passed through as they came. `TE` ends here
/// but for `trailers`, which is true of this switch as well: trailers pass with the chunks. OPTIONS
/// with [`RequestHead::max_forwards`] of zero must not be sent on at all; that is the caller's.
pub fn request(head: &RequestHead<'_, '_>, edit: &RequestEdit<'_>, out: &mut Vec<u8>) {
    const ADDED_BYTES: usize = 512;
    let fields = head.fields();
    out.reserve(fields.raw.len() + ADDED_BYTES);
    let marks = &fields.marks;
    let upgrade = head.upgrade.filter(|_| edit.upgrade);
    let mut skip = marks.hop();
    if upgrade.is_some() {
        skip &= !marks.of(Name::Upgrade);
    }
    if !edit.expect {
        skip |= marks.of(Name::Expect);
    }
    let onward = head.max_forwards().map(|hops| hops.saturating_sub(1));
    if onward.is_some() {
        skip |= marks.of(Name::MaxForwards);
    }
    let added = Added::choose(head, edit, skip);
    skip |= added.replaced;

    let host = host(head, edit, skip);
    let mut from = 0;
    if host.is_some() || head.form == Form::Absolute || head.version == Version::Http10 {
        request_line(head, out);
        from = fields.line_start(0);
    }
    if let Some(host) = host {
        skip |= marks.of(Name::Host);
        field("Host", host.as_bytes(), out);
    }
    fields.copy(from, skip, out);
    if let Some(hops) = onward {
        out.extend_from_slice(b"Max-Forwards: ");
        decimal(hops, out);
        out.extend_from_slice(b"\r\n");
    }
    added.append(head, edit, out);
    connection(head, edit, upgrade.is_some(), out);
    out.extend_from_slice(b"\r\n");
}

fn request_line(head: &RequestHead<'_, '_>, out: &mut Vec<u8>) {
    out.extend_from_slice(head.method_name.as_bytes());
    out.push(b' ');
    out.extend_from_slice(head.path.as_bytes());
    if let Some(query) = head.query {
        out.push(b'?');
        out.extend_from_slice(query.as_bytes());
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
}

/// The Host to write, where the client's does not simply stay. HTTP/1.1 wants one always; it is
/// empty where the client named none (RFC 9110, 7.2).
fn host<'a>(head: &RequestHead<'a, '_>, edit: &RequestEdit<'a>, skip: u128) -> Option<&'a str> {
    let absent = head.fields().marks.of(Name::Host) & !skip == 0;
    let replaced = edit.host.is_some() || head.form == Form::Absolute || absent;
    replaced.then(|| edit.host.or(head.authority).unwrap_or(""))
}

/// Which of the fields about the way so far are written anew.
struct Added {
    /// The client's fields that go.
    replaced: u128,
    /// Lists that are kept as the beginning of ours.
    for_kept: u128,
    forwarded_kept: u128,
    proto: bool,
    host: bool,
    request_id: bool,
}

impl Added {
    #[inline]
    fn choose(head: &RequestHead<'_, '_>, edit: &RequestEdit<'_>, gone: u128) -> Self {
        let marks = &head.fields().marks;
        let came = |name| marks.of(name) & !gone;
        let kept = |name| if edit.trusted { came(name) } else { 0 };
        let proto = edit.x_forwarded && kept(Name::ForwardedProto) == 0;
        let host = edit.x_forwarded && kept(Name::ForwardedHost) == 0;
        let request_id = match edit.request_id {
            RequestId::Untouched => false,
            RequestId::KeepOr(_) => came(Name::RequestId) == 0,
            RequestId::Set(_) => true,
        };
        let mut replaced = 0;
        for (name, is_replaced) in [
            (Name::ForwardedFor, !edit.trusted || edit.x_forwarded && edit.client.is_some()),
            (Name::Forwarded, !edit.trusted || edit.forwarded),
            (Name::ForwardedProto, !edit.trusted),
            (Name::ForwardedOther, !edit.trusted),
            (Name::ForwardedHost, !edit.trusted),
            (Name::RequestId, request_id),
        ] {
            replaced |= if is_replaced { marks.of(name) } else { 0 };
        }
        Self {
            replaced,
            for_kept: kept(Name::ForwardedFor),
            forwarded_kept: kept(Name::Forwarded),
            proto,
            host,
            request_id,
        }
    }

    #[inline]
    fn append(&self, head: &RequestHead<'_, '_>, edit: &RequestEdit<'_>, out: &mut Vec<u8>) {
        if let Some(client) = edit.client.filter(|_| edit.x_forwarded) {
            out.extend_from_slice(b"X-Forwarded-For: ");
            kept_list(head, self.for_kept, out);
            out.extend_from_slice(client.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        if let Some(proto) = edit.scheme.filter(|_| self.proto) {
            field("X-Forwarded-Proto", proto.as_bytes(), out);
        }
        if let Some(host) = head.authority.filter(|_| self.host) {
            field("X-Forwarded-Host", host.as_bytes(), out);
        }
        if edit.forwarded {
            out.extend_from_slice(b"Forwarded: ");
            kept_list(head, self.forwarded_kept, out);
            forwarded_element(head, edit, out);
            out.extend_from_slice(b"\r\n");
        }
        if let RequestId::KeepOr(id) | RequestId::Set(id) = edit.request_id
            && self.request_id
        {
            field("X-Request-Id", id.as_bytes(), out);
        }
        if let Some(via) = edit.via {
            via_field(head.version, via, out);
        }
    }
}

/// The elements that came in the fields `kept`, in one list and with a comma behind: many servers
/// read one field of a name only.
fn kept_list(head: &RequestHead<'_, '_>, mut kept: u128, out: &mut Vec<u8>) {
    while kept != 0 {
        let value = head.fields().list[kept.trailing_zeros() as usize].value;
        if !value.is_empty() {
            out.extend_from_slice(value);
            out.extend_from_slice(b", ");
        }
        kept &= kept - 1;
    }
}

/// One element of Forwarded. Addresses of version 6 and hosts with ports must be quoted
/// (RFC 7239, 4 and 6); hosts were checked to hold no quote.
fn forwarded_element(head: &RequestHead<'_, '_>, edit: &RequestEdit<'_>, out: &mut Vec<u8>) {
    match edit.client {
        Some(client) if client.contains(':') => {
            out.extend_from_slice(b"for=\"[");
            out.extend_from_slice(client.as_bytes());
            out.extend_from_slice(b"]\"");
        }
        client => {
            out.extend_from_slice(b"for=");
            out.extend_from_slice(client.unwrap_or("unknown").as_bytes());
        }
    }
    if let Some(host) = head.authority {
        out.extend_from_slice(b";host=\"");
        out.extend_from_slice(host.as_bytes());
        out.push(b'"');
    }
    if let Some(proto) = edit.scheme {
        out.extend_from_slice(b";proto=");
        out.extend_from_slice(proto.as_bytes());
    }
}

/// Appends our Via, behind those that came: the protocol is the one the message came with.
pub(super) fn via_field(received: Version, via: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(match received {
        Version::Http10 => b"Via: 1.0 ",
        Version::Http11 => b"Via: 1.1 ",
    });
    out.extend_from_slice(via.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn connection(
    head: &RequestHead<'_, '_>,
    edit: &RequestEdit<'_>,
    upgrade: bool,
    out: &mut Vec<u8>,
) {
    if head.te_trailers {
        out.extend_from_slice(b"TE: trailers\r\n");
    }
    out.extend_from_slice(match (upgrade, edit.close, head.te_trailers) {
        (true, _, false) => b"Connection: upgrade\r\n",
        (true, _, true) => b"Connection: upgrade, TE\r\n",
        (false, true, false) => b"Connection: close\r\n",
        (false, true, true) => b"Connection: close, TE\r\n",
        (false, false, true) => b"Connection: TE\r\n",
        (false, false, false) => b"",
    });
}
