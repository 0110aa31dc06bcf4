//! The reply's way back: its head is read, judged, rewritten and sent on.

use crate::client::Client;
use crate::converse::{Conversation, Failure};
use crate::counters::Cause;
use crate::exchange::micros;
use crate::pipes::SPLICE_BYTES_MIN;
use crate::pump::Pump;
use crate::worker::{SCRATCH_BYTES, Worker};
use core::task::{Context, Poll, ready};
use wire::http::emit::{BodyEdit, ResponseEdit};
use wire::http::{Framing, RequestContext, ResponseHead, Slots, Version, emit, response};

/// Up to this many bytes of a reply's body are copied behind its head, so that one plain send
/// takes both; above, a gathering write is cheaper than the copy.
const JOINED_BYTES_MAX: usize = 4096;

/// Bytes of a reply that are read to find its head, and with it the whole of most replies.
const FIRST_READ_BYTES: usize = 16 * 1024;

/// The same, where the last reply on the connection was large: little more than a head. What is
/// read here is copied twice; the rest of a large body is spliced.
const HEAD_READ_BYTES: usize = 2 * 1024;

/// Interim replies (1xx) to one request: a bound on what is kept for a client that does not read.
const INTERIM_MAX: u32 = 64;

/// What was read behind a head.
struct Rest<'b> {
    bytes: &'b [u8],
    /// Whether it fills what there was room for, so that more is there most likely.
    full: bool,
}

impl Conversation<'_> {
    /// Reads what the server says. Ready with true once the final head has been dealt with.
    pub(crate) fn poll_reply(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut Client,
        worker: &Worker,
    ) -> Poll<Result<bool, Failure>> {
        let mut scratch = worker.scratch.borrow_mut();
        let have = self.partial.len();
        scratch[..have].copy_from_slice(&self.partial);
        // A head of which a part is here already is longer than usual.
        let most = match self.upstream.large && have == 0 {
            true => HEAD_READ_BYTES,
            false => FIRST_READ_BYTES,
        };
        let room = &mut scratch[have..(have + most).min(SCRATCH_BYTES)];
        let count = match ready!(self.upstream.socket.poll_read(cx, room)) {
            Ok(count) if count > 0 => count,
            _ => {
                let stale = self.upstream.reused && have == 0;
                return Poll::Ready(Err(Failure { stale, ..Failure::of(Cause::ServerHead) }));
            }
        };
        self.partial.clear();
        let full = count == room.len();
        let mut bytes = &scratch[..have + count];
        let mut slots = Slots::new();
        loop {
            let asked =
                RequestContext { method: self.exchange.method, upgrade: self.exchange.upgrade };
            let live = std::rc::Rc::clone(&self.exchange.live);
            let parsed = response::parse(bytes, &asked, &live.settings.wire, &mut slots);
            match parsed.map_err(|broken| broken.why) {
                Ok(Some(head)) if head.is_interim() => {
                    self.interim_count += 1;
                    if self.interim_count > INTERIM_MAX {
                        return Poll::Ready(Err(bad_reply("interim replies without end")));
                    }
                    self.pass_interim(&head, cx, client);
                    bytes = &bytes[head.head_bytes..];
                    slots = Slots::new();
                }
                Ok(Some(head)) => {
                    let rest = Rest { bytes: &bytes[head.head_bytes..], full };
                    return Poll::Ready(
                        self.begin_reply(&head, rest, cx, client, worker).map(|()| true),
                    );
                }
                Ok(None) if bytes.len() < SCRATCH_BYTES => {
                    self.partial.extend_from_slice(bytes);
                    return Poll::Ready(Ok(false));
                }
                Ok(None) => return Poll::Ready(Err(bad_reply("the reply's head is too long"))),
                Err(why) => return Poll::Ready(Err(bad_reply(why))),
            }
        }
    }

    fn pass_interim(
        &mut self,
        head: &ResponseHead<'_, '_>,
        cx: &mut Context<'_>,
        client: &mut Client,
    ) {
        // A client of HTTP/1.0 does not know interim replies (RFC 9110, 15.2).
        if self.exchange.version == Version::Http11 {
            emit::response(head, &ResponseEdit::default(), &mut self.interim);
            self.poll_interim(cx, client);
        }
    }

    /// Sends the reply's head and what came of its body with it.
    fn begin_reply(
        &mut self,
        head: &ResponseHead<'_, '_>,
        rest: Rest<'_>,
        cx: &mut Context<'_>,
        client: &mut Client,
        worker: &Worker,
    ) -> Result<(), Failure> {
        let exchange = &mut *self.exchange;
        let live = &exchange.live;
        let since = worker.shared.clock.now().since(exchange.tally.at);
        exchange.tally.first_byte_us = micros(since).max(1);
        if head.is_upgrade() && !self.up.done() {
            return Err(bad_reply("it switches protocols before it has the request"));
        }
        self.upgraded = head.is_upgrade();
        self.close = !exchange.keep_alive || worker.stopping.get() || !self.up.done();
        let edit = edit_for(head.body, exchange.version, !self.close && !self.upgraded);
        let framing = if self.upgraded { Framing::UntilClose } else { head.body };
        let until_close =
            edit == BodyEdit::Dechunk || (framing == Framing::UntilClose && edit == BodyEdit::Keep);
        self.close |= until_close && !self.upgraded;
        exchange.until_close = until_close;
        if until_close && !self.upgraded {
            // However this task ends from here on, the client must not take a part for the whole.
            client.socket.reset_on_close(true);
        }
        self.server_stays = head.keep_alive;
        let id = exchange.id.as_ref().map(|id| id.text());
        let mut out = worker.buffer();
        out.append(&mut self.interim);
        emit::response(
            head,
            &ResponseEdit {
                via: live.settings.forwarding.via(),
                client: exchange.version,
                close: self.close,
                body: edit,
                request_id: id.as_deref(),
                date: Some(&worker.today()),
            },
            &mut out,
        );
        exchange.tally.head_out = out.len() as u64;
        let mut down = Pump::new(framing, &live.settings.wire_of_replies(), edit);
        let ours = down.first(rest.bytes, &mut out).map_err(|bad| bad_reply(bad.why()))?;
        let mut body = &rest.bytes[..ours];
        if body.len() <= JOINED_BYTES_MAX {
            out.extend_from_slice(body);
            body = &[];
        }
        let large = |length| length >= SPLICE_BYTES_MIN + HEAD_READ_BYTES as u64;
        self.upstream.large = matches!(head.body, Framing::Length(length) if large(length));
        down.set_reply(self.close && !self.upgraded);
        exchange.tally.status = head.status;
        send_first(&out, body, rest.full, &mut down, cx, client)?;
        worker.recycle(out);
        self.down = Some(down);
        Ok(())
    }
}

/// Sends a head and what came of the body with it. What the client does not take yet is owed;
/// `full` says that more is there most likely.
fn send_first(
    head: &[u8],
    body: &[u8],
    full: bool,
    down: &mut Pump,
    cx: &mut Context<'_>,
    client: &mut Client,
) -> Result<(), Failure> {
    // What follows at once, be it the rest or the end, shall go out in one packet with this.
    let goes_on = full && !down.ended();
    let more = goes_on || down.at_last_byte();
    down.set_corked(goes_on);
    let count = match client.socket.poll_write(cx, head, body, more) {
        Poll::Ready(Ok(count)) => count,
        Poll::Ready(Err(_)) => {
            return Err(Failure { reply_begun: true, ..Failure::of(Cause::ClientData) });
        }
        Poll::Pending => 0,
    };
    down.moved = count as u64;
    down.owe(&head[count.min(head.len())..]);
    down.owe(&body[count.saturating_sub(head.len())..]);
    Ok(())
}

/// How a body has to change for a client of this version, whose connection stays open or not.
fn edit_for(framing: Framing, client: Version, stays: bool) -> BodyEdit {
    match (framing, client) {
        (Framing::Chunked, Version::Http10) => BodyEdit::Dechunk,
        (Framing::UntilClose, Version::Http11) if stays => BodyEdit::Chunk,
        _ => BodyEdit::Keep,
    }
}

fn bad_reply(why: &'static str) -> Failure {
    Failure { said: Some((502, why)), ..Failure::of(Cause::BadReply) }
}
