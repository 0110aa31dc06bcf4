//! Heads from nothing: what a client (the load generator) and a server (the origin) send.

use super::decimal;
use crate::http::body::is_token;
use crate::http::status;

/// A part holds bytes that would break out of their place: a line end, a control character, a
/// space in a target. Nothing was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsendable;

/// Writes a head, field by field, behind what a buffer holds already.
///
/// ```
/// use wire::http::emit::HeadBuilder;
///
/// let mut out = Vec::new();
/// HeadBuilder::request("GET", "/a", &mut out).field("Host", b"a.example").end().unwrap();
/// assert_eq!(out, b"GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n");
/// ```
#[must_use = "a head without its end is not sent"]
#[derive(Debug)]
pub struct HeadBuilder<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    valid: bool,
}

impl<'o> HeadBuilder<'o> {
    /// Begins a request. HTTP/1.1 demands Host as a field.
    pub fn request(method: &str, target: &str, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        let valid = is_token_string(method)
            && !target.is_empty()
            && target.bytes().all(|byte| byte.is_ascii_graphic());
        for part in [method, " ", target, " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        Self { out, start, valid }
    }

    /// Begins a response.
    pub fn response(status: u16, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(b"HTTP/1.1 ");
        decimal(u64::from(status), out);
        out.push(b' ');
        out.extend_from_slice(status::reason(status).as_bytes());
        out.extend_from_slice(b"\r\n");
        Self { out, start, valid: (100..1000).contains(&status) }
    }

    /// Adds a field.
    pub fn field(mut self, name: &str, value: &[u8]) -> Self {
        let text = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
        self.valid &= is_token_string(name) && value.iter().all(text);
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Adds a field with a number.
    pub fn number(self, name: &str, value: u64) -> Self {
        let Self { out, start, valid } = self;
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        decimal(value, out);
        out.extend_from_slice(b"\r\n");
        Self { out, start, valid: valid && is_token_string(name) }
    }

    /// Ends the head.
    ///
    /// # Errors
    ///
    /// [`Unsendable`]; the buffer is as it was.
    pub fn end(self) -> Result<(), Unsendable> {
        if !self.valid {
            self.out.truncate(self.start);
            return Err(Unsendable);
        }
        self.out.extend_from_slice(b"\r\n");
        Ok(())
    }
}

fn is_token_string(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token)
}
