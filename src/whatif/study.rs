//! What a comparison gave: the log, what was learnt of it, and every cluster.

use super::advice;
use super::cell::Cell;
use super::feed::Learnt;
use super::lead::Lead;
use super::logs::Read;
use super::survey::{Hot, Survey};
use model::CachePolicy;
use sim::replay::{Costs, Pace, Slice};
use std::collections::BTreeSet;

/// What a comparison gave.
pub struct Study {
    /// The logs, as they were read.
    pub logs: Vec<Read>,
    /// What they are together.
    pub survey: Survey,
    /// The targets asked for most.
    pub hot: Vec<Hot>,
    /// What was learnt from the beginning.
    pub learnt: Learnt,
    /// Policies, in the order given.
    pub policies: Vec<&'static str>,
    /// Numbers of servers, ascending.
    pub servers: Vec<u16>,
    /// Sizes of caches, ascending.
    pub caches: Vec<u64>,
    /// What a full cache gives up.
    pub cache_policy: CachePolicy,
    /// Repetitions.
    pub seeds: u16,
    /// What requests cost.
    pub costs: Costs,
    /// The name of the costs.
    pub costs_name: String,
    /// Cores and disks of each server.
    pub lanes: (u16, u16),
    /// When requests came.
    pub pace: Pace,
    /// Whether each cluster was also played at full load, see [`super::Plan::full_load`].
    pub full_load: bool,
    /// By cache, then number of servers, then policy.
    pub cells: Vec<Cell>,
}

impl Study {
    /// The cluster of a policy with so many servers of so much cache.
    pub fn cell(&self, policy: &str, servers: u16, cache_bytes: u64) -> Option<&Cell> {
        self.cells.iter().find(|cell| {
            cell.policy == policy && cell.servers == servers && cell.cache_bytes == cache_bytes
        })
    }

    /// Every number of servers that was tried with a size of cache, ascending: those asked for, and
    /// those in between which narrow an answer down.
    pub fn counts(&self, cache_bytes: u64) -> Vec<u16> {
        let cells = self.cells.iter().filter(|cell| cell.cache_bytes == cache_bytes);
        cells.map(|cell| cell.servers).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Adds clusters, each to its place.
    pub(super) fn add(&mut self, cells: Vec<Cell>) {
        self.cells.extend(cells);
        let policies = &self.policies;
        self.cells.sort_by_key(|cell| {
            let policy = policies.iter().position(|name| *name == cell.policy);
            (cell.cache_bytes, cell.servers, policy)
        });
    }

    /// Whether arrivals waited for answers.
    pub fn closed(&self) -> bool {
        matches!(self.pace, Pace::Closed { .. })
    }

    /// What the capacity of a cluster is here.
    pub fn capacity_means(&self) -> &'static str {
        match (self.closed(), self.full_load) {
            (true, _) => {
                "req/s: requests that the cluster answered in a second with warm caches, by the \
                 first seed"
            }
            (_, true) => {
                "capacity: requests a second in a closed loop with warm caches, with as many at \
                 once as LARD's front-end lets in, by one run of one seed"
            }
            _ => {
                "capacity: requests a second that the busiest CPU or disk could do, if the policy \
                 chose as it did here"
            }
        }
    }

    /// Requests per second that the clusters were asked for; nothing in a closed loop.
    pub fn rate_rps(&self) -> Option<f64> {
        match self.pace {
            Pace::Open { speed } => Some(self.survey.rate_rps() * speed),
            Pace::Closed { .. } => None,
        }
    }
    /// Requests per second in the busiest part of the log; nothing in a closed loop.
    pub fn peak_rps(&self) -> Option<f64> {
        self.rate_rps()?;
        let slices = &self.cells.first()?.outcomes.first()?.slices;
        let usual = slices.first()?.requests;
        let whole = slices.iter().filter(|slice| 2 * slice.requests >= usual);
        let rate = |slice: &Slice| slice.requests as f64 / slice.span.as_secs_f64();
        Some(whole.map(rate).filter(|rate| rate.is_finite()).fold(0.0, f64::max))
    }
    /// The policy that a cluster is held against, and its lead over that one's; nothing for that
    /// policy itself.
    pub fn lead(&self, cell: &Cell) -> Option<(&'static str, Lead)> {
        let blind = advice::blind(self);
        let other = self.cell(blind, cell.servers, cell.cache_bytes)?;
        (cell.policy != blind).then(|| (blind, cell.lead(other)))
    }
}
