//! Taking turns in proportion to shares: the smooth weighted rotation under round robin, WRR, CAP
//! and static partitioning.
//!
//! Each turn every server earns its share and the richest pays the sum of all, so that the turns
//! of a heavy server are spread out rather than bunched (the scheme nginx 1.3.1 introduced). With
//! equal shares that is plain rotation, and then it is done as plain rotation: no credit, and a
//! decision that does not grow with the number of servers.
//!
//! A change of the members loses nobody's turn: plain rotation goes on after the slot served last,
//! and credit is carried over as "turns owed". Starting afresh at each change would give a
//! cluster with a flapping server to the servers at the head of the list.

use crate::{Cluster, Dice, Server, ServerId, WHEEL_TURNS_MAX};

/// Servers that take turns or are drawn, with their shares. Rebuilt whenever the cluster changes,
/// which is rare, so that a decision, which is not, walks over dense arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roster {
    /// By slot, ascending.
    ids: Vec<ServerId>,
    /// As `ids`: none is zero.
    shares: Vec<u64>,
    total: u64,
    equal: bool,
}

impl Roster {
    /// `members` by ascending slot; a share of zero counts as one.
    pub(crate) fn new(members: impl IntoIterator<Item = (ServerId, u64)>) -> Self {
        let (ids, shares): (Vec<_>, Vec<_>) =
            members.into_iter().map(|(id, share)| (id, share.max(1))).unzip();
        debug_assert!(ids.is_sorted(), "members come by slot");
        let total = shares.iter().sum();
        let equal = shares.windows(2).all(|pair| pair[0] == pair[1]);
        Self { ids, shares, total, equal }
    }

    /// The usable servers of a cluster, each with the share that `share` gives it.
    pub(crate) fn of(cluster: &Cluster, share: impl Fn(&Server) -> u64) -> Self {
        let servers = cluster.usable().iter().filter_map(|id| cluster.server(*id));
        Self::new(servers.map(|server| (server.id, share(server))))
    }

    /// Whether there is no member.
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The members with their shares.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ServerId, u64)> {
        self.ids.iter().copied().zip(self.shares.iter().copied())
    }

    /// Whether `id` is a member.
    pub(crate) fn contains(&self, id: ServerId) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// A member drawn with the probability of its share; `None` without members.
    pub(crate) fn drawn(&self, dice: &mut Dice) -> Option<ServerId> {
        if self.ids.is_empty() {
            return None;
        }
        if self.equal {
            return Some(self.ids[dice.below(self.ids.len())]);
        }
        let mut left = ((u128::from(dice.bits()) * u128::from(self.total)) >> 64) as u64;
        let drawn = self.shares.iter().position(|share| {
            let within = left < *share;
            left = left.wrapping_sub(*share);
            within
        });
        Some(self.ids[drawn.expect("a number below the total falls on a member")])
    }

    /// Turns after which everybody has had exactly his share: no smaller number makes all counts
    /// whole. (With equal shares, the number of members.)
    fn round(&self) -> u64 {
        let divisor = self.shares.iter().copied().fold(0, gcd);
        self.total.checked_div(divisor).unwrap_or(0)
    }

    /// One more than the highest slot of a member.
    fn slot_count(&self) -> usize {
        self.ids.last().map_or(0, |id| id.index() + 1)
    }
}

/// Whose turn it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rotation {
    /// Place in the list, modulo its length, where the very first turn goes.
    first: usize,
    /// The slot after the one that had the last turn: ties, and all turns between equal shares,
    /// go to the first member from here on.
    after: Option<usize>,
    /// What each slot has earned and not spent; empty as long as nobody owes anything.
    credit: Vec<i64>,
}

impl Rotation {
    /// A rotation whose first turn goes to place `first`, modulo the number of members.
    pub(crate) fn starting_at(first: usize) -> Self {
        Self { first, ..Self::default() }
    }

    /// Whose turn it is now, without taking it.
    pub(crate) fn next(&self, roster: &Roster) -> Option<ServerId> {
        let start = self.start(roster)?;
        if roster.equal {
            return Some(roster.ids[start]);
        }
        let mut best = (i64::MIN, start);
        for place in (start..roster.ids.len()).chain(0..start) {
            let credit = self.credit(roster.ids[place]) + roster.shares[place] as i64;
            if credit > best.0 {
                best = (credit, place);
            }
        }
        Some(roster.ids[best.1])
    }

    /// Takes the turn that [`Rotation::next`] gave to `winner`.
    pub(crate) fn take(&mut self, winner: ServerId, roster: &Roster) {
        self.after = Some(winner.index() + 1);
        if roster.equal || !roster.contains(winner) {
            return;
        }
        if self.credit.len() < roster.slot_count() {
            self.credit.resize(roster.slot_count(), 0);
        }
        for (id, share) in roster.iter() {
            self.credit[id.index()] += share as i64;
        }
        self.credit[winner.index()] -= roster.total as i64;
    }

    /// The turns from the next one on, which then repeat for ever as long as the members and their
    /// shares stay: see [`crate::Policy::wheel`]. `None` if the cycle is too long, or if the turns
    /// owed after a change are not yet paid, which takes a round or so.
    ///
    /// Credits are what was earned less what was spent, so they can only return after whole rounds.
    /// If they do (and ties begin at the same place), the round from there on repeats; if the round
    /// before it was the same one, all do from here on.
    pub(crate) fn cycle(&self, roster: &Roster) -> Option<Vec<ServerId>> {
        let round = usize::try_from(roster.round()).ok()?;
        if round == 0 || round > WHEEL_TURNS_MAX {
            return None;
        }
        let mut turning = self.clone();
        let first = turning.turn_by(round, roster);
        let (start, credit) = (turning.start(roster), turning.credit.clone());
        let second = turning.turn_by(round, roster);
        let returned = turning.start(roster) == start && turning.credit == credit;
        (returned && first == second).then_some(first)
    }

    /// Takes as many turns as others took of a cycle that [`Rotation::cycle`] gave. Whole rounds
    /// change nothing but where ties begin, which one round shows.
    pub(crate) fn turned(&mut self, turns: u64, roster: &Roster) {
        let round = roster.round();
        if round == 0 {
            return;
        }
        let shown = if turns < round { turns } else { round + turns % round };
        self.turn_by(shown as usize, roster);
    }

    fn turn_by(&mut self, turns: usize, roster: &Roster) -> Vec<ServerId> {
        let turn = |_| {
            let winner = self.next(roster).expect("a roster with a round has members");
            self.take(winner, roster);
            winner
        };
        (0..turns).map(turn).collect()
    }

    /// Carries the turns owed over to other members or shares. Who is new starts with none, and
    /// who goes takes his with him: nothing is left in a slot that another server may be given.
    pub(crate) fn adapt(&mut self, from: &Roster, to: &Roster) {
        if to.equal || self.credit.is_empty() {
            self.credit.clear();
            return;
        }
        let mut owed = vec![0; to.slot_count()];
        let (mut sum, mut stayed) = (0, 0);
        for id in to.ids.iter().filter(|id| from.contains(**id)) {
            let scaled = i128::from(self.credit(*id)) * i128::from(to.total);
            owed[id.index()] = (scaled / i128::from(from.total)) as i64;
            sum += owed[id.index()];
            stayed += 1;
        }
        // Credits sum to zero; what the leavers took is spread over the others, or a newcomer
        // would find everybody in debt, or in credit, after many changes.
        let mean = if stayed == 0 { 0 } else { sum / stayed };
        let most = to.total as i64;
        for id in to.ids.iter().filter(|id| from.contains(**id)) {
            owed[id.index()] = (owed[id.index()] - mean).clamp(-most, most);
        }
        self.credit = owed;
    }

    /// Place of the first member at or after the slot where this turn begins.
    fn start(&self, roster: &Roster) -> Option<usize> {
        let count = roster.ids.len();
        if count == 0 {
            return None;
        }
        let place = match self.after {
            None => self.first % count,
            Some(slot) => roster.ids.partition_point(|id| id.index() < slot),
        };
        Some(if place == count { 0 } else { place })
    }

    fn credit(&self, id: ServerId) -> i64 {
        self.credit.get(id.index()).copied().unwrap_or(0)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(shares: &[u64]) -> Roster {
        Roster::new(shares.iter().enumerate().map(|(slot, share)| (ServerId(slot as u16), *share)))
    }

    fn turns(rotation: &mut Rotation, roster: &Roster, count: usize) -> Vec<u16> {
        let turn = |_| {
            let winner = rotation.next(roster).unwrap();
            rotation.take(winner, roster);
            winner.0
        };
        (0..count).map(turn).collect()
    }

    #[test]
    fn equal_shares_take_plain_turns() {
        let three = roster(&[7, 7, 7]);
        assert_eq!(turns(&mut Rotation::starting_at(2), &three, 5), [2, 0, 1, 2, 0]);
    }

    #[test]
    fn the_turns_of_a_heavy_server_are_spread_out() {
        let heavy = roster(&[5, 1, 1]);
        assert_eq!(turns(&mut Rotation::default(), &heavy, 7), [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn a_flapping_server_leaves_the_others_their_turns() {
        let (mut rotation, all, two) = (Rotation::default(), roster(&[1, 1, 1]), roster(&[1, 1]));
        let mut counts = [0_u32; 3];
        for flap in 0..300 {
            let (from, to) = if flap % 2 == 0 { (&all, &two) } else { (&two, &all) };
            rotation.adapt(from, to);
            counts[usize::from(turns(&mut rotation, to, 1)[0])] += 1;
        }
        assert!(counts[0].abs_diff(counts[1]) <= 1, "{counts:?}");
    }

    #[test]
    fn flapping_among_unequal_shares_neither_starves_nor_favours_anybody() {
        let (all, two) = (roster(&[3, 2, 2]), roster(&[3, 2]));
        let mut rotation = Rotation::default();
        let mut counts = [0_i64; 3];
        for flap in 0..140 {
            let (from, to) = if flap % 2 == 0 { (&all, &two) } else { (&two, &all) };
            rotation.adapt(from, to);
            for winner in turns(&mut rotation, to, 5) {
                counts[usize::from(winner)] += 1;
            }
        }
        // Slots 0 and 1 are always there, in the ratio 3 to 2, here within five in a hundred.
        assert!((counts[0] * 2 - counts[1] * 3).abs() <= 5 * counts[0] / 50, "{counts:?}");
        // Slot 2 is there half of the time: 350 turns, of which 2 in 7 are its own.
        assert!((50..=150).contains(&counts[2]), "{counts:?}");
    }

    #[test]
    fn what_is_owed_balances_however_many_have_left() {
        // Each time the one that has just been served, and so owes most, leaves for good.
        let members = |first: u16| {
            let members = [(first, 2), (first + 1, 1), (999, 1)];
            Roster::new(members.map(|(slot, share)| (ServerId(slot), share)))
        };
        let mut rotation = Rotation::default();
        for first in 0..200 {
            turns(&mut rotation, &members(first), 1);
            rotation.adapt(&members(first), &members(first + 1));
            let sum: i64 = rotation.credit.iter().sum();
            assert!(sum.abs() <= 3, "but for rounding: {sum} after {first} changes");
        }
    }

    #[test]
    fn each_gets_exactly_its_share_of_every_round() {
        let shares = [5, 3, 1, 3];
        let roster = roster(&shares);
        let mut rotation = Rotation::default();
        for _ in 0..3 {
            let round = turns(&mut rotation, &roster, 12);
            let count = |slot: u16| round.iter().filter(|turn| **turn == slot).count() as u64;
            assert_eq!([count(0), count(1), count(2), count(3)], shares);
        }
    }
}
