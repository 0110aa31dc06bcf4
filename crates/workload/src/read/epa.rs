//! The format of the EPA-HTTP and SDSC-HTTP logs of the Internet Traffic Archive.
//!
//! `host [DD:HH:MM:SS] "request" status bytes`: the day of the month, no month, no zone. Some lines
//! end after the status, some requests contain quotes (so the last quote ends the request).

use super::value::{bytes, request_line, status};
use super::{Cause, Format, Parse};
use crate::civil::{DAY_MS, number, time_of_day};
use crate::record::{Record, Stamp, clean_url};
use std::borrow::Cow;

pub(super) const FORMAT: Format = Format {
    name: "epa",
    about: "Internet Traffic Archive, EPA and SDSC: host [DD:HH:MM:SS] \"request\" status bytes",
    parser: || Box::new(Epa),
};

struct Epa;

impl Parse for Epa {
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause> {
        parse(line).map(Some)
    }

    fn sure(&mut self, line: &[u8]) -> Option<u8> {
        Some(if parse(line).is_ok() { 95 } else { 0 })
    }

    fn fork(&self) -> Box<dyn Parse> {
        Box::new(Self)
    }
}

fn parse(line: &[u8]) -> Result<Record<'_>, Cause> {
    let gap = line.iter().position(|&byte| byte == b' ').ok_or(Cause::Client)?;
    let (client, rest) = line.split_at(gap);
    if client.is_empty() {
        return Err(Cause::Client);
    }
    let rest = rest.trim_ascii_start().strip_prefix(b"[").ok_or(Cause::Time)?;
    let close = rest.iter().position(|&byte| byte == b']').ok_or(Cause::Time)?;
    let at = stamp(&rest[..close]).ok_or(Cause::Time)?;
    let rest = rest[close + 1..].trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").ok_or(Cause::Request)?;
    let end = rest.iter().rposition(|&byte| byte == b'"').ok_or(Cause::Request)?;
    let (method, url) = request_line(&rest[..end])?;
    let rest = rest[end + 1..].trim_ascii();
    let gap = memchr::memchr(b' ', rest).unwrap_or(rest.len());
    let (code, rest) = rest.split_at(gap);
    Ok(Record {
        at,
        site: Cow::Borrowed(""),
        client: String::from_utf8_lossy(client),
        method: String::from_utf8_lossy(method),
        url: clean_url(url),
        status: status(code)?,
        bytes: bytes(rest)?,
        ..Record::default()
    })
}

/// `DD:HH:MM:SS`; day 1 of the month is day 0 here.
fn stamp(text: &[u8]) -> Option<Stamp> {
    let [d1, d2, b':', ref time @ ..] = *text else { return None };
    let day = i64::try_from(number(&[d1, d2], 31).filter(|&day| day > 0)?).ok()?;
    Some(Stamp { local_ms: (day - 1) * DAY_MS + time_of_day(time)?, ahead_s: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_bytes_and_one_with_quotes_inside_are_read() {
        let short = parse(b"h [30:09:36:04] \"GET /a.gifalt= HTTP/1.0\" 404 ").unwrap();
        assert_eq!((short.status, short.bytes), (404, 0));
        assert_eq!(short.at.local_ms, 29 * DAY_MS + 34_564_000);
        let quoted = parse(b"h [30:09:36:04] \"GET /a\"b\" HTTP/1.0\" 200 -").unwrap();
        assert_eq!(quoted.url, "/a%22b%22");
    }

    #[test]
    fn each_broken_part_is_named() {
        let cases: [(&[u8], Cause); 6] = [
            (b"h", Cause::Client),
            (b"h 30:09:36:04 \"GET / HTTP/1.0\" 200 1", Cause::Time),
            (b"h [32:09:36:04] \"GET / HTTP/1.0\" 200 1", Cause::Time),
            (b"h [30:09:36:04] GET / 200 1", Cause::Request),
            (b"h [30:09:36:04] \"GET / HTTP/1.0\" 2000 1", Cause::Status),
            (b"h [30:09:36:04] \"GET / HTTP/1.0\" 200 1k", Cause::Bytes),
        ];
        for (line, cause) in cases {
            assert_eq!(parse(line), Err(cause), "{}", String::from_utf8_lossy(line));
        }
    }
}
