//! The heads of answers.

use model::Source;
use std::io::Write;
use wire::http::{Version, date, status};

/// What the head of an answer says besides the status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    pub(crate) status: u16,
    pub(crate) version: Version,
    /// Whether the connection stays open.
    pub(crate) keep_alive: bool,
    pub(crate) content_type: &'a str,
    /// The length, or none for chunks.
    pub(crate) length: Option<u64>,
    /// The cache's name and where the answer comes from, if it concerns the cache at all.
    pub(crate) cache: Option<(&'a str, Source)>,
}

/// Appends the head, the blank line included. `today` is a date of [`date::format`].
pub(crate) fn emit(head: &Head<'_>, today: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    number(u64::from(head.status), out);
    out.push(b' ');
    out.extend_from_slice(status::reason(head.status).as_bytes());
    out.extend_from_slice(b"\r\nServer: baton-origin\r\nDate: ");
    out.extend_from_slice(today);
    out.extend_from_slice(b"\r\nContent-Type: ");
    out.extend_from_slice(head.content_type.as_bytes());
    match head.length {
        Some(length) => {
            out.extend_from_slice(b"\r\nContent-Length: ");
            number(length, out);
        }
        None => out.extend_from_slice(b"\r\nTransfer-Encoding: chunked"),
    }
    if let Some((name, source)) = head.cache {
        out.extend_from_slice(b"\r\nCache-Status: ");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(match source {
            Source::Hit => b"; hit",
            Source::Miss => b"; fwd=miss",
            Source::Coalesced => b"; fwd=miss; collapsed",
            Source::Bypass => b"; fwd=bypass",
        });
    }
    match (head.keep_alive, head.version) {
        (false, _) => out.extend_from_slice(b"\r\nConnection: close"),
        (true, Version::Http10) => out.extend_from_slice(b"\r\nConnection: keep-alive"),
        (true, Version::Http11) => {}
    }
    out.extend_from_slice(b"\r\n\r\n");
}

/// Appends the framing of a chunk of `bytes` up to its content.
pub(crate) fn chunk(bytes: usize, out: &mut Vec<u8>) {
    write!(out, "{bytes:x}\r\n").expect("memory takes all that is written");
}

/// A name as RFC 9211 wants it: a token, or else in quotes. Done once, not for each answer.
pub(crate) fn cache_name(name: &str) -> String {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte);
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'*');
    if first && name.bytes().all(token) {
        return name.into();
    }
    let plain: String = name.chars().filter(|c| matches!(c, ' '..='~')).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

fn number(value: u64, out: &mut Vec<u8>) {
    let (mut digits, mut at, mut rest) = ([0; 20], 20, value);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The date, written anew once a second.
#[derive(Debug)]
pub(crate) struct Today {
    text: [u8; date::DATE_BYTES],
}

impl Today {
    pub(crate) fn new() -> Self {
        let mut today = Self { text: date::format(0) };
        today.renew();
        today
    }

    pub(crate) fn renew(&mut self) {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        self.text = date::format(since.as_secs());
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_what_it_is_in_the_order_one_reads_it() {
        let head = Head {
            status: 200,
            version: Version::Http11,
            keep_alive: false,
            content_type: "text/plain",
            length: Some(1_234_567_890),
            cache: Some(("o1", Source::Coalesced)),
        };
        let mut out = Vec::new();
        emit(&head, &date::format(784_111_777), &mut out);
        let text = "HTTP/1.1 200 OK\r\nServer: baton-origin\r\n\
            Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n\
            Content-Length: 1234567890\r\nCache-Status: o1; fwd=miss; collapsed\r\n\
            Connection: close\r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn a_name_that_is_no_token_is_quoted_and_cannot_add_a_field() {
        assert_eq!(cache_name("origin-1"), "origin-1");
        assert_eq!(cache_name("10.0.0.1:80"), "\"10.0.0.1:80\"");
        assert_eq!(cache_name("a\"b\r\nX: y"), "\"a\\\"bX: y\"");
        assert_eq!(cache_name(""), "\"\"");
    }

    #[test]
    fn numbers_are_written_whole() {
        for value in [0, 7, 10, 999, u64::MAX] {
            let mut out = Vec::new();
            number(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }
}
