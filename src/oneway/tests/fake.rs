//! A kernel in memory: does with memos, wheels and books what the programs do, and keeps what it is
//! told, so that a test can look.

use crate::oneway::fabric::{
    Book, Connection, Fabric, Held, Memo, MemoKey, Owned, Repeat, Repeated, Row, RowState, Slot,
    SlotSet, Swept, Terms, Verdict,
};
use crate::oneway::reason::Local;
use distributor::{Clock, Delivery};
use policy::{Instant, Load};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_128;

pub(super) struct Fake {
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) listeners: BTreeMap<SocketAddr, Delivery>,
    pub(super) rows: BTreeMap<Slot, Row>,
    pub(super) books: BTreeMap<Slot, Book>,
    pub(super) loads: BTreeMap<Slot, Load>,
    pub(super) epoch: u64,
    pub(super) memos: BTreeMap<MemoKey, Memo>,
    wheels: BTreeMap<u8, Wheel>,
    pub(super) flows: BTreeMap<(SocketAddr, SocketAddr), Flow>,
    /// Who had connections that have ended and are remembered.
    pub(super) ended: Vec<Slot>,
    questions: VecDeque<Held>,
    told: VecDeque<Repeated>,
    serial: u64,
    pub(super) repeated: u64,
    pub(super) relayed: Vec<SocketAddr>,
    /// Why connections are relayed, where nobody was asked.
    reasons: BTreeMap<(SocketAddr, SocketAddr), Local>,
    /// Whether the program is missing on the one interface, and why it cannot be put back.
    pub(super) missing: bool,
    pub(super) taken: Option<&'static str>,
    /// Whether questions fail: the device is gone.
    pub(super) broken: bool,
}

struct Wheel {
    epoch: u64,
    until: Instant,
    turns: Vec<Slot>,
    taken: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) holder: Slot,
    pub(super) opened: Instant,
    pub(super) seen: Instant,
}

/// What became of a segment at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Now {
    Handed(Slot),
    Relayed,
    Asked,
}

impl Fake {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// A client's segment comes: the first of its connection, or the next request on it.
    pub(super) fn arrive(&self, client: SocketAddr, listener: SocketAddr, payload: &[u8]) -> Now {
        let now = self.clock.now();
        let mut state = self.state();
        let delivery = state.listeners[&listener];
        let holder = state.flows.get(&(client, listener)).map(|flow| flow.holder);
        let key = self.key(payload);
        match key.and_then(|key| state.repeat(key, now)) {
            Some((verdict, wheel)) => {
                state.repeated += 1;
                state.settle(client, listener, verdict, now);
                let Some(slot) = verdict else {
                    state.reasons.insert((client, listener), Local::RuleSaysRelay);
                    return Now::Relayed;
                };
                let memo = state.memos[&key.unwrap()];
                state.told.push_back(Repeated {
                    client,
                    listener,
                    slot: Some(slot),
                    target: memo.target,
                    class: memo.class,
                    wheel,
                    delivery,
                    holder,
                    at: now,
                });
                Now::Handed(slot)
            }
            None => {
                let payload = payload.to_vec();
                state.questions.push_back(Held {
                    client,
                    listener,
                    delivery,
                    holder,
                    payload,
                    handle: None,
                });
                self.changed.notify_all();
                Now::Asked
            }
        }
    }

    /// A client's connection ends.
    pub(super) fn close(&self, client: SocketAddr, listener: SocketAddr) {
        let mut state = self.state();
        if let Some(flow) = state.flows.remove(&(client, listener)) {
            state.books.get_mut(&flow.holder).unwrap().open -= 1;
        }
    }

    /// Waits until `done`, with a limit.
    pub(super) fn wait(&self, what: &str, done: impl Fn(&State) -> bool) {
        let limit = Duration::from_secs(20);
        let (state, late) =
            self.changed.wait_timeout_while(self.state(), limit, |state| !done(state)).unwrap();
        drop(state);
        assert!(!late.timed_out(), "{what}");
    }
}

impl State {
    /// What a memo says now; the server, or `None` for the relay.
    fn repeat(&mut self, key: MemoKey, now: Instant) -> Option<(Option<Slot>, bool)> {
        let memo = *self.memos.get(&key).filter(|memo| memo.epoch == self.epoch)?;
        match memo.what {
            Repeat::Relay => Some((None, false)),
            Repeat::Server { slot, load_max, until } => {
                let here = self.loads.get(&slot).copied().unwrap_or(Load::ZERO);
                let load = here.plus(Load::of(self.books[&slot].open));
                (load <= load_max && now < until).then_some((Some(slot), false))
            }
            Repeat::Wheel(number) => {
                let wheel = self.wheels.get_mut(&number)?;
                if wheel.epoch != self.epoch || wheel.until <= now {
                    return None;
                }
                let slot = wheel.turns[(wheel.taken % wheel.turns.len() as u64) as usize];
                wheel.taken += 1;
                Some((Some(slot).filter(|slot| *slot != Slot::NONE), true))
            }
        }
    }

    fn settle(&mut self, client: SocketAddr, listener: SocketAddr, to: Option<Slot>, now: Instant) {
        let end = (client, listener);
        let before = self.flows.get(&end).copied();
        if before.is_some_and(|flow| Some(flow.holder) == to) {
            return;
        }
        if let Some(flow) = self.flows.remove(&end) {
            self.books.get_mut(&flow.holder).unwrap().open -= 1;
        }
        let Some(slot) = to else { return self.relayed.push(client) };
        assert_eq!(self.rows[&slot].state, RowState::Up, "nothing new for {slot:?}");
        self.serial += 1;
        let book = self.books.entry(slot).or_default();
        (book.open, book.begun, book.chosen) = (book.open + 1, book.begun + 1, self.serial);
        self.flows.insert(end, Flow { holder: slot, opened: now, seen: now });
    }

    fn take(
        &mut self,
        gone: impl Fn(&(SocketAddr, SocketAddr), &Flow) -> bool,
        most: usize,
    ) -> usize {
        let ends: Vec<_> = self.flows.iter().filter(|(end, flow)| gone(end, flow)).collect();
        let ends: Vec<_> =
            ends.into_iter().map(|(end, flow)| (*end, flow.holder)).take(most).collect();
        for (end, holder) in &ends {
            self.flows.remove(end);
            // A test may have taken it out of its book before.
            let open = &mut self.books.get_mut(holder).unwrap().open;
            *open = open.saturating_sub(1);
        }
        ends.len()
    }
}

impl Fabric for Fake {
    fn terms(&self) -> Terms {
        Terms { key_check: "the key".to_owned(), envelope: 1, port: 7117 }
    }

    fn attachments(&self) -> Vec<(String, Option<bool>)> {
        vec![("eth0".to_owned(), Some(!self.state().missing))]
    }

    fn attach(&self, _: &str) -> io::Result<()> {
        let mut state = self.state();
        if let Some(why) = state.taken {
            return Err(io::Error::other(why));
        }
        state.missing = false;
        Ok(())
    }

    fn listen(&self, address: SocketAddr, delivery: Option<Delivery>) -> io::Result<()> {
        let listeners = &mut self.state().listeners;
        match delivery {
            Some(delivery) => drop(listeners.insert(address, delivery)),
            None => drop(listeners.remove(&address)),
        }
        Ok(())
    }

    fn listening(&self) -> Vec<SocketAddr> {
        self.state().listeners.keys().copied().collect()
    }

    fn set_row(&self, slot: Slot, row: Option<Row>) -> io::Result<()> {
        let mut state = self.state();
        match row {
            Some(row) => {
                state.rows.insert(slot, row);
                state.books.entry(slot).or_default();
            }
            None => {
                assert_eq!(state.books[&slot].open, 0, "{slot:?} has connections");
                state.rows.remove(&slot);
                state.books.remove(&slot);
            }
        }
        self.changed.notify_all();
        Ok(())
    }

    fn rows(&self) -> Vec<(Slot, Row)> {
        self.state().rows.iter().map(|(slot, row)| (*slot, *row)).collect()
    }

    fn book(&self, slot: Slot) -> Book {
        self.state().books.get(&slot).copied().unwrap_or_default()
    }

    fn set_load(&self, slot: Slot, load: Load) {
        self.state().loads.insert(slot, load);
    }

    fn set_epoch(&self, epoch: u64) {
        self.state().epoch = epoch;
    }

    fn set_wheel(&self, number: u8, epoch: u64, until: Instant, turns: &[Slot]) {
        let wheel = Wheel { epoch, until, turns: turns.to_vec(), taken: 0 };
        self.state().wheels.insert(number, wheel);
    }

    fn take_turn(&self, number: u8) -> u64 {
        let mut state = self.state();
        let wheel = state.wheels.get_mut(&number).unwrap();
        wheel.taken += 1;
        wheel.taken - 1
    }

    fn turns(&self, number: u8) -> u64 {
        self.state().wheels.get(&number).map_or(0, |wheel| wheel.taken)
    }

    fn revoke_wheel(&self, number: u8) -> u64 {
        self.state().wheels.remove(&number).map_or(0, |wheel| wheel.taken)
    }

    fn question(&self, patience: Duration) -> io::Result<Option<Held>> {
        let waiting = |state: &mut State| state.questions.is_empty() && !state.broken;
        let (mut state, _) =
            self.changed.wait_timeout_while(self.state(), patience, waiting).unwrap();
        if state.broken {
            return Err(io::Error::other("the device is gone"));
        }
        Ok(state.questions.pop_front())
    }

    fn answer(&self, held: &Held, verdict: Verdict) -> io::Result<()> {
        let to = match verdict {
            Verdict::Server(slot) => Some(slot),
            Verdict::Relay(_) => None,
        };
        let now = self.clock.now();
        self.state().settle(held.client, held.listener, to, now);
        self.changed.notify_all();
        Ok(())
    }

    fn relayed(&self, client: SocketAddr, listener: SocketAddr) -> Option<Local> {
        self.state().reasons.remove(&(client, listener))
    }

    /// Request line and Host, as the kernel reads them: nothing else counts.
    fn key(&self, head: &[u8]) -> Option<MemoKey> {
        let text = std::str::from_utf8(head).ok()?;
        let mut lines = text.split("\r\n");
        let line = lines.next()?;
        let host = lines.find(|line| line.to_ascii_lowercase().starts_with("host:"))?;
        let hash =
            xxh3_128(format!("{line}\n{}", host[5..].trim().to_ascii_lowercase()).as_bytes());
        Some(MemoKey(hash as u64, (hash >> 64) as u64))
    }

    fn remember(&self, key: MemoKey, memo: &Memo) -> io::Result<()> {
        self.state().memos.insert(key, *memo);
        Ok(())
    }

    fn forget(&self, key: MemoKey) {
        self.state().memos.remove(&key);
    }

    fn forget_all(&self) {
        self.state().memos.clear();
    }

    fn sweep(&self, idle: Duration, budget: usize) -> Swept {
        let now = self.clock.now();
        let mut state = self.state();
        let seen = state.flows.len().min(budget);
        let idle = state.take(|_, flow| now.since(flow.seen) > idle, budget);
        let mut in_use = SlotSet::default();
        let holders = state.flows.values().map(|flow| flow.holder);
        holders.chain(state.ended.iter().copied()).for_each(|slot| {
            in_use.0[usize::from(slot.0)] = true;
        });
        Swept { seen, idle, round: true, in_use, ..Swept::default() }
    }

    /// As the programs: a segment of the connection is seen again, and ends it where the row is
    /// down; where it is not, it is one more segment.
    fn reset(&self, slot: Slot, budget: usize) -> usize {
        let now = self.clock.now();
        let mut state = self.state();
        let nudged = state.flows.values_mut().filter(|flow| flow.holder == slot).take(budget);
        let count = nudged.map(|flow| flow.seen = now).count();
        if state.rows.get(&slot).is_some_and(|row| row.state == RowState::Down) {
            state.take(|_, flow| flow.holder == slot, budget);
        }
        drop(state);
        self.changed.notify_all();
        count
    }

    fn disown(&self, slot: Slot, owned: &Owned, settled: Duration) -> usize {
        let lost = |end: &(SocketAddr, SocketAddr), flow: &Flow| {
            let last = flow.opened.max(flow.seen);
            let known = last.plus(settled) > owned.asked;
            flow.holder == slot && !known && owned.lacks(end.0, end.1)
        };
        self.state().take(lost, usize::MAX)
    }

    fn connections(&self, _: usize) -> Vec<Connection> {
        Vec::new()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let state = self.state();
        let begun = state.books.values().map(|book| book.begun).sum();
        vec![("handed_over", begun), ("repeated", state.repeated)]
    }

    fn told(&self, patience: Duration, take: &mut dyn FnMut(Repeated)) -> io::Result<()> {
        let waiting = |state: &mut State| state.told.is_empty();
        let (mut state, _) =
            self.changed.wait_timeout_while(self.state(), patience, waiting).unwrap();
        let told: Vec<_> = state.told.drain(..).collect();
        drop(state);
        told.into_iter().for_each(take);
        Ok(())
    }
}
