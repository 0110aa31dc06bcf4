//! Probes: how a server is asked whether it is well.
//!
//! A tiny HTTP/1.1 client over TCP, for a check needs one GET and the first line of the answer.
//! Whatever goes wrong becomes one clear sentence, since "down" without a reason is what sends an
//! operator to tcpdump.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes of an answer that are read at most: interim replies and the status line fit easily.
const ANSWER_BYTES_MAX: usize = 4096;
/// Characters of a strange answer that are quoted at most.
const QUOTE_CHARS_MAX: usize = 60;

/// What a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Whether it accepts a connection.
    Tcp,
    /// Whether it answers a GET.
    Http {
        /// Path and query to ask for, from the root.
        path: String,
        /// The Host field; the server's address when `None`.
        host: Option<String>,
        /// Status codes that pass.
        expect: RangeInclusive<u16>,
    },
}

impl Probe {
    /// A GET of `path` that passes with any status from 200 to 399.
    pub fn http(path: impl Into<String>) -> Self {
        Self::Http { path: path.into(), host: None, expect: 200..=399 }
    }

    /// Asks the server at `address` (`host:port`) and says what was found.
    ///
    /// # Errors
    /// The [`Fault`], after `time_max` at the latest.
    pub async fn ask(&self, address: &str, time_max: Duration) -> Result<String, Fault> {
        let (mut step, mut answer) = (Step::Connect, Vec::new());
        let asked = self.converse(address, &mut step, &mut answer);
        match tokio::time::timeout(time_max, asked).await {
            Ok(found) => found,
            Err(_) if answer.is_empty() => Err(Fault::TimedOut { step, time_max }),
            Err(_) => Err(not_http(&answer)),
        }
    }

    async fn converse(
        &self,
        address: &str,
        step: &mut Step,
        answer: &mut Vec<u8>,
    ) -> Result<String, Fault> {
        let mut stream = TcpStream::connect(address).await.map_err(Fault::from_connect)?;
        let Self::Http { path, host, expect } = self else {
            return Ok("accepts connections".to_owned());
        };
        *step = Step::Answer;
        let host = host.as_deref().unwrap_or(address);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: baton-check\r\n\
             Accept: */*\r\nConnection: close\r\n\r\n"
        );
        // A server that is no HTTP server may say so and close before it reads: its words count
        // for more than our failed write.
        let sent = stream.write_all(request.as_bytes()).await;
        loop {
            if let Some(status) = status_of(answer)? {
                return judge(status, expect);
            }
            if answer.len() >= ANSWER_BYTES_MAX {
                return Err(not_http(answer));
            }
            let room = (ANSWER_BYTES_MAX - answer.len()) as u64;
            match (&mut stream).take(room).read_buf(answer).await {
                Ok(0) if answer.is_empty() => return Err(Fault::Silent),
                Ok(0) => return Err(not_http(answer)),
                Ok(_) => {}
                Err(error) if answer.is_empty() => {
                    return Err(Fault::Lost(sent.err().unwrap_or(error)));
                }
                Err(_) => return Err(not_http(answer)),
            }
        }
    }
}

/// How far a probe came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It waited for the connection.
    Connect,
    /// It waited for the answer.
    Answer,
}

/// Why a server failed its check: each one a sentence for the operator.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nobody listens there.
    #[error("refused the connection: nothing listens on its port")]
    Refused,
    /// The name of the server has no address.
    #[error("its name cannot be resolved ({0})")]
    Unresolved(io::Error),
    /// The network says no.
    #[error("cannot be reached ({0})")]
    Unreachable(io::Error),
    /// It was too slow.
    #[error("{} within {time_max:?}", match step {
        Step::Connect => "accepted no connection",
        Step::Answer => "accepted the connection but did not answer",
    })]
    TimedOut {
        /// How far the probe came.
        step: Step,
        /// How long it had.
        time_max: Duration,
    },
    /// It broke the connection.
    #[error("broke the connection before it answered ({0})")]
    Lost(io::Error),
    /// It closed the connection in good order, without a word.
    #[error("closed the connection without an answer")]
    Silent,
    /// It answered another status.
    #[error("answered status {status} instead of {}-{}", expect.start(), expect.end())]
    Status {
        /// The status it answered.
        status: u16,
        /// Those that pass.
        expect: RangeInclusive<u16>,
    },
    /// It is no HTTP server.
    #[error("answered '{0}' instead of HTTP")]
    NotHttp(String),
    /// It wants TLS.
    #[error("answered with a TLS record instead of HTTP: is this its HTTPS port?")]
    Tls,
}

impl Fault {
    fn from_connect(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            // The resolver's errors carry no number of the operating system.
            _ if error.raw_os_error().is_none() => Self::Unresolved(error),
            _ => Self::Unreachable(error),
        }
    }
}

fn judge(status: u16, expect: &RangeInclusive<u16>) -> Result<String, Fault> {
    if expect.contains(&status) {
        return Ok(format!("answered status {status}"));
    }
    Err(Fault::Status { status, expect: expect.clone() })
}

/// The final status of an answer read so far; `None` when more must be read.
fn status_of(mut answer: &[u8]) -> Result<Option<u16>, Fault> {
    loop {
        let start = b"HTTP/1.";
        let common = answer.len().min(start.len());
        if answer[..common] != start[..common] {
            // A whole line makes a better quotation than its first bytes.
            let line_ended = answer.contains(&b'\n') || !answer[0].is_ascii_graphic();
            return if line_ended { Err(not_http(answer)) } else { Ok(None) };
        }
        let Some(line_end) = answer.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let status = status_in(&answer[..line_end]).ok_or_else(|| not_http(answer))?;
        if !(100..200).contains(&status) {
            return Ok(Some(status));
        }
        // An interim reply (RFC 9110 section 15.2): the final one follows its empty line.
        let Some(head_end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        answer = &answer[head_end + 4..];
    }
}

/// The status code of `HTTP/1.x NNN reason`.
fn status_in(line: &[u8]) -> Option<u16> {
    let code = line.get(8..12)?;
    let ended = matches!(line.get(12), None | Some(b' ' | b'\r'));
    let digits = std::str::from_utf8(&code[1..]).ok()?;
    let plain = code[0] == b' ' && digits.bytes().all(|byte| byte.is_ascii_digit());
    let status = digits.parse().ok()?;
    (ended && plain && (100..600).contains(&status)).then_some(status)
}

fn not_http(answer: &[u8]) -> Fault {
    // TLS records: alert or handshake, then the version's major number.
    if let [0x15 | 0x16, 0x03, ..] = answer {
        return Fault::Tls;
    }
    let line = answer.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    let mut quote: String = text
        .chars()
        .take(QUOTE_CHARS_MAX)
        .map(|char| if char.is_control() { '.' } else { char })
        .collect();
    if text.chars().nth(QUOTE_CHARS_MAX).is_some() {
        quote.push('…');
    }
    Fault::NotHttp(quote)
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
