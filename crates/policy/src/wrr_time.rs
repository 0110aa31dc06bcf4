//! WRR_time: turns in proportion to weights that follow the mean service time.
//!
//! Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10 2001. A request that failed is not measured: a refused connection is
//! over at once, and would make the server that refuses the most attractive of all.

use crate::gathered::{GATHER, Gathered};
use crate::{
    Assignment, Change, Cluster, Dice, Ended, Entry, Instant, Policy, Request, ServerId, Why,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "wrr-time",
    aliases: &["wrr_time"],
    about: "turns by weights recomputed every period from the mean service time",
    paper: "WRR_time in Casalicchio, Colajanni, WWW10 2001",
    params: &[GATHER],
    build: |params| Box::new(WrrTime { gathered: Gathered::new(params), spent: Vec::new() }),
};

/// What was served since the last gathering.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    seconds: f64,
    requests: u32,
}

struct WrrTime {
    gathered: Gathered,
    /// By slot.
    spent: Vec<Spent>,
}

impl Policy for WrrTime {
    fn decide(&self, _: &Request, _: &Cluster, _: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(self.gathered.next()?, Why::Rotation))
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, cluster: &Cluster) {
        self.gathered.take(answer.server);
        self.gather(request.at, cluster);
    }

    fn ended(&mut self, ended: &Ended, cluster: &Cluster) {
        if ended.ok && cluster.server(ended.server).is_some() {
            if self.spent.len() <= ended.server.index() {
                self.spent.resize(ended.server.index() + 1, Spent::default());
            }
            let spent = &mut self.spent[ended.server.index()];
            spent.seconds += ended.took.as_secs_f64();
            spent.requests += 1;
        }
        self.gather(ended.at, cluster);
    }

    fn changed(&mut self, change: Change, cluster: &Cluster) {
        if let Change::Joined(id) | Change::Left(id) | Change::State(id, _) = change
            && let Some(spent) = self.spent.get_mut(id.index())
        {
            *spent = Spent::default();
        }
        self.gathered.changed(change, cluster);
    }

    fn cost(&self, server: ServerId, _: &Request, _: &Cluster) -> Option<f64> {
        self.gathered.cost(server)
    }
}

impl WrrTime {
    fn gather(&mut self, now: Instant, cluster: &Cluster) {
        let spent = &self.spent;
        let mean = |server: &crate::Server| {
            let spent = spent.get(server.id.index()).filter(|spent| spent.requests > 0)?;
            Some(spent.seconds / f64::from(spent.requests))
        };
        if self.gathered.gather(now, cluster, mean) {
            self.spent.fill(Spent::default());
        }
    }
}
