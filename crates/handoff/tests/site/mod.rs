//! What the tests on a bed have in common: a front-end and servers with their programs attached,
//! and a thread that answers the questions.

// Helpers are no tests in the eyes of clippy, and no test file uses all of them.
#![allow(dead_code, clippy::unwrap_used)]

use handoff::{Back, Delivery, Front, Limits, Question, Row, Site, State, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use testbed::{Host, Plan, TestBed, Variant};

/// How long anything may take before a test has failed.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A site whose connections are handed over. Dropping it takes everything down.
pub struct OneWay {
    asked: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    pub front: Arc<Front>,
    pub backs: Vec<Back>,
    pub bed: TestBed,
}

pub use testbed::possible as is_possible;

/// What all hosts of a bed agree on.
pub fn site(variant: Variant) -> Site {
    Site { key: *b"sixteen secrets!", port: 7117, routed: variant == Variant::Routed, mtu: 1500 }
}

impl OneWay {
    /// Brings a site up whose questions `decide` answers.
    pub fn up(
        plan: &Plan,
        delivery: Delivery,
        decide: impl Fn(&Question) -> Verdict + Send + 'static,
    ) -> Self {
        let bed = TestBed::up(plan).unwrap();
        let site = site(plan.variant);
        let pins = bed.pins(Host::Front);
        let interface = bed.interface();
        let vips = bed.vip().at(80);
        let rows: Vec<Row> = (1..=plan.servers)
            .map(|number| Row {
                address: (bed.server(number).v4, 80).into(),
                name: number.into(),
                state: State::Up,
                agent_port: 0,
            })
            .collect();
        let open = || {
            let front = Front::open(&site, &Limits::default(), &pins).unwrap();
            for vip in vips {
                front.listen(vip, Some(delivery)).unwrap();
            }
            for (slot, row) in (0..).zip(&rows) {
                front.set_row(slot, Some(row)).unwrap();
            }
            front.books().set_epoch(1);
            front.attach(interface).unwrap();
            front
        };
        let front = Arc::new(bed.enter(Host::Front, open).unwrap());
        let back = |number| {
            let host = Host::Server(number);
            let pins = bed.pins(host);
            bed.enter(host, || {
                let back = Back::open(&site, &pins).unwrap();
                for vip in vips {
                    back.listen(vip, Some(delivery), 80, 80).unwrap();
                }
                back.attach(interface).unwrap();
                back
            })
            .unwrap()
        };
        let backs = (1..=plan.servers).map(back).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = std::thread::spawn({
            let (front, stop) = (Arc::clone(&front), Arc::clone(&stop));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    if let Some(question) = front.question(Duration::from_millis(20)).unwrap() {
                        front.answer(&question, decide(&question)).unwrap();
                    }
                }
            }
        });
        Self { asked: Some(asked), stop, front, backs, bed }
    }

    /// A counter of the front-end.
    pub fn count(&self, name: &str) -> u64 {
        let counters = self.front.counters();
        counters.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// A counter of all servers together.
    pub fn count_back(&self, name: &str) -> u64 {
        let of = |back: &Back| back.counters().iter().find(|(known, _)| *known == name).unwrap().1;
        self.backs.iter().map(of).sum()
    }

    /// All counters that are not zero, for messages.
    pub fn counts(&self) -> String {
        let some = |counters: Vec<(&str, u64)>| {
            let some = counters.into_iter().filter(|(_, count)| *count > 0);
            some.map(|(name, count)| format!("{name}={count}")).collect::<Vec<_>>().join(" ")
        };
        let mut text = format!("front: {}", some(self.front.counters()));
        for (number, back) in (1..).zip(&self.backs) {
            text += &format!("\nserver{number}: {}", some(back.counters()));
        }
        text
    }
}

impl Drop for OneWay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(asked) = self.asked.take() {
            let _ended = asked.join();
        }
    }
}
