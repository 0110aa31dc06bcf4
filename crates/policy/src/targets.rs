//! The target table: which value (a server, a set of servers) each target has, of a bounded number
//! of targets. The least recent is forgotten, which costs no more than one extra miss (LARD,
//! ASPLOS 1998, says so of its mapping).
//!
//! A decision's time is the time its target takes to come from memory, so a hit touches one cache
//! line, rarely two: entries lie in the hash table itself (linear probing, at most two thirds
//! full, gaps closed on removal: Knuth, volume 3, algorithm 6.4 R), and recency is not a list,
//! whose neighbours would lie elsewhere, but an age. Time is cut into epochs of an eighth of the
//! table's size in touches; an entry has the epoch of its last touch; a hand goes round the table
//! and forgets the first entry it finds seven epochs old (the clock of Multics, Corbató 1968, with
//! ages instead of one bit). At least an eighth of a full table is that old, so the hand does not
//! go far: entries lie where a hash put them, and about a dozen neighbouring slots are looked at.
//! So:
//!
//! * never is one forgotten that was touched within the last 3/4 of `max` touches;
//! * one that is not touched is gone when the hand has come round after that.

use crate::{ServerId, TargetId};

/// Targets kept when nothing else is said.
pub const TARGETS_MAX_DEFAULT: usize = 1_000_000;

/// Targets a table can be told to keep; some 5 GB.
pub const TARGETS_MAX_LIMIT: usize = 100_000_000;

/// Epochs in which as many touches happen as the table has room for targets.
const EPOCHS: usize = 8;

/// Epochs since the last touch after which a target may be forgotten.
const AGE_MIN: usize = EPOCHS - 1;

/// Targets the first allocation has room for.
const ROOM_FIRST: usize = 16;

/// Separates this table's hash from those by which policies place targets on servers: without it,
/// the targets of one server would crowd one part of the table.
const SALT: u64 = 0x7461_7267_6574_7321;

#[derive(Clone, Debug)]
struct Entry<V> {
    target: TargetId,
    /// When it was last touched.
    epoch: u32,
    value: V,
}

/// A bounded table from targets to values.
#[derive(Clone, Debug)]
pub struct Targets<V> {
    slots: Vec<Option<Entry<V>>>,
    len: usize,
    /// Targets the present slots are meant for, and targets there will ever be.
    room: usize,
    max: usize,
    /// The slot at which the search for one to forget goes on.
    hand: usize,
    epoch: u32,
    age_min: u32,
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
        let room = max.min(ROOM_FIRST);
        let small = |count: usize| u32::try_from(count).expect("the limit fits 32 bits");
        let epoch_span = small((max / EPOCHS).max(1));
        Self {
            slots: free_slots(room),
            len: 0,
            room,
            max,
            hand: 0,
            epoch: 0,
            age_min: small(max.min(AGE_MIN)),
            epoch_left: epoch_span,
            epoch_span,
            forgotten: None,
        }
    }

    /// The value of a target. Does not count as a touch.
    #[inline]
    pub fn get(&self, target: TargetId) -> Option<&V> {
        let at = self.find(target).ok()?;
        self.slots[at].as_ref().map(|entry| &entry.value)
    }

    /// The value of a target, which is now among the recent ones.
    #[inline]
    pub fn touch(&mut self, target: TargetId) -> Option<&mut V> {
        let at = self.find(target).ok()?;
        self.tick();
        let entry = self.slots[at].as_mut()?;
        // Compared first: what is not written need not travel between cores' caches.
        if entry.epoch != self.epoch {
            entry.epoch = self.epoch;
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
        if self.len == self.room {
            self.grow();
        }
        self.place(Entry { target, epoch: self.epoch, value });
        self.len += 1;
        forgotten
    }

    /// Shows every value to `change`, in no particular order: one pass over memory.
    pub fn for_each_value_mut(&mut self, mut change: impl FnMut(&mut V)) {
        for entry in self.slots.iter_mut().flatten() {
            change(&mut entry.value);
        }
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
            + self.slots.capacity() * size_of::<Option<Entry<V>>>()
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

    /// Where a target is, or else the free slot at which the search for it ends.
    #[inline]
    fn find(&self, target: TargetId) -> Result<usize, usize> {
        let mut at = self.home(target);
        loop {
            match &self.slots[at] {
                Some(entry) if entry.target == target => return Ok(at),
                Some(_) => at = self.after(at),
                None => return Err(at),
            }
        }
    }

    #[inline]
    fn tick(&mut self) {
        self.epoch_left -= 1;
        if self.epoch_left == 0 {
            self.epoch_left = self.epoch_span;
            self.epoch = self.epoch.wrapping_add(1);
        }
    }

    fn place(&mut self, entry: Entry<V>) {
        let (Ok(at) | Err(at)) = self.find(entry.target);
        self.slots[at] = Some(entry);
    }

    /// Room for twice as many. Homes keep their order when the table grows, so this walks through
    /// old and new memory once.
    fn grow(&mut self) {
        self.room = (2 * self.room).min(self.max);
        let old = core::mem::replace(&mut self.slots, free_slots(self.room));
        old.into_iter().flatten().for_each(|entry| self.place(entry));
        self.hand = 0;
    }

    fn forget(&mut self) -> Option<(TargetId, V)> {
        self.turn_hand();
        let old = self.slots[self.hand].take()?;
        self.close(self.hand);
        self.len -= 1;
        if let Some(list) = &mut self.forgotten {
            list.push(old.target);
        }
        Some((old.target, old.value))
    }

    /// Moves the hand to an entry that may be forgotten. There is one, for fewer touches than
    /// targets happen in seven epochs; only after 2^32 epochs may one look younger than it is, and
    /// then the oldest goes.
    fn turn_hand(&mut self) {
        let mut oldest = (0, self.hand);
        for _ in 0..self.slots.len() {
            if let Some(entry) = &self.slots[self.hand] {
                let age = self.epoch.wrapping_sub(entry.epoch);
                if age >= self.age_min {
                    return;
                }
                oldest = oldest.max((age, self.hand));
            }
            self.hand = self.after(self.hand);
        }
        self.hand = oldest.1;
    }

    /// Closes the gap at a slot that became free: entries that had to go further because of it
    /// move back, never past it, so that the hand at the gap misses none.
    fn close(&mut self, mut gap: usize) {
        let slots = self.slots.len();
        let distance =
            |from: usize, to: usize| if to >= from { to - from } else { to + slots - from };
        let mut at = self.after(gap);
        while let Some(entry) = &self.slots[at] {
            if distance(self.home(entry.target), at) >= distance(gap, at) {
                self.slots.swap(gap, at);
                gap = at;
            }
            at = self.after(at);
        }
    }

    /// The slot where the search for a target begins: its hash as a fraction of the table.
    #[inline]
    fn home(&self, target: TargetId) -> usize {
        ((u128::from(target.mixed(SALT)) * self.slots.len() as u128) >> 64) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }
}

/// Slots for `room` entries: half as many again, and one, for a search ends at a free slot.
fn free_slots<V>(room: usize) -> Vec<Option<Entry<V>>> {
    let mut slots = Vec::new();
    slots.resize_with(room + room / 2 + 1, || None);
    slots
}

impl Targets<Option<ServerId>> {
    /// Maps a target to one server, instead of any before.
    pub(crate) fn map(&mut self, target: TargetId, server: ServerId) {
        match self.touch(target) {
            // Compared first: what is not written need not travel between cores' caches.
            Some(mapped) if *mapped == Some(server) => {}
            Some(mapped) => *mapped = Some(server),
            None => drop(self.insert(target, Some(server))),
        }
    }

    /// Leaves nothing mapped to a server that has left. One scan of the table.
    pub(crate) fn unmap(&mut self, server: ServerId) {
        self.for_each_value_mut(|mapped| {
            if *mapped == Some(server) {
                *mapped = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_takes_at_most_64_bytes_whatever_a_policy_keeps_of_it() {
        fn each<V: Clone>(value: V) -> usize {
            let max = 10_000;
            let mut table = Targets::new(max);
            for name in 0..max as u64 {
                table.insert(TargetId(name), value.clone());
            }
            table.memory_bytes() / max
        }
        let server = crate::ServerId(1);
        let figures = [each(Some(server)), each(crate::servers::ServerSet::of(server, 0))];
        assert_eq!(figures, [24, 48], "lard and lard-cost; lard-r and lard-ext");
    }
}
