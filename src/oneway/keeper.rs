//! The thread that keeps the kernel's tables true: states of servers, connections of servers that
//! are down, connections that nobody uses any more. It also sees that the programs are attached.
//!
//! Bounded work at each turn, so that a table of a million connections delays nothing; the sweep
//! goes round in a few turns and then rests until the next is due.

use super::Events;
use super::bridge::Bridge;
use super::fabric::{Owned, RowState, Slot};
use super::posts::Posts;
use super::seen::Seen;
use distributor::Shared;
use policy::{Cluster, ServerId, State};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Between two turns when nothing happens.
const TURN: Duration = Duration::from_millis(250);
/// The same when there is more to do: what was reset is seen to be gone meanwhile.
const TURN_MORE: Duration = Duration::from_millis(10);
/// Between two looks whether the programs are where they are to be.
const LOOK: Duration = Duration::from_secs(1);
/// Connections looked at in a turn.
const SWEPT_MAX: usize = 16_384;
/// Connections reset in a step, between which other work has its turn.
const RESET_MAX: usize = 4_096;
/// A connection opened, moved or heard of less than this before its server's agent was asked may
/// not have reached the server then.
const SETTLED: Duration = Duration::from_secs(5);

/// What the keeper is told.
#[derive(Debug)]
pub(super) enum Notice {
    /// Servers have changed.
    Servers,
    /// What the agent of a server says that it has.
    Owned(ServerId, Owned),
}

/// Keeps the tables.
pub(super) struct Keeper {
    pub(super) shared: Arc<Shared>,
    pub(super) bridge: Arc<Bridge>,
    pub(super) seen: Arc<Seen>,
    /// How long a connection may be silent.
    pub(super) idle: Duration,
    /// Whether connections need letters when they have been handed over.
    pub(super) letters: Arc<AtomicBool>,
    /// Rows that are down and of which all connections were told so once.
    pub(super) told: RefCell<BTreeSet<Slot>>,
    pub(super) posts: Arc<Posts>,
    /// Who is told when a program is missing.
    pub(super) events: Arc<OnceLock<Events>>,
}

impl Keeper {
    /// Works until nobody can send notices any more.
    pub(super) fn run(&self, notices: &Receiver<Notice>) {
        let mut due = self.shared.clock.now();
        loop {
            if self.shared.clock.now() >= due {
                self.look();
                due = self.shared.clock.now().plus(LOOK);
            }
            let busy = self.turn();
            let patience = if busy { TURN_MORE } else { TURN };
            match notices.recv_timeout(patience) {
                Ok(Notice::Owned(server, owned)) => self.reconcile(server, &owned),
                Ok(Notice::Servers) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Sees that the programs are where they are to be.
    pub(super) fn look(&self) {
        let found = self.posts.look(&self.bridge);
        if let Some(tell) = self.events.get() {
            found.into_iter().for_each(tell);
        }
    }

    /// One turn. Whether another one is due soon.
    pub(super) fn turn(&self) -> bool {
        self.align();
        let more = self.reset_down();
        let swept = self.bridge.fabric().sweep(self.idle, SWEPT_MAX);
        self.seen.idle.add(swept.idle);
        self.seen.forgotten.add(swept.forgotten);
        self.seen.corrected.add(swept.corrected);
        if swept.round && self.bridge.tables().roster.looked(&swept.in_use) {
            self.align();
        }
        more
    }

    /// Brings rows in line with the cluster. One to which letters are lost is as good as down where
    /// connections cannot go on without: the programs reset what they have for a row that is down.
    /// Elsewhere only those are lost that have not arrived.
    pub(super) fn align(&self) {
        let mut states = states(self.shared.ask.books().desk().cluster());
        {
            let mut tables = self.bridge.tables();
            let letters = self.letters.load(Ordering::Relaxed);
            for (id, state) in (0u16..).map(ServerId).zip(&mut states) {
                if *state == Some(RowState::Down) {
                    tables.trust.is_down(id);
                }
                let (lost, silent) = (tables.trust.is_lost(id), tables.trust.takes_nothing(id));
                *state = state.map(|state| match state {
                    RowState::Down => RowState::Down,
                    _ if lost && letters => RowState::Down,
                    _ if lost => RowState::Deaf,
                    _ if silent => RowState::Doubted,
                    state => state,
                });
            }
        }
        self.bridge.align(|id| states.get(id.index()).copied().flatten());
    }

    /// Resets connections of rows that are down, some of each. Whether there are more.
    fn reset_down(&self) -> bool {
        let down: Vec<Slot> = {
            let tables = self.bridge.tables();
            let entries = tables.roster.entries();
            let down = entries.filter(|(_, entry)| entry.row.state == RowState::Down);
            down.map(|(slot, _)| slot).collect()
        };
        let mut told = self.told.borrow_mut();
        told.retain(|slot| down.contains(slot));
        let mut more = false;
        for slot in down {
            // No book counts those who wait for a reply and have nothing more to say.
            if told.contains(&slot) && self.bridge.fabric().book(slot).open == 0 {
                continue;
            }
            let count = self.bridge.fabric().reset(slot, RESET_MAX);
            self.seen.reset.add(count);
            if count == RESET_MAX {
                more = true;
            } else {
                told.insert(slot);
            }
        }
        more
    }

    /// Forgets connections that are open here and that the server does not have.
    fn reconcile(&self, server: ServerId, owned: &Owned) {
        let slots = self.bridge.tables().roster.slots(server);
        for slot in slots {
            self.seen.disowned.add(self.bridge.fabric().disown(slot, owned, SETTLED));
        }
    }
}

/// What each server may be given, by slot of the cluster.
fn states(cluster: &Cluster) -> Vec<Option<RowState>> {
    let mut states = Vec::new();
    for server in cluster.servers().filter(|server| server.state != State::Left) {
        if states.len() <= server.id.index() {
            states.resize(server.id.index() + 1, None);
        }
        // Who is ejected or drains keeps what it has; who is down has lost it.
        let state = match server.state {
            _ if cluster.is_usable(server.id) => RowState::Up,
            State::Down => RowState::Down,
            _ => RowState::Draining,
        };
        states[server.id.index()] = Some(state);
    }
    states
}
