//! How logs write single values: statuses, counts, spans of time, addresses, request lines.

use super::Cause;
use crate::civil::number;
use crate::record::clean_url;
use std::borrow::Cow;

/// In what a span of time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    const fn ns(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Millis => 1_000_000,
            Self::Micros => 1000,
            Self::Nanos => 1,
        }
    }
}

pub(super) fn first_of(text: &[u8], gap: u8) -> &[u8] {
    text.split(|&byte| byte == gap).next().unwrap_or_default().trim_ascii()
}

/// The last of a list with commas, or, over groups of servers, colons with blanks around.
pub(super) fn last_of(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii().strip_suffix(b",").unwrap_or(text).trim_ascii();
    let gap = text.iter().rposition(|byte| matches!(byte, b' ' | b','));
    gap.map_or(text, |at| &text[at + 1..])
}

/// The address in `10.0.0.1:80`, `[::1]:80` or either of them behind other words.
pub(super) fn address(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_end();
    let text = memchr::memrchr(b' ', text).map_or(text, |at| &text[at + 1..]);
    if let Some(rest) = text.strip_prefix(b"[") {
        return first_of(rest, b']');
    }
    memchr::memrchr(b':', text).map_or(text, |at| &text[..at])
}

pub(super) fn blank(text: &[u8]) -> bool {
    matches!(text, b"" | b"-")
}

/// Text that is not UTF-8 is made so; the fields of ordinary lines stay slices.
pub(super) fn utf8(text: Cow<'_, [u8]>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => match std::str::from_utf8(text) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(text),
        },
        Cow::Owned(text) => Cow::Owned(String::from_utf8_lossy(&text).into_owned()),
    }
}

pub(super) fn url<'a>(path: Cow<'a, [u8]>, query: &[u8]) -> Cow<'a, str> {
    let query = query.strip_prefix(b"?").unwrap_or(query);
    if !blank(query) {
        return Cow::Owned(clean_url(&[&path, &b"?"[..], query].concat()).into_owned());
    }
    match path {
        Cow::Borrowed(path) => clean_url(path),
        Cow::Owned(path) => Cow::Owned(clean_url(&path).into_owned()),
    }
}

pub(super) fn token(method: &[u8]) -> bool {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    !blank(method) && method.iter().all(part)
}

/// The method and the URL of a logged request line. HTTP/0.9 has no version; URLs with raw blanks
/// were sent and logged.
pub(super) fn request_line(request: &[u8]) -> Result<(&[u8], &[u8]), Cause> {
    let request = request.trim_ascii();
    let gap = memchr::memchr(b' ', request).ok_or(Cause::Request)?;
    let (method, rest) = request.split_at(gap);
    let url = match memchr::memrchr(b' ', rest) {
        Some(at) if rest[at + 1..].starts_with(b"HTTP/") => rest[..at].trim_ascii(),
        _ => rest.trim_ascii(),
    };
    if url.is_empty() || !token(method) { Err(Cause::Request) } else { Ok((method, url)) }
}

/// A status code; 0, -1 and nothing say that the client got none.
pub(super) fn status(text: &[u8]) -> Result<u16, Cause> {
    match *text.trim_ascii() {
        [h @ b'1'..=b'9', t @ b'0'..=b'9', o @ b'0'..=b'9'] => {
            let digit = |byte: u8| u16::from(byte - b'0');
            Ok(digit(h) * 100 + digit(t) * 10 + digit(o))
        }
        [b'0'] | [b'-', b'1'] | [b'0', b'0', b'0'] | [b'-'] => Err(Cause::Unanswered),
        _ => Err(Cause::Status),
    }
}

/// A byte count: a number, or 0 for "-" and for nothing at all (both are logged). HAProxy puts a
/// plus before counts that were not final.
pub(super) fn bytes(text: &[u8]) -> Result<u64, Cause> {
    let text = text.trim_ascii();
    match text.strip_prefix(b"+").unwrap_or(text) {
        b"" | b"-" => Ok(0),
        digits => number(digits, u64::MAX).ok_or(Cause::Bytes),
    }
}

pub(super) fn add(sum: &mut Option<u64>, span_ns: Option<u64>) {
    if let Some(span_ns) = span_ns {
        *sum = Some(sum.unwrap_or(0).saturating_add(span_ns));
    }
}

/// Nanoseconds of a decimal number, or of the sum of several that commas, colons or blanks part
/// (as nginx logs several tries); `None` when there is none.
pub(super) fn spans_ns(text: &[u8], unit: Unit) -> Option<u64> {
    let mut sum = None;
    for word in text.split(|byte| matches!(byte, b',' | b':' | b' ' | b'\t')) {
        add(&mut sum, span_ns(word, unit));
    }
    sum
}

/// Nanoseconds of one decimal number; what stands behind the digits ("ms") is passed over. `None`
/// for negative numbers, which say that the event did not happen, and for what is no number.
pub(super) fn span_ns(word: &[u8], unit: Unit) -> Option<u64> {
    let word = word.strip_prefix(b"+").unwrap_or(word);
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = number(&word[..digits], u64::MAX)?;
    // Apache's "%T/%D" is two spans, and the first of them no better than nothing.
    if word.get(digits) == Some(&b'/') {
        return None;
    }
    let mut span_ns = whole.saturating_mul(unit.ns());
    if let Some(b'.') = word.get(digits) {
        let mut place_ns = unit.ns();
        for digit in word[digits + 1..].iter().take_while(|byte| byte.is_ascii_digit()) {
            place_ns /= 10;
            span_ns = span_ns.saturating_add(u64::from(digit - b'0') * place_ns);
        }
    }
    Some(span_ns)
}

/// Whether a cache had it, by the words of nginx, Squid, CloudFront and our own log. What was sent
/// from the cache counts as had, although a server may have been asked whether it is still good.
pub(super) fn hit(word: &[u8]) -> Option<bool> {
    const HAD: [&[u8]; 5] = [b"hit", b"stale", b"updating", b"revalidated", b"unmodified"];
    const NOT: [&[u8]; 4] = [b"miss", b"expired", b"bypass", b"modified"];
    let among = |words: &[&[u8]]| {
        words
            .iter()
            .any(|known| word.windows(known.len()).any(|window| window.eq_ignore_ascii_case(known)))
    };
    if among(&HAD) { Some(true) } else { among(&NOT).then_some(false) }
}
