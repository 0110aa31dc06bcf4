//! What the closed experiments have in common: emulated servers, and traces as plans.

use model::CpuCost;
use origin::Sizes;
use policy::{Dice, TargetId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use workload::synth::Facts;
use workload::{Pick, Plan, Sessions, Shape, Trace};

/// Servers that are all alike.
#[derive(Clone)]
pub struct Cluster {
    /// How many.
    pub servers: usize,
    /// Cache of each.
    pub cache_bytes: u64,
    /// What their CPU charges.
    pub cpu: CpuCost,
    /// Real seconds for each second of the model.
    pub time_scale: f64,
    /// Sizes of targets.
    pub sizes: Arc<HashMap<TargetId, u64>>,
}

impl Cluster {
    /// The servers' configurations.
    pub fn configs(&self) -> Vec<origin::Config> {
        (0..self.servers).map(|at| self.config(at)).collect()
    }

    fn config(&self, at: usize) -> origin::Config {
        let usual = origin::Config::default();
        origin::Config {
            name: format!("origin-{}", at + 1),
            model: model::Config {
                cpu: self.cpu,
                cache_bytes: self.cache_bytes,
                ..usual.model.clone()
            },
            time_scale: self.time_scale,
            sizes: Sizes { catalogue: Arc::clone(&self.sizes), ..Sizes::default() },
            prefixes: Vec::new(),
            seed: at as u64 + 1,
            connections_max: 20_000,
            idle_timeout: Duration::from_secs(600),
            drain_timeout: Duration::from_millis(100),
            ..usual
        }
    }
}

/// The same CPU where a connection is set up and torn down for so many requests, charged with the
/// requests: a relay keeps its connections to servers, which the papers' clients had directly.
pub fn by_request(cpu: CpuCost, requests_per_connection: f64) -> CpuCost {
    let both = (cpu.connect + cpu.close).div_f64(requests_per_connection);
    CpuCost { connect: Duration::ZERO, close: Duration::ZERO, request: cpu.request + both, ..cpu }
}

/// A log with everything in it divided by `part`: targets, bytes, and what covers its requests.
pub fn divided(facts: &Facts, part: u32) -> Facts {
    let bytes = |whole: u64| whole / u64::from(part);
    Facts {
        targets: facts.targets / part,
        bytes: bytes(facts.bytes),
        coverage_bytes: facts.coverage_bytes.map(bytes),
        ..*facts
    }
}

/// The whole trace, cut into connections by the papers' rule.
pub fn kept(trace: Trace) -> Arc<Plan> {
    Arc::new(Plan::new(trace, Pick::All, Shape::default()))
}

/// The whole trace with a connection for each request (HTTP/1.0).
pub fn closing(mut trace: Trace) -> Arc<Plan> {
    // Every request is somebody else's; a trace has fewer than 2^32 of them.
    for (number, entry) in (0..).zip(&mut trace.requests) {
        entry.client = number;
    }
    kept(trace)
}

/// The trace with a `share` (0 to 1) of the requests behind each connection's first exchanged at
/// random, so that they are not for an object of the connection's page: as the simulator has it
/// (`sim::cluster::Script::strayed`). Every target is asked for as often as before.
pub fn strayed(mut trace: Trace, share: f64, seed: u64) -> Trace {
    let mut dice = Dice::new(seed);
    let mut places: Vec<u32> = Vec::new();
    for session in Sessions::of(&trace, Shape::default()).iter() {
        let later = session.requests().iter().skip(1);
        places.extend(later.filter(|_| dice.unit() < share));
    }
    for last in (1..places.len()).rev() {
        let [one, other] = [places[last], places[dice.below(last + 1)]].map(|at| at as usize);
        let (was, is) = (trace.requests[one], trace.requests[other]);
        (trace.requests[one].target, trace.requests[one].bytes) = (is.target, is.bytes);
        (trace.requests[other].target, trace.requests[other].bytes) = (was.target, was.bytes);
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::synth::{RICE_1998, Twin};

    #[test]
    fn a_part_of_a_log_has_the_same_working_set_over_its_caches() {
        let facts = divided(&RICE_1998, 8);
        let twin = Twin { requests: 40_000, ..Twin::new(facts) };
        let trace = twin.trace().expect("there are requests enough");
        let plan = kept(trace.clone());
        let off = plan.working_set_bytes as f64 / (RICE_1998.bytes as f64 / 8.0) - 1.0;
        assert!(off.abs() < 0.01, "{off}");
        let closed = closing(trace);
        assert_eq!(closed.sessions.len(), closed.trace.requests.len());
        assert!(plan.sessions.len() < closed.sessions.len());
    }

    #[test]
    fn those_that_stray_are_later_requests_and_all_targets_are_wanted_as_before() {
        let twin = Twin { requests: 40_000, ..Twin::new(divided(&RICE_1998, 8)) };
        let trace = twin.trace().expect("there are requests enough");
        let other = strayed(trace.clone(), 0.3, 1);
        let wanted = |trace: &Trace| {
            let mut all: Vec<_> =
                trace.requests.iter().map(|entry| (entry.target, entry.bytes)).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(wanted(&trace), wanted(&other));
        let (mut later, mut changed) = (0, 0);
        for session in Sessions::of(&trace, Shape::default()).iter() {
            for (place, at) in session.requests().iter().enumerate() {
                let at = *at as usize;
                let moved = trace.requests[at].target != other.requests[at].target;
                assert!(place > 0 || !moved, "the first one decides");
                later += usize::from(place > 0);
                changed += usize::from(moved);
            }
        }
        let share = changed as f64 / later as f64;
        assert!((0.25..0.31).contains(&share), "{share}");
        assert_eq!(strayed(trace.clone(), 0.0, 1).requests, trace.requests);
    }

    #[test]
    fn connections_are_charged_with_requests() {
        let cpu = by_request(CpuCost::APACHE, 1.0);
        assert_eq!(cpu.exchange(8192), CpuCost::APACHE.exchange(8192));
        assert_eq!(by_request(CpuCost::APACHE, 4.0).request.as_micros(), 527 + 139);
    }
}
