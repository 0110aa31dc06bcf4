//! Least loaded: the server with the least unfinished work for its share.
//!
//! Known as least connections; the exhaustive end of the scale whose cheap end is the power of two
//! choices. The books count every request from its assignment on, so that a burst is spread even
//! before the first reply; ties go to the server not chosen for longest.

use crate::{Assignment, Cluster, Dice, Entry, Policy, Request, ServerId, Why};

pub(crate) const ENTRY: Entry = Entry {
    name: "least-loaded",
    aliases: &["least-conn", "leastconn"],
    about: "the server with the least unfinished work for its weight",
    paper: "shortest queue; as least connections in Linux Virtual Server (Zhang, 1998)",
    params: &[],
    build: |_| Box::new(LeastLoaded),
};

struct LeastLoaded;

impl Policy for LeastLoaded {
    fn decide(&self, _: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(cluster.least_loaded()?, Why::LeastLoaded))
    }

    fn cost(&self, server: ServerId, _: &Request, cluster: &Cluster) -> Option<f64> {
        Some(cluster.pressure(server).as_f64())
    }
}
