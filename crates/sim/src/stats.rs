//! What many measurements come to: means with their confidence, and percentiles.

/// The mean of independent measurements and how sure it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval (Student's t); infinite for one measurement.
    pub half_width: f64,
}

/// Student's t, two-sided 95 %, for 1, 2, ... degrees of freedom.
const STUDENT_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Student's t for so many degrees of freedom, at least 1.
fn student_95(degrees: usize) -> f64 {
    STUDENT_95.get(degrees - 1).copied().unwrap_or_else(|| {
        // The normal's, and the first terms of the expansion in 1/degrees (Fisher and Cornish):
        // within 0.0002 from 30 on.
        let part = 1.0 / degrees as f64;
        1.959_964 + 2.372_3 * part + 2.822_5 * part * part
    })
}

impl Estimate {
    /// The estimate from independent measurements; 0 of none.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / count;
        if values.len() == 1 {
            return Self { mean, half_width: f64::INFINITY };
        }
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let t = student_95(values.len() - 1);
        Self { mean, half_width: t * (squares / (count - 1.0) / count).sqrt() }
    }

    /// Whether it differs from `other` by more than both half widths together: the careful test.
    pub fn differs(&self, other: &Self) -> bool {
        (self.mean - other.mean).abs() > self.half_width + other.half_width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        let estimate = Estimate::of(&[9.0, 10.0, 11.0]);
        assert_eq!(estimate.mean, 10.0);
        // s = 1, n = 3, t(2) = 4.303.
        assert!((estimate.half_width - 4.303 / 3.0_f64.sqrt()).abs() < 1e-9);
        assert!(Estimate::of(&[1.0]).half_width.is_infinite());
    }

    #[test]
    fn many_measurements_have_students_interval_too() {
        for (degrees, t) in [(30, 2.042), (31, 2.040), (40, 2.021), (60, 2.000), (120, 1.980)] {
            // Of as many ones as minus ones, or one more: the spread is known.
            let values: Vec<f64> =
                (0..=degrees).map(|number| if number % 2 == 0 { 1.0 } else { -1.0 }).collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let deviation = ((count - count * mean * mean) / (count - 1.0)).sqrt();
            let found = Estimate::of(&values).half_width / deviation * count.sqrt();
            assert!((found - t).abs() < 6e-4, "{degrees} degrees of freedom: {found}");
        }
    }

    #[test]
    fn only_what_is_clearly_apart_differs() {
        let near = Estimate { mean: 1.0, half_width: 0.3 };
        let far = Estimate { mean: 2.0, half_width: 0.3 };
        assert!(near.differs(&far));
        assert!(!near.differs(&Estimate { mean: 1.5, ..far }));
    }
}
