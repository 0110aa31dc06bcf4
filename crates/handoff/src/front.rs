//! The front-end's program: loaded, attached, told who the servers are and what it may repeat.

use crate::filter::Role;
use crate::flows::Walk;
use crate::hooks::{self, Way};
use crate::key::{derived, memo_key};
use crate::layout::{self, FlowKey, MemoKey, Server};
use crate::listeners;
use crate::mapped::Books;
use crate::object::{self, Error, Loaded, Plan};
use crate::{Delivery, Memo, Repeat, Repeated, Row, Site, State, sys, unmapped};
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBufferBuilder};
use rustix::event::Timespec;
use rustix::io::Errno;
use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// The interface through which held segments come to user space and go back.
pub const TAP: &str = "baton-held";

/// Maps that the connections live in.
const PINNED: &[&str] = &[
    "flows",
    "servers",
    "listeners",
    "books",
    "wheels",
    "pages",
    "memos",
    "counts",
    "events",
    "owns",
];

/// Bytes that an envelope adds: IPv6 (40), UDP (8) and ours (28), the larger of the two outer
/// headers.
const ENVELOPE_BYTES: u16 = 76;

/// Headers of a client's segment: IP and TCP, without options.
const HEADERS4: u16 = 40;
const HEADERS6: u16 = 60;

/// The program reads a clock that may be one timer tick behind (CLOCK_MONOTONIC_COARSE; a tick is
/// 10 ms at most): what ends at a time ends that much earlier for it, never later.
pub(crate) const CLOCK_LAG_NS: u64 = 10_000_000;

/// How many connections and answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections handed over at once; beyond, new ones are relayed.
    pub flows_max: u32,
    /// Memos; beyond, the one not used for longest is forgotten.
    pub memos_max: u32,
    /// Whether repeated decisions are told ([`Front::told`]).
    pub told: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { flows_max: 1_000_000, memos_max: 1_000_000, told: false }
    }
}

/// The front-end's side of one-way delivery.
pub struct Front {
    pub(crate) loaded: Loaded,
    pub(crate) books: Books,
    pub(crate) tap: OwnedFd,
    pub(crate) walk: Mutex<Walk>,
    secret: [u8; 16],
    routed: bool,
    pins: PathBuf,
}

impl Front {
    /// Loads the program, or takes over the maps of one that runs already. `pins` is a folder in a
    /// bpffs, of this front-end alone. Nothing is attached yet.
    ///
    /// # Errors
    /// [`Error`], each with its remedy.
    pub fn open(site: &Site, limits: &Limits, pins: &Path) -> Result<Self, Error> {
        let tap = sys::tap(TAP).map_err(|cause| match cause {
            Errno::BUSY => Error::TapTaken,
            cause => Error::system(format!("cannot make the interface {TAP}"), cause),
        })?;
        // Nobody shall talk on it by himself; where there is no IPv6 there is nothing to turn off.
        let _quiet = std::fs::write(format!("/proc/sys/net/ipv6/conf/{TAP}/disable_ipv6"), "1");
        let secret = derived(&site.key, b"cookie");
        let room = site.mtu.saturating_sub(ENVELOPE_BYTES);
        let values = layout::Site {
            key: site.key,
            cookie_key: secret,
            tap_ifindex: u32::try_from(object::index_of(TAP)?).expect("indices are positive"),
            port: site.port.to_be_bytes(),
            mss4: room.saturating_sub(HEADERS4),
            mss6: room.saturating_sub(HEADERS6),
            log: u8::from(limits.told),
            reserved: [0; 5],
        };
        let loaded = Loaded::load(&Plan {
            name: "front",
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/front.bpf.o")),
            site: bytemuck::bytes_of(&values),
            pins,
            pinned: PINNED,
            sizes: &[("flows", limits.flows_max.max(1)), ("memos", limits.memos_max.max(1))],
        })?;
        let [books, wheels, pages] = ["books", "wheels", "pages"].map(|name| loaded.map(name));
        let books = Books::map(books.as_fd(), wheels.as_fd(), pages.as_fd())
            .map_err(|cause| Error::system("cannot map the books", cause))?;
        let (walk, pins) = (Mutex::default(), pins.to_owned());
        let front = Self { loaded, books, tap, walk, secret, routed: site.routed, pins };
        front.attach(TAP)?;
        Ok(front)
    }

    /// That an interface has no server's program, whose place the front-end's would take. To be
    /// asked before anything is opened; [`Front::attach`] and [`Front::remove`] ask it as well.
    ///
    /// # Errors
    /// [`Error::OtherRole`], no such interface, or the system's.
    pub fn may_have(interface: &str) -> Result<(), Error> {
        Role::Front.may_have(interface)
    }

    /// Attaches the program to an interface on which clients or servers are. It stays when the
    /// process ends.
    ///
    /// # Errors
    /// [`Error::OtherRole`], no such interface, or the system's.
    pub fn attach(&self, interface: &str) -> Result<(), Error> {
        self.loaded.attach(Role::Front, interface)
    }

    /// Whether the program of this very process is attached to an interface now: not if somebody
    /// took it off, or the interface was made anew. `None`: the system could not be asked. A few
    /// questions to the kernel.
    pub fn is_attached(&self, interface: &str) -> Option<bool> {
        self.loaded.is_attached(Role::Front.ingress(), interface, Way::In)
    }

    /// Has SYNs answered by the driver of an interface already (XDP), where it can: a flood then
    /// does not reach the stack. Only worth it on real hardware: on virtual Ethernet it costs more.
    ///
    /// # Errors
    /// The driver cannot, or there is no such interface.
    pub fn attach_early(&self, interface: &str) -> Result<(), Error> {
        self.loaded.attach_early("front_early", interface)
    }

    /// Takes the program off an interface: connections that were handed over lose their way.
    ///
    /// # Errors
    /// [`Error::OtherRole`], or no such interface.
    pub fn detach(interface: &str) -> Result<(), Error> {
        hooks::detach(Role::Front, interface)
    }

    /// Removes everything that stays: for good.
    ///
    /// # Errors
    /// [`Error::OtherRole`], or the system's.
    pub fn remove(self, interfaces: &[&str]) -> Result<(), Error> {
        for interface in interfaces.iter().copied().chain([TAP]) {
            hooks::detach(Role::Front, interface)?;
        }
        let pins = self.pins.clone();
        sys::forget_tap(&self.tap)
            .map_err(|cause| Error::system(format!("cannot remove {TAP}"), cause))?;
        drop(self);
        object::unpin(&pins, PINNED)
            .map_err(|cause| Error::system(format!("cannot remove {}", pins.display()), cause))
    }

    /// Begins, or with `None` ends, to take the connections of an address.
    ///
    /// # Errors
    /// The system's.
    pub fn listen(&self, vip: SocketAddr, delivery: Option<Delivery>) -> Result<(), Error> {
        listeners::set(&self.loaded, vip, delivery, vip.port(), vip.port())
    }

    /// The addresses whose connections are taken.
    pub fn listening(&self) -> Vec<SocketAddr> {
        listeners::all(&self.loaded)
    }

    /// Writes the row of a slot, or clears it together with its book.
    ///
    /// # Errors
    /// [`Error::NoRoute`], or the system's.
    pub fn set_row(&self, slot: u16, row: Option<&Row>) -> Result<(), Error> {
        let Some(row) = row else {
            self.books.clear(slot);
            let empty: Server = bytemuck::Zeroable::zeroed();
            return object::put(self.loaded.map("servers"), &u32::from(slot), &empty);
        };
        let (front, ifindex) = way_to(row.address)?;
        let value = Server {
            address: layout::octets(row.address.ip()),
            front: layout::octets(front),
            ifindex,
            port: row.address.port(),
            agent_port: row.agent_port,
            state: match row.state {
                State::Up => 1,
                State::Draining => 2,
                State::Down => 3,
                State::Doubted => 4,
                State::Deaf => 5,
            },
            routed: u8::from(self.routed),
            reserved: 0,
            padding: 0,
            name: row.name,
        };
        object::put(self.loaded.map("servers"), &u32::from(slot), &value)
    }

    /// The rows that are there: after a start, those of the process before.
    pub fn rows(&self) -> Vec<(u16, Row)> {
        let slots = 0..u16::try_from(crate::SLOTS_MAX).expect("there are few slots");
        slots.filter_map(|slot| Some((slot, self.row(slot)?))).collect()
    }

    fn row(&self, slot: u16) -> Option<Row> {
        let server: Server = object::get(self.loaded.map("servers"), &u32::from(slot))?;
        let state = match server.state {
            1 => State::Up,
            2 => State::Draining,
            3 => State::Down,
            4 => State::Doubted,
            5 => State::Deaf,
            _ => return None,
        };
        let address = SocketAddr::new(unmapped(server.address), server.port);
        Some(Row { address, name: server.name, state, agent_port: server.agent_port })
    }

    /// What both sides count and turn.
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// How the program knows a request again; `None` for a head that it does not read.
    pub fn key(&self, head: &[u8]) -> Option<(u64, u64)> {
        memo_key(&self.secret, head)
    }

    /// Lets the program repeat an answer.
    ///
    /// # Errors
    /// The system's.
    pub fn remember(&self, key: (u64, u64), memo: &Memo) -> Result<(), Error> {
        let mut value = layout::Memo {
            epoch: memo.epoch,
            load_max: 0,
            until_ns: 0,
            target: memo.target,
            server: layout::NOBODY,
            kind: layout::MEMO_RELAY,
            wheel: 0,
            class: memo.class,
            reserved: 0,
        };
        match memo.what {
            Repeat::Server { slot, load_max, until_ns } => {
                value.kind = layout::MEMO_TARGET;
                (value.server, value.load_max) = (u32::from(slot), load_max);
                value.until_ns = until_ns.saturating_sub(CLOCK_LAG_NS);
            }
            Repeat::Wheel(number) => (value.kind, value.wheel) = (layout::MEMO_WHEEL, number),
            Repeat::Relay => {}
        }
        let key = MemoKey { low: key.0, high: key.1 };
        object::put(self.loaded.map("memos"), &key, &value)
    }

    /// Takes it back; what was forgotten already is no error.
    pub fn forget(&self, key: (u64, u64)) {
        let key = MemoKey { low: key.0, high: key.1 };
        let _gone = self.loaded.map("memos").delete(bytemuck::bytes_of(&key));
    }

    /// Takes all memos back: of a process before this one.
    pub fn forget_all(&self) {
        let memos = self.loaded.map("memos");
        let keys: Vec<_> = memos.keys().collect();
        for key in keys {
            let _gone = memos.delete(&key);
        }
    }

    /// What the program counted since its maps were made, by name, in the order of
    /// [`crate::COUNTS`].
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        object::counts(self.loaded.map("counts"))
    }

    /// Waits for `patience`, then hands over the decisions that the program repeated meanwhile:
    /// 16,384 fit. None come unless [`Limits::told`] was set.
    ///
    /// # Errors
    /// The system's.
    pub fn told(&self, patience: Duration, take: &mut dyn FnMut(Repeated)) -> Result<(), Error> {
        let trouble = |cause: libbpf_rs::Error| {
            Error::system("cannot read the decisions told", io::Error::other(cause.to_string()))
        };
        let taken = RefCell::new(Vec::new());
        let mut builder = RingBufferBuilder::new();
        let note = |bytes: &[u8]| {
            taken.borrow_mut().extend(repeated(bytes));
            0
        };
        builder.add(self.loaded.map("events"), note).map_err(trouble)?;
        // The program wakes nobody: that would cost more than what is told.
        let _over = rustix::event::poll(&mut [], Timespec::try_from(patience).ok().as_ref());
        let ring = builder.build().map_err(trouble)?;
        ring.consume().map_err(trouble)?;
        drop(ring);
        taken.into_inner().into_iter().for_each(take);
        Ok(())
    }

    pub(crate) fn flows(&self) -> &MapHandle {
        self.loaded.map("flows")
    }

    /// The server that has a connection.
    pub(crate) fn holder(&self, key: &FlowKey) -> Option<u16> {
        let bytes = self.flows().lookup(bytemuck::bytes_of(key), MapFlags::ANY).ok()??;
        let flow: layout::Flow = bytemuck::try_pod_read_unaligned(&bytes).ok()?;
        u16::try_from(flow.holder).ok()
    }
}

pub(crate) fn code(delivery: Delivery) -> u8 {
    match delivery {
        Delivery::Relay => 0,
        Delivery::Handoff => 2,
        Delivery::Multi => 3,
        Delivery::Forward => 4,
    }
}

/// What a code stands for.
pub(crate) fn delivery(code: u8) -> Delivery {
    let others = [Delivery::Handoff, Delivery::Multi, Delivery::Forward];
    others.into_iter().find(|one| self::code(*one) == code).unwrap_or(Delivery::Relay)
}

/// Our address on the way to a server, and the interface that has it.
fn way_to(server: SocketAddr) -> Result<(IpAddr, u32), Error> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (std::net::Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // Nothing is sent: connecting a UDP socket only asks for the route.
    let local = UdpSocket::bind(any)
        .and_then(|socket| {
            socket.connect(server)?;
            socket.local_addr()
        })
        .map_err(|_| Error::NoRoute(server.ip()))?
        .ip();
    let interface = sys::interface_of(local).ok_or(Error::NoRoute(server.ip()))?;
    let index = u32::try_from(object::index_of(&interface)?).expect("indices are positive");
    Ok((local, index))
}

fn repeated(bytes: &[u8]) -> Option<Repeated> {
    let event: layout::Event =
        bytemuck::try_pod_read_unaligned(bytes.get(..size_of::<layout::Event>())?).ok()?;
    Some(Repeated {
        client: event.flow.client(),
        vip: event.flow.vip(),
        slot: u16::try_from(event.server).ok(),
        holder: u16::try_from(event.holder).ok(),
        target: event.target,
        class: event.class,
        wheel: event.kind == layout::MEMO_WHEEL,
        at_ns: event.at_ns,
    })
}
