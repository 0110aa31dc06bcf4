//! One connection: a socket that never blocks, and the exchange that is under way on it.
//!
//! It is watched edge-triggered from its beginning to its end, for both directions, so that a
//! request costs one write, one read and its share of a wait. Reads go into one large buffer that
//! all connections of a thread share; only what belongs to a head not yet whole is kept.

use super::table::Key;
use crate::Cause;
use crate::reply::{Fault, Reply};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use std::collections::VecDeque;
use std::net::SocketAddr;
use wire::http::Limits;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It is being opened.
    Opening,
    /// It can be or is used.
    Open,
    /// All is said; the server is to close first, so that the port of a client that opens many
    /// connections is free again at once.
    Leaving,
}

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) socket: OwnedFd,
    /// Whose it is.
    pub(crate) user: Key,
    pub(crate) phase: Phase,
    /// Whether a reply has come on it.
    pub(crate) used: bool,
    /// Whether the server sends no more than what it has sent.
    pub(crate) gone: bool,
    /// Whether it is among those of which not all was read.
    pub(crate) unread: bool,
    /// By which tick something must have happened.
    pub(crate) late_at: u32,
    pub(crate) exchange: Option<Box<Exchange>>,
}

/// Requests on their way, and the reply that is being read.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Their numbers in the page; the first one is being answered.
    pub(crate) asks: VecDeque<u32>,
    pub(crate) reply: Reply,
    /// When the first byte was sent; 0: not yet.
    pub(crate) sent_ns: u64,
    /// Whether a reply has come.
    pub(crate) replied: bool,
    /// Heads to be sent, and how much of them has been.
    pub(crate) out: Vec<u8>,
    pub(crate) written: usize,
    /// Bytes that came and are not used yet.
    pub(crate) held: Vec<u8>,
}

/// What a write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    Done,
    Blocked,
}

impl Conn {
    /// Begins to open a connection for `user`; the kernel's answer comes as an event.
    pub(crate) fn open(address: SocketAddr, user: Key) -> Result<Self, Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        // The requests of a page are small and follow each other: none may wait for another.
        rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        let phase = Phase::Opening;
        let (used, gone, unread) = (false, false, false);
        Ok(Self { socket, user, phase, used, gone, unread, late_at: u32::MAX, exchange: None })
    }

    /// Whether a request can be sent on it now.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.exchange.is_none()
    }

    /// Sends what is to be sent.
    pub(crate) fn flush(&mut self) -> Result<Flushed, Errno> {
        let Some(exchange) = &mut self.exchange else { return Ok(Flushed::Done) };
        while exchange.written < exchange.out.len() {
            let left = &exchange.out[exchange.written..];
            match retry_on_intr(|| rustix::net::send(&self.socket, left, SendFlags::NOSIGNAL)) {
                Ok(bytes) => exchange.written += bytes,
                Err(Errno::AGAIN) => return Ok(Flushed::Blocked),
                Err(error) => return Err(error),
            }
        }
        Ok(Flushed::Done)
    }
}

impl Exchange {
    pub(crate) fn new() -> Self {
        Self {
            asks: VecDeque::new(),
            reply: Reply::new(super::worker::GET),
            sent_ns: 0,
            replied: false,
            out: Vec::new(),
            written: 0,
            held: Vec::new(),
        }
    }

    /// Forgets all; keeps its memory, if that is little.
    pub(crate) fn clear(&mut self) {
        /// Memory kept for heads and the like.
        const KEPT_BYTES: usize = 4096;
        self.asks.clear();
        self.out.clear();
        self.out.shrink_to(KEPT_BYTES);
        self.held.clear();
        self.held.shrink_to(KEPT_BYTES);
        (self.sent_ns, self.replied, self.written) = (0, false, 0);
    }

    /// Whether nothing of the reply that is due has come.
    pub(crate) fn is_untouched(&self) -> bool {
        self.reply.status == 0 && self.held.is_empty()
    }

    /// Shows the reply what came, from `at` on, behind what was held; holds what it does not use
    /// yet, unless it is done. How far `came` is used.
    pub(crate) fn feed(
        &mut self,
        came: &[u8],
        limits: &Limits,
        check: &mut impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<usize, Fault> {
        if self.held.is_empty() {
            let used = self.reply.feed(came, limits, check)?;
            if !self.reply.done() {
                self.held.extend_from_slice(&came[used..]);
                return Ok(came.len());
            }
            return Ok(used);
        }
        let before = self.held.len();
        self.held.extend_from_slice(came);
        let used = self.reply.feed(&self.held, limits, check)?;
        if self.reply.done() {
            self.held.clear();
            // What was held was not enough, so the end lies in what came.
            return Ok(used - before);
        }
        self.held.drain(..used);
        Ok(came.len())
    }
}

/// Why no connection could be opened, with what helps.
pub(crate) fn refused(error: Errno) -> Fault {
    let text = std::io::Error::from(error);
    let hint = match error {
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => {
            "; no port is free: those of closed connections stay taken for a minute; open fewer, \
             widen net.ipv4.ip_local_port_range or give the server more addresses"
        }
        Errno::MFILE => "; this process may open no more files: raise `ulimit -n`",
        Errno::NFILE => "; the system may open no more files: raise fs.file-max",
        Errno::NOBUFS | Errno::NOMEM => "; the system has no memory for sockets",
        _ => "",
    };
    let cause = match error {
        // The kernel's patience was shorter than ours.
        Errno::TIMEDOUT => Cause::Timeout,
        _ if hint.is_empty() => Cause::Connect,
        _ => Cause::Client,
    };
    Fault::new(cause, format!("{text}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_lacks_is_named_with_what_helps() {
        for (error, word) in [
            (Errno::ADDRNOTAVAIL, "ip_local_port_range"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::NFILE, "fs.file-max"),
        ] {
            let fault = refused(error);
            assert_eq!(fault.cause, Cause::Client, "the server had no part in it");
            assert!(fault.detail.contains(word), "{}", fault.detail);
        }
        assert_eq!(refused(Errno::TIMEDOUT).cause, Cause::Timeout, "who waits is to count");
        let fault = refused(Errno::CONNREFUSED);
        assert!(fault.cause == Cause::Connect && !fault.detail.contains(';'));
    }
}
