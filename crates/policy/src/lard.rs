//! LARD: locality-aware request distribution, one server per target.
//!
//! Pai, Aron, Banga, Svendsen, Druschel, Zwaenepoel, Nahum: *Locality-Aware Request Distribution in
//! Cluster-based Network Servers*, ASPLOS-VIII 1998 (basic LARD). A target is mapped to the server
//! that was least loaded when it was first asked for; it moves when that server is above `T_high`
//! while another is below `T_low`, or at `2 T_high` whatever the others are.
//!
//! `metric = "utilisation"` is the form that the authors of CAP compared with (Casalicchio,
//! Colajanni, WWW10 2001): the same rule on the reported utilisation, 0.3 and 0.7 instead of 25 and
//! 65. `metric = "reported"` is what their prototype did: open connections, but as the servers
//! counted them and were asked for every 10 s. Both act on reports that may be seconds old, and can
//! say nothing of loads: no guard.

use crate::mappings::Mapping;
use crate::params::{Kind, Param, Params, Value};
use crate::targets::{TARGETS_MAX_DEFAULT, TARGETS_MAX_LIMIT};
use crate::thresholds::{Source, T_HIGH, T_LOW, Thresholds};
use crate::{
    Assignment, Change, Cluster, Dice, Entry, Expect, Gauges, Guard, Policy, Request, Server,
    ServerId, TargetId, Why,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "lard",
    aliases: &[],
    about: "the server that served the target before, unless it is too busy: then the \
            target moves to the least loaded",
    paper: "Pai et al., ASPLOS 1998",
    params: &[
        T_LOW_PARAM,
        T_HIGH_PARAM,
        Param {
            name: "metric",
            kind: Kind::Word(&["connections", "reported", "utilisation"]),
            default: || Value::Word("connections"),
            about: "what the thresholds are compared with: open requests as counted here (ASPLOS \
                    1998), or as the server last reported (the prototype of CAP, WWW10 2001); or \
                    the reported utilisation (CAP, WWW10 2001)",
        },
        Param {
            name: "u_low",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: || Value::Real(0.3),
            about: "low threshold of utilisation, 0 to 1 (CAP, WWW10 2001)",
        },
        Param {
            name: "u_high",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: || Value::Real(0.7),
            about: "high threshold of utilisation, 0 to 1 (CAP, WWW10 2001)",
        },
        MAX_TARGETS_PARAM,
    ],
    build: |params| Box::new(Lard::new(params)),
};

pub(crate) const T_LOW_PARAM: Param = Param {
    name: "t_low",
    kind: Kind::CountOrAuto { min: 1, max: 1_000_000 },
    default: || Value::Count(T_LOW),
    about: "open requests below which a server may become idle (ASPLOS 1998: 25); auto: 25/65 of \
            its capacity",
};

pub(crate) const T_HIGH_PARAM: Param = Param {
    name: "t_high",
    kind: Kind::CountOrAuto { min: 1, max: 1_000_000 },
    default: || Value::Count(T_HIGH),
    about: "open requests above which a server's delay is too large (ASPLOS 1998: 65); auto: its \
            capacity",
};

pub(crate) const MAX_TARGETS_PARAM: Param = Param {
    name: "max_targets",
    kind: Kind::Count { min: 1, max: TARGETS_MAX_LIMIT as u64 },
    default: || Value::Count(TARGETS_MAX_DEFAULT as u64),
    about: "targets remembered; the least recent is forgotten beyond",
};

/// The thresholds in requests, compared with what `metric` says.
pub(crate) fn thresholds(params: &Params) -> Thresholds {
    let source = match params.word("metric") {
        "reported" => Source::Reports,
        _ => Source::Books,
    };
    Thresholds::new(params.count("t_low"), params.count("t_high")).with_source(source)
}

/// What [`MAX_TARGETS_PARAM`] is set to.
pub(crate) fn max_targets(params: &Params) -> usize {
    let max = params.count("max_targets").expect("max_targets cannot be auto");
    usize::try_from(max).expect("the declared maximum fits")
}

/// What load is to the rule.
enum Metric {
    Connections(Thresholds),
    Utilisation { low: f64, high: f64 },
}

/// The policy.
pub(crate) struct Lard {
    metric: Metric,
    mapping: Mapping,
}

impl Lard {
    pub(crate) fn new(params: &Params) -> Self {
        let metric = match params.word("metric") {
            "utilisation" => {
                Metric::Utilisation { low: params.real("u_low"), high: params.real("u_high") }
            }
            _ => Metric::Connections(thresholds(params)),
        };
        Self { metric, mapping: Mapping::new(max_targets(params)) }
    }

    fn too_busy(&self, id: ServerId, cluster: &Cluster) -> bool {
        match &self.metric {
            Metric::Connections(thresholds) => thresholds.too_busy(id, cluster),
            Metric::Utilisation { low, high } => {
                let busy = utilisation(id, cluster);
                let idle = |m: &ServerId| utilisation(*m, cluster) < *low;
                (busy > *high && cluster.usable().iter().any(idle)) || busy >= 2.0 * high
            }
        }
    }

    fn least_loaded(&self, cluster: &Cluster) -> Option<ServerId> {
        match &self.metric {
            Metric::Connections(thresholds) => thresholds.high.least_loaded(cluster),
            Metric::Utilisation { .. } => {
                let rank = |id: &ServerId| {
                    let chosen = cluster.server(*id).map_or(0, |server| server.chosen);
                    (utilisation(*id, cluster), cluster.pressure(*id), chosen)
                };
                let ids = cluster.usable().iter().copied();
                ids.min_by(|a, b| {
                    rank(a).partial_cmp(&rank(b)).unwrap_or(core::cmp::Ordering::Equal)
                })
            }
        }
    }

    fn guard(&self, id: ServerId, cluster: &Cluster) -> Option<Guard> {
        let Metric::Connections(thresholds) = &self.metric else { return None };
        thresholds.guard(id, cluster)
    }
}

/// The server's reported utilisation; one that does not report counts as idle.
fn utilisation(id: ServerId, cluster: &Cluster) -> f64 {
    let report = |server: &Server| server.report.map(|report| report.utilisation());
    cluster.server(id).and_then(report).unwrap_or(0.0)
}

impl Policy for Lard {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        let mapped = self.mapping.get(request.target);
        let (server, why, expect) = match mapped.filter(|id| cluster.is_usable(*id)) {
            Some(id) if !self.too_busy(id, cluster) => (id, Why::Affinity, Expect::Hit),
            Some(id) => match self.least_loaded(cluster)? {
                least if least == id => (id, Why::Affinity, Expect::Hit),
                least => (least, Why::SpillOverload, Expect::Miss),
            },
            None => (self.least_loaded(cluster)?, Why::FirstSeen, Expect::Miss),
        };
        let guard = self.guard(server, cluster);
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

    fn cost(&self, id: ServerId, _: &Request, cluster: &Cluster) -> Option<f64> {
        Some(match &self.metric {
            Metric::Connections(thresholds) => thresholds.high.felt(id, cluster).as_f64(),
            Metric::Utilisation { .. } => utilisation(id, cluster),
        })
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
