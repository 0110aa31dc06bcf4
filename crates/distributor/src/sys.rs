//! What no library wraps safely: the only unsafe lines of the relay.

#![allow(unsafe_code, reason = "each block says why it is sound")]

use core::time::Duration;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the reactor of this thread, to be told when there is something to
/// take from it.
pub(crate) fn readiness(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd keeps the same descriptor open until it is dropped, and the AsyncFd owns
    // the OwnedFd.
    Ok(unsafe { AsyncFd::register(fd) }?)
}

/// Lets the kernel keep a new connection to itself until its first byte arrives (Linux
/// `TCP_DEFER_ACCEPT`, tcp(7)): `accept` then never returns a connection with nothing to read,
/// which saves a wake-up and a system call for each. After `patience` an idle one is handed over.
pub(crate) fn defer_accept(listener: BorrowedFd<'_>, patience: Duration) -> io::Result<()> {
    let seconds = libc::c_int::try_from(patience.as_secs().max(1)).unwrap_or(libc::c_int::MAX);
    let length = size_of_val(&seconds) as libc::socklen_t;
    // SAFETY: the descriptor is borrowed for the call, and the pointer and length describe one
    // live c_int, which is what tcp(7) asks of TCP_DEFER_ACCEPT.
    let result = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
