//! A tape of what the desk is told and answers, in the order that only its lock knows.

use super::Ask;
use policy::tape::{Recorder, Tape};
use policy::{Entry, Params};

impl Ask {
    /// Begins a tape, in place of one that runs: from here on the policy is a new one of row
    /// `entry` with `params`, its dice begin with `seed`, and what it is asked and told is written
    /// down until [`Ask::tape`] is called, another policy takes over, or the tape has `events_max`
    /// events. An event takes some 150 bytes; a request is two of them, an attempt more each.
    ///
    /// The policy begins anew, as after a reload that changes it, for what it had learnt is on no
    /// tape: caches behind a policy that maps targets feel that. Requests under way go on.
    pub fn record(&self, entry: &'static Entry, params: &Params, seed: u64, events_max: usize) {
        let recorder = Recorder::new(entry, params, seed, events_max);
        let policy = (entry.build)(params);
        self.change_with(Some(policy), |_| (), |books, ()| books.desk.record(recorder));
    }

    /// Ends the tape and returns it; `None` when none runs.
    pub fn tape(&self) -> Option<Tape> {
        self.lock().desk.tape()
    }
}
