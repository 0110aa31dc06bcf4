//! The replies this switch gives by itself.

use super::{decimal, field};
use crate::http::status;

/// How an error is said.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorEdit<'e> {
    /// Whether the connection is closed afterwards.
    pub close: bool,
    /// When it may be tried again, in seconds.
    pub retry_after_s: Option<u32>,
    /// Whether the body is only measured, not sent: the answer to HEAD.
    pub head_only: bool,
    /// The request's X-Request-Id.
    pub request_id: Option<&'e str>,
    /// The time, as [`date`](crate::http::date) writes it.
    pub date: Option<&'e [u8]>,
}

/// Appends a whole reply: `status` and, as text, why. `why` is a sentence without a full stop.
/// Returns how many of the bytes are the head's.
pub fn error(status: u16, why: &str, edit: &ErrorEdit<'_>, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let reason = status::reason(status);
    let status = status.clamp(100, 999);
    out.extend_from_slice(b"HTTP/1.1 ");
    decimal(u64::from(status), out);
    out.push(b' ');
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ");
    // "503 " reason ": " why "\n"
    decimal((4 + reason.len() + 2 + why.len() + 1) as u64, out);
    out.extend_from_slice(b"\r\nCache-Control: no-store\r\n");
    if let Some(seconds) = edit.retry_after_s {
        out.extend_from_slice(b"Retry-After: ");
        decimal(u64::from(seconds), out);
        out.extend_from_slice(b"\r\n");
    }
    if let Some(date) = edit.date {
        field("Date", date, out);
    }
    if let Some(id) = edit.request_id {
        field("X-Request-Id", id.as_bytes(), out);
    }
    if edit.close {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
    let head_bytes = out.len() - start;
    if !edit.head_only {
        decimal(u64::from(status), out);
        out.push(b' ');
        for part in [reason, ": ", why, "\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    head_bytes
}
