//! Which server has which slot of the kernel's tables, over reloads and restarts.
//!
//! The policy numbers servers as they join, anew with each process. Connections live longer: a slot
//! stays with a name *and* an address until its last connection has ended, whoever runs the switch.
//! So a successor finds its predecessor's rows and gives them to the same servers, and a server
//! that moved to another address gets another slot while the old one empties.

use super::fabric::{Book, Row, RowState, SLOTS_MAX, Slot, SlotSet};
use policy::ServerId;
use std::net::SocketAddr;
use xxhash_rust::xxh3::xxh3_64;

/// The kernel's rows, and whose they are.
#[derive(Debug, Default)]
pub(super) struct Roster {
    rows: Vec<Option<Entry>>,
    /// The slot of each server that new connections go to.
    current: Vec<Option<Slot>>,
    /// What rows that are cleared had counted, by server.
    past: Vec<Book>,
    /// Looks through all connections that have come to their end.
    looks: u64,
}

/// A row that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) row: Row,
    /// In whose books its connections count; `None`: it is of a server that this process never had.
    pub(super) owner: Option<ServerId>,
    need: Need,
}

/// Who needs a row. Connections that have ended are remembered for a while, and what their clients
/// send still goes by the row: that no book counts any is not enough to give it to another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// A server that gets new connections, as far as is known.
    Server,
    /// Connections alone, since this look was under way.
    Connections(u64),
    /// Nobody: a whole look since found no connection that has it.
    Nobody,
}

/// What a server is to the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) id: ServerId,
    pub(super) name: &'a str,
    pub(super) address: SocketAddr,
    pub(super) agent_port: u16,
}

impl Roster {
    /// Takes over the rows that a process before this one left.
    pub(super) fn adopt(rows: impl IntoIterator<Item = (Slot, Row)>) -> Self {
        let mut roster = Self { rows: vec![None; SLOTS_MAX], ..Self::default() };
        for (slot, row) in rows {
            if let Some(place) = roster.rows.get_mut(usize::from(slot.0)) {
                *place = Some(Entry { row, owner: None, need: Need::Server });
            }
        }
        roster
    }

    /// Gives a server its slot: the one that has its name and address, or a free one. Returns the
    /// row to write. `None`: every slot is taken.
    pub(super) fn place(&mut self, wanted: &Wanted<'_>) -> Option<(Slot, Row)> {
        let name = name_hash(wanted.name);
        let same = |entry: &Entry| {
            (entry.row.name, entry.row.address) == (name, wanted.address)
                && entry.owner.is_none_or(|owner| owner == wanted.id)
        };
        let known = self.rows.iter().position(|entry| entry.as_ref().is_some_and(same));
        let at = known.or_else(|| self.rows.iter().position(Option::is_none))?;
        let slot = Slot(u16::try_from(at).expect("there are fewer slots than numbers"));
        let state = match &self.rows[at] {
            Some(entry) if entry.owner.is_some() => entry.row.state,
            _ => RowState::Up,
        };
        let row = Row { address: wanted.address, name, state, agent_port: wanted.agent_port };
        self.rows[at] = Some(Entry { row, owner: Some(wanted.id), need: Need::Server });
        if self.current.len() <= wanted.id.index() {
            self.current.resize(wanted.id.index() + 1, None);
            self.past.resize(wanted.id.index() + 1, Book::default());
        }
        self.current[wanted.id.index()] = Some(slot);
        Some((slot, row))
    }

    /// Brings the states of rows in line: `state` of each server that is still there, and draining
    /// for all other rows, but where the same server has joined anew and is doubted or down: it
    /// is that for its old connections too. Returns the rows to write; a row that nobody needs is
    /// cleared.
    pub(super) fn align(
        &mut self,
        state: impl Fn(ServerId) -> Option<RowState>,
        book: impl Fn(Slot) -> Book,
    ) -> Vec<(Slot, Option<Row>)> {
        let mut writes = Vec::new();
        let current = (0u16..).map(ServerId).zip(&self.current);
        let row = |slot: Slot| self.rows[usize::from(slot.0)].map(|entry| entry.row);
        let gone = current.filter_map(|(id, slot)| {
            let state =
                state(id).filter(|state| *state != RowState::Up && *state != RowState::Draining);
            Some(Row { state: state?, ..row((*slot)?)? })
        });
        let gone: Vec<Row> = gone.collect();
        let same = |one: &Row, other: &Row| (one.name, one.address) == (other.name, other.address);
        for at in 0..self.rows.len() {
            let slot = Slot(at as u16);
            let Some(entry) = self.rows[at] else { continue };
            let is_current = entry.owner.is_some_and(|owner| self.slot(owner) == Some(slot));
            let wanted = entry.owner.filter(|_| is_current).and_then(&state);
            match wanted {
                None if entry.need == Need::Nobody && book(slot).open == 0 => {
                    self.clear(slot, book(slot));
                    writes.push((slot, None));
                }
                wanted => {
                    let gone = gone.iter().find(|gone| same(gone, &entry.row));
                    let otherwise = gone.map_or(RowState::Draining, |gone| gone.state);
                    let need = match entry.need {
                        _ if wanted.is_some() => Need::Server,
                        Need::Server => Need::Connections(self.looks),
                        need => need,
                    };
                    let row = Row { state: wanted.unwrap_or(otherwise), ..entry.row };
                    self.rows[at] = Some(Entry { row, need, ..entry });
                    if entry.row != row {
                        writes.push((slot, Some(row)));
                    }
                }
            }
        }
        writes
    }

    /// A look through all connections found those of some slots. Whether nobody needs some row any
    /// more.
    pub(super) fn looked(&mut self, in_use: &SlotSet) -> bool {
        let mut free = false;
        for (entry, used) in self.rows.iter_mut().zip(in_use.0) {
            let Some(entry) = entry else { continue };
            // A look that was under way may have been past one that got the row just before.
            if matches!(entry.need, Need::Connections(since) if since < self.looks) && !used {
                entry.need = Need::Nobody;
                free = true;
            }
        }
        self.looks += 1;
        free
    }

    fn clear(&mut self, slot: Slot, book: Book) {
        let gone = self.rows[usize::from(slot.0)].take();
        if let Some(owner) = gone.and_then(|entry| entry.owner) {
            add(&mut self.past[owner.index()], book);
        }
        for current in &mut self.current {
            if *current == Some(slot) {
                *current = None;
            }
        }
    }

    /// Where new connections of a server go.
    pub(super) fn slot(&self, id: ServerId) -> Option<Slot> {
        self.current.get(id.index()).copied().flatten()
    }

    /// Every slot of the machine that a server is on now: connections are left in another one than
    /// [`Roster::slot`] by a server that left and joined anew meanwhile.
    pub(super) fn slots(&self, id: ServerId) -> Vec<Slot> {
        let current = self.slot(id).and_then(|slot| self.rows[usize::from(slot.0)]);
        let Some(Entry { row: Row { name, address, .. }, .. }) = current else { return Vec::new() };
        let same = |entry: &Entry| (entry.row.name, entry.row.address) == (name, address);
        self.entries().filter(|(_, entry)| same(entry)).map(|(slot, _)| slot).collect()
    }

    /// The slots of addresses that a server had before its present one: no new connection goes
    /// there, but its books count them.
    pub(super) fn left_behind(&self, id: ServerId) -> impl Iterator<Item = Slot> {
        let current = self.slot(id);
        let old =
            move |(slot, entry): &(Slot, &Entry)| entry.owner == Some(id) && Some(*slot) != current;
        self.entries().filter(old).map(|(slot, _)| slot)
    }

    /// The servers that have left slots behind, each once for each of them.
    pub(super) fn movers(&self) -> impl Iterator<Item = ServerId> {
        let owners = self.entries().filter_map(|(slot, entry)| Some((slot, entry.owner?)));
        owners.filter(|(slot, owner)| self.slot(*owner) != Some(*slot)).map(|(_, owner)| owner)
    }

    /// The connections of each server there ever was, at all its addresses.
    pub(super) fn books(
        &self,
        book: impl Fn(Slot) -> Book,
    ) -> impl Iterator<Item = (ServerId, Book)> {
        let mut sums = self.past.clone();
        for (slot, entry) in self.entries() {
            if let Some(owner) = entry.owner {
                add(&mut sums[owner.index()], book(slot));
            }
        }
        (0u16..).map(ServerId).zip(sums)
    }

    /// Whose connections are in a slot.
    pub(super) fn owner(&self, slot: Slot) -> Option<ServerId> {
        self.rows.get(usize::from(slot.0))?.as_ref()?.owner
    }

    /// By what the name of a slot's server is known.
    pub(super) fn name(&self, slot: Slot) -> Option<u64> {
        Some(self.rows.get(usize::from(slot.0))?.as_ref()?.row.name)
    }

    /// Every row that is in use.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Slot, &Entry)> {
        let slots = (0u16..).map(Slot);
        slots.zip(&self.rows).filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)))
    }
}

fn add(sum: &mut Book, book: Book) {
    sum.open += book.open;
    sum.begun += book.begun;
    sum.chosen = sum.chosen.max(book.chosen);
}

/// By what a row is known to be a server's.
pub(crate) fn name_hash(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

#[cfg(test)]
mod tests {
    //! Method: one roster's rows are given to the next, as a restart does.

    use super::*;

    fn wanted(id: u16, name: &str, port: u16) -> Wanted<'_> {
        let address = SocketAddr::from(([10, 0, 0, 1], port));
        Wanted { id: ServerId(id), name, address, agent_port: 0 }
    }

    fn all_up(roster: &mut Roster, open: impl Fn(Slot) -> u64) -> Vec<(Slot, Option<Row>)> {
        let book = |slot| Book { open: open(slot), begun: 5, chosen: 7 };
        roster.align(|_| Some(RowState::Up), book)
    }

    #[test]
    fn after_a_restart_a_server_has_the_slot_it_had_whatever_its_number() {
        let mut before = Roster::adopt([]);
        before.place(&wanted(0, "a", 1)).unwrap();
        let (slot, row) = before.place(&wanted(1, "b", 2)).unwrap();
        let mut after = Roster::adopt(before.entries().map(|(slot, entry)| (slot, entry.row)));
        assert_eq!(after.place(&wanted(0, "b", 2)), Some((slot, row)));
        assert_eq!(after.owner(slot), Some(ServerId(0)));
        assert_eq!(after.owner(Slot(0)), None, "nobody has asked for the other one yet");
    }

    #[test]
    fn a_server_that_moved_leaves_its_slot_to_its_old_connections() {
        let mut roster = Roster::adopt([]);
        let (old, _) = roster.place(&wanted(0, "a", 1)).unwrap();
        let (new, _) = roster.place(&wanted(0, "a", 2)).unwrap();
        assert_ne!(old, new);
        assert_eq!(roster.slot(ServerId(0)), Some(new));
        let writes = all_up(&mut roster, |slot| u64::from(slot == old));
        let [(slot, Some(row))] = writes[..] else { panic!("{writes:?}") };
        assert_eq!((slot, row.state), (old, RowState::Draining));
        assert_eq!(roster.owner(old), Some(ServerId(0)), "its connections are the server's load");
        assert_eq!(all_up(&mut roster, |_| 0), [], "they are still remembered");
        let mut used = SlotSet::default();
        assert!(!roster.looked(&used), "this look may have begun before the server moved");
        used.0[usize::from(old.0)] = true;
        assert!(!roster.looked(&used), "the next one found a connection that has ended");
        assert_eq!(all_up(&mut roster, |_| 0), []);
        assert!(roster.looked(&SlotSet::default()), "and this one none");
        assert_eq!(all_up(&mut roster, |slot| u64::from(slot == old)), [], "a book says otherwise");
        assert_eq!(all_up(&mut roster, |_| 0), [(old, None)], "and then it is free");
        assert_eq!(roster.place(&wanted(1, "c", 3)).unwrap().0, old);
        let none = |_| Book::default();
        let first = roster.books(none).next();
        let past = Book { open: 0, begun: 5, chosen: 7 };
        assert_eq!(first, Some((ServerId(0), past)), "what it was given is not forgotten");
    }

    #[test]
    fn old_connections_of_a_server_that_joined_anew_go_down_with_it() {
        let mut roster = Roster::adopt([]);
        let (old, _) = roster.place(&wanted(0, "a", 1)).unwrap();
        let (new, row) = roster.place(&wanted(1, "a", 1)).unwrap();
        let (moved, _) = roster.place(&wanted(2, "a", 2)).unwrap();
        roster.current[0] = None;
        let book = |_| Book { open: 1, begun: 1, chosen: 1 };
        let by = |id| Some(if id == ServerId(1) { RowState::Down } else { RowState::Up });
        let down = Row { state: RowState::Down, ..row };
        let writes = roster.align(by, book);
        assert_eq!(writes, [(old, Some(down)), (new, Some(down))], "{moved:?} is another machine");
        let by = |id| Some(if id == ServerId(1) { RowState::Deaf } else { RowState::Up });
        let deaf = Row { state: RowState::Deaf, ..row };
        assert_eq!(roster.align(by, book), [(old, Some(deaf)), (new, Some(deaf))]);
        assert_eq!(roster.slots(ServerId(1)), [old, new], "and its agent speaks for both");
        assert_eq!(roster.slots(ServerId(2)), [moved]);
        assert_eq!(roster.slots(ServerId(0)), [], "it has left");
    }

    #[test]
    fn rows_of_a_stranger_are_kept_as_long_as_connections_are_there() {
        let stranger = Row {
            address: SocketAddr::from(([10, 0, 0, 9], 80)),
            name: 1,
            state: RowState::Up,
            agent_port: 0,
        };
        let mut roster = Roster::adopt([(Slot(3), stranger)]);
        let draining = Row { state: RowState::Draining, ..stranger };
        assert_eq!(all_up(&mut roster, |_| 1), [(Slot(3), Some(draining))]);
        assert_eq!(all_up(&mut roster, |_| 1), [], "it is written once");
        assert!(!roster.looked(&SlotSet::default()) && roster.looked(&SlotSet::default()));
        assert_eq!(all_up(&mut roster, |_| 0), [(Slot(3), None)]);
    }

    #[test]
    fn there_are_no_more_servers_than_slots() {
        let mut roster = Roster::adopt([]);
        for id in 0..SLOTS_MAX as u16 {
            assert!(roster.place(&wanted(id, "a", id + 1)).is_some());
        }
        assert_eq!(roster.place(&wanted(999, "b", 999)), None);
        assert_eq!(roster.slot(ServerId(999)), None);
    }
}
