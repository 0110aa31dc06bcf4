//! What every row of `POLICIES` promises. Method: random clusters live through random events
//! (servers join, leave, fail, drain, warm up, report; requests begin and end), and after every
//! question the promises are checked against a ledger kept here, not by the policy.

#![allow(clippy::unwrap_used)] // In a test, an unwrap is an assertion.

use core::time::Duration;
use policy::{
    Class, Cluster, Desk, Entry, Expect, Instant, Load, Outcome, POLICIES, Params, Report, Request,
    ServerId, Spec, State, TargetId, Ticket, Value, WARM, Why, entry,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Targets that a policy with a table may keep here: few, so that it forgets all the time.
const TARGETS_MAX: u64 = 8;
/// Servers alive at once.
const SERVERS_MAX: usize = 8;

/// Something that happens. Numbers that name a server are taken modulo those there are.
#[derive(Clone, Debug)]
enum Event {
    Join { weight: u32, warmth: u16 },
    Leave(usize),
    State(usize, State),
    Share(usize, u32, u16),
    Report(usize, f64, u32),
    Ask { target: u64, class: u8, holder: Option<usize> },
    End { which: usize, ok: bool },
    Wait(Duration),
}

fn event() -> impl Strategy<Value = Event> {
    let state = prop::sample::select(vec![State::Up, State::Down, State::Ejected, State::Draining]);
    let server = 0..SERVERS_MAX;
    let holder = prop::option::of(server.clone());
    prop_oneof![
        2 => (1..5_u32, 1..=WARM).prop_map(|(weight, warmth)| Event::Join { weight, warmth }),
        1 => server.clone().prop_map(Event::Leave),
        2 => (server.clone(), state).prop_map(|(server, state)| Event::State(server, state)),
        1 => (server.clone(), 1..5_u32, 1..=WARM)
            .prop_map(|(server, weight, warmth)| Event::Share(server, weight, warmth)),
        2 => (server, 0.0..1.0, 0..200_u32)
            .prop_map(|(server, busy, active)| Event::Report(server, busy, active)),
        14 => (0..24_u64, 0..6_u8, holder)
            .prop_map(|(target, class, holder)| Event::Ask { target, class, holder }),
        8 => (any::<usize>(), any::<bool>()).prop_map(|(which, ok)| Event::End { which, ok }),
        2 => (1..2_000_u64).prop_map(|ms| Event::Wait(Duration::from_millis(ms))),
    ]
}

/// A desk and the ledger of what happened to it.
struct World {
    desk: Desk,
    now: Instant,
    joined: u32,
    tickets: Vec<Ticket>,
    /// Targets that each server may have in its cache, since it joined.
    sent: BTreeMap<ServerId, BTreeSet<u64>>,
    answers: Vec<Option<(ServerId, Why)>>,
}

/// The row's policy with defaults, but with a small table.
fn params(entry: &Entry) -> Params {
    let mut params = Params::new(entry.params);
    for (name, count) in [("max_targets", TARGETS_MAX), ("table_size", 251)] {
        if entry.params.iter().any(|param| param.name == name) {
            params.set(name, Value::Count(count)).unwrap();
        }
    }
    params
}

fn desk(entry: &Entry) -> Desk {
    Desk::new((entry.build)(&params(entry)), Cluster::new(0.5), 7)
}

fn spec(number: u32, weight: u32) -> Spec {
    Spec { name: format!("web{number}").into(), weight, capacity: Some(16) }
}

fn request(at: Instant, target: u64) -> Request {
    Request { at, target: TargetId(target), class: Class::STATIC, holder: None }
}

impl World {
    fn new(entry: &Entry) -> Self {
        Self {
            desk: desk(entry),
            now: Instant::ZERO,
            joined: 0,
            tickets: Vec::new(),
            sent: BTreeMap::new(),
            answers: Vec::new(),
        }
    }

    fn live(&self, number: usize) -> Option<ServerId> {
        let ids: Vec<_> = self.sent.keys().copied().collect();
        (!ids.is_empty()).then(|| ids[number % ids.len()])
    }

    fn happen(&mut self, event: &Event) {
        self.now = self.now.plus(Duration::from_millis(1));
        match *event {
            Event::Join { weight, warmth } if self.sent.len() < SERVERS_MAX => {
                self.joined += 1;
                let spec = spec(self.joined, weight);
                let id = self.desk.join(spec, State::Up, self.now).expect("slots are free");
                self.desk.set_share(id, weight, warmth);
                self.sent.insert(id, BTreeSet::new());
            }
            Event::Join { .. } => {}
            Event::Wait(span) => self.now = self.now.plus(span),
            Event::Ask { target, class, holder } => {
                let holder = holder.and_then(|number| self.live(number));
                let at = self.now;
                self.ask(&Request { at, target: TargetId(target), class: Class(class), holder });
            }
            Event::End { which, ok } if !self.tickets.is_empty() => {
                let ticket = self.tickets.swap_remove(which % self.tickets.len());
                let first_byte = ok.then_some(Duration::from_micros(300));
                self.desk.finish(ticket, Outcome { at: self.now, ok, first_byte });
            }
            Event::End { .. } => {}
            Event::Leave(number)
            | Event::State(number, _)
            | Event::Share(number, ..)
            | Event::Report(number, ..) => {
                if let Some(id) = self.live(number) {
                    self.change(id, event);
                }
            }
        }
    }

    fn change(&mut self, id: ServerId, event: &Event) {
        match *event {
            Event::Leave(_) => {
                self.desk.leave(id);
                self.sent.remove(&id);
            }
            Event::State(_, state) => self.desk.set_state(id, state),
            Event::Share(_, weight, warmth) => self.desk.set_share(id, weight, warmth),
            Event::Report(_, busy, active) => {
                let report = Report { at: self.now, cpu: busy, active, ..Report::default() };
                self.desk.report(id, report);
            }
            _ => unreachable!("only changes of one server come here"),
        }
    }

    /// Asks, and checks what every answer promises.
    fn ask(&mut self, request: &Request) {
        let before = format!("{:?}", self.desk.explain(request));
        let explained = self.desk.explain(request);
        assert_eq!(before, format!("{explained:?}"), "asking changes nothing");
        let usable: BTreeSet<_> = self.desk.cluster().usable().iter().copied().collect();
        let candidates: BTreeSet<_> = explained.candidates.iter().map(|(id, _)| *id).collect();
        assert_eq!(candidates, usable, "every server that may be chosen is a candidate");

        let assigned = self.desk.assign(request, &[]);
        assert_eq!(assigned.is_some(), !usable.is_empty(), "an answer exactly if a server is up");
        let answer = assigned.as_ref().map(|(answer, _)| *answer);
        let server = |answer: policy::Assignment| (answer.server, answer.expect, answer.cache);
        assert_eq!(explained.answer.map(server), answer.map(server), "explained as decided");
        self.answers.push(answer.map(|answer| (answer.server, answer.why)));
        let Some((answer, ticket)) = assigned else { return };

        assert!(usable.contains(&answer.server), "{answer:?} may not be chosen");
        if answer.expect == Expect::Hit {
            let sent = &self.sent[&answer.server];
            assert!(sent.contains(&request.target.0), "{answer:?}: it was never sent there");
        }
        if let Some(guard) = answer.guard {
            assert_eq!(guard.epoch, self.desk.cluster().epoch(), "a guard is for this cluster");
        }
        for id in [Some(answer.server), request.holder].into_iter().flatten() {
            self.sent.entry(id).or_default().insert(request.target.0);
        }
        self.tickets.push(ticket);
        let gauges = self.desk.policy().gauges();
        assert!(gauges.targets as u64 <= TARGETS_MAX, "{gauges:?}");
        assert!(gauges.replicated <= gauges.targets, "{gauges:?}");
    }

    fn finish(mut self) -> Vec<Option<(ServerId, Why)>> {
        let at = self.now;
        for ticket in core::mem::take(&mut self.tickets) {
            self.desk.finish(ticket, Outcome { at, ok: true, first_byte: None });
        }
        assert_eq!(self.desk.cluster().total(), Load::ZERO, "what began has ended");
        self.answers
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_policy_keeps_its_promises_whatever_happens(
        events in prop::collection::vec(event(), 1..160)
    ) {
        for entry in POLICIES {
            let play = || {
                let mut world = World::new(entry);
                events.iter().for_each(|event| world.happen(event));
                world.finish()
            };
            prop_assert_eq!(play(), play(), "{} decides alike when it is told alike", entry.name);
        }
    }
}

/// A desk with `count` equal servers, all up and warm.
fn desk_with(entry: &Entry, count: u32) -> (Desk, Vec<ServerId>) {
    let mut desk = desk(entry);
    let join = |number| desk.join(spec(number, 1), State::Up, Instant::ZERO).unwrap();
    let ids = (0..count).map(join).collect();
    (desk, ids)
}

#[test]
fn a_cold_start_does_not_go_to_one_server() {
    for entry in POLICIES {
        let (mut desk, ids) = desk_with(entry, 4);
        for number in 0..64 {
            let mut request = request(Instant(number * 1_000), number);
            request.class = Class((number % 5) as u8);
            let _ticket = desk.assign(&request, &[]).unwrap();
        }
        let most = ids.iter().map(|id| desk.cluster().load(*id)).max().unwrap();
        assert!(most <= Load::of(32), "{}: one server of four has {most} of 64", entry.name);
    }
}

#[test]
fn a_server_that_left_is_forgotten_also_when_its_slot_is_given_to_another() {
    for entry in POLICIES {
        let (mut desk, ids) = desk_with(entry, 3);
        for number in 0..30 {
            let request = request(Instant(number), number % 6);
            let (_, ticket) = desk.assign(&request, &[]).unwrap();
            desk.finish(ticket, Outcome { at: Instant(number), ok: true, first_byte: None });
        }
        desk.leave(ids[1]);
        for number in 0..6 {
            let answer = desk.explain(&request(Instant(40), number)).answer.unwrap();
            assert_ne!(answer.server, ids[1], "{}", entry.name);
        }
        let again = desk.join(spec(9, 1), State::Up, Instant(50)).unwrap();
        assert_eq!(again, ids[1], "the slot is free");
        for number in 0..6 {
            let answer = desk.explain(&request(Instant(60), number)).answer.unwrap();
            let claims = answer.why == Why::Affinity || answer.expect == Expect::Hit;
            assert!(answer.server != again || !claims, "{}: {answer:?}", entry.name);
        }
    }
}

#[test]
fn who_is_given_the_slot_of_a_bad_server_is_a_newcomer_like_any_other() {
    for entry in POLICIES {
        let (mut desk, ids) = desk_with(entry, 3);
        let second = |number: u64| Instant(number * 1_000_000_000);
        for number in 0..60 {
            let (answer, ticket) = desk.assign(&request(second(number), number), &[]).unwrap();
            let ok = answer.server != ids[1];
            let late = if ok { 0 } else { 500_000_000 };
            let at = Instant(second(number).0 + late);
            desk.finish(ticket, Outcome { at, ok, first_byte: None });
            let report = Report { at, cpu: if ok { 0.1 } else { 1.0 }, ..Report::default() };
            desk.report(answer.server, report);
        }
        desk.leave(ids[1]);
        let in_its_slot = desk.join(spec(8, 1), State::Up, second(60)).unwrap();
        let elsewhere = desk.join(spec(9, 1), State::Up, second(60)).unwrap();
        assert_eq!(in_its_slot, ids[1], "the slot is free");
        let candidates = desk.explain(&request(second(60), 99)).candidates;
        let cost = |id| candidates.iter().find(|(candidate, _)| *candidate == id).unwrap().1;
        assert_eq!(cost(in_its_slot), cost(elsewhere), "{}", entry.name);
        for number in 0..400 {
            let request = request(Instant(second(60).0 + number), number);
            let ticket = desk.assign(&request, &[]).unwrap().1;
            desk.finish(ticket, Outcome { at: request.at, ok: true, first_byte: None });
        }
        let begun = |id| desk.cluster().server(id).unwrap().begun;
        let (one, other) = (begun(in_its_slot), begun(elsewhere));
        assert!(one * 3 > other && other * 3 > one, "{}: {one} and {other}", entry.name);
    }
}

#[test]
fn any_policy_takes_over_from_any_other() {
    for from in POLICIES {
        let (mut desk, _) = desk_with(from, 3);
        let ticket = desk.assign(&request(Instant(1), 1), &[]).unwrap().1;
        for to in POLICIES {
            desk.set_policy((to.build)(&params(to)));
            let answer = desk.explain(&request(Instant(2), 1)).answer;
            assert!(answer.is_some(), "{} after {}", to.name, from.name);
        }
        desk.finish(ticket, Outcome { at: Instant(3), ok: true, first_byte: None });
    }
}

#[test]
fn a_request_that_failed_on_a_server_goes_to_another() {
    for entry in POLICIES {
        let (mut desk, _) = desk_with(entry, 2);
        for number in 0..20 {
            let request = request(Instant(number), number);
            let (first, ticket) = desk.assign(&request, &[]).unwrap();
            desk.finish(ticket, Outcome { at: Instant(number), ok: false, first_byte: None });
            let (second, ticket) = desk.assign(&request, &[first.server]).unwrap();
            assert_ne!(second.server, first.server, "{}", entry.name);
            desk.finish(ticket, Outcome { at: Instant(number), ok: true, first_byte: None });
        }
    }
}

#[test]
fn names_are_unique_and_lead_to_their_row() {
    let mut seen = BTreeSet::new();
    for row in POLICIES {
        for name in row.aliases.iter().chain([&row.name]) {
            assert!(seen.insert(*name), "{name} is taken");
            assert_eq!(entry(name).map(|found| found.name), Some(row.name));
        }
        assert!(!row.about.is_empty() && !row.paper.is_empty(), "{} says what it is", row.name);
    }
    assert!(entry("no-such-policy").is_none());
}

#[test]
fn the_list_is_complete_and_in_order() {
    let names: Vec<_> = POLICIES.iter().map(|row| row.name).collect();
    let listed = "random round-robin wrr wrr-num wrr-time least-loaded p2c peak-ewma target-hash \
                  bounded-hash maglev static-partition lard lard-r lard-cost lard-ext cap \
                  cap-alarm prequal";
    assert_eq!(names, listed.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn every_default_is_of_its_own_kind() {
    for entry in POLICIES {
        let mut params = Params::new(entry.params);
        for param in entry.params {
            let default = (param.default)();
            assert_eq!(params.set(param.name, default), Ok(()), "{} {}", entry.name, param.name);
            assert!(!param.about.is_empty(), "{} {}", entry.name, param.name);
        }
    }
}
