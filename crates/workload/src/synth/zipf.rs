//! Zipf's law, with hot targets and drift: the workload of whoever has no log.

use super::connections::Connections;
use super::{PER_CONNECTION, RATE_RPS, Unfit};
use crate::draw::series::pow;
use crate::draw::{Draw, Lognormal, Ranks};
use crate::trace::{Target, Trace};
use policy::Dice;

/// Sizes when nothing else is said: median 6 KB, mean 12 KB.
const SIZES: Draw = Draw::Lognormal(Lognormal { mu: 8.7, sigma: 1.18, max: 10_000_000.0 });

/// A few targets on which everybody clicks: what separates replication from one server a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// How many, fewer than all targets.
    pub targets: u32,
    /// The share of the requests that names one of them, evenly; 0 to 1.
    pub share: f64,
}

/// Popularity that moves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// After so many requests, at least 1.
    pub every_requests: u32,
    /// Every target takes the place of the one so many ranks above it; the top ones fall to the
    /// end.
    pub ranks: u32,
}

/// A trace of targets drawn one by one, rank `r` with a probability in proportion to
/// `r^-exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    /// Targets, at least 1. Those that are never drawn are not in the trace.
    pub targets: u32,
    /// The exponent, 0 (all alike) to 10.
    pub exponent: f64,
    /// Targets above Zipf's law.
    pub hot: Option<Hot>,
    /// How popularity changes.
    pub drift: Option<Drift>,
    /// Sizes of targets, in bytes.
    pub sizes: Draw,
    /// Requests.
    pub requests: u32,
    /// Which of all such traces.
    pub seed: u64,
    /// Mean requests of a connection, from 1 to [`super::PER_CONNECTION_MAX`].
    pub per_connection: f64,
    /// Requests a second, on average, above 0.
    pub rate_rps: f64,
}

impl Default for Zipf {
    fn default() -> Self {
        Self {
            targets: 10_000,
            exponent: 0.9,
            hot: None,
            drift: None,
            sizes: SIZES,
            requests: 1_000_000,
            seed: 1,
            per_connection: PER_CONNECTION,
            rate_rps: RATE_RPS,
        }
    }
}

impl Zipf {
    /// Makes the trace.
    ///
    /// # Errors
    /// When a figure is out of its range.
    pub fn trace(&self) -> Result<Trace, Unfit> {
        let mut dice = Dice::new(self.seed);
        let ranks = popularity(self)?;
        let target = |number: u32, dice: &mut Dice| Target {
            url: format!("/target/{}", number + 1).into(),
            size: self.sizes.whole(dice),
            site: 0,
        };
        let targets = (0..self.targets).map(|number| target(number, &mut dice)).collect();
        let drift = self.drift.unwrap_or(Drift { every_requests: u32::MAX, ranks: 0 });
        let draw = |number: u32| {
            let shift = u64::from(number / drift.every_requests) * u64::from(drift.ranks);
            let rank = u64::from(ranks.sample(&mut dice));
            ((rank + shift) % u64::from(self.targets)) as u32
        };
        let asked: Vec<u32> = (0..self.requests).map(draw).collect();
        let mut connections =
            Connections::new(self.requests, self.per_connection, self.rate_rps, &mut dice)?;
        // In the order in which they were drawn, for the sake of drift: of the requests after a
        // first one, so many are firsts again, anywhere among them.
        let mut rest = asked.as_slice();
        let mut firsts = (f64::from(self.requests) / self.per_connection).ceil() as usize;
        while !rest.is_empty() {
            firsts = firsts.saturating_sub(1);
            let mut length = 1;
            while length < rest.len() && connections.below(rest.len() - length) >= firsts {
                length += 1;
            }
            let (connection, after) = rest.split_at(length);
            connections.push(connection);
            rest = after;
        }
        Ok(connections.trace("zipf", targets))
    }
}

/// The popularity of all targets, hot ones first.
fn popularity(zipf: &Zipf) -> Result<Ranks, Unfit> {
    let hot = zipf.hot.unwrap_or(Hot { targets: 0, share: 0.0 });
    let fits = hot.targets < zipf.targets
        && (0.0..=10.0).contains(&zipf.exponent)
        && (0.0..=1.0).contains(&hot.share)
        && zipf.drift.is_none_or(|drift| drift.every_requests > 0);
    if !fits {
        return Err(Unfit::Zipf);
    }
    let law = || (1..=zipf.targets - hot.targets).map(|rank| pow(rank.into(), -zipf.exponent));
    let (share, sum) = (if hot.targets > 0 { hot.share } else { 0.0 }, law().sum::<f64>());
    let each = share / f64::from(hot.targets.max(1));
    let others = law().map(|weight| (1.0 - share) * weight / sum);
    Ok(Ranks::weighted((0..hot.targets).map(|_| each).chain(others)))
}
