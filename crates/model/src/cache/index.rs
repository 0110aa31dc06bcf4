//! Where a target is kept: a hash table from targets to slot numbers.
//!
//! The standard table is banned here for its random order, an ordered one costs twenty misses of
//! the processor's cache in a large table. Open addressing with linear probing, at most half full;
//! removal moves later entries back, so that no grave markers pile up (Knuth, volume 3, 6.4 R).

use policy::TargetId;

/// No entry. Slots are numbered below it.
const EMPTY: u32 = u32::MAX;

/// Salt of the hash: any number, so that these tables do not share a hash policy's placement.
const SALT: u64 = 0x1d;

/// A map from targets to slot numbers below `u32::MAX`.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Length a power of two, or zero.
    places: Vec<(TargetId, u32)>,
    len: usize,
}

impl Index {
    /// The slot of `target`.
    pub fn find(&self, target: TargetId) -> Option<u32> {
        let place = self.place(target)?;
        (self.places[place].1 != EMPTY).then_some(self.places[place].1)
    }

    /// Sets the slot of `target`, and returns the one it had.
    pub fn insert(&mut self, target: TargetId, slot: u32) -> Option<u32> {
        assert!(slot != EMPTY, "the largest slot number marks an empty place");
        if self.len * 2 >= self.places.len() {
            self.grow();
        }
        let place = self.place(target).expect("a table that has grown has places");
        let before = core::mem::replace(&mut self.places[place], (target, slot)).1;
        if before == EMPTY {
            self.len += 1;
            return None;
        }
        Some(before)
    }

    /// Forgets `target`, and returns its slot.
    pub fn remove(&mut self, target: TargetId) -> Option<u32> {
        let mut gap = self.place(target)?;
        let slot = self.places[gap].1;
        if slot == EMPTY {
            return None;
        }
        let mask = self.places.len() - 1;
        let mut next = gap;
        loop {
            next = (next + 1) & mask;
            if self.places[next].1 == EMPTY {
                break;
            }
            // An entry may fill the gap if its home is not after the gap on the way to it.
            let home = self.home(self.places[next].0);
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(gap) & mask {
                self.places[gap] = self.places[next];
                gap = next;
            }
        }
        self.places[gap].1 = EMPTY;
        self.len -= 1;
        Some(slot)
    }

    /// How many targets it knows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where `target` is or would be put; `None` in a table without places.
    fn place(&self, target: TargetId) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        let mask = self.places.len() - 1;
        let mut place = self.home(target);
        while self.places[place].1 != EMPTY && self.places[place].0 != target {
            place = (place + 1) & mask;
        }
        Some(place)
    }

    fn home(&self, target: TargetId) -> usize {
        target.mixed(SALT) as usize & (self.places.len() - 1)
    }

    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(16);
        let old = core::mem::replace(&mut self.places, vec![(TargetId(0), EMPTY); size]);
        for (target, slot) in old.into_iter().filter(|(_, slot)| *slot != EMPTY) {
            let place = self.place(target).expect("the new table has places");
            self.places[place] = (target, slot);
        }
    }
}
