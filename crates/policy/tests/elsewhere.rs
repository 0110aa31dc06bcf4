//! Connections that others count are load like any other, and who counted what makes no difference
//! to a policy.
//!
//! Method: one cluster is told of each begin and end at once; the other looks now and then at
//! counters that somebody else changed meanwhile. After each look both must agree in all that a
//! policy can read.

mod setup;

use policy::{Cluster, Desk, Elsewhere, Instant, Load, Outcome, ServerId, State, Ticket};
use proptest::prelude::*;
use setup::{A, B, C, ask_for, at, spec};

const SERVERS: u16 = 4;

#[derive(Clone, Debug)]
enum Step {
    /// Opened elsewhere, or closed if there is one.
    Open(u16),
    Close(u16),
    /// From one server to another.
    Move(u16, u16),
    /// Begun and ended by the desk itself.
    Begin(u16),
    End(usize),
    Look,
    Wait,
    Weight(u16, u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..SERVERS).prop_map(Step::Open),
        4 => (0..SERVERS).prop_map(Step::Close),
        2 => (0..SERVERS, 0..SERVERS).prop_map(|(from, to)| Step::Move(from, to)),
        2 => (0..SERVERS).prop_map(Step::Begin),
        2 => any::<usize>().prop_map(Step::End),
        4 => Just(Step::Look),
        2 => Just(Step::Wait),
        1 => (0..SERVERS, 1u32..4).prop_map(|(server, weight)| Step::Weight(server, weight)),
    ]
}

/// A desk that is told of everything, one that looks, and the counters it looks at.
struct Both {
    told: Desk,
    looks: Desk,
    counts: Vec<(ServerId, Elsewhere)>,
    serial: u64,
    tickets: Vec<(Ticket, Ticket)>,
    now: Instant,
}

impl Both {
    fn new() -> Self {
        let desk = || {
            let mut desk = Desk::new(setup::policy("lard", &[]), Cluster::new(0.0), 1);
            for number in 0..usize::from(SERVERS) {
                desk.join(spec(number), State::Up, Instant::ZERO).expect("a slot is free");
            }
            desk
        };
        let counts = (0..SERVERS).map(|id| (ServerId(id), Elsewhere::default())).collect();
        let (told, looks) = (desk(), desk());
        Self { told, looks, counts, serial: 0, tickets: Vec::new(), now: at(1) }
    }

    fn open(&mut self, open: &mut Vec<(u16, Ticket)>, server: u16) {
        open.push((server, self.told.begin(ServerId(server), &ask_for(1), Load::ONE)));
        self.serial += 1;
        let count = &mut self.counts[usize::from(server)].1;
        *count = Elsewhere { open: count.open + 1, begun: count.begun + 1, chosen: self.serial };
    }

    fn close(&mut self, open: &mut Vec<(u16, Ticket)>, server: u16) -> bool {
        let Some(at) = open.iter().position(|(of, _)| *of == server) else { return false };
        let outcome = Outcome { at: self.now, ok: true, first_byte: None };
        self.told.finish(open.swap_remove(at).1, outcome);
        self.counts[usize::from(server)].1.open -= 1;
        true
    }

    fn look(&mut self) {
        self.looks.elsewhere_all(&self.counts, self.now);
    }

    fn agree(&self) {
        let (told, looks) = (self.told.cluster(), self.looks.cluster());
        assert_eq!((told.total(), told.least_loaded()), (looks.total(), looks.least_loaded()));
        for (one, other) in told.servers().zip(looks.servers()) {
            let id = one.id;
            assert_eq!((id, one.load, one.begun), (other.id, other.load, other.begun));
            assert_eq!(told.pressure(id), looks.pressure(id));
            let here = told.load(id).minus(Load::of(self.counts[id.index()].1.open));
            assert_eq!(looks.load_here(id), here);
            let others = told.usable().iter().copied().filter(|other| *other != id);
            let least = |cluster: &Cluster| cluster.least_loaded_of(others.clone());
            assert_eq!(least(told), least(looks), "ties too");
        }
    }

    fn play(&mut self, steps: &[Step]) {
        let mut open = Vec::new();
        for step in steps {
            match *step {
                Step::Open(server) => self.open(&mut open, server),
                Step::Close(server) => drop(self.close(&mut open, server)),
                Step::Move(from, to) => {
                    if self.close(&mut open, from) {
                        self.open(&mut open, to);
                    }
                }
                // The desk looks before each decision.
                Step::Begin(server) => {
                    self.look();
                    let request = policy::Request { at: self.now, ..ask_for(1) };
                    let begin = |desk: &mut Desk| desk.begin(ServerId(server), &request, Load::ONE);
                    self.tickets.push((begin(&mut self.told), begin(&mut self.looks)));
                }
                Step::End(which) if !self.tickets.is_empty() => {
                    let (told, looks) = self.tickets.swap_remove(which % self.tickets.len());
                    let outcome = Outcome { at: self.now, ok: true, first_byte: None };
                    self.told.finish(told, outcome);
                    self.looks.finish(looks, outcome);
                }
                Step::End(_) => {}
                Step::Look => {
                    self.look();
                    self.agree();
                }
                Step::Wait => self.now = self.now.plus(core::time::Duration::from_millis(1)),
                Step::Weight(server, weight) => {
                    self.told.set_share(ServerId(server), weight, 256);
                    self.looks.set_share(ServerId(server), weight, 256);
                }
            }
        }
        self.look();
        self.agree();
        for (_, ticket) in open {
            self.told.finish(ticket, Outcome { at: self.now, ok: true, first_byte: None });
        }
        for (_, count) in &mut self.counts {
            count.open = 0;
        }
        self.look();
        self.agree();
    }
}

proptest! {
    #[test]
    fn who_counts_makes_no_difference(steps in prop::collection::vec(step(), 0..120)) {
        Both::new().play(&steps);
    }
}

fn count(open: u64, begun: u64, chosen: u64) -> Elsewhere {
    Elsewhere { open, begun, chosen }
}

#[test]
fn those_chosen_since_the_last_look_were_chosen_in_the_order_of_their_numbers() {
    let mut desk = Both::new().looks;
    // All are equally loaded: the one not chosen for longest is D, and after it as numbered.
    desk.elsewhere_all(&[(A, count(0, 1, 9)), (B, count(0, 1, 4)), (C, count(0, 1, 7))], at(1));
    let order: Vec<_> = (0..4).map(|_| desk.assign(&ask_for(rank(&desk)), &[])).collect();
    let order = order.into_iter().map(|assigned| assigned.expect("all are up").0.server.0);
    assert_eq!(order.collect::<Vec<_>>(), [3, 1, 2, 0]);
}

/// A target that was not asked for yet.
fn rank(desk: &Desk) -> u64 {
    desk.cluster().servers().map(|server| server.begun).sum()
}

#[test]
fn a_slot_is_kept_until_its_last_connection_elsewhere_is_closed() {
    let mut desk = Both::new().looks;
    desk.elsewhere(B, count(2, 2, 2), at(1));
    desk.leave(B);
    assert_eq!(desk.cluster().total(), Load::of(2));
    assert_ne!(desk.join(spec(8), State::Up, at(1)), Some(B));
    desk.elsewhere(B, count(0, 2, 2), at(2));
    assert!(desk.cluster().server(B).is_none());
    assert_eq!(desk.join(spec(9), State::Up, at(2)), Some(B));
    let new = desk.cluster().server(B).expect("it has just joined");
    assert_eq!((new.load, new.begun), (Load::ZERO, 0), "what the one before it had is not its own");
}

#[test]
fn a_connection_that_comes_late_to_an_empty_slot_is_nobodys_load_and_keeps_it_empty() {
    let mut desk = Both::new().looks;
    desk.leave(B);
    desk.elsewhere(B, count(1, 1, 1), at(1));
    assert_eq!(desk.cluster().total(), Load::ZERO);
    assert_ne!(desk.join(spec(8), State::Up, at(1)), Some(B));
    desk.elsewhere(B, count(0, 1, 1), at(1));
    assert_eq!(desk.join(spec(9), State::Up, at(1)), Some(B));
}

#[test]
fn a_wild_count_does_not_spoil_the_books() {
    let mut desk = Both::new().looks;
    desk.elsewhere_all(&[(A, count(u64::MAX, 5, 1)), (B, count(3, 3, 2))], at(1));
    assert!(desk.cluster().load(A) > Load::of(1_000_000));
    desk.elsewhere_all(&[(A, count(1, 0, 0)), (B, count(3, 3, 2))], at(2));
    assert_eq!(desk.cluster().total(), Load::of(4));
    let begun = desk.cluster().server(A).map(|server| server.begun);
    assert_eq!(begun, Some(5), "a count that begins anew takes nothing back");
}
