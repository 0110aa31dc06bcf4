//! Whether the client kept up with what it was to do.

use crate::outcome::histogram;
use crate::{Cause, Outcome};
use hdrhistogram::Histogram;

/// From this share of a core on, what the client measures is its own waiting.
const CPU_MAX: f64 = 0.9;

/// From this share of the time on that a thread waits for a processor, its users wait with it. Less
/// is usual where client and server share a machine.
const WAITED_MAX: f64 = 0.5;

/// So many of the users may not have begun: those who came in the last moment.
const NOT_BEGUN_MAX: f64 = 0.01;

/// The client may be so late, whatever the latency: that is how exactly kernels wake a thread.
const LATE_US_MAX: u64 = 1000;

/// The client may be late by this share of the median latency.
const LATE_SHARE_MAX: f64 = 0.05;

/// Whether the client itself kept up.
#[derive(Clone, Debug)]
pub struct Pace {
    /// How late requests were sent that nothing but the client held back, in microseconds; of
    /// sessions that it had not begun when the time was over, how late they were by then.
    pub late_us: Histogram<u64>,
    /// CPU time of the busiest thread over the time of the run, 0 to 1.
    pub cpu: f64,
    /// The longest that a thread could have run and another thread had its processor, over the time
    /// of the run, 0 to 1.
    pub waited: f64,
    /// CPU time of all threads for a request, in microseconds.
    pub cpu_request_us: f64,
    /// Sessions that were turned away because too many were under way.
    pub turned_away: u64,
    /// Sessions that arrived, and that the client had not begun when the time was over.
    pub not_begun: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            late_us: histogram(),
            cpu: 0.0,
            waited: 0.0,
            cpu_request_us: 0.0,
            turned_away: 0,
            not_begun: 0,
        }
    }
}

impl Outcome {
    /// Why the figures say more of the client than of what it asked, if they do: a sentence.
    pub fn bottleneck(&self) -> Option<String> {
        let pace = &self.pace;
        // One alone may have come in the last moment, however few there are.
        if pace.not_begun > 1 && pace.not_begun as f64 > self.arrived as f64 * NOT_BEGUN_MAX {
            return Some(format!(
                "{} of {} users were due and could not begin before the time was over: the client \
                 did not keep up (its busiest thread ran for {:.0} % of the time, and one waited \
                 for a processor for {:.0} %): give it more threads and cores of their own, or ask \
                 for less",
                pace.not_begun,
                self.arrived,
                pace.cpu * 100.0,
                pace.waited * 100.0
            ));
        }
        if pace.turned_away > 0 {
            return Some(format!(
                "{} of {} users were turned away because too many were there: raise the limit of \
                 sessions, or let fewer come",
                pace.turned_away, self.arrived
            ));
        }
        let own = self.failed[Cause::Client.index()];
        if own > 0 {
            return Some(format!(
                "{own} requests failed because this system had no descriptor, port or memory left \
                 for their connections: let fewer users come, or raise what the failures name"
            ));
        }
        if pace.cpu > CPU_MAX {
            return Some(format!(
                "a thread of the client was busy for {:.0} % of the time: give it more threads and \
                 cores of their own, or ask for less",
                pace.cpu * 100.0
            ));
        }
        if pace.waited > WAITED_MAX {
            return Some(format!(
                "a thread of the client waited for a processor for {:.0} % of the time, and its \
                 users with it: give it cores of its own, or fewer threads",
                pace.waited * 100.0
            ));
        }
        let late_us = pace.late_us.value_at_quantile(0.99);
        let usual_us = self.requests.due_us.value_at_quantile(0.5);
        (late_us > LATE_US_MAX && late_us as f64 > usual_us as f64 * LATE_SHARE_MAX).then(|| {
            format!(
                "1 % of the requests were sent at least {:.1} ms late, of a median latency of \
                 {:.1} ms: the client did not get the processor in time",
                late_us as f64 / 1000.0,
                usual_us as f64 / 1000.0
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(outcome: &Outcome) -> String {
        outcome.bottleneck().expect("it did not keep up")
    }

    #[test]
    fn a_client_that_did_not_keep_up_says_why() {
        let mut outcome = Outcome { arrived: 9, ..Outcome::default() };
        assert_eq!(outcome.bottleneck(), None);
        for _ in 0..100 {
            outcome.requests.record(0, 0, 10_000_000);
            outcome.pace.late_us.record(900).expect("it is within bounds");
        }
        assert_eq!(outcome.bottleneck(), None, "that is how exactly threads wake");
        for _ in 0..2 {
            outcome.pace.late_us.record(1500).expect("it is within bounds");
        }
        assert!(why(&outcome).contains("1.5 ms late"));
        outcome.pace.waited = 0.6;
        assert!(why(&outcome).contains("for 60 % of the time"));
        outcome.pace.cpu = 0.95;
        assert!(why(&outcome).contains("95 %"));
        outcome.pace.turned_away = 3;
        assert!(why(&outcome).starts_with("3 of 9 users were turned away"));
        for (arrived, not_begun, told) in [(9, 1, false), (9, 2, true), (1000, 10, false)] {
            (outcome.arrived, outcome.pace.not_begun) = (arrived, not_begun);
            let why = why(&outcome);
            let sentence = format!("{not_begun} of {arrived} users were due and could not begin");
            assert_eq!(why.starts_with(&sentence), told, "{why}");
        }
    }
}
