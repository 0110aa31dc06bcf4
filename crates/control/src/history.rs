//! The last minutes of traffic, so that the status page can show rates and percentiles of now
//! rather than of the process's whole life. One sample a second in a ring.

use crate::Supervisor;
use crate::view::Histogram;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Samples kept: five minutes at one a second, about 100 KB.
const SAMPLES_MAX: usize = 300;
/// Time between samples.
const STEP: Duration = Duration::from_secs(1);
/// The window of rates and percentiles, in samples.
const WINDOW: usize = 60;

/// Samples of the last minutes.
#[derive(Default)]
pub(crate) struct History(Mutex<VecDeque<Sample>>);

/// The counters at a moment.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) expected_hits: u64,
    pub(crate) expected_misses: u64,
    pub(crate) duration: Histogram,
}

/// What happened within the last minute.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Recent {
    /// The time it covers, in seconds; less than a minute after a start.
    pub(crate) span_s: f64,
    /// Requests a second.
    pub(crate) rate: f64,
    /// Share of requests answered 5xx, 0 to 1; `None` without requests.
    pub(crate) error_share: Option<f64>,
    /// Share of decisions where the policy expected a hit; `None` where it expects nothing.
    pub(crate) hit_share: Option<f64>,
    /// How long requests took.
    pub(crate) duration: Histogram,
    /// Requests a second for each step of the ring, oldest first.
    pub(crate) rates: Vec<f64>,
}

impl History {
    /// Takes a sample each second, for ever.
    pub(crate) async fn keep(&self, supervisor: &Supervisor) -> Infallible {
        let mut ticks = tokio::time::interval(STEP);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            self.push(Sample::take(supervisor));
        }
    }

    pub(crate) fn push(&self, sample: Sample) {
        let mut samples = self.samples();
        if samples.len() == SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// What happened between the sample a minute ago and `now`.
    pub(crate) fn recent(&self, now: &Sample) -> Recent {
        let samples = self.samples();
        let first = samples.len().saturating_sub(WINDOW);
        let Some(then) = samples.get(first) else { return Recent::default() };
        let span_s = now.at.saturating_duration_since(then.at).as_secs_f64();
        let requests = now.requests.saturating_sub(then.requests) as f64;
        let errors = now.errors.saturating_sub(then.errors) as f64;
        let hits = now.expected_hits.saturating_sub(then.expected_hits) as f64;
        let misses = now.expected_misses.saturating_sub(then.expected_misses) as f64;
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let pairs = samples.iter().zip(samples.iter().skip(1));
        Recent {
            span_s,
            rate: if span_s > 0.0 { requests / span_s } else { 0.0 },
            error_share: share(errors, requests),
            hit_share: share(hits, hits + misses),
            duration: now.duration.since(&then.duration),
            rates: pairs.map(|(a, b)| rate(a, b)).collect(),
        }
    }

    fn samples(&self) -> MutexGuard<'_, VecDeque<Sample>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sample {
    /// The counters as they are now.
    pub(crate) fn take(supervisor: &Supervisor) -> Self {
        let (status, totals) = (supervisor.switch().status(), supervisor.switch().totals());
        let mut sample = Self {
            at: Instant::now(),
            requests: status.requests,
            errors: status.replies.server_error,
            expected_hits: 0,
            expected_misses: 0,
            duration: Histogram::default(),
        };
        for server in supervisor.switch().servers() {
            sample.expected_hits += server.expected_hits;
            sample.expected_misses += server.expected_misses;
        }
        for timed in &totals.durations {
            // Histograms of one switch share their buckets; one that does not is left out.
            sample.duration.merge(&timed.duration);
        }
        sample
    }
}

fn rate(earlier: &Sample, later: &Sample) -> f64 {
    let span_s = later.at.saturating_duration_since(earlier.at).as_secs_f64();
    let requests = later.requests.saturating_sub(earlier.requests) as f64;
    if span_s > 0.0 { requests / span_s } else { 0.0 }
}

#[cfg(test)]
mod tests {
    //! Method: samples whose counters grow by known steps.

    use super::*;
    use crate::view::LATENCY_BOUNDS_S;

    fn sample(began: Instant, second: u64) -> Sample {
        let mut counts = vec![0; LATENCY_BOUNDS_S.len() + 1];
        // Replies take 1 ms in the first minute and 1 s from then on.
        counts[2] = second.min(60) * 10;
        counts[13] = second.saturating_sub(60) * 10;
        Sample {
            at: began + Duration::from_secs(second),
            requests: second * 10,
            errors: second.saturating_sub(60),
            expected_hits: second * 3,
            expected_misses: second,
            duration: Histogram::new(&LATENCY_BOUNDS_S, counts, 0.0),
        }
    }

    #[test]
    fn figures_are_those_of_the_last_minute_not_of_the_whole_life() {
        let (history, began) = (History::default(), Instant::now());
        (0..120).for_each(|second| history.push(sample(began, second)));
        let recent = history.recent(&sample(began, 120));
        assert_eq!(recent.span_s, 60.0);
        assert_eq!(recent.rate, 10.0);
        assert_eq!(recent.error_share, Some(0.1));
        assert_eq!(recent.hit_share, Some(0.75));
        assert_eq!(recent.duration.count(), 600);
        assert!(recent.duration.quantile_s(0.01).unwrap() > 0.5, "the fast ones are long past");
        assert_eq!(recent.rates.len(), 119);
    }

    #[test]
    fn nothing_is_known_at_the_start_and_nothing_is_kept_for_ever() {
        let (history, began) = (History::default(), Instant::now());
        assert_eq!(history.recent(&sample(began, 0)), Recent::default());
        (0..2 * SAMPLES_MAX as u64).for_each(|second| history.push(sample(began, second)));
        assert_eq!(history.samples().len(), SAMPLES_MAX);
    }

    #[test]
    fn a_counter_that_fell_gives_no_negative_rate() {
        let (history, began) = (History::default(), Instant::now());
        history.push(sample(began, 100));
        let recent = history.recent(&Sample { at: began, ..sample(began, 1) });
        assert_eq!((recent.rate, recent.error_share), (0.0, None));
    }
}
