//! LARD/R: locality-aware request distribution with replication, a set of servers per target.
//!
//! Pai et al., ASPLOS-VIII 1998. The least loaded member of the target's set serves. When it is too
//! busy in LARD's sense, the least loaded server of all joins the set; when the set has not changed
//! for `K`, its most loaded member leaves. The published pseudo-code is taken literally:
//!
//! * growth looks at the *least* loaded member, shrinking removes the *most* loaded one;
//! * both tests run on every request, shrinking after growth, with the time and the members from
//!   before: an old set may gain one server and lose another by the same request;
//! * members that are not usable are passed over, and a set of none but such counts as empty.

use crate::lard::{MAX_TARGETS_PARAM, T_HIGH_PARAM, T_LOW_PARAM, max_targets, thresholds};
use crate::mappings::Replicas;
use crate::params::{Kind, Param, Params, Value};
use crate::servers::ServerSet;
use crate::thresholds::Thresholds;
use crate::{
    Assignment, Change, Cluster, Dice, Entry, Expect, Gauges, Instant, Policy, Request, ServerId,
    TargetId, Why,
};
use core::time::Duration;

pub(crate) const ENTRY: Entry = Entry {
    name: "lard-r",
    aliases: &["lard/r"],
    about: "as lard, but a busy target is replicated: its set of servers grows under load \
            and shrinks after a while",
    paper: "Pai et al., ASPLOS 1998",
    params: &[
        T_LOW_PARAM,
        T_HIGH_PARAM,
        Param {
            name: "k",
            kind: Kind::Span,
            default: || Value::Span(Duration::from_secs(20)),
            about: "how long a set must be unchanged before it may shrink (ASPLOS 1998: 20s)",
        },
        Param {
            name: "metric",
            kind: Kind::Word(&["connections", "reported"]),
            default: || Value::Word("connections"),
            about: "what the thresholds are compared with: open requests as counted here (ASPLOS \
                    1998), or as the server last reported (the prototype of CAP, WWW10 2001, had \
                    LARD so)",
        },
        MAX_TARGETS_PARAM,
    ],
    build: |params| Box::new(LardR::new(params)),
};

/// How long a set is as it is. Its stamp (the paper's `lastMod`) has milliseconds in 32 bits: what
/// is more than 24 days ago may look new, and is then old again `K` later.
fn age(set: &ServerSet, now: Instant) -> Duration {
    // Signed, for a request may come with a time a little before the last one's.
    let age_ms = wrapped_ms(now).wrapping_sub(set.stamp()) as i32;
    Duration::from_millis(u64::try_from(age_ms).unwrap_or(0))
}

fn wrapped_ms(now: Instant) -> u32 {
    (now.0 / 1_000_000) as u32
}

/// What a request does to its target's set.
struct Plan {
    server: ServerId,
    why: Why,
    join: bool,
    leave: Option<ServerId>,
    /// Usable members after this request.
    len: usize,
}

/// The policy.
pub(crate) struct LardR {
    thresholds: Thresholds,
    age_max: Duration,
    replicas: Replicas,
}

impl LardR {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            thresholds: thresholds(params),
            age_max: params.span("k"),
            replicas: Replicas::new(max_targets(params)),
        }
    }

    fn plan(&self, request: &Request, cluster: &Cluster) -> Option<Plan> {
        let limit = self.thresholds.high;
        let known = self.replicas.get(request.target);
        let ids = known.as_deref().map_or(&[][..], ServerSet::ids);
        let usable = ids.iter().copied().filter(|id| cluster.is_usable(*id));
        let Some(least) = usable.clone().min_by_key(|id| limit.rank(*id, cluster)) else {
            let server = limit.least_loaded(cluster)?;
            return Some(Plan { server, why: Why::FirstSeen, join: true, leave: None, len: 1 });
        };
        let len = usable.clone().count();
        let mut plan = Plan { server: least, why: Why::Affinity, join: false, leave: None, len };
        let age = known.as_deref().map_or(Duration::ZERO, |set| age(set, request.at));
        if len > 1 && age > self.age_max {
            // Not `least`, even if all are equal: it serves this very request.
            let others = usable.filter(|id| *id != least);
            plan.leave = others.max_by_key(|id| limit.rank(*id, cluster));
            plan.why = Why::Shrink;
            plan.len -= 1;
        }
        if self.thresholds.too_busy(least, cluster) {
            // When that is the same one, nobody would serve sooner.
            let server = limit.least_loaded(cluster)?;
            if !ids.contains(&server) {
                let len = plan.len + 1;
                plan = Plan { server, why: Why::Replicate, join: true, len, ..plan };
            }
        }
        Some(plan)
    }

    /// The answer of nearly every request, without a plan: one member, not too busy.
    #[inline]
    fn only_member(&self, target: TargetId, cluster: &Cluster) -> Option<ServerId> {
        let only = self.replicas.only(target)?;
        let stays = cluster.is_usable(only) && !self.thresholds.too_busy(only, cluster);
        stays.then_some(only)
    }
}

impl Policy for LardR {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        if let Some(id) = self.only_member(request.target, cluster) {
            let guard = self.thresholds.guard(id, cluster);
            let answer = Assignment::new(id, Why::Affinity);
            return Some(Assignment { expect: Expect::Hit, guard, ..answer });
        }
        let plan = self.plan(request, cluster)?;
        let expect = if plan.join { Expect::Miss } else { Expect::Hit };
        // With several members another one may become the least loaded at any time.
        let alone = (plan.len == 1).then_some(plan.server);
        let guard = alone.and_then(|id| self.thresholds.guard(id, cluster));
        Some(Assignment { expect, guard, ..Assignment::new(plan.server, plan.why) })
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, cluster: &Cluster) {
        if answer.why == Why::Affinity {
            self.replicas.touch(request.target);
            return;
        }
        let Some(plan) = self.plan(request, cluster) else { return };
        let now = wrapped_ms(request.at);
        let first = ServerSet::of(plan.server, now);
        self.replicas.update(request.target, first.clone(), |set| {
            match plan.why {
                Why::FirstSeen => *set = first,
                _ => {
                    set.retain(|id| Some(id) != plan.leave);
                    set.insert(plan.server);
                }
            }
            set.set_stamp(now);
        });
    }

    fn changed(&mut self, change: Change, _: &Cluster) {
        if let Change::Left(id) = change {
            self.replicas.leave(id);
        }
    }

    fn cost(&self, id: ServerId, _: &Request, cluster: &Cluster) -> Option<f64> {
        Some(self.thresholds.high.felt(id, cluster).as_f64())
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
