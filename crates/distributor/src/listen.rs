//! Listening sockets: one per worker and address, joined by SO_REUSEPORT.

use crate::sys;
use core::time::Duration;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;

/// How long the kernel keeps a silent new connection before handing it over all the same.
const DEFER_PATIENCE: Duration = Duration::from_secs(10);

/// An address to accept clients on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The name given in the configuration, for logs and metrics.
    pub name: Box<str>,
    /// Where to listen. Port 0 lets the kernel choose.
    pub address: SocketAddr,
    /// Connections the kernel may hold for us.
    pub backlog: u32,
    /// Whether to be woken only when the first byte has arrived.
    pub defer_accept: bool,
    /// Congestion control of accepted connections; the system's default when `None`.
    pub congestion: Option<Box<str>>,
}

impl Listen {
    /// Clear text HTTP on `address` with the usual options.
    pub fn new(name: &str, address: SocketAddr) -> Self {
        let (defer_accept, congestion) = (true, None);
        Self { name: name.into(), address, backlog: 4096, defer_accept, congestion }
    }

    /// Opens `count` sockets on the address, one for each worker. With port 0 all get the port
    /// that the first was given.
    ///
    /// # Errors
    /// The system's, for example that another program has the address, or that the congestion
    /// control is not available.
    pub fn open(&self, count: usize) -> io::Result<Vec<TcpListener>> {
        let mut address = self.address;
        let mut sockets = Vec::with_capacity(count);
        match self.refuse_taken(address) {
            // "Every address" on a machine without IPv6 is every address of IPv4.
            Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && lacks_ipv6(&error) => {
                let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
                return Self { address, ..self.clone() }.open(count);
            }
            result => result?,
        }
        for _ in 0..count {
            let socket = self.socket()?;
            socket.bind(&address.into())?;
            socket.listen(i32::try_from(self.backlog).unwrap_or(i32::MAX))?;
            let listener = TcpListener::from(socket);
            address = listener.local_addr()?;
            sockets.push(listener);
        }
        Ok(sockets)
    }

    /// SO_REUSEPORT would let a second switch of the same user join silently and take half of the
    /// clients. So first bind without it, which fails when anybody listens there.
    fn refuse_taken(&self, address: SocketAddr) -> io::Result<()> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&address.into())?;
        if address.port() == 0 {
            return Ok(());
        }
        socket.listen(1)
    }

    fn socket(&self) -> io::Result<Socket> {
        let domain = Domain::for_address(self.address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        if domain == Domain::IPV6 {
            socket.set_only_v6(false)?;
        }
        // Accepted sockets inherit both from the listener: no system call per connection.
        socket.set_tcp_nodelay(true)?;
        if let Some(congestion) = &self.congestion {
            socket.set_tcp_congestion(congestion.as_bytes())?;
        }
        if self.defer_accept {
            sys::defer_accept(socket.as_fd(), DEFER_PATIENCE)?;
        }
        socket.set_nonblocking(true)?;
        Ok(socket)
    }
}

fn lacks_ipv6(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    errno == Some(libc::EAFNOSUPPORT) || errno == Some(libc::EADDRNOTAVAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> Listen {
        Listen::new("test", SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    #[test]
    fn every_worker_gets_a_socket_on_the_same_port() {
        let sockets = any().open(3).unwrap();
        let ports: Vec<_> = sockets.iter().map(|s| s.local_addr().unwrap().port()).collect();
        assert_eq!(ports, [ports[0]; 3]);
    }

    #[test]
    fn every_address_is_open_to_clients_of_ipv4() {
        let everywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        let sockets = Listen::new("test", everywhere).open(1).unwrap();
        let port = sockets[0].local_addr().unwrap().port();
        std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    }

    #[test]
    fn a_port_in_use_is_refused_even_to_another_switch() {
        let first = any().open(1).unwrap();
        let second = Listen { address: first[0].local_addr().unwrap(), ..any() };
        assert_eq!(second.open(1).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn an_unknown_congestion_control_is_an_error() {
        let listen = Listen { congestion: Some("no-such".into()), ..any() };
        assert!(listen.open(1).is_err());
    }
}
