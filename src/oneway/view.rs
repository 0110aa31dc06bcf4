//! One-way delivery as the control side sees it.

use super::Oneway;
use super::asking::name;
use super::fabric::{Connection, Row, RowState, Slot};
use super::trust::Standing;
use control::view::{ConnectionView, ConnectionsView, DoubtView, OnewayServer, OnewayView};
use distributor::Live;
use policy::ServerId;
use std::collections::BTreeMap;

/// The kernel's count of requests that went to the relay because it was told so: by an answer, or
/// by one that it repeats.
pub(super) const VERDICTS: &str = "local_verdict";

impl Oneway {
    /// Everything as it is now.
    pub fn view(&self) -> OnewayView {
        let live = self.shared.live.load_full();
        // On its own: the lock must be free again before rows are named.
        let targets = self.bridge.tables().promises.len() as u64;
        let owned = |(name, count): (&str, u64)| (name.to_owned(), count);
        let swept = [
            ("reset", self.seen.reset.get()),
            ("idle", self.seen.idle.get()),
            ("disowned", self.seen.disowned.get()),
            ("forgotten", self.seen.forgotten.get()),
            ("corrected", self.seen.corrected.get()),
        ];
        let kernel = self.bridge.fabric().counters();
        let verdicts = kernel.iter().find(|(name, _)| *name == VERDICTS).map_or(0, |(_, n)| *n);
        self.seen.verdicts(verdicts);
        OnewayView {
            kernel: kernel.into_iter().map(owned).collect(),
            asked: self.seen.by_delivery().map(owned).collect(),
            local: self.seen.by_reason().map(owned).collect(),
            targets,
            swept: swept.into_iter().map(owned).collect(),
            servers: self.servers(&live),
            interfaces: self.posts.view(),
        }
    }

    /// Connections ever handed to a server, at all its addresses.
    pub fn handed_over(&self, server: ServerId) -> u64 {
        let tables = self.bridge.tables();
        let mut books = tables.roster.books(|slot| self.bridge.fabric().book(slot));
        books.find(|(id, _)| *id == server).map_or(0, |(_, book)| book.begun)
    }

    /// Connections that are handed over, `count` at most, those which have ended last. Reads the
    /// kernel's table without any lock that decisions wait for.
    pub fn connections(&self, count: usize) -> ConnectionsView {
        let live = self.shared.live.load_full();
        let list = self.bridge.fabric().connections(count);
        let mut names = BTreeMap::new();
        let mut server = |slot: Slot| {
            names.entry(slot).or_insert_with(|| name(&self.bridge, &live, slot)).clone()
        };
        let connection = |one: &Connection| ConnectionView {
            client: one.client.to_string(),
            listener: one.listener.to_string(),
            delivery: one.delivery.name().to_owned(),
            server: server(one.slot),
            state: one.state.to_owned(),
            age_s: one.age.as_secs_f64(),
            idle_s: one.idle.as_secs_f64(),
            requests: one.requests,
            moves: one.moves,
        };
        let connections = list.iter().map(connection).collect();
        let open = self.servers(&live).iter().map(|server| server.open).sum();
        ConnectionsView { open, connections }
    }

    fn servers(&self, live: &Live) -> Vec<OnewayServer> {
        let tables = self.bridge.tables();
        let standing = |slot, owner: Option<ServerId>| {
            // What was said of a server holds for the place that new connections go to.
            let owner = owner.filter(|owner| tables.roster.slot(*owner) == Some(slot));
            owner.and_then(|owner| tables.trust.standing(owner)).cloned()
        };
        let entries = tables.roster.entries();
        let rows: Vec<_> =
            entries.map(|(slot, entry)| (slot, entry.row, standing(slot, entry.owner))).collect();
        drop(tables);
        let view = |(slot, row, standing): (Slot, Row, Option<Standing>)| {
            let book = self.bridge.fabric().book(slot);
            let state = match row.state {
                RowState::Up => "up",
                RowState::Draining => "draining",
                RowState::Down => "down",
                RowState::Doubted => "doubted",
                RowState::Deaf => "deaf",
            };
            OnewayServer {
                server: name(&self.bridge, live, slot),
                slot: slot.0,
                address: row.address.to_string(),
                state: state.to_owned(),
                open: book.open,
                handed_over: book.begun,
                standing: standing.as_ref().map(|one| one.name().to_owned()).unwrap_or_default(),
                doubt: standing.and_then(|one| match one {
                    Standing::Doubted(doubt) => {
                        let (reason, sentence) = (doubt.name().to_owned(), doubt.sentence());
                        Some(DoubtView { reason, sentence })
                    }
                    _ => None,
                }),
            }
        };
        rows.into_iter().map(view).collect()
    }
}
