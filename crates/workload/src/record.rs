//! One line of a log, as every format gives it.

use crate::civil::{DAY_MS, days};
use std::borrow::Cow;
use std::time::Duration;

/// When a request came, by the site's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Milliseconds from 1 January 1970 to the site's local date and time, as if that were UTC.
    /// Formats without a month or year count from a day of their own.
    pub local_ms: i64,
    /// How far local time is ahead of UTC, in seconds; 0 where the format does not say.
    pub ahead_s: i32,
}

impl Stamp {
    /// Milliseconds since 1 January 1970, UTC.
    pub const fn utc_ms(self) -> i64 {
        self.local_ms.saturating_sub(self.ahead_s as i64 * 1000)
    }

    /// Whether a web server can have logged it: from 1970 to 2099. Anything else is a broken clock
    /// or a broken line, and one of them would stretch a log over centuries.
    pub const fn plausible(self) -> bool {
        0 <= self.utc_ms() && self.utc_ms() < days(2100, 1, 1) * DAY_MS
    }
}

/// One request, as logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it came. Formats that say when the reply ended, and how long that took, give the
    /// difference; those that say only the former give that.
    pub at: Stamp,
    /// When the reply ended, as logged, if [`Record::at`] is the difference: of a log of whole
    /// seconds that difference is no more exact than the seconds are.
    pub ended: Option<Stamp>,
    /// The site, as the log names it; empty when the format knows of one site only.
    pub site: Cow<'a, str>,
    /// Who asked: an address, a name or a number.
    pub client: Cow<'a, str>,
    /// The method, as sent.
    pub method: Cow<'a, str>,
    /// The request target with its query, fit to be sent: bytes that have no place in one are
    /// percent-encoded.
    pub url: Cow<'a, str>,
    /// The status of the reply.
    pub status: u16,
    /// Bytes of the reply's body as logged; 0 where the log has none.
    pub bytes: u64,
    /// Bytes of the target, where the format says.
    pub size: Option<u64>,
    /// From the request to the end of the reply, where the format says: what the client waited for,
    /// its own slow line included.
    pub took: Option<Duration>,
    /// What the server took of that, where the format tells it apart: HAProxy's Tr, nginx's
    /// $upstream_response_time, Envoy's upstream service time, an ALB's target_processing_time.
    pub served: Option<Duration>,
    /// Who answered, as the log names it.
    pub server: Option<Cow<'a, str>>,
    /// Whether a cache had the target: the front-end's own, or, in Baton's log, the server's as the
    /// policy believed.
    pub hit: Option<bool>,
}

impl Record<'_> {
    /// The same, no longer part of the line.
    pub fn into_owned(self) -> Record<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Record {
            site: own(self.site),
            client: own(self.client),
            method: own(self.method),
            url: own(self.url),
            server: self.server.map(own),
            ..Record {
                at: self.at,
                ended: self.ended,
                status: self.status,
                bytes: self.bytes,
                size: self.size,
                took: self.took,
                served: self.served,
                hit: self.hit,
                ..Record::default()
            }
        }
    }

    /// Whether the request counts, see [`crate::Entry::counted`].
    pub fn counted(&self) -> bool {
        self.method == "GET" && matches!(self.status, 200 | 206 | 304)
    }
}

/// Bytes that RFC 3986 has no place for in a request target, although logs have them.
const FOREIGN: [bool; 256] = {
    let mut foreign = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        foreign[byte] = !(byte as u8).is_ascii_graphic()
            || matches!(
                byte as u8,
                b'"' | b'#' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
            );
        byte += 1;
    }
    foreign
};

/// A logged request target with every byte that may not be sent percent-encoded.
///
/// Old clients sent such bytes raw, and servers log them raw or escaped by a backslash (`\x22`,
/// `\"`). Encoded, a strict server can take part in the replay; what was asked for both raw and
/// encoded becomes one target, as RFC 3986 has it. A raw `%` stays.
pub(crate) fn clean_url(logged: &[u8]) -> Cow<'_, str> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let logged = logged.trim_ascii();
    if !logged.iter().any(|&byte| FOREIGN[usize::from(byte)]) {
        return Cow::Borrowed(std::str::from_utf8(logged).expect("all of it is ASCII"));
    }
    let mut clean = String::with_capacity(logged.len() + 16);
    let mut rest = logged;
    while let [first, others @ ..] = rest {
        let (byte, after) = match *rest {
            [b'\\', b'x' | b'X', h, l, ..] if h.is_ascii_hexdigit() && l.is_ascii_hexdigit() => {
                clean.push('%');
                clean.push(h.to_ascii_uppercase().into());
                clean.push(l.to_ascii_uppercase().into());
                rest = &rest[4..];
                continue;
            }
            [b'\\', escaped @ (b'"' | b'\\'), ..] => (escaped, &rest[2..]),
            _ => (*first, others),
        };
        if FOREIGN[usize::from(byte)] {
            clean.push('%');
            clean.push(HEX[usize::from(byte >> 4)].into());
            clean.push(HEX[usize::from(byte & 15)].into());
        } else {
            clean.push(byte.into());
        }
        rest = after;
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_may_not_be_sent_are_encoded_and_others_stay() {
        assert!(matches!(clean_url(b"/a?b=%20&c=[1]"), Cow::Borrowed("/a?b=%20&c=[1]")));
        assert_eq!(clean_url(b" /a b<c>\xff#d "), "/a%20b%3Cc%3E%FF%23d");
    }

    #[test]
    fn what_a_server_escaped_is_the_byte_that_was_sent() {
        assert_eq!(clean_url(br#"/a\x22b\"c\\d\xe4\x2"#), "/a%22b%22c%5Cd%E4%5Cx2");
    }

    #[test]
    fn utc_is_local_time_less_the_offset() {
        let at = Stamp { local_ms: 1_000_000, ahead_s: -300 };
        assert_eq!(at.utc_ms(), 1_300_000);
    }
}
