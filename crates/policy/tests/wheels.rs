//! A wheel is the policy's own answers, written down: whoever turns it answers as the policy would,
//! and the policy, told of the turns, goes on as if it had answered itself.
//!
//! Method: for every row of POLICIES, two desks live through the same random history. One is asked
//! for everything; of the other, wheels are turned where it offers them, and it is told of the
//! turns before each change. All answers must agree. Another test counts turns, so that this one
//! cannot pass for want of wheels.

mod setup;

use policy::{
    Class, Cluster, Desk, Entry, Instant, POLICIES, Params, Request, ServerId, Spec, State,
    TargetId, Value, WHEEL_TURNS_MAX, Wheel, entry,
};
use proptest::prelude::*;
use setup::{A, B, C, at, spec};

#[derive(Clone, Debug)]
enum Step {
    /// Requests of one class, so many in a row.
    Ask {
        class: u8,
        count: usize,
    },
    Share {
        server: u16,
        weight: u32,
        warmth: u16,
    },
    State {
        server: u16,
        up: bool,
    },
    Wait {
        seconds: u64,
    },
}

const SERVERS: u16 = 4;

fn step() -> impl Strategy<Value = Step> {
    let warmth = prop_oneof![4 => Just(256u16), 1 => prop::sample::select(vec![1u16, 64, 128])];
    prop_oneof![
        6 => (0u8..5, 0usize..40).prop_map(|(class, count)| Step::Ask { class, count }),
        1 => (0..SERVERS, 1u32..6, warmth)
            .prop_map(|(server, weight, warmth)| Step::Share { server, weight, warmth }),
        1 => (1..SERVERS, any::<bool>()).prop_map(|(server, up)| Step::State { server, up }),
        1 => (0u64..15).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

fn desk(policy: Box<dyn policy::Policy>) -> Desk {
    let mut desk = Desk::new(policy, Cluster::new(0.0), 1);
    for number in 0..SERVERS {
        desk.join(spec(usize::from(number)), State::Up, Instant::ZERO).expect("a slot is free");
    }
    desk
}

fn of(entry: &Entry) -> Desk {
    desk((entry.build)(&Params::new(entry.params)))
}

fn request(class: u8, target: u64, now: Instant) -> Request {
    Request { at: now, target: TargetId(target), class: Class(class), holder: None }
}

/// A desk of which others turn the wheels.
struct Turned {
    desk: Desk,
    /// Wheels that are out, with a class that is on it and the turns taken.
    out: Vec<(Class, Wheel, u64)>,
    turns: u64,
}

impl Turned {
    fn answer(&mut self, request: &Request) -> Option<ServerId> {
        if self.out.iter().any(|(_, wheel, _)| request.at >= wheel.until) {
            self.tell();
        }
        if let Some(wheel) = self.desk.wheel(request.class).filter(|w| request.at < w.until) {
            let known = self.out.iter().position(|(_, out, _)| out.number == wheel.number);
            let place = known.unwrap_or(self.out.len());
            if known.is_none() {
                self.out.push((request.class, wheel, 0));
            }
            let (_, wheel, turns) = &mut self.out[place];
            let server = wheel.cycle[(*turns % wheel.cycle.len() as u64) as usize];
            *turns += 1;
            self.turns += 1;
            return self.desk.turn(server, &[]).map(|answer| answer.server);
        }
        self.desk.ask(request, &[]).map(|answer| answer.server)
    }

    fn tell(&mut self) {
        for (class, _, turns) in self.out.drain(..) {
            self.desk.turned(class, turns);
        }
    }
}

/// Plays the steps on both; says how many answers came from wheels.
fn agree(entry: &Entry, steps: &[Step]) -> u64 {
    let mut asked = of(entry);
    let mut turned = Turned { desk: of(entry), out: Vec::new(), turns: 0 };
    let (mut now, mut target) = (at(1), 0);
    for step in steps {
        match *step {
            Step::Ask { class, count } => {
                for _ in 0..count {
                    target += 1;
                    let request = request(class, target % 7, now);
                    let expected = asked.ask(&request, &[]).map(|answer| answer.server);
                    assert_eq!(turned.answer(&request), expected, "{}", entry.name);
                }
                continue;
            }
            Step::Wait { seconds } => now = now.plus(core::time::Duration::from_secs(seconds)),
            Step::Share { server, weight, warmth } => {
                turned.tell();
                asked.set_share(ServerId(server), weight, warmth);
                turned.desk.set_share(ServerId(server), weight, warmth);
            }
            Step::State { server, up } => {
                let state = if up { State::Up } else { State::Down };
                turned.tell();
                asked.set_state(ServerId(server), state);
                turned.desk.set_state(ServerId(server), state);
            }
        }
    }
    turned.turns
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn who_turns_a_wheel_answers_as_the_policy_would(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        for entry in POLICIES {
            agree(entry, &steps);
        }
    }
}

#[test]
fn the_rotations_offer_wheels_and_nobody_else_does() {
    let steps: Vec<_> = (0..20).map(|class| Step::Ask { class: class % 5, count: 10 }).collect();
    for entry in POLICIES {
        let turns = agree(entry, &steps);
        // Static partitioning has none before the first request: then its first period begins.
        let most = match entry.name {
            "round-robin" | "wrr" | "cap" => 200,
            "static-partition" => 199,
            _ => 0,
        };
        assert_eq!(turns, most, "{}", entry.name);
    }
}

#[test]
fn a_wheel_is_a_round_of_the_shares_from_the_next_turn_on() {
    let mut desk = desk(setup::policy("wrr", &[]));
    desk.set_state(ServerId(3), State::Down);
    desk.set_share(A, 3, 256);
    let wheel = desk.wheel(Class::STATIC).expect("3 : 1 : 1 is a round of five");
    assert_eq!(wheel.cycle, [A, B, A, C, A]);
    assert_eq!((wheel.number, wheel.until), (0, Instant::NEVER));
    desk.ask(&request(0, 1, at(0)), &[]);
    assert_eq!(desk.wheel(Class::CPU).map(|w| w.cycle), Some(vec![B, A, C, A, A]), "the next ones");
}

#[test]
fn a_cycle_that_is_too_long_is_not_offered() {
    let mut desk = desk(setup::policy("wrr", &[]));
    desk.set_share(A, WHEEL_TURNS_MAX as u32 - 3, 256);
    assert_eq!(desk.wheel(Class::STATIC).map(|w| w.cycle.len()), Some(WHEEL_TURNS_MAX));
    desk.set_share(A, WHEEL_TURNS_MAX as u32 - 2, 256);
    assert_eq!(desk.wheel(Class::STATIC), None);
    desk.set_share(A, 256, 1);
    assert_eq!(desk.wheel(Class::STATIC).map(|w| w.cycle.len()), Some(4), "in lowest terms");
}

#[test]
fn any_number_of_turns_is_told_in_no_time() {
    for policy in ["rr", "wrr", "cap", "static-partition"] {
        let after = |turns: &[u64]| {
            let mut desk = desk(setup::policy(policy, &[]));
            desk.set_share(A, 3, 256);
            desk.ask(&request(0, 1, at(1)), &[]);
            let class = Class::STATIC;
            turns.iter().for_each(|turns| desk.turned(class, *turns));
            let ask = |at_s| desk.ask(&request(0, 1, at(at_s)), &[]).map(|answer| answer.server);
            (2..40).map(ask).collect::<Vec<_>>()
        };
        // Rounds are of 4 or 6.
        assert_eq!(after(&[12_000_000_000_007]), after(&[7]), "{policy}");
        assert_eq!(after(&[3, 0, 4]), after(&[7]), "{policy}");
    }
}

#[test]
fn a_split_that_follows_arrivals_stops_its_wheels_in_time() {
    let mut desk = desk(setup::policy("static-partition", &[]));
    assert_eq!(desk.wheel(Class::STATIC), None, "the first period begins with the first request");
    desk.ask(&request(0, 1, at(5)), &[]);
    assert_eq!(desk.wheel(Class::STATIC).map(|wheel| wheel.until), Some(at(15)));
    let parts = Value::Partition(vec![(Class::STATIC, vec!["s1".into(), "s2".into()])]);
    let policy = setup::policy("static-partition", &[("partition", parts)]);
    let written = self::desk(policy).wheel(Class::STATIC).expect("what is written down stays");
    assert_eq!((written.cycle, written.until), (vec![B, C], Instant::NEVER));
}

#[test]
fn weights_are_on_a_wheel_again_soon_after_they_have_changed() {
    let entry = entry("wrr").expect("it is a row");
    let mut desk = of(entry);
    for (change, weight) in [3, 5, 2, 9, 1, 4].into_iter().enumerate() {
        desk.set_share(ServerId(change as u16 % SERVERS), weight, 256);
        let off = (0..1000).take_while(|_| {
            let is_off = desk.wheel(Class::STATIC).is_none();
            desk.ask(&request(0, 1, at(1)), &[]);
            is_off
        });
        let off = off.count();
        // So that the next change comes in the middle of a round.
        desk.turned(Class::STATIC, 3);
        assert!(off <= 60, "{off} turns without a wheel after weight {weight}");
    }
}

#[test]
fn a_wheel_of_many_servers_holds_them_all() {
    let mut desk = Desk::new(setup::policy("rr", &[]), Cluster::new(0.0), 1);
    for number in 0..WHEEL_TURNS_MAX {
        let spec = Spec { weight: 1 + number as u32 % 3, ..spec(number) };
        desk.join(spec, State::Up, Instant::ZERO).expect("a slot is free");
    }
    assert_eq!(desk.wheel(Class::STATIC).map(|wheel| wheel.cycle.len()), Some(WHEEL_TURNS_MAX));
    desk.join(spec(WHEEL_TURNS_MAX), State::Up, Instant::ZERO).expect("a slot is free");
    assert_eq!(desk.wheel(Class::STATIC), None);
}
