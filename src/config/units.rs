//! Spans of time, sizes and percents as people write them: `5s`, `250ms`, `256MiB`, `20%`.

use std::time::Duration;

/// Units of time and their nanoseconds.
const SPANS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Units of size and their bytes: `k` is 1000 with `B`, 1024 with `iB`.
const SIZES: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A span such as `5s`, `1.5s` or `1m30s`; `None` for anything else, a number without unit too.
pub(crate) fn span(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut sum_ns = 0u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, after) = number(rest)?;
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        sum_ns = sum_ns.checked_add(scaled(number, of(&SPANS, unit)?)?)?;
        rest = after;
    }
    Some(Duration::from_nanos(sum_ns))
}

/// A size such as `256MiB`, in bytes.
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = number(text.trim())?;
    scaled(number, of(&SIZES, unit.trim_start())?)
}

/// A percentage such as `20%`.
pub(crate) fn percent(text: &str) -> Option<u32> {
    let digits = text.trim().strip_suffix('%')?.trim_end();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Writes a size in the largest unit that keeps it whole.
pub(crate) fn size_text(bytes: u64) -> String {
    let fits = |unit: u64| unit.is_power_of_two() && unit <= bytes && bytes.is_multiple_of(unit);
    let (name, unit) = SIZES.iter().rfind(|(_, unit)| fits(*unit)).copied().unwrap_or(SIZES[0]);
    format!("{}{name}", bytes / unit)
}

/// Writes a span in the largest unit that keeps it whole.
pub(crate) fn span_text(span: Duration) -> String {
    let span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let fits = |unit: u64| unit <= span_ns && span_ns.is_multiple_of(unit);
    let (name, unit) = SPANS.iter().rfind(|(_, unit)| fits(*unit)).copied().unwrap_or(("s", 1));
    format!("{}{name}", span_ns / unit)
}

fn of(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, amount)| *amount)
}

/// The digits at the beginning, with at most one point, and what follows.
fn number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (number.starts_with(|c: char| c.is_ascii_digit())).then_some((number, rest))
}

/// `number` times `unit`, exactly for whole numbers, to the nearest for decimal ones.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    match number.split_once('.') {
        None => number.parse::<u64>().ok()?.checked_mul(unit),
        Some((whole, fraction)) => {
            let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
            let part = format!("0.{fraction}").parse::<f64>().ok()? * unit as f64;
            whole.checked_add(part.round() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_numbers_with_units() {
        let table = [
            ("5s", Some(5_000)),
            ("250ms", Some(250)),
            ("1.5s", Some(1_500)),
            ("1m30s", Some(90_000)),
            (" 1h ", Some(3_600_000)),
            ("0s", Some(0)),
            ("5", None),
            ("", None),
            ("s", None),
            ("5 s", None),
            ("5sec", None),
            ("-5s", None),
            ("1..5s", None),
            ("99999999999999d", None),
        ];
        for (text, ms) in table {
            assert_eq!(span(text), ms.map(Duration::from_millis), "{text:?}");
        }
        for text in ["1ms", "90s", "1h", "30d", "0s"] {
            assert_eq!(span_text(span(text).unwrap()), text);
        }
    }

    #[test]
    fn sizes_tell_thousands_from_powers_of_two() {
        let table = [
            ("16KiB", Some(16_384)),
            ("1GB", Some(1_000_000_000)),
            ("1.5 MiB", Some(1_572_864)),
            ("7B", Some(7)),
            ("7", None),
            ("7K", None),
            ("99999999TiB", None),
        ];
        for (text, bytes) in table {
            assert_eq!(size(text), bytes, "{text:?}");
        }
        assert_eq!(size_text(16_384), "16KiB");
        assert_eq!(size_text(1_000), "1000B");
        assert_eq!(size_text(1 << 30), "1GiB");
        assert_eq!(size_text(0), "0B");
    }

    #[test]
    fn percents_are_whole_and_have_their_sign() {
        let table = [("20%", Some(20)), ("0 %", Some(0)), ("20", None), ("%", None), ("+2%", None)];
        for (text, value) in table {
            assert_eq!(percent(text), value, "{text:?}");
        }
    }
}
