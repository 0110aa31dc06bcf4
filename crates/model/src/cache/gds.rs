//! Greedy-Dual-Size: evicts the target whose loss costs least for the room it frees.
//!
//! Cao and Irani, *Cost-Aware WWW Proxy Caching Algorithms*, USITS 1997. A target is worth
//! `H = L + cost / size`, where `L` is the worth of what was evicted last: it rises with time, so
//! that what is not used again ages without being touched. Equal worths leave in order of last use.
//!
//! A use only raises a target's worth, so the heap may remember an old, lower one: it is corrected
//! when it comes up for eviction. Thus a use takes constant time, and the order is the same.

use super::{Index, TARGETS_MAX};
use policy::TargetId;

/// What losing a target costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GdsCost {
    /// The same for all, GDS(1): keeps many small targets, for the best hit ratio. LARD's choice.
    #[default]
    One,
    /// In proportion to its size, for the best ratio of bytes. All are then worth the same and
    /// order of use alone decides.
    Size,
}

/// Bits of the worth, which is no negative number: such bits compare as the numbers do. Then the
/// serial number of the last use.
type Rank = (u64, u64);

#[derive(Clone, Copy, Debug)]
struct Slot {
    target: TargetId,
    bytes: u64,
    rank: Rank,
    /// Where it stands in the heap.
    place: u32,
}

/// A cache that evicts the target of least worth. A use takes constant time, all else logarithmic.
#[derive(Clone, Debug)]
pub struct Gds {
    capacity_bytes: u64,
    cost: GdsCost,
    bytes: u64,
    /// The worth of what was evicted last, the paper's `L`.
    floor: f64,
    serial: u64,
    index: Index,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// A binary heap of slots, the least rank first, where a rank may be that of an earlier use.
    heap: Vec<(Rank, u32)>,
}

impl Gds {
    /// An empty cache for `capacity_bytes`.
    pub fn new(capacity_bytes: u64, cost: GdsCost) -> Self {
        Self {
            capacity_bytes,
            cost,
            bytes: 0,
            floor: 0.0,
            serial: 0,
            index: Index::default(),
            slots: Vec::new(),
            free: Vec::new(),
            heap: Vec::new(),
        }
    }

    /// See [`super::Cache::touch`].
    pub fn touch(&mut self, target: TargetId) -> bool {
        let Some(slot) = self.index.find(target) else { return false };
        self.slots[slot as usize].rank = self.appraise(self.slots[slot as usize].bytes);
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
            self.slots[slot as usize].rank = self.appraise(bytes);
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
        while self.bytes > self.capacity_bytes - bytes || self.heap.len() >= TARGETS_MAX {
            let victim = self.victim().expect("a cache that is too full is not empty");
            self.floor = f64::from_bits(self.heap[0].0.0);
            self.remove(victim);
            evicted.push(victim);
        }
        let rank = self.appraise(bytes);
        let place = u32::try_from(self.heap.len()).expect("fewer than 2^32 targets fit in memory");
        let kept = Slot { target, bytes, rank, place };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = kept;
                slot
            }
            None => {
                self.slots.push(kept);
                (self.slots.len() - 1) as u32
            }
        };
        self.heap.push((rank, slot));
        self.rise(place as usize);
        self.index.insert(target, slot);
        self.bytes += bytes;
        true
    }

    /// See [`super::Cache::remove`].
    pub fn remove(&mut self, target: TargetId) -> bool {
        let Some(slot) = self.index.remove(target) else { return false };
        let place = self.slots[slot as usize].place as usize;
        self.heap.swap_remove(place);
        if let Some((_, moved)) = self.heap.get(place) {
            self.slots[*moved as usize].place = place as u32;
            let place = self.rise(place);
            self.sink(place);
        }
        self.bytes -= self.slots[slot as usize].bytes;
        self.free.push(slot);
        true
    }

    /// See [`super::Cache::contains`].
    pub fn contains(&self, target: TargetId) -> bool {
        self.index.find(target).is_some()
    }

    /// See [`super::Cache::victim`].
    pub fn victim(&mut self) -> Option<TargetId> {
        loop {
            let (rank, slot) = *self.heap.first()?;
            let least = self.slots[slot as usize];
            if rank == least.rank {
                return Some(least.target);
            }
            self.heap[0].0 = least.rank;
            self.sink(0);
        }
    }

    /// See [`super::Cache::least_worth`].
    pub fn least_worth(&mut self) -> Option<f64> {
        self.victim()?;
        self.heap.first().map(|(rank, _)| f64::from_bits(rank.0))
    }

    /// See [`super::Cache::bytes`].
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// See [`super::Cache::targets`].
    pub fn targets(&self) -> usize {
        self.index.len()
    }

    /// The rank of a target of `bytes` that is used now.
    fn appraise(&mut self, bytes: u64) -> Rank {
        self.serial += 1;
        let gain = match self.cost {
            GdsCost::One => 1.0 / bytes.max(1) as f64,
            GdsCost::Size => 1.0,
        };
        ((self.floor + gain).to_bits(), self.serial)
    }

    fn rank(&self, place: usize) -> Rank {
        self.heap[place].0
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.slots[self.heap[a].1 as usize].place = a as u32;
        self.slots[self.heap[b].1 as usize].place = b as u32;
    }

    /// Moves what stands at `place` towards the root as far as its rank demands.
    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 && self.rank(place) < self.rank((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        place
    }

    /// Moves what stands at `place` away from the root as far as its rank demands.
    fn sink(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            if left >= self.heap.len() {
                return;
            }
            let right_less = right < self.heap.len() && self.rank(right) < self.rank(left);
            let least = if right_less { right } else { left };
            if self.rank(place) <= self.rank(least) {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }
}
