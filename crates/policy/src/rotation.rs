//! Taking turns in proportion to shares: the smooth weighted rotation under round robin, WRR, CAP
//! and static partitioning.
//!
//! Each turn every server earns its share and the richest pays the sum of all: with equal shares
//! this is plain rotation, with unequal ones the turns of a heavy server are spread out rather
//! than bunched (the scheme nginx 1.3.1 introduced). Over any window the number of turns of a
//! server differs from its share by less than one turn for equal shares.

use crate::ServerId;

/// Whose turn it is among a set of servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rotation {
    /// What each slot has earned and not spent.
    credit: Vec<i64>,
    /// Slot that wins the first tie; the search for the richest starts here.
    first: usize,
}

impl Rotation {
    /// A rotation whose first turn goes to slot `first` (modulo the number of servers).
    pub(crate) fn starting_at(first: usize) -> Self {
        Self { credit: Vec::new(), first }
    }

    /// Whose turn it is now, without taking it. `shares` gives the members and their shares, none
    /// zero; a member that is new or was away starts with no credit.
    pub(crate) fn next(
        &self,
        members: &[ServerId],
        share: impl Fn(ServerId) -> u64,
    ) -> Option<ServerId> {
        let count = members.len();
        let mut best: Option<(i64, ServerId)> = None;
        for turn in 0..count {
            let id = members[(self.first + turn) % count];
            let credit = self.credit(id) + share(id) as i64;
            if best.is_none_or(|(most, _)| credit > most) {
                best = Some((credit, id));
            }
        }
        best.map(|(_, id)| id)
    }

    /// Takes the turn that [`Rotation::next`] gave to `winner`.
    pub(crate) fn take(
        &mut self,
        winner: ServerId,
        members: &[ServerId],
        share: impl Fn(ServerId) -> u64,
    ) {
        let mut sum = 0;
        for id in members {
            if self.credit.len() <= id.index() {
                self.credit.resize(id.index() + 1, 0);
            }
            let earned = share(*id) as i64;
            self.credit[id.index()] += earned;
            sum += earned;
        }
        self.credit[winner.index()] -= sum;
    }

    /// Clears the credit of everybody, after members or shares changed: credit earned under other
    /// shares would be paid out as a burst.
    pub(crate) fn restart(&mut self) {
        self.credit.fill(0);
    }

    fn credit(&self, id: ServerId) -> i64 {
        self.credit.get(id.index()).copied().unwrap_or(0)
    }
}
