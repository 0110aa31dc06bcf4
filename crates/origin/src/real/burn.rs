//! Burns CPU time: hashing in small batches, measured by the thread's own clock.

use core::time::Duration;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What one round hashes: stays in the nearest cache, so that rounds take the same time.
const BLOCK_BYTES: usize = 1024;

/// How much is burnt between two looks at the clock, which cost a third of a microsecond each.
const BATCH: Duration = Duration::from_micros(50);

/// CPU time over which rounds are counted at the start.
const CALIBRATION: Duration = Duration::from_millis(5);

/// The CPU time that the calling thread has used.
pub(crate) fn thread_cpu() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

/// A loop that takes as much CPU time as it is told.
pub(crate) struct Burner {
    block: Vec<u8>,
    hash: u64,
    rounds_per_s: f64,
    /// What was burnt too much so far, to be made good by what is burnt next.
    ahead: Duration,
}

impl Burner {
    /// Finds out how fast the calling thread is.
    pub(crate) fn calibrated() -> Self {
        let block = (0..BLOCK_BYTES).map(|at| at as u8).collect();
        let mut burner = Self { block, hash: 0, rounds_per_s: 0.0, ahead: Duration::ZERO };
        let mut rounds = 64;
        loop {
            let before = thread_cpu();
            burner.run(rounds);
            let spent = thread_cpu().saturating_sub(before);
            if spent >= CALIBRATION {
                burner.rounds_per_s = rounds as f64 / spent.as_secs_f64();
                return burner;
            }
            rounds *= 2;
        }
    }

    /// Uses `demand` of CPU time, give or take a batch that the next call makes good. `spent` is
    /// told what was used since it was last told, and says whether to go on.
    pub(crate) fn burn(&mut self, demand: Duration, mut spent: impl FnMut(Duration) -> bool) {
        let Some(mut left) = demand.checked_sub(self.ahead) else {
            self.ahead -= demand;
            return;
        };
        self.ahead = Duration::ZERO;
        let mut before = thread_cpu();
        while left > Duration::ZERO {
            let batch = left.min(BATCH).as_secs_f64();
            self.run((batch * self.rounds_per_s).max(1.0) as u64);
            let now = thread_cpu();
            let used = now.saturating_sub(before);
            before = now;
            if !spent(used) {
                return;
            }
            self.ahead = used.saturating_sub(left);
            left = left.saturating_sub(used);
        }
    }

    fn run(&mut self, rounds: u64) {
        for _ in 0..rounds {
            // Each round needs the one before, so none is left out.
            self.hash = black_box(xxh3_64_with_seed(&self.block, self.hash));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_burnt_is_what_was_asked_for_by_the_threads_own_clock() {
        // What interrupts a processor may count for the thread that has it, now and then.
        let rounds: Vec<_> = (0..3).map_while(|_| a_round_of_burning().err()).collect();
        assert!(rounds.len() < 3, "{rounds:?}");
    }

    /// Whether as much was burnt and told as was asked for; what it was, if not.
    fn a_round_of_burning() -> Result<(), String> {
        let mut burner = Burner::calibrated();
        let demands = [700, 3, 1, 250, 0, 4_000, 46].map(Duration::from_micros);
        let (before, mut told) = (thread_cpu(), Duration::ZERO);
        for demand in demands.iter().cycle().take(700) {
            burner.burn(*demand, |used| {
                told += used;
                true
            });
        }
        let (burnt, asked) = (thread_cpu() - before, Duration::from_millis(500));
        let off = burnt.as_secs_f64() / asked.as_secs_f64() - 1.0;
        // Besides the burning there is only this loop.
        let is_told = told <= burnt && told + Duration::from_millis(5) > burnt;
        match off.abs() < 0.01 && is_told {
            true => Ok(()),
            false => Err(format!("{burnt:?} instead of {asked:?}, of which {told:?} were told")),
        }
    }

    #[test]
    fn whoever_says_stop_is_heard_within_a_batch() {
        let mut burner = Burner::calibrated();
        let before = thread_cpu();
        burner.burn(Duration::from_secs(3600), |_| false);
        assert!(thread_cpu() - before < Duration::from_secs(1));
    }
}
