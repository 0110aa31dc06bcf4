//! LARD as a comparison of costs: a target goes where load, miss and eviction cost least together.
//!
//! Aron, Druschel, Zwaenepoel, USENIX ATC 1999 (see [`crate::costs`]). With the paper's constants
//! it is a threshold policy with `T_low` 30, `T_high` 79 and a hard limit of 130: LARD in form,
//! with other numbers than those of 1998.

use crate::costs::{Costs, L_IDLE_PARAM, L_OVERLOAD_PARAM, MISS_COST_PARAM};
use crate::lard::{MAX_TARGETS_PARAM, max_targets};
use crate::mappings::Mapping;
use crate::params::Params;
use crate::{
    Assignment, Change, Cluster, Dice, Entry, Expect, Gauges, Guard, Instant, Load, Policy,
    Request, ServerId, TargetId, Why,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "lard-cost",
    aliases: &[],
    about: "the server where load, a cache miss and what the miss evicts cost least together",
    paper: "Aron, Druschel, Zwaenepoel, USENIX ATC 1999",
    params: &[L_IDLE_PARAM, L_OVERLOAD_PARAM, MISS_COST_PARAM, MAX_TARGETS_PARAM],
    build: |params| Box::new(LardCost::new(params)),
};

/// The policy.
struct LardCost {
    costs: Costs,
    mapping: Mapping,
}

impl LardCost {
    fn new(params: &Params) -> Self {
        Self { costs: Costs::new(params), mapping: Mapping::new(max_targets(params)) }
    }

    fn mapped(&self, target: TargetId, cluster: &Cluster) -> Option<ServerId> {
        self.mapping.get(target).filter(|id| cluster.is_usable(*id))
    }
}

impl Policy for LardCost {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        let mapped = self.mapped(request.target, cluster);
        let server = self.costs.best(mapped.as_slice(), cluster)?;
        let (why, expect) = match mapped {
            Some(id) if id == server => (Why::Affinity, Expect::Hit),
            Some(_) => (Why::SpillOverload, Expect::Miss),
            None => (Why::FirstSeen, Expect::Miss),
        };
        let guard = Some(Guard {
            load_max: self.costs.load_stay(server, cluster),
            until: Instant::NEVER,
            epoch: cluster.epoch(),
        });
        Some(Assignment { expect, guard, ..Assignment::new(server, why) })
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, _: &Cluster) {
        self.mapping.map(request.target, answer.server);
    }

    fn changed(&mut self, change: Change, _: &Cluster) {
        if let Change::Left(id) = change {
            self.mapping.leave(id);
        }
    }

    fn cost(&self, id: ServerId, request: &Request, cluster: &Cluster) -> Option<f64> {
        let mapped = self.mapped(request.target, cluster) == Some(id);
        let cost = self.costs.aggregate(id, mapped, cluster);
        Some(cost.map_or(f64::INFINITY, Load::as_f64))
    }

    fn forgotten(&mut self, into: &mut Vec<TargetId>) {
        self.mapping.targets.take_forgotten(into);
    }

    fn keep_forgotten(&mut self, keep: bool) {
        self.mapping.targets.keep_forgotten(keep);
    }

    fn gauges(&self) -> Gauges {
        Gauges { targets: self.mapping.targets.len(), replicated: 0 }
    }
}
