//! What was compared, for people and for programs.

use super::verdict::{Comparison, Kind, holds, summary};
use serde_json::{Value, json};
use std::fmt::Write;

/// A table: a line for each figure.
pub fn text(comparisons: &[Comparison]) -> String {
    let mut out = format!(
        "{:<30} {:<11} {:>10} {:>10} {:>9} {:>8} {:>4}  within\n",
        "experiment", "figure", "live", "simulated", "error", "+-", "runs"
    );
    for comparison in comparisons {
        let Comparison { experiment, kind, live, .. } = comparison;
        let unit = kind.unit();
        let verdict = comparison.verdict().name();
        // Writing to a string does not fail.
        let _written = writeln!(
            out,
            "{experiment:<30} {:<11} {:>10} {:>10} {:>9} {:>8} {:>4}  {verdict}",
            kind.name(),
            figure(*kind, comparison.live_mean()),
            figure(*kind, comparison.simulated_mean()),
            format!("{:+.1}{unit}", comparison.error()),
            format!("{:.1}{unit}", comparison.margin()),
            live.len(),
        );
    }
    out
}

fn figure(kind: Kind, value: f64) -> String {
    match kind {
        Kind::Hits => format!("{:.1}%", value * 100.0),
        Kind::Throughput => format!("{value:.1}/s"),
        Kind::PageP90 => format!("{value:.0} ms"),
    }
}

/// The same as JSON, with what was said before the table.
pub fn json(notes: &[String], comparisons: &[Comparison]) -> Value {
    let row = |comparison: &Comparison| {
        json!({
            "experiment": comparison.experiment,
            "figure": comparison.kind,
            "live": comparison.live,
            "simulated": comparison.simulated,
            "error": comparison.error(),
            "margin": comparison.margin(),
            "disturbed": comparison.disturbed,
            "unit": comparison.kind.unit(),
            "tolerance": comparison.kind.tolerance(),
            "verdict": comparison.verdict(),
        })
    };
    json!({
        "notes": notes,
        "comparisons": comparisons.iter().map(row).collect::<Vec<_>>(),
        "summary": summary(comparisons),
        "holds": holds(comparisons),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_line_with_its_error_and_the_json_says_the_same() {
        let far = Comparison {
            experiment: "trace, wrr".to_owned(),
            kind: Kind::Hits,
            live: vec![0.849, 0.851],
            simulated: vec![0.95; 2],
            disturbed: false,
        };
        let text = text(std::slice::from_ref(&far));
        let line = text.lines().nth(1).expect("a line for each");
        assert!(line.contains("85.0%") && line.contains("+10.0pp") && line.ends_with("NO"));
        let json = json(&[], &[far]);
        assert_eq!(json["holds"], false);
        assert_eq!(json["comparisons"][0]["figure"], "hits");
        assert_eq!(json["summary"], "fidelity: hit=+10.0pp");
    }
}
