//! The switch's side: asks an agent for its load and its connections.
//!
//! The seam between an agent and whoever polls it. One question a connection, in HTTP/1.0 so that
//! the end of the answer is the end of the connection: nothing has to be unwrapped. What comes
//! back is bounded and judged; a strange answer is a [`Fault`], never a panic. Polling itself, how
//! often and what follows when an agent is silent, is the caller's: [`LoadReport::report`] makes
//! what a policy is told.

use crate::report::{Flow, FlowsPage, LoadReport, printable};
use crate::serve::FLOWS_MAX;
use serde::de::DeserializeOwned;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes of an answer at most: a full page of connections has a megabyte.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// Why there is no answer; each a sentence for the operator.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nobody accepts there.
    #[error("no agent listens there ({0})")]
    Unreachable(io::Error),
    /// It was too slow.
    #[error("the agent did not answer within {0:?}")]
    TimedOut(Duration),
    /// The connection broke.
    #[error("the agent broke the connection ({0})")]
    Lost(io::Error),
    /// It says no.
    #[error("the agent answered status {0}")]
    Status(u16),
    /// It is something else that answers, or another version.
    #[error("the answer is not an agent's: {0}")]
    Garbled(String),
}

/// Where an agent is connected to: `host:port` of an address that may have the beginning of a path
/// behind it, as `host:port/.origin`.
pub fn authority(address: &str) -> &str {
    address.split_once('/').map_or(address, |(authority, _)| authority)
}

/// Asks the agent at `address` for its load: GET /load, below the path that the address has, if it
/// has one. Sentences in it are fit to be written into a log: see [`LoadReport::printable`].
///
/// # Errors
/// The [`Fault`], after `time_max` at the latest.
pub async fn fetch_load(address: &str, time_max: Duration) -> Result<LoadReport, Fault> {
    fetch::<LoadReport>(address, "/load", time_max).await.map(LoadReport::printable)
}

/// Asks the agent at `address` for the connections that its server still owns: those after
/// `after`, or the first. `more` in the answer says that there is a next page, after its last.
///
/// # Errors
/// The [`Fault`], after `time_max` at the latest.
pub async fn fetch_flows(
    address: &str,
    after: Option<Flow>,
    time_max: Duration,
) -> Result<FlowsPage, Fault> {
    let mut path = format!("/flows?n={FLOWS_MAX}");
    if let Some(Flow { client, vip }) = after {
        path.push_str(&format!("&client={client}&vip={vip}"));
    }
    fetch(address, &path, time_max).await
}

async fn fetch<T: DeserializeOwned>(
    address: &str,
    path: &str,
    time_max: Duration,
) -> Result<T, Fault> {
    let asked = tokio::time::timeout(time_max, converse(address, path)).await;
    let answer = asked.map_err(|_| Fault::TimedOut(time_max))??;
    serde_json::from_slice(body(&answer)?)
        .map_err(|error| Fault::Garbled(printable(&error.to_string())))
}

async fn converse(address: &str, path: &str) -> Result<Vec<u8>, Fault> {
    let host = authority(address);
    let prefix = address[host.len()..].trim_end_matches('/');
    let mut stream = TcpStream::connect(host).await.map_err(Fault::Unreachable)?;
    let question = format!("GET {prefix}{path} HTTP/1.0\r\nHost: {host}\r\nAccept: */*\r\n\r\n");
    stream.write_all(question.as_bytes()).await.map_err(Fault::Lost)?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut answer).await.map_err(Fault::Lost)?;
    if answer.len() as u64 > ANSWER_BYTES_MAX {
        return Err(Fault::Garbled(format!("it has more than {ANSWER_BYTES_MAX} bytes")));
    }
    Ok(answer)
}

/// The body of a good answer.
fn body(answer: &[u8]) -> Result<&[u8], Fault> {
    let status = status(answer).ok_or_else(|| Fault::Garbled("it is no HTTP".to_owned()))?;
    if status != 200 {
        return Err(Fault::Status(status));
    }
    let end = memchr::memmem::find(answer, b"\r\n\r\n");
    let end = end.ok_or_else(|| Fault::Garbled("its head does not end".to_owned()))?;
    Ok(&answer[end + 4..])
}

fn status(answer: &[u8]) -> Option<u16> {
    let rest = answer.strip_prefix(b"HTTP/1.")?.get(1..)?;
    let digits = std::str::from_utf8(rest.strip_prefix(b" ")?.get(..3)?).ok()?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
