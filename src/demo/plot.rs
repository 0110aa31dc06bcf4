//! The picture of the demonstration: throughput and hit ratio of each policy, side by side.

use super::Row;
use anyhow::{Result, anyhow};
use plotters::coord::ranged1d::SegmentValue;
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (920, 420);

/// Colours that people with any colour vision tell apart (Okabe and Ito, 2008).
const THROUGHPUT: RGBColor = RGBColor(0, 114, 178);
const HITS: RGBColor = RGBColor(230, 159, 0);

pub(super) fn draw(rows: &[Row], caption: &str, path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    paint(rows, caption, &area).map_err(|error| anyhow!("cannot draw {}: {error}", path.display()))
}

fn paint(
    rows: &[Row],
    caption: &str,
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
) -> Result<(), Box<dyn std::error::Error>> {
    area.fill(&WHITE)?;
    let (title, body) = area.split_vertically(34);
    title.draw_text(caption, &("sans-serif", 14).into_text_style(&title), (16, 12))?;
    let halves = body.split_evenly((1, 2));
    let throughput: Vec<f64> = rows.iter().map(|row| row.throughput_rps).collect();
    let hits: Vec<f64> = rows.iter().map(|row| row.hit_ratio * 100.0).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.policy.as_str()).collect();
    let most = throughput.iter().copied().fold(1.0, f64::max) * 1.15;
    bars(&halves[0], "requests per second", &names, &throughput, most, THROUGHPUT)?;
    bars(&halves[1], "hit ratio of the servers' caches, %", &names, &hits, 105.0, HITS)?;
    area.present()?;
    Ok(())
}

fn bars(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    names: &[&str],
    values: &[f64],
    most: f64,
    colour: RGBColor,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 15))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(54)
        .build_cartesian_2d((0..names.len().saturating_sub(1)).into_segmented(), 0.0..most)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(BLACK.mix(0.1))
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|at| match at {
            SegmentValue::CenterOf(index) => names.get(*index).unwrap_or(&"").to_string(),
            _ => String::new(),
        })
        .draw()?;
    chart.draw_series(values.iter().enumerate().map(|(at, value)| {
        let mut bar = Rectangle::new(
            [(SegmentValue::Exact(at), 0.0), (SegmentValue::Exact(at + 1), *value)],
            colour.filled(),
        );
        bar.set_margin(0, 0, 12, 12);
        bar
    }))?;
    chart.draw_series(values.iter().enumerate().map(|(at, value)| {
        let style = ("sans-serif", 13).into_font().color(&BLACK);
        let text = if *value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") };
        Text::new(text, (SegmentValue::CenterOf(at), *value + most * 0.04), style.pos(centre()))
    }))?;
    Ok(())
}

fn centre() -> plotters::style::text_anchor::Pos {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    Pos::new(HPos::Center, VPos::Center)
}
