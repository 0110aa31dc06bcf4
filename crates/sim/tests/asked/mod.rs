//! Scripts for the cluster's tests.
#![allow(dead_code)] // Not every test asks for all of it.

use policy::Dice;
use sim::cluster::Script;

/// The probability of each rank under Zipf's law. With exponent 1 the same bits on every machine.
pub fn zipf(targets: usize, exponent: f64) -> Vec<f64> {
    let weight = |rank| match exponent {
        1.0 => 1.0 / rank as f64,
        _ => (rank as f64).powf(-exponent),
    };
    let weights: Vec<f64> = (1..=targets).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Draws ranks by their probabilities.
pub struct Ranks(Vec<f64>);

impl Ranks {
    pub fn new(probabilities: &[f64]) -> Self {
        let mut sum = 0.0;
        let cumulative = probabilities.iter().map(|probability| {
            sum += probability;
            sum
        });
        Self(cumulative.collect())
    }

    pub fn draw(&self, dice: &mut Dice) -> u32 {
        let at = dice.unit() * self.0[self.0.len() - 1];
        self.0.partition_point(|below| *below <= at).min(self.0.len() - 1) as u32
    }
}

/// `connections` of `per_connection` requests each, of which the first stands alone.
pub fn script(sizes: &[u64], exponent: f64, connections: usize, per_connection: usize) -> Script {
    let ranks = Ranks::new(&zipf(sizes.len(), exponent));
    let mut dice = Dice::new(11);
    let mut script = Script::new(sizes.iter().copied());
    for _ in 0..connections {
        script.batch([ranks.draw(&mut dice)]);
        script.batch((1..per_connection).map(|_| ranks.draw(&mut dice)));
        script.close();
    }
    script
}

/// Sizes in bytes that have nothing to do with popularity: evenly from `least` to `least + spread`.
pub fn sizes(targets: usize, least: u64, spread: usize) -> Vec<u64> {
    let mut dice = Dice::new(5);
    (0..targets).map(|_| least + dice.below(spread) as u64).collect()
}
