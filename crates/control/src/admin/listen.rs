//! Where the admin interface listens: a Unix socket for its owner alone, or TCP.
//!
//! A socket file that nobody answers on is a leftover of a crash and is replaced; one that is
//! answered on belongs to a running switch and is an error.

use super::token::Token;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// Admin connections open at once at most; more wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 64;
/// A connection that asks nothing, or does not take its reply, for so long is closed: it holds one
/// of the few places.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Connections the kernel keeps waiting.
const BACKLOG: i32 = 64;

/// Where the admin interface listens.
#[derive(Clone, Debug)]
pub enum Bind {
    /// A Unix socket that only its owner may use (mode 0600).
    Unix(PathBuf),
    /// A TCP address; every request must carry the token.
    Tcp(SocketAddr, Token),
}

/// Why the admin interface cannot listen: the operator's trouble.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another switch answers there.
    #[error(
        "{0} is in use: another baton answers there; stop it, or give this one another admin socket"
    )]
    InUse(PathBuf),
    /// The file is something else.
    #[error("{0} exists and is no socket; remove it, or choose another path")]
    NoSocket(PathBuf),
    /// The system refuses.
    #[error("cannot listen for admin requests on {at}: {error}")]
    Refused {
        /// Where.
        at: String,
        /// Why.
        error: io::Error,
    },
}

/// A listening socket of either kind. Removes its file when dropped.
#[derive(Debug)]
pub(super) enum Socket {
    Unix(std::os::unix::net::UnixListener, SocketFile),
    Tcp(std::net::TcpListener),
}

/// Binds; works outside of a runtime too, so that a program can fail before it starts threads.
pub(super) fn bind(bind: &Bind) -> Result<Socket, BindError> {
    match bind {
        Bind::Unix(path) => bind_unix(path),
        Bind::Tcp(address, _) => bind_tcp(*address)
            .map_err(|error| BindError::Refused { at: address.to_string(), error }),
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<Socket> {
    // The standard library sets SO_REUSEADDR, so that a restart need not wait.
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(Socket::Tcp(listener))
}

fn bind_unix(path: &Path) -> Result<Socket, BindError> {
    let refused = |error| BindError::Refused { at: path.display().to_string(), error };
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(BindError::NoSocket(path.to_owned()));
        }
        Ok(_) => match StdUnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(refused)?;
            }
            Ok(_) => return Err(BindError::InUse(path.to_owned())),
            Err(error) => return Err(refused(error)),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error)),
    }
    listen_unix(path).map_err(refused)
}

fn listen_unix(path: &Path) -> io::Result<Socket> {
    use socket2::{Domain, SockAddr, Type};
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // Linux creates the file with the mode that the socket has: set before `bind`, there is no
    // moment at which others could connect.
    let file = File::from(OwnedFd::from(socket));
    file.set_permissions(Permissions::from_mode(0o600))?;
    let socket = socket2::Socket::from(OwnedFd::from(file));
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile::of(path)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(Socket::Unix(OwnedFd::from(socket).into(), file))
}

/// The file of a Unix socket; removed at the end, unless another took its place.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), identity: identity(path)? })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            // A file that cannot be removed is replaced by the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Device and number of a file: its path may name another one later.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Accepts connections of either kind, [`CONNECTIONS_MAX`] at once.
pub(super) struct Listener {
    socket: Accept,
    places: Arc<Semaphore>,
    request_max: Duration,
    /// Dropped, and with it the file, when the listener is.
    _file: Option<SocketFile>,
}

enum Accept {
    Unix(tokio::net::UnixListener),
    Tcp(tokio::net::TcpListener),
}

impl Listener {
    /// Hands a socket to the runtime of this thread. A request may take `request_max` to come.
    pub(super) fn new(socket: Socket, request_max: Duration) -> io::Result<Self> {
        let (socket, file) = match socket {
            Socket::Unix(socket, file) => {
                (Accept::Unix(tokio::net::UnixListener::from_std(socket)?), Some(file))
            }
            Socket::Tcp(socket) => (Accept::Tcp(tokio::net::TcpListener::from_std(socket)?), None),
        };
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Ok(Self { socket, places, request_max, _file: file })
    }
}

/// Anything that carries bytes.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// An admin connection: holds its place, and ends when a request takes too long to come, or when
/// it is idle for [`IDLE_MAX`].
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    end: Pin<Box<Sleep>>,
    request_max: Duration,
    /// Whether a request is coming: no byte of a reply was written since its first byte was read.
    asking: bool,
    _place: OwnedSemaphorePermit,
}

impl axum::serve::Listener for Listener {
    type Io = Connection;
    type Addr = ();

    async fn accept(&mut self) -> (Connection, ()) {
        let places = self.places.clone();
        let place = places.acquire_owned().await.expect("nobody closes the semaphore");
        // Both kinds wait and go on when the process is out of descriptors.
        let stream: Box<dyn Stream> = match &mut self.socket {
            Accept::Unix(socket) => Box::new(axum::serve::Listener::accept(socket).await.0),
            Accept::Tcp(socket) => Box::new(axum::serve::Listener::accept(socket).await.0),
        };
        let request_max = self.request_max;
        let end = Box::pin(tokio::time::sleep(request_max));
        (Connection { stream, end, request_max, asking: true, _place: place }, ())
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Connection {
    fn end_in(&mut self, span: Duration) {
        self.end.as_mut().reset(Instant::now() + span);
    }

    /// What is not ready now is an error when its time is over.
    fn in_time<T>(
        &mut self,
        ready: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        match ready {
            Poll::Pending => {
                self.end.as_mut().poll(context).map(|()| Err(ErrorKind::TimedOut.into()))
            }
            ready => ready,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ready = Pin::new(&mut self.stream).poll_read(context, into);
        // Further bytes of the same request win no time.
        if ready.is_ready() && !self.asking {
            self.asking = true;
            let request_max = self.request_max;
            self.end_in(request_max);
        }
        self.in_time(ready, context)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let ready = Pin::new(&mut self.stream).poll_write(context, bytes);
        if ready.is_ready() {
            self.asking = false;
            self.end_in(IDLE_MAX);
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
