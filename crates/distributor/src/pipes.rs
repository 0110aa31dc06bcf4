//! Large bodies without copying them to user space: splice(2) through a pipe.

use rustix::pipe::{PipeFlags, SpliceFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// From how many remaining bytes on a body is spliced. Below, two system calls per piece cost more
/// than one copy.
pub(crate) const SPLICE_BYTES_MIN: u64 = 32 * 1024;

/// What one pipe holds: as much as an unprivileged process may ask for.
const PIPE_BYTES: usize = 1024 * 1024;

/// Idle pipes kept per worker: two descriptors each.
const PIPES_IDLE_MAX: usize = 64;

/// A pipe, and how many bytes are in it.
pub(crate) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    capacity: usize,
    /// Bytes taken from the one socket and not yet given to the other.
    pub(crate) held: usize,
    /// Whether behind those there are some that nobody gets.
    spoilt: bool,
}

/// Idle pipes of a worker.
#[derive(Default)]
pub(crate) struct Pipes {
    idle: Vec<Pipe>,
}

impl Pipes {
    /// An empty pipe.
    pub(crate) fn take(&mut self) -> io::Result<Pipe> {
        if let Some(pipe) = self.idle.pop() {
            return Ok(pipe);
        }
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
        // Over the user's share of pipe memory the kernel refuses: then the default size serves.
        let capacity = rustix::pipe::fcntl_setpipe_size(&write, PIPE_BYTES).unwrap_or(64 * 1024);
        Ok(Pipe { read, write, capacity, held: 0, spoilt: false })
    }

    /// Closes all.
    pub(crate) fn clear(&mut self) {
        self.idle.clear();
    }

    /// Keeps a pipe for later. One with bytes in it is of no use to anybody else.
    pub(crate) fn put(&mut self, pipe: Pipe) {
        if pipe.held == 0 && !pipe.spoilt && self.idle.len() < PIPES_IDLE_MAX {
            self.idle.push(pipe);
        }
    }
}

impl Pipe {
    /// Takes up to `most` bytes out of `socket`; zero is the end of its stream. Only for an empty
    /// pipe: then EAGAIN can only mean that the socket has nothing.
    pub(crate) fn fill(&mut self, socket: BorrowedFd<'_>, most: u64) -> io::Result<usize> {
        debug_assert_eq!(self.held, 0);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(self.capacity);
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let count = rustix::pipe::splice(socket, None, self.write.as_fd(), None, most, flags)?;
        self.held = count;
        Ok(count)
    }

    /// Keeps no more than `most` of what it holds; whether that was less than all.
    pub(crate) fn cut(&mut self, most: u64) -> bool {
        let over = self.held as u64 > most;
        if over {
            self.held = usize::try_from(most).expect("what is less than a length is one");
            self.spoilt = true;
        }
        over
    }

    /// Whether it could have taken more than `most` at once.
    pub(crate) fn takes_more_than(&self, most: u64) -> bool {
        self.capacity as u64 > most
    }

    /// Gives what the pipe holds to `socket`, as much as it takes; `more` says that more follows.
    pub(crate) fn drain(&mut self, socket: BorrowedFd<'_>, more: bool) -> io::Result<usize> {
        let mut flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        if more {
            flags |= SpliceFlags::MORE;
        }
        let count = rustix::pipe::splice(self.read.as_fd(), None, socket, None, self.held, flags)?;
        self.held -= count;
        Ok(count)
    }
}
