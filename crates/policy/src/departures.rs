//! Who has left: so that nothing is mapped to a server that is gone, nor to another that was given
//! its slot, though nobody goes through a million targets to see to it.
//!
//! Time is counted in departures. Whoever writes servers down notes the moment; whoever reads them
//! passes over those that have left since.

use crate::ServerId;

/// How many servers had left. Of two halves, so that it lies at any even address and what holds it
/// needs no padding: that is a third of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment([u16; 2]);

impl Moment {
    #[inline]
    const fn of(count: u32) -> Self {
        Self([(count >> 16) as u16, count as u16])
    }

    #[inline]
    const fn count(self) -> u32 {
        (self.0[0] as u32) << 16 | self.0[1] as u32
    }
}

/// When each server left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Departures {
    count: u32,
    /// By slot: the last departure from it, counted from one; zero or nothing if there was none.
    last: Vec<u32>,
}

impl Departures {
    /// Notes that a server has left.
    pub(crate) fn note(&mut self, id: ServerId) {
        self.count = self.count.checked_add(1).expect("2^32 departures take longer than we run");
        if self.last.len() <= id.index() {
            self.last.resize(id.index() + 1, 0);
        }
        self.last[id.index()] = self.count;
    }

    pub(crate) fn now(&self) -> Moment {
        Moment::of(self.count)
    }

    /// Whether the server that was in this slot at `moment` is still in the cluster.
    #[inline]
    pub(crate) fn stayed(&self, id: ServerId, moment: Moment) -> bool {
        self.last.get(id.index()).is_none_or(|last| *last <= moment.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_given_to_another_is_not_the_server_that_was_noted() {
        let (a, b) = (ServerId(0), ServerId(9));
        let mut departures = Departures::default();
        let before = departures.now();
        departures.note(b);
        let after = departures.now();
        assert_eq!([departures.stayed(a, before), departures.stayed(b, before)], [true, false]);
        assert!(departures.stayed(b, after), "who was noted after it is another server");
    }

    #[test]
    fn moments_keep_all_bits() {
        for count in [0, 1, 0xffff, 0x1_0000, 0xdead_beef, u32::MAX] {
            assert_eq!(Moment::of(count).count(), count);
        }
    }
}
