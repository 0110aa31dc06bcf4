//! A desk with named servers and a clock, for tests that play many requests.

#![allow(dead_code)] // Each test file uses its part.

use core::time::Duration;
use policy::{
    Assignment, Class, Cluster, Desk, Instant, Load, Outcome, Params, Report, Request, ServerId,
    Spec, State, TargetId, Ticket, Value, entry,
};

pub const MS: Duration = Duration::from_millis(1);

pub struct Farm {
    pub desk: Desk,
    pub now: Instant,
}

impl Farm {
    /// Servers `web0`, `web1`, ... with these weights, up and warm, in slots 0, 1, ...
    pub fn new(policy: &str, set: &[(&str, Value)], weights: &[u32]) -> Self {
        let row = entry(policy).expect("the policy exists");
        let mut params = Params::new(row.params);
        for (name, value) in set {
            params.set(name, value.clone()).expect("the parameter exists and fits");
        }
        let desk = Desk::new((row.build)(&params), Cluster::new(0.0), 1);
        let mut farm = Self { desk, now: Instant::ZERO };
        for (number, weight) in weights.iter().enumerate() {
            farm.join(&format!("web{number}"), *weight);
        }
        farm
    }

    pub fn join(&mut self, name: &str, weight: u32) -> ServerId {
        let spec = Spec { name: name.into(), weight, capacity: None };
        self.desk.join(spec, State::Up, self.now).expect("there is a slot")
    }

    pub fn wait(&mut self, span: Duration) {
        self.now = self.now.plus(span);
    }

    pub fn request(&self, target: u64, class: Class) -> Request {
        Request { at: self.now, target: TargetId(target), class, holder: None }
    }

    /// What would be answered now.
    pub fn look(&self, target: u64) -> Assignment {
        let request = self.request(target, Class::STATIC);
        self.desk.explain(&request).answer.expect("a server is up")
    }

    /// A request that goes on.
    pub fn begin(&mut self, target: u64, class: Class) -> (Assignment, Ticket) {
        let request = self.request(target, class);
        self.desk.assign(&request, &[]).expect("a server is up")
    }

    pub fn end(&mut self, ticket: Ticket, ok: bool) {
        self.desk.finish(ticket, Outcome { at: self.now, ok, first_byte: None });
    }

    /// A request that is over at once.
    pub fn serve(&mut self, target: u64, class: Class) -> ServerId {
        let (answer, ticket) = self.begin(target, class);
        self.end(ticket, true);
        answer.server
    }

    /// Work on a server that the policy did not choose.
    pub fn burden(&mut self, server: u16, requests: u64) -> Ticket {
        let request = self.request(0, Class::STATIC);
        self.desk.begin(ServerId(server), &request, Load::of(requests))
    }

    pub fn report(&mut self, server: u16, cpu: f64) {
        let report = Report { at: self.now, cpu, ..Report::default() };
        self.desk.report(ServerId(server), report);
    }
}
