//! DISTRIBUTIONS: numbers drawn with [`Dice`], the same on every machine.
//!
//! Those by which the papers describe what clients ask: sizes, think times, objects of a page,
//! pages of a session. A heavy tail without an end has no mean or no variance, and then every
//! figure depends on where the generator stops it. So each truncation is a field here, and
//! [`Draw::mean`] is the mean of what is drawn, cut included.

mod kinds;
mod ranks;
pub(crate) mod series;

pub use kinds::{Exponential, Hybrid, InverseGaussian, Lognormal, Pareto, Weibull};
pub use ranks::Ranks;

use policy::Dice;

/// A distribution of positive numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Always the same.
    Constant(f64),
    /// Exponential: gaps between independent arrivals.
    Exponential(Exponential),
    /// Weibull.
    Weibull(Weibull),
    /// Pareto, bounded or not.
    Pareto(Pareto),
    /// Lognormal, bounded or not.
    Lognormal(Lognormal),
    /// Inverse Gaussian (Wald).
    InverseGaussian(InverseGaussian),
    /// A lognormal body with a Pareto tail.
    Hybrid(Hybrid),
}

impl Draw {
    /// Draws a number.
    pub fn sample(&self, dice: &mut Dice) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Exponential(kind) => kind.sample(dice),
            Self::Weibull(kind) => kind.sample(dice),
            Self::Pareto(kind) => kind.sample(dice),
            Self::Lognormal(kind) => kind.sample(dice),
            Self::InverseGaussian(kind) => kind.sample(dice),
            Self::Hybrid(kind) => kind.sample(dice),
        }
    }

    /// Draws a whole number, the nearest one, at least 1.
    pub fn whole(&self, dice: &mut Dice) -> u64 {
        self.sample(dice).round().max(1.0) as u64
    }

    /// The mean of what is drawn; `None` where it is infinite.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Exponential(kind) => Some(kind.mean),
            Self::Weibull(kind) => Some(kind.mean()),
            Self::Pareto(kind) => kind.mean(),
            Self::Lognormal(kind) => Some(kind.mean()),
            Self::InverseGaussian(kind) => Some(kind.mean),
            Self::Hybrid(kind) => kind.mean(),
        }
    }
}
