//! What a running switch says it did with the connections of one-way delivery.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long it may take to say so.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counters of its metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Connections handed on to another server.
    pub moved: u64,
    /// Requests that the holder's agent fetches from another server.
    pub tagged: u64,
    /// Requests that the kernel did not know how to answer.
    pub asked: u64,
    /// Requests that went through the relay all the same, for whatever reason.
    pub relayed: u64,
}

impl Counters {
    /// Asks a switch at its admin socket.
    pub fn read(socket: &Path) -> Result<Self> {
        let mut stream = UnixStream::connect(socket).context("no admin socket")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text).context("no metrics")?;
        let sum = |prefix: &str| -> u64 {
            let lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
            let numbers = lines.filter_map(|rest| rest.rsplit(' ').next()?.parse::<u64>().ok());
            numbers.sum()
        };
        Ok(Self {
            moved: sum("baton_oneway_moved_total"),
            tagged: sum("baton_oneway_segments_total{verdict=\"tagged\"}"),
            asked: sum("baton_oneway_asked_total"),
            relayed: sum("baton_oneway_local_total"),
        })
    }

    /// What came since an earlier reading.
    pub fn since(self, before: &Self) -> Self {
        Self {
            moved: self.moved - before.moved,
            tagged: self.tagged - before.tagged,
            asked: self.asked - before.asked,
            relayed: self.relayed - before.relayed,
        }
    }
}
