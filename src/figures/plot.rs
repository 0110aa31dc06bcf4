//! A figure as SVG: curves with marks, the key beside them, parameters and seed below.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use sim::{Axis, Figure, Study};
use std::path::Path;

/// What is drawn on.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Whether it could be.
pub(crate) type Painted = Result<(), Box<dyn std::error::Error>>;

const SIZE: (u32, u32) = (920, 560);
const TITLE_HEIGHT: u32 = 34;
const CAPTION_HEIGHT: u32 = 64;
/// Where the key begins.
const KEY_LEFT: u32 = 690;
const CAPTION_COLUMNS: usize = 165;

/// Colours that people with any colour vision tell apart (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
    RGBColor(190, 175, 20),
];

/// Draws the first column of `figure` over its horizontal axis into an SVG file.
///
/// # Errors
/// When the file cannot be written.
pub fn draw(study: &Study, figure: &Figure, caption: &str, path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    paint(study, figure, caption, &area)
        .map_err(|error| anyhow!("cannot draw {}: {error}", path.display()))
}

fn paint(study: &Study, figure: &Figure, caption: &str, area: &Area<'_>) -> Painted {
    area.fill(&WHITE)?;
    let (title, rest) = area.split_vertically(TITLE_HEIGHT);
    let (body, below) = rest.split_vertically(SIZE.1 - TITLE_HEIGHT - CAPTION_HEIGHT);
    let (left, key) = body.split_horizontally(KEY_LEFT);
    let heading = format!("{} ({})", study.title, study.source);
    title.draw_text(&heading, &("sans-serif", 16).into_text_style(&title), (16, 12))?;
    let small = ("sans-serif", 11).into_text_style(&below);
    for (line, top) in wrapped(caption).iter().zip((4..).step_by(15)) {
        below.draw_text(line, &small, (16, top))?;
    }
    curves(study, figure, &left)?;
    names(figure, &key)?;
    area.present()?;
    Ok(())
}

fn curves(study: &Study, figure: &Figure, area: &Area<'_>) -> Painted {
    let lines: Vec<Vec<(f64, f64)>> = figure
        .curves()
        .iter()
        .map(|name| {
            let points = figure.curve(name, figure.columns[0]).into_iter();
            points
                .map(|(x, y)| (placed(study.x, x), placed(study.y, y)))
                .filter(|(x, y)| x.is_finite() && y.is_finite())
                .collect()
        })
        .collect();
    let xs = || lines.iter().flatten().map(|point| point.0);
    let ys = || lines.iter().flatten().map(|point| point.1);
    let (left, right) = (xs().fold(f64::MAX, f64::min), xs().fold(f64::MIN, f64::max));
    let bottom = ys().fold(if study.y.log { f64::MAX } else { 0.0 }, f64::min);
    let top = ys().fold(f64::MIN, f64::max);
    if lines.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let headroom = if study.y.log { 0.1 } else { (top * 0.06).max(1e-9) };
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(42)
        .y_label_area_size(74)
        .build_cartesian_2d(left..right.max(left + 1e-9), bottom..top + headroom)?;
    chart
        .configure_mesh()
        .bold_line_style(BLACK.mix(0.1))
        .light_line_style(TRANSPARENT)
        .x_desc(study.x.name)
        .y_desc(study.y.name)
        .x_label_formatter(&|at| label(study.x, *at))
        .y_label_formatter(&|at| label(study.y, *at))
        .label_style(("sans-serif", 12))
        .draw()?;
    for (number, line) in lines.iter().enumerate() {
        let style = colour(number).stroke_width(2);
        chart.draw_series(LineSeries::new(line.iter().copied(), style))?;
        if line.len() > MARKED_MAX {
            continue;
        }
        // Another shape for each: colours alone are not enough.
        let points = line.iter().copied();
        match number % 3 {
            0 => chart.draw_series(points.map(|at| Circle::new(at, 3, style.filled())))?,
            1 => chart.draw_series(points.map(|at| TriangleMarker::new(at, 5, style.filled())))?,
            _ => chart.draw_series(points.map(|at| Cross::new(at, 4, style)))?,
        };
    }
    Ok(())
}

/// A curve of more points is drawn without marks: they would hide it.
const MARKED_MAX: usize = 40;

/// Where a value lies on an axis.
fn placed(axis: Axis, value: f64) -> f64 {
    if axis.log { value.log10() } else { value }
}

fn label(axis: Axis, at: f64) -> String {
    let value = if axis.log { 10_f64.powf(at) } else { at };
    match value.abs() {
        size if size >= 10_000.0 => format!("{:.0}k", value / 1000.0),
        size if size >= 10.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The colour of a curve, by its number.
pub(crate) fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// The key: a line of each curve's colour with its mark, and its name.
fn names(figure: &Figure, area: &Area<'_>) -> Painted {
    let text = ("sans-serif", 12).into_text_style(area);
    for (number, (name, top)) in figure.curves().iter().zip((24..).step_by(20)).enumerate() {
        let style = colour(number).stroke_width(2);
        area.draw(&PathElement::new(vec![(4, top), (28, top)], style))?;
        match number % 3 {
            0 => area.draw(&Circle::new((16, top), 3, style.filled()))?,
            1 => area.draw(&TriangleMarker::new((16, top), 5, style.filled()))?,
            _ => area.draw(&Cross::new((16, top), 4, style))?,
        }
        area.draw_text(name, &text, (36, top - 7))?;
    }
    Ok(())
}

/// The lines of a caption as wide as a picture.
pub(crate) fn wrapped(text: &str) -> Vec<String> {
    lines_of(text, CAPTION_COLUMNS)
}

/// Lines of at most `columns` characters, broken between words.
fn lines_of(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.len() + 1 + word.len() > columns {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Row;

    #[test]
    fn a_caption_breaks_between_words() {
        assert_eq!(lines_of("one two  three", 7), ["one two", "three"]);
        assert_eq!(lines_of("", 7), [""]);
    }

    #[test]
    fn a_figure_with_one_point_or_none_can_be_drawn() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("figure.svg");
        let study = |x| Study {
            id: "test",
            title: "a test",
            source: "none",
            x,
            y: Axis::linear("y"),
            columns: &["y"],
            caption: |_| String::new(),
            runs: |_, _| Vec::new(),
        };
        let mut figure = Figure { columns: &["y"], rows: Vec::new() };
        draw(&study(Axis::linear("x")), &figure, "nothing", &path).expect("drawn");
        figure.rows.push(Row::new("line", 0.0, vec![f64::NAN]));
        figure.rows.push(Row::new("line", 2.0, vec![0.0]));
        draw(&study(Axis::log("x")), &figure, "a point", &path).expect("drawn");
        let text = std::fs::read_to_string(&path).expect("read");
        assert!(text.contains("a point") && text.contains("line"));
    }
}
