//! WRR_num: turns in proportion to weights that follow the number of active requests.
//!
//! Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10 2001: the strongest form of WRR there, with a small period. Between
//! two gatherings the weights are blind, and a long period herds; that is the method, not a
//! fault of this file, and `least-loaded` is what removes it.

use crate::gathered::{GATHER, Gathered};
use crate::{
    Assignment, Change, Cluster, Dice, Ended, Entry, Instant, Load, Policy, Request, Server,
    ServerId, Why,
};
use core::time::Duration;

pub(crate) const ENTRY: Entry = Entry {
    name: "wrr-num",
    aliases: &["wrr_num"],
    about: "turns by weights recomputed every period from the number of active requests",
    paper: "WRR_num in Casalicchio, Colajanni, WWW10 2001",
    params: &[GATHER],
    build: |params| Box::new(WrrNum { gathered: Gathered::new(params) }),
};

/// A report older than this says nothing of the present: a few intervals of any agent.
const REPORT_AGE: Duration = Duration::from_secs(10);

struct WrrNum {
    gathered: Gathered,
}

impl Policy for WrrNum {
    fn decide(&self, _: &Request, _: &Cluster, _: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(self.gathered.next()?, Why::Rotation))
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, cluster: &Cluster) {
        self.gathered.take(answer.server);
        self.gather(request.at, cluster);
    }

    fn ended(&mut self, ended: &Ended, cluster: &Cluster) {
        self.gather(ended.at, cluster);
    }

    fn changed(&mut self, change: Change, cluster: &Cluster) {
        self.gathered.changed(change, cluster);
    }

    fn cost(&self, server: ServerId, _: &Request, _: &Cluster) -> Option<f64> {
        self.gathered.cost(server)
    }
}

impl WrrNum {
    fn gather(&mut self, now: Instant, cluster: &Cluster) {
        // One more than the active requests: what the next one would find, itself included.
        self.gathered.gather(now, cluster, |server| Some(active(server, now).as_f64() + 1.0));
    }
}

/// Active requests: what the server says, for it sees other front-ends' too; else the books.
fn active(server: &Server, now: Instant) -> Load {
    let fresh = server.report.filter(|report| now.since(report.at) <= REPORT_AGE);
    fresh.map_or(server.load, |report| Load::of(u64::from(report.active)))
}
