//! What the tests of a bed have in common: a bed or a reason why not, and a small HTTP client.

// Helpers are no tests in the eyes of clippy, and no test file uses all of them.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;
use testbed::{Host, Plan, TestBed};

/// How long a reply may pause before a test has failed.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A bed, or `None` where there cannot be one; that is said past the capture of output.
pub fn up(plan: &Plan) -> Option<TestBed> {
    if !is_possible() {
        return None;
    }
    Some(TestBed::up(plan).unwrap())
}

pub use testbed::possible as is_possible;

/// A reply as it came.
#[derive(Debug)]
pub struct Reply {
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        fields
            .into_iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The body without its chunks' lines.
    pub fn unchunked(&self) -> Vec<u8> {
        let (mut rest, mut whole) = (self.body.as_slice(), Vec::new());
        loop {
            let end = rest.windows(2).position(|pair| pair == b"\r\n").unwrap();
            let size = std::str::from_utf8(&rest[..end]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            rest = &rest[end + 2..];
            if size == 0 {
                assert_eq!(rest, b"\r\n");
                return whole;
            }
            whole.extend_from_slice(&rest[..size]);
            rest = &rest[size + 2..];
        }
    }
}

/// Asks from one machine at an address, port 80, on a connection that the server closes.
pub fn ask(bed: &TestBed, from: Host, at: IpAddr, request: &[u8]) -> io::Result<Reply> {
    let work = || {
        let mut stream = TcpStream::connect_timeout(&SocketAddr::new(at, 80), PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(request)?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all)?;
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let body = all.split_off(end);
        Ok(Reply { head: String::from_utf8(all).unwrap(), body })
    };
    bed.enter(from, work).unwrap()
}

/// Asks the client for a path.
pub fn get(bed: &TestBed, at: IpAddr, path: &str) -> io::Result<Reply> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");
    ask(bed, Host::Client, at, request.as_bytes())
}
