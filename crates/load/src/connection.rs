//! One connection: whole heads go out, replies come in.
//!
//! Reads go into one large buffer that all sessions share, are looked at there and forgotten: the
//! buffer stays in the processor's cache, and a body costs no more than its copy from the kernel.
//! Only what belongs to a head not yet whole, or to the next reply, is kept.

use crate::Cause;
use crate::reply::{Fault, Reply};
use crate::watch::{Interrupt, Watch};
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use wire::http::Limits;

/// Bytes that one read can take: large bodies in few system calls.
pub(crate) const SCRATCH_BYTES: usize = 256 * 1024;

/// What sessions of one thread share for their connections.
#[derive(Debug)]
pub(crate) struct Wires {
    pub watch: Watch,
    pub limits: Limits,
    pub timeout: Duration,
    scratch: RefCell<Box<[u8]>>,
}

impl Wires {
    /// For `sessions` at a time.
    pub(crate) fn new(sessions: usize, timeout: Duration) -> Self {
        Self {
            watch: Watch::new(sessions),
            limits: Limits::default(),
            timeout,
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
        }
    }
}

/// Why an exchange did not come to its end.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The connection was lost before a byte of the reply came: if it had been used before, the
    /// server may have closed it for idleness while the request was on its way.
    Lost(Fault),
    /// The exchange failed.
    Failed(Fault),
    /// The replay is being stopped.
    Stopped,
}

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// Bytes that came and are not used yet.
    held: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(
        address: SocketAddr,
        slot: usize,
        wires: &Wires,
    ) -> Result<Self, Broken> {
        let failed = |cause, detail: String| Broken::Failed(Fault::new(cause, detail));
        let mut connect = pin!(TcpStream::connect(address));
        let stream = wires
            .watch
            .wait(slot, Some(wires.timeout), |context| connect.as_mut().poll(context))
            .await
            .map_err(|interrupt| match interrupt {
                Interrupt::TimedOut => {
                    failed(Cause::Timeout, format!("no connection in {:?}", wires.timeout))
                }
                Interrupt::Stopped => Broken::Stopped,
            })?
            .map_err(|error| failed(Cause::Connect, error.to_string()))?;
        // The batches of a session are small and follow each other: none may wait for another.
        stream.set_nodelay(true).map_err(|error| failed(Cause::Connect, error.to_string()))?;
        Ok(Self { stream, held: Vec::new() })
    }

    /// Sends heads.
    pub(crate) async fn send(
        &mut self,
        heads: &[u8],
        slot: usize,
        wires: &Wires,
    ) -> Result<(), Broken> {
        debug_assert!(self.held.is_empty(), "a connection with surplus bytes is not used again");
        let mut left = heads;
        while !left.is_empty() {
            let stream = &mut self.stream;
            let sent = wires
                .watch
                .wait(slot, Some(wires.timeout), |context| {
                    Pin::new(&mut *stream).poll_write(context, left)
                })
                .await
                .map_err(|interrupt| broken(interrupt, wires, "the request is not taken"))?
                .map_err(|error| lost(&error))?;
            left = &left[sent..];
        }
        Ok(())
    }

    /// Reads `reply` to its end.
    pub(crate) async fn receive(
        &mut self,
        reply: &mut Reply,
        slot: usize,
        wires: &Wires,
        mut check: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<(), Broken> {
        // A pipelined reply may have come with the one before.
        if !self.held.is_empty() {
            let used = reply.feed(&self.held, &wires.limits, &mut check).map_err(Broken::Failed)?;
            self.held.drain(..used);
        }
        while !reply.done() {
            let Self { stream, held } = self;
            let came = wires
                .watch
                .wait(slot, Some(wires.timeout), |context| {
                    let mut scratch = wires.scratch.borrow_mut();
                    let mut buffer = ReadBuf::new(&mut scratch);
                    if let Err(error) =
                        ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer))
                    {
                        return Poll::Ready(Err(error));
                    }
                    Poll::Ready(Ok(take(buffer.filled(), held, reply, &wires.limits, &mut check)))
                })
                .await
                .map_err(|interrupt| broken(interrupt, wires, "the reply does not go on"))?;
            match came {
                Ok(Ok(())) => {}
                Ok(Err(fault)) if reply.status == 0 && fault.cause == Cause::Reset => {
                    return Err(if self.held.is_empty() {
                        Broken::Lost(fault)
                    } else {
                        Broken::Failed(fault)
                    });
                }
                Ok(Err(fault)) => return Err(Broken::Failed(fault)),
                Err(error) if reply.status == 0 && self.held.is_empty() => {
                    return Err(lost(&error));
                }
                Err(error) if reply.status == 0 => {
                    return Err(Broken::Failed(Fault::new(Cause::Reset, error.to_string())));
                }
                Err(error) => {
                    return Err(Broken::Failed(Fault::new(Cause::ShortBody, error.to_string())));
                }
            }
        }
        Ok(())
    }

    /// Whether bytes are there that no reply accounts for.
    pub(crate) fn surplus(&self) -> usize {
        self.held.len()
    }
}

/// Shows `reply` what came, behind what was held; holds what it does not use yet.
fn take(
    came: &[u8],
    held: &mut Vec<u8>,
    reply: &mut Reply,
    limits: &Limits,
    check: &mut impl FnMut(u64, &[u8]) -> bool,
) -> Result<(), Fault> {
    if came.is_empty() {
        return reply.closed();
    }
    if held.is_empty() {
        let used = reply.feed(came, limits, check)?;
        held.extend_from_slice(&came[used..]);
    } else {
        held.extend_from_slice(came);
        let used = reply.feed(held, limits, check)?;
        held.drain(..used);
    }
    Ok(())
}

fn lost(error: &io::Error) -> Broken {
    Broken::Lost(Fault::new(Cause::Reset, error.to_string()))
}

fn broken(interrupt: Interrupt, wires: &Wires, what: &str) -> Broken {
    match interrupt {
        Interrupt::TimedOut => {
            let detail = format!("{what}, for {:?}", wires.timeout);
            Broken::Failed(Fault::new(Cause::Timeout, detail))
        }
        Interrupt::Stopped => Broken::Stopped,
    }
}
