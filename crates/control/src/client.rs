//! A tiny client of the admin interface, for `baton status`, `drain` and `explain`.
//!
//! Blocking, one connection a question, over the Unix socket or TCP with the token: a command
//! asks once and ends, so it needs neither a runtime nor a pool.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of a reply at most: ten thousand decisions fit.
const REPLY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How long each read or write may take.
const STEP_MAX: Duration = Duration::from_secs(10);

/// Where a switch's admin interface is.
#[derive(Clone, Debug)]
pub enum Client {
    /// Behind a Unix socket.
    Unix(PathBuf),
    /// At a TCP address, with the token.
    Tcp {
        /// `host:port`.
        address: String,
        /// The token, as configured there.
        token: String,
    },
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No switch answers there.
    #[error("no baton answers on {at} ({error}); is it running, and is this its admin address?")]
    Unreachable {
        /// Where.
        at: String,
        /// Why.
        error: io::Error,
    },
    /// Something answered that is no baton.
    #[error("{at} answered something that is no reply of baton: {what}")]
    Garbled {
        /// Where.
        at: String,
        /// What is wrong with it.
        what: String,
    },
    /// The switch says no.
    #[error("{error}; {remedy}")]
    Refused {
        /// The status it answered with.
        status: u16,
        /// What is wrong.
        error: String,
        /// What to do.
        remedy: String,
    },
}

impl Client {
    /// Reads `path`, such as `/v1/status`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.ask("GET", path, None)
    }

    /// Changes what is at `path`, such as `/v1/servers/a`, and returns its new state.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn patch(&self, path: &str, change: &Value) -> Result<Value, ClientError> {
        self.ask("PATCH", path, Some(change))
    }

    /// Asks which server a request would go to: see `/v1/explain`. Each of `headers` reads
    /// `Name: value`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn explain(
        &self,
        method: &str,
        url: &str,
        headers: &[String],
    ) -> Result<Value, ClientError> {
        let mut path = format!("/v1/explain?method={}&url={}", encoded(method), encoded(url));
        for header in headers {
            path.push_str("&header=");
            path.push_str(&encoded(header));
        }
        self.get(&path)
    }

    /// Drains a server, or ends that.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn drain(&self, server: &str, drain: bool) -> Result<Value, ClientError> {
        let path = format!("/v1/servers/{}", encoded(server));
        self.patch(&path, &serde_json::json!({ "drain": drain }))
    }

    /// Changes a server's weight until the next reload.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn set_weight(&self, server: &str, weight: u32) -> Result<Value, ClientError> {
        let path = format!("/v1/servers/{}", encoded(server));
        self.patch(&path, &serde_json::json!({ "weight": weight }))
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, ClientError> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = format!("{method} {path} HTTP/1.0\r\nHost: baton\r\n");
        if let Self::Tcp { token, .. } = self {
            request.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if !body.is_empty() {
            let length = body.len();
            request.push_str("Content-Type: application/json\r\n");
            request.push_str(&format!("Content-Length: {length}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(&body);
        let reply = self
            .exchange(request.as_bytes())
            .map_err(|error| ClientError::Unreachable { at: self.at(), error })?;
        read(&reply).unwrap_or_else(|what| Err(ClientError::Garbled { at: self.at(), what }))
    }

    /// Sends a request and reads until the end of the connection, which is where a reply to
    /// HTTP/1.0 ends.
    fn exchange(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(STEP_MAX))?;
                stream.set_write_timeout(Some(STEP_MAX))?;
                talk(stream, request)
            }
            Self::Tcp { address, .. } => {
                let stream = TcpStream::connect(address)?;
                stream.set_read_timeout(Some(STEP_MAX))?;
                stream.set_write_timeout(Some(STEP_MAX))?;
                talk(stream, request)
            }
        }
    }

    fn at(&self) -> String {
        match self {
            Self::Unix(path) => path.display().to_string(),
            Self::Tcp { address, .. } => address.clone(),
        }
    }
}

fn talk(mut stream: impl Read + Write, request: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(request)?;
    let mut reply = Vec::new();
    stream.take(REPLY_BYTES_MAX).read_to_end(&mut reply)?;
    Ok(reply)
}

/// Reads a whole reply; the outer error says why it is none.
fn read(reply: &[u8]) -> Result<Result<Value, ClientError>, String> {
    let head_end = reply.windows(4).position(|four| four == b"\r\n\r\n").ok_or("no head")?;
    let head = std::str::from_utf8(&reply[..head_end]).map_err(|error| error.to_string())?;
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse::<u16>().ok());
    let status = status.ok_or("no status line")?;
    let body: Value =
        serde_json::from_slice(&reply[head_end + 4..]).map_err(|error| error.to_string())?;
    if (200..300).contains(&status) {
        return Ok(Ok(body));
    }
    let field = |name: &str| body[name].as_str().unwrap_or("it gives no reason").to_owned();
    Ok(Err(ClientError::Refused { status, error: field("error"), remedy: field("remedy") }))
}

/// Percent-encodes all but the unreserved characters (RFC 3986 section 2.3).
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
