//! Method: scenarios run for some hundred milliseconds against a server on 127.0.0.1 that behaves
//! as the test tells it to; what the server saw and what the outcome says must agree. Where times
//! are compared, one is longer than the other by construction, however busy the machine.

#[path = "../server/mod.rs"]
mod server;
mod users;
mod wires;

use load::{
    Arrivals, Cause, Content, Manner, One, Outcome, RunError, Scenario, Site, Users, files, path,
    run,
};
use policy::{Class, TargetId};
use server::{Answer, Seen, Server, whole};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use workload::draw::Draw;
use workload::visits::{
    Answer as Kind, Mix, Object, PUBLISHING_STATIC, Service, Site as Of, Visits,
};
use workload::{Builder, Clock, Pick, Plan, Shape, format, read};

/// Longer than any test should take.
const LONG: Duration = Duration::from_secs(30);

/// Users of so many pages, each with `embedded` objects of five bytes.
fn visits(pages: f64, embedded: f64, think_s: f64) -> Site {
    let part = [(1.0, Kind { class: Class::STATIC, program: false })];
    let html = Kind { class: Class::LIGHT, program: true };
    let services = [Service { share: 1.0, html, secure: false, embedded: &part }];
    let mix = Mix {
        pages: Draw::Constant(pages),
        think_s: Draw::Constant(think_s),
        objects: Draw::Constant(embedded),
        objects_with_html: false,
        html_bytes: Draw::Constant(5.0),
        embedded_bytes: Draw::Constant(5.0),
        services: &services,
        site: Of { documents: 10, objects: 1000, programs: 3, exponent: 0.5 },
        ..PUBLISHING_STATIC
    };
    Site::Visits(Arc::new(Visits::new(&mix, 1)))
}

fn one(requests: u64) -> Site {
    Site::One(One { host: "a.test".into(), path: "/x".into(), requests, class: Class::CPU })
}

/// Everything is measured, from the beginning on.
fn scenario(address: SocketAddr, site: Site, users: Users) -> Scenario {
    let (warm_up, duration) = (Duration::ZERO, LONG);
    Scenario { warm_up, duration, ..Scenario::new(address, site, users) }
}

/// So many sessions at once, and no more: steps that end.
fn sessions(plan: &Arc<Plan>) -> (Site, Users) {
    (Site::Trace(Arc::clone(plan), None), Users::Closed(1))
}

fn play(scenario: &Scenario) -> Outcome {
    run(scenario, |_| {}, &AtomicBool::new(false)).expect("the scenario can be run")
}

/// Runs until the server, or whoever else, says that it is enough.
fn play_until(scenario: &Scenario, enough: impl Fn(&Outcome) -> bool) -> Outcome {
    let stop = AtomicBool::new(false);
    let mut last = 0;
    let look = |outcome: &Outcome| {
        assert!(outcome.answered() >= last, "figures only grow");
        last = outcome.answered();
        if enough(outcome) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = run(scenario, look, &stop).expect("the scenario can be run");
    assert!(outcome.stopped, "{outcome:?}");
    outcome
}

/// A plan of `(millisecond, client, url)`, five bytes each.
fn plan(rows: &[(u32, u32, &str)]) -> Arc<Plan> {
    let mut text =
        String::from("#baton-trace/1\tat_ms\tclient\tmethod\tstatus\tbytes\tsite\tsize\turl\n");
    for (at_ms, client, url) in rows {
        text += &format!("{at_ms}\t{client}\tGET\t200\t0\ta.test\t5\t{url}\n");
    }
    let mut builder = Builder::new(Clock::Kept);
    let own = format("baton").expect("it is in the list");
    read(own, text.as_bytes(), |record| builder.push("", record).expect("it is far from full"))
        .expect("reading from memory cannot fail");
    Arc::new(Plan::new(builder.finish(), Pick::All, Shape::default()))
}

fn hello(_: &Seen) -> Answer {
    Answer::Send(whole("hello"))
}

/// The only cause of failure, and how often it was.
fn only(outcome: &Outcome, cause: Cause) -> u64 {
    let count = outcome.failed[cause.index()];
    assert_eq!(outcome.failures(), count, "{:?}", outcome.examples);
    count
}

/// A gate that holds whoever passes until it is opened.
#[derive(Default)]
struct Gate(Mutex<(bool, usize)>, Condvar);

impl Gate {
    pub fn pass(&self) {
        self.pass_together(usize::MAX);
    }

    /// Like [`Gate::pass`]; opens the gate if so many have come by then.
    pub fn pass_together(&self, count: usize) {
        // Counted and judged under one lock: of two that come at once one is the last.
        let mut state = self.0.lock().expect("nobody panics with it");
        state.1 += 1;
        state.0 |= state.1 >= count;
        self.1.notify_all();
        let (state, waited) = self
            .1
            .wait_timeout_while(state, LONG, |state| !state.0)
            .expect("nobody panics with it");
        drop(state);
        assert!(!waited.timed_out(), "somebody opens the gate");
    }

    pub fn open(&self) {
        self.0.lock().expect("nobody panics with it").0 = true;
        self.1.notify_all();
    }

    pub fn waiting(&self) -> usize {
        self.0.lock().expect("nobody panics with it").1
    }
}
