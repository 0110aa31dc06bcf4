//! Which part of a trace is to be asked, and how large that part is.

use crate::{Sessions, Shape, Trace};
use policy::TargetId;

/// Which requests of a trace to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// All.
    All,
    /// The first so many, by time.
    First(usize),
    /// Those of one client in `of`, with all that each of them asked: the trace thinned out without
    /// cutting a session. The same seed takes the same clients. 0 counts as 1.
    Clients {
        /// How many clients stand behind each one taken.
        of: u32,
        /// Which ones.
        seed: u64,
    },
}

/// A part of a trace, ready to be asked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The requests taken; targets and clients keep their numbers.
    pub trace: Trace,
    /// Their sessions.
    pub sessions: Sessions,
    /// Different targets among them.
    pub targets: usize,
    /// The working set: the sizes of these targets, summed.
    pub working_set_bytes: u64,
    /// What is sent when every request is answered with its whole target.
    pub reply_bytes: u64,
}

impl Plan {
    /// Takes a part of `trace` and groups it.
    pub fn new(mut trace: Trace, pick: Pick, shape: Shape) -> Self {
        match pick {
            Pick::All => {}
            Pick::First(count) => trace.requests.truncate(count),
            Pick::Clients { of, seed } => trace.retain(|entry, _| {
                TargetId(u64::from(entry.client)).mixed(seed).is_multiple_of(of.max(1).into())
            }),
        }
        let mut asked = vec![false; trace.targets.len()];
        let (mut targets, mut working_set_bytes, mut reply_bytes) = (0, 0_u64, 0_u64);
        for entry in &trace.requests {
            let size = trace.target(entry).size;
            reply_bytes = reply_bytes.saturating_add(size);
            if !std::mem::replace(&mut asked[entry.target as usize], true) {
                targets += 1;
                working_set_bytes = working_set_bytes.saturating_add(size);
            }
        }
        let sessions = Sessions::of(&trace, shape);
        Self { trace, sessions, targets, working_set_bytes, reply_bytes }
    }
}
