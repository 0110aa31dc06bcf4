//! One of many, some more often than others: popularity.

use super::series::pow;
use policy::Dice;

/// Draws numbers below a count, each with its own probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// For each number, the probability of all up to it.
    up_to: Vec<f64>,
    /// For each of as many equal parts of 0..1, the number at its start: there a search begins,
    /// and one or two steps later it ends.
    guide: Vec<u32>,
}

impl Ranks {
    /// Numbers in proportion to these weights, which are not negative and not all 0.
    pub fn weighted(weights: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let mut up_to: Vec<f64> = weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        up_to.iter_mut().for_each(|part| *part /= sum);
        let length = up_to.len() as f64;
        let mut number = 0;
        let start = |part: usize| {
            while number + 1 < up_to.len() && up_to[number] <= part as f64 / length {
                number += 1;
            }
            number as u32
        };
        let guide = (0..up_to.len()).map(start).collect();
        Self { up_to, guide }
    }

    /// Zipf's law over `count` ranks, at least 1: rank `r`, from 1, has the weight
    /// `r^-exponent` and the number `r - 1`.
    pub fn zipf(count: u32, exponent: f64) -> Self {
        Self::weighted((1..=count.max(1)).map(|rank| pow(rank.into(), -exponent)))
    }

    /// Draws a number.
    pub fn sample(&self, dice: &mut Dice) -> u32 {
        let point = dice.unit();
        let mut number = self.guide[(point * self.guide.len() as f64) as usize] as usize;
        while number + 1 < self.up_to.len() && self.up_to[number] <= point {
            number += 1;
        }
        number as u32
    }
}
