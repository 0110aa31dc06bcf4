//! How fine a log's stamps are, and when a request began whose end was logged in whole seconds.
//!
//! A server that logs "10:05:03" for the end of a reply that took 5 ms says that the request came
//! between 10:05:02.995 and 10:05:03.995, no more. Stamp less time taken would be 10:05:02.995 for
//! all requests of that second: a burst that never was. So the end is drawn within its grain, what
//! it took is subtracted, and the start is given in whole grains again, as other logs give it;
//! whoever plays the log spreads the requests of a grain.

use policy::Dice;
use std::time::Duration;

/// Stamps that must differ before whole minutes are taken for a habit of the log.
const STAMPS_MIN: usize = 20;

/// Any number: the same log must give the same starts in every run.
const SEED: u64 = 0x656e_6473;

/// The coarsest of a minute, a second and a millisecond of which every stamp, in microseconds, is a
/// whole number; nothing when there is none.
pub fn grain(stamps_us: impl Iterator<Item = i64> + Clone) -> Duration {
    let whole = |unit_us: &i64| stamps_us.clone().all(|at_us| at_us % unit_us == 0);
    let mut last_us = None;
    let changes = stamps_us.clone().filter(|at_us| last_us.replace(*at_us) != Some(*at_us));
    let minutes = changes.take(STAMPS_MIN).count() == STAMPS_MIN;
    let units_us = [60_000_000, 1_000_000, 1_000];
    let unit_us = units_us.into_iter().skip(usize::from(!minutes)).find(whole);
    Duration::from_micros(unit_us.unwrap_or(0).unsigned_abs())
}

/// When requests began, by the ends that a log gives in its order.
#[derive(Clone, Debug)]
pub(crate) struct Begins {
    grain_us: i64,
    dice: Dice,
}

impl Begins {
    /// Of a log with these stamps, in microseconds.
    pub(crate) fn new(stamps_us: impl Iterator<Item = i64> + Clone) -> Self {
        let grain_us = i64::try_from(grain(stamps_us).as_micros()).unwrap_or(0);
        Self { grain_us, dice: Dice::new(SEED) }
    }

    /// When the next request began, in microseconds: whole grains, but for grains of a millisecond
    /// and less, where the difference is taken as it is.
    pub(crate) fn next_us(&mut self, ended_us: i64, took_us: i64) -> i64 {
        if self.grain_us < 1_000_000 {
            return ended_us.saturating_sub(took_us / 1000 * 1000);
        }
        let within_us = (u128::from(self.dice.bits()) * self.grain_us.unsigned_abs() as u128) >> 64;
        let began_us = ended_us.saturating_add(within_us as i64).saturating_sub(took_us);
        began_us.div_euclid(self.grain_us).saturating_mul(self.grain_us)
    }
}
