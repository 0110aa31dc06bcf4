//! The kernel's side of one-way delivery as the switch sees it: what may be asked of it and what it
//! asks.
//!
//! `front` implements it with the eBPF programs of crate `handoff`; the tests of this folder with a
//! table in memory, so that all of it but the programs is tested without root.

use super::reason::Local;
use distributor::Delivery;
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Slots that the kernel has for servers.
pub const SLOTS_MAX: usize = 256;

/// A server's place in the kernel's tables. Not the policy's [`policy::ServerId`]: this one stays
/// with a name and address for as long as connections may be there, over a restart of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

impl Slot {
    /// Of a server that has none.
    pub const NONE: Self = Self(u16::MAX);
}

/// What the kernel does for one switch. Methods may take a system call or a few; none waits but
/// [`Fabric::question`] and [`Fabric::told`].
pub trait Fabric: Send + Sync + 'static {
    /// What servers have to have in common with it.
    fn terms(&self) -> Terms;

    /// The interfaces that the programs are to be on, each with whether they are there now; `None`:
    /// the system could not be asked. A few system calls for each.
    fn attachments(&self) -> Vec<(String, Option<bool>)>;

    /// Puts the programs on an interface again.
    ///
    /// # Errors
    /// The system's, or that somebody else has their place.
    fn attach(&self, interface: &str) -> io::Result<()>;

    /// Begins (or ends, with `None`) to take the connections of an address that clients connect to.
    ///
    /// # Errors
    /// The system's.
    fn listen(&self, address: SocketAddr, delivery: Option<Delivery>) -> io::Result<()>;

    /// The addresses that are taken now.
    fn listening(&self) -> Vec<SocketAddr>;

    /// Writes a server's row, or clears it with its book. Only a row without open connections is
    /// cleared.
    ///
    /// # Errors
    /// The system's, for example that there is no route to the server.
    fn set_row(&self, slot: Slot, row: Option<Row>) -> io::Result<()>;

    /// The rows that are there: after a restart those of the process before.
    fn rows(&self) -> Vec<(Slot, Row)>;

    /// The book of a slot. Quick: no system call.
    fn book(&self, slot: Slot) -> Book;

    /// Sets the part of a server's load that is not in its book. Quick.
    fn set_load(&self, slot: Slot, load: policy::Load);

    /// From here on only memos and wheels of this epoch are good; 0: none. Quick.
    fn set_epoch(&self, epoch: u64);

    /// Puts a wheel out with its cursor at the beginning; [`Slot::NONE`] in it is the relay. Quick.
    fn set_wheel(&self, number: u8, epoch: u64, until: policy::Instant, turns: &[Slot]);

    /// Takes the next turn of a wheel: how many anybody had taken before. Quick.
    fn take_turn(&self, number: u8) -> u64;

    /// Turns that anybody took. Quick.
    fn turns(&self, number: u8) -> u64;

    /// Takes a wheel back; when it returns, nobody takes another turn. The turns that anybody took.
    fn revoke_wheel(&self, number: u8) -> u64;

    /// The next segment that is held for an answer; `None` when none came within `patience`.
    ///
    /// # Errors
    /// The system's: nothing more will come.
    fn question(&self, patience: Duration) -> io::Result<Option<Held>>;

    /// Releases a segment that was held.
    ///
    /// # Errors
    /// The system's. The client sends the segment again.
    fn answer(&self, held: &Held, verdict: Verdict) -> io::Result<()>;

    /// Why the kernel relayed the connection of `client` to `listener` by itself, told once.
    /// `None`: it was told to, or does not know any more. One system call.
    fn relayed(&self, client: SocketAddr, listener: SocketAddr) -> Option<Local>;

    /// By what the kernel knows the request line and Host of a request again; `None` for a head
    /// that it does not read.
    fn key(&self, head: &[u8]) -> Option<MemoKey>;

    /// Lets the kernel repeat an answer.
    ///
    /// # Errors
    /// The system's.
    fn remember(&self, key: MemoKey, memo: &Memo) -> io::Result<()>;

    /// Takes that back. What was forgotten already is no error.
    fn forget(&self, key: MemoKey);

    /// Takes all of it back: of a process before this one.
    fn forget_all(&self);

    /// Closes what has been idle for longer than `idle` and forgets what closed a minute ago,
    /// looking at `budget` connections at most; the next call goes on where this one ended.
    fn sweep(&self, idle: Duration, budget: usize) -> Swept;

    /// Resets connections of a slot whose row is down, `budget` at most; how many. Where the row is
    /// not down that does nothing to them.
    fn reset(&self, slot: Slot, budget: usize) -> usize;

    /// Forgets connections of a server that were taken for open and of which its agent knows
    /// nothing, if they were opened and last heard of longer than `settled` before the agent was
    /// asked; how many.
    fn disown(&self, slot: Slot, owned: &Owned, settled: Duration) -> usize;

    /// Connections that are handed over, `count` at most, in no order but that those which have
    /// ended are last. Bounded work, and no lock of ours.
    fn connections(&self, count: usize) -> Vec<Connection>;

    /// Counters by name, since the tables were made. In a fixed order.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// Hands over decisions that the kernel repeated, waiting for the first up to `patience`.
    ///
    /// # Errors
    /// The system's: nothing more will come.
    fn told(&self, patience: Duration, take: &mut dyn FnMut(Repeated)) -> io::Result<()>;
}

/// What an agent has to have in common with this front-end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The check of the key: see [`agent::TakesOver::key_check`].
    pub key_check: String,
    /// Version of the envelopes.
    pub envelope: u8,
    /// Their UDP port.
    pub port: u16,
}

/// A server as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where it is, and the port of its Web server.
    pub address: SocketAddr,
    /// Hash of its name, by which a successor of this process knows it again.
    pub name: u64,
    /// What it may be given.
    pub state: RowState,
    /// The port of its agent's relay, where it has one: for [`Delivery::Forward`].
    pub agent_port: u16,
}

/// What a server may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// Everything.
    Up,
    /// What its connections bring, nothing new.
    Draining,
    /// Nothing; its connections are to be reset.
    Down,
    /// As draining. A hand-over may be lost there: its connections stay, and one whose hand-over is
    /// repeated is reset.
    Doubted,
    /// The same, and whatever is sent in an envelope is lost: who needs one is reset.
    Deaf,
}

/// Connections of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// Handed over and not closed.
    pub open: u64,
    /// Ever.
    pub begun: u64,
    /// Serial number of the last choice that fell on it; zero if none did.
    pub chosen: u64,
}

/// A connection that is, or was a short while ago, handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The client's end.
    pub client: SocketAddr,
    /// Which of our addresses it connected to.
    pub listener: SocketAddr,
    /// Who has it.
    pub slot: Slot,
    /// How its requests are delivered.
    pub delivery: Delivery,
    /// How far it has come: `open`, `half-closed`, `waiting` or `ended`.
    pub state: &'static str,
    /// Requests that were looked at.
    pub requests: u32,
    /// Times that it went to another server.
    pub moves: u32,
    /// Since its first request.
    pub age: Duration,
    /// Since its client's last packet.
    pub idle: Duration,
}

/// A segment that the kernel holds until it is told whose it is.
#[derive(Debug)]
pub struct Held {
    /// Who sent it.
    pub client: SocketAddr,
    /// To which of our addresses.
    pub listener: SocketAddr,
    /// How its requests are delivered.
    pub delivery: Delivery,
    /// The server that has the connection; `None`: this is its first segment.
    pub holder: Option<Slot>,
    /// What it carries: the beginning of a request.
    pub payload: Vec<u8>,
    /// What the kernel side knows it by.
    pub handle: Option<Box<dyn Any + Send>>,
}

/// The answer to a segment that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This server answers it.
    Server(Slot),
    /// The relay of this front-end does.
    Relay(Local),
}

/// What the kernel knows a request by: a keyed hash of its request line and Host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoKey(pub u64, pub u64);

/// An answer that may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memo {
    /// What it is.
    pub what: Repeat,
    /// The state of the cluster it was given for.
    pub epoch: u64,
    /// What the request names: for log and counters.
    pub target: policy::TargetId,
    /// What it leans on.
    pub class: policy::Class,
}

/// What may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The same server, while its load is at most `load_max` and the time before `until`.
    Server {
        /// Who.
        slot: Slot,
        /// See [`policy::Guard::load_max`].
        load_max: policy::Load,
        /// See [`policy::Guard::until`]: on the switch's clock.
        until: policy::Instant,
    },
    /// The next turn of this wheel.
    Wheel(u8),
    /// The relay, whatever the load.
    Relay,
}

/// What a look through the connections did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Connections looked at.
    pub seen: usize,
    /// Of these, closed for their silence.
    pub idle: usize,
    /// Of these, forgotten after their end.
    pub forgotten: usize,
    /// Books that did not agree with the connections there are, and were corrected.
    pub corrected: usize,
    /// Whether this look came to the end of the table.
    pub round: bool,
    /// Then: the slots of servers that connections were found to have, also those that have ended
    /// and are only remembered.
    pub in_use: SlotSet,
}

/// Some of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSet(pub [bool; SLOTS_MAX]);

impl Default for SlotSet {
    fn default() -> Self {
        Self([false; SLOTS_MAX])
    }
}

/// The connections that a server's agent says it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// When the agent was first asked for them: what is younger may not be there.
    pub asked: policy::Instant,
    /// The client's end of each and the address it connected to, sorted.
    pub ends: Vec<(SocketAddr, SocketAddr)>,
    /// The addresses of which the agent knows the connections: it says nothing of others.
    pub vips: Vec<SocketAddr>,
}

impl Owned {
    /// Whether the connection of `client` to `listener` is not there: it would be among them.
    pub fn lacks(&self, client: SocketAddr, listener: SocketAddr) -> bool {
        self.vips.contains(&listener) && self.ends.binary_search(&(client, listener)).is_err()
    }
}

/// A decision that the kernel repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Who asked.
    pub client: SocketAddr,
    /// To which of our addresses.
    pub listener: SocketAddr,
    /// Who answers; `None`: the relay.
    pub slot: Option<Slot>,
    /// What the request names.
    pub target: policy::TargetId,
    /// What it leans on.
    pub class: policy::Class,
    /// Whether it was a turn of a wheel.
    pub wheel: bool,
    /// How the requests of that address are delivered.
    pub delivery: Delivery,
    /// Who had the connection; `None`: it was its first request.
    pub holder: Option<Slot>,
    /// When, on the switch's clock.
    pub at: policy::Instant,
}
