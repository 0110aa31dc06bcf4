//! The index of the target table: open addressing with linear probing, at most half full.
//!
//! A word has 32 bits: the place of an entry plus one and, in the bits that leaves free, a part of
//! the hash, so that a foreign entry is rarely looked at. Zero is free. Removal moves later words
//! back (Knuth, volume 3, algorithm 6.4 R), so that no markers pile up.

/// Where in a slab the entry with a given hash may be.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    words: Vec<u32>,
    /// The bits of a word that hold the place.
    place_mask: u32,
}

impl Index {
    /// An index for up to `max` entries, with room for `first` of them for now.
    pub(crate) fn new(max: usize, first: usize) -> Self {
        let place_bits = usize::BITS - max.leading_zeros();
        let first = 2 * max.min(first);
        Self { words: vec![0; first.next_power_of_two()], place_mask: (1 << place_bits) - 1 }
    }

    /// Memory it holds.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>()
    }

    /// Whether `len` entries are too many for its present size.
    pub(crate) fn full_at(&self, len: usize) -> bool {
        2 * len > self.words.len()
    }

    /// Twice the words, all free.
    pub(crate) fn double(&mut self) {
        self.words = vec![0; 2 * self.words.len()];
    }

    /// The place with this hash of which `is_it` says yes.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let mask = self.words.len() - 1;
        let mut at = self.home(hash);
        loop {
            let word = self.words[at];
            if word == 0 {
                return None;
            }
            if (word ^ hash as u32) & !self.place_mask == 0 && is_it(self.place(word)) {
                return Some(self.place(word));
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a place that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, place: usize) {
        let mask = self.words.len() - 1;
        let mut at = self.home(hash);
        while self.words[at] != 0 {
            at = (at + 1) & mask;
        }
        let place = u32::try_from(place + 1).expect("the limit fits 27 bits");
        self.words[at] = (hash as u32 & !self.place_mask) | place;
    }

    /// Removes an entry that is there, and closes the gap: entries that had to go further because
    /// of it move back, so that no grave markers slow later searches down.
    pub(crate) fn remove(&mut self, hash: u64, place: usize, hash_of: impl Fn(usize) -> u64) {
        let mask = self.words.len() - 1;
        let mut gap = self.home(hash);
        while self.words[gap] == 0 || self.place(self.words[gap]) != place {
            gap = (gap + 1) & mask;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let word = self.words[at];
            if word == 0 {
                break;
            }
            let home = self.home(hash_of(self.place(word)));
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.words[gap] = word;
                gap = at;
            }
        }
        self.words[gap] = 0;
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        // The top bits: the low 32 serve as the word's tag. One word at least two, so shift < 64.
        (hash >> (64 - self.words.len().trailing_zeros())) as usize
    }

    #[inline]
    fn place(&self, word: u32) -> usize {
        ((word & self.place_mask) - 1) as usize
    }
}
