//! The middle of some numbers and how far they lie apart.

use serde_json::{Value, json};

/// The middle of some numbers, the least and the greatest.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// `None` without numbers.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let half = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => f64::midpoint(sorted[half - 1], sorted[half]),
            _ => sorted[half],
        };
        Some(Self { median, min, max })
    }

    /// For a line of results.
    pub fn json(self) -> Value {
        let round = |number: f64| (number * 1000.0).round() / 1000.0;
        json!({ "median": round(self.median), "min": round(self.min), "max": round(self.max) })
    }
}
