//! The memory of a target table: entries in an array with holes, in the order of their hashes.
//!
//! Linear probing without wrapping around: a search begins at the entry's home, its hash as a
//! fraction of the array, and ends at the entry or at the first free slot, at the latest at the
//! end; gaps are closed on removal (Knuth, volume 3, algorithm 6.4 R).
//!
//! The array comes and goes in chunks. One of a million entries would be 24 MB to clear, and as
//! much to give back, in one go: milliseconds.

use crate::TargetId;
use core::num::NonZeroU16;

/// Bytes of a chunk, at most: some twenty microseconds to have one from the system and clear it.
/// Where the chunks are must stay in the cache of each core: 6 KB for a million of LARD's targets.
const CHUNK_BYTES_MAX: usize = 64 << 10;

/// Slots of a chunk, at least.
const CHUNK_MIN: usize = 16;

/// Chunks of a table that has fewer slots than all these would: the last one is empty for the
/// greater part.
const CHUNKS_MIN: usize = 8;

/// Separates this table's hash from those by which policies place targets on servers: without it,
/// the targets of one server would crowd one part of the table.
const SALT: u64 = 0x7461_7267_6574_7321;

/// What is kept of a target. The number that cannot be zero gives the free slot its form.
#[derive(Clone, Debug)]
pub(crate) struct Entry<V> {
    pub(crate) target: TargetId,
    /// When it was last touched.
    pub(crate) epoch: NonZeroU16,
    pub(crate) value: V,
}

/// A slot, free or not.
type Slot<V> = Option<Entry<V>>;

/// Where in a table a target belongs, whatever the size of that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    #[inline]
    pub(crate) const fn of(target: TargetId) -> Self {
        Self(target.mixed(SALT))
    }
}

/// The array.
#[derive(Clone, Debug)]
pub(crate) struct Slots<V> {
    /// All of one size, a power of two, but for those released, which have none. Beyond the last
    /// everything is free.
    chunks: Vec<Box<[Slot<V>]>>,
    /// Binary logarithm of that size.
    chunk_bits: u32,
    /// Slots that are homes.
    homes: usize,
}

impl<V> Slots<V> {
    /// Without memory yet; most searches are short with up to `room` entries.
    pub(crate) fn new(room: usize) -> Self {
        let homes = room + room / 2;
        let chunk_max = (CHUNK_BYTES_MAX / size_of::<Slot<V>>()).max(CHUNK_MIN);
        let chunk_bits = (homes / CHUNKS_MIN).clamp(CHUNK_MIN, chunk_max).ilog2();
        Self { chunks: Vec::with_capacity((homes >> chunk_bits) + 1), chunk_bits, homes }
    }

    /// One more than the highest slot that is not free.
    pub(crate) fn len(&self) -> usize {
        self.chunks.len() << self.chunk_bits
    }

    /// Memory it holds, in bytes, without what its values own elsewhere.
    pub(crate) fn memory_bytes(&self) -> usize {
        let slots: usize = self.chunks.iter().map(|chunk| chunk.len()).sum();
        slots * size_of::<Slot<V>>() + self.chunks.capacity() * size_of::<Box<[Slot<V>]>>()
    }

    /// The slot where the search begins. The order of hashes is that of homes, in every table.
    #[inline]
    pub(crate) fn home(&self, hash: Hash) -> usize {
        ((u128::from(hash.0) * self.homes as u128) >> 64) as usize
    }

    /// Where a target is, or else the free slot at which the search for it ends.
    #[inline]
    pub(crate) fn find(&self, hash: Hash, target: TargetId) -> Result<usize, usize> {
        let mut at = self.home(hash);
        loop {
            match self.get(at) {
                Some(entry) if entry.target == target => return Ok(at),
                Some(_) => at += 1,
                None => return Err(at),
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Entry<V>> {
        self.chunks.get(at >> self.chunk_bits)?.get(self.within(at))?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Entry<V>> {
        self.slot_mut(at)?.as_mut()
    }

    /// Puts an entry where the search for it ends.
    pub(crate) fn place(&mut self, entry: Entry<V>) {
        let (Ok(at) | Err(at)) = self.find(Hash::of(entry.target), entry.target);
        while at >= self.len() {
            let chunk = core::iter::repeat_with(|| None).take(1 << self.chunk_bits);
            self.chunks.push(chunk.collect());
        }
        *self.slot_mut(at).expect("released chunks are not written to") = Some(entry);
    }

    /// Takes an entry out and leaves a gap, over which no search gets.
    pub(crate) fn take(&mut self, at: usize) -> Option<Entry<V>> {
        self.slot_mut(at)?.take()
    }

    /// Takes an entry out. Entries that had to go further because of it move back, never past it.
    pub(crate) fn remove(&mut self, mut gap: usize) -> Option<Entry<V>> {
        let removed = self.take(gap)?;
        let mut at = gap + 1;
        while let Some(entry) = self.get(at) {
            if self.home(Hash::of(entry.target)) <= gap {
                let moved = self.take(at);
                *self.slot_mut(gap).expect("an entry was there") = moved;
                gap = at;
            }
            at += 1;
        }
        Some(removed)
    }

    /// Gives back the memory of the slots before `end`, which are free and stay so.
    pub(crate) fn release(&mut self, end: usize) {
        let passed = (end >> self.chunk_bits).min(self.chunks.len());
        let rest = self.chunks[..passed].iter_mut().rev().take_while(|chunk| !chunk.is_empty());
        rest.for_each(|chunk| *chunk = Box::default());
    }

    #[inline]
    fn slot_mut(&mut self, at: usize) -> Option<&mut Slot<V>> {
        let within = self.within(at);
        self.chunks.get_mut(at >> self.chunk_bits)?.get_mut(within)
    }

    #[inline]
    fn within(&self, at: usize) -> usize {
        at & ((1 << self.chunk_bits) - 1)
    }
}
