//! The agent's listening socket: few connections at once, and none that is kept by silence.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// Connections at once: a few switches and a collector of metrics. Others wait in the kernel.
const CONNECTIONS_MAX: usize = 64;
/// From a connection, or its last answer, to the end of the next question.
const QUESTION_MAX: Duration = Duration::from_secs(30);

/// Accepts connections, [`CONNECTIONS_MAX`] at once.
pub(super) struct Listener {
    socket: tokio::net::TcpListener,
    places: Arc<Semaphore>,
}

impl Listener {
    /// Hands a socket to the runtime of this thread.
    pub(super) fn new(socket: std::net::TcpListener) -> io::Result<Self> {
        let socket = tokio::net::TcpListener::from_std(socket)?;
        Ok(Self { socket, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)) })
    }
}

impl axum::serve::Listener for Listener {
    type Io = Bounded;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Bounded, Self::Addr) {
        let places = self.places.clone();
        let place = places.acquire_owned().await.expect("nobody closes the semaphore");
        // Waits and goes on when the process is out of descriptors.
        let (stream, client) = axum::serve::Listener::accept(&mut self.socket).await;
        let end = Box::pin(tokio::time::sleep(QUESTION_MAX));
        (Bounded { stream, end, _place: place }, client)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.socket.local_addr()
    }
}

/// A connection that holds its place, and ends [`QUESTION_MAX`] after the last byte it was sent:
/// bytes of its own win it no time.
pub(super) struct Bounded {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Bounded {
    fn in_time<T>(
        &mut self,
        ready: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        match ready {
            Poll::Pending => {
                self.end.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            ready => ready,
        }
    }
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ready = Pin::new(&mut self.stream).poll_read(context, into);
        self.in_time(ready, context)
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let ready = Pin::new(&mut self.stream).poll_write(context, bytes);
        if ready.is_ready() {
            self.end.set(tokio::time::sleep(QUESTION_MAX));
        }
        self.in_time(ready, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
