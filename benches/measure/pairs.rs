//! One thing over another, measured in pairs: what the machine did meanwhile is in both.

/// The middle of the ratios of all pairs, and an interval in which the true middle is with 95 %
/// (or, with fewer than six pairs, as sure as their least and greatest are).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Paired {
    /// `None` without pairs.
    pub fn of(ratios: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = ratios.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let outer = outside(sorted.len());
        let median = f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]);
        Some(Self { median, low: sorted[outer], high: sorted[last - outer] })
    }
}

/// How many of the sorted numbers lie on either side of an interval that has the middle with 95 %:
/// each number is above the middle as likely as below, so how many are below is binomial (the sign
/// test's interval; Conover, *Practical Nonparametric Statistics*, 3.2).
fn outside(count: usize) -> usize {
    let mut chance = 0.5f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let (mut below, mut outer) = (chance, 0);
    for number in 1..count {
        if below > 0.025 {
            break;
        }
        outer = number - 1;
        chance *= (count - number + 1) as f64 / number as f64;
        below += chance;
    }
    outer
}
