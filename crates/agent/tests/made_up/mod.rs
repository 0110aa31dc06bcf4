//! A host that was made up: files, interfaces, addresses and listeners as a test says.

// Each test uses its part.
#![allow(dead_code)]

use agent::host::{Address, Connection, Host, Link, Listener, Route};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::Mutex;

#[derive(Debug, Default)]
pub struct MadeUp {
    pub files: Mutex<BTreeMap<String, Vec<u8>>>,
    pub links: Vec<Link>,
    pub addresses: Vec<Address>,
    pub routes: Vec<Route>,
    pub listeners: Vec<Listener>,
    pub connections: Vec<Connection>,
    /// Paths that the system refuses to read.
    pub forbidden: Vec<&'static str>,
}

impl MadeUp {
    /// Writes a file.
    pub fn file(&self, path: &str, text: &str) -> &Self {
        self.files.lock().unwrap().insert(path.to_owned(), text.as_bytes().to_vec());
        self
    }

    pub fn no_file(&self, path: &str) -> &Self {
        self.files.lock().unwrap().remove(path);
        self
    }

    pub fn link(mut self, index: u32, name: &str, mtu_bytes: u32) -> Self {
        let loopback = name == "lo";
        self.links.push(Link { index, name: name.to_owned(), mtu_bytes, up: true, loopback });
        self
    }

    /// An address such as `192.0.2.1/32`, on the link with this number.
    pub fn address(mut self, text: &str, link: u32) -> Self {
        let (ip, bits) = text.split_once('/').unwrap();
        let (ip, prefix_bits) = (ip.parse().unwrap(), bits.parse().unwrap());
        self.addresses.push(Address { ip, prefix_bits, scope: 0, link });
        self
    }

    /// A route such as `0.0.0.0/0`, out by the link with this number.
    pub fn route(mut self, text: &str, link: u32, initial_window: Option<u32>) -> Self {
        let (to, bits) = text.split_once('/').unwrap();
        let (to, prefix_bits) = (to.parse().unwrap(), bits.parse().unwrap());
        self.routes.push(Route { to, prefix_bits, link: Some(link), initial_window });
        self
    }

    pub fn listener(mut self, local: &str, queue: u32, backlog: u32) -> Self {
        let local: std::net::SocketAddr = local.parse().unwrap();
        self.listeners.push(Listener { local, v4: true, queue, backlog, mptcp: false });
        self
    }
}

impl Host for MadeUp {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if self.forbidden.contains(&path) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let files = self.files.lock().unwrap();
        files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let mut files = self.files.lock().unwrap();
        let file = files.get_mut(path).ok_or(io::ErrorKind::NotFound)?;
        *file = text.as_bytes().to_vec();
        Ok(())
    }

    fn links(&self) -> io::Result<Vec<Link>> {
        Ok(self.links.clone())
    }

    fn addresses(&self) -> io::Result<Vec<Address>> {
        Ok(self.addresses.clone())
    }

    fn routes(&self) -> io::Result<Vec<Route>> {
        Ok(self.routes.clone())
    }

    fn listeners(&self, port: u16) -> io::Result<Vec<Listener>> {
        let ours = self.listeners.iter().filter(|one| one.local.port() == port);
        Ok(ours.cloned().collect())
    }

    fn connections(&self, port: u16, each: &mut dyn FnMut(Connection)) -> io::Result<()> {
        self.connections.iter().filter(|one| one.local.port() == port).for_each(|one| each(*one));
        Ok(())
    }
}

pub const VIP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 100));

/// The files of a host on which nothing is wrong.
pub fn well() -> MadeUp {
    let host = MadeUp::default();
    for (path, value) in [
        ("kernel/osrelease", "6.12.48+deb13-amd64"),
        ("net/core/bpf_jit_enable", "1"),
        ("net/core/somaxconn", "4096"),
        ("net/ipv4/tcp_syncookies", "1"),
        ("net/ipv4/tcp_timestamps", "1"),
        ("net/ipv4/tcp_sack", "1"),
        ("net/ipv4/tcp_window_scaling", "1"),
        ("net/ipv4/tcp_rfc1337", "0"),
        ("net/ipv4/tcp_rmem", "4096\t131072\t6291456"),
        ("net/ipv4/tcp_congestion_control", "cubic"),
        ("net/mptcp/enabled", "1"),
        ("net/ipv4/conf/all/rp_filter", "0"),
        ("net/ipv4/conf/eth0/rp_filter", "2"),
        ("net/ipv4/conf/all/arp_ignore", "1"),
        ("net/ipv4/conf/eth0/arp_ignore", "0"),
        ("net/ipv4/conf/all/arp_announce", "2"),
        ("net/ipv4/conf/eth0/arp_announce", "0"),
    ] {
        host.file(&format!("/proc/sys/{path}"), &format!("{value}\n"));
    }
    host.file("/proc/self/status", "Name:\tbaton\nCapEff:\t000001ffffffffff\n");
    host.file("/proc/self/mounts", "proc /proc proc rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\n");
    host.file("/sys/kernel/btf/vmlinux", "\0bpf_sk_assign\0bpf_sk_assign_tcp_reqsk\0tcp_sock\0");
    host
}

/// A server on which nothing is wrong: VIP on lo, somebody listens.
pub fn server() -> MadeUp {
    bare().address("192.0.2.100/32", 1).listener("0.0.0.0:80", 0, 4096)
}

/// A server without the VIP, and without anybody who listens.
pub fn bare() -> MadeUp {
    let host = well().link(1, "lo", 65536).link(2, "eth0", 1500).address("192.0.2.11/24", 2);
    host.route("192.0.2.0/24", 2, None).route("0.0.0.0/0", 2, Some(32))
}

/// A front-end on which nothing is wrong.
pub fn front() -> MadeUp {
    let host = well().link(1, "lo", 65536).link(2, "eth0", 1500);
    host.address("192.0.2.1/24", 2).address("192.0.2.100/24", 2)
}
