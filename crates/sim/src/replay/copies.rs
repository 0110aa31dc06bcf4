//! In how many caches each target is.

/// Copies by target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    counts: Vec<u16>,
    /// Targets in more than one cache.
    replicated: u64,
    replicated_max: u64,
}

impl Copies {
    /// A cache has the target now.
    #[inline]
    pub(crate) fn add(&mut self, target: u32) {
        let at = target as usize;
        if at >= self.counts.len() {
            self.counts.resize((at + 1).next_power_of_two(), 0);
        }
        self.counts[at] += 1;
        if self.counts[at] == 2 {
            self.replicated += 1;
            self.replicated_max = self.replicated_max.max(self.replicated);
        }
    }

    /// A cache has given the target up.
    #[inline]
    pub(crate) fn remove(&mut self, target: u32) {
        let count = &mut self.counts[target as usize];
        if *count == 2 {
            self.replicated -= 1;
        }
        *count -= 1;
    }

    /// Targets in more than one cache: now, and at most at once so far.
    pub(crate) fn replicated(&self) -> (u64, u64) {
        (self.replicated, self.replicated_max)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_replicated_from_its_second_copy_on() {
        let mut copies = Copies::default();
        copies.add(4);
        assert_eq!(copies.replicated(), (0, 0));
        copies.add(4);
        copies.add(4);
        copies.remove(4);
        assert_eq!(copies.replicated(), (1, 1));
        copies.remove(4);
        assert_eq!(copies.replicated(), (0, 1));
    }
}
