//! The client: closed loops over many connections, each of which asks again as soon as it is
//! answered.
//!
//! It is not wrk because wrk's scripts do not know their connection, and what has to move is a
//! connection: with two URLs in turn over 16 connections about half of the requests would stay.
//! For each request it makes the system calls that wrk makes (one epoll_ctl to wait until the
//! socket takes a request, one to wait for the reply, a write, a read), so its figures are about
//! wrk's; the output says how close. Replies must have status 200 and the right length; whether
//! their bytes are right is seen before (`check`).

use anyhow::{Context, Result, bail, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
    sockopt,
};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

/// Threads, as many as the machine has CPUs.
pub const THREADS: usize = 2;
/// Connections of each thread.
pub const CONNECTIONS: usize = 16;

/// What is read at once.
const READ_BYTES: usize = 64 << 10;
/// A head that is longer is none.
const HEAD_BYTES_MAX: usize = 4096;
/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(2);
const STATUS_GOOD: &[u8] = b"HTTP/1.1 200 ";

/// What is to be done.
#[derive(clap::Args)]
pub struct Order {
    /// Where to connect.
    pub address: SocketAddr,
    /// Bytes of each reply's body.
    pub bytes: usize,
    /// For how long, in milliseconds.
    pub run_ms: u64,
    /// Paths asked for over a connection; from the second on they come round again.
    #[arg(required = true)]
    pub paths: Vec<String>,
    /// One request a connection.
    #[arg(long)]
    pub close: bool,
}

/// A connection.
struct Link {
    socket: OwnedFd,
    /// Requests sent on it.
    sent: usize,
    since: Instant,
    /// The part of a head that has come; empty once it was whole.
    head: Vec<u8>,
    /// Bytes of the body that are to come; `None` before the end of the head.
    left: Option<usize>,
}

/// What one thread saw.
#[derive(Default)]
struct Seen {
    latencies_us: Vec<u32>,
    bytes: u64,
}

/// Asks until the time is over and prints what it saw as one line.
pub fn run(order: &Order) -> Result<()> {
    let begin = Instant::now();
    let end = begin + Duration::from_millis(order.run_ms);
    let requests: Vec<Vec<u8>> = order.paths.iter().map(|path| head(path, order.close)).collect();
    let work = || Loop::new(order, &requests)?.run(end);
    let seen: Vec<Result<Seen>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|seen| seen.unwrap_or_else(|_| bail!("a thread panicked"))).collect()
    });
    let duration_us = begin.elapsed().as_micros();
    let mut all = Seen::default();
    for seen in seen {
        let seen = seen?;
        all.latencies_us.extend(seen.latencies_us);
        all.bytes += seen.bytes;
    }
    all.latencies_us.sort_unstable();
    let count = all.latencies_us.len();
    let share = |percent: usize| all.latencies_us.get(count * percent / 100).copied().unwrap_or(0);
    println!(
        "summary requests={count} duration_us={duration_us} bytes={} p50_us={} p99_us={}",
        all.bytes,
        share(50),
        share(99)
    );
    Ok(())
}

/// The request for a path.
pub fn head(path: &str, close: bool) -> Vec<u8> {
    let close = if close { "Connection: close\r\n" } else { "" };
    format!("GET {path} HTTP/1.1\r\nHost: bed\r\n{close}\r\n").into_bytes()
}

/// The connections of one thread.
struct Loop<'a> {
    order: &'a Order,
    requests: &'a [Vec<u8>],
    poll: OwnedFd,
    links: Vec<Link>,
    seen: Seen,
    buffer: Vec<u8>,
}

impl<'a> Loop<'a> {
    fn new(order: &'a Order, requests: &'a [Vec<u8>]) -> Result<Self> {
        let poll = epoll::create(CreateFlags::CLOEXEC)?;
        let links = (0..CONNECTIONS as u64).map(|number| open(order.address, &poll, number));
        let links = links.collect::<Result<_>>()?;
        let (seen, buffer) = (Seen::default(), vec![0; READ_BYTES]);
        Ok(Self { order, requests, poll, links, seen, buffer })
    }

    fn run(mut self, end: Instant) -> Result<Seen> {
        let patience = Timespec { tv_sec: PATIENCE.as_secs().try_into()?, tv_nsec: 0 };
        let mut events = Vec::with_capacity(CONNECTIONS);
        while Instant::now() < end {
            events.clear();
            match epoll::wait(&self.poll, spare_capacity(&mut events), Some(&patience)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            ensure!(!events.is_empty(), "no reply within {PATIENCE:?}");
            for event in &events {
                // The kernel's struct is packed: fields are copied out.
                let (number, flags) = (event.data.u64(), event.flags);
                if flags.contains(EventFlags::OUT) {
                    self.ask(number)?;
                } else {
                    self.listen(number)?;
                }
            }
        }
        let late = self.links.iter().filter(|link| link.since.elapsed() > PATIENCE).count();
        ensure!(late == 0, "{late} connections have waited longer than {PATIENCE:?} for a reply");
        Ok(self.seen)
    }

    /// The socket takes a request.
    fn ask(&mut self, number: u64) -> Result<()> {
        let link = &mut self.links[number as usize];
        sockopt::socket_error(&link.socket)?.context("no connection")?;
        let turn = match link.sent {
            0 => 0,
            // `0 1 2 1 2` of three: the first is who is handed the connection.
            sent => 1 + (sent - 1) % (self.requests.len() - 1).max(1),
        };
        let request = &self.requests[turn.min(self.requests.len() - 1)];
        link.since = Instant::now();
        link.sent += 1;
        link.left = None;
        let sent = send(&link.socket, request, SendFlags::NOSIGNAL).context("cannot ask")?;
        ensure!(sent == request.len(), "a request of {sent} bytes was taken in part");
        epoll::modify(&self.poll, &link.socket, EventData::new_u64(number), EventFlags::IN)?;
        Ok(())
    }

    /// There is something to read.
    fn listen(&mut self, number: u64) -> Result<()> {
        let link = &mut self.links[number as usize];
        let count = match recv(&link.socket, &mut *self.buffer, RecvFlags::empty()) {
            Ok((count, _)) if count > 0 => count,
            Err(Errno::AGAIN) => return Ok(()),
            Ok(_) => bail!("a connection ended before its reply did"),
            Err(errno) => return Err(errno).context("cannot read"),
        };
        self.seen.bytes += count as u64;
        let Some(body) = link.take(&self.buffer[..count], self.order.bytes)? else { return Ok(()) };
        let left = link.left.unwrap_or_default();
        ensure!(body <= left, "a reply is {} bytes too long", body - left);
        link.left = Some(left - body);
        if body < left {
            return Ok(());
        }
        self.seen.latencies_us.push(u32::try_from(link.since.elapsed().as_micros())?);
        if self.order.close {
            *link = open(self.order.address, &self.poll, number)?;
            return Ok(());
        }
        epoll::modify(&self.poll, &link.socket, EventData::new_u64(number), EventFlags::OUT)?;
        Ok(())
    }
}

impl Link {
    /// How many of these bytes are of the body; `None` while the head is not whole.
    fn take(&mut self, bytes: &[u8], body_bytes: usize) -> Result<Option<usize>> {
        if self.left.is_some() {
            return Ok(Some(bytes.len()));
        }
        self.head.extend_from_slice(&bytes[..bytes.len().min(HEAD_BYTES_MAX)]);
        let Some(end) = self.head.windows(4).position(|four| four == b"\r\n\r\n") else {
            ensure!(self.head.len() < HEAD_BYTES_MAX, "a reply without the end of its head");
            return Ok(None);
        };
        ensure!(self.head.starts_with(STATUS_GOOD), "a status that is not 200");
        let before = self.head.len() - bytes.len().min(HEAD_BYTES_MAX);
        self.head.clear();
        self.left = Some(body_bytes);
        Ok(Some(bytes.len() - (end + 4 - before)))
    }
}

/// Begins a connection; the poll says when it takes a request.
fn open(address: SocketAddr, poll: &OwnedFd, number: u64) -> Result<Link> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None).context("no socket")?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(errno) => return Err(errno).with_context(|| format!("cannot connect to {address}")),
    }
    epoll::add(poll, &socket, EventData::new_u64(number), EventFlags::OUT)?;
    Ok(Link { socket, sent: 0, since: Instant::now(), head: Vec::new(), left: None })
}
