//! Whether a server passes its checks: a pure state machine over the verdicts of probes.
//!
//! One bad answer is no failure and one good answer no recovery: a server goes down after `fall`
//! failed checks in a row and up after `rise` passed ones, as in HAProxy. Only the very first
//! verdict decides alone, for before it nothing is known. Time is an argument.

use policy::Instant;

/// How many checks in a row change a server's health; both at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthRule {
    /// Passed checks until a server that is down is up.
    pub rise: u32,
    /// Failed checks until a server that is up is down.
    pub fall: u32,
}

impl Default for HealthRule {
    /// HAProxy's values.
    fn default() -> Self {
        Self { rise: 2, fall: 3 }
    }
}

/// The health of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    passing: bool,
    /// Whether any check has ended yet.
    known: bool,
    /// Verdicts in a row against the present health.
    against: u32,
    since: Instant,
    why: String,
}

/// A change of health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It may take requests again.
    Up,
    /// It may not.
    Down,
}

impl Health {
    /// A server that nothing is known of: trusted until its first check ends, so that a start of
    /// the switch refuses nobody.
    pub fn unknown(now: Instant) -> Self {
        let why = "not checked yet".to_owned();
        Self { passing: true, known: false, against: 0, since: now, why }
    }

    /// Takes note of a check that ended at `now`. `found` is `Ok` when the server passed and says
    /// in either case what was seen. Returns the change, if this verdict made one.
    pub fn observe(
        &mut self,
        found: Result<&str, &str>,
        rule: HealthRule,
        now: Instant,
    ) -> Option<Turn> {
        let (passed, message) = match found {
            Ok(message) => (true, message),
            Err(message) => (false, message),
        };
        let first = !std::mem::replace(&mut self.known, true);
        if passed == self.passing {
            self.against = 0;
            // Why a server is down may change while it is down; operators look at the latest.
            if first || !passed {
                message.clone_into(&mut self.why);
            }
            return None;
        }
        self.against = self.against.saturating_add(1);
        let needed = if self.passing { rule.fall } else { rule.rise };
        if !first && self.against < needed {
            return None;
        }
        *self =
            Self { passing: passed, known: true, against: 0, since: now, why: message.to_owned() };
        Some(if passed { Turn::Up } else { Turn::Down })
    }

    /// Whether the server may take requests as far as its checks say.
    pub fn passing(&self) -> bool {
        self.passing
    }

    /// Since when its health is what it is.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// What the check that decided its health found.
    pub fn why(&self) -> &str {
        &self.why
    }
}
