//! Ports of the loopback that are kept for somebody, or for nobody.
//!
//! A port that the kernel gave and that was let go again is anybody's: on a busy machine the next
//! who asks for any port gets it, and a test of what happens where nobody listens finds somebody.

use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// A port of 127.0.0.1 that the kernel gives to nobody else while this lives.
///
/// It refuses connections until somebody listens on it, which all may who set `SO_REUSEADDR` and
/// name it, as servers do: Linux lets two such sockets share a port while at most one of them
/// listens, and counts it as taken when it chooses a port itself (`inet_csk_get_port`, Linux 6.18).
#[derive(Debug)]
pub struct Port {
    socket: OwnedFd,
    address: SocketAddr,
}

impl Port {
    /// A port that nobody uses.
    ///
    /// # Errors
    /// When the system has no socket or no port left.
    pub fn kept() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = SocketAddr::try_from(getsockname(&socket)?)?;
        Ok(Self { socket, address })
    }

    /// Where connections are refused until somebody listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address, kept until the process ends.
    pub fn for_ever(self) -> SocketAddr {
        // The descriptor stays open, on purpose, and the socket with it.
        std::mem::forget(self.socket);
        self.address
    }
}
