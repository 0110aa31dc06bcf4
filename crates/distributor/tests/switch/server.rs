//! A server that does exactly what a test scripts, byte by byte.

use crate::peer::{Peer, field};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub struct Server {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
}

/// A request as a server got it.
pub struct Asked {
    pub head: String,
    pub body: Vec<u8>,
    /// The trailer section of a chunked body, its blank line included.
    pub trailers: String,
}

impl Asked {
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

impl Server {
    /// Each connection, numbered from 0, is played by `script` on a thread of its own, and closed
    /// when that returns. The threads end with the test's process.
    pub fn scripted(script: impl Fn(&mut Peer, usize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, script) = (Arc::clone(&connections), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (number, script) = (count.fetch_add(1, Ordering::SeqCst), Arc::clone(&script));
                std::thread::spawn(move || script(&mut Peer::over(stream), number));
            }
        });
        Self { address, connections, seen: Arc::default() }
    }

    /// Reads whole requests and sends what `answer` says, on connections that stay open. An empty
    /// answer closes the connection.
    pub fn answering(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&seen);
        let server = Self::scripted(move |peer, _| {
            while let Some(asked) = next(peer) {
                log.lock().unwrap().push(asked.head.clone());
                let bytes = answer(&asked);
                if bytes.is_empty() || !peer.send(bytes) {
                    return;
                }
            }
        });
        Self { seen, ..server }
    }

    /// Says `text` to everything.
    pub fn saying(text: &'static str) -> Self {
        Self::answering(move |_| ok(text))
    }

    /// An address where nobody listens.
    pub fn nowhere() -> SocketAddr {
        testbed::Port::kept().unwrap().for_ever()
    }

    /// Connections accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The heads of the requests that came.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// The next whole request.
pub fn next(peer: &mut Peer) -> Option<Asked> {
    let head = peer.head()?;
    let (mut body, mut trailers) = (Vec::new(), String::new());
    if field(&head, "transfer-encoding").is_some() {
        (body, trailers) = peer.chunked();
    } else if let Some(length) = field(&head, "content-length") {
        body = peer.take(length.parse().unwrap());
    }
    Some(Asked { head, body, trailers })
}

/// A plain reply.
pub fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    [reply.as_bytes(), body].concat()
}
