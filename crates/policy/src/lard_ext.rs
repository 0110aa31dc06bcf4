//! Extended LARD: for connections that stay with the server they were handed to.
//!
//! Aron, Druschel, Zwaenepoel: *Efficient Support for P-HTTP in Cluster-Based Web Servers*, USENIX
//! ATC 1999. The first request of a connection chooses its holder by the three costs. A later one
//! is served by the holder if it has the target in memory or its disk is little used; otherwise the
//! costs decide between the holder and the servers that have the target, from which the holder may
//! fetch it. A target may be mapped to several servers: whoever reads one into its cache joins.
//! Without holders this is `lard-cost`.
//!
//! Where the paper is silent, or taking it at its word is a trap:
//!
//! * A later request for a target that *nobody* has is read and cached by the holder even if its
//!   disk is busy. Otherwise targets that never come first on a connection are cached nowhere.
//! * A holder that reports no disk queue is never taken to have an idle disk: its costs decide.
//!   Taken for idle, it would never forward, and locality would end with the first request.
//!   `disk_low = 0` says the same of every server, which suits memory and solid-state disks.
//! * A first request that goes to a server without the target *moves* the mapping there, as in
//!   basic LARD: its set then has that one member.

use crate::costs::{Costs, L_IDLE_PARAM, L_OVERLOAD_PARAM, MISS_COST_PARAM};
use crate::lard::{MAX_TARGETS_PARAM, max_targets};
use crate::mappings::Replicas;
use crate::params::{Kind, Param, Params, Value};
use crate::servers::ServerSet;
use crate::{
    Assignment, Change, Cluster, Dice, Entry, Expect, Gauges, Load, Policy, Request, ServerId,
    TargetId, Why,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "lard-ext",
    aliases: &["ext-lard"],
    about: "lard for persistent connections: the holder serves, or fetches from a server \
            that has the target, whichever costs less",
    paper: "Aron, Druschel, Zwaenepoel, USENIX ATC 1999",
    params: &[
        L_IDLE_PARAM,
        L_OVERLOAD_PARAM,
        MISS_COST_PARAM,
        Param {
            name: "disk_low",
            kind: Kind::Count { min: 0, max: 1_000_000 },
            default: || Value::Count(5),
            about: "queued disk reads below which the holder's disk is little used (USENIX 1999: \
                    5); 0: always compare costs",
        },
        MAX_TARGETS_PARAM,
    ],
    build: |params| Box::new(LardExt::new(params)),
};

/// The policy.
struct LardExt {
    costs: Costs,
    disk_low: u64,
    replicas: Replicas,
}

impl LardExt {
    fn new(params: &Params) -> Self {
        Self {
            costs: Costs::new(params),
            disk_low: params.count("disk_low").expect("disk_low cannot be auto"),
            replicas: Replicas::new(max_targets(params)),
        }
    }

    fn first(&self, mapped: &[ServerId], cluster: &Cluster) -> Option<Assignment> {
        let server = self.costs.best(mapped, cluster)?;
        let (why, expect) = if mapped.contains(&server) {
            (Why::Affinity, Expect::Hit)
        } else if mapped.iter().any(|id| cluster.is_usable(*id)) {
            (Why::SpillOverload, Expect::Miss)
        } else {
            (Why::FirstSeen, Expect::Miss)
        };
        Some(Assignment { expect, ..Assignment::new(server, why) })
    }

    fn later(&self, holder: ServerId, mapped: &[ServerId], cluster: &Cluster) -> Assignment {
        let sticky = Assignment::new(holder, Why::Sticky);
        if mapped.contains(&holder) {
            return Assignment { expect: Expect::Hit, ..sticky };
        }
        let nobody = !mapped.iter().any(|id| cluster.is_usable(*id));
        if nobody || self.disk_idle(holder, cluster) {
            return Assignment { expect: Expect::Miss, ..sticky };
        }
        let candidates = mapped.iter().copied().chain([holder]);
        match self.costs.cheapest(candidates, |id| mapped.contains(&id), cluster) {
            Some(server) if server != holder => {
                let forward = Assignment::new(server, Why::Forward);
                Assignment { expect: Expect::Hit, cache: false, ..forward }
            }
            // A busy disk says that the holder's memory is too small already.
            _ => Assignment { expect: Expect::Miss, cache: false, ..sticky },
        }
    }

    fn disk_idle(&self, id: ServerId, cluster: &Cluster) -> bool {
        let report = cluster.server(id).and_then(|server| server.report);
        report.is_some_and(|report| u64::from(report.disk_queue) < self.disk_low)
    }
}

impl Policy for LardExt {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        let known = self.replicas.get(request.target);
        let mapped = known.as_deref().map_or(&[][..], ServerSet::ids);
        match request.holder.filter(|id| cluster.is_usable(*id)) {
            None => self.first(mapped, cluster),
            Some(holder) => Some(self.later(holder, mapped, cluster)),
        }
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, _: &Cluster) {
        if !answer.cache {
            self.replicas.touch(request.target);
            return;
        }
        let first = ServerSet::of(answer.server, 0);
        self.replicas.update(request.target, first.clone(), |set| {
            if set.contains(answer.server) {
                return;
            }
            match answer.why {
                Why::Sticky => set.insert(answer.server),
                _ => *set = first,
            }
        });
    }

    fn changed(&mut self, change: Change, _: &Cluster) {
        if let Change::Left(id) = change {
            self.replicas.leave(id);
        }
    }

    fn cost(&self, id: ServerId, request: &Request, cluster: &Cluster) -> Option<f64> {
        let mapped = self.replicas.get(request.target).is_some_and(|known| known.contains(id));
        let cost = self.costs.aggregate(id, mapped, cluster);
        Some(cost.map_or(f64::INFINITY, Load::as_f64))
    }

    fn forgotten(&mut self, into: &mut Vec<TargetId>) {
        self.replicas.targets.take_forgotten(into);
    }

    fn keep_forgotten(&mut self, keep: bool) {
        self.replicas.targets.keep_forgotten(keep);
    }

    fn gauges(&self) -> Gauges {
        Gauges { targets: self.replicas.targets.len(), replicated: self.replicas.replicated() }
    }
}
