//! The setting that we borrow from the machine.

use crate::measure::machine::read;
use std::fs;

const CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The system's TCP congestion control, the same for every program, put back when dropped.
pub struct Congestion {
    before: String,
    /// What is in force during the run.
    pub now: String,
}

impl Congestion {
    /// Sets `wanted` if we may: neither nginx nor HAProxy 2.6 can choose for itself.
    pub fn set(wanted: &str) -> Self {
        let before = read(CONGESTION);
        if before != wanted
            && let Err(error) = fs::write(CONGESTION, wanted)
        {
            eprintln!("bench-relay: congestion control stays {before}: {error} (root may set it)");
        }
        Self { before, now: read(CONGESTION) }
    }
}

impl Drop for Congestion {
    fn drop(&mut self) {
        if self.before != self.now
            && let Err(error) = fs::write(CONGESTION, &self.before)
        {
            eprintln!("bench-relay: put {CONGESTION} back to {}: {error}", self.before);
        }
    }
}
