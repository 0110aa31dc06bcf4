//! LARD/R: locality-aware request distribution with replication, a set of servers per target.
//!
//! Pai et al., ASPLOS-VIII 1998. The least loaded member of the target's set serves. When it is too
//! busy in LARD's sense, the least loaded server of all joins the set; when the set has not changed
//! for `K`, its most loaded member leaves. The published pseudo-code is taken literally:
//!
//! * growth looks at the *least* loaded member, shrinking removes the *most* loaded one;
//! * both tests run on every request, shrinking after growth, with the time and the members from
//!   before: an old set may gain one server and lose another by the same request;
//! * members that are not usable count as gone, and so does a set of none but such.

use crate::lard::{MAX_TARGETS_PARAM, T_HIGH_PARAM, T_LOW_PARAM, table};
use crate::params::{Kind, Param, Params, Value};
use crate::servers::ServerSet;
use crate::targets::Targets;
use crate::thresholds::Thresholds;
use crate::{
    Assignment, Change, Cluster, Dice, Entry, Expect, Gauges, Guard, Instant, Policy, Request,
    ServerId, TargetId, Why,
};
use core::time::Duration;

pub(crate) const ENTRY: Entry = Entry {
    name: "lard-r",
    aliases: &["lard/r"],
    about: "As lard, but a busy target is replicated: each has a set of servers that grows under \
            load and shrinks after a while.",
    paper: "Pai et al., Locality-Aware Request Distribution in Cluster-based Network Servers, \
            ASPLOS 1998",
    params: &[
        T_LOW_PARAM,
        T_HIGH_PARAM,
        Param {
            name: "k",
            kind: Kind::Span,
            default: || Value::Span(Duration::from_secs(20)),
            about: "how long a set must be unchanged before it may shrink (ASPLOS 1998: 20s)",
        },
        MAX_TARGETS_PARAM,
    ],
    build: |params| Box::new(LardR::new(params)),
};

/// Who has a target, and since when the set is as it is (the paper's `lastMod`).
#[derive(Clone, Debug)]
struct Replicas {
    set: ServerSet,
    changed: Instant,
}

impl Replicas {
    fn replicated(&self) -> bool {
        self.set.ids().len() > 1
    }
}

/// What a request does to its target's set.
struct Plan {
    server: ServerId,
    why: Why,
    expect: Expect,
    join: Option<ServerId>,
    leave: Option<ServerId>,
    /// Whether members are in the set that cannot be used any more.
    stale: bool,
    /// Members after this request.
    len: usize,
}

/// The policy.
pub(crate) struct LardR {
    thresholds: Thresholds,
    age_max: Duration,
    targets: Targets<Replicas>,
    /// Targets with more than one member.
    replicated: usize,
}

impl LardR {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            thresholds: Thresholds::new(params.count("t_low"), params.count("t_high")),
            age_max: params.span("k"),
            targets: table(params),
            replicated: 0,
        }
    }

    #[inline]
    fn plan(&self, request: &Request, cluster: &Cluster) -> Option<Plan> {
        let limit = self.thresholds.high;
        let least_of_all = || limit.least_loaded(cluster.usable().iter().copied(), cluster);
        let known = self.targets.get(request.target);
        let ids = known.map_or(&[][..], |replicas| replicas.set.ids());
        let usable = ids.iter().copied().filter(|id| cluster.is_usable(*id));
        let count = usable.clone().count();
        let stale = count < ids.len();
        let Some(least) = limit.least_loaded(usable.clone(), cluster) else {
            let server = least_of_all()?;
            let (why, expect) = (Why::FirstSeen, Expect::Miss);
            return Some(Plan {
                server,
                why,
                expect,
                join: Some(server),
                leave: None,
                stale,
                len: 1,
            });
        };
        let mut plan = Plan {
            server: least,
            why: Why::Affinity,
            expect: Expect::Hit,
            join: None,
            leave: None,
            stale,
            len: count,
        };
        let age = known.map_or(Duration::ZERO, |replicas| request.at.since(replicas.changed));
        if count > 1 && age > self.age_max {
            // Not `least`, even if all are equal: it serves this very request.
            let others = usable.filter(|id| *id != least);
            plan.leave = others.max_by_key(|id| limit.rank(*id, cluster));
            plan.why = Why::Shrink;
            plan.len -= 1;
        }
        if self.thresholds.too_busy(least, cluster) {
            // Over all servers: when that is the same one, nobody would serve sooner.
            let server = least_of_all()?;
            if !ids.contains(&server) {
                plan.server = server;
                plan.why = Why::Replicate;
                plan.expect = Expect::Miss;
                plan.join = Some(server);
                plan.len += 1;
            }
        }
        Some(plan)
    }
}

impl Policy for LardR {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        let plan = self.plan(request, cluster)?;
        // With several members another one may become the least loaded at any time.
        let guard = (plan.len == 1).then(|| Guard {
            load_max: self.thresholds.load_high(plan.server, cluster),
            until: Instant::NEVER,
            epoch: cluster.epoch(),
        });
        let (expect, answer) = (plan.expect, Assignment::new(plan.server, plan.why));
        Some(Assignment { expect, guard, ..answer })
    }

    fn commit(&mut self, request: &Request, _: &Assignment, cluster: &Cluster) {
        let Some(plan) = self.plan(request, cluster) else { return };
        let Some(replicas) = self.targets.touch(request.target) else {
            let set = ServerSet::of(plan.server);
            let replicas = Replicas { set, changed: request.at };
            if let Some((_, forgotten)) = self.targets.insert(request.target, replicas) {
                self.replicated -= usize::from(forgotten.replicated());
            }
            return;
        };
        if !plan.stale && plan.leave.is_none() && plan.join.is_none() {
            return;
        }
        self.replicated -= usize::from(replicas.replicated());
        if plan.stale {
            replicas.set.retain(|id| cluster.is_usable(id));
        }
        if let Some(id) = plan.leave {
            replicas.set.retain(|member| member != id);
        }
        if let Some(id) = plan.join {
            replicas.set.insert(id);
        }
        replicas.changed = request.at;
        self.replicated += usize::from(replicas.replicated());
    }

    fn changed(&mut self, change: Change, _: &Cluster) {
        if let Change::Left(id) = change {
            self.replicated = 0;
            self.targets.for_each_value_mut(|replicas| {
                if replicas.set.contains(id) {
                    replicas.set.retain(|member| member != id);
                }
                self.replicated += usize::from(replicas.replicated());
            });
        }
    }

    fn cost(&self, id: ServerId, _: &Request, cluster: &Cluster) -> Option<f64> {
        Some(self.thresholds.high.felt(id, cluster).as_f64())
    }

    fn forgotten(&mut self, into: &mut Vec<TargetId>) {
        self.targets.take_forgotten(into);
    }

    fn keep_forgotten(&mut self, keep: bool) {
        self.targets.keep_forgotten(keep);
    }

    fn gauges(&self) -> Gauges {
        Gauges { targets: self.targets.len(), replicated: self.replicated }
    }
}
