//! Pictures of workloads that were measured at one place only: a bar for each curve.

use super::Spread;
use crate::figures::{self, Area, Painted};
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

const WIDTH: u32 = 920;
/// Above the bars: the heading.
const ABOVE: u32 = 48;
/// Below them: their scale, and the caption.
const BELOW: u32 = 96;
/// From one bar to the next, and a bar's own height.
const STEP: u32 = 34;
const BAR: i32 = 20;
/// Where bars begin and the longest may end; values stand behind.
const LEFT: i32 = 250;
const RIGHT: i32 = 800;

/// What a bar picture says beside its bars.
pub struct Words<'a> {
    /// Above it.
    pub heading: String,
    /// What the bars measure.
    pub scale: &'a str,
    /// Below it.
    pub caption: String,
}

/// Draws the middle of each curve's repeats as a bar, with a line from the least to the greatest.
///
/// # Errors
/// When the file cannot be written.
pub fn draw(words: &Words<'_>, bars: &[(&str, Spread)], path: &Path) -> Result<()> {
    let height = ABOVE + STEP * bars.len() as u32 + BELOW;
    let area = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    paint(words, bars, &area).map_err(|error| anyhow!("cannot draw {}: {error}", path.display()))
}

fn paint(words: &Words<'_>, bars: &[(&str, Spread)], area: &Area<'_>) -> Painted {
    area.fill(&WHITE)?;
    let text = |size: i32| ("sans-serif", size).into_text_style(area);
    area.draw_text(&words.heading, &text(16), (16, 12))?;
    let most = bars.iter().map(|(_, spread)| spread.max).fold(f64::MIN_POSITIVE, f64::max);
    let at = |value: f64| LEFT + (value / most * f64::from(RIGHT - LEFT)) as i32;
    for (number, (name, spread)) in bars.iter().enumerate() {
        let top = (ABOVE + STEP * number as u32) as i32;
        let middle = top + BAR / 2;
        area.draw_text(name, &text(12), (16, middle - 6))?;
        let end = at(spread.median.max(0.0));
        let colour = figures::colour(number);
        area.draw(&Rectangle::new([(LEFT, top), (end, top + BAR)], colour.mix(0.75).filled()))?;
        if spread.max > spread.min {
            let (least, greatest) = (at(spread.min.max(0.0)), at(spread.max));
            let line = |from, to| PathElement::new(vec![from, to], BLACK.stroke_width(1));
            area.draw(&line((least, middle), (greatest, middle)))?;
            for end in [least, greatest] {
                area.draw(&line((end, middle - 4), (end, middle + 4)))?;
            }
        }
        let value = super::page::rounded(spread.median);
        area.draw_text(&value, &text(12), (end.max(at(spread.max)) + 8, middle - 6))?;
    }
    let below = (ABOVE + STEP * bars.len() as u32) as i32;
    area.draw_text(words.scale, &text(12), (LEFT, below + 6))?;
    for (line, top) in figures::wrapped(&words.caption).iter().zip((below + 40..).step_by(15)) {
        area.draw_text(line, &text(11), (16, top))?;
    }
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_has_its_bar_its_value_and_its_spread() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("bars.svg");
        let spread = |median, min, max| Spread { median, min, max, count: 2, limited: false };
        let words = Words {
            heading: "six nodes".to_owned(),
            scale: "requests a second",
            caption: "measured".to_owned(),
        };
        let bars = [("WRR", spread(327.0, 321.0, 332.0)), ("nothing", spread(0.0, 0.0, 0.0))];
        draw(&words, &bars, &path).expect("drawn");
        let text = std::fs::read_to_string(&path).expect("read");
        for part in ["WRR", "327", "nothing", "six nodes", "requests a second", "measured"] {
            assert!(text.contains(part), "{part}");
        }
        // Two bars and the ground; a line with two ends for the one that has a spread.
        assert_eq!(text.matches("<rect").count(), 3, "{text}");
        assert_eq!(text.matches("<polyline").count() + text.matches("<line").count(), 3, "{text}");
    }
}
