//! The byte-blind floor: what it costs on this machine to move the bytes, and nothing else.
//!
//! Each client gets a connection to the server of its own; whatever arrives on the one goes out on
//! the other. Nothing is read, chosen, counted, timed or kept, so a relay in user space that does
//! more can hardly cost less. Replies that are large stay in the kernel (splice).

use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

/// What is read at once, and what a pipe holds: as Baton has them.
const READ_BYTES: usize = 64 << 10;
const PIPE_BYTES: usize = 1 << 20;
/// Events taken at once.
const EVENTS_MAX: usize = 1024;
/// The token of the listener. Those of connections are twice their pair's number, and one more for
/// the server's end.
const DOOR: u64 = u64::MAX;

/// A client and its server.
struct Pair {
    client: TcpStream,
    server: TcpStream,
    up: Way,
    down: Way,
}

/// One direction: what was taken from the one end and not yet by the other.
enum Way {
    Copy { owed: Vec<u8> },
    Splice { read: OwnedFd, write: OwnedFd, held: usize },
}

/// How moving bytes ended.
enum Moved {
    /// All that was there has been passed on.
    All,
    /// The receiver has no room.
    Stuck,
    /// One of the two is gone.
    Gone,
}

impl Way {
    fn copy() -> Self {
        Self::Copy { owed: Vec::new() }
    }

    fn splice() -> Result<Self> {
        let (read, write) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
        fcntl_setpipe_size(&write, PIPE_BYTES).context("a pipe of 1 MB")?;
        Ok(Self::Splice { read, write, held: 0 })
    }

    /// Takes what is there, once, and passes it on.
    fn carry(&mut self, from: &TcpStream, to: &TcpStream, buffer: &mut [u8]) -> Moved {
        match self {
            Self::Copy { owed } => match recv(from, &mut *buffer, RecvFlags::empty()) {
                Ok((count, _)) if count > 0 => {
                    let sent = match send(to, &buffer[..count], SendFlags::NOSIGNAL) {
                        Ok(sent) => sent,
                        Err(Errno::AGAIN) => 0,
                        Err(_) => return Moved::Gone,
                    };
                    owed.extend_from_slice(&buffer[sent..count]);
                    if owed.is_empty() { Moved::All } else { Moved::Stuck }
                }
                Err(Errno::AGAIN) => Moved::All,
                _ => Moved::Gone,
            },
            Self::Splice { write, held, .. } => {
                let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
                match splice(from, None, write, None, PIPE_BYTES, flags) {
                    Ok(count) if count > 0 => {
                        *held += count;
                        self.flush(to)
                    }
                    Err(Errno::AGAIN) => Moved::All,
                    _ => Moved::Gone,
                }
            }
        }
    }

    /// Passes on what was left.
    fn flush(&mut self, to: &TcpStream) -> Moved {
        loop {
            let (moved, left) = match self {
                Self::Copy { owed } if owed.is_empty() => return Moved::All,
                Self::Copy { owed } => {
                    let sent = send(to, owed, SendFlags::NOSIGNAL);
                    owed.drain(..*sent.as_ref().unwrap_or(&0));
                    (sent, owed.len())
                }
                Self::Splice { held: 0, .. } => return Moved::All,
                Self::Splice { read, held, .. } => {
                    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
                    let sent = splice(read, None, to, None, *held, flags);
                    *held -= *sent.as_ref().unwrap_or(&0);
                    (sent, *held)
                }
            };
            match moved {
                Ok(_) if left == 0 => return Moved::All,
                Ok(_) => {}
                Err(Errno::AGAIN) => return Moved::Stuck,
                Err(_) => return Moved::Gone,
            }
        }
    }
}

/// Relays from `address` to `origin` until it is killed; with `large`, replies are spliced.
pub fn run(address: SocketAddr, origin: SocketAddr, large: bool) -> Result<()> {
    let door = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    door.set_nonblocking(true)?;
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &door, EventData::new_u64(DOOR), EventFlags::IN)?;
    let mut pairs: Vec<Option<Pair>> = Vec::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut events = Vec::with_capacity(EVENTS_MAX);
    loop {
        events.clear();
        match epoll::wait(&poll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        for event in &events {
            let token = event.data.u64();
            if token == DOOR {
                while let Ok((client, _)) = door.accept() {
                    pairs.push(Some(join(&poll, pairs.len(), client, origin, large)?));
                }
                continue;
            }
            // Both ends of a pair that is gone may have had something to say.
            let Some(Some(pair)) = pairs.get_mut(usize::try_from(token / 2)?) else { continue };
            if !serve(&poll, pair, token, event.flags, &mut buffer)? {
                pairs[usize::try_from(token / 2)?] = None;
            }
        }
    }
}

fn join(
    poll: &OwnedFd,
    number: usize,
    client: TcpStream,
    origin: SocketAddr,
    large: bool,
) -> Result<Pair> {
    let server = TcpStream::connect(origin)?;
    for (end, side) in [(&client, 0), (&server, 1)] {
        end.set_nonblocking(true)?;
        end.set_nodelay(true)?;
        let token = EventData::new_u64(2 * number as u64 + side);
        epoll::add(poll, end, token, EventFlags::IN)?;
    }
    let down = if large { Way::splice()? } else { Way::copy() };
    Ok(Pair { client, server, up: Way::copy(), down })
}

/// Does what an event of one end asks for; false when the pair has ended.
fn serve(
    poll: &OwnedFd,
    pair: &mut Pair,
    token: u64,
    flags: EventFlags,
    buffer: &mut [u8],
) -> Result<bool> {
    let Pair { client, server, up, down } = pair;
    let of_server = token % 2 == 1;
    let (this, other) = if of_server { (server, client) } else { (client, server) };
    let (out, back) = if of_server { (down, up) } else { (up, down) };
    let wants = |end: &TcpStream, token: u64, flags: EventFlags| {
        epoll::modify(poll, end.as_fd(), EventData::new_u64(token), flags)
    };
    if flags.contains(EventFlags::OUT) {
        match back.flush(this) {
            Moved::All => {
                wants(this, token, EventFlags::IN)?;
                wants(other, token ^ 1, EventFlags::IN)?;
            }
            Moved::Stuck => {}
            Moved::Gone => return Ok(false),
        }
    }
    if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
        match out.carry(this, other, buffer) {
            Moved::All => {}
            Moved::Stuck => {
                // Nothing more from here until the other has room.
                wants(this, token, EventFlags::empty())?;
                wants(other, token ^ 1, EventFlags::IN | EventFlags::OUT)?;
            }
            Moved::Gone => return Ok(false),
        }
    }
    Ok(true)
}
