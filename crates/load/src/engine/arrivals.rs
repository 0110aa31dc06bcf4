//! When sessions arrive: numbers from a seed, no clock.

use crate::{Arrivals, RunError, Scenario, Site};
use policy::{Dice, TargetId};
use std::sync::Arc;
use std::time::Duration;
use workload::Plan;
use workload::draw::{Draw, Exponential};

/// Keeps the dice of arrivals apart from those of visits.
const ARRIVALS_SALT: u64 = 0xa77;

/// The seed of the dice that arrivals are drawn with in a run with `seed`: who draws gaps with them
/// has users come at the same times elsewhere, as the simulator does to be compared.
pub fn arrivals_seed(seed: u64) -> u64 {
    TargetId(seed).mixed(ARRIVALS_SALT)
}

/// Unit exponential: the work of a Poisson process until its next event.
const UNIT: Draw = Draw::Exponential(Exponential { mean: 1.0 });

/// When each session arrives, in nanoseconds since the run began, never falling.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    kind: Kind,
    dice: Dice,
    at_s: f64,
    number: usize,
    /// How many arrivals each of these times stands for: it is that of the last one of them.
    bundle: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    Gaps(Draw),
    /// Rates at the beginning and at the end, how long the first one holds before, and how long it
    /// changes, in seconds.
    Ramp(f64, f64, f64, f64),
    /// Rates a second, and until when each holds, in seconds.
    Steps(Vec<(f64, f64)>),
    Logged(Arc<Plan>, f64),
}

impl Times {
    /// Of a run of the scenario. In its warm-up the first rate holds, so that what is measured is
    /// the whole of a ramp or of steps.
    pub(crate) fn new(arrivals: &Arrivals, scenario: &Scenario) -> Result<Self, RunError> {
        let warm_up_s = scenario.warm_up.as_secs_f64();
        let rate = |rate_s: f64| rate_s >= 0.0 && rate_s.is_finite();
        let kind = match arrivals {
            // A mean that is infinite is none; gaps that are never above zero would be.
            Arrivals::Gaps(draw) if draw.mean().is_none_or(|mean| mean > 0.0) => Kind::Gaps(*draw),
            &Arrivals::Ramp { from_s, to_s } if rate(from_s) && rate(to_s) => {
                Kind::Ramp(from_s, to_s, warm_up_s, scenario.duration.as_secs_f64())
            }
            Arrivals::Steps(steps)
                if !steps.is_empty() && steps.iter().all(|&(rate_s, _)| rate(rate_s)) =>
            {
                let mut until_s = warm_up_s;
                let mut step = |&(rate_s, lasts): &(f64, Duration)| {
                    until_s += lasts.as_secs_f64();
                    (rate_s, until_s)
                };
                let mut steps: Vec<_> = steps.iter().map(&mut step).collect();
                steps.last_mut().expect("there is a step").1 = f64::INFINITY;
                Kind::Steps(steps)
            }
            Arrivals::Logged => match &scenario.site {
                Site::Trace(plan, speed) => {
                    Kind::Logged(Arc::clone(plan), speed.unwrap_or(1.0).max(1e-6))
                }
                _ => return Err(RunError::NoTrace),
            },
            _ => return Err(RunError::Arrivals),
        };
        let dice = Dice::new(arrivals_seed(scenario.seed));
        Ok(Self { kind, dice, at_s: 0.0, number: 0, bundle: 1 })
    }

    /// From here on twice as many arrivals are drawn together, as one gap with the length of
    /// theirs: counts stay right but for what chance would add to them. Not those of a log, which
    /// has them all.
    pub(crate) fn bundle(&mut self) -> u64 {
        if !matches!(self.kind, Kind::Logged(..)) {
            self.bundle = self.bundle.saturating_mul(2);
        }
        self.bundle
    }
}

impl Iterator for Times {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let bundle = self.bundle as f64;
        let at_s = match &self.kind {
            Kind::Gaps(draw) => self.at_s + draw.sample(&mut self.dice).max(0.0) * bundle,
            &Kind::Ramp(from_s, to_s, hold_s, length_s) => {
                let work = UNIT.sample(&mut self.dice) * bundle;
                let room = from_s * (hold_s - self.at_s).max(0.0);
                if work < room {
                    self.at_s + work / from_s
                } else {
                    let at_s = (self.at_s - hold_s).max(0.0);
                    hold_s + ramp(at_s, from_s, to_s, length_s, work - room)?
                }
            }
            Kind::Steps(list) => steps(self.at_s, list, UNIT.sample(&mut self.dice) * bundle)?,
            Kind::Logged(plan, speed) => {
                let requests = &plan.trace.requests;
                let began_ms = |number| {
                    let session = plan.sessions.get(number)?;
                    Some(requests[session.requests()[0] as usize].at_ms)
                };
                let gap_ms = began_ms(self.number)? - began_ms(0)?;
                gap_ms as f64 / 1000.0 / speed
            }
        };
        self.at_s = at_s;
        self.number += 1;
        Some((at_s * 1e9) as u64)
    }
}

/// When a Poisson process whose rate changes steadily has done `work` more since `at_s`: where the
/// integral of the rate has grown by that.
fn ramp(at_s: f64, from_s: f64, to_s: f64, length_s: f64, work: f64) -> Option<f64> {
    let slope = if length_s > 0.0 { (to_s - from_s) / length_s } else { 0.0 };
    let rate_s = from_s + slope * at_s;
    // Of rate * x + slope / 2 * x^2 = work the smaller positive root, in the form that has no
    // difference of near numbers.
    let under_root = rate_s * rate_s + 2.0 * slope * work;
    if under_root < 0.0 {
        return None;
    }
    let below = rate_s + under_root.sqrt();
    let next_s = at_s + 2.0 * work / below;
    (below > 0.0 && next_s <= length_s).then_some(next_s)
}

/// The same for a rate that changes in steps.
fn steps(mut at_s: f64, steps: &[(f64, f64)], mut work: f64) -> Option<f64> {
    for &(rate_s, until_s) in steps {
        if until_s <= at_s {
            continue;
        }
        let room = rate_s * (until_s - at_s);
        if rate_s > 0.0 && work <= room {
            return Some(at_s + work / rate_s);
        }
        if until_s.is_infinite() {
            return None;
        }
        work -= room;
        at_s = until_s;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::One;
    use policy::Class;
    use workload::draw::Weibull;

    const TOTAL: Duration = Duration::from_secs(1000);

    fn run(warm_up: Duration, seed: u64, site: Site) -> Scenario {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let base = Scenario::new(address, site, crate::Users::Closed(1));
        Scenario { warm_up, duration: TOTAL, seed, ..base }
    }

    fn times(arrivals: &Arrivals, seed: u64) -> Vec<f64> {
        let one = One { host: "a".into(), path: "/".into(), requests: 1, class: Class::STATIC };
        let scenario = run(Duration::ZERO, seed, Site::One(one));
        let times = Times::new(arrivals, &scenario).expect("they can be drawn");
        let seconds = times.map(|at_ns| at_ns as f64 / 1e9);
        seconds.take_while(|&at_s| at_s < TOTAL.as_secs_f64()).collect()
    }

    /// Mean and squared coefficient of variation of the gaps.
    fn gaps(times: &[f64]) -> (f64, f64) {
        let gaps: Vec<f64> = times.windows(2).map(|two| two[1] - two[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>();
        (mean, square / gaps.len() as f64 / mean / mean)
    }

    fn between(times: &[f64], from_s: f64, to_s: f64) -> f64 {
        times.iter().filter(|&&at_s| at_s >= from_s && at_s < to_s).count() as f64
    }

    fn close(found: f64, expected: f64, percent: f64) -> bool {
        (found - expected).abs() <= expected * percent / 100.0
    }

    #[test]
    fn gaps_have_the_mean_and_the_shape_of_their_distribution() {
        let poisson = Draw::Exponential(Exponential { mean: 0.01 });
        // Shape 0.5: variance 5 times the square of the mean, 2 scales.
        let weibull = Draw::Weibull(Weibull { scale: 0.005, shape: 0.5 });
        for (draw, shape) in [(poisson, 1.0), (weibull, 5.0), (Draw::Constant(0.01), 0.0)] {
            let (mean, variation) = gaps(&times(&Arrivals::Gaps(draw), 7));
            assert!(close(mean, 0.01, 3.0), "{draw:?}: {mean}");
            assert!((variation - shape).abs() <= 0.1 * shape + 1e-6, "{draw:?}: {variation}");
        }
    }

    #[test]
    fn a_ramp_grows_and_falls_steadily() {
        for (from_s, to_s) in [(0.0, 100.0), (100.0, 0.0), (20.0, 80.0)] {
            let times = times(&Arrivals::Ramp { from_s, to_s }, 3);
            for tenth in 0..10 {
                let at_s = 100.0 * f64::from(tenth);
                let rate_s = from_s + (to_s - from_s) * (at_s + 50.0) / 1000.0;
                let found = between(&times, at_s, at_s + 100.0);
                assert!(close(found, rate_s * 100.0, 12.0), "{from_s}-{to_s} {at_s}: {found}");
            }
        }
    }

    #[test]
    fn steps_hold_their_rates_and_the_last_one_stays() {
        let step = |rate_s, seconds| (rate_s, Duration::from_secs(seconds));
        let steps = Arrivals::Steps(vec![step(10.0, 200), step(0.0, 100), step(50.0, 1)]);
        let times = times(&steps, 3);
        assert!(close(between(&times, 0.0, 200.0), 2000.0, 8.0));
        assert!(between(&times, 200.0, 300.0) == 0.0);
        assert!(close(between(&times, 300.0, 1000.0), 35_000.0, 3.0));
        let over = Arrivals::Steps(vec![step(10.0, 1), step(0.0, 1)]);
        assert!(self::times(&over, 3).len() < 30, "nobody comes any more");
    }

    #[test]
    fn the_first_rate_holds_through_the_warm_up() {
        let warm_up = Duration::from_secs(100);
        let second = Duration::from_secs(1);
        let steps = Arrivals::Steps(vec![(20.0, 100 * second), (80.0, second)]);
        let ramp = Arrivals::Ramp { from_s: 20.0, to_s: 80.0 };
        // At the end of the warm-up all of the profile is still to come.
        for (arrivals, last) in [(steps, 8000.0), (ramp, 7700.0)] {
            let one = One { host: "a".into(), path: "/".into(), requests: 1, class: Class::STATIC };
            let times = Times::new(&arrivals, &run(warm_up, 5, Site::One(one))).unwrap();
            let times: Vec<f64> =
                times.map(|at_ns| at_ns as f64 / 1e9).take_while(|&at_s| at_s < 1100.0).collect();
            assert!(close(between(&times, 0.0, 100.0), 2000.0, 10.0), "{arrivals:?}");
            assert!(close(between(&times, 100.0, 200.0), 2200.0, 15.0), "{arrivals:?}");
            assert!(close(between(&times, 1000.0, 1100.0), last, 8.0), "{arrivals:?}");
        }
    }

    #[test]
    fn arrivals_that_are_drawn_together_are_as_many() {
        let second = Duration::from_secs(1);
        let poisson = Draw::Exponential(Exponential { mean: 0.001 });
        let steps = vec![(1500.0, 500 * second), (500.0, second)];
        for arrivals in [
            Arrivals::Gaps(poisson),
            Arrivals::Gaps(Draw::Constant(0.001)),
            Arrivals::Ramp { from_s: 1500.0, to_s: 500.0 },
            Arrivals::Steps(steps),
        ] {
            let one = One { host: "a".into(), path: "/".into(), requests: 1, class: Class::STATIC };
            let scenario = run(Duration::ZERO, 3, Site::One(one));
            let mut times = Times::new(&arrivals, &scenario).expect("gaps that can be drawn");
            assert_eq!([times.bundle(), times.bundle(), times.bundle()], [2, 4, 8]);
            let end_ns = TOTAL.as_nanos() as u64;
            let bundles = times.take_while(|&at_ns| at_ns < end_ns).count();
            assert!(close(8.0 * bundles as f64, 1e6, 1.5), "{arrivals:?}: {bundles}");
        }
    }

    #[test]
    fn the_seed_decides() {
        let poisson = Arrivals::Gaps(Draw::Exponential(Exponential { mean: 0.1 }));
        assert_eq!(times(&poisson, 1), times(&poisson, 1));
        assert_ne!(times(&poisson, 1), times(&poisson, 2));
    }

    #[test]
    fn what_cannot_be_drawn_is_said_so() {
        let one = One { host: "a".into(), path: "/".into(), requests: 1, class: Class::STATIC };
        let site = Site::One(one);
        for arrivals in [
            Arrivals::Gaps(Draw::Constant(0.0)),
            Arrivals::Ramp { from_s: -1.0, to_s: 1.0 },
            Arrivals::Steps(Vec::new()),
            Arrivals::Logged,
        ] {
            assert!(
                Times::new(&arrivals, &run(Duration::ZERO, 1, site.clone())).is_err(),
                "{arrivals:?}"
            );
        }
    }
}
