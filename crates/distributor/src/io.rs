//! A socket that is registered with the reactor only when it has to wait.
//!
//! A connection that brings its request along and takes its whole reply at once (the common case
//! with one request a connection) never waits for the client, so it never needs the two
//! `epoll_ctl` calls. Reads and writes are tried first; the reactor is asked only after EAGAIN.

use core::task::{Context, Poll, ready};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::TcpStream;

/// One end of a connection.
pub(crate) enum Socket {
    /// Not known to the reactor yet.
    Raw(OwnedFd),
    /// Registered.
    Registered(TcpStream),
    /// Only while changing from one to the other, or after that failed.
    Gone,
}

impl Socket {
    pub(crate) fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        match self {
            Self::Raw(fd) => Ok(fd.as_fd()),
            Self::Registered(stream) => Ok(stream.as_fd()),
            Self::Gone => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The address that its client connected to; `None`: it does not know.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        SocketAddr::try_from(rustix::net::getsockname(self.fd().ok()?).ok()?).ok()
    }

    /// Takes the socket from the reactor, until it has to wait again.
    pub(crate) fn detach(&mut self) -> io::Result<()> {
        if let Self::Registered(_) = self {
            let Self::Registered(stream) = core::mem::replace(self, Self::Gone) else {
                unreachable!()
            };
            *self = Self::Raw(stream.into_std()?.into());
        }
        Ok(())
    }

    fn registered(&mut self) -> io::Result<&mut TcpStream> {
        if let Self::Raw(_) = self {
            let Self::Raw(fd) = core::mem::replace(self, Self::Gone) else { unreachable!() };
            *self = Self::Registered(TcpStream::from_std(std::net::TcpStream::from(fd))?);
        }
        match self {
            Self::Registered(stream) => Ok(stream),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Reads what is there; zero bytes is the end of the stream.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if let Self::Raw(fd) = self {
            match rustix::io::read(fd, &mut *into) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(rustix::io::Errno::AGAIN) => {}
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
        let stream = self.registered()?;
        let mut buffer = ReadBuf::new(into);
        ready!(core::pin::Pin::new(stream).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Writes what the kernel takes of one or two pieces. With `more` the kernel may hold back the
    /// last, incomplete packet until more follows or [`Socket::uncork`] says that nothing does.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        head: &[u8],
        body: &[u8],
        more: bool,
    ) -> Poll<io::Result<usize>> {
        self.poll_into(cx, |socket| send(socket, head, body, more))
    }

    /// Runs `operation` (such as a splice out of this socket) when there is something to read.
    pub(crate) fn poll_out_of<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut operation: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let stream = self.registered()?;
        loop {
            ready!(stream.poll_read_ready(cx))?;
            match stream.try_io(Interest::READABLE, || operation(stream.as_fd())) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Poll::Ready(other),
            }
        }
    }

    /// Runs `operation` (such as a splice into this socket) when there is room to write.
    pub(crate) fn poll_into<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut operation: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        match operation(self.fd()?) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return Poll::Ready(other),
        }
        let stream = self.registered()?;
        loop {
            ready!(stream.poll_write_ready(cx))?;
            match stream.try_io(Interest::WRITABLE, || operation(stream.as_fd())) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Poll::Ready(other),
            }
        }
    }

    /// Tells the reactor that a read has shown that there is nothing more to read now. It tells us
    /// when something comes, and remembers the end if that came already.
    pub(crate) fn emptied(&mut self) {
        if let Self::Registered(stream) = self {
            let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _would_block = stream.try_io(Interest::READABLE, nothing);
        }
    }

    /// Whether an idle connection is still good: nothing has arrived on it, neither the end nor
    /// bytes that nobody asked for. Usually the reactor knows. A read that took exactly what was
    /// asked for leaves it in doubt; then one look clears that up.
    pub(crate) fn quiet(&mut self) -> bool {
        let Self::Registered(stream) = self else { return true };
        let mut cx = Context::from_waker(core::task::Waker::noop());
        if stream.poll_read_ready(&mut cx).is_pending() {
            return true;
        }
        let look = || {
            let found = rustix::net::recv(stream.as_fd(), &mut [0; 1], RecvFlags::PEEK)?;
            Ok(found)
        };
        let found = stream.try_io(Interest::READABLE, look);
        matches!(found, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// The same, asked of the kernel: what must not be sent twice must not rely on the reactor,
    /// which learns of an end only when the worker next waits.
    pub(crate) fn quiet_now(&self) -> bool {
        let Ok(fd) = self.fd() else { return false };
        let look = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(rustix::net::recv(fd, &mut [0; 1], look), Err(rustix::io::Errno::AGAIN))
    }

    /// Sends what the kernel holds back: tcp(7) says that setting TCP_NODELAY, even again, does.
    pub(crate) fn uncork(&self) {
        if let Ok(fd) = self.fd() {
            // A peer that is gone needs nothing any more.
            let _gone = rustix::net::sockopt::set_tcp_nodelay(fd, true);
        }
    }

    /// Whether the peer has reset the connection. One system call; for after a long wait.
    pub(crate) fn is_reset(&self) -> bool {
        let Ok(fd) = self.fd() else { return true };
        let look = rustix::net::recv(fd, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !matches!(look, Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR))
    }

    /// Ends when the peer has reset the connection, and not before: neither its end nor what it
    /// sends counts, and what it sent stays to be read.
    pub(crate) async fn reset(&mut self) {
        if let Ok(stream) = self.registered() {
            // One that cannot be watched is as good as gone.
            let _gone = stream.ready(Interest::ERROR).await;
        }
    }

    /// No more bytes from us.
    pub(crate) fn shutdown_write(&self) {
        if let Ok(fd) = self.fd() {
            // The peer may have gone already; then there is nothing to tell it.
            let _gone = rustix::net::shutdown(fd, Shutdown::Write);
        }
    }

    /// Whether closing will reset the connection, so that the peer takes what it got for
    /// incomplete.
    pub(crate) fn reset_on_close(&self, reset: bool) {
        if let Ok(fd) = self.fd() {
            // As above.
            let _gone =
                socket2::SockRef::from(&fd).set_linger(reset.then_some(core::time::Duration::ZERO));
        }
    }
}

fn send(fd: BorrowedFd<'_>, head: &[u8], body: &[u8], more: bool) -> io::Result<usize> {
    let mut flags = SendFlags::NOSIGNAL;
    if more {
        flags |= SendFlags::MORE;
    }
    loop {
        let sent = if body.is_empty() {
            rustix::net::send(fd, head, flags)
        } else {
            let pieces = [IoSlice::new(head), IoSlice::new(body)];
            rustix::net::sendmsg(fd, &pieces, &mut SendAncillaryBuffer::default(), flags)
        };
        match sent {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}
