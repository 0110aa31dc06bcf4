//! Pictures of the report: lines and stacked bars as SVG within the page, coloured by its style
//! sheet, so that they follow a light or dark screen.

use maud::{Markup, html};

/// Colours that the style sheet has, see `page`.
pub(crate) const COLOURS: usize = 8;

/// Size of a picture in its own units, and where its axes are.
const WIDTH: f64 = 420.0;
const WIDTH_WIDE: f64 = 1080.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;

/// Lines of a grid, about.
const TICKS: f64 = 5.0;

/// A line of a picture.
pub(super) struct Line<'a> {
    /// What it is of.
    pub(super) name: &'a str,
    /// Its place in the legend, which gives colour and dashes.
    pub(super) style: usize,
    /// A value for each place on the horizontal axis, where there is one.
    pub(super) values: Vec<Option<f64>>,
}

/// What a picture of lines shows.
pub(super) struct Picture<'a> {
    pub(super) title: &'a str,
    /// What is on the horizontal axis.
    pub(super) across: &'a str,
    /// Its places.
    pub(super) places: Vec<String>,
    pub(super) lines: Vec<Line<'a>>,
    /// Whether single points are marked.
    pub(super) points: bool,
    /// How a value is written.
    pub(super) write: fn(f64) -> String,
    /// The vertical axis ends here at the latest.
    pub(super) top_max: f64,
    /// Whether it takes the whole width of the page.
    pub(super) wide: bool,
}

/// The class of a legend's entry: its colour, and dashes for every further round of colours.
pub(crate) fn style(at: usize) -> String {
    format!("c{} d{}", at % COLOURS, (at / COLOURS) % 3)
}

/// The picture.
pub(super) fn lines(picture: &Picture<'_>) -> Markup {
    let values = picture.lines.iter().flat_map(|line| line.values.iter().flatten());
    let most = values.copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let step = round_step((most / TICKS).max(1e-9));
    let top = ((most / step).ceil().max(1.0) * step).min(picture.top_max);
    let width = if picture.wide { WIDTH_WIDE } else { WIDTH };
    let across = width - LEFT - RIGHT;
    let count = picture.places.len();
    let x = |at: usize| match count {
        0 | 1 => LEFT + across / 2.0,
        _ => LEFT + across * at as f64 / (count - 1) as f64,
    };
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - (value / top).clamp(0.0, 1.0));
    let ticks = (0..=(top / step).round() as usize).map(|at| at as f64 * step);
    let label_every = count.div_ceil(if picture.wide { 20 } else { 9 }).max(1);
    html! {
        figure {
            figcaption { (picture.title) }
            svg viewBox=(format!("0 0 {width} {HEIGHT}")) role="img" aria-label=(picture.title) {
                @for tick in ticks {
                    @let height = n(y(tick));
                    line class="grid" x1=(n(LEFT)) x2=(n(width - RIGHT)) y1=(height) y2=(height) {}
                    text class="tick" x=(n(LEFT - 6.0)) y=(n(y(tick) + 4.0)) text-anchor="end" {
                        ((picture.write)(tick))
                    }
                }
                @for (at, place) in picture.places.iter().enumerate() {
                    @if at.is_multiple_of(label_every) {
                        text class="tick" x=(n(x(at))) y=(n(HEIGHT - BOTTOM + 17.0))
                            text-anchor="middle" { (place) }
                    }
                }
                text class="axis" x=(n(LEFT + across / 2.0)) y=(n(HEIGHT - 6.0))
                    text-anchor="middle" {
                    (picture.across)
                }
                @for line in &picture.lines {
                    @let spots = spots(line, &x, &y);
                    polyline class=(format!("line {}", style(line.style)))
                        points=(spots.iter().map(|(x, y, _)| format!("{},{}", n(*x), n(*y)))
                            .collect::<Vec<_>>().join(" ")) {
                        title { (line.name) }
                    }
                    @if picture.points {
                        @for (x, y, value) in &spots {
                            circle class=(format!("point {}", style(line.style)))
                                cx=(n(*x)) cy=(n(*y)) r="3.2" {
                                title { (line.name) ": " ((picture.write)(*value)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where the values of a line are, with the values.
fn spots(
    line: &Line<'_>,
    x: &impl Fn(usize) -> f64,
    y: &impl Fn(f64) -> f64,
) -> Vec<(f64, f64, f64)> {
    let known = line.values.iter().enumerate();
    known.filter_map(|(at, value)| value.map(|value| (x(at), y(value), value))).collect()
}

/// Shares of a whole, as a bar: each with its name and its place in the legend.
pub(super) fn bar(shares: &[(&str, usize, f64)]) -> Markup {
    let mut from = 0.0;
    let parts: Vec<(f64, f64, usize, String)> = shares
        .iter()
        .map(|(name, style, share)| {
            let begin = from;
            from += share;
            (begin, *share, *style, format!("{name}: {}", super::words::percent(*share)))
        })
        .collect();
    html! {
        svg class="bar" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" {
            @for (begin, share, at, text) in parts {
                rect class=(format!("part {}", style(at))) x=(n(begin * 1000.0)) y="0"
                    width=(n(share * 1000.0)) height="20" { title { (text) } }
            }
        }
    }
}

/// A step of 1, 2 or 5 times a power of ten, not below `least`.
pub(crate) fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= least * 0.999).unwrap_or(10.0 * power)
}

/// A coordinate: a tenth is finer than any screen.
pub(crate) fn n(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_not_too_small() {
        for (least, step) in [(0.3, 0.5), (1.0, 1.0), (1.2, 2.0), (3.0, 5.0), (70.0, 100.0)] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}: {}", round_step(least));
        }
    }

    #[test]
    fn a_missing_value_leaves_its_place_empty() {
        let line = Line { name: "a", style: 0, values: vec![Some(1.0), None, Some(3.0)] };
        let found = spots(&line, &|at| at as f64, &|value| -value);
        assert_eq!(found, [(0.0, -1.0, 1.0), (2.0, -3.0, 3.0)]);
    }
}
