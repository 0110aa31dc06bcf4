//! A body on its way from one socket to another, whichever way its end is known.

use crate::io::Socket;
use crate::pipes::{Pipe, SPLICE_BYTES_MIN};
use crate::worker::Worker;
use core::task::{Context, Poll, ready};
use wire::http::body::Piece;
use wire::http::emit::{BodyEdit, CHUNK_END, LAST_CHUNK, chunk_size};
use wire::http::{BadChunk, Body, Framing, Limits};

/// Bytes moved before the worker's other connections get their turn.
const TURN_BYTES: u64 = 512 * 1024;

/// A body under way.
pub(crate) struct Pump {
    body: Body,
    edit: BodyEdit,
    /// Bytes received and not yet delivered, from `sent` on.
    spill: Vec<u8>,
    sent: usize,
    pipe: Option<Pipe>,
    /// Whether large stretches may go by splice.
    spliceable: bool,
    /// Whether the receiver's kernel may be holding back a packet, because more was announced.
    corked: bool,
    /// Whether the last byte was received.
    ended: bool,
    /// Whether it is a reply, behind which the sender may send nothing.
    reply: bool,
    /// Whether the receiver's connection is closed right behind it.
    closing: bool,
    /// Whether more came behind the end than was asked for, and was thrown away.
    overrun: bool,
    /// Bytes that came behind the end: the next request, or what a server should not have sent.
    pub(crate) excess: Vec<u8>,
    /// Bytes delivered.
    pub(crate) moved: u64,
    /// Of those, by splice.
    pub(crate) spliced: u64,
}

/// Why a body did not arrive.
#[derive(Debug)]
pub(crate) enum Broke {
    /// The sender went away before its end.
    Source,
    /// The receiver went away.
    Sink,
    /// It is not what it says it is.
    Framing(BadChunk),
}

impl Pump {
    /// A body before its first byte. One that is empty needs no polling.
    pub(crate) fn new(framing: Framing, limits: &Limits, edit: BodyEdit) -> Self {
        let body = Body::new(framing, limits);
        let ended = body.is_done();
        Self {
            body,
            edit,
            spill: Vec::new(),
            sent: 0,
            pipe: None,
            spliceable: edit == BodyEdit::Keep,
            corked: false,
            ended,
            reply: false,
            closing: false,
            overrun: false,
            excess: Vec::new(),
            moved: 0,
            spliced: 0,
        }
    }

    /// Whatever comes, until the sender ends. Tunnels are many and mostly silent: no pipe is held
    /// for one, which would cost two descriptors each way.
    pub(crate) fn tunnel() -> Self {
        let pump = Self::new(Framing::UntilClose, &Limits::default(), BodyEdit::Keep);
        Self { spliceable: false, ..pump }
    }

    /// Whether all of it was received and delivered.
    pub(crate) fn done(&self) -> bool {
        self.ended && self.hungry()
    }

    /// Takes bytes that came along with the head, of which the caller delivers the returned
    /// number, itself, from the front of `bytes` if the framing passes unchanged; otherwise they
    /// are appended to `out`, and the number is zero.
    pub(crate) fn first(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, BadChunk> {
        if self.edit == BodyEdit::Keep {
            let scan = self.body.advance(bytes)?;
            self.ended |= scan.done;
            self.excess.extend_from_slice(&bytes[scan.consumed..]);
            return Ok(scan.consumed);
        }
        let before = out.len();
        self.reframe(bytes, out)?;
        self.moved += (out.len() - before) as u64;
        Ok(0)
    }

    /// Puts bytes in front that the caller could not deliver.
    pub(crate) fn owe(&mut self, bytes: &[u8]) {
        self.spill.extend_from_slice(bytes);
    }

    /// Whether it waits for the sender, not for the receiver.
    pub(crate) fn hungry(&self) -> bool {
        self.sent == self.spill.len() && self.pipe.as_ref().is_none_or(|pipe| pipe.held == 0)
    }

    /// Takes back what was not delivered.
    pub(crate) fn unsent(&mut self) -> Vec<u8> {
        let mut spill = core::mem::take(&mut self.spill);
        spill.drain(..core::mem::take(&mut self.sent));
        spill
    }

    /// Gives everything back, as if it had never been taken: for another attempt, when nothing was
    /// delivered.
    pub(crate) fn return_to(&mut self, inbox: &mut Vec<u8>) {
        if self.moved == 0 && inbox.is_empty() {
            *inbox = self.unsent();
            inbox.append(&mut self.excess);
        }
    }

    /// Moves what can be moved; ready when the body is delivered.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut Socket,
        to: &mut Socket,
        worker: &Worker,
        progress: &mut bool,
    ) -> Poll<Result<(), Broke>> {
        let before = self.moved;
        loop {
            ready!(self.poll_deliver(cx, to, progress))?;
            if self.ended {
                return Poll::Ready(Ok(()));
            }
            if self.moved - before >= TURN_BYTES {
                // Sender and receiver are both fast: let the worker's other connections have a go.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let taken = if self.spliceable && self.body.opaque() >= SPLICE_BYTES_MIN {
                self.poll_splice(cx, from, worker, progress)
            } else {
                self.poll_copy(cx, from, to, worker, progress)
            };
            if taken.is_pending() && core::mem::take(&mut self.corked) {
                to.uncork();
            }
            ready!(taken)?;
        }
    }

    /// Notes that what was delivered so far was sent with the announcement of more.
    pub(crate) fn set_corked(&mut self, corked: bool) {
        self.corked = corked;
    }

    /// Notes that it is a reply, and whether its receiver's connection is closed right behind it.
    pub(crate) fn set_reply(&mut self, closing: bool) {
        self.reply = true;
        self.closing = closing;
    }

    /// Whether the last byte was received and the receiver's connection is about to be closed. Then
    /// the kernel may hold that byte back: the end of the connection goes out in the same packet.
    pub(crate) fn at_last_byte(&self) -> bool {
        self.ended && self.closing
    }

    /// Whether the sender sent no more than it should have, as far as is known.
    pub(crate) fn clean(&self) -> bool {
        self.excess.is_empty() && !self.overrun
    }

    /// Whether more is to come.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    fn poll_deliver(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut Socket,
        progress: &mut bool,
    ) -> Poll<Result<(), Broke>> {
        while self.sent < self.spill.len() {
            match ready!(to.poll_write(cx, &self.spill[self.sent..], &[], false)) {
                Ok(count) => {
                    self.sent += count;
                    self.moved += count as u64;
                    *progress = true;
                }
                Err(_) => return Poll::Ready(Err(Broke::Sink)),
            }
        }
        self.spill.clear();
        self.sent = 0;
        let goes_on = !self.ended;
        let more = goes_on || self.at_last_byte();
        while let Some(pipe) = self.pipe.as_mut().filter(|pipe| pipe.held > 0) {
            match ready!(to.poll_into(cx, |socket| pipe.drain(socket, more))) {
                Ok(count) => {
                    self.corked = goes_on;
                    self.moved += count as u64;
                    self.spliced += count as u64;
                    *progress = true;
                }
                Err(_) => return Poll::Ready(Err(Broke::Sink)),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_splice(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut Socket,
        worker: &Worker,
        progress: &mut bool,
    ) -> Poll<Result<(), Broke>> {
        let most = self.body.opaque();
        // Behind a reply there should be nothing. One byte more is asked for, so that getting none
        // says so and nobody has to look again before the connection is used for another request.
        let known = matches!(self.body, Body::Length(_));
        let asked = if self.reply && known { most.saturating_add(1) } else { most };
        let pipe = match &mut self.pipe {
            Some(pipe) => pipe,
            none => match worker.pipes.borrow_mut().take() {
                Ok(pipe) => none.insert(pipe),
                // Out of descriptors: the bytes can still be copied, piece by piece.
                Err(_) => return self.poll_read_once(cx, from, worker, progress),
            },
        };
        match ready!(from.poll_out_of(cx, |socket| pipe.fill(socket, asked))) {
            Ok(0) => Poll::Ready(self.end_of_stream()),
            Ok(count) => {
                self.overrun = pipe.cut(most);
                let exact = asked > most && count as u64 == most;
                if exact && pipe.takes_more_than(most) {
                    from.emptied();
                }
                self.body.skip(most.min(count as u64));
                self.ended = self.body.is_done();
                *progress = true;
                Poll::Ready(Ok(()))
            }
            Err(_) => Poll::Ready(Err(Broke::Source)),
        }
    }

    /// Reads into the worker's buffer and writes from there at once; only what the receiver does
    /// not take is kept.
    fn poll_copy(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut Socket,
        to: &mut Socket,
        worker: &Worker,
        progress: &mut bool,
    ) -> Poll<Result<(), Broke>> {
        let mut scratch = worker.scratch.borrow_mut();
        let bytes = match ready!(self.poll_bytes(cx, from, &mut scratch))? {
            0 => return Poll::Ready(self.end_of_stream()),
            count => &scratch[..count],
        };
        *progress = true;
        if self.edit != BodyEdit::Keep {
            let mut spill = core::mem::take(&mut self.spill);
            let result = self.reframe(bytes, &mut spill);
            self.spill = spill;
            return Poll::Ready(result.map_err(Broke::Framing));
        }
        let ours = self.judge(bytes)?;
        let count = match to.poll_write(cx, ours, &[], self.at_last_byte()) {
            Poll::Ready(Ok(count)) => count,
            Poll::Ready(Err(_)) => return Poll::Ready(Err(Broke::Sink)),
            Poll::Pending => 0,
        };
        self.moved += count as u64;
        self.spill.extend_from_slice(&ours[count..]);
        Poll::Ready(Ok(()))
    }

    fn poll_read_once(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut Socket,
        worker: &Worker,
        progress: &mut bool,
    ) -> Poll<Result<(), Broke>> {
        let mut scratch = worker.scratch.borrow_mut();
        let count = ready!(self.poll_bytes(cx, from, &mut scratch))?;
        if count == 0 {
            return Poll::Ready(self.end_of_stream());
        }
        *progress = true;
        let ours = self.judge(&scratch[..count])?.len();
        self.spill.extend_from_slice(&scratch[..ours]);
        Poll::Ready(Ok(()))
    }

    /// Reads no further than the end of the body where that is known.
    fn poll_bytes(
        &self,
        cx: &mut Context<'_>,
        from: &mut Socket,
        scratch: &mut [u8],
    ) -> Poll<Result<usize, Broke>> {
        let room = scratch.len();
        let most = match &self.body {
            Body::Length(left) => usize::try_from(*left).map_or(room, |left| left.min(room)),
            Body::Chunked(_) | Body::UntilClose => room,
        };
        from.poll_read(cx, &mut scratch[..most]).map_err(|_| Broke::Source)
    }

    /// The part of `bytes` that belongs to the body; the rest is excess.
    fn judge<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], Broke> {
        let scan = self.body.advance(bytes).map_err(Broke::Framing)?;
        self.ended = scan.done;
        self.excess.extend_from_slice(&bytes[scan.consumed..]);
        Ok(&bytes[..scan.consumed])
    }

    fn reframe(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), BadChunk> {
        match &mut self.body {
            Body::Chunked(chunks) if self.edit == BodyEdit::Dechunk => {
                let mut at = 0;
                loop {
                    match chunks.next(&bytes[at..])? {
                        Piece::Data(range) => {
                            out.extend_from_slice(&bytes[at + range.start..at + range.end]);
                            at += range.end;
                        }
                        Piece::More => return Ok(()),
                        Piece::End(end) => {
                            self.ended = true;
                            self.excess.extend_from_slice(&bytes[at + end..]);
                            return Ok(());
                        }
                    }
                }
            }
            _ => {
                if !bytes.is_empty() {
                    chunk_size(bytes.len() as u64, out);
                    out.extend_from_slice(bytes);
                    out.extend_from_slice(CHUNK_END);
                }
                Ok(())
            }
        }
    }

    fn end_of_stream(&mut self) -> Result<(), Broke> {
        if !self.body.may_end() {
            return Err(Broke::Source);
        }
        self.ended = true;
        if self.edit == BodyEdit::Chunk {
            self.spill.extend_from_slice(LAST_CHUNK);
        }
        Ok(())
    }

    /// Gives the pipe back.
    pub(crate) fn close(&mut self, worker: &Worker) {
        if let Some(pipe) = self.pipe.take() {
            worker.pipes.borrow_mut().put(pipe);
        }
    }
}
