//! A switch that splices, and servers that a test scripts.

use crate::peer::{Peer, STUCK};
use crate::running::Baton;
use serde_json::Value;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A server that serves each connection by `serve` on a thread of its own, for as long as the test
/// runs.
pub fn server(serve: impl Fn(Peer) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(Peer::over(stream)));
        }
    });
    address
}

/// A server that answers `GET /N` with N bytes, and a POST with what it brought, until its client
/// ends.
pub fn origin() -> SocketAddr {
    server(|mut peer| {
        while let Some(head) = peer.head() {
            let asked = head.split(' ').nth(1).unwrap()[1..].parse().unwrap_or(0);
            let length = crate::peer::field(&head, "content-length").map(|text| text.parse());
            let body = match length {
                Some(length) => peer.take(length.unwrap()),
                None => content(0, asked),
            };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            if !peer.send(head) || !peer.send(body) {
                return;
            }
        }
    })
}

/// `count` bytes of a stream from `from` on. No two stretches of a few bytes are alike for long.
pub fn content(from: usize, count: usize) -> Vec<u8> {
    let byte = |at: usize| (at ^ (at >> 8) ^ (at >> 15) ^ (at >> 22)) as u8;
    (from..from + count).map(byte).collect()
}

/// Says a stream's bytes until nobody has taken any for `patience`, at most `most`: how many.
pub fn say_until_stuck(stream: &mut TcpStream, most: usize, patience: Duration) -> usize {
    stream.set_write_timeout(Some(patience)).unwrap();
    let mut said = 0;
    while said < most {
        match stream.write(&content(said, (most - said).min(1 << 18))) {
            Ok(count) => said += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break;
            }
            Err(_) => return said,
        }
    }
    stream.set_write_timeout(Some(STUCK)).unwrap();
    said
}

/// A switch before servers, its access log, and what is left of it.
pub struct Site {
    pub baton: Baton,
}

impl Site {
    /// `more` goes into the configuration. `None`: not on this machine, which has been said.
    pub fn before(servers: &[SocketAddr], more: &str) -> Option<Self> {
        if !testbed::possible() {
            return None;
        }
        let mut config = String::from(
            "workers = 2\n[listen.web]\naddress = \"127.0.0.1:0\"\ndelivery = \"splice\"\n\
             [policy]\nname = \"round-robin\"\n[log]\naccess = \"json\"\n\
             [health]\nkind = \"off\"\n",
        );
        for (at, address) in servers.iter().enumerate() {
            config += &format!("[server.s{at}]\naddress = \"{address}\"\n");
        }
        Some(Self { baton: Baton::run(&(config + more)) })
    }

    pub fn client(&self) -> Peer {
        self.baton.client()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        u32::try_from(self.baton.status()["status"]["pid"].as_u64().unwrap()).unwrap()
    }

    /// Stops it and returns the lines of its access log.
    pub fn stop(mut self) -> Vec<Value> {
        self.baton.signal(rustix::process::Signal::TERM);
        assert!(self.baton.ended().success());
        let output = self.baton.output();
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Asks for `count` bytes and compares them.
pub fn ask(client: &mut Peer, count: usize) {
    let reply = client.get(&format!("/{count}"));
    assert_eq!(reply.status, 200);
    assert!(reply.body == content(0, count), "{count} bytes came as they were said");
}
