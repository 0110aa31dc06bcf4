//! The comparison as comma-separated values: a row for each cluster.

use super::cell::Cell;
use super::study::Study;
use sim::replay::Strain;
use std::fmt::Write;

/// Names of the columns, units last.
const HEADER: &str = "policy,servers,cache_bytes,seeds,requests,throughput_rps,\
throughput_rps_half,capacity_rps,capacity_rps_half,hit_ratio,hit_ratio_half,byte_hit_ratio,\
p50_ms,p90_ms,p99_ms,p99_ms_half,imbalance,replicated_targets,work,refused,strain,\
peak_work,against,lead,lead_low,lead_high";

/// A header and the rows.
pub fn csv(study: &Study) -> String {
    let mut out = format!("{HEADER}\n");
    for cell in &study.cells {
        row(&mut out, study, cell);
    }
    out
}

fn row(out: &mut String, study: &Study, cell: &Cell) {
    let figures = &cell.figures;
    let requests = cell.outcomes.first().map_or(0, |outcome| outcome.requests);
    let _ = write!(
        out,
        "{},{},{},{},{requests},{:.3},{},{:.3},{},{:.6},{},{:.6},{:.4},{:.4},{:.4},{},{:.4},{:.1},\
         {},{:.1},{}",
        cell.policy,
        cell.servers,
        cell.cache_bytes,
        cell.outcomes.len(),
        figures.throughput_rps.mean,
        number(figures.throughput_rps.half_width),
        figures.capacity_rps.mean,
        number(figures.capacity_rps.half_width),
        figures.hit_ratio.mean,
        number(figures.hit_ratio.half_width),
        figures.byte_hit_ratio.mean,
        figures.p50_ms.mean,
        figures.p90_ms.mean,
        figures.p99_ms.mean,
        number(figures.p99_ms.half_width),
        figures.imbalance.mean,
        figures.replicated.mean,
        number(figures.work.mean),
        figures.refused.mean,
        strain(cell),
    );
    let lead = study.lead(cell);
    let interval = lead.and_then(|(_, lead)| lead.interval);
    let _ = writeln!(
        out,
        ",{},{},{},{},{}",
        number(figures.peak),
        lead.map_or("", |(against, _)| against),
        lead.map_or_else(String::new, |(_, lead)| number(lead.mean)),
        interval.map_or_else(String::new, |(low, _)| number(low)),
        interval.map_or_else(String::new, |(_, high)| number(high)),
    );
}

/// A figure, or nothing where none was measured.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value:.6}") } else { String::new() }
}

/// Whether the cluster could do what came, in one word.
pub(super) fn strain(cell: &Cell) -> &'static str {
    match cell.figures.strain {
        Strain::None => "none",
        Strain::Passing(_) => "passing",
        Strain::Lasting => "lasting",
    }
}
