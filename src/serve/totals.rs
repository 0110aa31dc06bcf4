//! Counters that belong to no single server, added up over the workers.

use super::glass::{Glass, histogram};
use super::live_of;
use control::view::{DecisionCount, RequestCount, RouteDuration, Totals};
use distributor::counters::{CODE_CLASSES, Cause, Counters, PROTOCOLS};
use distributor::{Live, PerWorker, Route};
use policy::Why;
use std::collections::BTreeMap;

/// Everything as it is now.
pub(super) fn totals(glass: &Glass) -> Totals {
    let shared = glass.shared();
    let (requests, durations) = routes(&live_of(glass));
    let gauges = shared.ask.books().desk().policy().gauges();
    let decisions = glass.decisions_by_policy();
    // All that can be, at zero: a rate needs a value before the first.
    let givers_up = Why::ALL.iter().filter(|why| why.gives_up_locality());
    let mut locality_given_up: BTreeMap<_, _> =
        givers_up.map(|why| (why.name().to_owned(), 0)).collect();
    for (_, why, count) in decisions.iter().filter(|(_, why, _)| why.gives_up_locality()) {
        *locality_given_up.entry(why.name().to_owned()).or_default() += count;
    }
    let counters = &shared.counters;
    Totals {
        requests,
        durations,
        decisions: decisions
            .into_iter()
            .map(|(policy, why, count)| DecisionCount {
                policy: policy.to_owned(),
                reason: why.name().to_owned(),
                count,
            })
            .collect(),
        locality_given_up,
        rejects: ends(counters, &REJECTS),
        ends: ends(counters, &Cause::ALL.iter().map(|c| (*c, c.code())).collect::<Vec<_>>()),
        retries: counters.sum(|c| &c.retries),
        retries_refused: counters.sum(|c| &c.retries_refused),
        server_connections_opened: counters.sum(|c| &c.server_connects),
        server_connections_reused: counters.sum(|c| &c.server_reuses),
        bytes_in: counters.sum(|c| &c.bytes_in),
        bytes_out: counters.sum(|c| &c.bytes_out),
        bytes_spliced: counters.sum(|c| &c.bytes_spliced),
        accept_failures: counters.sum(|c| &c.accept_failures),
        log_lines_dropped: counters.sum(|c| &c.log_dropped),
        targets: gauges.targets as u64,
        replicated_targets: gauges.replicated as u64,
        streams_closed_by_reload: counters.sum(|c| &c.cut_by_reload),
    }
}

/// Replies and durations by listener and rule.
fn routes(live: &Live) -> (Vec<RequestCount>, Vec<RouteDuration>) {
    let mut requests = Vec::new();
    let mut durations = Vec::new();
    for route in &live.routes {
        let (listener, rule) = (route.listener.to_string(), route.rule.as_deref());
        let mut replies: BTreeMap<(u8, u16), u64> = BTreeMap::new();
        for copy in route.counters.iter() {
            for (method, code, count) in copy.replies.iter() {
                *replies.entry((method, code)).or_default() += count;
            }
        }
        requests.extend(replies.into_iter().map(|((method, code), count)| RequestCount {
            listener: listener.clone(),
            route: rule.map(str::to_owned),
            method: METHODS.get(usize::from(method)).unwrap_or(&"other").to_string(),
            code,
            count,
        }));
        durations.extend(route_durations(route, &listener));
    }
    (requests, durations)
}

/// Durations of one route: those that there are, and successes even before the first.
fn route_durations(route: &Route, listener: &str) -> Vec<RouteDuration> {
    let mut durations = Vec::new();
    for (version, protocol) in PROTOCOLS.into_iter().enumerate() {
        for (class, code_class) in CODE_CLASSES.into_iter().enumerate() {
            let duration = histogram(&route.counters, |copy| &copy.durations[version][class]);
            if duration.count() > 0 || (protocol, code_class) == ("http/1.1", "2xx") {
                durations.push(RouteDuration {
                    listener: listener.to_owned(),
                    route: route.rule.as_deref().map(str::to_owned),
                    code_class: code_class.to_owned(),
                    protocol: protocol.to_owned(),
                    duration,
                });
            }
        }
    }
    durations
}

/// Names of [`wire::http::Method`], by its order.
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// Ends before any server was asked, as metrics call them.
const REJECTS: [(Cause, &str); 7] = [
    (Cause::BadRequest, "bad-request"),
    (Cause::Loop, "loop"),
    (Cause::ClientRequest, "client-gone"),
    (Cause::ClientQueue, "client-gone-queued"),
    (Cause::NoServer, "no-server"),
    (Cause::QueueFull, "queue-full"),
    (Cause::QueueTimeout, "queue-timeout"),
];

/// How many requests ended by each cause, under the given names.
fn ends(counters: &PerWorker<Counters>, causes: &[(Cause, &str)]) -> BTreeMap<String, u64> {
    let count = |cause: Cause| counters.sum(|copy| &copy.causes[cause as usize]);
    causes.iter().map(|(cause, name)| ((*name).to_owned(), count(*cause))).collect()
}
