//! What is seen while it runs: on a terminal a few lines that change, else a line now and then.

use super::plan::{Asked, Job, Logged};
use crate::config::span_text;
use crate::exit::{colour, say};
use crate::whatif::words::{count, figure, ms};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::{Outcome, Slice};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Seconds of which the curves show the last ones.
const SECONDS: usize = 40;

/// Heights of a curve's places.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The display of a job.
pub struct Display<'a> {
    job: &'a Job,
    bar: ProgressBar,
    terminal: bool,
    /// The run that is shown, and when it began.
    run: u16,
    began: Duration,
    /// When the last line was written.
    line_at: Duration,
    /// What was known when it was.
    before: (Duration, u64, u64),
}

impl<'a> Display<'a> {
    /// Nothing is seen of one that is `quiet`.
    pub fn new(job: &'a Job, quiet: bool) -> Self {
        let terminal = !quiet && io::stderr().is_terminal();
        let bar = ProgressBar::new(1000);
        if !terminal {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let paint = if colour(&io::stderr()) { ".cyan" } else { "" };
        let style = ProgressStyle::with_template(&format!("{{bar:30{paint}}} {{msg}}"));
        let bar = bar.with_style(style.expect("the template is valid").progress_chars("█▌ "));
        let (run, began, before) = (0, Duration::ZERO, (Duration::ZERO, 0, 0));
        let line_at = if quiet { Duration::MAX } else { Duration::ZERO };
        Self { job, bar, terminal, run, began, line_at, before }
    }

    /// Shows what is known of a run, counted from 0.
    pub fn show(&mut self, run: u16, outcome: &Outcome) {
        let now = self.bar.elapsed();
        if run != self.run {
            (self.run, self.began, self.before) = (run, now, (Duration::ZERO, 0, 0));
        }
        let since = now.saturating_sub(self.began);
        if self.terminal {
            self.bar.set_position((self.done(since, outcome) * 1000.0) as u64);
            self.bar.set_message(format!("{}{}", self.status(since, outcome), curves(outcome)));
        } else if now.saturating_sub(self.line_at) >= LINE_EVERY {
            self.line_at = now;
            let line = self.line(since, outcome);
            say(line);
        }
    }

    /// Leaves the terminal as it was.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// How much of a run is done, 0 to 1.
    fn done(&self, since: Duration, outcome: &Outcome) -> f64 {
        match &self.job.asked {
            Asked::Log(Logged { plan, .. }) if self.job.is_endless() => {
                let requests = plan.trace.requests.len().max(1);
                (outcome.answered() + outcome.failures()) as f64 / requests as f64
            }
            _ => {
                let all = self.job.warm_up + self.job.duration;
                (since.as_secs_f64() / all.as_secs_f64()).min(1.0)
            }
        }
    }

    fn status(&self, since: Duration, outcome: &Outcome) -> String {
        let run = match self.job.runs {
            1 => String::new(),
            runs => format!(", run {} of {runs}", self.run + 1),
        };
        let left = if self.job.is_endless() {
            String::new()
        } else {
            let all = self.job.warm_up + self.job.duration;
            let left = Duration::from_secs(all.saturating_sub(since).as_secs());
            format!(", {} left", span_text(left))
        };
        let phase = if outcome.took.is_zero() && !self.job.warm_up.is_zero() {
            "warming up"
        } else {
            "measuring"
        };
        format!("{phase}{run}{left}")
    }

    /// A line for whoever reads a log.
    fn line(&mut self, since: Duration, outcome: &Outcome) -> String {
        let (took, requests, pages) = self.before;
        let now = (outcome.took, outcome.answered(), outcome.pages.done);
        self.before = now;
        let over_s = now.0.saturating_sub(took).as_secs_f64();
        let rate = |now: u64, before: u64| {
            figure(if over_s > 0.0 { now.saturating_sub(before) as f64 / over_s } else { 0.0 })
        };
        let times = outcome.slices.last().map_or(String::new(), |slice| {
            let [p50, p90, _] = slice.pages_us.map(|us| ms(us as f64 / 1e3));
            format!(", pages p50 {p50} p90 {p90}, {} under way", count(slice.under_way))
        });
        format!(
            "{:.0} s, {}: {} requests/s, {} pages/s{times}, {} failed",
            since.as_secs_f64(),
            self.status(since, outcome),
            rate(now.1, requests),
            rate(now.2, pages),
            count(outcome.failures()),
        )
    }
}

/// The lines below the bar.
fn curves(outcome: &Outcome) -> String {
    let Some(last) = outcome.slices.last() else { return String::new() };
    let row = |name: &str, value: String, of: fn(&Slice) -> u64| {
        let from = outcome.slices.len().saturating_sub(SECONDS);
        let values: Vec<u64> = outcome.slices[from..].iter().map(of).collect();
        format!("\n{name:>12} {value:>10}  {}", sparkline(&values))
    };
    let mut out = row("requests/s", count(last.requests), |slice| slice.requests);
    out += &row("pages/s", count(last.pages), |slice| slice.pages);
    let p90 = ms(last.pages_us[1] as f64 / 1e3);
    out += &row("pages p90", p90, |slice| slice.pages_us[1]);
    out += &row("under way", count(last.under_way), |slice| slice.under_way);
    let mbit = figure(last.body_bytes as f64 * 8.0 / 1e6);
    let failed = count(outcome.failures());
    out + &format!("\n{:>12} {mbit:>10}  {failed} requests failed", "Mb/s")
}

/// Values as bars of a line, the largest one full.
fn sparkline(values: &[u64]) -> String {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let height = |value: &u64| HEIGHTS[((value * 7).div_ceil(most)).min(7) as usize];
    values.iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_as_high_as_its_largest_value() {
        assert_eq!(sparkline(&[0, 1, 50, 100]), "▁▂▅█");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }
}
