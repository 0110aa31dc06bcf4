//! The client: one persistent connection, one request after the other, every byte of the replies
//! compared with what the servers have.

use super::program::PATIENCE;
use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use wire::http::{Framing, Limits, Method, RequestContext, Slots, response};

/// Bytes asked of the kernel at once.
const READ_BYTES: usize = 64 * 1024;

/// A connection to the switch, or to whoever answers in its place.
pub(super) struct Connection {
    stream: TcpStream,
    host: &'static str,
    received: Vec<u8>,
    /// Where the kernel writes.
    room: Box<[u8]>,
}

/// A reply that was as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// The name that the server gives itself.
    pub(super) server: String,
    /// From the request's first byte to the reply's last.
    pub(super) took: Duration,
}

impl Connection {
    /// Connects; `host` is asked for in every request.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open(address: SocketAddr, host: &'static str) -> Result<Self> {
        let to = || format!("cannot connect to {address}");
        let stream = TcpStream::connect_timeout(&address, PATIENCE).with_context(to)?;
        stream.set_nodelay(true).with_context(to)?;
        stream.set_read_timeout(Some(PATIENCE)).with_context(to)?;
        Ok(Self { stream, host, received: Vec::new(), room: vec![0; READ_BYTES].into() })
    }

    /// The client's end.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn end(&self) -> Result<SocketAddr> {
        self.stream.local_addr().context("the connection has no address")
    }

    /// Asks for a path (the content is that of the path without its query), and waits for the
    /// whole reply.
    ///
    /// # Errors
    /// When the connection breaks, or a byte is not what it should be.
    pub(super) fn ask(&mut self, path: &str) -> Result<Reply> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        let began = Instant::now();
        self.stream.write_all(request.as_bytes()).with_context(|| format!("cannot ask {path}"))?;
        loop {
            if let Some((server, head_bytes, bytes)) = self.whole(path)? {
                let took = began.elapsed();
                let file = path.split('?').next().unwrap_or(path);
                let body = &self.received[head_bytes..bytes];
                ensure!(testbed::content::verify(file, 0, body), "{path}: wrong bytes");
                self.received.drain(..bytes);
                ensure!(self.received.is_empty(), "{path}: more bytes than were asked for");
                return Ok(Reply { server, took });
            }
            let read = self.stream.read(&mut self.room);
            let read = read.with_context(|| format!("{path}: no reply"))?;
            self.received.extend_from_slice(&self.room[..read]);
            ensure!(read > 0, "{path}: the connection was closed in the middle");
        }
    }

    /// The reply's server, the length of its head and its whole length, if all of it is here.
    fn whole(&self, path: &str) -> Result<Option<(String, usize, usize)>> {
        let asked = RequestContext { method: Method::Get, upgrade: false };
        let mut slots = Slots::default();
        let head = response::parse(&self.received, &asked, &Limits::default(), &mut slots);
        let Some(head) = head.map_err(|broken| anyhow::anyhow!("{path}: {}", broken.why))? else {
            return Ok(None);
        };
        ensure!(head.status == 200, "{path} was answered with {}", head.status);
        let Framing::Length(length) = head.body else { bail!("{path}: a reply without length") };
        let bytes = head.head_bytes + usize::try_from(length)?;
        let server = String::from_utf8_lossy(head.field("x-served-by").unwrap_or(b"?"));
        Ok((self.received.len() >= bytes).then(|| (server.into_owned(), head.head_bytes, bytes)))
    }
}
