//! Common and Combined Log Format, as Apache, nginx and most others write it.
//!
//! `client ident user [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 512 "referrer" "agent"`:
//! what follows the byte count is passed over, so a truncated agent costs nothing. Times carry
//! their zone. Quotes inside the request are escaped by a backslash.

use super::{Cause, Format, Parse, bytes, request_line, status};
use crate::civil::{DAY_MS, days, month, number, time_of_day};
use crate::record::{Record, Stamp, clean_url};
use std::borrow::Cow;

pub(super) const FORMAT: Format = Format {
    name: "clf",
    about: "Common and Combined Log Format (Apache, nginx): client - - [time zone] \"request\" \
            status bytes",
    detect: |line| if parse(line).is_ok() { 90 } else { 0 },
    parser: || Box::new(Clf),
};

struct Clf;

impl Parse for Clf {
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause> {
        parse(line).map(Some)
    }
}

fn parse(line: &[u8]) -> Result<Record<'_>, Cause> {
    let gap = line.iter().position(|&byte| byte == b' ').ok_or(Cause::Client)?;
    let (client, rest) = line.split_at(gap);
    if client.is_empty() {
        return Err(Cause::Client);
    }
    let open = rest.iter().position(|&byte| byte == b'[').ok_or(Cause::Time)?;
    let rest = &rest[open + 1..];
    let close = rest.iter().position(|&byte| byte == b']').ok_or(Cause::Time)?;
    let at = stamp(&rest[..close]).ok_or(Cause::Time)?;
    let rest = rest[close + 1..].trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").ok_or(Cause::Request)?;
    let end = closing_quote(rest).ok_or(Cause::Request)?;
    let (method, url) = request_line(&rest[..end])?;
    let (status, rest) = status(&rest[end + 1..])?;
    Ok(Record {
        at,
        site: Cow::Borrowed(""),
        client: String::from_utf8_lossy(client),
        method: String::from_utf8_lossy(method),
        url: clean_url(url),
        status,
        bytes: bytes(rest)?,
        size: None,
    })
}

/// Where the quote is that ends the request: the first that no backslash escapes.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// `17/May/2015:10:05:03 +0000`
fn stamp(text: &[u8]) -> Option<Stamp> {
    let (date, zone) = (text.get(..20)?, text.get(20..)?);
    let [_, _, b'/', _, _, _, b'/', _, _, _, _, b':', ..] = *date else { return None };
    let day = i64::try_from(number(&date[..2], 31).filter(|&day| day > 0)?).ok()?;
    let year = i64::try_from(number(&date[7..11], 9999)?).ok()?;
    let local_ms = days(year, month(&date[3..6])?, day) * DAY_MS + time_of_day(&date[12..])?;
    let ahead_s = match *zone {
        [] => 0,
        [b' ', sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            let minutes = number(&[h1, h2], 23)? * 60 + number(&[m1, m2], 59)?;
            let seconds = i32::try_from(minutes * 60).ok()?;
            if sign == b'-' { -seconds } else { seconds }
        }
        _ => return None,
    };
    Some(Stamp { local_ms, ahead_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_combined_line_gives_all_its_fields() {
        let line =
            br#"10.0.0.9 - bob [20/Feb/2016:00:00:45 -0500] "GET /a\"b HTTP/1.1" 200 187 "-" "x"#;
        let record = parse(line).unwrap();
        assert_eq!(record.client, "10.0.0.9");
        assert_eq!((record.method.as_ref(), record.url.as_ref()), ("GET", "/a%5C%22b"));
        assert_eq!((record.status, record.bytes), (200, 187));
        assert_eq!(record.at.local_ms, days(2016, 2, 20) * DAY_MS + 45_000);
        assert_eq!(record.at.utc_ms(), record.at.local_ms + 5 * 3_600_000);
    }

    #[test]
    fn each_broken_part_is_named() {
        let cases: [(&[u8], Cause); 7] = [
            (b"", Cause::Client),
            (b" - - [", Cause::Client),
            (b"a - - 17/May/2015", Cause::Time),
            (b"a - - [17/Mai/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1", Cause::Time),
            (b"a - - [17/May/2015:10:05:03 +0000] \"-\" 408 -", Cause::Request),
            (b"a - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 20 1", Cause::Status),
            (b"a - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1x", Cause::Bytes),
        ];
        for (line, cause) in cases {
            assert_eq!(parse(line), Err(cause), "{}", String::from_utf8_lossy(line));
        }
    }
}
