//! What the demonstration found, as a table and as JSON.

use load::Report;
use serde::Serialize;

/// One policy.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub policy: String,
    /// Requests answered or failed.
    pub requests: u64,
    /// Requests not answered as they should be.
    pub failed: u64,
    /// Answered requests per second.
    pub throughput_rps: f64,
    /// Share of requests that the servers' caches had, 0 to 1.
    pub hit_ratio: f64,
    /// Median latency.
    pub p50_ms: f64,
    /// Latency that nine in ten did not exceed.
    pub p90_ms: f64,
    /// Latency that 99 in a hundred did not exceed.
    pub p99_ms: f64,
    /// Mean load of the busiest server over the mean of all.
    pub imbalance: f64,
    /// The first failures, for people.
    #[serde(skip)]
    pub examples: Vec<String>,
}

impl Row {
    /// What a replay under `policy` came to.
    pub fn new(policy: &str, report: &Report, imbalance: f64) -> Self {
        let example = |failure: &load::Failure| {
            format!("{}: {} ({})", failure.target, failure.cause.name(), failure.detail)
        };
        Self {
            policy: policy.to_owned(),
            requests: report.settled(),
            failed: report.failures(),
            throughput_rps: round(report.throughput_rps(), 1),
            hit_ratio: round(report.hit_ratio().unwrap_or(0.0), 4),
            p50_ms: round(report.latency_ms(0.5), 2),
            p90_ms: round(report.latency_ms(0.9), 2),
            p99_ms: round(report.latency_ms(0.99), 2),
            imbalance: round(imbalance, 3),
            examples: report.examples.iter().take(3).map(example).collect(),
        }
    }
}

fn round(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}

/// The table, and what it shows in a sentence.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::from(
        "policy          requests  failed  requests/s  hit ratio   p50 ms   p90 ms   p99 ms  \
         max/mean load\n",
    );
    for row in rows {
        out.push_str(&format!(
            "{:<14} {:>9} {:>7} {:>11.0} {:>9.1}% {:>8.1} {:>8.1} {:>8.1} {:>14.2}\n",
            row.policy,
            row.requests,
            row.failed,
            row.throughput_rps,
            row.hit_ratio * 100.0,
            row.p50_ms,
            row.p90_ms,
            row.p99_ms,
            row.imbalance
        ));
    }
    for row in rows {
        for example in &row.examples {
            out.push_str(&format!("{}: {example}\n", row.policy));
        }
    }
    let find = |name: &str| rows.iter().find(|row| row.policy == name);
    if let (Some(wrr), Some(lard)) = (find("wrr"), find("lard")) {
        out.push_str(&format!(
            "\nLARD serves {:.2} times the requests of WRR: its caches hold {:.1} % of what is \
             asked for instead of {:.1} %.\n",
            lard.throughput_rps / wrr.throughput_rps,
            lard.hit_ratio * 100.0,
            wrr.hit_ratio * 100.0
        ));
    }
    out
}

/// One JSON object, on one line.
pub fn json(trace: &str, servers: usize, rows: &[Row]) -> String {
    serde_json::json!({ "trace": trace, "servers": servers, "policies": rows }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(policy: &str, throughput_rps: f64, hit_ratio: f64) -> Row {
        Row {
            policy: policy.to_owned(),
            requests: 10,
            failed: 0,
            throughput_rps,
            hit_ratio,
            p50_ms: 1.0,
            p90_ms: 2.0,
            p99_ms: 3.0,
            imbalance: 1.0,
            examples: Vec::new(),
        }
    }

    #[test]
    fn the_sentence_compares_lard_with_wrr() {
        let text = text(&[row("wrr", 100.0, 0.5), row("lard", 250.0, 0.9)]);
        assert!(text.contains("LARD serves 2.50 times the requests of WRR"), "{text}");
        assert!(text.contains("90.0 % of what is asked for instead of 50.0 %"), "{text}");
    }

    #[test]
    fn the_object_has_the_promised_keys() {
        let value: serde_json::Value =
            serde_json::from_str(&json("t", 4, &[row("lard", 1.0, 0.5)])).unwrap();
        assert_eq!(value["servers"], 4);
        for key in [
            "policy",
            "requests",
            "failed",
            "throughput_rps",
            "hit_ratio",
            "p50_ms",
            "p90_ms",
            "p99_ms",
            "imbalance",
        ] {
            assert!(!value["policies"][0][key].is_null(), "{key}");
        }
    }
}
