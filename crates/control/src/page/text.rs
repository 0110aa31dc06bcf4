//! Values as the page shows them: escaped text, rounded numbers, bars and lines.

use std::fmt::{self, Display, Formatter, Write};

/// Text from elsewhere, made harmless in HTML.
pub(super) struct Text<'a>(pub(super) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ => f.write_char(char)?,
            }
        }
        Ok(())
    }
}

/// A number with thin spaces between its thousands.
pub(super) struct Count(pub(super) u64);

impl Display for Count {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_char('\u{202f}')?;
            }
            f.write_char(digit)?;
        }
        Ok(())
    }
}

/// A share as a percentage; a dash when there is none.
pub(super) struct Share(pub(super) Option<f64>);

impl Display for Share {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("–"),
            // A small share is shown as such: 0 % must mean none.
            Some(share) if share > 0.0 && share < 0.001 => f.write_str("&lt;0.1 %"),
            Some(share) => write!(f, "{:.1} %", share * 100.0),
        }
    }
}

/// A span in seconds, in the unit that reads best, to two or three digits; a dash when unknown.
pub(super) struct Span(pub(super) Option<f64>);

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("–"),
            Some(span_s) if span_s < 0.000_999_5 => write!(f, "{:.0} µs", span_s * 1e6),
            Some(span_s) if span_s < 0.009_95 => write!(f, "{:.1} ms", span_s * 1e3),
            Some(span_s) if span_s < 0.999_5 => write!(f, "{:.0} ms", span_s * 1e3),
            Some(span_s) => write!(f, "{span_s:.1} s"),
        }
    }
}

/// How long ago, or for how long, in seconds: the two greatest units.
#[derive(Clone, Copy, Debug)]
pub struct Age(pub f64);

impl Display for Age {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let all = self.0.max(0.0) as u64;
        let (days, hours, minutes) = (all / 86_400, all / 3600 % 24, all / 60 % 60);
        match (days, hours, minutes, all % 60) {
            (0, 0, 0, seconds) => write!(f, "{seconds} s"),
            (0, 0, minutes, seconds) => write!(f, "{minutes} min {seconds} s"),
            (0, hours, minutes, _) => write!(f, "{hours} h {minutes} min"),
            (days, hours, ..) => write!(f, "{days} d {hours} h"),
        }
    }
}

/// A bar that fills a share of its width.
pub(super) struct Bar {
    /// From 0 to 1; more is a full bar.
    pub(super) share: f64,
    /// Whether to show it as a warning.
    pub(super) warn: bool,
}

impl Display for Bar {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // NaN, from nothing divided by nothing, is an empty bar.
        let width = if self.share > 0.0 { self.share.min(1.0) * 100.0 } else { 0.0 };
        let class = if self.warn { "warn bar" } else { "bar" };
        write!(
            f,
            "<svg viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect class=\"track\" width=\"100\" height=\"4\"/>\
             <rect class=\"{class}\" width=\"{width:.1}\" height=\"4\"/></svg>"
        )
    }
}

/// A line of values over time, from zero to the greatest.
pub(super) struct Trend<'a>(pub(super) &'a [f64]);

impl Display for Trend<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let greatest = self.0.iter().copied().fold(1.0, f64::max);
        let steps = self.0.len().saturating_sub(1).max(1) as f64;
        f.write_str(
            "<svg class=\"trend\" viewBox=\"0 0 100 30\" preserveAspectRatio=\"none\" \
             role=\"img\" aria-label=\"requests per second, last five minutes\">\
             <polyline points=\"",
        )?;
        for (index, value) in self.0.iter().enumerate() {
            let (x, y) = (index as f64 / steps * 100.0, 29.0 - value / greatest * 28.0);
            write!(f, "{x:.1},{y:.1} ")?;
        }
        f.write_str("\"/></svg>")
    }
}

#[cfg(test)]
mod tests {
    //! Method: each value beside how it must read.

    use super::*;

    #[test]
    fn text_from_elsewhere_cannot_become_markup() {
        let shown = Text("<b onload='x(\"&\")'>").to_string();
        assert_eq!(shown, "&lt;b onload=&#39;x(&quot;&amp;&quot;)&#39;&gt;");
    }

    #[test]
    fn spans_read_in_the_unit_that_fits() {
        for (span_s, shown) in [
            (0.000_123, "123 µs"),
            (0.001, "1.0 ms"),
            (0.0099, "9.9 ms"),
            (0.00999, "10 ms"),
            (0.45, "450 ms"),
            (0.9999, "1.0 s"),
            (12.34, "12.3 s"),
        ] {
            assert_eq!(Span(Some(span_s)).to_string(), shown);
        }
        assert_eq!(Span(None).to_string(), "–");
    }

    #[test]
    fn ages_read_in_their_two_greatest_units() {
        for (age_s, shown) in
            [(5.9, "5 s"), (65.0, "1 min 5 s"), (7260.0, "2 h 1 min"), (90_000.0, "1 d 1 h")]
        {
            assert_eq!(Age(age_s).to_string(), shown);
        }
    }

    #[test]
    fn counts_are_grouped_and_small_shares_are_not_called_none() {
        assert_eq!(Count(1_234_567).to_string(), "1\u{202f}234\u{202f}567");
        assert_eq!(Count(12).to_string(), "12");
        assert_eq!(Share(Some(0.0001)).to_string(), "&lt;0.1 %");
        assert_eq!(Share(Some(0.0)).to_string(), "0.0 %");
    }

    #[test]
    fn a_bar_stays_within_its_track() {
        for (share, width) in [(f64::NAN, "0.0"), (-1.0, "0.0"), (0.5, "50.0"), (9.0, "100.0")] {
            let bar = Bar { share, warn: false }.to_string();
            assert!(bar.contains(&format!("class=\"bar\" width=\"{width}\"")), "{share}: {bar}");
        }
    }
}
