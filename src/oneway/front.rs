//! The kernel's side by the eBPF programs of crate `handoff`: its numbers and clocks for ours.

use super::fabric::{
    Book, Connection, Fabric, Held, Memo, MemoKey, Owned, Repeat, Repeated, Row, RowState, Slot,
    SlotSet, Swept, Terms, Verdict,
};
use super::reason::Local;
use crate::config::ready::{self, Network};
use agent::host::{Host, System};
use anyhow::{Context, Result, bail};
use distributor::{Clock, Delivery, say};
use handoff::{FlowState, FlowView, Front, Limits, Question, Reason, Site, TAP};
use policy::{Class, Instant, Load, TargetId};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Connections of the table that are looked at to show some of them: those that have ended may be
/// many, and are shown where there is room.
const LOOKED_MAX: usize = 16_384;

/// Bytes of an IP packet where no interface says less.
const MTU_USUAL: u16 = 1500;

/// The programs.
pub(super) struct Programs {
    pub(super) front: Front,
    terms: Terms,
    /// Where clients and servers are.
    interfaces: Vec<String>,
    /// Whether drivers are to answer SYNs.
    early: bool,
    /// What CLOCK_MONOTONIC said when the switch's clock was at zero, in nanoseconds.
    zero_ns: u64,
    /// How each address is delivered: a question does not say.
    deliveries: Mutex<HashMap<SocketAddr, Delivery>>,
    /// As long as it is open, no other switch uses the same tables.
    _lock: File,
}

/// Loads the programs, or takes those over that run already, and attaches them.
///
/// # Errors
/// One sentence with the remedy: the kernel is too old, a capability is missing.
pub(super) fn open(settings: &ready::Oneway, told: bool, clock: Clock) -> Result<Arc<Programs>> {
    let site = Site {
        key: *settings.key.expose(),
        port: settings.port,
        routed: settings.network == Network::Routed,
        mtu: mtu(&settings.interfaces).unwrap_or(MTU_USUAL),
    };
    let lock = lock(&settings.pin, "switch", "pin in [oneway]")?;
    let limits = Limits { flows_max: settings.flows_max, memos_max: settings.memos_max, told };
    for interface in &settings.interfaces {
        Front::may_have(interface)?;
    }
    let front = Front::open(&site, &limits, &settings.pin)
        .context("one-way delivery cannot begin (`baton doctor` says what this machine lacks)")?;
    for interface in &settings.interfaces {
        attach(&front, interface, settings.early)
            .with_context(|| format!("cannot attach to {interface}"))?;
    }
    let zero_ns = handoff::now_ns().saturating_sub(clock.now().0);
    let key_check = handoff::key_check(settings.key.expose());
    let terms = Terms { key_check, envelope: handoff::ENVELOPE, port: settings.port };
    Ok(Arc::new(Programs {
        front,
        terms,
        interfaces: settings.interfaces.clone(),
        early: settings.early,
        zero_ns,
        deliveries: Mutex::default(),
        _lock: lock,
    }))
}

/// Attaches the programs to an interface, in the driver too where that is wanted and can be.
fn attach(front: &Front, interface: &str, early: bool) -> Result<(), handoff::Error> {
    front.attach(interface)?;
    if early && let Err(error) = front.attach_early(interface) {
        say(format_args!("one way: {error}; its SYNs are answered above the driver"));
    }
    Ok(())
}

/// Takes the folder of pinned tables for this process, a `switch` or an `agent`: two that look
/// after the same tables would take each other's questions and correct each other's books. `by`
/// says what gives another folder.
pub(crate) fn lock(pin: &Path, who: &str, by: &str) -> Result<File> {
    let doing = || format!("cannot use the folder {} of pinned tables", pin.display());
    std::fs::create_dir_all(pin).with_context(doing)?;
    let folder = File::open(pin).with_context(doing)?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(folder),
        Err(Errno::WOULDBLOCK) => bail!(
            "another {who} uses the tables in {}; end it, or give this one a folder of its own \
             with {by}",
            pin.display()
        ),
        Err(error) => Err(error).with_context(doing),
    }
}

/// Bytes of the largest IP packet that all these interfaces take. By netlink: /sys may show those
/// of another network namespace.
fn mtu(interfaces: &[String]) -> Option<u16> {
    let links = System.links().ok()?;
    let ours = links.iter().filter(|link| interfaces.contains(&link.name));
    let bytes = ours.map(|link| link.mtu_bytes).min()?;
    Some(u16::try_from(bytes).unwrap_or(u16::MAX))
}

impl Programs {
    fn kernel_ns(&self, at: Instant) -> u64 {
        self.zero_ns.saturating_add(at.0)
    }

    fn delivery(&self, address: SocketAddr) -> Option<Delivery> {
        let deliveries = self.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        deliveries.get(&address).copied()
    }
}

fn connection(flow: &FlowView) -> Connection {
    Connection {
        client: flow.client,
        listener: flow.vip,
        slot: Slot(flow.holder),
        delivery: match flow.delivery {
            handoff::Delivery::Relay => Delivery::Relay,
            handoff::Delivery::Handoff => Delivery::Handoff,
            handoff::Delivery::Multi => Delivery::MultiHandoff,
            handoff::Delivery::Forward => Delivery::Forward,
        },
        state: match flow.state {
            FlowState::Open => "open",
            FlowState::HalfClosed => "half-closed",
            FlowState::Waiting => "waiting",
            FlowState::Ended => "ended",
        },
        requests: flow.requests,
        moves: flow.moves,
        age: flow.age,
        idle: flow.silence,
    }
}

fn system(error: handoff::Error) -> io::Error {
    io::Error::other(error.to_string())
}

impl Fabric for Programs {
    fn terms(&self) -> Terms {
        self.terms.clone()
    }

    fn attachments(&self) -> Vec<(String, Option<bool>)> {
        let all = self.interfaces.iter().map(String::as_str).chain([TAP]);
        all.map(|interface| (interface.to_owned(), self.front.is_attached(interface))).collect()
    }

    fn attach(&self, interface: &str) -> io::Result<()> {
        attach(&self.front, interface, self.early && interface != TAP).map_err(system)
    }

    fn listen(&self, address: SocketAddr, delivery: Option<Delivery>) -> io::Result<()> {
        let kind = delivery.map(|delivery| match delivery {
            Delivery::Relay | Delivery::Splice => handoff::Delivery::Relay,
            Delivery::Handoff => handoff::Delivery::Handoff,
            Delivery::MultiHandoff => handoff::Delivery::Multi,
            Delivery::Forward => handoff::Delivery::Forward,
        });
        // Given up, it is left to the relay: what was handed over before keeps its way.
        let kind = kind.unwrap_or(handoff::Delivery::Relay);
        self.front.listen(address, Some(kind)).map_err(system)?;
        let mut deliveries = self.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        match delivery {
            Some(delivery) => drop(deliveries.insert(address, delivery)),
            None => drop(deliveries.remove(&address)),
        }
        Ok(())
    }

    fn listening(&self) -> Vec<SocketAddr> {
        self.front.listening()
    }

    fn set_row(&self, slot: Slot, row: Option<Row>) -> io::Result<()> {
        let row = row.map(|row| handoff::Row {
            address: row.address,
            name: row.name,
            state: match row.state {
                RowState::Up => handoff::State::Up,
                RowState::Draining => handoff::State::Draining,
                RowState::Down => handoff::State::Down,
                RowState::Doubted => handoff::State::Doubted,
                RowState::Deaf => handoff::State::Deaf,
            },
            agent_port: row.agent_port,
        });
        self.front.set_row(slot.0, row.as_ref()).map_err(system)
    }

    fn rows(&self) -> Vec<(Slot, Row)> {
        let ours = |(slot, row): (u16, handoff::Row)| {
            let state = match row.state {
                handoff::State::Up => RowState::Up,
                handoff::State::Draining => RowState::Draining,
                handoff::State::Down => RowState::Down,
                handoff::State::Doubted => RowState::Doubted,
                handoff::State::Deaf => RowState::Deaf,
            };
            let (address, name, agent_port) = (row.address, row.name, row.agent_port);
            (Slot(slot), Row { address, name, state, agent_port })
        };
        self.front.rows().into_iter().map(ours).collect()
    }

    fn book(&self, slot: Slot) -> Book {
        let book = self.front.books().book(slot.0);
        Book { open: book.open, begun: book.begun, chosen: book.chosen }
    }

    fn set_load(&self, slot: Slot, load: Load) {
        self.front.books().set_load(slot.0, load.0);
    }

    fn set_epoch(&self, epoch: u64) {
        self.front.books().set_epoch(epoch);
    }

    fn set_wheel(&self, number: u8, epoch: u64, until: Instant, turns: &[Slot]) {
        let turns: Vec<Option<u16>> =
            turns.iter().map(|slot| (*slot != Slot::NONE).then_some(slot.0)).collect();
        self.front.books().set_wheel(number, epoch, self.kernel_ns(until), &turns);
    }

    fn take_turn(&self, number: u8) -> u64 {
        self.front.books().take_turn(number)
    }

    fn turns(&self, number: u8) -> u64 {
        self.front.books().turns(number)
    }

    fn revoke_wheel(&self, number: u8) -> u64 {
        self.front.books().revoke_wheel(number)
    }

    fn question(&self, patience: Duration) -> io::Result<Option<Held>> {
        let Some(question) = self.front.question(patience)? else { return Ok(None) };
        let deliveries = self.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Some(Held {
            client: question.client,
            listener: question.vip,
            delivery: deliveries.get(&question.vip).copied().unwrap_or_default(),
            holder: question.holder.map(Slot),
            payload: question.payload().to_vec(),
            handle: Some(Box::new(question)),
        }))
    }

    fn answer(&self, held: &Held, verdict: Verdict) -> io::Result<()> {
        let question = held.handle.as_ref();
        let question = question.and_then(|handle| handle.downcast_ref::<Question>());
        let question = question.ok_or_else(|| io::Error::other("no question of ours"))?;
        self.front.answer(
            question,
            match verdict {
                Verdict::Server(slot) => handoff::Verdict::Server(slot.0),
                Verdict::Relay(_) => handoff::Verdict::Relay,
            },
        )
    }

    fn relayed(&self, client: SocketAddr, listener: SocketAddr) -> Option<Local> {
        self.front.relayed(client, listener).map(|why| match why {
            Reason::NotHttp => Local::NotHttp,
            Reason::SplitHead => Local::SplitHead,
            Reason::Pipelined => Local::Pipelined,
            // Of answers for the relay it is told to repeat those of rules alone.
            Reason::Verdict => Local::RuleSaysRelay,
            Reason::Full => Local::Full,
        })
    }

    fn key(&self, head: &[u8]) -> Option<MemoKey> {
        self.front.key(head).map(|(low, high)| MemoKey(low, high))
    }

    fn remember(&self, key: MemoKey, memo: &Memo) -> io::Result<()> {
        let what = match memo.what {
            Repeat::Server { slot, load_max, until } => {
                let until_ns = self.kernel_ns(until);
                handoff::Repeat::Server { slot: slot.0, load_max: load_max.0, until_ns }
            }
            Repeat::Wheel(number) => handoff::Repeat::Wheel(number),
            Repeat::Relay => handoff::Repeat::Relay,
        };
        let (epoch, target, class) = (memo.epoch, memo.target.0, memo.class.0);
        let memo = handoff::Memo { what, epoch, target, class };
        self.front.remember((key.0, key.1), &memo).map_err(system)
    }

    fn forget(&self, key: MemoKey) {
        self.front.forget((key.0, key.1));
    }

    fn forget_all(&self) {
        self.front.forget_all();
    }

    fn sweep(&self, idle: Duration, budget: usize) -> Swept {
        let swept = self.front.sweep(idle, budget);
        Swept {
            seen: swept.seen,
            idle: swept.idle,
            forgotten: swept.forgotten,
            corrected: swept.corrected,
            round: swept.round,
            in_use: SlotSet(std::array::from_fn(|slot| swept.in_use.has(slot as u16))),
        }
    }

    fn reset(&self, slot: Slot, budget: usize) -> usize {
        self.front.reset(slot.0, budget)
    }

    fn disown(&self, slot: Slot, owned: &Owned, settled: Duration) -> usize {
        let settled = u64::try_from(settled.as_nanos()).unwrap_or(u64::MAX);
        let before_ns = self.kernel_ns(owned.asked).saturating_sub(settled);
        self.front
            .disown(slot.0, before_ns, &mut |client, listener| !owned.lacks(*client, *listener))
    }

    fn connections(&self, count: usize) -> Vec<Connection> {
        let mut flows = self.front.list(count.max(LOOKED_MAX));
        flows.sort_by_key(|flow| flow.state);
        flows.iter().take(count).map(connection).collect()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.front.counters()
    }

    fn told(&self, patience: Duration, take: &mut dyn FnMut(Repeated)) -> io::Result<()> {
        let mut ours = |told: handoff::Repeated| {
            // Given up meanwhile: what is told now was handed over.
            let delivery = self.delivery(told.vip).unwrap_or(Delivery::MultiHandoff);
            take(Repeated {
                client: told.client,
                listener: told.vip,
                slot: told.slot.map(Slot),
                target: TargetId(told.target),
                class: Class(told.class),
                wheel: told.wheel,
                delivery,
                holder: told.holder.map(Slot),
                at: Instant(told.at_ns.saturating_sub(self.zero_ns)),
            });
        };
        self.front.told(patience, &mut ours).map_err(system)
    }
}
