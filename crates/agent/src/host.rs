//! What is read of a host: its files, interfaces, addresses and sockets.
//!
//! A trait, so that a test can show the doctor and the sampler a host that was made up.

use crate::netlink;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

/// Bytes of a file that are read at most: the kernel's BTF has five to ten millions.
const READ_BYTES_MAX: u64 = 64 << 20;
/// Characters of an interface's name at most, the kernel's IFNAMSIZ without the final zero.
const LINK_CHARS_MAX: usize = 15;

/// A host.
pub trait Host: Send + Sync {
    /// The bytes of a file, such as `/proc/stat`.
    ///
    /// # Errors
    /// The system's.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    /// Writes a sysctl.
    ///
    /// # Errors
    /// The system's.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;
    /// Its network interfaces.
    ///
    /// # Errors
    /// The system's.
    fn links(&self) -> io::Result<Vec<Link>>;
    /// The addresses of its interfaces.
    ///
    /// # Errors
    /// The system's.
    fn addresses(&self) -> io::Result<Vec<Address>>;
    /// Its routes to other hosts: those of the main table that are no refusals.
    ///
    /// # Errors
    /// The system's.
    fn routes(&self) -> io::Result<Vec<Route>>;
    /// The sockets that listen on a TCP port.
    ///
    /// # Errors
    /// The system's.
    fn listeners(&self, port: u16) -> io::Result<Vec<Listener>>;
    /// Gives each connection that has this TCP port here, and an owner, to `each`. There may be
    /// hundreds of thousands.
    ///
    /// # Errors
    /// The system's.
    fn connections(&self, port: u16, each: &mut dyn FnMut(Connection)) -> io::Result<()>;
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name, such as `eth0`.
    pub name: String,
    /// Bytes of the largest packet it sends.
    pub mtu_bytes: u32,
    /// Whether it is up.
    pub up: bool,
    /// Whether it is `lo`.
    pub loopback: bool,
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Leading bits that all addresses of its network share.
    pub prefix_bits: u8,
    /// How far it is valid, as the kernel counts: 0 everywhere, 253 this link, 254 this host.
    pub scope: u8,
    /// Number of its interface.
    pub link: u32,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network it leads to.
    pub to: IpAddr,
    /// Leading bits that all addresses of that network share; 0: it leads everywhere.
    pub prefix_bits: u8,
    /// Number of the interface it leads out by; missing where it has several.
    pub link: Option<u32>,
    /// Segments that TCP sends by it before the first acknowledgement; `None`: the system's ten.
    pub initial_window: Option<u32>,
}

/// A listening TCP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it listens.
    pub local: SocketAddr,
    /// Whether it takes clients of IPv4: `[::]` does unless it was told not to.
    pub v4: bool,
    /// Connections that wait to be accepted.
    pub queue: u32,
    /// Connections that may wait.
    pub backlog: u32,
    /// Whether it speaks MPTCP: the kernel makes no socket for such a one.
    pub mptcp: bool,
}

impl Listener {
    /// Whether connections to this address come to it.
    pub fn takes(&self, ip: IpAddr) -> bool {
        let local = self.local.ip();
        let family = if ip.is_ipv4() { self.v4 } else { local.is_ipv6() };
        local.to_canonical() == ip || (local.is_unspecified() && family)
    }
}

/// A TCP connection that has an owner on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Our end.
    pub local: SocketAddr,
    /// The client's end.
    pub client: SocketAddr,
    /// Its state, by the kernel's number: 1 is established.
    pub state: u8,
}

/// The host this process runs on, as seen from its network name space.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Host for System {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        fs::write(path, text)
    }

    fn links(&self) -> io::Result<Vec<Link>> {
        netlink::links()
    }

    fn addresses(&self) -> io::Result<Vec<Address>> {
        netlink::addresses()
    }

    fn routes(&self) -> io::Result<Vec<Route>> {
        netlink::routes()
    }

    fn listeners(&self, port: u16) -> io::Result<Vec<Listener>> {
        netlink::listeners(port)
    }

    fn connections(&self, port: u16, each: &mut dyn FnMut(Connection)) -> io::Result<()> {
        netlink::connections(port, each)
    }
}

/// The name of an interface as somebody typed it: it becomes part of a path under /proc/sys, so
/// what could lead elsewhere is no name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LinkName(String);

impl LinkName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for LinkName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let odd = |char: char| char == '/' || char == ':' || !char.is_ascii_graphic();
        let dots = name == "." || name == "..";
        if name.is_empty() || name.len() > LINK_CHARS_MAX || dots || name.contains(odd) {
            return Err(format!("{name:?} cannot be an interface's name; see `ip link`"));
        }
        Ok(Self(name))
    }
}

impl From<LinkName> for String {
    fn from(name: LinkName) -> Self {
        name.0
    }
}

impl std::str::FromStr for LinkName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::try_from(name.to_owned())
    }
}
