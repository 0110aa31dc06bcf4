//! A kernel in Rust: what the programs of the real one do, no more, and in the same order.

use super::{Delivered, Plane};
use crate::ask::Ask;
use crate::ask::kernel::Kernel;
use policy::{Class, Elsewhere, Guard, Instant, Load, Request, ServerId, TargetId, Wheel};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Slots of the model.
const SLOTS: usize = 64;

/// The memory that both sides share.
pub struct Model {
    epoch: AtomicU64,
    /// Numbers the connections given, over all servers.
    serial: AtomicU64,
    servers: Vec<Counts>,
    memos: Mutex<BTreeMap<TargetId, Memo>>,
    wheels: Mutex<Wheels>,
}

#[derive(Default)]
struct Counts {
    open: AtomicU64,
    begun: AtomicU64,
    chosen: AtomicU64,
    /// Load that the desk counts, in its unit.
    here: AtomicU64,
}

#[derive(Clone, Copy)]
struct Memo {
    server: ServerId,
    guard: Guard,
}

#[derive(Default)]
struct Wheels {
    of_class: BTreeMap<Class, u8>,
    /// By number: the wheel and the turns taken.
    out: BTreeMap<u8, (Wheel, u64)>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            epoch: AtomicU64::new(0),
            serial: AtomicU64::new(0),
            servers: (0..SLOTS).map(|_| Counts::default()).collect(),
            memos: Mutex::default(),
            wheels: Mutex::default(),
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Model {
    /// Who serves a request, if that may be said without asking.
    pub fn repeat(&self, request: &Request) -> Option<ServerId> {
        self.turn(request).or_else(|| self.remembered(request))
    }

    fn turn(&self, request: &Request) -> Option<ServerId> {
        let mut wheels = lock(&self.wheels);
        let number = *wheels.of_class.get(&request.class)?;
        wheels.turn(number, |wheel| request.at < wheel.until)
    }

    fn remembered(&self, request: &Request) -> Option<ServerId> {
        let Memo { server, guard } = *lock(&self.memos).get(&request.target)?;
        let counts = self.counts(server);
        let open = Load::of(counts.open.load(Ordering::Relaxed));
        let load = open.plus(Load(counts.here.load(Ordering::Relaxed)));
        let holds = guard.epoch == self.epoch.load(Ordering::Acquire)
            && request.at < guard.until
            && load <= guard.load_max;
        holds.then_some(server)
    }

    /// Counts a connection that is given to a server.
    pub fn open(&self, server: ServerId) {
        let counts = self.counts(server);
        let serial = self.serial.fetch_add(1, Ordering::Relaxed) + 1;
        counts.open.fetch_add(1, Ordering::Relaxed);
        counts.begun.fetch_add(1, Ordering::Relaxed);
        counts.chosen.fetch_max(serial, Ordering::Relaxed);
    }

    /// Counts a connection that a server has no more.
    pub fn close(&self, server: ServerId) {
        self.counts(server).open.fetch_sub(1, Ordering::Relaxed);
    }

    /// The turn that would be taken next.
    #[cfg(test)]
    pub(super) fn peek(&self, number: u8) -> Option<ServerId> {
        let wheels = lock(&self.wheels);
        let (wheel, turns) = wheels.out.get(&number)?;
        Some(wheel.cycle[(*turns % wheel.cycle.len() as u64) as usize])
    }

    fn counts(&self, server: ServerId) -> &Counts {
        &self.servers[server.index()]
    }
}

impl Wheels {
    fn turn(&mut self, number: u8, may: impl Fn(&Wheel) -> bool) -> Option<ServerId> {
        let (wheel, turns) = self.out.get_mut(&number).filter(|(wheel, _)| may(wheel))?;
        let place = *turns % wheel.cycle.len() as u64;
        *turns += 1;
        wheel.cycle.get(place as usize).copied()
    }
}

impl Kernel for Model {
    fn elsewhere(&self, into: &mut Vec<(ServerId, Elsewhere)>) {
        let count = |(slot, counts): (usize, &Counts)| {
            let elsewhere = Elsewhere {
                open: counts.open.load(Ordering::Relaxed),
                begun: counts.begun.load(Ordering::Relaxed),
                chosen: counts.chosen.load(Ordering::Relaxed),
            };
            (ServerId(slot as u16), elsewhere)
        };
        into.extend(self.servers.iter().enumerate().map(count));
    }

    fn set_load(&self, server: ServerId, here: Load) {
        self.counts(server).here.store(here.0, Ordering::Relaxed);
    }

    fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Release);
    }

    fn remember(&self, target: TargetId, server: ServerId, guard: &Guard) {
        lock(&self.memos).insert(target, Memo { server, guard: *guard });
    }

    fn forget(&self, targets: &[TargetId]) {
        let mut memos = lock(&self.memos);
        for target in targets {
            memos.remove(target);
        }
    }

    fn set_wheel(&self, class: Class, wheel: &Wheel) {
        let mut wheels = lock(&self.wheels);
        assert!(wheels.out.insert(wheel.number, (wheel.clone(), 0)).is_none(), "one of a number");
        wheels.of_class.insert(class, wheel.number);
    }

    fn join_wheel(&self, class: Class, number: u8) {
        lock(&self.wheels).of_class.insert(class, number);
    }

    fn take_turn(&self, number: u8) -> Option<ServerId> {
        lock(&self.wheels).turn(number, |_| true)
    }

    fn turns(&self, number: u8) -> u64 {
        lock(&self.wheels).out.get(&number).map_or(0, |(_, turns)| *turns)
    }

    fn revoke_wheel(&self, number: u8) -> u64 {
        let mut wheels = lock(&self.wheels);
        wheels.of_class.retain(|_, on| *on != number);
        wheels.out.remove(&number).map_or(0, |(_, turns)| turns)
    }
}

/// Connections in the hands of a model.
pub struct Modelled<'a> {
    ask: &'a Ask,
    model: Arc<Model>,
    now: Instant,
    holders: BTreeMap<u64, ServerId>,
}

impl<'a> Modelled<'a> {
    /// A desk and a model, which must be its kernel, or part of it.
    pub fn new(ask: &'a Ask, model: Arc<Model>) -> Self {
        Self { ask, model, now: Instant(1), holders: BTreeMap::new() }
    }
}

impl Plane for Modelled<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now.plus(span);
    }

    fn deliver(&mut self, connection: u64, request: &Request) -> Option<Delivered> {
        let delivered = match self.model.repeat(request) {
            Some(server) => Delivered { server, decided: None },
            None => {
                let decided = self.ask.decide(request, &[])?;
                Delivered { server: decided.assignment.server, decided: Some(decided) }
            }
        };
        let before = self.holders.insert(connection, delivered.server);
        if before != Some(delivered.server) {
            self.model.open(delivered.server);
            before.into_iter().for_each(|holder| self.model.close(holder));
        }
        Some(delivered)
    }

    fn close(&mut self, connection: u64) {
        if let Some(holder) = self.holders.remove(&connection) {
            self.model.close(holder);
        }
    }
}
