//! A client that looks at every byte.

use crate::site::PATIENCE;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use testbed::File;

/// A connection of a client.
pub struct Client(BufReader<TcpStream>);

/// A reply: head and body.
pub struct Reply(pub String, pub Vec<u8>);

impl Reply {
    /// Whether it is a file, whole and right.
    pub fn is(&self, file: &File) {
        assert!(self.0.starts_with("HTTP/1.1 200 "), "{}", self.0);
        assert_eq!(self.1.len() as u64, file.bytes, "{}", file.path);
        assert!(testbed::content::verify(&file.path, 0, &self.1), "other bytes: {}", file.path);
    }

    pub fn server(&self) -> &str {
        self.field("X-Served-By").expect("a server says who it is")
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Client {
    pub fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::with_capacity(2048, stream))
    }

    /// Its own end.
    pub fn address(&self) -> SocketAddr {
        self.0.get_ref().local_addr().unwrap()
    }

    /// Sends it, in one segment if it fits.
    pub fn send(&mut self, request: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(request.as_ref()).unwrap();
    }

    /// Asks for a file; who answered.
    pub fn fetch(&mut self, file: &File) -> String {
        self.fetch_as(&file.path, file)
    }

    /// Asks for a file by another URL; who answered.
    pub fn fetch_as(&mut self, url: &str, file: &File) -> String {
        self.send(get(url));
        let reply = self.reply().unwrap_or_else(|how| panic!("no reply to {url}: {how}"));
        reply.is(file);
        reply.server().to_owned()
    }

    /// The next reply, to anything but HEAD.
    ///
    /// # Errors
    /// How the connection ended before.
    pub fn reply(&mut self) -> Result<Reply, ErrorKind> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).map_err(|error| error.kind())? == 0 {
                return Err(ErrorKind::UnexpectedEof);
            }
        }
        let mut reply = Reply(head, Vec::new());
        let length = reply.field("Content-Length").or_else(|| reply.field("content-length"));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        self.0.read_exact(&mut body).map_err(|error| error.kind())?;
        reply.1 = body;
        Ok(reply)
    }

    /// How the connection ended, of which nothing more is expected.
    pub fn end(&mut self) -> ErrorKind {
        match self.0.read(&mut [0]) {
            Ok(0) => ErrorKind::UnexpectedEof,
            Ok(_) => panic!("there is more"),
            Err(error) => error.kind(),
        }
    }
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: bed\r\n\r\n")
}
