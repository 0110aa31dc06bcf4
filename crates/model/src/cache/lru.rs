//! Least recently used: evicts the target that was not asked for for longest.
//!
//! A list through an array of slots; every operation takes constant time.

use super::{Index, TARGETS_MAX};
use policy::TargetId;

/// The end of the list in both directions; slot 0 is the list's head and holds no target.
const HEAD: u32 = 0;

#[derive(Clone, Copy, Debug)]
struct Slot {
    target: TargetId,
    bytes: u64,
    /// Towards the more recently used.
    newer: u32,
    /// Towards the less recently used.
    older: u32,
}

/// A cache that evicts the least recently used target.
#[derive(Clone, Debug)]
pub struct Lru {
    capacity_bytes: u64,
    bytes: u64,
    index: Index,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Lru {
    /// An empty cache for `capacity_bytes`.
    pub fn new(capacity_bytes: u64) -> Self {
        let head = Slot { target: TargetId(0), bytes: 0, newer: HEAD, older: HEAD };
        let slots = vec![head];
        Self { capacity_bytes, bytes: 0, index: Index::default(), slots, free: Vec::new() }
    }

    /// See [`super::Cache::touch`].
    pub fn touch(&mut self, target: TargetId) -> bool {
        let Some(slot) = self.index.find(target) else { return false };
        self.renew(slot);
        true
    }

    /// See [`super::Cache::touch_sized`].
    pub fn touch_sized(
        &mut self,
        target: TargetId,
        bytes: u64,
        evicted: &mut Vec<TargetId>,
    ) -> bool {
        let Some(slot) = self.index.find(target) else { return false };
        if self.slots[slot as usize].bytes == bytes {
            self.renew(slot);
            return true;
        }
        let kept = self.insert(target, bytes, evicted);
        if !kept {
            evicted.push(target);
        }
        kept
    }

    /// See [`super::Cache::insert`].
    pub fn insert(&mut self, target: TargetId, bytes: u64, evicted: &mut Vec<TargetId>) -> bool {
        self.remove(target);
        if bytes > self.capacity_bytes {
            return false;
        }
        while self.bytes > self.capacity_bytes - bytes || self.targets() >= TARGETS_MAX {
            let oldest = self.victim().expect("a cache that is too full is not empty");
            self.remove(oldest);
            evicted.push(oldest);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(self.slots[HEAD as usize]);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 targets fit in memory")
        });
        self.slots[slot as usize] = Slot { target, bytes, newer: HEAD, older: HEAD };
        self.link_newest(slot);
        self.index.insert(target, slot);
        self.bytes += bytes;
        true
    }

    /// See [`super::Cache::remove`].
    pub fn remove(&mut self, target: TargetId) -> bool {
        let Some(slot) = self.index.remove(target) else { return false };
        self.unlink(slot);
        self.bytes -= self.slots[slot as usize].bytes;
        self.free.push(slot);
        true
    }

    /// See [`super::Cache::contains`].
    pub fn contains(&self, target: TargetId) -> bool {
        self.index.find(target).is_some()
    }

    /// See [`super::Cache::victim`].
    pub fn victim(&self) -> Option<TargetId> {
        // The head's newer neighbour is the oldest: the list is a ring.
        let oldest = self.slots[HEAD as usize].newer;
        (oldest != HEAD).then(|| self.slots[oldest as usize].target)
    }

    /// See [`super::Cache::bytes`].
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// See [`super::Cache::targets`].
    pub fn targets(&self) -> usize {
        self.index.len()
    }

    /// Makes a slot of the list its newest.
    fn renew(&mut self, slot: u32) {
        self.unlink(slot);
        self.link_newest(slot);
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        self.slots[newer as usize].older = older;
        self.slots[older as usize].newer = newer;
    }

    fn link_newest(&mut self, slot: u32) {
        let second = self.slots[HEAD as usize].older;
        self.slots[slot as usize].newer = HEAD;
        self.slots[slot as usize].older = second;
        self.slots[second as usize].newer = slot;
        self.slots[HEAD as usize].older = slot;
    }
}
