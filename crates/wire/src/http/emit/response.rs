//! A server's response as a client gets it.

use super::field;
use super::request::via_field;
use crate::http::names::Name;
use crate::http::{ResponseHead, Version};

/// How the body's framing changes on its way; the relay does to the bytes what is said here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyEdit {
    /// Not at all: the bytes pass as they came.
    #[default]
    Keep,
    /// The chunks are taken apart (see [`Chunks::next`](crate::http::Chunks::next)) and the body
    /// ends with the connection, which must be closed: for a client of HTTP/1.0.
    Dechunk,
    /// A body that ends with the server's connection is put into chunks, so that the client's can
    /// be used again.
    Chunk,
}

/// How a response changes on its way.
#[derive(Clone, Copy, Debug)]
pub struct ResponseEdit<'e> {
    /// This switch's name in Via, which is added as `1.1 name`.
    pub via: Option<&'e str>,
    /// The client's version. One of HTTP/1.0 must be told that its connection stays, gets no
    /// chunks, and no interim replies: those the relay keeps to itself.
    pub client: Version,
    /// Whether the client's connection is closed after this reply.
    pub close: bool,
    /// How the body's framing changes.
    pub body: BodyEdit,
    /// Given as X-Request-Id in place of the server's. `None` leaves the field.
    pub request_id: Option<&'e str>,
    /// Given where the server sent no Date (RFC 9110, 6.6.1); see [`date`](crate::http::date).
    pub date: Option<&'e [u8]>,
}

impl Default for ResponseEdit<'_> {
    fn default() -> Self {
        Self {
            via: None,
            client: Version::Http11,
            close: false,
            body: BodyEdit::Keep,
            request_id: None,
            date: None,
        }
    }
}

/// Appends the head to send to a client: HTTP/1.1, without what ends at this hop.
pub fn response(head: &ResponseHead<'_, '_>, edit: &ResponseEdit<'_>, out: &mut Vec<u8>) {
    const ADDED_BYTES: usize = 256;
    let fields = head.fields();
    out.reserve(fields.raw.len() + ADDED_BYTES);
    let marks = &fields.marks;
    let mut skip = marks.hop();
    if keeps_upgrade(head) {
        skip &= !marks.of(Name::Upgrade);
    }
    if edit.body != BodyEdit::Keep || has_no_framing(head.status) {
        skip |= marks.of(Name::TransferEncoding);
    }
    if has_no_framing(head.status) {
        skip |= marks.of(Name::ContentLength);
    }
    if edit.request_id.is_some() {
        skip |= marks.of(Name::RequestId);
    }
    fields.copy(status_line(head, out), skip, out);
    if !head.is_interim() {
        append(head, edit, out);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends version and status, which are ours to write, and returns where the copying begins: at
/// the reason phrase, or, where even the space before it is missing, at the line's end.
fn status_line(head: &ResponseHead<'_, '_>, out: &mut Vec<u8>) -> usize {
    const STATUS_END: usize = b"HTTP/1.1 200".len();
    let raw = head.fields().raw;
    out.extend_from_slice(b"HTTP/1.1");
    out.extend_from_slice(&raw[b"HTTP/1.1".len()..STATUS_END]);
    out.push(b' ');
    STATUS_END + usize::from(raw[STATUS_END] == b' ')
}

/// What no interim reply needs.
fn append(head: &ResponseHead<'_, '_>, edit: &ResponseEdit<'_>, out: &mut Vec<u8>) {
    let marks = &head.fields().marks;
    if edit.body == BodyEdit::Chunk {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    if let Some(date) = edit.date.filter(|_| marks.of(Name::Date) == 0) {
        field("Date", date, out);
    }
    if let Some(id) = edit.request_id {
        field("X-Request-Id", id.as_bytes(), out);
    }
    if let Some(via) = edit.via {
        via_field(head.version, via, out);
    }
    out.extend_from_slice(match (keeps_upgrade(head), edit.close, edit.client) {
        (true, false, _) => b"Connection: upgrade\r\n",
        (true, true, _) if head.is_upgrade() => b"Connection: upgrade\r\n",
        (true, true, _) => b"Connection: close, upgrade\r\n",
        (false, true, _) => b"Connection: close\r\n",
        (false, false, Version::Http10) => b"Connection: keep-alive\r\n",
        (false, false, Version::Http11) => b"",
    });
}

/// 101 says what is spoken from here on, 426 what would have to be: both need Upgrade.
fn keeps_upgrade(head: &ResponseHead<'_, '_>) -> bool {
    matches!(head.status, 101 | 426) && head.fields().marks.of(Name::Upgrade) != 0
}

/// Whether a reply of this status may not speak of a body at all (RFC 9110, 8.6; 9112, 6.1).
fn has_no_framing(status: u16) -> bool {
    status < 200 || status == 204
}
