//! Files of one kind: their sizes and their popularity.

use crate::draw::{Draw, Ranks};
use policy::{Class, Dice, TargetId};

/// Files, the most popular first.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    sizes: Vec<u64>,
    ranks: Ranks,
}

impl Shelf {
    pub fn new(count: u32, exponent: f64, sizes: &Draw, dice: &mut Dice) -> Self {
        Self {
            sizes: (0..count).map(|_| sizes.whole(dice)).collect(),
            ranks: Ranks::zipf(count, exponent),
        }
    }

    /// Draws a file: its rank, from 0.
    pub fn sample(&self, dice: &mut Dice) -> u32 {
        self.ranks.sample(dice)
    }

    /// The size of a file, in bytes.
    pub fn size(&self, rank: u32) -> u64 {
        self.sizes[rank as usize]
    }

    /// How many files there are.
    pub fn len(&self) -> u32 {
        self.sizes.len() as u32
    }
}

/// The target that a file is: kind, shelf and rank side by side, so that no two are the same.
pub(super) fn target(html: bool, shelf: usize, rank: u32) -> TargetId {
    TargetId(u64::from(html) << 48 | (shelf as u64) << 32 | u64::from(rank))
}

/// The target that a program is.
pub(super) fn program(class: Class, number: u64) -> TargetId {
    TargetId(1 << 49 | u64::from(class.0) << 32 | number)
}
