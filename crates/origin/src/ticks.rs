//! What an origin does periodically: samples, reports, and looking after its connections.

use crate::origin::Origin;
use crate::status::WINDOW;
use crate::usage::Sample;
use core::time::Duration;
use policy::Instant;

impl Origin {
    /// Does what is periodic and due.
    pub(crate) fn tick(&mut self) {
        if self.now >= self.sweep_at {
            self.sweep();
        }
        if self.now >= self.sample_at {
            self.sample_at = next(self.sample_at, self.config.sample, self.now);
            self.take_sample();
        }
        if self.now >= self.report_at {
            self.report_at = next(self.report_at, self.config.report_period, self.now);
            let reading = self.reading();
            self.reported.close(reading);
        }
        self.tick_at = self.sweep_at.min(self.sample_at).min(self.report_at);
    }

    /// Closes the interval since the last sample.
    pub(crate) fn take_sample(&mut self) {
        let (before, now) = (*self.sampled.last(), self.reading());
        if now.real > before.real {
            self.usage.push(Sample::between(&before, &now, self.config.time_scale));
            self.sampled.close(now);
        }
    }

    /// Once a second: closes who is too late, looks at the clock, takes new connections again.
    fn sweep(&mut self) {
        self.sweep_at = self.now.plus(WINDOW);
        self.today.renew();
        let reading = self.reading();
        self.window.close(reading);
        let (now, idle, slow) = (self.now, self.config.idle_timeout, self.config.progress_timeout);
        let draining = self.drain_until.is_some();
        let late = self.conns.find(|conn| match conn.patience(idle, slow) {
            _ if draining && conn.is_idle() => true,
            Some(patience) => now.since(conn.progress) > patience,
            None => false,
        });
        for tag in late {
            let conn = self.conns.take(tag).expect("the connection was just found");
            self.close(tag, conn);
        }
        self.accept_more();
    }
}

/// The time after `now` that continues the rhythm of `at`.
fn next(at: Instant, period: Duration, now: Instant) -> Instant {
    let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
    let missed = now.0.saturating_sub(at.0) / period_ns;
    Instant(at.0.saturating_add(period_ns.saturating_mul(missed + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_tick_does_not_move_the_ones_after_it() {
        let ms = |ms| Instant::ZERO.plus(Duration::from_millis(ms));
        let next = |at, now| super::next(ms(at), Duration::from_millis(100), ms(now));
        assert_eq!(next(100, 100), ms(200));
        assert_eq!(next(100, 103), ms(200));
        assert_eq!(next(100, 450), ms(500));
        assert_eq!(next(100, 500), ms(600));
    }
}
