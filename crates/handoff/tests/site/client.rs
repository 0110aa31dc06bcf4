//! A client that believes nothing: HTTP/1 over the standard library's sockets, every byte of a
//! reply compared with what the file has.

use super::PATIENCE;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use testbed::{File, content};

/// One connection to the site.
pub struct Client {
    pub stream: TcpStream,
    reader: BufReader<TcpStream>,
}

/// A reply as it came, without the lines of its chunks.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }

    /// The number of the server that says it answered.
    pub fn server(&self) -> Option<u16> {
        self.field("X-Served-By")?.strip_prefix("server")?.parse().ok()
    }

    /// Whether this is `file` as `server` sends it, to the last byte.
    pub fn assert_is(&self, file: &File, server: u16) {
        assert_eq!(self.status, 200, "{}", self.head);
        assert_eq!(self.server(), Some(server), "{}", self.head);
        assert_eq!(self.body.len() as u64, file.bytes, "{}: {}", file.path, self.head);
        assert!(content::verify(&file.path, 0, &self.body), "other bytes: {}", file.path);
    }
}

/// A request for a path that `server` is to answer.
pub fn get(path: &str, server: u16) -> Vec<u8> {
    request("GET", path, server, "")
}

/// The head of any request; `fields` end in CRLF.
pub fn request(method: &str, path: &str, server: u16, fields: &str) -> Vec<u8> {
    format!("{method} {path}?s{server} HTTP/1.1\r\nHost: bed\r\n{fields}\r\n").into_bytes()
}

impl Client {
    /// Connects to an address of the site.
    ///
    /// # Errors
    /// The system's, and when it takes too long.
    pub fn connect(to: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect_timeout(&to, PATIENCE)?)
    }

    /// Connects from this port, also when a connection from it has just ended.
    ///
    /// # Errors
    /// The system's.
    pub fn connect_from(port: u16, to: SocketAddr) -> io::Result<Self> {
        let (family, any): (_, IpAddr) = match to {
            SocketAddr::V4(_) => (AddressFamily::INET, Ipv4Addr::UNSPECIFIED.into()),
            SocketAddr::V6(_) => (AddressFamily::INET6, Ipv6Addr::UNSPECIFIED.into()),
        };
        let socket = socket(family, SocketType::STREAM, None)?;
        set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddr::new(any, port))?;
        connect(&socket, &to)?;
        Self::over(socket.into())
    }

    /// # Errors
    /// The system's.
    pub fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
        Ok(Self { stream, reader })
    }

    /// Sends these bytes, in one segment if they fit.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Asks for a file, takes the reply, and looks at every byte.
    pub fn fetch(&mut self, file: &File, server: u16) {
        self.send(&get(&file.path, server));
        self.reply().unwrap().assert_is(file, server);
    }

    /// The reply to a request that was no HEAD.
    ///
    /// # Errors
    /// The system's; when it takes too long; when the connection ends before the reply.
    pub fn reply(&mut self) -> io::Result<Reply> {
        let mut reply = self.head()?;
        if matches!(reply.status, 100..=199 | 204 | 304) {
            return Ok(reply);
        }
        if reply.field("Transfer-Encoding") == Some("chunked") {
            while self.chunk(&mut reply.body)? {}
        } else if let Some(length) = reply.field("Content-Length") {
            reply.body = vec![0; length.parse().map_err(io::Error::other)?];
            self.reader.read_exact(&mut reply.body)?;
        } else {
            self.reader.read_to_end(&mut reply.body)?;
        }
        Ok(reply)
    }

    /// A reply's head alone: all that follows HEAD.
    ///
    /// # Errors
    /// As for [`Client::reply`].
    pub fn head(&mut self) -> io::Result<Reply> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.reader.read_line(&mut head)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no reply: {head:?}")))?;
        Ok(Reply { status, head, body: Vec::new() })
    }

    /// One chunk; false: it was the last.
    fn chunk(&mut self, body: &mut Vec<u8>) -> io::Result<bool> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
        let begin = body.len();
        body.resize(begin + size + 2, 0);
        self.reader.read_exact(&mut body[begin..])?;
        let ended = body.split_off(begin + size);
        if ended == b"\r\n" { Ok(size > 0) } else { Err(io::Error::other("no end of a chunk")) }
    }

    /// Reads `count` bytes and no more.
    ///
    /// # Errors
    /// As for [`Client::reply`].
    pub fn some(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Waits for the connection's end: `Ok` when it was closed, the error when it was reset.
    ///
    /// # Errors
    /// `ConnectionReset`; `WouldBlock` when it did not end in time.
    pub fn ends(&mut self) -> io::Result<()> {
        match self.reader.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(io::Error::other("it goes on")),
        }
    }
}
