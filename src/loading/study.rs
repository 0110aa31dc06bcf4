//! What one or several runs found, as figures with their confidence.

use super::plan::{Asked, Job};
use load::{Cause, Outcome, Timing};
use policy::Class;
use sim::stats::Estimate;

/// The shares of a [`Row`]'s columns, with the last one for the longest of all.
pub const SHARES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

/// What the columns are called.
pub const SHARE_NAMES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

/// How many times as long as 99 in 100 sessions last a run must be, so that their times say
/// something: in a shorter one mostly those end that are short.
const SESSIONS_RUN_MIN: f64 = 3.0;

/// Values that must be beyond a percentile, so that it is more than a few of them.
const BEYOND_MIN: f64 = 10.0;

/// Everything that was found.
#[derive(Clone, Debug)]
pub struct Study {
    /// What was asked for.
    pub job: Job,
    /// The command that does it again.
    pub command: String,
    /// Run by run; at least one.
    pub outcomes: Vec<Outcome>,
    /// All runs as one.
    pub whole: Outcome,
    /// Whether Ctrl-C ended it.
    pub stopped: bool,
}

/// Times of one kind of thing, in milliseconds.
#[derive(Clone, Debug)]
pub struct Row {
    /// Of what: requests, pages or sessions.
    pub of: &'static str,
    /// Of which class; `None`: all.
    pub class: Option<&'static str>,
    /// How many came to their end in all runs.
    pub count: u64,
    /// How many are among the times from due on: those, what was cut off, and what timed out.
    pub found: u64,
    /// How many were due and not settled at the end of their runs.
    pub cut_off: u64,
    /// From when they were due: see [`SHARES`]. `None` where there were too few to say. Percentiles
    /// are means over the runs; the longest is that of all runs, without an interval.
    pub due_ms: [Option<Estimate>; SHARES.len()],
    /// From the sending on.
    pub sent_ms: [Option<Estimate>; SHARES.len()],
}

impl Study {
    /// Of these runs.
    pub fn new(job: Job, command: String, outcomes: Vec<Outcome>, stopped: bool) -> Self {
        let mut whole = Outcome::default();
        outcomes.iter().for_each(|outcome| whole.merge(outcome));
        Self { job, command, outcomes, whole, stopped }
    }

    /// A figure of every run.
    pub fn estimate(&self, of: impl Fn(&Outcome) -> f64) -> Estimate {
        Estimate::of(&self.outcomes.iter().map(of).collect::<Vec<_>>())
    }

    /// Whether there are intervals.
    pub fn repeated(&self) -> bool {
        self.outcomes.len() > 1
    }

    /// Why figures say more of the client than of what it asked, if they do. Of a server that
    /// answers nothing, nothing is said, unless it was hardly asked.
    pub fn bottleneck(&self) -> Option<String> {
        let own = |outcome: &Outcome| {
            outcome.failed[Cause::Client.index()] > 0 || outcome.pace.not_begun > 0
        };
        let answered =
            self.outcomes.iter().filter(|outcome| outcome.answered() > 0 || own(outcome));
        let mut whys = answered.filter_map(Outcome::bottleneck);
        whys.next()
    }

    /// Whether bodies were compared and one was wrong, too short, too long, or another answer.
    pub fn wrong_content(&self) -> bool {
        let wrong = |cause: Cause| self.whole.failed[cause.index()] > 0;
        let causes =
            [Cause::Content, Cause::Size, Cause::ShortBody, Cause::LongBody, Cause::Status];
        self.job.verify && causes.into_iter().any(wrong)
    }

    /// The table of latencies: requests, pages and sessions, then each class where there are
    /// several.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = vec![
            self.row("requests", None, |outcome| Some(&outcome.requests)),
            self.row("pages", None, |outcome| Some(&outcome.pages)),
            self.row("sessions", None, |outcome| Some(&outcome.sessions)),
        ];
        let classes: Vec<Class> = self.whole.classes.iter().map(|class| class.class).collect();
        for class in classes.iter().filter(|_| classes.len() > 1) {
            let name = class_name(*class);
            let of = |outcome: &'_ Outcome, pick: fn(&load::ClassOutcome) -> &Timing| {
                let found = outcome.classes.iter().find(|found| found.class == *class);
                found.map(pick).cloned()
            };
            rows.push(self.row_of("requests", Some(name), |o| of(o, |class| &class.requests)));
            rows.push(self.row_of("pages", Some(name), |o| of(o, |class| &class.pages)));
        }
        // A single object is a page of its own, and says nothing more.
        let is_object = matches!(self.job.asked, Asked::Object);
        let hidden = |row: &Row| match row.of {
            "pages" => is_object,
            "sessions" => is_object || self.sessions_cut_short(),
            _ => false,
        };
        rows.retain(|row| row.found > 0 && !hidden(row));
        rows
    }

    /// Whether the run is too short for the times of sessions.
    pub fn sessions_cut_short(&self) -> bool {
        let sessions = &self.whole.sessions;
        let run_s = self.whole.took.as_secs_f64() / self.outcomes.len().max(1) as f64;
        let usual_s = sessions.due_us.value_at_quantile(0.99) as f64 / 1e6;
        sessions.cut_off > 0 && run_s < SESSIONS_RUN_MIN * usual_s
    }

    fn row(
        &self,
        of: &'static str,
        class: Option<&'static str>,
        pick: impl Fn(&Outcome) -> Option<&Timing>,
    ) -> Row {
        self.row_of(of, class, |outcome| pick(outcome).cloned())
    }

    fn row_of(
        &self,
        of: &'static str,
        class: Option<&'static str>,
        pick: impl Fn(&Outcome) -> Option<Timing>,
    ) -> Row {
        let timings: Vec<Timing> = self.outcomes.iter().filter_map(pick).collect();
        let counts = timings.iter().map(|timing| timing.done);
        let found = timings.iter().map(|timing| timing.due_us.len());
        let ms = |share: f64, due: bool| {
            let values: Vec<f64> = timings
                .iter()
                .map(|timing| if due { &timing.due_us } else { &timing.sent_us })
                .filter(|times| enough(times.len(), share))
                .map(|times| times.value_at_quantile(share) as f64 / 1e3)
                .collect();
            if share >= 1.0 {
                // No mean: the longest of all runs was met in one of them.
                return values.into_iter().reduce(f64::max).map(|longest| Estimate::of(&[longest]));
            }
            // A run that cannot tell is not left out of a mean: there is none then.
            (!values.is_empty() && values.len() == self.outcomes.len())
                .then(|| Estimate::of(&values))
        };
        Row {
            of,
            class,
            count: counts.sum(),
            found: found.sum(),
            cut_off: timings.iter().map(|timing| timing.cut_off).sum(),
            due_ms: SHARES.map(|share| ms(share, true)),
            sent_ms: SHARES.map(|share| ms(share, false)),
        }
    }

    /// The share of requests that caches answered, if they told.
    pub fn hit_ratio(&self) -> Option<Estimate> {
        let told: Vec<f64> = self.outcomes.iter().filter_map(Outcome::hit_ratio).collect();
        (!told.is_empty()).then(|| Estimate::of(&told))
    }
}

/// Whether so many values tell which one a share of them does not exceed.
pub fn enough(count: u64, share: f64) -> bool {
    // For the longest of all one is enough. A little less, for what fractions lose in binary.
    count > 0 && (share >= 1.0 || count as f64 * (1.0 - share) > BEYOND_MIN - 1e-6)
}

/// The name of a class; of one without, its number.
pub fn class_name(class: Class) -> &'static str {
    Class::NAMES.get(class.index()).copied().unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_values_are_beyond_a_percentile_or_it_is_not_told() {
        for (share, least) in [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000), (1.0, 1)] {
            assert!(enough(least, share), "{share}");
            assert!(!enough(least - 1, share), "{share}");
        }
    }
}
