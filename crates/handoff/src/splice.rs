//! Splice: two sockets of this machine joined in the kernel (`bpf/splice.bpf.c`).
//!
//! The papers' two-way delivery in the kernel, here for the comparison. What the kernel cannot do
//! is left to whoever joins: ends of streams, errors, and bytes for a receiver that is too slow.
//! It sleeps until a bell rings: this crate's thread watches all sockets that are joined for their
//! end, and nothing else wakes it. (A reactor that waits for something to read would be woken by
//! each segment that is redirected past it.)

use crate::bells::Bells;
use crate::object::{Loaded, Plan, get, put};
use crate::{Error, now_ns, sys};
use libbpf_rs::MapCore;
use rustix::net::sockopt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// Receive buffer of a joined socket, bytes: what piles up in it while user space sends on, less
/// than `HELD_MAX` of the program. The kernel doubles it, for its own needs.
const RECEIVE_BUFFER_BYTES: usize = 2 << 20;

/// `struct half`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
struct Row {
    moved: u64,
    passed: u64,
    taken: u64,
    base: u64,
    written: u64,
    at_ns: u64,
    pieces: u32,
    broken: u32,
}

const _: () = assert!(size_of::<Row>() == 56);

/// Joins sockets. When it is dropped, or its process dies, nothing of it is left.
pub struct Splice {
    kernel: Arc<Loaded>,
    bells: Arc<Bells>,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// One way of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// Bytes that the kernel moved.
    pub moved: u64,
    /// Bytes that it left to user space, with those that user space had before.
    pub passed: u64,
    /// How long ago something came; since the pair was made, if nothing did.
    pub silent: Duration,
    /// Bytes were lost: the connection must be cut.
    pub broken: bool,
}

/// Two sockets that are joined, until this is dropped.
pub struct Pair {
    kernel: Arc<Loaded>,
    bells: Arc<Bells>,
    /// Cookies of the client's socket and of the server's.
    cookies: [u64; 2],
    /// What either had sent before it was joined, as its receivers acknowledged it.
    bases: [u64; 2],
    bell: u32,
    began_ns: u64,
}

impl Splice {
    /// Loads the program, for `pairs_max` pairs at once.
    ///
    /// # Errors
    /// What the machine lacks.
    pub fn load(pairs_max: u32) -> Result<Self, Error> {
        let sockets = pairs_max.saturating_mul(2).max(2);
        let plan = Plan {
            name: "splice",
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/splice.bpf.o")),
            site: &[],
            pins: Path::new("/sys/fs/bpf"),
            pinned: &[],
            sizes: &[("halves", sockets), ("taken", sockets), ("ends", sockets)],
        };
        let mut kernel = Loaded::load(&plan)?;
        kernel.attach_to_sockets("splice", "ends")?;
        let kernel = Arc::new(kernel);
        let bells =
            Bells::hang(&kernel).map_err(|cause| Error::system("cannot watch sockets", cause))?;
        Ok(Self { kernel, bells })
    }

    /// Joins a client's socket and a server's. All that was received before must have been read;
    /// `owed` bytes of it are for the server and go there before what comes now, by the caller,
    /// who tells it by [`Pair::take`]. Both sockets must be nonblocking.
    ///
    /// # Errors
    /// The system's. Then they are as they were.
    pub fn join(
        &self,
        client: BorrowedFd<'_>,
        server: BorrowedFd<'_>,
        owed: u64,
    ) -> io::Result<Pair> {
        for socket in [client, server] {
            sockopt::set_socket_recv_buffer_size_force(socket, RECEIVE_BUFFER_BYTES)?;
            sockopt::set_tcp_nodelay(socket, true)?;
        }
        let cookies = [sockopt::socket_cookie(client)?, sockopt::socket_cookie(server)?];
        let bases = [written_exactly(client)?, written_exactly(server)?];
        let bell = self.bells.add(cookies);
        // From here on, dropping it undoes what was done.
        let (kernel, bells) = (Arc::clone(&self.kernel), Arc::clone(&self.bells));
        let pair = Pair { kernel, bells, cookies, bases, bell, began_ns: now_ns() };
        let [from_client, from_server] = cookies;
        let up = Row { passed: owed, base: bases[1], ..Row::default() };
        let down = Row { base: bases[0], ..Row::default() };
        pair.put("halves", from_client, &up)?;
        pair.put("halves", from_server, &down)?;
        // A server does not speak before it is asked: it may be there first.
        pair.put("ends", from_client, &server.as_raw_fd())?;
        pair.put("ends", from_server, &client.as_raw_fd())?;
        self.bells.listen(bell, client)?;
        self.bells.listen(bell, server)?;
        Ok(pair)
    }

    /// Entries in the kernel's tables: two for each pair, and one more for each that user space has
    /// sent something for.
    pub fn entries(&self) -> usize {
        ["halves", "taken"].iter().map(|map| self.kernel.map(map).keys().count()).sum()
    }
}

impl Drop for Splice {
    fn drop(&mut self) {
        self.bells.stop();
    }
}

impl Pair {
    /// How one way of it stands.
    ///
    /// # Errors
    /// It was not joined any more: not as long as it lives.
    pub fn half(&self, way: Way) -> io::Result<Half> {
        let row: Option<Row> = get(self.kernel.map("halves"), &self.cookies[way as usize]);
        let row = row.ok_or(io::ErrorKind::NotFound)?;
        // Nothing came yet, or so soon that the program's coarser clock had not moved on.
        let at_ns = row.at_ns.max(self.began_ns);
        let silent = Duration::from_nanos(now_ns().saturating_sub(at_ns));
        Ok(Half { moved: row.moved, passed: row.passed, silent, broken: row.broken != 0 })
    }

    /// Tells that of the bytes passed `taken` in all have been sent on. Once that is all of them,
    /// the kernel moves what comes.
    ///
    /// # Errors
    /// The system's.
    pub fn take(&self, way: Way, taken: u64) -> io::Result<()> {
        self.put("taken", self.cookies[way as usize], &taken)
    }

    /// Bytes that were given to the receiver's socket since it was joined, by the kernel or by user
    /// space; perhaps less than it is, never more. Not after its stream was ended.
    ///
    /// # Errors
    /// The system's.
    pub fn written(&self, way: Way, receiver: BorrowedFd<'_>) -> io::Result<u64> {
        let base = match way {
            Way::Up => self.bases[1],
            Way::Down => self.bases[0],
        };
        Ok(written(receiver)?.saturating_sub(base))
    }

    /// Bytes that the receiver ever acknowledged.
    ///
    /// # Errors
    /// The system's.
    pub fn acknowledged(&self, receiver: BorrowedFd<'_>) -> io::Result<u64> {
        Ok(sys::bytes_acked(receiver)?)
    }

    /// Has `waker` woken when either socket is at its end or fails, or user space has bytes to send
    /// on. Also some milliseconds from now, if `soon`: for what nothing else would tell.
    pub fn wake(&self, waker: &Waker, soon: bool) {
        self.bells.expect(self.bell, waker, soon);
    }

    fn put<V: bytemuck::Pod>(&self, map: &str, cookie: u64, value: &V) -> io::Result<()> {
        put(self.kernel.map(map), &cookie, value).map_err(|error| match error {
            Error::System { cause, .. } => cause,
            other => io::Error::other(other),
        })
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for cookie in self.cookies {
            for map in ["ends", "halves", "taken"] {
                // What was never there, or went with its socket, is no matter.
                let _gone = self.kernel.map(map).delete(&cookie.to_ne_bytes());
            }
        }
        self.bells.remove(self.bell, self.cookies);
    }
}

/// Bytes ever given to a socket. What is acknowledged between the two looks counts twice as little,
/// not twice: it may be less than it is, never more.
fn written(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let acknowledged = sys::bytes_acked(socket)?;
    Ok(acknowledged + sys::bytes_unacknowledged(socket)?)
}

/// The same, exactly: nothing was acknowledged between the two looks.
fn written_exactly(socket: BorrowedFd<'_>) -> io::Result<u64> {
    loop {
        let before = sys::bytes_acked(socket)?;
        let sum = written(socket)?;
        if sys::bytes_acked(socket)? == before {
            return Ok(sum);
        }
    }
}
