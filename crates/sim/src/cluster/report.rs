//! What came of a simulation.

use core::time::Duration;

/// What a cluster did in the time that was measured: from the end of the warm-up until the last
/// connection entered (see [`super::Setup::tail`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The time measured.
    pub span: Duration,
    /// Requests answered in it.
    pub answered: u64,
    /// Requests answered a second.
    pub throughput_rps: f64,
    /// Share of the requests whose target was not in the memory of the node that had to have it.
    /// Those that joined another's read count: they waited for the disk.
    pub miss_ratio: f64,
    /// Requests that joined another's read.
    pub coalesced: u64,
    /// Reads that the cache was not given (extended LARD on a busy disk).
    pub unkept: u64,
    /// Mean delay of a request: from the client's sending its batch to the last byte of the reply.
    pub delay_mean: Duration,
    /// Half of the delays are below.
    pub delay_p50: Duration,
    /// Nine tenths of them.
    pub delay_p90: Duration,
    /// All but a hundredth.
    pub delay_p99: Duration,
    /// Connections that ended.
    pub connections: u64,
    /// Mean time that they were open.
    pub open_mean: Duration,
    /// Connections handed to a node.
    pub handed: u64,
    /// Connections handed on to another.
    pub moved: u64,
    /// Requests that the node with the connection fetched from another.
    pub forwarded: u64,
    /// Busy share of the front-end's CPU.
    pub front: f64,
    /// Busy share of the layer-4 stage before a distributed front-end.
    pub layer4: f64,
    /// Busy share of the dispatcher of a distributed front-end.
    pub dispatcher: f64,
    /// Questions in a message to the dispatcher, on average.
    pub batch_mean: f64,
    /// Share of the time, of all nodes together, with so few connections that the node counts as
    /// under-utilised.
    pub idle: f64,
    /// The largest mean number of connections of a node, over the mean of all: 1 is balance.
    pub imbalance: f64,
    /// Node by node.
    pub nodes: Vec<NodeReport>,
    /// The whole run, warm-up and end included.
    pub totals: Totals,
}

/// What one node did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeReport {
    /// Busy share of its CPU.
    pub cpu: f64,
    /// Busy share of its disks.
    pub disk: f64,
    /// Mean number of connections it had.
    pub open_mean: f64,
    /// Share of the time with so few that it counts as under-utilised.
    pub idle: f64,
    /// Requests it was given.
    pub requests: u64,
    /// Of those, requests whose target it did not have in memory.
    pub reads: u64,
}

/// Counts of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections that entered.
    pub entered: u64,
    /// Connections that ended, well or not.
    pub left: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests lost: their node went down, or none was left.
    pub failed: u64,
    /// Requests begun again on another node.
    pub retried: u64,
}

impl Report {
    /// The mean of `of` over all nodes.
    pub fn node_mean(&self, of: impl Fn(&NodeReport) -> f64) -> f64 {
        self.nodes.iter().map(of).sum::<f64>() / self.nodes.len().max(1) as f64
    }
}
