//! Pictures of a run as SVG, coloured by the page's style sheet: latency by percentile, and how it
//! went second by second. Alone, they bring a style of their own.

use super::plan::Asked;
use super::story::{asked, when};
use super::study::{SHARES, Study, enough};
use crate::whatif::plot::{COLOURS, n, round_step, style};
use crate::whatif::words::{figure, ms};
use load::{Outcome, Slice, Timing};
use maud::{Markup, PreEscaped, html};

const WIDTH: f64 = 1080.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;

/// Height of the title and legend of a picture that stands alone.
const HEAD: f64 = 46.0;

/// Points of a percentile curve for each factor of ten.
const POINTS: u32 = 12;

/// Labels of a time axis, about.
const LABELS: f64 = 12.0;

/// The style of a picture that stands alone: the page's colours on paper.
const STYLE: &str = "text { font-family: system-ui, 'DejaVu Sans', sans-serif; fill: #1c2330; } \
    .paper { fill: #fff; } .grid { stroke: #dfe4ea; } .line { fill: none; stroke-width: 2; } \
    .tick { font-size: 11px; } .axis { font-size: 12px; } .title { font-size: 15px; \
    font-weight: 600; } .c0 { stroke: #0072b2; } .c1 { stroke: #d55e00; } .c2 { stroke: #009e73; } \
    .c3 { stroke: #b5539b; } .d1 { stroke-dasharray: 7 4; }";

/// A curve: its name, its place in the legend, and its points.
struct Curve {
    name: &'static str,
    style: usize,
    points: Vec<(f64, f64)>,
}

/// An axis: from where to where, and its labels.
struct Axis {
    from: f64,
    to: f64,
    labels: Vec<(f64, String)>,
    /// Whether equal distances are equal factors.
    log: bool,
}

/// What is drawn.
pub struct Picture {
    title: String,
    across: &'static str,
    x: Axis,
    y: Axis,
    curves: Vec<Curve>,
}

impl Axis {
    /// From 0 to at least `most`, in round steps of at least `least`.
    fn linear(most: f64, labels: f64, least: f64, write: fn(f64) -> String) -> Self {
        let step = round_step((most / labels).max(least));
        let count = (most / step).ceil().max(1.0);
        let labels = (0..=count as usize).map(|at| at as f64 * step);
        let labels = labels.map(|at| (at, write(at))).collect();
        Self { from: 0.0, to: count * step, labels, log: false }
    }

    /// Powers of ten around `least` and `most`.
    fn powers(least: f64, most: f64, write: fn(f64) -> String) -> Self {
        let from = least.max(1e-3).log10().floor();
        let to = most.max(1e-3).log10().ceil().max(from + 1.0);
        let labels = (from as i32..=to as i32).map(|power| 10_f64.powi(power));
        let labels = labels.map(|at| (at, write(at))).collect();
        Self { from: 10_f64.powf(from), to: 10_f64.powf(to), labels, log: true }
    }

    /// Where a value lies, 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let place = if self.log {
            (value.max(self.from).log10() - self.from.log10())
                / (self.to.log10() - self.from.log10())
        } else {
            (value - self.from) / (self.to - self.from)
        };
        place.clamp(0.0, 1.0)
    }
}

/// Latency by percentile, from due and from the sending on; `None` of nothing.
pub fn latency(study: &Study) -> Option<Picture> {
    let whole = &study.whole;
    let pages = !matches!(study.job.asked, Asked::Object) && !whole.pages.due_us.is_empty();
    let mut timings: Vec<(&Timing, [&'static str; 2])> = Vec::new();
    if pages {
        timings.push((&whole.pages, ["pages, from due", "pages, from the sending on"]));
    }
    timings.push((&whole.requests, ["requests, from due", "requests, from the sending on"]));
    timings.retain(|(timing, _)| !timing.due_us.is_empty());
    let count = timings.iter().map(|(timing, _)| timing.due_us.len()).max()?;
    // As far as there are values: the longest of a thousand is the 99.9th percentile.
    let decades = (count as f64).log10().clamp(1.0, 5.0);
    let mut curves = Vec::new();
    for (timing, names) in timings {
        let own = (timing.due_us.len() as f64).log10().clamp(0.3, decades);
        let place = curves.len() / 2;
        // The same colour, dashed from the sending on.
        let styles = [place, place + COLOURS];
        let both = [&timing.due_us, &timing.sent_us].into_iter().zip(styles);
        for (name, (times, style)) in names.into_iter().zip(both) {
            let steps = (own * f64::from(POINTS)).floor() as u32;
            let place = |step: u32| f64::from(step) / f64::from(POINTS);
            let ms = |nines: f64| times.value_at_quantile(1.0 - 10_f64.powf(-nines)) as f64 / 1e3;
            let mut points: Vec<_> =
                (0..=steps).map(place).map(|nines| (nines, ms(nines))).collect();
            points.push((own, times.max() as f64 / 1e3));
            curves.push(Curve { name, style, points });
        }
    }
    let names = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"];
    let mut labels: Vec<(f64, String)> =
        (0..=decades as usize).map(|at| (at as f64, names[at].to_owned())).collect();
    labels.push((2_f64.log10(), "50 %".to_owned()));
    let values = || curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    Some(Picture {
        title: "Latency by percentile".to_owned(),
        across: "share of them that took at most so long",
        x: Axis { from: 0.0, to: decades, labels, log: false },
        y: Axis::powers(least, most, ms),
        curves,
    })
}

/// What a curve over time is of: its name, and its value in a slice, if it has one.
type Course = (&'static str, fn(&Slice) -> Option<f64>);

/// How a run went: rates, times of pages, failures.
pub fn course(outcome: &Outcome) -> Vec<Picture> {
    let over = |title: &str, courses: &[Course], write: fn(f64) -> String| {
        let of = |(style, (name, value)): (usize, &Course)| {
            let points = outcome.slices.iter();
            let points = points.filter_map(|slice| Some((slice.at_s, value(slice)?)));
            Curve { name, style, points: points.collect() }
        };
        let curves: Vec<Curve> = courses.iter().enumerate().map(of).collect();
        let values = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
        let most = values.fold(0.0, f64::max);
        let end_s = outcome.slices.last().map_or(1.0, |slice| slice.at_s.max(1.0));
        Picture {
            title: title.to_owned(),
            across: "seconds",
            x: Axis::linear(end_s, LABELS, 1.0, figure_short),
            y: Axis::linear(most, 5.0, 1e-9, write),
            curves,
        }
    };
    let rates: [Course; 3] = [
        ("requests", |slice| rate(slice, slice.requests)),
        ("pages", |slice| rate(slice, slice.pages)),
        ("sessions under way", |slice| Some(slice.under_way as f64)),
    ];
    let times: [Course; 3] = [
        ("p50", |slice| page_ms(slice, 0)),
        ("p90", |slice| page_ms(slice, 1)),
        ("p99", |slice| page_ms(slice, 2)),
    ];
    let failed: Course = ("failed requests", |slice| rate(slice, slice.failed.iter().sum()));
    let failures = [failed];
    let mut pictures = vec![
        over("Answered in a second", &rates, figure_short),
        over("Times of pages, from when they were due", &times, ms),
    ];
    if outcome.failures() > 0 {
        pictures.push(over("Failed in a second", &failures, figure_short));
    }
    pictures.retain(|picture| picture.curves.iter().any(|curve| !curve.points.is_empty()));
    pictures
}

/// So many a second, however short the slice is.
fn rate(slice: &Slice, count: u64) -> Option<f64> {
    (slice.length_s > 0.0).then(|| count as f64 / slice.length_s)
}

/// A time of pages in milliseconds, where there were pages enough.
fn page_ms(slice: &Slice, at: usize) -> Option<f64> {
    enough(slice.pages, SHARES[at]).then_some(slice.pages_us[at] as f64 / 1e3)
}

/// A figure, without a point where it is whole but for what fractions lose in binary.
pub(super) fn figure_short(value: f64) -> String {
    let lost = (value - value.round()).abs();
    if lost <= value.abs() * 1e-9 { format!("{value:.0}") } else { figure(value) }
}

/// The picture in a page, with its legend.
pub fn shown(picture: &Picture) -> Markup {
    html! {
        figure {
            figcaption { (picture.title) }
            @if picture.curves.len() > 1 {
                ul class="legend" {
                    @for curve in &picture.curves {
                        li { i class=(style(curve.style)) {} (curve.name) }
                    }
                }
            }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(picture.title) {
                (drawn(picture))
            }
        }
    }
}

fn drawn(picture: &Picture) -> Markup {
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * picture.x.place(value);
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - picture.y.place(value));
    html! {
        @for (at, label) in &picture.y.labels {
            line class="grid" x1=(n(LEFT)) x2=(n(WIDTH - RIGHT)) y1=(n(y(*at))) y2=(n(y(*at))) {}
            text class="tick" x=(n(LEFT - 6.0)) y=(n(y(*at) + 4.0)) text-anchor="end" { (label) }
        }
        @for (at, label) in &picture.x.labels {
            text class="tick" x=(n(x(*at))) y=(n(HEIGHT - BOTTOM + 17.0)) text-anchor="middle" {
                (label)
            }
        }
        text class="axis" x=(n(LEFT + (WIDTH - LEFT - RIGHT) / 2.0)) y=(n(HEIGHT - 6.0))
            text-anchor="middle" { (picture.across) }
        @for curve in &picture.curves {
            @let points: Vec<String> =
                curve.points.iter().map(|(at, value)| format!("{},{}", n(x(*at)), n(y(*value))))
                .collect();
            polyline class=(format!("line {}", style(curve.style))) points=(points.join(" ")) {
                title { (curve.name) }
            }
        }
    }
}

/// All pictures, one above the other, as a file of its own.
pub fn alone(study: &Study) -> String {
    let pictures: Vec<Picture> =
        latency(study).into_iter().chain(study.outcomes.iter().take(1).flat_map(course)).collect();
    let height = HEAD + pictures.len() as f64 * (HEIGHT + HEAD);
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}"))
            width=(WIDTH) height=(height) {
            style { (PreEscaped(STYLE)) }
            rect class="paper" width="100%" height="100%" {}
            text class="title" x="16" y="22" { (asked(&study.job)) }
            text class="axis" x="16" y="40" { (when(&study.job)) }
            @for (at, picture) in pictures.iter().enumerate() {
                @let top = HEAD + at as f64 * (HEIGHT + HEAD);
                g transform=(format!("translate(0 {top})")) {
                    text class="title" x="16" y="22" { (picture.title) }
                    @for (at, curve) in picture.curves.iter().enumerate() {
                        @let left = 16.0 + at as f64 * 210.0;
                        line class=(format!("line {}", style(curve.style))) x1=(n(left))
                            x2=(n(left + 22.0)) y1="38" y2="38" {}
                        text class="axis" x=(n(left + 28.0)) y="42" { (curve.name) }
                    }
                    g transform=(format!("translate(0 {HEAD})")) { (drawn(picture)) }
                }
            }
        }
    };
    markup.into_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_labels_that_hold_what_is_drawn() {
        let names =
            |axis: &Axis| axis.labels.iter().map(|label| label.1.clone()).collect::<Vec<_>>();
        let seconds = Axis::linear(5.0, LABELS, 1.0, figure_short);
        assert_eq!(names(&seconds), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!((seconds.place(0.0), seconds.place(5.0), seconds.place(9.0)), (0.0, 1.0, 1.0));
        let times = Axis::powers(0.3, 42.0, figure_short);
        assert_eq!((times.from, times.to), (0.1, 100.0));
        assert!((times.place(10.0) - 2.0 / 3.0).abs() < 1e-9, "equal factors, equal distances");
        assert_eq!(times.place(0.0), 0.0, "what is nothing lies at the bottom");
    }

    #[test]
    fn a_run_without_pages_has_no_picture_of_them() {
        let slice = Slice { at_s: 1.0, length_s: 1.0, requests: 3, ..Slice::default() };
        let outcome = Outcome { slices: vec![slice], ..Outcome::default() };
        let titles: Vec<String> =
            course(&outcome).into_iter().map(|picture| picture.title).collect();
        assert_eq!(titles, ["Answered in a second"]);
        assert!(course(&Outcome::default()).is_empty());
    }
}
