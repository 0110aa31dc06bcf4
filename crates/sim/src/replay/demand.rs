//! What a logged request asks of a server.

use policy::{Class, Instant};

/// One request of a log, its costs known: what every run of a comparison is fed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// When it came, by the log's clock, since the beginning of the log.
    pub at: Instant,
    /// What it names: numbers from 0 without gaps.
    pub target: u32,
    /// Who asked, for policies that look at connections.
    pub client: u32,
    /// Bytes that the target takes in a cache.
    pub size_bytes: u64,
    /// Bytes of this reply.
    pub reply_bytes: u64,
    /// What it takes of the CPU, hit or miss, in nanoseconds.
    pub cpu_ns: u64,
    /// What it takes of the disk unless the cache has it, in nanoseconds.
    pub disk_ns: u64,
    /// What the client waits for beyond, hit or miss, while the server can do other work, in
    /// nanoseconds.
    pub wait_ns: u64,
    /// The same, unless the cache has the target.
    pub miss_wait_ns: u64,
    /// The probability that the cache may give and keep the reply, 0 to 1.
    pub cacheable: f32,
    /// Whether the log says if the logged server's cache had it.
    pub judged: bool,
    /// Which resource it leans on.
    pub class: Class,
}
