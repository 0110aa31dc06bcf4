//! What one run is: a cluster, and how the log is played to it.

use core::time::Duration;
use model::CachePolicy;
use policy::{Entry, Params};

/// A cluster and the pace of the log.
#[derive(Clone)]
pub struct Setup {
    /// The row of the policy, of `policy::POLICIES`.
    pub policy: &'static Entry,
    /// Its parameters.
    pub params: Params,
    /// Servers, at least 1. They are called `s1`, `s2` and so on.
    pub servers: u16,
    /// The cache of each.
    pub cache_bytes: u64,
    /// What a full cache gives up.
    pub cache_policy: CachePolicy,
    /// Requests the CPU of a server works on at once, each at full speed.
    pub cores: u16,
    /// Misses a server works on at once, each at full speed.
    pub disks: u16,
    /// When requests come.
    pub pace: Pace,
    /// The least span that the log's stamps tell apart.
    pub grain: Duration,
    /// For the dice of the policy and the arrivals.
    pub seed: u64,
}

/// When requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At the log's times, whatever becomes of them.
    Open {
        /// How many times as fast as logged.
        speed: f64,
    },
    /// As soon as another one has ended, in the order of the log.
    Closed {
        /// Requests in the cluster at once; `None`: as many as the front-end of LARD lets in, at
        /// the papers' thresholds.
        limit: Option<usize>,
    },
}
