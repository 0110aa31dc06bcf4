//! Numbers by a seed (splitmix64, Steele, Lea and Flood, OOPSLA 2014): what failed fails again.

pub struct Chance(pub u64);

impl Chance {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.word() % u64::try_from(bound).unwrap()).unwrap()
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn of<'a, T: ?Sized>(&mut self, some: &[&'a T]) -> &'a T {
        some[self.below(some.len())]
    }

    pub fn byte(&mut self) -> u8 {
        self.word().to_le_bytes()[0]
    }
}
