//! One client connection: the bytes in, the bytes out, and what it is doing.
//!
//! Sockets are non-blocking and watched edge-triggered, so a connection remembers whether there
//! may be more to read. Requests are answered one at a time, in the order they came; what a client
//! sends ahead stays in the buffer or in the kernel.

use crate::content;
use crate::real::Document;
use crate::reply;
use policy::{Instant, TargetId};
use rustix::buffer::spare_capacity;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use std::io::IoSlice;
use std::sync::Arc;
use wire::http::{Body, Framing, Method, Version};

/// Size of the buffer that requests are read into. One serves all connections of an origin; only
/// what a connection has not sent to the end is kept for it.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;

/// Content of one chunk, where chunks are asked for.
const CHUNK_BYTES: u64 = 16 * 1024;

/// Slices of content written at once.
const SLICES: usize = 4;

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Waiting for a request head, or inside one.
    Head,
    /// Reading past the content of a request, which is answered then.
    Content(Body, Box<Request>),
    /// Kept waiting on purpose, for a fault that tests asked for.
    Delayed(Box<Request>),
    /// Answering.
    Answer(Answer),
    /// All is said; reading past what still comes, so that closing does not destroy the answer
    /// on its way (RFC 9112, 9.6).
    Linger,
}

/// A request, once its head is read.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) version: Version,
    pub(crate) keep_alive: bool,
    pub(crate) framing: Framing,
    pub(crate) expect_continue: bool,
    pub(crate) wants: Wants,
}

/// What a request wants.
#[derive(Clone, Debug)]
pub(crate) enum Wants {
    /// Content, by way of the model.
    /// `key` is what the cache knows it by, `target` what its content depends on.
    Content { key: TargetId, target: TargetId, bytes: u64, class: policy::Class, chunked: bool },
    /// A text, at once: status, type, text.
    Text(u16, &'static str, String),
}

/// An answer on its way; its head is in [`Conn::out`].
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) target: TargetId,
    /// Bytes of content: of all, written, and that the model has let go.
    pub(crate) bytes: u64,
    pub(crate) written: u64,
    pub(crate) released: u64,
    /// Whether the model has let the head go, and the last byte.
    pub(crate) begun: bool,
    pub(crate) ended: bool,
    pub(crate) chunked: bool,
    /// Where a fault cuts the content off, to close then.
    pub(crate) cut: Option<u64>,
    pub(crate) close: Close,
    /// The content, where it was read; else it is the target's.
    pub(crate) body: Option<Arc<Document>>,
}

/// What follows an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// The next request.
    No,
    /// The end.
    Yes,
    /// The end, but the client may still be sending.
    Linger,
}

impl Answer {
    /// An answer that is all in the head.
    pub(crate) fn text(close: Close) -> Self {
        let target = TargetId(0);
        let (bytes, written, released) = (0, 0, 0);
        let (begun, ended, chunked, cut) = (true, true, false, None);
        let body = None;
        Self { target, bytes, written, released, begun, ended, chunked, cut, close, body }
    }

    /// Its content from `offset` on: at most `len_max` bytes, and at least one.
    fn piece(&self, offset: u64, len_max: u64) -> &[u8] {
        match &self.body {
            None => content::slice(self.target, offset, len_max),
            Some(body) => {
                // Neither is longer than the document, which is in memory.
                let rest = &body.bytes()[offset as usize..];
                &rest[..rest.len().min(len_max as usize)]
            }
        }
    }
}

/// What came of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Bytes.
    Some,
    /// Nothing for now.
    Nothing,
    /// Nothing ever again.
    End,
}

/// What came of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// The answer is out.
    Done,
    /// The client does not take more for now.
    Blocked,
    /// The model does not give more for now.
    Starved,
    /// The client is gone.
    Broken,
}

/// One client connection.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) socket: OwnedFd,
    pub(crate) phase: Phase,
    /// Bytes received; those before `used` are dealt with.
    pub(crate) held: Vec<u8>,
    pub(crate) used: usize,
    /// Bytes of heads and chunk framing to be written, those before `out_written` are.
    pub(crate) out: Vec<u8>,
    pub(crate) out_written: usize,
    /// Whether the socket may have more to read.
    pub(crate) readable: bool,
    /// Whether it is watched for reading, and for writing too.
    pub(crate) watched: bool,
    pub(crate) watched_out: bool,
    /// Whether it has paid for the key exchange of a secure session.
    pub(crate) secured: bool,
    /// Real time of the last progress, to the second.
    pub(crate) progress: Instant,
}

impl Conn {
    pub(crate) fn new(socket: OwnedFd, now: Instant) -> Self {
        Self {
            socket,
            phase: Phase::Head,
            held: Vec::new(),
            used: 0,
            out: Vec::new(),
            out_written: 0,
            readable: true,
            watched: false,
            watched_out: false,
            secured: false,
            progress: now,
        }
    }

    /// Bytes received and not dealt with.
    pub(crate) fn unused(&self) -> &[u8] {
        &self.held[self.used..]
    }

    /// Whether it does nothing and nothing of a request has come.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Head) && self.unused().is_empty()
    }

    /// Reads what the socket has, into a buffer of [`BUFFER_BYTES`] lent for the purpose.
    pub(crate) fn receive(&mut self) -> Received {
        if !self.readable {
            return Received::Nothing;
        }
        if self.used > 0 {
            self.held.drain(..self.used);
            self.used = 0;
        }
        let room = self.held.capacity() - self.held.len();
        debug_assert!(room > 0, "heads are bounded below the buffer, contents are not kept");
        let got = retry_on_intr(|| {
            let spare = spare_capacity(&mut self.held);
            rustix::net::recv(&self.socket, spare, RecvFlags::empty()).map(|(_, bytes)| bytes)
        });
        match got {
            Ok(1..) => {
                // Less than there was room for: the socket is empty, and news of it come anew.
                self.readable = got == Ok(room);
                Received::Some
            }
            Err(Errno::AGAIN) => {
                self.readable = false;
                Received::Nothing
            }
            Ok(0) | Err(_) => Received::End,
        }
    }

    /// Writes what may be written.
    pub(crate) fn flush(&mut self, now: Instant) -> Flushed {
        let Phase::Answer(answer) = &mut self.phase else {
            return write_out(&self.socket, &self.out, &mut self.out_written);
        };
        if !answer.begun {
            return Flushed::Starved;
        }
        let limit = answer.cut.unwrap_or(u64::MAX).min(answer.released);
        loop {
            if answer.chunked && self.out_written == self.out.len() {
                self.out.clear();
                self.out_written = 0;
                stage_chunk(answer, limit, &mut self.out);
            }
            // Chunks are staged whole, content without chunks goes out from where it lies.
            let until = if answer.chunked { answer.written } else { limit };
            let out_left = self.out.len() - self.out_written;
            if out_left == 0 && answer.written >= until {
                let cut = answer.cut.is_some_and(|cut| answer.written >= cut);
                return if cut || answer.ended { Flushed::Done } else { Flushed::Starved };
            }
            let mut slices = [IoSlice::new(&self.out[self.out_written..]); SLICES + 1];
            let mut end = answer.written;
            let mut count = 1;
            while count <= SLICES && end < until {
                let slice = answer.piece(end, until - end);
                slices[count] = IoSlice::new(slice);
                (count, end) = (count + 1, end + slice.len() as u64);
            }
            let skip = usize::from(out_left == 0);
            match send(&self.socket, &slices[skip..count]) {
                Ok(bytes) => {
                    self.progress = now;
                    self.out_written += bytes.min(out_left);
                    answer.written += bytes.saturating_sub(out_left) as u64;
                }
                Err(Errno::AGAIN) => return Flushed::Blocked,
                Err(_) => return Flushed::Broken,
            }
        }
    }

    /// Makes room in the outgoing buffer for the next head.
    pub(crate) fn clear_out(&mut self) {
        /// What is kept for the next head; larger texts are rare.
        const KEPT_BYTES: usize = 1024;
        self.out.clear();
        self.out.shrink_to(KEPT_BYTES);
        self.out_written = 0;
    }
}

/// Appends the next chunk of what may go, or the last, empty one.
fn stage_chunk(answer: &mut Answer, limit: u64, out: &mut Vec<u8>) {
    let bytes = limit.saturating_sub(answer.written).min(CHUNK_BYTES);
    if bytes > 0 {
        reply::chunk(bytes as usize, out);
        out.extend_from_slice(answer.piece(answer.written, bytes));
        out.extend_from_slice(b"\r\n");
        answer.written += bytes;
    } else if answer.ended && answer.cut.is_none() {
        answer.chunked = false;
        out.extend_from_slice(b"0\r\n\r\n");
    }
}

fn write_out(socket: &OwnedFd, out: &[u8], written: &mut usize) -> Flushed {
    while *written < out.len() {
        match send(socket, &[IoSlice::new(&out[*written..])]) {
            Ok(bytes) => *written += bytes,
            Err(Errno::AGAIN) => return Flushed::Blocked,
            Err(_) => return Flushed::Broken,
        }
    }
    Flushed::Done
}

fn send(socket: &OwnedFd, slices: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
    let mut control = SendAncillaryBuffer::default();
    retry_on_intr(|| rustix::net::sendmsg(socket, slices, &mut control, SendFlags::NOSIGNAL))
}
