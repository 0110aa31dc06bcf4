//! What the log's own times cannot tell, and what was therefore assumed.

use super::study::Study;
use sim::replay::Times;

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

    /// What is to be borne in mind of the times, a sentence or two each.
    pub fn caveats(&self) -> Vec<&'static str> {
        // Who said what a miss costs does not depend on what the log says of it.
        let unsaid = self.costs.miss.is_none();
        let all = [(self.times_till_sent(), TILL_SENT), (self.hidden_hits(), HIDDEN)];
        all.into_iter().filter(|(holds, _)| unsaid && *holds).map(|(_, text)| text).collect()
    }

    fn by_log(&self) -> bool {
        self.learnt.times != Times::Costs
    }
}
