//! How far simulated figures are from live ones, and whether that is near enough.

use serde::Serialize;
use sim::stats::Estimate;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Share of the requests that the caches had, 0 to 1; errors are percentage points.
    Hits,
    /// Requests or pages a second, in the time of the model; errors are per cent of the live one.
    Throughput,
    /// The time that nine of ten pages did not exceed, in milliseconds of the model; likewise.
    PageP90,
}

impl Kind {
    /// All of them, in the order of the last line.
    pub const ALL: [Self; 3] = [Self::Hits, Self::Throughput, Self::PageP90];

    /// The word in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hits => "hit ratio",
            Self::Throughput => "throughput",
            Self::PageP90 => "page p90",
        }
    }

    /// The word in the last line.
    const fn key(self) -> &'static str {
        match self {
            Self::Hits => "hit",
            Self::Throughput => "throughput",
            Self::PageP90 => "p90",
        }
    }

    /// What errors are counted in.
    pub const fn unit(self) -> &'static str {
        if matches!(self, Self::Hits) { "pp" } else { "%" }
    }

    /// The largest error that is near enough, in that unit.
    pub const fn tolerance(self) -> f64 {
        match self {
            Self::Hits => 3.0,
            Self::Throughput => 10.0,
            Self::PageP90 => 20.0,
        }
    }

    /// `other` less `one`, in that unit.
    fn between(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Hits => (other - one) * 100.0,
            Self::Throughput | Self::PageP90 => (other / one - 1.0) * 100.0,
        }
    }
}

/// The delays of client and switch that are simulated, in parts of the measured one. A policy that
/// looks at loads may send a target elsewhere for a microsecond's difference, and all that follows
/// is another story: one simulated run is as much a draw as one live run is. So several are
/// averaged, which differ in what live runs differ in too.
pub(super) const AROUND: [f64; 9] = [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4];

/// The mean of figures, of which there is at least one.
pub(super) fn mean(figures: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = figures.len().max(1) as f64;
    figures.sum::<f64>() / count
}

/// One figure of one experiment, live and simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Which experiment.
    pub experiment: String,
    /// What.
    pub kind: Kind,
    /// What the live runs found, at least one.
    pub live: Vec<f64>,
    /// What the simulator says of the same users, run by run, on average over several delays around
    /// the measured one.
    pub simulated: Vec<f64>,
    /// Whether others used the processors during these runs, and there were no better ones.
    pub disturbed: bool,
}

impl Comparison {
    /// The mean of the live runs.
    pub fn live_mean(&self) -> f64 {
        mean(self.live.iter().copied())
    }

    /// The mean of the simulated runs.
    pub fn simulated_mean(&self) -> f64 {
        mean(self.simulated.iter().copied())
    }

    /// The simulated figure less the live one, on average, in the unit of the kind.
    pub fn error(&self) -> f64 {
        self.kind.between(self.live_mean(), self.simulated_mean())
    }

    /// How sure that is: half the width of its 95 % interval (Student's t, over the differences of
    /// runs with the same users), in the unit of the kind; infinite for one run.
    pub fn margin(&self) -> f64 {
        let pairs = self.live.iter().zip(&self.simulated);
        let apart: Vec<f64> = pairs.map(|(live, simulated)| simulated - live).collect();
        let half = Estimate::of(&apart).half_width;
        match self.kind {
            Kind::Hits => half * 100.0,
            Kind::Throughput | Kind::PageP90 => half / self.live_mean() * 100.0,
        }
    }

    /// Whether the simulator is near enough, and whether the live runs can tell. What is not a
    /// number is not near.
    pub fn verdict(&self) -> Verdict {
        let (error, margin) = (self.error().abs(), self.margin());
        let tolerance = self.kind.tolerance();
        if self.live_mean() <= 0.0 || !self.disturbed && error - margin > tolerance {
            Verdict::Outside
        } else if !self.disturbed && error + margin <= tolerance {
            Verdict::Within
        } else {
            Verdict::Undecided
        }
    }
}

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole 95 % interval of the error is within the tolerance.
    Within,
    /// All of it is beyond.
    Outside,
    /// Neither, or runs were disturbed: counted as not held.
    Undecided,
}

impl Verdict {
    /// The word in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Within => "yes",
            Self::Outside => "NO",
            Self::Undecided => "undecided: not sure enough",
        }
    }
}

/// The comparison of a kind whose error is the largest; one that is not a number is larger than
/// any.
pub fn worst(comparisons: &[Comparison], kind: Kind) -> Option<&Comparison> {
    let size = |comparison: &&Comparison| {
        let error = comparison.error().abs();
        if error.is_nan() { f64::INFINITY } else { error }
    };
    let those = comparisons.iter().filter(|comparison| comparison.kind == kind);
    those.max_by(|one, other| size(one).total_cmp(&size(other)))
}

/// The last line: the worst error of each kind.
pub fn summary(comparisons: &[Comparison]) -> String {
    let part = |kind: Kind| {
        let worst = worst(comparisons, kind).map(Comparison::error);
        worst.map(|error| format!(" {}={error:+.1}{}", kind.key(), kind.unit()))
    };
    let parts: String = Kind::ALL.into_iter().filter_map(part).collect();
    format!("fidelity:{parts}")
}

/// Whether all are near enough, surely, and there are any.
pub fn holds(comparisons: &[Comparison]) -> bool {
    let within = |comparison: &Comparison| comparison.verdict() == Verdict::Within;
    !comparisons.is_empty() && comparisons.iter().all(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(kind: Kind, live: &[f64], simulated: f64) -> Comparison {
        let (experiment, simulated) = ("e".to_owned(), vec![simulated; live.len()]);
        Comparison { experiment, kind, live: live.to_vec(), simulated, disturbed: false }
    }

    #[test]
    fn hits_are_off_in_points_and_the_rest_in_per_cent() {
        let hits = comparison(Kind::Hits, &[0.80, 0.82], 0.83);
        // t of one degree of freedom is 12.706, times half the distance.
        assert!((hits.error() - 2.0).abs() < 1e-9 && (hits.margin() - 12.706).abs() < 1e-9);
        let rate = comparison(Kind::Throughput, &[90.0, 110.0], 95.0);
        assert!((rate.error() + 5.0).abs() < 1e-9 && (rate.margin() - 127.06).abs() < 1e-9);
    }

    #[test]
    fn an_error_beyond_the_tolerance_is_one_and_runs_that_are_not_sure_decide_nothing() {
        let verdict = |kind, live: &[f64], simulated| comparison(kind, live, simulated).verdict();
        assert_eq!(verdict(Kind::PageP90, &[100.0, 100.0], 119.0), Verdict::Within);
        assert_eq!(verdict(Kind::PageP90, &[100.0, 101.0], 130.0), Verdict::Outside);
        assert_eq!(verdict(Kind::PageP90, &[100.0, 101.0], 119.0), Verdict::Undecided);
        assert_eq!(verdict(Kind::Hits, &[0.5, 0.5], 0.54), Verdict::Outside);
        for simulated in [120.0, 150.0, 200.0] {
            assert_eq!(verdict(Kind::PageP90, &[100.0, 160.0], simulated), Verdict::Undecided);
        }
        let noisy = comparison(Kind::PageP90, &[100.0, 160.0], 130.0);
        assert!(!holds(&[noisy]), "what is undecided is not held");
        assert_eq!(verdict(Kind::PageP90, &[100.0], 100.0), Verdict::Undecided, "one run");
        // Nothing was answered: no number is near that, not even nothing.
        assert_eq!(verdict(Kind::Throughput, &[0.0, 0.0], 10.0), Verdict::Outside);
        assert_eq!(verdict(Kind::Throughput, &[0.0, 0.0], 0.0), Verdict::Outside);
    }

    #[test]
    fn runs_of_other_users_are_compared_with_the_same_ones_on_paper() {
        let paired = Comparison {
            simulated: vec![101.0, 203.0, 151.0],
            ..comparison(Kind::PageP90, &[100.0, 200.0, 150.0], 0.0)
        };
        assert!(paired.margin() < 3.0, "{}", paired.margin());
        assert_eq!(paired.verdict(), Verdict::Within);
        assert_eq!(Comparison { disturbed: true, ..paired }.verdict(), Verdict::Undecided);
    }

    #[test]
    fn the_last_line_has_the_worst_of_each_kind_that_was_compared() {
        let all = [
            comparison(Kind::Hits, &[0.80; 2], 0.81),
            comparison(Kind::Hits, &[0.80; 2], 0.78),
            comparison(Kind::Throughput, &[100.0; 2], 103.0),
        ];
        assert_eq!(summary(&all), "fidelity: hit=-2.0pp throughput=+3.0%");
        assert!(holds(&all) && !holds(&[]));
        assert!(!holds(&[comparison(Kind::Hits, &[0.80; 2], 0.9)]));
    }
}
