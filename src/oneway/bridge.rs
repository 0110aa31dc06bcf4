//! The desk's kernel: turns what the desk says of servers and targets into what the kernel's tables
//! say of slots and request lines.
//!
//! Lock order: the desk's, then the one here. Whatever holds the one here asks no desk.

use super::fabric::{Book, Fabric, Memo, MemoKey, Repeat, RowState, Slot};
use super::promises::{Promise, Promises};
use super::reason::Local;
use super::roster::{Roster, Wanted};
use super::trust::Trust;
use distributor::Reasons;
use distributor::ask::kernel::Kernel;
use policy::{Class, Elsewhere, Guard, Load, ServerId, TargetId, Wheel};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Between the desk and the kernel.
pub(super) struct Bridge {
    fabric: Arc<dyn Fabric>,
    /// The epoch that memos are good for; 0 while servers change.
    epoch: AtomicU64,
    tables: Mutex<Tables>,
}

/// What is known of the kernel's tables.
pub(super) struct Tables {
    pub(super) roster: Roster,
    pub(super) promises: Promises,
    /// Who may be handed connections.
    pub(super) trust: Trust,
    /// The wheels that are out, by number.
    wheels: Vec<Option<Vec<ServerId>>>,
    /// The wheel of each class that is on one.
    seats: Vec<Option<u8>>,
    /// What the desk last said of each server's load.
    loads: Vec<Load>,
}

impl Bridge {
    /// Takes over the kernel's tables as they are.
    pub(super) fn new(fabric: Arc<dyn Fabric>, targets_max: usize) -> Self {
        fabric.set_epoch(0);
        fabric.forget_all();
        let tables = Tables {
            roster: Roster::adopt(fabric.rows()),
            promises: Promises::new(targets_max),
            trust: Trust::default(),
            wheels: Vec::new(),
            seats: vec![None; Class::COUNT_MAX],
            loads: Vec::new(),
        };
        Self { fabric, epoch: AtomicU64::new(0), tables: Mutex::new(tables) }
    }

    pub(super) fn fabric(&self) -> &dyn Fabric {
        &*self.fabric
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The epoch that memos are good for.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Gives a server its place in the kernel's tables. False: none is left, or the kernel finds no
    /// way to it.
    pub(super) fn place(&self, wanted: &Wanted<'_>) -> bool {
        let mut tables = self.tables();
        let Some((slot, row)) = tables.roster.place(wanted) else { return false };
        let written = self.fabric.set_row(slot, Some(row)).is_ok();
        tables.tell_load(wanted.id, &*self.fabric);
        written
    }

    /// Brings the states of the kernel's rows in line with the cluster's.
    pub(super) fn align(&self, state: impl Fn(ServerId) -> Option<RowState>) {
        let mut tables = self.tables();
        for (slot, row) in tables.roster.align(state, |slot| self.fabric.book(slot)) {
            // The next look tries again.
            let _unwritten = self.fabric.set_row(slot, row);
        }
        // Rows that were cleared count no more.
        for id in (0u16..).map(ServerId).take(tables.loads.len()) {
            tables.tell_load(id, &*self.fabric);
        }
    }

    /// Writes all rows once more: they name interfaces by number, and one may have been made anew.
    pub(super) fn write_rows(&self) {
        let tables = self.tables();
        for (slot, one) in tables.roster.entries() {
            // A server to which the kernel finds no way is one that does not answer checks either.
            let _unreachable = self.fabric.set_row(slot, Some(one.row));
        }
    }

    /// Lets the kernel answer a request line as the policy promised for its target.
    pub(super) fn bind(&self, key: MemoKey, epoch: u64, class: Class, target: TargetId) {
        self.tables().promises.bind(key, class, target, epoch, &*self.fabric);
    }

    /// Lets the kernel answer a request line in a way that depends on nothing but the epoch.
    pub(super) fn repeat(
        &self,
        key: MemoKey,
        what: Repeat,
        epoch: u64,
        class: Class,
        target: TargetId,
    ) {
        if epoch != 0 {
            // Without room the request is asked for again.
            let _unremembered = self.fabric.remember(key, &Memo { what, epoch, target, class });
        }
    }
}

impl Tables {
    fn slots(&self, servers: &[ServerId]) -> Vec<Slot> {
        servers.iter().map(|id| self.roster.slot(*id).unwrap_or(Slot::NONE)).collect()
    }

    /// Says the load of a server that the book of its slot does not count: the desk's own part, and
    /// connections left in other slots, which the policy counts too and a memo's bound includes.
    fn tell_load(&self, id: ServerId, fabric: &dyn Fabric) {
        let Some(slot) = self.roster.slot(id) else { return };
        let here = self.loads.get(id.index()).copied().unwrap_or(Load::ZERO);
        let left = self.roster.left_behind(id).map(|slot| fabric.book(slot).open).sum();
        fabric.set_load(slot, here.plus(Load::of(left)));
    }

    /// Whether whoever has the slot's connections to `listener` does not hear what it is told. What
    /// its agent says holds for the machine that the server is on now.
    pub(super) fn is_deaf(&self, slot: Slot, listener: SocketAddr) -> bool {
        let owner = self.roster.owner(slot).filter(|id| self.roster.slot(*id) == Some(slot));
        owner.is_some_and(|id| !self.trust.hears(id, listener))
    }

    fn sit(&mut self, class: Class, number: u8) {
        if let Some(seat) = self.seats.get_mut(class.index()) {
            *seat = Some(number);
        }
    }

    /// The wheel that a class is on, if the kernel may turn it: not while one of its servers is
    /// doubted, whose turns are the relay's.
    pub(super) fn seat(&self, class: Class) -> Option<u8> {
        let number = self.seats.get(class.index()).copied().flatten()?;
        if self.trust.all_take() {
            return Some(number);
        }
        let cycle = self.wheels.get(usize::from(number))?.as_ref()?;
        cycle.iter().all(|id| self.trust.takes_all(*id)).then_some(number)
    }
}

impl Reasons for Bridge {
    fn why(&self, client: SocketAddr, listener: SocketAddr) -> Option<&'static str> {
        self.fabric.relayed(client, listener).map(Local::name)
    }
}

impl Kernel for Bridge {
    fn elsewhere(&self, into: &mut Vec<(ServerId, Elsewhere)>) {
        let tables = self.tables();
        // Connections left behind end without anybody saying so.
        tables.roster.movers().for_each(|id| tables.tell_load(id, &*self.fabric));
        let books = tables.roster.books(|slot| self.fabric.book(slot));
        into.extend(books.map(|(server, Book { open, begun, chosen })| {
            (server, Elsewhere { open, begun, chosen })
        }));
    }

    fn set_load(&self, server: ServerId, here: Load) {
        let mut tables = self.tables();
        if tables.loads.len() <= server.index() {
            tables.loads.resize(server.index() + 1, Load::ZERO);
        }
        tables.loads[server.index()] = here;
        tables.tell_load(server, &*self.fabric);
    }

    fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Release);
        self.fabric.set_epoch(epoch);
    }

    fn remember(&self, target: TargetId, server: ServerId, guard: &Guard) {
        let mut tables = self.tables();
        let Tables { roster, promises, trust, .. } = &mut *tables;
        // What the policy promised stands, but it is the relay that keeps it.
        match roster.slot(server).filter(|_| trust.takes_all(server)) {
            Some(slot) => {
                let Guard { load_max, until, epoch } = *guard;
                let promise = Promise { slot, load_max, until, epoch };
                promises.keep(target, promise, &*self.fabric);
            }
            None => promises.drop(target, &*self.fabric),
        }
    }

    fn forget(&self, targets: &[TargetId]) {
        let mut tables = self.tables();
        for target in targets {
            tables.promises.drop(*target, &*self.fabric);
        }
    }

    fn set_wheel(&self, class: Class, wheel: &Wheel) {
        let mut tables = self.tables();
        let at = usize::from(wheel.number);
        if tables.wheels.len() <= at {
            tables.wheels.resize(at + 1, None);
        }
        let slots = tables.slots(&wheel.cycle);
        tables.wheels[at] = Some(wheel.cycle.clone());
        tables.sit(class, wheel.number);
        self.fabric.set_wheel(wheel.number, self.epoch(), wheel.until, &slots);
    }

    fn join_wheel(&self, class: Class, number: u8) {
        self.tables().sit(class, number);
    }

    fn take_turn(&self, number: u8) -> Option<ServerId> {
        let tables = self.tables();
        let cycle = tables.wheels.get(usize::from(number))?.as_ref()?;
        let turn = self.fabric.take_turn(number) % cycle.len().max(1) as u64;
        cycle.get(usize::try_from(turn).ok()?).copied()
    }

    fn turns(&self, number: u8) -> u64 {
        self.fabric.turns(number)
    }

    fn revoke_wheel(&self, number: u8) -> u64 {
        let mut tables = self.tables();
        if let Some(wheel) = tables.wheels.get_mut(usize::from(number)) {
            *wheel = None;
        }
        tables.seats.iter_mut().filter(|seat| **seat == Some(number)).for_each(|seat| *seat = None);
        self.fabric.revoke_wheel(number)
    }
}
