//! The program of a server: loaded, attached, told which connections it may take over.

use crate::filter::Role;
use crate::front::code;
use crate::hooks::{self, Way};
use crate::layout::{self, FlowKey, Owned, TagKey};
use crate::listeners;
use crate::object::{self, Error, Loaded, Plan};
use crate::{Delivery, Site, now_ns, sys};
use libbpf_rs::{MapCore, MapFlags};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maps that the connections live in.
const PINNED: &[&str] = &["owned_flows", "tags", "listeners", "counts"];

/// Connections read from the table in one system call.
const BATCH: u32 = 1024;

/// The server's side of one-way delivery.
pub struct Back {
    pub(crate) loaded: Loaded,
    pins: PathBuf,
}

/// A connection that was taken over and not given back. Whether its socket still lives is for the
/// system to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedFlow {
    /// The client's end.
    pub client: SocketAddr,
    /// The address it connected to.
    pub vip: SocketAddr,
    /// Since it was taken over.
    pub age: Duration,
}

impl Back {
    /// Loads the programs, or takes over the maps of those that run already. `pins` is a folder in
    /// a bpffs, of this server alone. Nothing is attached yet.
    ///
    /// # Errors
    /// [`Error`], each with its remedy.
    pub fn open(site: &Site, pins: &Path) -> Result<Self, Error> {
        let values = layout::Site {
            key: site.key,
            cookie_key: [0; 16],
            tap_ifindex: 0,
            port: site.port.to_be_bytes(),
            mss4: 0,
            mss6: 0,
            log: 0,
            reserved: [0; 5],
        };
        let loaded = Loaded::load(&Plan {
            name: "back",
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/back.bpf.o")),
            site: bytemuck::bytes_of(&values),
            pins,
            pinned: PINNED,
            sizes: &[],
        })?;
        Ok(Self { loaded, pins: pins.to_owned() })
    }

    /// That an interface has no front-end's program, whose place a server's would take. To be asked
    /// before anything is opened; [`Back::attach`] and [`Back::remove`] ask it as well.
    ///
    /// # Errors
    /// [`Error::OtherRole`], no such interface, or the system's.
    pub fn may_have(interface: &str) -> Result<(), Error> {
        Role::Back.may_have(interface)
    }

    /// Attaches the programs to an interface on which front-ends are, and through which replies
    /// leave. They stay when the process ends. Replies are looked at only where connections may
    /// move on: to be called again when [`Back::listen`] was called with another delivery.
    ///
    /// # Errors
    /// [`Error::OtherRole`], no such interface, or the system's.
    pub fn attach(&self, interface: &str) -> Result<(), Error> {
        self.loaded.attach(Role::Back, interface)?;
        if self.moves() {
            return self.loaded.attach_to("back_egress", interface, Way::Out);
        }
        hooks::detach_from(interface, Way::Out)
    }

    /// Whether the programs of this very process are attached to an interface now: not if somebody
    /// took them off, or others have their place. `None`: the system could not be asked. A few
    /// questions to the kernel.
    pub fn is_attached(&self, interface: &str) -> Option<bool> {
        let there = self.loaded.is_attached(Role::Back.ingress(), interface, Way::In)?;
        if !there || !self.moves() {
            return Some(there);
        }
        self.loaded.is_attached("back_egress", interface, Way::Out)
    }

    /// Whether any connection that is taken over may move on.
    fn moves(&self) -> bool {
        let map = self.loaded.map("listeners");
        let moving = |key: Vec<u8>| {
            let value = map.lookup(&key, MapFlags::ANY).ok().flatten();
            value.is_some_and(|bytes| bytes.first() == Some(&code(Delivery::Multi)))
        };
        map.keys().any(moving)
    }

    /// Takes the programs off and forgets all: connections that were taken over go on until their
    /// front-end sends something, which is then for the system to judge.
    ///
    /// # Errors
    /// [`Error::OtherRole`], no such interface, or the system's.
    pub fn remove(self, interfaces: &[&str]) -> Result<(), Error> {
        for interface in interfaces {
            hooks::detach(Role::Back, interface)?;
        }
        let pins = self.pins.clone();
        drop(self);
        object::unpin(&pins, PINNED)
            .map_err(|cause| Error::system(format!("cannot remove {}", pins.display()), cause))
    }

    /// Begins, or with `None` ends, to take connections over that clients made to `vip`: for the
    /// server that listens on `server_port` here, or the agent's relay on `agent_port`.
    ///
    /// # Errors
    /// The system's.
    pub fn listen(
        &self,
        vip: SocketAddr,
        delivery: Option<Delivery>,
        server_port: u16,
        agent_port: u16,
    ) -> Result<(), Error> {
        listeners::set(&self.loaded, vip, delivery, server_port, agent_port)
    }

    /// The addresses whose connections are taken over.
    pub fn listening(&self) -> Vec<SocketAddr> {
        listeners::all(&self.loaded)
    }

    /// Connections taken over and not given back, `count` at most.
    pub fn flows(&self, count: usize) -> Vec<OwnedFlow> {
        let (mut list, mut token, now) = (Vec::new(), None, now_ns());
        let map = self.loaded.map("owned_flows");
        while let Ok((rows, next)) = sys::lookup_batch::<FlowKey, Owned>(map.as_fd(), token, BATCH)
        {
            let live = rows.iter().filter(|(_, owned)| owned.released == 0);
            list.extend(live.map(|(key, owned)| OwnedFlow {
                client: key.client(),
                vip: key.vip(),
                age: Duration::from_nanos(now.saturating_sub(owned.created_ns)),
            }));
            token = next;
            if token.is_none() || list.len() >= count {
                break;
            }
        }
        list.truncate(count);
        list
    }

    /// The sequence number of the first byte of a client's stream. `None`: the connection was not
    /// taken over here.
    pub fn first(&self, client: SocketAddr, vip: SocketAddr) -> Option<u32> {
        let key = FlowKey::new(client, vip);
        let map = self.loaded.map("owned_flows");
        let bytes = map.lookup(bytemuck::bytes_of(&key), MapFlags::ANY).ok()??;
        let owned: Owned = bytemuck::try_pod_read_unaligned(&bytes).ok()?;
        (owned.released == 0).then_some(owned.connection)
    }

    /// For which server ([`crate::tag_of`] its name) the front-end marked the request whose first
    /// byte has this sequence number; taken out of the table. `None`: it was not marked, the holder
    /// serves it.
    pub fn tag(&self, client: SocketAddr, vip: SocketAddr, seq: u32) -> Option<u32> {
        let key = TagKey { flow: FlowKey::new(client, vip), seq };
        let value = self.loaded.map("tags").lookup_and_delete(bytemuck::bytes_of(&key)).ok()??;
        Some(u32::from_ne_bytes(value.get(..4)?.try_into().ok()?))
    }

    /// What the programs counted since their maps were made, by name, in the order of
    /// [`crate::COUNTS`].
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        object::counts(self.loaded.map("counts"))
    }
}
