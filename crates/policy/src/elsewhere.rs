//! Load that others count: connections which a kernel table (or, later, another front-end) gave to
//! servers by itself, and counts where the desk can look before it decides.
//!
//! The counts arrive as they stand, not as events, so nothing is lost when a look is late: each
//! look replaces the one before. The order in which servers were last chosen breaks ties between
//! equals, and must not depend on how often one looks: who counts elsewhere numbers its choices.

use crate::{Load, ServerId};

/// What is counted elsewhere for one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Connections it has now; each weighs [`Load::ONE`]. One that moves is taken from one server's
    /// count and added to another's.
    pub open: u64,
    /// Connections it was ever given. Should the count begin anew, what was added before stays.
    pub begun: u64,
    /// Number of the last choice that fell on it, from one counter for all servers; zero if none
    /// did.
    pub chosen: u64,
}

/// Connections of one server that are believed: no machine has more, and sums of such loads over
/// all servers stay exact.
const OPEN_MAX: u64 = 1 << 24;

impl Elsewhere {
    /// What it adds to the server's load.
    pub fn load(self) -> Load {
        Load::of(self.open)
    }

    /// A counter that two sides change may be read half changed; a wild value must not spoil books
    /// that have to balance when the next one replaces it.
    #[inline]
    fn bounded(self) -> Self {
        Self { open: self.open.min(OPEN_MAX), ..self }
    }
}

/// The counts as they were last seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// By slot, not by server: counters go on where a slot is given to another server, whose own
    /// are what they grow by from then on.
    slots: Vec<Elsewhere>,
    /// Choices since the look before, by their numbers. Empty between two looks.
    chosen: Vec<(u64, ServerId)>,
}

impl Seen {
    /// What was last seen of a slot.
    #[inline]
    pub(crate) fn of(&self, id: ServerId) -> Elsewhere {
        self.slots.get(id.index()).copied().unwrap_or_default()
    }

    /// Takes note of a count and returns the one before and the new one, if they differ.
    #[inline]
    pub(crate) fn note(&mut self, id: ServerId, new: Elsewhere) -> Option<(Elsewhere, Elsewhere)> {
        let new = new.bounded();
        if self.of(id) == new { None } else { Some((self.replace(id, new), new)) }
    }

    fn replace(&mut self, id: ServerId, new: Elsewhere) -> Elsewhere {
        if self.slots.len() <= id.index() {
            self.slots.resize(id.index() + 1, Elsewhere::default());
        }
        let old = core::mem::replace(&mut self.slots[id.index()], new);
        if new.chosen != old.chosen {
            self.chosen.push((new.chosen, id));
        }
        old
    }

    /// Whether somebody was chosen since the last look.
    #[inline]
    pub(crate) fn any_chosen(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// Those that were chosen since the last look, in the order of their last choices. To be given
    /// back to [`Seen::ordered`].
    pub(crate) fn in_order(&mut self) -> Vec<(u64, ServerId)> {
        self.chosen.sort_unstable();
        core::mem::take(&mut self.chosen)
    }

    /// Ends a look; the list's memory is used again.
    pub(crate) fn ordered(&mut self, mut list: Vec<(u64, ServerId)>) {
        list.clear();
        self.chosen = list;
    }
}
