//! One way of a connection that the kernel moves: what is left to do for user space.
//!
//! That is the end of the stream, which must not overtake bytes that the kernel has still to send,
//! and bytes that the kernel did not take because the receiver is too slow: they are sent on here,
//! behind those that it took.

use crate::splice::{Joined, Way};
use crate::worker::Worker;
use core::time::Duration;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, sockopt};
use std::io;
use std::os::fd::BorrowedFd;

/// Buffers of bytes sent on before others get their turn.
const STEPS_MAX: usize = 64;

/// One way.
pub(crate) struct Lane<'f> {
    way: Way,
    from: BorrowedFd<'f>,
    to: BorrowedFd<'f>,
    /// Bytes that are to be sent on, and how many of them have been.
    pub(crate) held: Vec<u8>,
    sent: usize,
    /// Whether the kernel's own bytes are out of the way of those held.
    clear: bool,
    /// Bytes that were sent on in all.
    pub(crate) taken: u64,
    /// Bytes that the kernel moved, and left to us, as last seen.
    pub(crate) moved: u64,
    pub(crate) passed: u64,
    /// How long ago something came.
    pub(crate) silent: Duration,
    /// Whether the sender has ended, and whether the receiver has been told.
    ended: bool,
    pub(crate) told: bool,
}

/// What it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Whatever comes.
    Any,
    /// Something of which nobody tells: looking again soon.
    Room,
    /// Nothing: the stream has ended at both ends.
    Over,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Snapped {
    /// The sender failed.
    From,
    /// The receiver failed.
    To,
    /// Bytes are lost.
    Lost,
}

impl<'f> Lane<'f> {
    /// A way on which `held` is to be sent first.
    pub(crate) fn new(way: Way, from: BorrowedFd<'f>, to: BorrowedFd<'f>, held: Vec<u8>) -> Self {
        let silent = Duration::ZERO;
        let (sent, taken, moved, passed) = (0, 0, 0, held.len() as u64);
        let (clear, ended, told) = (true, false, false);
        Self { way, from, to, held, sent, clear, taken, moved, passed, silent, ended, told }
    }

    /// Does what can be done now.
    pub(crate) fn step(&mut self, joined: &dyn Joined, worker: &Worker) -> Result<Wait, Snapped> {
        for _ in 0..STEPS_MAX {
            if self.sent < self.held.len() && !self.send_on(joined)? {
                return Ok(Wait::Room);
            }
            self.look(joined)?;
            if self.ended {
                return self.end(joined);
            }
            let mut scratch = worker.scratch.borrow_mut();
            match recv(self.from, &mut scratch[..], RecvFlags::DONTWAIT) {
                // What came before the end has been moved by now: the state has to be read again.
                Ok((_, 0)) => self.ended = true,
                Ok((_, count)) => {
                    self.held.extend_from_slice(&scratch[..count]);
                    self.clear = false;
                }
                // They are still behind what the kernel sends the other way.
                Err(Errno::AGAIN) if self.passed > self.taken => return Ok(Wait::Room),
                Err(Errno::AGAIN) => return Ok(Wait::Any),
                Err(Errno::INTR) => {}
                Err(_) => return Err(Snapped::From),
            }
        }
        Ok(Wait::Room)
    }

    /// Reads how it stands.
    pub(crate) fn look(&mut self, joined: &dyn Joined) -> Result<(), Snapped> {
        let half = joined.half(self.way).map_err(|_| Snapped::Lost)?;
        (self.moved, self.passed, self.silent) = (half.moved, half.passed, half.silent);
        if half.broken { Err(Snapped::Lost) } else { Ok(()) }
    }

    /// Whether nothing came but `owed` bytes that were there before.
    pub(crate) fn is_only(&self, owed: usize) -> bool {
        self.moved == 0 && self.passed == owed as u64
    }

    /// Bytes that went this way.
    pub(crate) fn bytes(&self) -> u64 {
        self.moved + self.taken
    }

    /// A number that changes whenever the receiver took something or anything came.
    pub(crate) fn mark(&self, joined: &dyn Joined) -> u64 {
        let acknowledged = joined.acknowledged(self.to).unwrap_or(0);
        self.moved.wrapping_add(self.passed).wrapping_add(self.taken).wrapping_add(acknowledged)
    }

    /// Whether all that came is in the receiver's socket.
    pub(crate) fn drained(&self, joined: &dyn Joined) -> Result<bool, Snapped> {
        // The end of the stream counts as a byte; it is behind all others.
        let written = joined.written(self.way, self.to).map_err(|_| Snapped::To)?;
        Ok(self.passed == self.taken && written >= self.bytes())
    }

    /// Sends on what is held. Whether all of it went.
    fn send_on(&mut self, joined: &dyn Joined) -> Result<bool, Snapped> {
        if !self.clear {
            let written = joined.written(self.way, self.to).map_err(|_| Snapped::To)?;
            if written < self.bytes() {
                return Ok(false);
            }
            self.clear = true;
        }
        while self.sent < self.held.len() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match send(self.to, &self.held[self.sent..], flags) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(_) => return Err(Snapped::To),
            }
        }
        self.taken += self.held.len() as u64;
        self.held.clear();
        self.sent = 0;
        joined.take(self.way, self.taken).map_err(|_| Snapped::Lost)?;
        Ok(true)
    }

    /// Tells the receiver of the end, once it has all that came before.
    fn end(&mut self, joined: &dyn Joined) -> Result<Wait, Snapped> {
        // Nobody reads there any more, who would be told.
        if !matches!(sockopt::socket_error(self.from), Ok(Ok(()))) {
            return Err(Snapped::From);
        }
        if self.told {
            return Ok(Wait::Over);
        }
        if !self.drained(joined)? {
            return Ok(Wait::Room);
        }
        self.told = true;
        match rustix::net::shutdown(self.to, Shutdown::Write) {
            Ok(()) => Ok(Wait::Over),
            Err(_) => Err(Snapped::To),
        }
    }
}

/// What is left in a socket after reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// Nothing, for now.
    Dry,
    /// Nothing, and nothing will come.
    Ended,
    /// More than was wanted.
    Over,
}

/// Reads all that is there now behind `inbox`, until that is longer than `most`.
pub(crate) fn drain(
    socket: BorrowedFd<'_>,
    inbox: &mut Vec<u8>,
    most: usize,
    worker: &Worker,
) -> io::Result<Drained> {
    let mut scratch = worker.scratch.borrow_mut();
    while inbox.len() <= most {
        match recv(socket, &mut scratch[..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Ok(Drained::Ended),
            Ok((_, count)) => inbox.extend_from_slice(&scratch[..count]),
            Err(Errno::AGAIN) => return Ok(Drained::Dry),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(Drained::Over)
}
