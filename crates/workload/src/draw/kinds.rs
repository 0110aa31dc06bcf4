//! The distributions one by one: their parameters, how they are drawn, and their means.
//!
//! Drawn by inversion where the distribution function can be inverted. The normal deviates of the
//! others come from the polar method of Marsaglia and Bray, which needs no sine.

use super::series::{exp, gamma, ln, normal_below, pow};
use policy::Dice;

/// Draws that may fall outside a bound before the bound itself is taken: with half of the mass
/// inside, that is one in 2^64.
const TRIES_MAX: u32 = 64;

/// Density `exp(-x/mean) / mean`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    /// The mean, above 0.
    pub mean: f64,
}

impl Exponential {
    pub(super) fn sample(&self, dice: &mut Dice) -> f64 {
        -self.mean * ln(above_zero(dice))
    }
}

/// Above `x` with probability `exp(-(x/scale)^shape)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weibull {
    /// The scale, above 0, in the unit of what is drawn.
    pub scale: f64,
    /// The shape, above 0.
    pub shape: f64,
}

impl Weibull {
    pub(super) fn sample(&self, dice: &mut Dice) -> f64 {
        self.scale * pow(-ln(above_zero(dice)).min(-f64::MIN_POSITIVE), 1.0 / self.shape)
    }

    pub(super) fn mean(&self) -> f64 {
        self.scale * gamma(1.0 + 1.0 / self.shape)
    }
}

/// Above `x` with probability `(min/x)^alpha`, given that it is at most `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// The exponent of the tail, above 0; at most 1 and without a bound the mean is infinite.
    pub alpha: f64,
    /// The smallest value (the papers' `k`), above 0.
    pub min: f64,
    /// The largest value; infinity for none. What lies above is drawn again, which for this
    /// distribution can be done in one step.
    pub max: f64,
}

impl Pareto {
    pub(super) fn sample(&self, dice: &mut Dice) -> f64 {
        let beyond = self.beyond();
        let left = beyond + (1.0 - beyond) * above_zero(dice);
        (self.min * pow(left, -1.0 / self.alpha)).clamp(self.min, self.max)
    }

    /// The probability of what the bound cuts off.
    fn beyond(&self) -> f64 {
        if self.max.is_finite() { pow(self.min / self.max, self.alpha) } else { 0.0 }
    }

    pub(super) fn mean(&self) -> Option<f64> {
        let Self { alpha, min, max } = *self;
        if max.is_infinite() {
            return (alpha > 1.0).then(|| alpha * min / (alpha - 1.0));
        }
        let inside = 1.0 - self.beyond();
        if (alpha - 1.0).abs() < 1e-9 {
            return Some(min * ln(max / min) / inside);
        }
        Some(alpha * min / (alpha - 1.0) * (1.0 - pow(min / max, alpha - 1.0)) / inside)
    }
}

/// Its logarithm is normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lognormal {
    /// Mean of the logarithm.
    pub mu: f64,
    /// Standard deviation of the logarithm, above 0.
    pub sigma: f64,
    /// The largest value, not below the median; infinity for none. What lies above is drawn again.
    pub max: f64,
}

impl Lognormal {
    pub(super) fn sample(&self, dice: &mut Dice) -> f64 {
        for _ in 0..TRIES_MAX {
            let value = exp(self.mu + self.sigma * normal(dice));
            if value <= self.max {
                return value;
            }
        }
        self.max
    }

    pub(super) fn mean(&self) -> f64 {
        let all = exp(self.mu + self.sigma * self.sigma / 2.0);
        if self.max.is_infinite() {
            return all;
        }
        let bound = (ln(self.max) - self.mu) / self.sigma;
        all * normal_below(bound - self.sigma) / normal_below(bound)
    }
}

/// The time a Brownian motion with drift takes to a level; sessions' lengths in clicks follow it
/// (Huberman and others, *Strong Regularities in World Wide Web Surfing*, Science 1998).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InverseGaussian {
    /// The mean (the papers' mu), above 0.
    pub mean: f64,
    /// The shape (lambda), above 0; the variance is `mean^3 / shape`.
    pub shape: f64,
}

impl InverseGaussian {
    /// The transformation with two roots of Michael, Schucany, Haas, *Generating Random Variates
    /// Using Transformations with Multiple Roots*, American Statistician 1976.
    pub(super) fn sample(&self, dice: &mut Dice) -> f64 {
        let Self { mean, shape } = *self;
        let deviate = normal(dice);
        let scaled = mean * deviate * deviate;
        let root = (4.0 * shape * scaled + scaled * scaled).sqrt();
        // The smaller root, as the quotient of its product with the larger one: their difference
        // would lose all digits for large deviates.
        let small = 2.0 * shape * mean / (2.0 * shape + scaled + root);
        if dice.unit() * (mean + small) <= mean { small } else { mean * mean / small }
    }
}

/// Sizes of documents: a body, and with some probability a tail (Barford, Crovella: *Generating
/// Representative Web Workloads*, SIGMETRICS 1998).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hybrid {
    /// The body. Its bound is where the tail begins.
    pub body: Lognormal,
    /// The tail.
    pub tail: Pareto,
    /// How much of all is tail, 0 to 1.
    pub tail_share: f64,
}

impl Hybrid {
    pub(super) fn sample(&self, dice: &mut Dice) -> f64 {
        if dice.unit() < self.tail_share { self.tail.sample(dice) } else { self.body.sample(dice) }
    }

    pub(super) fn mean(&self) -> Option<f64> {
        let tail = self.tail.mean()?;
        Some(self.tail_share * tail + (1.0 - self.tail_share) * self.body.mean())
    }
}

/// A number above 0 and at most 1, whose logarithm is finite.
fn above_zero(dice: &mut Dice) -> f64 {
    1.0 - dice.unit()
}

/// A normal deviate with mean 0 and variance 1.
fn normal(dice: &mut Dice) -> f64 {
    loop {
        let (x, y) = (2.0 * dice.unit() - 1.0, 2.0 * dice.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * ln(square) / square).sqrt();
        }
    }
}
