//! What several test files need: clusters with given loads, policies with given parameters.

#![allow(dead_code)] // Each test file uses its part.

use policy::{
    Assignment, Change, Class, Cluster, Dice, Instant, Load, Params, Policy, Request, ServerId,
    Spec, State, TargetId, Value, entry,
};
use std::time::Duration;

pub const A: ServerId = ServerId(0);
pub const B: ServerId = ServerId(1);
pub const C: ServerId = ServerId(2);
pub const D: ServerId = ServerId(3);

/// A policy by name, with parameters.
pub fn policy(name: &str, set: &[(&str, Value)]) -> Box<dyn Policy> {
    let entry = entry(name).expect("the policy exists");
    let mut params = Params::new(entry.params);
    for (name, value) in set {
        params.set(name, value.clone()).expect("the parameter fits");
    }
    (entry.build)(&params)
}

pub fn spec(number: usize) -> Spec {
    Spec { name: format!("s{number}").into(), weight: 1, capacity: None }
}

pub fn at(seconds: u64) -> Instant {
    Instant::ZERO.plus(Duration::from_secs(seconds))
}

pub fn ask_for(target: u64) -> Request {
    Request { at: at(0), target: TargetId(target), class: Class::STATIC, holder: None }
}

/// Brings a server's load to `load`.
pub fn set_load(cluster: &mut Cluster, id: ServerId, load: Load) {
    let now = cluster.load(id);
    cluster.begin(id, load, Instant::ZERO);
    cluster.end(id, now, Instant::ZERO);
}

/// A policy and a cluster whose loads the test sets by hand.
pub struct Stage {
    pub policy: Box<dyn Policy>,
    pub cluster: Cluster,
}

impl Stage {
    /// Servers A, B, ... with these loads.
    pub fn new(policy: Box<dyn Policy>, loads: &[u64]) -> Self {
        let mut stage = Self { policy, cluster: Cluster::new(0.0) };
        for (number, load) in loads.iter().enumerate() {
            let id =
                stage.cluster.join(spec(number), State::Up, Instant::ZERO).expect("a slot is free");
            stage.policy.changed(Change::Joined(id), &stage.cluster);
            // One piece of work that weighs nothing, for `set_load` to trade with.
            stage.cluster.begin(id, Load::ZERO, Instant::ZERO);
            set_load(&mut stage.cluster, id, Load::of(*load));
        }
        stage
    }

    pub fn loads(&mut self, loads: &[u64]) {
        for (number, load) in loads.iter().enumerate() {
            set_load(&mut self.cluster, ServerId(number as u16), Load::of(*load));
        }
    }

    /// What would be answered now.
    pub fn answer(&self, request: &Request) -> Assignment {
        self.policy.decide(request, &self.cluster, &mut Dice::new(0)).expect("a server is up")
    }

    /// Answers, and lets the policy take note.
    pub fn assign(&mut self, request: &Request) -> Assignment {
        let answer = self.answer(request);
        self.policy.commit(request, &answer, &self.cluster);
        answer
    }
}
