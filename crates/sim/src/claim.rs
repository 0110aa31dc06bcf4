//! What a paper claims, as a row that figures confirm or not.

use crate::Figures;

/// A published statement about a system that is simulated here.
pub struct Claim {
    /// Its number in our notes on the papers, such as `PH-C1`.
    pub id: &'static str,
    /// The statement.
    pub says: &'static str,
    /// The published figure.
    pub published: &'static str,
    /// The studies whose figures it is judged by; empty when the system is not simulated.
    pub needs: &'static [&'static str],
    /// Constants that were calibrated or chosen, on which the outcome depends; empty for none.
    pub depends: &'static str,
    /// What we found, and why where it did not come out.
    pub verdict: Verdict,
    /// Reads the outcome off the figures.
    pub judge: fn(&Figures) -> Finding,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The inequality holds.
    Reproduced,
    /// It does not; the analysis says which unknown constant or contradiction is to blame.
    NotReproduced(&'static str),
    /// It is about something that no simulation here has; says what.
    NotSimulated(&'static str),
}

/// What the figures say about a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Whether the inequality holds.
    pub holds: bool,
    /// The measured figure, with its unit.
    pub measured: String,
}

impl Claim {
    /// What the figures say; `None` when the system is not simulated.
    ///
    /// # Panics
    /// When one of the figures it needs is missing.
    pub fn finding(&self, figures: &Figures) -> Option<Finding> {
        if matches!(self.verdict, Verdict::NotSimulated(_)) {
            return None;
        }
        let missing = self.needs.iter().find(|id| !figures.contains_key(**id));
        assert!(missing.is_none(), "{} is judged by {missing:?}, which was not made", self.id);
        Some((self.judge)(figures))
    }
}
