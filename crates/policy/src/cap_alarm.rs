//! CAP-ALARM: CAP whose lists leave out the servers that raised an alarm.
//!
//! Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10 2001, says that CAP combines easily with state information of the
//! servers; thresholds and period of the authors' variant could not be recovered. Those here are
//! ours and said at each parameter. A server comes back only below a lower threshold, for with
//! one threshold it would go in and out with every request near it.

use crate::cap::Lists;
use crate::rotation::Roster;
use crate::{
    Assignment, Change, Cluster, Dice, Ended, Entry, Instant, Kind, Load, Param, Params, Policy,
    Report, Request, Server, ServerId, Value, Why,
};
use core::time::Duration;

pub(crate) const ENTRY: Entry = Entry {
    name: "cap-alarm",
    aliases: &[],
    about: "CAP without the servers whose load raised an alarm, until they recover",
    paper: "Casalicchio, Colajanni, WWW10 2001; thresholds not recovered, ours",
    params: PARAMS,
    build: |params| Box::new(CapAlarm::new(params)),
};

const PARAMS: &[Param] = &[
    Param {
        name: "metric",
        kind: Kind::Word(&["utilisation", "connections"]),
        default: || Value::Word("utilisation"),
        about: "what raises an alarm: the busiest component a server reports, or its connections \
                in the books; without reports, utilisation raises none",
    },
    Param {
        name: "utilisation_high",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: || Value::Real(0.9),
        about: "utilisation above which a server is left out (ours; the paper's is not recovered)",
    },
    Param {
        name: "utilisation_low",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: || Value::Real(0.7),
        about: "utilisation at which it is back: where the paper's LARD calls a server overloaded",
    },
    Param {
        name: "load_high",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        default: || Value::Count(65),
        about: "connections above which a server of full weight is left out (LARD's T_high)",
    },
    Param {
        name: "load_low",
        kind: Kind::Count { min: 0, max: 1_000_000 },
        default: || Value::Count(25),
        about: "connections at which it is back (LARD's T_low)",
    },
    Param {
        name: "report_age",
        kind: Kind::Span,
        default: || Value::Span(Duration::from_secs(30)),
        about: "after which a report says nothing any more: an agent that died in an alarm does \
                not silence its server for good (three polls of the paper's prototype, 10 s)",
    },
];

/// What is compared, and with what.
#[derive(Clone, Copy, Debug)]
enum Metric {
    Utilisation { high: f64, low: f64, age: Duration },
    Connections { high: Load, low: Load },
}

struct CapAlarm {
    lists: Lists,
    metric: Metric,
    /// By slot: who is left out.
    alarmed: Vec<bool>,
}

impl CapAlarm {
    fn new(params: &Params) -> Self {
        let metric = if params.word("metric") == "utilisation" {
            let high = params.real("utilisation_high");
            let low = params.real("utilisation_low").min(high);
            Metric::Utilisation { high, low, age: params.span("report_age") }
        } else {
            let load = |name| Load::of(params.count(name).expect("it cannot be auto"));
            Metric::Connections { high: load("load_high"), low: load("load_low") }
        };
        Self { lists: Lists::default(), metric, alarmed: Vec::new() }
    }

    /// Rings or ends the alarm of one server; whether that changed anything.
    fn heed(&mut self, id: ServerId, now: Instant, cluster: &Cluster) -> bool {
        let Some(server) = cluster.server(id) else { return false };
        let before = self.is_alarmed(id);
        let after = self.metric.is_alarming(server, before, now, cluster);
        if before == after {
            return false;
        }
        if self.alarmed.len() <= id.index() {
            self.alarmed.resize(id.index() + 1, false);
        }
        self.alarmed[id.index()] = after;
        true
    }

    /// Rewrites the lists. When everybody raised an alarm nobody is left out: the work is there
    /// whoever does it.
    fn relist(&mut self, cluster: &Cluster) {
        let all = Roster::of(cluster, Server::share);
        let calm = Roster::new(all.iter().filter(|(id, _)| !self.is_alarmed(*id)));
        self.lists.adapt(if calm.is_empty() { all } else { calm });
    }

    fn is_alarmed(&self, id: ServerId) -> bool {
        self.alarmed.get(id.index()).copied().unwrap_or(false)
    }
}

impl Metric {
    fn is_alarming(self, server: &Server, before: bool, now: Instant, cluster: &Cluster) -> bool {
        match self {
            Self::Utilisation { high, low, age } => {
                let fresh = server.report.filter(|report| now.since(report.at) <= age);
                let limit = if before { low } else { high };
                fresh.is_some_and(|report| report.utilisation() > limit)
            }
            Self::Connections { high, low } => {
                let limit = if before { low.min(high) } else { high };
                cluster.pressure(server.id) > limit
            }
        }
    }
}

impl Policy for CapAlarm {
    fn decide(&self, request: &Request, _: &Cluster, _: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(self.lists.next(request.class)?, Why::Rotation))
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, cluster: &Cluster) {
        self.lists.take(request.class, answer);
        // The one chosen may have passed its threshold with the request before this one; the ones
        // left out may have fallen silent.
        let mut changed = self.heed(answer.server, request.at, cluster);
        for slot in 0..self.alarmed.len() {
            if self.alarmed[slot] {
                changed |= self.heed(ServerId(slot as u16), request.at, cluster);
            }
        }
        if changed {
            self.relist(cluster);
        }
    }

    fn ended(&mut self, ended: &Ended, cluster: &Cluster) {
        if self.heed(ended.server, ended.at, cluster) {
            self.relist(cluster);
        }
    }

    fn reported(&mut self, server: ServerId, report: &Report, cluster: &Cluster) {
        if self.heed(server, report.at, cluster) {
            self.relist(cluster);
        }
    }

    fn changed(&mut self, change: Change, cluster: &Cluster) {
        if let Change::Left(id) | Change::Joined(id) = change
            && let Some(alarm) = self.alarmed.get_mut(id.index())
        {
            *alarm = false;
        }
        self.relist(cluster);
    }
}
