//! What an origin does with one connection: heads in, answers out, until one of them has to wait.

use crate::conn::{Answer, BUFFER_BYTES, Close, Conn, Flushed, Phase, Received, Request, Wants};
use crate::faults::Fault;
use crate::origin::Origin;
use crate::real::Due;
use crate::reply::{self, Head};
use crate::requests;
use crate::table::Tag;
use core::time::Duration;
use model::{Ask, Part};
use wire::http::{Body, Method, Slots, Version, request};

/// Requests in the model at most, those of clients who have gone included. Beyond, 503.
const ACTIVE_MAX: usize = 1 << 16;

/// Steps of one connection before others get theirs: some requests or 1 MB of uploaded content.
const STEPS: usize = 16;

/// What a step of a connection came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There is more to do.
    Again,
    /// It waits for the client's bytes or for the model.
    Wait,
    /// It waits for room to write.
    Blocked,
    /// It is over.
    Over,
}

impl Origin {
    /// Goes on with a connection as far as it goes without waiting.
    pub(crate) fn drive(&mut self, tag: Tag) {
        let Some(mut conn) = self.conns.take(tag) else { return };
        self.lend(&mut conn);
        let mut step = Step::Again;
        for _ in 0..STEPS {
            step = self.step(tag, &mut conn);
            if step != Step::Again {
                break;
            }
        }
        if step == Step::Again {
            self.unfinished.push(tag);
        }
        self.take_back(&mut conn);
        if step == Step::Over || !self.watch(tag, &mut conn, step == Step::Blocked) {
            self.close(tag, conn);
        } else {
            self.conns.put(tag, conn);
        }
    }

    /// The model lets more of an answer go.
    pub(crate) fn release(&mut self, part: &Part) {
        let Some(conn) = self.conns.get_mut(Tag(part.tag)) else { return };
        if let Phase::Answer(answer) = &mut conn.phase {
            answer.begun = true;
            conn.progress = self.now;
            let released = part.sent_bytes.min(answer.bytes);
            self.out_bytes += released - answer.released;
            answer.released = released;
            answer.ended = part.end.is_some();
        }
    }

    /// A request's delay is over.
    pub(crate) fn undelay(&mut self, tag: Tag) {
        let Some(mut conn) = self.conns.take(tag) else { return };
        if let Phase::Delayed(request) = core::mem::replace(&mut conn.phase, Phase::Head) {
            self.answer(tag, &mut conn, &request);
        }
        self.conns.put(tag, conn);
        self.drive(tag);
    }

    fn step(&mut self, tag: Tag, conn: &mut Conn) -> Step {
        match &conn.phase {
            Phase::Head => self.head(tag, conn),
            Phase::Content(..) => self.content(tag, conn),
            Phase::Delayed(_) => Step::Wait,
            Phase::Answer(_) => self.flush(conn),
            Phase::Linger => self.linger(conn),
        }
    }

    /// Reads a request head.
    fn head(&mut self, tag: Tag, conn: &mut Conn) -> Step {
        if !conn.unused().is_empty() {
            let mut slots = Slots::new();
            match request::parse(&conn.held[conn.used..], &self.limits, &mut slots) {
                Ok(Some(head)) => {
                    let bytes = head.head_bytes;
                    let wants = match requests::own(&head, self.config.agent) {
                        Some(own) => self.own(own),
                        None => requests::content(&head, &self.config),
                    };
                    let request = requests::request(&head, wants);
                    conn.used += bytes;
                    conn.progress = self.now;
                    self.begin(tag, conn, request);
                    return Step::Again;
                }
                Ok(None) => {}
                Err(reject) => {
                    self.refuse(conn, reject.status, reject.why);
                    return Step::Again;
                }
            }
        }
        match conn.receive() {
            Received::Some => {
                conn.progress = self.now;
                Step::Again
            }
            Received::Nothing => Step::Wait,
            Received::End => Step::Over,
        }
    }

    fn begin(&mut self, tag: Tag, conn: &mut Conn, request: Request) {
        conn.clear_out();
        if request.framing.is_empty() {
            self.take_up(tag, conn, request);
            return;
        }
        if request.expect_continue {
            conn.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let body = Body::new(request.framing, &self.limits);
        conn.phase = Phase::Content(body, Box::new(request));
    }

    /// Reads past the content of a request.
    fn content(&mut self, tag: Tag, conn: &mut Conn) -> Step {
        match conn.flush(self.now) {
            Flushed::Blocked => return Step::Blocked,
            Flushed::Broken => return Step::Over,
            Flushed::Done | Flushed::Starved => {}
        }
        let Phase::Content(body, request) = &mut conn.phase else { return Step::Again };
        match body.advance(&conn.held[conn.used..]) {
            Ok(scan) => {
                conn.used += scan.consumed;
                if scan.done {
                    let request = (**request).clone();
                    self.take_up(tag, conn, request);
                    return Step::Again;
                }
            }
            Err(bad) => {
                self.refuse(conn, bad.status(), bad.why());
                return Step::Again;
            }
        }
        match conn.receive() {
            Received::Some => {
                conn.progress = self.now;
                Step::Again
            }
            Received::Nothing => Step::Wait,
            Received::End => Step::Over,
        }
    }

    /// A request is whole: answers it, unless a fault keeps it back.
    fn take_up(&mut self, tag: Tag, conn: &mut Conn, request: Request) {
        if let Wants::Content { .. } = request.wants
            && let Some(fault) = self.faults.take()
        {
            self.spoil(tag, conn, request, fault);
        } else {
            self.answer(tag, conn, &request);
        }
    }

    fn answer(&mut self, tag: Tag, conn: &mut Conn, request: &Request) {
        conn.clear_out();
        let (key, target, bytes, class, chunked) = match &request.wants {
            Wants::Text(status, kind, text) => return self.say(conn, request, *status, kind, text),
            Wants::Content { key, target, bytes, class, chunked } => {
                (*key, *target, *bytes, *class, *chunked)
            }
        };
        if self.active() >= ACTIVE_MAX || self.real.as_ref().is_some_and(|real| real.is_full()) {
            return self.say(conn, request, 503, "text/plain", "too many requests in progress\n");
        }
        let head_only = request.method == Method::Head;
        let ask = Ask { tag: tag.0, target: key, bytes, class, head_only };
        // A session is a connection here: its first secure answer pays for the key exchange.
        let service = self.config.model.services.of(class);
        let greets = !service.handshake.is_zero() && !core::mem::replace(&mut conn.secured, true);
        let handshake = if greets { service.handshake } else { Duration::ZERO };
        let chunked = chunked && request.version == Version::Http11;
        let keep_alive = request.keep_alive && self.drain_until.is_none();
        let answer = Answer {
            target,
            bytes: if head_only { 0 } else { bytes },
            written: 0,
            released: 0,
            begun: false,
            ended: false,
            chunked: chunked && !head_only,
            cut: None,
            close: if keep_alive { Close::No } else { Close::Yes },
            body: None,
        };
        conn.phase = Phase::Answer(answer);
        let length = (!chunked).then_some(bytes);
        let version = request.version;
        if let Some(real) = &mut self.real {
            // Its head is written when it is known where the answer comes from.
            return real.admit(Due { tag, version, keep_alive, length }, ask, service, handshake);
        }
        let source = self.timed.admit(self.now, ask, handshake);
        let head = Head {
            status: 200,
            version,
            keep_alive,
            content_type: "application/octet-stream",
            length,
            cache: Some((&self.cache_name, source)),
        };
        reply::emit(&head, self.today.text(), &mut conn.out);
    }

    /// Answers with a text.
    fn say(&self, conn: &mut Conn, request: &Request, status: u16, kind: &str, text: &str) {
        let keep_alive = request.keep_alive && self.drain_until.is_none();
        let head = Head {
            status,
            version: request.version,
            keep_alive,
            content_type: kind,
            length: Some(text.len() as u64),
            cache: None,
        };
        reply::emit(&head, self.today.text(), &mut conn.out);
        if request.method != Method::Head {
            conn.out.extend_from_slice(text.as_bytes());
        }
        conn.phase = Phase::Answer(Answer::text(if keep_alive { Close::No } else { Close::Yes }));
    }

    /// Answers what was no request; where the next one begins is not known.
    fn refuse(&mut self, conn: &mut Conn, status: u16, why: &str) {
        self.refused += 1;
        conn.clear_out();
        let head = Head {
            status,
            version: Version::Http11,
            keep_alive: false,
            content_type: "text/plain",
            length: Some(why.len() as u64 + 1),
            cache: None,
        };
        reply::emit(&head, self.today.text(), &mut conn.out);
        conn.out.extend_from_slice(why.as_bytes());
        conn.out.push(b'\n');
        conn.phase = Phase::Answer(Answer::text(Close::Linger));
    }

    fn flush(&mut self, conn: &mut Conn) -> Step {
        match conn.flush(self.now) {
            Flushed::Starved => return Step::Wait,
            Flushed::Blocked => return Step::Blocked,
            Flushed::Broken => return Step::Over,
            Flushed::Done => {}
        }
        let Phase::Answer(answer) = &conn.phase else { return Step::Again };
        let close = match answer.close {
            // What was sent ahead and is not read would make the kernel reset the connection.
            Close::Yes if !conn.unused().is_empty() => Close::Linger,
            close => close,
        };
        conn.phase = if close == Close::Linger { Phase::Linger } else { Phase::Head };
        match close {
            Close::No => Step::Again,
            Close::Yes => Step::Over,
            Close::Linger => {
                match rustix::net::shutdown(&conn.socket, rustix::net::Shutdown::Write) {
                    Ok(()) => Step::Again,
                    Err(_) => Step::Over,
                }
            }
        }
    }

    fn linger(&mut self, conn: &mut Conn) -> Step {
        conn.used = conn.held.len();
        match conn.receive() {
            Received::Some => Step::Again,
            Received::Nothing => Step::Wait,
            Received::End => Step::Over,
        }
    }

    /// Makes a request go wrong.
    fn spoil(&mut self, tag: Tag, conn: &mut Conn, mut request: Request, fault: Fault) {
        match fault {
            Fault::Delay(delay) => {
                self.timed.delay(self.now.plus(delay), tag);
                conn.phase = Phase::Delayed(Box::new(request));
            }
            Fault::Reset | Fault::Close => {
                if fault == Fault::Reset {
                    // If it fails, the client sees an end instead: a failed exchange all the same.
                    let socket = socket2::SockRef::from(&conn.socket);
                    let _ = socket.set_linger(Some(Duration::ZERO));
                }
                conn.clear_out();
                conn.phase = Phase::Answer(Answer::text(Close::Yes));
            }
            Fault::BadHead => {
                conn.clear_out();
                conn.out.extend_from_slice(b"HTPP/9 yes\r\n\r\n");
                conn.phase = Phase::Answer(Answer::text(Close::Yes));
            }
            Fault::Truncate => {
                self.answer(tag, conn, &request);
                if let Phase::Answer(answer) = &mut conn.phase {
                    answer.cut = Some(answer.bytes / 2);
                    answer.close = Close::Yes;
                }
            }
            Fault::Status(status) => {
                request.wants = requests::text(status, "as asked by a fault");
                self.answer(tag, conn, &request);
            }
        }
    }

    /// Lends a connection the buffer, with what it had kept.
    fn lend(&mut self, conn: &mut Conn) {
        debug_assert!(
            self.buffer.capacity() >= BUFFER_BYTES,
            "the buffer is lent to one at a time"
        );
        self.buffer.clear();
        self.buffer.extend_from_slice(&conn.held[conn.used..]);
        conn.used = 0;
        core::mem::swap(&mut self.buffer, &mut conn.held);
    }

    /// Takes the buffer back; what is not used yet is kept for the connection alone.
    fn take_back(&mut self, conn: &mut Conn) {
        let kept = conn.unused().to_vec();
        self.buffer = core::mem::replace(&mut conn.held, kept);
        conn.used = 0;
    }
}

impl Conn {
    /// How long it may make no progress; without limit while it waits for the model.
    pub(crate) fn patience(&self, idle: Duration, slow: Duration) -> Option<Duration> {
        match &self.phase {
            Phase::Head if self.unused().is_empty() => Some(idle),
            Phase::Head | Phase::Content(..) | Phase::Linger => Some(slow),
            Phase::Delayed(_) => None,
            Phase::Answer(answer) => {
                let taken = self.out_written == self.out.len() && answer.written == answer.released;
                (answer.begun && !taken).then_some(slow)
            }
        }
    }
}
