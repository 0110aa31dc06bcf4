//! The target table: which value (a server, a set of servers) each target has, of a bounded number
//! of targets. The least recent is forgotten, which costs no more than one extra miss (LARD,
//! ASPLOS 1998, says so of its mapping).
//!
//! A decision's time is the time its target takes to come from memory, so a hit touches one cache
//! line, rarely two: entries lie in the hash table itself, at most two thirds full (see `slots`),
//! and recency is not a list, whose neighbours would lie elsewhere, but an age. Time is cut into
//! epochs of an eighth of the table's size in touches; an entry has the epoch of its last touch; a
//! hand goes round the table and forgets the first entry it finds seven epochs old (the clock of
//! Multics, Corbató 1968, with ages instead of one bit). At least an eighth of a full table is
//! that old, so the hand does not go far: entries lie where a hash put them, and about a dozen
//! neighbouring slots are looked at. So:
//!
//! * never is one forgotten that was touched within the last 3/4 of `max` touches;
//! * one that is not touched is gone when the hand has come round after that.
//!
//! Growing is spread over many insertions, for others wait while one decision is made. Entries
//! move to a table of twice the size in the order of their hashes, a few with each insertion (the
//! incremental rehashing of Redis and Go; the order saves looking into both tables): a home that
//! the movers have passed is in the new table, any other in the old one. They are through long
//! before the new one is full, so nothing is forgotten, and nothing else grows, while they work.

use crate::TargetId;
use crate::slots::{Entry, Hash, Slots};
use core::num::NonZeroU16;

/// Targets kept when nothing else is said.
pub const TARGETS_MAX_DEFAULT: usize = 1_000_000;

/// Targets a table can be told to keep; some 5 GB.
pub const TARGETS_MAX_LIMIT: usize = 100_000_000;

/// Epochs in which as many touches happen as the table has room for targets.
const EPOCHS: usize = 8;

/// Epochs since the last touch after which a target may be forgotten.
const AGE_MIN: u16 = EPOCHS as u16 - 1;

/// Targets the first allocation has room for.
const ROOM_FIRST: usize = 16;

/// Slots that an insertion empties while the table grows, and on to the next free one. A tenth as
/// many insertions as the old table had room for then see the end of it.
const STRIDE: usize = 16;

/// A bounded table from targets to values.
#[derive(Clone, Debug)]
pub struct Targets<V> {
    slots: Slots<V>,
    /// While the table grows: where the entries go.
    grown: Option<Slots<V>>,
    /// While it grows: entries whose home in `slots` is below this are in `grown`.
    moved: usize,
    len: usize,
    /// Targets the present slots are meant for, and targets there will ever be.
    room: usize,
    max: usize,
    /// The slot at which the search for one to forget goes on.
    hand: usize,
    /// Counts from one, and past the greatest number from one again.
    epoch: NonZeroU16,
    age_min: u16,
    /// Touches until the next epoch, and in every epoch.
    epoch_left: u32,
    epoch_span: u32,
    /// What was forgotten since it was last asked for, if anybody wants to know.
    forgotten: Option<Vec<TargetId>>,
}

impl<V> Targets<V> {
    /// An empty table for `max` targets, 1..=[`TARGETS_MAX_LIMIT`]. Memory is taken as it fills.
    pub fn new(max: usize) -> Self {
        let max = max.clamp(1, TARGETS_MAX_LIMIT);
        // Halves of halves, so that the last growth doubles the table like any other.
        let mut halves = core::iter::successors(Some(max), |room| Some(room.div_ceil(2)));
        let room = halves.find(|room| *room <= ROOM_FIRST).unwrap_or(max);
        let span = u32::try_from((max / EPOCHS).max(1)).expect("the limit fits 32 bits");
        Self {
            slots: Slots::new(room),
            grown: None,
            moved: 0,
            len: 0,
            room,
            max,
            hand: 0,
            epoch: NonZeroU16::MIN,
            age_min: u16::try_from(max).map_or(AGE_MIN, |max| max.min(AGE_MIN)),
            epoch_left: span,
            epoch_span: span,
            forgotten: None,
        }
    }

    /// The value of a target. Does not count as a touch.
    #[inline]
    pub fn get(&self, target: TargetId) -> Option<&V> {
        let hash = Hash::of(target);
        let slots = self.holding(hash);
        let at = slots.find(hash, target).ok()?;
        slots.get(at).map(|entry| &entry.value)
    }

    /// The value of a target, which is now among the recent ones.
    #[inline]
    pub fn touch(&mut self, target: TargetId) -> Option<&mut V> {
        let hash = Hash::of(target);
        let at = self.holding(hash).find(hash, target).ok()?;
        self.tick();
        let epoch = self.epoch;
        let entry = self.holding_mut(hash).get_mut(at)?;
        // Compared first: what is not written need not travel between cores' caches.
        if entry.epoch != epoch {
            entry.epoch = epoch;
        }
        Some(&mut entry.value)
    }

    /// Gives a target a value, and returns what was forgotten to make room.
    pub fn insert(&mut self, target: TargetId, value: V) -> Option<(TargetId, V)> {
        if let Some(known) = self.touch(target) {
            *known = value;
            return None;
        }
        self.tick();
        let forgotten = if self.len == self.max { self.forget() } else { None };
        self.make_room();
        let epoch = self.epoch;
        self.holding_mut(Hash::of(target)).place(Entry { target, epoch, value });
        self.len += 1;
        forgotten
    }

    /// Targets in the table.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was ever inserted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Targets it keeps at most.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Memory it holds, in bytes, without what its values own elsewhere.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.slots.memory_bytes()
            + self.grown.as_ref().map_or(0, Slots::memory_bytes)
            + self.forgotten.as_ref().map_or(0, |list| list.capacity() * size_of::<TargetId>())
    }

    /// Starts or stops listing forgotten targets for [`Targets::take_forgotten`]. The list grows
    /// by at most one for each insertion: whoever wants it must fetch it as often.
    pub fn keep_forgotten(&mut self, keep: bool) {
        self.forgotten = keep.then(|| self.forgotten.take().unwrap_or_default());
    }

    /// Moves the targets forgotten since the last call to the end of `into`.
    pub fn take_forgotten(&mut self, into: &mut Vec<TargetId>) {
        if let Some(list) = &mut self.forgotten {
            into.append(list);
        }
    }

    /// The slots that have the target of this hash, if any have.
    #[inline]
    fn holding(&self, hash: Hash) -> &Slots<V> {
        match &self.grown {
            Some(grown) if self.slots.home(hash) < self.moved => grown,
            _ => &self.slots,
        }
    }

    #[inline]
    fn holding_mut(&mut self, hash: Hash) -> &mut Slots<V> {
        match &mut self.grown {
            Some(grown) if self.slots.home(hash) < self.moved => grown,
            _ => &mut self.slots,
        }
    }

    #[inline]
    fn tick(&mut self) {
        self.epoch_left -= 1;
        if self.epoch_left == 0 {
            self.epoch_left = self.epoch_span;
            self.epoch = self.epoch.checked_add(1).unwrap_or(NonZeroU16::MIN);
        }
    }

    /// Sees to it that one more finds room: begins to grow, or does its part of growing.
    fn make_room(&mut self) {
        if self.len == self.room {
            debug_assert!(self.grown.is_none(), "growing takes a tenth of the room there was");
            self.room = (2 * self.room).min(self.max);
            self.grown = Some(Slots::new(self.room));
            self.moved = 0;
        }
        self.move_some();
    }

    /// Moves what is in the next few slots, if the table grows. Stops behind a free slot: an entry
    /// after it has its home after it too, so that each is where its home says.
    fn move_some(&mut self) {
        let Some(grown) = &mut self.grown else { return };
        let enough = self.moved + STRIDE;
        let end = self.slots.len();
        loop {
            let entry = self.slots.take(self.moved);
            self.moved += 1;
            match entry {
                Some(entry) => grown.place(entry),
                None if self.moved >= enough.min(end) => break,
                None => {}
            }
        }
        self.slots.release(self.moved);
        if self.moved >= end
            && let Some(grown) = self.grown.take()
        {
            self.slots = grown;
            (self.moved, self.hand) = (0, 0);
        }
    }

    fn forget(&mut self) -> Option<(TargetId, V)> {
        debug_assert!(self.grown.is_none(), "a full table has grown long ago");
        self.turn_hand();
        let old = self.slots.remove(self.hand)?;
        self.len -= 1;
        if let Some(list) = &mut self.forgotten {
            list.push(old.target);
        }
        Some((old.target, old.value))
    }

    /// Moves the hand to an entry that may be forgotten. There is one, for fewer touches than
    /// targets happen in seven epochs; only one that was not touched for 2^16 epochs may look
    /// younger than it is, and when all seem young, the oldest goes.
    fn turn_hand(&mut self) {
        let mut oldest = (0, self.hand);
        for _ in 0..self.slots.len() {
            if let Some(entry) = self.slots.get(self.hand) {
                let age = self.age(entry.epoch);
                if age >= self.age_min {
                    return;
                }
                oldest = oldest.max((age, self.hand));
            }
            self.hand += 1;
            if self.hand >= self.slots.len() {
                self.hand = 0;
            }
        }
        self.hand = oldest.1;
    }

    /// Epochs since `touched`, of which there are one fewer than 2^16.
    fn age(&self, touched: NonZeroU16) -> u16 {
        let (now, then) = (self.epoch.get(), touched.get());
        if now >= then { now - then } else { u16::MAX - then + now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots of the old table that the movers have before them; none when nothing grows.
    fn ahead(table: &Targets<u64>) -> usize {
        table.grown.as_ref().map_or(0, |_| table.slots.len() - table.moved)
    }

    #[test]
    fn no_insertion_moves_more_than_a_few_entries() {
        const MAX: u64 = 20_000;
        // Without a free slot, at two thirds full: some 14 ln(slots).
        const RUN_LONGEST: usize = 140;
        let mut table = Targets::new(MAX as usize);
        let (mut most, mut all) = (0, 0);
        for name in 0..MAX {
            let (before, slots) = (ahead(&table), table.slots.len());
            table.insert(TargetId(name), name);
            let begins = before == 0 && ahead(&table) > 0;
            let emptied = (if begins { slots } else { before }).saturating_sub(ahead(&table));
            (most, all) = (most.max(emptied), all + emptied);
            let known = |name| table.get(TargetId(name)) == Some(&name);
            assert!((0..=name).rev().step_by(89).all(known), "all are found, wherever they are");
        }
        assert!(all > MAX as usize, "it has grown");
        assert!(most <= STRIDE + RUN_LONGEST, "{most} slots emptied by one insertion");
    }

    #[test]
    fn growing_is_over_long_before_the_table_is_full() {
        for max in (1..200).chain([1_000, 4_097, 30_000]) {
            let mut table = Targets::new(max);
            let (mut growing, mut room) = (0, table.room);
            for name in 0..max as u64 {
                table.insert(TargetId(name), ());
                if table.room > room {
                    (growing, room) = (0, table.room);
                }
                growing += usize::from(table.grown.is_some());
                assert!(growing <= room / 16 + 2, "{growing} of {room} insertions, of {max}");
            }
            assert!(table.grown.is_none(), "of {max}");
        }
    }

    #[test]
    fn ages_are_right_also_when_the_count_of_epochs_begins_anew() {
        let mut table = Targets::<()>::new(1);
        let epoch = |number| NonZeroU16::new(number).expect("it is not zero");
        for (now, then, age) in [(9, 9, 0), (9, 2, 7), (1, u16::MAX, 1), (3, 65_530, 8)] {
            table.epoch = epoch(now);
            assert_eq!(table.age(epoch(then)), age, "at {now}, touched at {then}");
        }
        table.epoch = NonZeroU16::MAX;
        table.tick();
        assert_eq!(table.epoch, NonZeroU16::MIN, "an epoch of this table is one touch");
    }
}
