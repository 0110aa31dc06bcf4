//! Connections to servers: the idle ones of a worker, last used first.
//!
//! Last used first, because the connection used a moment ago is the one its server is least
//! likely to be closing now, and because the surplus then grows old and is closed.

use crate::io::Socket;
use crate::shared::Backend;
use crate::watch::{Watched, ticks};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;

/// A connection to a server.
pub(crate) struct Upstream {
    pub(crate) socket: Socket,
    /// Whether a request went over it before: then the server may be closing it right now.
    pub(crate) reused: bool,
    /// Whether the last reply on it was large: the next one is likely to be, too.
    pub(crate) large: bool,
}

struct Idle {
    upstream: Upstream,
    since_tick: u64,
}

/// Idle connections by slot.
#[derive(Default)]
pub(crate) struct Pool {
    shelves: Vec<Shelf>,
}

#[derive(Default)]
struct Shelf {
    /// Whose they are: a slot may have been given to another server since.
    owner: Option<Arc<Backend>>,
    idle: Vec<Idle>,
}

impl Pool {
    /// An idle connection to `backend` that the server has not closed, as far as is known, and
    /// that was used no more than `age_max` ticks before `now`.
    pub(crate) fn take(
        &mut self,
        backend: &Arc<Backend>,
        now: u64,
        age_max: u64,
    ) -> Option<Upstream> {
        let shelf = self.shelves.get_mut(backend.id.index())?;
        if !shelf.owner.as_ref().is_some_and(|owner| Arc::ptr_eq(owner, backend)) {
            return None;
        }
        if now.saturating_sub(shelf.idle.last()?.since_tick) > age_max {
            return None;
        }
        while let Some(mut idle) = shelf.idle.pop() {
            let socket = &mut idle.upstream.socket;
            if socket.quiet() && (age_max == u64::MAX || socket.quiet_now()) {
                idle.upstream.reused = true;
                return Some(idle.upstream);
            }
        }
        None
    }

    /// Keeps a connection for later, unless there are `max` of them.
    pub(crate) fn put(&mut self, backend: &Arc<Backend>, upstream: Upstream, now: u64, max: usize) {
        let index = backend.id.index();
        if self.shelves.len() <= index {
            self.shelves.resize_with(index + 1, Shelf::default);
        }
        let shelf = &mut self.shelves[index];
        if !shelf.owner.as_ref().is_some_and(|owner| Arc::ptr_eq(owner, backend)) {
            *shelf = Shelf { owner: Some(Arc::clone(backend)), idle: Vec::new() };
        }
        if shelf.idle.len() < max {
            shelf.idle.push(Idle { upstream, since_tick: now });
        }
    }

    /// Closes connections that nobody used for `patience`, and those that the server closed.
    pub(crate) fn sweep(&mut self, now: u64, patience: Duration) {
        let oldest = now.saturating_sub(ticks(patience));
        for shelf in &mut self.shelves {
            shelf.idle.retain_mut(|idle| idle.since_tick >= oldest && idle.upstream.socket.quiet());
            if shelf.idle.is_empty() {
                shelf.owner = None;
            }
        }
    }

    /// Closes all.
    pub(crate) fn clear(&mut self) {
        self.shelves.clear();
    }
}

/// Whether it is us who lack something for a connection, rather than the server.
pub(crate) fn exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let ours = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::ADDRNOTAVAIL];
    Errno::from_io_error(error).is_some_and(|errno| ours.contains(&errno))
}

/// Opens a connection, or fails when the watch expires.
pub(crate) async fn connect(backend: &Backend, watch: &Watched) -> io::Result<Upstream> {
    let mut connecting = core::pin::pin!(TcpStream::connect(backend.address));
    let stream = core::future::poll_fn(|cx| {
        use core::future::Future;
        if let core::task::Poll::Ready(result) = connecting.as_mut().poll(cx) {
            return core::task::Poll::Ready(result);
        }
        if watch.expired(cx) {
            return core::task::Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        core::task::Poll::Pending
    })
    .await?;
    stream.set_nodelay(true)?;
    Ok(Upstream { socket: Socket::Registered(stream), reused: false, large: false })
}
