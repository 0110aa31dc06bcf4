//! One reply, read to its end from whatever pieces arrive: no sockets here.
//!
//! `wire` says what a head means and where a chunk ends; this keeps count of the body and shows its
//! content to whoever checks it. Nothing of it is kept.

use crate::Cause;
use crate::cache_status::{self, Cached};
use wire::http::body::Piece;
use wire::http::{Chunks, Framing, Limits, RequestContext, Slots, response};

/// What is wrong with a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub cause: Cause,
    pub detail: String,
}

impl Fault {
    pub(crate) fn new(cause: Cause, detail: impl Into<String>) -> Self {
        Self { cause, detail: detail.into() }
    }
}

#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunks),
    UntilClose,
    Done,
}

/// A reply on its way.
#[derive(Debug)]
pub(crate) struct Reply {
    asked: RequestContext,
    state: State,
    /// The status; 0 before the head is whole.
    pub status: u16,
    /// What Cache-Status says.
    pub cached: Cached,
    /// Whether the connection can be used again afterwards.
    pub keep_alive: bool,
    /// Body bytes so far, without framing.
    pub body_bytes: u64,
    /// Where the first byte was that differs from what was expected.
    pub wrong_at: Option<u64>,
}

impl Reply {
    /// A reply of which nothing has come.
    pub(crate) const fn new(asked: RequestContext) -> Self {
        Self {
            asked,
            state: State::Head,
            status: 0,
            cached: Cached::Unsaid,
            keep_alive: false,
            body_bytes: 0,
            wrong_at: None,
        }
    }

    /// Whether all of it has come.
    pub(crate) const fn done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Takes what arrived and says how much of it was used: all, unless the head is not whole yet
    /// or the reply ends before. `check` sees the content with its offset.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
        check: &mut impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<usize, Fault> {
        let mut used = 0;
        while matches!(self.state, State::Head) {
            match self.head(&bytes[used..], limits)? {
                Some(head_bytes) => used += head_bytes,
                None => return Ok(used),
            }
        }
        let rest = &bytes[used..];
        match &mut self.state {
            State::Head | State::Done => {}
            State::UntilClose => {
                self.content(rest, check);
                used = bytes.len();
            }
            State::Length(left) => {
                let take = usize::try_from(*left).map_or(rest.len(), |left| left.min(rest.len()));
                *left -= take as u64;
                let done = *left == 0;
                self.content(&rest[..take], check);
                if done {
                    self.state = State::Done;
                }
                used += take;
            }
            State::Chunked(_) => used += self.chunked(rest, check)?,
        }
        Ok(used)
    }

    /// The connection was closed: right for a body that ends so, wrong for every other.
    pub(crate) fn closed(&mut self) -> Result<(), Fault> {
        match &self.state {
            State::Done => Ok(()),
            State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            State::Head => {
                Err(Fault::new(Cause::Reset, "closed before the head of the reply was whole"))
            }
            State::Length(left) => {
                Err(Fault::new(Cause::ShortBody, format!("closed, {left} bytes are missing")))
            }
            State::Chunked(_) => Err(Fault::new(Cause::ShortBody, "closed before the last chunk")),
        }
    }

    fn head(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Fault> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut slots = Slots::new();
        let head = response::parse(bytes, &self.asked, limits, &mut slots)
            .map_err(|broken| Fault::new(Cause::Malformed, broken.why))?;
        let Some(head) = head else { return Ok(None) };
        if head.is_interim() {
            return Ok(Some(head.head_bytes));
        }
        self.status = head.status;
        self.keep_alive = head.keep_alive;
        for (name, value) in head.fields().iter() {
            if name.len() == 12 && name.eq_ignore_ascii_case("cache-status") {
                self.cached = match (self.cached, cache_status::read(value)) {
                    (Cached::Hit, _) | (_, Cached::Hit) => Cached::Hit,
                    (before, Cached::Unsaid) => before,
                    (_, Cached::Miss) => Cached::Miss,
                };
            }
        }
        self.state = match head.body {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunks::new(limits)),
            Framing::UntilClose => State::UntilClose,
        };
        Ok(Some(head.head_bytes))
    }

    fn chunked(
        &mut self,
        bytes: &[u8],
        check: &mut impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<usize, Fault> {
        let mut used = 0;
        loop {
            let State::Chunked(chunks) = &mut self.state else { return Ok(used) };
            let piece = chunks
                .next(&bytes[used..])
                .map_err(|bad| Fault::new(Cause::Malformed, bad.why()))?;
            match piece {
                Piece::Data(range) => {
                    let data = &bytes[used + range.start..used + range.end];
                    used += range.end;
                    self.content(data, check);
                }
                Piece::More => return Ok(bytes.len()),
                Piece::End(end) => {
                    self.state = State::Done;
                    return Ok(used + end);
                }
            }
        }
    }

    fn content(&mut self, bytes: &[u8], check: &mut impl FnMut(u64, &[u8]) -> bool) {
        if self.wrong_at.is_none() && !bytes.is_empty() && !check(self.body_bytes, bytes) {
            self.wrong_at = Some(self.body_bytes);
        }
        self.body_bytes += bytes.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::http::Method;

    const GET: RequestContext = RequestContext { method: Method::Get, upgrade: false };

    /// Feeds `text` in pieces of `size`, keeping what is not used, as a connection does.
    fn feed(text: &[u8], size: usize) -> (Reply, Result<(), Fault>, Vec<u8>, usize) {
        let (mut reply, mut content, mut held) = (Reply::new(GET), Vec::new(), Vec::new());
        let limits = Limits::default();
        let mut left = 0;
        for piece in text.chunks(size) {
            if reply.done() {
                left += piece.len();
                continue;
            }
            held.extend_from_slice(piece);
            let used = reply.feed(&held, &limits, &mut |offset, bytes| {
                assert_eq!(offset, content.len() as u64);
                content.extend_from_slice(bytes);
                true
            });
            match used {
                Ok(used) => drop(held.drain(..used)),
                Err(fault) => return (reply, Err(fault), content, 0),
            }
        }
        let closed = reply.closed();
        (reply, closed, content, left + held.len())
    }

    #[test]
    fn every_framing_gives_the_same_body_in_whatever_pieces() {
        let cases: [(&str, bool); 4] = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true),
            ("HTTP/1.1 200 OK\r\n\r\nhello", false),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 2\r\nhe\r\n3;x\r\nllo\r\n0\r\nA: b\r\n\r\n",
                true,
            ),
            (
                "HTTP/1.1 103 Early Hints\r\n\r\n\
                 HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
                false,
            ),
        ];
        for (text, keep_alive) in cases {
            for size in 1..=text.len() {
                let (reply, closed, content, left) = feed(text.as_bytes(), size);
                assert_eq!(closed, Ok(()), "{text:?} by {size}");
                assert_eq!((content.as_slice(), left), (&b"hello"[..], 0), "{text:?} by {size}");
                assert_eq!((reply.status, reply.keep_alive), (200, keep_alive), "{text:?}");
                assert_eq!(reply.body_bytes, 5);
            }
        }
    }

    #[test]
    fn a_reply_cut_short_is_told_from_a_whole_one_at_every_byte() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n0\r\n\r\n";
        for end in 0..text.len() {
            let (_, closed, _, _) = feed(&text.as_bytes()[..end], 7);
            let head = text.find("\r\n\r\n").unwrap() + 4;
            let cause = if end < head { Cause::Reset } else { Cause::ShortBody };
            assert_eq!(closed.unwrap_err().cause, cause, "cut at {end}");
        }
    }

    #[test]
    fn bytes_behind_the_reply_are_left() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello";
        for size in 1..=text.len() {
            assert_eq!(feed(text, size).3, 3);
        }
    }

    #[test]
    fn what_is_no_reply_is_malformed() {
        for text in [&b"SSH-2.0-x\r\n"[..], b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"] {
            assert_eq!(feed(text, 64).1.unwrap_err().cause, Cause::Malformed);
        }
    }
}
