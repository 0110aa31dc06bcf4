//! The target table: which value (a server, a set of servers) each target has, of a bounded number
//! of targets. The least recent is forgotten, which costs no more than one extra miss (LARD,
//! ASPLOS 1998, says so of its mapping).
//!
//! Entries lie in one slab and are found through an open-addressing index of 32-bit words, at most
//! half full, so that a hit reads two cache lines. They are linked by recency, but coarsely: time
//! is cut into epochs of an eighth of the table's size in touches, and a target is moved to the
//! front only by its first touch of an epoch. A hot target is thus only read. The price:
//!
//! * the one forgotten may have been touched up to one epoch later than the least recent one;
//! * never is one forgotten that was touched within the last 7/8 of `max` touches.

use crate::TargetId;
use crate::index::Index;

/// Targets kept when nothing else is said.
pub const TARGETS_MAX_DEFAULT: usize = 1_000_000;

/// Targets a table can be told to keep: its index words have 27 bits for the place of an entry.
pub const TARGETS_MAX_LIMIT: usize = 100_000_000;

/// Epochs in which as many touches happen as the table has room for targets.
const EPOCHS: usize = 8;

/// Entries the first allocation has room for.
const ENTRIES_FIRST: usize = 32;

/// Separates this table's hash from those by which policies place targets on servers: without it,
/// the targets of one server would crowd one part of the index.
const SALT: u64 = 0x7461_7267_6574_7321;

/// The end of the recency list.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry<V> {
    target: TargetId,
    /// Neighbours by recency, as places in the slab.
    newer: u32,
    older: u32,
    /// When it was last moved to the front.
    epoch: u32,
    value: V,
}

/// A bounded table from targets to values.
#[derive(Clone, Debug)]
pub struct Targets<V> {
    entries: Vec<Entry<V>>,
    index: Index,
    max: usize,
    newest: u32,
    oldest: u32,
    epoch: u32,
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
        let epoch_span = u32::try_from((max / EPOCHS).max(1)).expect("the limit fits 27 bits");
        Self {
            entries: Vec::new(),
            index: Index::new(max, ENTRIES_FIRST),
            max,
            newest: NONE,
            oldest: NONE,
            epoch: 0,
            epoch_left: epoch_span,
            epoch_span,
            forgotten: None,
        }
    }

    /// The value of a target. Does not count as a touch.
    #[inline]
    pub fn get(&self, target: TargetId) -> Option<&V> {
        let place = self.find(target)?;
        Some(&self.entries[place].value)
    }

    /// The value of a target, which is now among the recent ones.
    #[inline]
    pub fn touch(&mut self, target: TargetId) -> Option<&mut V> {
        let place = self.find(target)?;
        self.tick();
        if self.entries[place].epoch != self.epoch {
            self.unlink(place);
            self.link_newest(place);
        }
        Some(&mut self.entries[place].value)
    }

    /// Gives a target a value, and returns what was forgotten to make room.
    pub fn insert(&mut self, target: TargetId, value: V) -> Option<(TargetId, V)> {
        if let Some(known) = self.touch(target) {
            *known = value;
            return None;
        }
        self.tick();
        let entry = Entry { target, newer: NONE, older: NONE, epoch: 0, value };
        let (place, forgotten) = if self.entries.len() < self.max {
            self.grow();
            self.entries.push(entry);
            (self.entries.len() - 1, None)
        } else {
            let place = self.oldest as usize;
            self.unlink(place);
            self.remove_from_index(place);
            let old = core::mem::replace(&mut self.entries[place], entry);
            if let Some(list) = &mut self.forgotten {
                list.push(old.target);
            }
            (place, Some((old.target, old.value)))
        };
        self.index.insert(hash(target), place);
        self.link_newest(place);
        forgotten
    }

    /// Shows every value to `change`, in no particular order: one pass over memory.
    pub fn for_each_value_mut(&mut self, mut change: impl FnMut(&mut V)) {
        for entry in &mut self.entries {
            change(&mut entry.value);
        }
    }

    /// Targets in the table.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was ever inserted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Targets it keeps at most.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Memory it holds, in bytes, without what its values own elsewhere.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.entries.capacity() * size_of::<Entry<V>>()
            + self.index.memory_bytes()
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

    #[inline]
    fn find(&self, target: TargetId) -> Option<usize> {
        self.index.find(hash(target), |place| self.entries[place].target == target)
    }

    #[inline]
    fn tick(&mut self) {
        self.epoch_left -= 1;
        if self.epoch_left == 0 {
            self.epoch_left = self.epoch_span;
            self.epoch = self.epoch.wrapping_add(1);
        }
    }

    fn grow(&mut self) {
        let len = self.entries.len();
        if len == self.entries.capacity() {
            self.entries.reserve_exact(len.max(ENTRIES_FIRST).min(self.max - len));
        }
        if self.index.full_at(len + 1) {
            self.index.double();
            for (place, entry) in self.entries.iter().enumerate() {
                self.index.insert(hash(entry.target), place);
            }
        }
    }

    fn remove_from_index(&mut self, place: usize) {
        let entries = &self.entries;
        self.index.remove(hash(entries[place].target), place, |at| hash(entries[at].target));
    }

    fn link_newest(&mut self, place: usize) {
        let here = u32::try_from(place).expect("the limit fits 27 bits");
        let entry = &mut self.entries[place];
        entry.epoch = self.epoch;
        entry.newer = NONE;
        entry.older = self.newest;
        match self.entries.get_mut(self.newest as usize) {
            Some(second) => second.newer = here,
            None => self.oldest = here,
        }
        self.newest = here;
    }

    fn unlink(&mut self, place: usize) {
        let Entry { newer, older, .. } = self.entries[place];
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[inline]
fn hash(target: TargetId) -> u64 {
    target.mixed(SALT)
}

#[cfg(test)]
mod tests {
    //! Method: the table is compared, step by step, with a list that remembers every touch.
    use super::*;
    use proptest::prelude::*;

    /// A target, its value, and when it was last touched.
    type Known = (TargetId, u32, u64);

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Get(u64),
        Touch(u64),
        Insert(u64, u32),
    }

    fn steps(targets: u64) -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..targets).prop_map(Step::Get),
            (0..targets).prop_map(Step::Touch),
            (0..targets, any::<u32>()).prop_map(|(target, value)| Step::Insert(target, value)),
        ];
        prop::collection::vec(step, 0..600)
    }

    fn play(max: usize, steps: &[Step]) {
        let mut table = Targets::new(max);
        let mut list: Vec<Known> = Vec::new();
        let slack = (max / EPOCHS).max(1) as u64;
        let mut now = 0;
        for step in steps {
            let (Step::Get(name) | Step::Touch(name) | Step::Insert(name, _)) = *step;
            let target = TargetId(name);
            let known = list.iter().position(|known| known.0 == target);
            match *step {
                Step::Get(_) => assert_eq!(table.get(target), known.map(|at| &list[at].1)),
                Step::Touch(_) => {
                    assert_eq!(table.touch(target).copied(), known.map(|at| list[at].1));
                    if let Some(at) = known {
                        now += 1;
                        list[at].2 = now;
                    }
                }
                Step::Insert(_, value) => {
                    now += 1;
                    let forgotten = table.insert(target, value);
                    assert_eq!(forgotten.is_some(), known.is_none() && list.len() == max);
                    if let Some(forgotten) = forgotten {
                        forget(&mut list, forgotten, now, slack, max as u64);
                    }
                    list.retain(|known| known.0 != target);
                    list.push((target, value, now));
                }
            }
            assert_eq!(table.len(), list.len());
        }
        for (target, value, _) in list {
            assert_eq!(table.get(target), Some(&value));
        }
    }

    /// Removes what the table forgot, and checks the two bounds of the module's header.
    fn forget(list: &mut Vec<Known>, gone: (TargetId, u32), now: u64, slack: u64, max: u64) {
        let at = list.iter().position(|known| known.0 == gone.0).expect("it was in the table");
        let (_, value, touched) = list.remove(at);
        assert_eq!(value, gone.1);
        let least = list.iter().map(|known| known.2).min().unwrap_or(u64::MAX);
        assert!(touched < least.saturating_add(slack), "{touched} against {least}");
        assert!(touched + max - slack <= now, "touched at {touched}, forgotten at {now}");
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_a_list(max in 1usize..80, steps in steps(120)) {
            play(max, &steps);
        }

        #[test]
        fn a_table_below_sixteen_forgets_exactly_the_least_recent(
            max in 1usize..16, steps in steps(24),
        ) {
            // `play` allows a slack of one touch there: none.
            play(max, &steps);
        }
    }

    #[test]
    fn exactly_so_many_targets_are_kept() {
        let mut table = Targets::new(TARGETS_MAX_DEFAULT);
        for name in 0..TARGETS_MAX_DEFAULT as u64 {
            assert!(table.insert(TargetId(name), ()).is_none());
        }
        assert!(table.insert(TargetId(u64::MAX), ()).is_some());
        assert_eq!(table.len(), 1_000_000);
    }

    #[test]
    fn an_unused_table_is_small() {
        assert!(Targets::<u64>::new(TARGETS_MAX_DEFAULT).memory_bytes() < 1024);
    }

    #[test]
    fn forgotten_targets_are_listed_once_and_only_on_request() {
        let mut table = Targets::new(2);
        let mut list = Vec::new();
        for name in 0..3 {
            table.insert(TargetId(name), ());
        }
        table.take_forgotten(&mut list);
        assert_eq!(list, []);
        table.keep_forgotten(true);
        table.insert(TargetId(3), ());
        table.take_forgotten(&mut list);
        table.take_forgotten(&mut list);
        assert_eq!(list, [TargetId(1)]);
    }
}
