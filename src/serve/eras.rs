//! Which policy decided what: counts and times by the policy that was in force, not by the one
//! that is.
//!
//! Workers count decisions by reason alone, since the process began. When a reload puts another
//! policy in force, what was counted until then is booked under the old one's name.

use policy::{Instant, Why};
use std::collections::{BTreeMap, VecDeque};

/// Changes of policy remembered, for naming recent decisions; older ones stay without a name.
const ERAS_MAX: usize = 64;

/// Decisions by reason, as the workers have counted them since the process began.
pub(super) type Sums = [u64; Why::ALL.len()];

/// The policies there have been.
pub(super) struct Eras {
    /// Since when each was in force, oldest first; the last is the present one.
    began: VecDeque<(Instant, &'static str)>,
    /// What the policies before the present one decided. Names come from the table of policies, so
    /// there are few.
    past: BTreeMap<&'static str, Sums>,
    /// The workers' sums when the present one began.
    counted: Sums,
}

impl Eras {
    /// `policy` has been in force from the start.
    pub(super) fn new(policy: &'static str) -> Self {
        Self {
            began: VecDeque::from([(Instant::ZERO, policy)]),
            past: BTreeMap::new(),
            counted: [0; Why::ALL.len()],
        }
    }

    /// `policy` is in force from `now` on; the workers have counted `sums` until now.
    pub(super) fn change(&mut self, policy: &'static str, sums: &Sums, now: Instant) {
        let Some((_, old)) = self.began.back().copied().filter(|(_, old)| *old != policy) else {
            return;
        };
        let past = self.past.entry(old).or_insert([0; Why::ALL.len()]);
        add_since(past, sums, &self.counted);
        self.counted = *sums;
        if self.began.len() == ERAS_MAX {
            self.began.pop_front();
        }
        self.began.push_back((now, policy));
    }

    /// The policy that was in force at `at`; none when that is too long ago.
    pub(super) fn policy_at(&self, at: Instant) -> Option<&'static str> {
        let later = self.began.partition_point(|(began, _)| *began <= at);
        Some(self.began[later.checked_sub(1)?].1)
    }

    /// Decisions by policy and reason, those that were ever made; the workers have counted `sums`.
    pub(super) fn decisions(&self, sums: &Sums) -> Vec<(&'static str, Why, u64)> {
        let mut all = self.past.clone();
        if let Some((_, present)) = self.began.back() {
            let present = all.entry(present).or_insert([0; Why::ALL.len()]);
            add_since(present, sums, &self.counted);
        }
        let reasons = |(policy, counts): (&'static str, Sums)| {
            Why::ALL.iter().map(move |why| (policy, *why, counts[why.index()]))
        };
        all.into_iter().flat_map(reasons).filter(|(_, _, count)| *count > 0).collect()
    }
}

fn add_since(to: &mut Sums, sums: &Sums, before: &Sums) {
    for (to, (sum, before)) in to.iter_mut().zip(sums.iter().zip(before)) {
        *to += sum.saturating_sub(*before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(affinity: u64) -> Sums {
        let mut sums = [0; Why::ALL.len()];
        sums[Why::Affinity.index()] = affinity;
        sums
    }

    fn counts(eras: &Eras, affinity: u64) -> Vec<(&'static str, u64)> {
        let all = eras.decisions(&sums(affinity));
        all.into_iter().map(|(policy, _, count)| (policy, count)).collect()
    }

    #[test]
    fn decisions_stay_with_the_policy_that_made_them() {
        let mut eras = Eras::new("lard");
        assert_eq!(counts(&eras, 10), [("lard", 10)]);
        eras.change("wrr", &sums(10), Instant(5));
        assert_eq!(counts(&eras, 10), [("lard", 10)], "the new one has decided nothing");
        assert_eq!(counts(&eras, 13), [("lard", 10), ("wrr", 3)]);
        eras.change("lard", &sums(13), Instant(9));
        assert_eq!(counts(&eras, 20), [("lard", 17), ("wrr", 3)], "no count ever falls");
    }

    #[test]
    fn new_parameters_are_no_new_policy() {
        let mut eras = Eras::new("lard");
        eras.change("lard", &sums(10), Instant(5));
        assert_eq!(eras.began.len(), 1);
        assert_eq!(counts(&eras, 11), [("lard", 11)]);
    }

    #[test]
    fn a_decision_is_named_after_the_policy_of_its_time() {
        let mut eras = Eras::new("lard");
        eras.change("wrr", &sums(0), Instant(5));
        eras.change("p2c", &sums(0), Instant(9));
        let named = [0, 4, 5, 8, 9, 1_000].map(|at| eras.policy_at(Instant(at)));
        assert_eq!(named, ["lard", "lard", "wrr", "wrr", "p2c", "p2c"].map(Some));
    }

    #[test]
    fn the_memory_of_changes_is_bounded() {
        let mut eras = Eras::new("lard");
        for change in 1..1_000 {
            let policy = if change % 2 == 0 { "lard" } else { "wrr" };
            eras.change(policy, &sums(change), Instant(change));
        }
        assert_eq!(eras.began.len(), ERAS_MAX);
        assert_eq!(eras.policy_at(Instant(1)), None);
        assert_eq!(eras.policy_at(Instant(999)), Some("wrr"));
        assert_eq!(counts(&eras, 999).iter().map(|(_, count)| count).sum::<u64>(), 999);
    }
}
