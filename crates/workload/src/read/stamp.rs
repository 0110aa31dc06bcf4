//! Points in time, as logs write them.
//!
//! Consecutive lines are of the same day, so the day last seen is kept and only the time of day is
//! read anew. Three notations cover all formats: `17/May/2015:10:05:03 +0000`, ISO 8601, and a
//! number since 1970 whose unit follows from its magnitude.

use crate::civil::{DAY_MS, days, month, number};
use crate::record::Stamp;

/// Reads points in time; remembers the day.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// `17/May/2015` and its milliseconds since 1970.
    named: ([u8; 11], i64),
    /// `2015-05-17` and its milliseconds since 1970.
    iso: ([u8; 10], i64),
}

impl Default for Calendar {
    fn default() -> Self {
        Self { named: (*b"01/Jan/1970", 0), iso: (*b"1970-01-01", 0) }
    }
}

impl Calendar {
    /// A point in time in any notation.
    pub(crate) fn stamp(&mut self, text: &[u8]) -> Option<Stamp> {
        match text.get(2..5)? {
            [b'/', ..] => self.named(text),
            [_, _, b'-'] => self.iso(text),
            _ => since_1970(text),
        }
    }

    /// `17/May/2015:10:05:03 +0000`, perhaps with a fraction and without the zone.
    fn named(&mut self, text: &[u8]) -> Option<Stamp> {
        let (date, rest) = text.split_first_chunk::<11>()?;
        if self.named.0 != *date {
            let [d1, d2, b'/', m1, m2, m3, b'/', year @ ..] = date else { return None };
            let day = i64::try_from(number(&[*d1, *d2], 31).filter(|&day| day > 0)?).ok()?;
            let year = i64::try_from(number(year, 9999)?).ok()?;
            self.named = (*date, days(year, month(&[*m1, *m2, *m3])?, day) * DAY_MS);
        }
        self.within(self.named.1, rest.strip_prefix(b":")?)
    }

    /// `2015-05-17T10:05:03.25+02:00`, perhaps with a blank for the T, a Z or no zone.
    fn iso(&mut self, text: &[u8]) -> Option<Stamp> {
        let day_ms = self.date_ms(text.get(..10)?)?;
        let rest = text[10..].strip_prefix(b"T").or_else(|| text[10..].strip_prefix(b" "))?;
        self.within(day_ms, rest)
    }

    /// Milliseconds since 1970 of `2015-05-17`.
    pub(crate) fn date_ms(&mut self, text: &[u8]) -> Option<i64> {
        let date: &[u8; 10] = text.try_into().ok()?;
        if self.iso.0 != *date {
            let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else { return None };
            let year = i64::try_from(number(&[*y1, *y2, *y3, *y4], 9999)?).ok()?;
            let month = i64::try_from(number(&[*m1, *m2], 12).filter(|&month| month > 0)?).ok()?;
            let day = i64::try_from(number(&[*d1, *d2], 31).filter(|&day| day > 0)?).ok()?;
            self.iso = (*date, days(year, month, day) * DAY_MS);
        }
        Some(self.iso.1)
    }

    fn within(&self, day_ms: i64, text: &[u8]) -> Option<Stamp> {
        let (time, rest) = text.split_first_chunk::<8>()?;
        let fraction = fraction_length(rest);
        let of_day_ms = of_day_ms(&text[..time.len() + fraction])?;
        let ahead_s = zone_s(rest[fraction..].trim_ascii_start())?;
        Some(Stamp { local_ms: day_ms + of_day_ms, ahead_s })
    }
}

/// Bytes of a point or comma with the digits behind it.
fn fraction_length(text: &[u8]) -> usize {
    match text.first() {
        Some(b'.' | b',') => 1 + text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    }
}

/// Milliseconds since midnight of `10:05:03` or `10:05:03.250`; a leap second counts as the second
/// before it.
pub(crate) fn of_day_ms(text: &[u8]) -> Option<i64> {
    let (time, fraction) = text.split_first_chunk::<8>()?;
    let [h1, h2, b':', m1, m2, b':', s1, s2] = *time else { return None };
    let hours = two(h1, h2).filter(|&hours| hours < 24)?;
    let minutes = two(m1, m2).filter(|&minutes| minutes < 60)?;
    let seconds = two(s1, s2).filter(|&seconds| seconds <= 60)?.min(59);
    let whole_ms = ((hours * 60 + minutes) * 60 + seconds) * 1000;
    if fraction.is_empty() {
        return Some(whole_ms);
    }
    (fraction_length(fraction) == fraction.len()).then(|| whole_ms + thousandths(&fraction[1..]))
}

/// The first three of some digits as thousandths.
fn thousandths(digits: &[u8]) -> i64 {
    let places = [100, 10, 1].iter().zip(digits);
    places.map(|(place, digit)| place * i64::from(digit.wrapping_sub(b'0'))).sum()
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// Seconds ahead of UTC of `+0200`, `+02:00`, `Z` or nothing.
fn zone_s(text: &[u8]) -> Option<i32> {
    let (sign, h, m) = match *text {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign @ (b'+' | b'-'), h1, h2, m1, m2] | [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            (sign, two(h1, h2)?, two(m1, m2)?)
        }
        _ => return None,
    };
    if h > 23 || m > 59 {
        return None;
    }
    let seconds = i32::try_from((h * 60 + m) * 60).ok()?;
    Some(if sign == b'-' { -seconds } else { seconds })
}

/// A number since 1970, whole or with a fraction: seconds, milli-, micro- or nanoseconds, whichever
/// gives a year before 5138 (11 digits are seconds, 14 milliseconds, 17 microseconds).
fn since_1970(text: &[u8]) -> Option<Stamp> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = i64::try_from(number(&text[..digits], i64::MAX as u64)?).ok()?;
    if fraction_length(&text[digits..]) != text.len() - digits {
        return None;
    }
    let local_ms = match digits {
        0..=11 => whole * 1000 + thousandths(text.get(digits + 1..).unwrap_or_default()),
        12..=14 => whole,
        15..=17 => whole / 1000,
        _ => whole / 1_000_000,
    };
    Some(Stamp { local_ms, ahead_s: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_moment_is_the_same_in_every_notation() {
        let mut calendar = Calendar::default();
        let cases = [
            "17/May/2015:12:05:03 +0200",
            "17/May/2015:10:05:03.000",
            "2015-05-17T10:05:03Z",
            "2015-05-17T04:35:03.000000-05:30",
            "2015-05-17 10:05:03",
            "1431857103",
            "1431857103.000",
            "1431857103000",
            "1431857103000000",
            "1431857103000000000",
        ];
        for text in cases {
            let at = calendar.stamp(text.as_bytes()).map(Stamp::utc_ms);
            assert_eq!(at, Some(1_431_857_103_000), "{text}");
        }
    }

    #[test]
    fn fractions_are_kept_to_the_millisecond() {
        let mut calendar = Calendar::default();
        for text in ["17/May/2015:10:05:03.25", "2015-05-17T10:05:03.250999Z", "1431857103.25"] {
            let at = calendar.stamp(text.as_bytes()).map(Stamp::utc_ms);
            assert_eq!(at, Some(1_431_857_103_250), "{text}");
        }
    }

    #[test]
    fn the_day_kept_is_not_taken_for_another() {
        let mut calendar = Calendar::default();
        for (day, text) in ["01/Jan/1970:00:00:00", "02/Jan/1970:00:00:00", "01/Jan/1970:00:00:00"]
            .iter()
            .enumerate()
        {
            let at = calendar.stamp(text.as_bytes()).map(Stamp::utc_ms);
            assert_eq!(at, Some(day as i64 % 2 * DAY_MS));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let mut calendar = Calendar::default();
        let cases = [
            "",
            "-",
            "17/Mai/2015:10:05:03",
            "00/May/2015:10:05:03",
            "17/May/2015 10:05:03",
            "17/May/2015:24:05:03",
            "17/May/2015:10:60:03",
            "17/May/2015:10:05:61",
            "17/May/2015:10:05:03 0200",
            "17/May/2015:10:05:03 +2400",
            "2015-13-17T10:05:03",
            "2015-05-17",
            "2015-05-17T10:05",
            "14318571x3",
            "1431857103.2x",
            "99999999999999999999",
        ];
        for text in cases {
            assert_eq!(calendar.stamp(text.as_bytes()), None, "{text}");
        }
    }
}
