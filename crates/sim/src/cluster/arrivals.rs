//! When connections enter.

use super::Limit;
use core::time::Duration;
use policy::Dice;

/// When connections enter.
#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// One enters as one leaves, so that as many are open as the limit allows.
    Closed(Limit),
    /// By chance, independently of each other, so many a second on average; nobody is turned away.
    Poisson(f64),
    /// At equal distances.
    Every(Duration),
}

impl Arrivals {
    /// The time to the next arrival; `None` where departures make room instead.
    pub(super) fn gap(&self, dice: &mut Dice) -> Option<Duration> {
        match *self {
            Self::Closed(_) => None,
            Self::Every(gap) => Some(gap),
            Self::Poisson(per_second) => {
                Some(Duration::from_nanos((exponential(dice) / per_second * 1e9) as u64))
            }
        }
    }
}

/// A draw from the exponential distribution of mean 1, by comparisons alone, so that every machine
/// draws the same: von Neumann, *Various techniques used in connection with random digits*, 1951.
///
/// A run of falling uniform numbers is of odd length with probability e^-x, where x is its first;
/// each run of even length before it adds one.
fn exponential(dice: &mut Dice) -> f64 {
    let mut whole = 0.0;
    loop {
        let first = dice.unit();
        let (mut last, mut length) = (first, 1);
        loop {
            let next = dice.unit();
            if next >= last {
                break;
            }
            last = next;
            length += 1;
        }
        if length % 2 == 1 {
            return whole + first;
        }
        whole += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_exponentials_mean_variance_and_median() {
        let mut dice = Dice::new(7);
        let draws: Vec<f64> = (0..200_000).map(|_| exponential(&mut dice)).collect();
        let count = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / count;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
        let below = draws.iter().filter(|x| **x < core::f64::consts::LN_2).count() as f64 / count;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        assert!((below - 0.5).abs() < 0.005, "{below}");
    }
}
