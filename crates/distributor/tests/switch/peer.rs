//! One end of a connection, as a test plays it: bytes out, heads and bodies in, and how it ended.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Nothing in these tests takes this long: whoever waits longer is stuck.
pub const STUCK: Duration = Duration::from_secs(20);

pub struct Peer {
    stream: TcpStream,
    held: Vec<u8>,
}

/// How a peer ended its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Reset,
}

/// A whole reply.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    /// The trailer section of a chunked body, its blank line included.
    pub trailers: String,
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn field(&self, name: &str) -> Option<String> {
        field(&self.head, name)
    }
}

/// The value of the first field of that name.
pub fn field(head: &str, name: &str) -> Option<String> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

impl Peer {
    pub fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    pub fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(STUCK)).unwrap();
        stream.set_write_timeout(Some(STUCK)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, held: Vec::new() }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether the bytes could be sent. A peer may be right to have gone.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sends the bytes one by one, each in a packet of its own as far as the kernel allows.
    pub fn send_slowly(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        bytes.as_ref().chunks(1).all(|byte| self.send(byte))
    }

    fn more(&mut self) -> Result<usize, End> {
        let mut chunk = [0; 64 * 1024];
        match self.stream.read(&mut chunk) {
            Ok(count) => {
                self.held.extend_from_slice(&chunk[..count]);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(End::Reset),
            Err(error) => panic!("nothing came: {error}"),
        }
    }

    /// The next head with its blank line; `None` at the end of the connection.
    pub fn head(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.held.windows(4).position(|four| four == b"\r\n\r\n") {
                return Some(String::from_utf8(self.cut(at + 4)).unwrap());
            }
            if !matches!(self.more(), Ok(1..)) {
                return None;
            }
        }
    }

    /// Exactly `count` bytes, or as many as came before the end.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        while self.held.len() < count && matches!(self.more(), Ok(1..)) {}
        self.cut(count.min(self.held.len()))
    }

    fn cut(&mut self, count: usize) -> Vec<u8> {
        let rest = self.held.split_off(count);
        core::mem::replace(&mut self.held, rest)
    }

    /// The next line without its end.
    pub fn line(&mut self) -> String {
        loop {
            if let Some(at) = self.held.windows(2).position(|two| two == b"\r\n") {
                let mut line = String::from_utf8(self.cut(at + 2)).unwrap();
                line.truncate(at);
                return line;
            }
            assert!(matches!(self.more(), Ok(1..)), "the line ends: {:?}", self.held);
        }
    }

    /// A chunked body and its trailers.
    pub fn chunked(&mut self) -> (Vec<u8>, String) {
        let mut body = Vec::new();
        loop {
            let line = self.line();
            let digits = line.split(';').next().unwrap();
            let size = usize::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("{line:?}"));
            if size == 0 {
                break;
            }
            body.extend(self.take(size));
            assert_eq!(self.line(), "", "a chunk is as long as it says");
        }
        let mut trailers = String::new();
        loop {
            let line = self.line();
            trailers += &format!("{line}\r\n");
            if line.is_empty() {
                return (body, trailers);
            }
        }
    }

    /// The next reply, which must be whole, to a request of `method`.
    pub fn reply_to(&mut self, method: &str) -> Reply {
        let head = self.head().expect("a reply comes");
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        let bare = method == "HEAD" || status < 200 || status == 204 || status == 304;
        let (mut body, mut trailers) = (Vec::new(), String::new());
        if bare {
        } else if field(&head, "transfer-encoding").is_some() {
            (body, trailers) = self.chunked();
        } else if let Some(length) = field(&head, "content-length") {
            let length = length.parse().unwrap();
            body = self.take(length);
            assert_eq!(body.len(), length, "the body is whole");
        } else {
            let (rest, end) = self.rest();
            assert_eq!(end, End::Closed);
            body = rest;
        }
        Reply { status, head, body, trailers }
    }

    /// The next reply to a GET.
    pub fn reply(&mut self) -> Reply {
        self.reply_to("GET")
    }

    /// Sends a GET of `path` and waits for the reply.
    pub fn get(&mut self, path: &str) -> Reply {
        assert!(self.send(format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n\r\n")));
        self.reply()
    }

    /// Everything up to the end, and which end it was.
    pub fn rest(&mut self) -> (Vec<u8>, End) {
        let end = loop {
            match self.more() {
                Ok(0) => break End::Closed,
                Ok(_) => {}
                Err(end) => break end,
            }
        };
        (core::mem::take(&mut self.held), end)
    }

    /// Ends our side only.
    pub fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Goes away with a reset.
    pub fn reset(self) {
        self.reset_on_close();
    }

    /// Will go away with a reset.
    pub fn reset_on_close(&self) {
        rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }
}
