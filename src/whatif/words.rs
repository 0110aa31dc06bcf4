//! Figures as people read them.

use std::time::Duration;

/// Between a figure and its unit: a blank at which no line is broken.
const GAP: char = '\u{a0}';

/// A size in the unit that leaves one to three digits before the point; `4GiB` rather than
/// `4.0 GiB` where it is whole.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value:.0}{}", units[unit])
    } else {
        let digits = usize::from(value < 100.0);
        format!("{value:.digits$} {}", units[unit])
    }
}

/// A whole number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A rate or another positive figure with three digits.
pub(crate) fn figure(value: f64) -> String {
    match value {
        value if !value.is_finite() => "-".to_owned(),
        0.0 => "0".to_owned(),
        value if value >= 100.0 => count(value.round() as u64),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.4}"),
    }
}

/// Milliseconds with the unit that suits.
pub(crate) fn ms(value: f64) -> String {
    match value {
        value if value >= 60_000.0 => format!("{}{GAP}s", count((value / 1e3).round() as u64)),
        value if value >= 1_000.0 => format!("{:.1}{GAP}s", value / 1e3),
        value if value >= 0.1 || value == 0.0 => format!("{}{GAP}ms", figure(value)),
        value => format!("{:.0}{GAP}us", value * 1e3),
    }
}

/// A span for people, in two units at most.
pub(crate) fn span(span: Duration) -> String {
    let s = span.as_secs();
    match s {
        0 => ms(span.as_secs_f64() * 1e3),
        1..=119 => format!("{s} s"),
        120..=7_199 => format!("{} min", s / 60),
        7_200..=172_799 => format!("{:.1} h", s as f64 / 3_600.0),
        _ => format!("{:.1} days", s as f64 / 86_400.0),
    }
}

/// A figure without what binary fractions leave behind its third decimal.
pub(crate) fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value > 99.9 && value < 100.0 {
        format!("{value:.2}{GAP}%")
    } else {
        format!("{value:.1}{GAP}%")
    }
}

/// How many times as much.
pub(crate) fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0}") } else { format!("{ratio:.2}") }
}

/// Servers, counted.
pub(crate) fn servers(count: u16) -> String {
    if count == 1 { "1 server".to_owned() } else { format!("{count} servers") }
}

/// Requests, counted.
pub(crate) fn requests(number: u64) -> String {
    if number == 1 { "1 request".to_owned() } else { format!("{} requests", count(number)) }
}

/// Text in lines of at most `width` characters, each begun by `indent`.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.push_str(indent);
            column = indent.len();
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_people_read() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([4 << 30, 1_500, 300 << 20].map(size), ["4GiB", "1.5 KiB", "300MiB"]);
        assert_eq!(
            [0.0, 0.02, 1.234, 56.78, 1234.5].map(figure),
            ["0", "0.0200", "1.23", "56.8", "1,235"]
        );
        assert_eq!(
            [0.05, 2.5, 2_500.0, 65_000.0].map(ms),
            ["50\u{a0}us", "2.50\u{a0}ms", "2.5\u{a0}s", "65\u{a0}s"]
        );
        assert_eq!(
            [0.5, 0.99951, 1.0].map(percent),
            ["50.0\u{a0}%", "99.95\u{a0}%", "100.0\u{a0}%"]
        );
    }

    #[test]
    fn what_binary_fractions_leave_is_not_shown() {
        assert_eq!([29.381999999999998, 0.1 + 0.2].map(thousandths), [29.382, 0.3]);
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 9, "  "), "  one two\n  three");
    }
}
