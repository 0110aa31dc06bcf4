//! A client's connection: one request after the other, until somebody closes.

use crate::access::{self, Texts};
use crate::counters::Cause;
use crate::exchange::{After, Exchange};
use crate::io::Socket;
use crate::journal::Tally;
use crate::locals::Aside;
use crate::shared::Entrance;
use crate::told::Stream;
use crate::watch::Watched;
use crate::worker::{SCRATCH_BYTES, Worker};
use core::future::poll_fn;
use core::task::{Context, Poll};
use core::time::Duration;
use policy::{Class, Request, ServerId, TargetId};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use wire::http::{Method, Reject, Slots, emit, request};

/// How long a client whose request was refused may go on sending before the connection is cut.
/// Closing at once would reset the connection, and the reset would overtake the explanation.
const LINGER: Duration = Duration::from_secs(2);

/// Bytes that a refused client may go on sending.
const LINGER_BYTES_MAX: usize = 1024 * 1024;

/// A client's connection.
pub(crate) struct Client {
    pub(crate) socket: Socket,
    pub(crate) peer: IpAddr,
    /// The address as X-Forwarded-For has it.
    pub(crate) peer_text: String,
    /// By which listener it came.
    pub(crate) entrance: usize,
    /// Bytes received and not yet used: the beginning of a request.
    pub(crate) inbox: Vec<u8>,
    pub(crate) watch: Watched,
    /// Who answered the last request on this connection.
    pub(crate) holder: Option<ServerId>,
    /// Why it is relayed, where its listener hands connections over; else empty.
    pub(crate) local: &'static str,
    /// What was assigned to its first request before it was accepted.
    pub(crate) aside: Option<Aside>,
    /// Whether it is to be joined with its server's.
    pub(crate) spliced: bool,
    /// Where its stream is, if somebody was told what its requests are for.
    pub(crate) stream: Option<Stream>,
    /// Whether a request was served before.
    used: bool,
}

enum Next {
    Exchange(Box<Exchange>),
    Reject(Reject),
    /// The client closed, or fell silent; whether in the middle of a request.
    Gone {
        amid: bool,
        late: bool,
    },
}

/// Serves a connection to its end.
pub(crate) async fn serve(socket: Socket, peer: SocketAddr, entrance: &Entrance, worker: &Worker) {
    let (local, aside) = match entrance.one_way.load(Ordering::Relaxed) {
        true => worker.shared.take_local(peer, &socket),
        false => ("", None),
    };
    let told = worker.shared.told.as_deref();
    let stream = told.and_then(|told| Stream::begin(told, &socket, peer));
    let peer = peer.ip().to_canonical();
    let mut client = Client {
        socket,
        stream,
        peer,
        peer_text: peer.to_string(),
        entrance: entrance.index,
        local,
        aside,
        spliced: entrance.spliced.load(Ordering::Relaxed),
        inbox: Vec::new(),
        watch: worker.watches.watch(),
        holder: None,
        used: false,
    };
    loop {
        let next = client.next(worker).await;
        let after = match next {
            Next::Exchange(exchange) => exchange.run(&mut client, worker).await,
            Next::Reject(reject) => {
                refuse(&mut client, worker, Cause::BadRequest, reject).await;
                After::Linger
            }
            Next::Gone { amid, late } => {
                if amid && late {
                    let why = "the request's head did not come in time";
                    let reject = Reject { status: 408, why };
                    refuse(&mut client, worker, Cause::ClientRequest, reject).await;
                } else if amid {
                    worker.counters().causes[Cause::ClientRequest as usize].add(1);
                }
                After::Close
            }
        };
        client.used = true;
        client.aside = None;
        match after {
            After::KeepAlive => {}
            After::Close => break,
            After::Reset => {
                client.socket.reset_on_close(true);
                break;
            }
            After::Linger => {
                linger(&mut client, worker).await;
                break;
            }
        }
    }
    worker.recycle(core::mem::take(&mut client.inbox));
}

impl Client {
    /// Waits for the next request's head.
    async fn next(&mut self, worker: &Worker) -> Next {
        let timeouts = worker.live().settings.timeouts;
        let began = !self.inbox.is_empty() || !self.used;
        self.watch.arm(if began { timeouts.head } else { timeouts.idle });
        let mut fresh = !self.inbox.is_empty();
        if let Some(stream) = &mut self.stream {
            stream.pipelined = fresh;
        }
        poll_fn(|cx| {
            if core::mem::take(&mut fresh) {
                // What came behind the last request may be the next one.
                let inbox = core::mem::take(&mut self.inbox);
                let next = self.read_head(&inbox, worker);
                worker.recycle(inbox);
                if let Some(next) = next {
                    return Poll::Ready(next);
                }
            }
            self.poll_next(cx, worker)
        })
        .await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>, worker: &Worker) -> Poll<Next> {
        let mut scratch = worker.scratch.borrow_mut();
        loop {
            let have = self.inbox.len();
            scratch[..have].copy_from_slice(&self.inbox);
            match self.socket.poll_read(cx, &mut scratch[have..]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    if have == 0 && self.used {
                        self.watch.arm(worker.live().settings.timeouts.head);
                    }
                    self.inbox.clear();
                    if let Some(next) = self.read_head(&scratch[..have + count], worker) {
                        return Poll::Ready(next);
                    }
                }
                Poll::Ready(_) => return Poll::Ready(Next::Gone { amid: have > 0, late: false }),
                Poll::Pending => {
                    let amid = have > 0;
                    if self.watch.expired(cx) {
                        return Poll::Ready(Next::Gone { amid, late: true });
                    }
                    if worker.stopping.get() && !amid {
                        return Poll::Ready(Next::Gone { amid, late: false });
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    /// Makes a request of `bytes` if the head is whole, else keeps them for later. The inbox is
    /// empty before.
    fn read_head(&mut self, bytes: &[u8], worker: &Worker) -> Option<Next> {
        let live = worker.live();
        let mut slots = Slots::new();
        match request::parse(bytes, &live.settings.wire, &mut slots) {
            Ok(Some(head)) => {
                let rest = &bytes[head.head_bytes..];
                let exchange = Exchange::begin(&head, bytes, self, worker, live);
                self.keep(rest, worker);
                if let Some(stream) = &mut self.stream {
                    stream.advance(head.head_bytes as u64);
                }
                Some(Next::Exchange(Box::new(exchange)))
            }
            // A head limit above the buffer would wait for bytes that cannot be taken.
            Ok(None) if bytes.len() >= SCRATCH_BYTES => {
                Some(Next::Reject(Reject { status: 431, why: "the head is too long" }))
            }
            Ok(None) => {
                self.keep(bytes, worker);
                None
            }
            Err(reject) => Some(Next::Reject(reject)),
        }
    }

    fn keep(&mut self, bytes: &[u8], worker: &Worker) {
        if !bytes.is_empty() {
            if self.inbox.capacity() == 0 {
                self.inbox = worker.buffer();
            }
            self.inbox.extend_from_slice(bytes);
        }
    }

    /// Sends `bytes` whole, within `patience`.
    pub(crate) async fn send(&mut self, bytes: &[u8], patience: Duration) -> bool {
        self.watch.arm(patience);
        let mut sent = 0;
        poll_fn(|cx| {
            while sent < bytes.len() {
                match self.socket.poll_write(cx, &bytes[sent..], &[], false) {
                    Poll::Ready(Ok(count)) => sent += count,
                    Poll::Ready(Err(_)) => return Poll::Ready(false),
                    Poll::Pending if self.watch.expired(cx) => return Poll::Ready(false),
                    Poll::Pending => return Poll::Pending,
                }
            }
            Poll::Ready(true)
        })
        .await
    }
}

/// Answers a request that cannot be served, and writes that down: nothing of it is known but who
/// sent it.
async fn refuse(client: &mut Client, worker: &Worker, cause: Cause, reject: Reject) {
    let (live, at) = (worker.live(), worker.shared.clock.now());
    let (mut out, today) = (worker.buffer(), worker.today());
    let edit = emit::ErrorEdit { close: true, date: Some(&today), ..Default::default() };
    let head_bytes = emit::error(reject.status, reject.why, &edit, &mut out);
    let sent = client.send(&out, live.settings.timeouts.body).await;
    let nothing = Request { at, target: TargetId(0), class: Class::STATIC, holder: None };
    let mut tally = Tally::new(&nothing, client.peer);
    (tally.status, tally.cause, tally.local) = (reject.status, cause, client.local);
    tally.bytes_out = if sent { out.len() as u64 } else { 0 };
    tally.head_out = head_bytes as u64;
    worker.recycle(out);
    let counters = worker.counters();
    counters.causes[cause as usize].add(1);
    counters.bytes_out.add(tally.bytes_out);
    counters.statuses[usize::from(tally.status / 100).clamp(1, 5) - 1].add(1);
    let route = &live.routes[live.route(client.entrance, None)];
    route.counters.of(worker.index).replies.count(Method::Extension as u8, tally.status);
    let unknown = b"-";
    worker.shared.journal.remember(worker.index, |record| {
        record.method.set(unknown);
        record.host.set(unknown);
        record.path.set(unknown);
        record.server.set(unknown);
        record.tally = tally;
    });
    if let Some(format) = live.settings.access {
        let texts = Texts::unknown(&live.policy);
        let started = worker.shared.journal.started_unix_ms();
        worker.log(|out| access::write(format, out, started, &tally, &texts));
    }
}

/// Ends our side and reads on for a while what the client still sends.
async fn linger(client: &mut Client, worker: &Worker) {
    client.socket.shutdown_write();
    client.watch.arm(LINGER);
    let mut left = LINGER_BYTES_MAX;
    poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        loop {
            match client.socket.poll_read(cx, &mut scratch) {
                Poll::Ready(Ok(count)) if count > 0 && count <= left => left -= count,
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if client.watch.expired(cx) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await;
}
