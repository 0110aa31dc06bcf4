//! One-way delivery as the control side sees it.

use super::Oneway;
use super::asking::name;
use super::fabric::RowState;
use control::view::{AgentView, OnewayServer, OnewayView};
use distributor::Live;
use policy::ServerId;

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
            agents: self.agent_views(&live),
        }
    }

    /// Connections ever handed to a server, at all its addresses.
    pub fn handed_over(&self, server: ServerId) -> u64 {
        let tables = self.bridge.tables();
        let mut books = tables.roster.books(|slot| self.bridge.fabric().book(slot));
        books.find(|(id, _)| *id == server).map_or(0, |(_, book)| book.begun)
    }

    fn servers(&self, live: &Live) -> Vec<OnewayServer> {
        let tables = self.bridge.tables();
        let rows: Vec<_> = tables.roster.entries().map(|(slot, entry)| (slot, entry.row)).collect();
        drop(tables);
        let view = |(slot, row): (super::fabric::Slot, super::fabric::Row)| {
            let book = self.bridge.fabric().book(slot);
            let state = match row.state {
                RowState::Up => "up",
                RowState::Draining => "draining",
                RowState::Down => "down",
            };
            OnewayServer {
                server: name(&self.bridge, live, slot),
                slot: slot.0,
                address: row.address.to_string(),
                state: state.to_owned(),
                open: book.open,
                handed_over: book.begun,
            }
        };
        rows.into_iter().map(view).collect()
    }

    fn agent_views(&self, live: &Live) -> Vec<AgentView> {
        let now = self.shared.clock.now();
        let view = |(id, address, health): (ServerId, String, super::agents::Health)| {
            let backend = live.backends.get(id.index()).and_then(Option::as_ref);
            let load = health.report.as_ref().map(|(_, load)| load);
            AgentView {
                server: backend.map_or_else(|| format!("#{}", id.0), |one| one.name.to_string()),
                address,
                age_s: health.report.as_ref().map(|(at, _)| now.since(*at).as_secs_f64()),
                answers: health.answers,
                failures: health.failures,
                fault: health.fault.clone(),
                cpu_busy: load.and_then(|load| load.cpu_busy),
                disk_busy: load.and_then(|load| load.disk_busy),
                disk_queue: load.and_then(|load| load.disk_queue),
                accept_queue: load.and_then(|load| load.accept_queue),
            }
        };
        self.agents.health().into_iter().map(view).collect()
    }
}
