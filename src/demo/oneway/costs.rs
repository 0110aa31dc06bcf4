//! What it costs: bytes through the front-end and response times, hand-off beside relay, in turns
//! so that whatever else the machine does falls on all alike.

use super::client::Connection;
use super::program::go_on;
use super::site::Site;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use testbed::Host;

/// Turns that each way of delivery gets.
const ROUNDS: usize = 5;
/// The lengths of replies, in bytes, and the files that have them.
const SIZES: [(&str, u64); 2] = [("/1500", 1500), ("/64k", 65_536)];
/// Targets that are tried until two are found on different servers.
const TARGETS_MAX: usize = 16;
/// The site that is asked for: not that of the visits.
const HOST: &str = "costs.example.org";

/// One way of delivery with one length of reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// `relay`, `stayed` or `moved`: where the requests' connection was each time.
    pub delivery: &'static str,
    /// Length of each reply's body.
    pub reply_bytes: u64,
    /// Requests that were measured.
    pub requests: usize,
    /// Bytes that went into and out of the front-end's interface for each request.
    pub front_bytes: f64,
    /// Median response time.
    pub median_us: f64,
}

/// Measures all ways with `requests` each.
///
/// # Errors
/// When a reply is not as it should be; [`testbed::Error::Interrupted`].
pub(super) fn measure(site: &Site, requests: usize, stop: &AtomicBool) -> Result<Vec<Cost>> {
    let mut costs = Vec::new();
    for (path, reply_bytes) in SIZES {
        let (one, other) = site.bed.enter(Host::Client, || apart(site, path))??;
        let mut ways = [
            Way::new("relay", site.relay(), [&one, &other]),
            Way::new("stayed", site.one_way(), [&one, &one]),
            Way::new("moved", site.one_way(), [&one, &other]),
        ];
        for _ in 0..ROUNDS {
            for way in &mut ways {
                go_on(stop)?;
                way.round(site, requests.div_ceil(ROUNDS))?;
            }
        }
        costs.extend(ways.map(|way| way.cost(reply_bytes)));
    }
    Ok(costs)
}

/// Two targets of the same content that the policy has put on different servers.
fn apart(site: &Site, path: &str) -> Result<(String, String)> {
    let mut connection = Connection::open(site.one_way(), HOST)?;
    let target = |number: usize| format!("{path}?{number}");
    let first = connection.ask(&target(0))?.server;
    for number in 1..TARGETS_MAX {
        if connection.ask(&target(number))?.server != first {
            return Ok((target(0), target(number)));
        }
    }
    anyhow::bail!("all targets are on {first}: there is nothing to move to")
}

/// One way of delivery, and what was measured of it so far.
struct Way {
    delivery: &'static str,
    address: SocketAddr,
    targets: [String; 2],
    took: Vec<Duration>,
    front_bytes: u64,
}

impl Way {
    fn new(delivery: &'static str, address: SocketAddr, targets: [&String; 2]) -> Self {
        Self {
            delivery,
            address,
            targets: targets.map(Clone::clone),
            took: Vec::new(),
            front_bytes: 0,
        }
    }

    /// Asks for the targets in turns over one connection. The first two requests, with which
    /// sockets and windows begin, are not counted.
    fn round(&mut self, site: &Site, requests: usize) -> Result<()> {
        let targets = &self.targets;
        let work = || -> Result<_> {
            let mut connection = Connection::open(self.address, HOST)?;
            let mut servers = Vec::new();
            for target in targets {
                servers.push(connection.ask(target)?.server);
            }
            let before = front_bytes(site)?;
            let mut took = Vec::new();
            for number in 0..requests {
                let reply = connection.ask(&targets[number % 2])?;
                // Load may have changed the policy's mind: then this is not what it says it is.
                ensure!(reply.server == servers[number % 2], "a target went to another server");
                took.push(reply.took);
            }
            Ok((front_bytes(site)? - before, took))
        };
        let (bytes, took) = site.bed.enter(Host::Client, work)??;
        self.front_bytes += bytes;
        self.took.extend(took);
        Ok(())
    }

    fn cost(mut self, reply_bytes: u64) -> Cost {
        self.took.sort_unstable();
        let requests = self.took.len();
        let median = self.took.get(requests / 2).copied().unwrap_or_default();
        Cost {
            delivery: self.delivery,
            reply_bytes,
            requests,
            front_bytes: self.front_bytes as f64 / requests.max(1) as f64,
            median_us: median.as_nanos() as f64 / 1000.0,
        }
    }
}

/// Bytes that the front-end's interface has taken and given.
fn front_bytes(site: &Site) -> Result<u64> {
    let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
    let text = site.bed.enter(Host::Front, read)?.context("cannot read the counters")?;
    counted(&text, site.bed.interface())
        .with_context(|| format!("the front-end has no {}", site.bed.interface()))
}

/// Bytes received and sent of an interface, of `/proc/net/dev` (proc_net(5)): the first and the
/// ninth number behind its name.
fn counted(text: &str, interface: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    let (_, numbers) = lines.find(|(name, _)| *name == interface)?;
    let numbers: Vec<u64> =
        numbers.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
    Some(numbers.first()? + numbers.get(8)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_an_interface_are_those_it_received_and_those_it_sent() {
        let text = "Inter-|   Receive                    |  Transmit\n \
                    face |bytes packets errs drop fifo frame compressed multicast|bytes\n    \
                    lo:     100       1 0 0 0 0 0 0     100       1 0 0 0 0 0 0\n  \
                    eth0:    3000      20 0 0 0 0 0 7    4500      30 0 0 0 0 0 0\n";
        assert_eq!(counted(text, "eth0"), Some(7500));
        assert_eq!(counted(text, "eth1"), None);
        assert_eq!(counted("eth0: 1 2 3", "eth0"), None);
    }
}
