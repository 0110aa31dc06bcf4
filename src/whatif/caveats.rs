//! What of the log cannot be taken at its word, and what was assumed instead: every report has it
//! at its head, for whoever reads the figures alone takes them for more than they are.

use super::feed::Sizes;
use super::study::Study;
use super::words::{count, percent};
use sim::replay::Times;

/// One request in so many that is for a target of unknown size is worth a word.
const SIZES_SHARE: u64 = 50;

/// With more than one line in so many no request, what was played may not be what came.
const REJECTS_SHARE: u64 = 10;

/// Where a time has the client's network in it.
const TILL_SENT: &str = "The log tells how long it took until the client had everything, not what \
                         the server took: beyond what the cost set or --hit gives the CPU, that \
                         is a wait which keeps no server busy. So misses cost no disk here \
                         unless --miss says how much of it.";

/// Where hits pass for quick misses.
const HIDDEN: &str = "The log does not tell hits from misses, so that a request which its own \
                      cache answered is taken for one that costs little even if it misses: leads \
                      are too small. --miss says what a miss costs.";

impl Study {
    /// Whether the log's times are used, and most are those till the client had everything.
    pub fn times_till_sent(&self) -> bool {
        self.by_log() && self.survey.measured.is_till_sent()
    }

    /// Whether the log's times are used, and it does not tell hits from misses: the costs of misses
    /// are then too low by what the logged server's own cache saved.
    pub fn hidden_hits(&self) -> bool {
        self.by_log() && self.survey.measured.hides_hits()
    }

    /// What is to be borne in mind of the log, a sentence or two each: first of its lines, then of
    /// its times.
    pub fn caveats(&self) -> Vec<String> {
        // Who said what a miss costs does not depend on what the log says of it.
        let unsaid = self.costs.miss.is_none();
        let times = [(self.times_till_sent(), TILL_SENT), (self.hidden_hits(), HIDDEN)];
        let times = times.into_iter().filter(|(holds, _)| unsaid && *holds);
        let lines = [self.rejected(), self.strayed(), self.late(), self.guessed_sizes()];
        lines.into_iter().flatten().chain(times.map(|(_, text)| text.to_owned())).collect()
    }

    /// Lines of all logs, and how many of them were rejected because they are no requests.
    pub fn lines(&self) -> (u64, u64) {
        let tallies = || self.logs.iter().map(|log| &log.tally);
        (tallies().map(|tally| tally.lines).sum(), tallies().map(|tally| tally.rejects()).sum())
    }

    /// That lines were passed over, where they are so many that it may change every answer.
    pub(super) fn many_rejected(&self) -> Option<String> {
        let (lines, rejects) = self.lines();
        self.rejected().filter(|_| rejects * REJECTS_SHARE > lines)
    }

    fn rejected(&self) -> Option<String> {
        let (lines, rejects) = self.lines();
        let share = rejects as f64 / lines.max(1) as f64;
        let share = if share < 0.001 { "less than 0.1\u{a0}%".to_owned() } else { percent(share) };
        let are = if rejects == 1 { "is no request and was" } else { "are no requests and were" };
        (rejects > 0).then(|| {
            format!("{} of {} lines ({share}) {are} not played.", count(rejects), count(lines))
        })
    }

    fn strayed(&self) -> Option<String> {
        let strays = self.survey.strays;
        let are = if strays == 1 { "request is" } else { "requests are" };
        (strays > 0).then(|| {
            format!(
                "{} {are} more than a day from all others (a broken clock?), so the log seems \
                 longer than it is: its mean rate means nothing, take such lines out.",
                count(strays)
            )
        })
    }

    fn late(&self) -> Option<String> {
        let late = self.survey.late;
        let were = if late == 1 { "request was" } else { "requests were" };
        (late > 0).then(|| {
            format!("{} {were} logged much later than due, and so played late.", count(late))
        })
    }

    fn guessed_sizes(&self) -> Option<String> {
        let Sizes { requests, partial, unknown } = self.survey.sizes;
        let share = |part: u64| percent(part as f64 / requests.max(1) as f64);
        ((partial + unknown) * SIZES_SHARE > requests).then(|| {
            format!(
                "Sizes are guesses: {} of the requests that a cache may answer are for targets of \
                 which the log has parts only (206), which are taken to be as large as the \
                 largest part; {} for targets of no known size, which take no room in a cache.",
                share(partial),
                share(unknown)
            )
        })
    }

    fn by_log(&self) -> bool {
        self.learnt.times != Times::Costs
    }
}
