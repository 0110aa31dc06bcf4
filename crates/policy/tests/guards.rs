//! A guard is a promise: as long as it holds, the policy would answer the same again.
//!
//! Method: for every row of POLICIES, a random history of requests, loads, weights and states leads
//! to an answer. Wherever it carries a guard, all loads are then changed at will, the guarded
//! server's up to the limit, time goes on, and the same target is asked for again, in whatever
//! class and by whatever connection: the answer must name the same server. Another test counts
//! guards, so that this one cannot pass for want of them.

mod setup;

use policy::{
    Class, Cluster, Entry, Guard, Instant, Load, POLICIES, Params, Policy, Request, ServerId, Spec,
    State, TargetId, Value, entry,
};
use proptest::prelude::*;
use setup::{Stage, at, set_load};

/// One thing that happens before the answer.
#[derive(Clone, Debug)]
enum Step {
    Ask { target: u64, class: u8, second: u64 },
    Load { server: u16, load: u64 },
    Share { server: u16, weight: u32, warmth: u16 },
    State { server: u16, up: bool },
}

const SERVERS: u16 = 4;

fn loads() -> impl Strategy<Value = u64> {
    // Around the thresholds, and with fractions.
    prop_oneof![0..200 * Load::ONE.0, (0u64..200).prop_map(|whole| whole * Load::ONE.0)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..4, 0u8..5, 0u64..60)
            .prop_map(|(target, class, second)| Step::Ask { target, class, second }),
        4 => (0..SERVERS, loads()).prop_map(|(server, load)| Step::Load { server, load }),
        1 => (0..SERVERS, 1u32..4, prop_oneof![Just(256u16), 1u16..=256])
            .prop_map(|(server, weight, warmth)| Step::Share { server, weight, warmth }),
        1 => (1..SERVERS, any::<bool>()).prop_map(|(server, up)| Step::State { server, up }),
    ]
}

/// Every parameter of a row at its default, or drawn: thresholds in any order, `auto` or not.
fn params(entry: &Entry, draws: &[u64]) -> Params {
    let mut params = Params::new(entry.params);
    for (param, draw) in entry.params.iter().zip(draws) {
        let value = match param.name {
            "t_low" | "t_high" | "l_idle" | "l_overload" if draw % 4 == 0 => Value::Auto,
            "t_low" | "t_high" | "l_idle" | "l_overload" | "miss_cost" => {
                Value::Count(draw % 150 + 1)
            }
            _ => continue,
        };
        params.set(param.name, value).expect("it is of the declared kind");
    }
    params
}

fn stage(policy: Box<dyn Policy>) -> Stage {
    let mut stage = Stage::new(policy, &[]);
    for number in 0..SERVERS {
        let capacity = [None, Some(13), Some(65), Some(200)][usize::from(number)];
        let name = format!("s{number}").into();
        let spec = Spec { name, weight: 1, capacity };
        let id = stage.cluster.join(spec, State::Up, Instant::ZERO).expect("a slot is free");
        stage.cluster.begin(id, Load::ZERO, Instant::ZERO);
        stage.policy.changed(policy::Change::Joined(id), &stage.cluster);
    }
    stage
}

fn request(target: u64, class: u8, at: Instant) -> Request {
    Request { at, target: TargetId(target), class: Class(class), holder: None }
}

fn play(stage: &mut Stage, steps: &[Step]) {
    use policy::Change;
    for step in steps {
        let change = match *step {
            Step::Ask { target, class, second } => {
                stage.assign(&request(target, class, at(second)));
                continue;
            }
            Step::Load { server, load } => {
                set_load(&mut stage.cluster, ServerId(server), Load(load));
                continue;
            }
            Step::Share { server, weight, warmth } => {
                stage.cluster.set_share(ServerId(server), weight, warmth);
                Change::Share(ServerId(server))
            }
            Step::State { server, up } => {
                let state = if up { State::Up } else { State::Down };
                stage.cluster.set_state(ServerId(server), state);
                Change::State(ServerId(server), state)
            }
        };
        stage.policy.changed(change, &stage.cluster);
    }
}

/// Changes all loads, as far as the guard allows.
fn disturb(cluster: &mut Cluster, server: ServerId, guard: &Guard, loads: &[u64]) {
    for (number, load) in loads.iter().enumerate() {
        let id = ServerId(number as u16);
        let most = if id == server { guard.load_max } else { Load::MAX };
        set_load(cluster, id, Load(*load).min(most));
    }
}

/// A random case: history, question, and how the loads are disturbed.
#[derive(Clone, Debug)]
struct Case {
    draws: Option<Vec<u64>>,
    steps: Vec<Step>,
    ask: (u64, u8, u64),
    loads: Vec<u64>,
    to_the_limit: bool,
    seconds: u64,
    /// Class and holder of the later request.
    later: (u8, Option<u16>),
}

fn case() -> impl Strategy<Value = Case> {
    let draws = prop::option::of(prop::collection::vec(any::<u64>(), 8));
    let steps = prop::collection::vec(step(), 0..40);
    let loads = prop::collection::vec(loads(), usize::from(SERVERS));
    let ask = (0u64..4, 0u8..5, 60u64..90);
    let later = (0u8..5, prop::option::of(0..SERVERS));
    (draws, steps, ask, loads, any::<bool>(), 0u64..100, later).prop_map(
        |(draws, steps, ask, loads, to_the_limit, seconds, later)| Case {
            draws,
            steps,
            ask,
            loads,
            to_the_limit,
            seconds,
            later,
        },
    )
}

/// Plays a case with one row; says whether there was a guard.
fn keeps_its_word(entry: &Entry, case: &Case) -> bool {
    let set = case.draws.as_ref().map(|draws| params(entry, draws));
    let mut stage = stage((entry.build)(&set.unwrap_or_else(|| Params::new(entry.params))));
    play(&mut stage, &case.steps);
    let (target, class, second) = case.ask;
    let answer = stage.assign(&request(target, class, at(second)));
    let Some(guard) = answer.guard else { return false };
    assert_eq!(guard.epoch, stage.cluster.epoch());
    let mut loads = case.loads.clone();
    if case.to_the_limit {
        loads[answer.server.index()] = guard.load_max.0.min(Load::of(10_000).0);
    }
    disturb(&mut stage.cluster, answer.server, &guard, &loads);
    let now = at(second + case.seconds);
    if now < guard.until {
        let holder = case.later.1.map(ServerId);
        let later = Request { holder, ..request(target, case.later.0, now) };
        let again = stage.answer(&later);
        assert_eq!(again.server, answer.server, "{}: {guard:?}", entry.name);
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_policy_keeps_the_guards_it_gives(case in case()) {
        for entry in POLICIES {
            keeps_its_word(entry, &case);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_policies_known_to_give_guards_keep_them(case in case()) {
        for name in ["lard", "lard-r", "lard-cost"] {
            let entry = entry(name).expect("it is a row");
            let guarded = keeps_its_word(entry, &case);
            prop_assert!(guarded || name == "lard-r", "LARD/R gives none for several members");
        }
    }
}

#[test]
fn the_limit_of_a_guard_is_as_far_as_the_policy_promises() {
    for (name, whole) in [("lard", 65), ("lard-r", 65), ("lard-cost", 79)] {
        let mut stage = Stage::new(setup::policy(name, &[]), &[0, 10]);
        let guard = stage.assign(&setup::ask_for(1)).guard.expect("one server has the target");
        assert_eq!(guard.load_max, Load::of(whole), "{name}");
        set_load(&mut stage.cluster, ServerId(1), Load::ZERO);
        let beyond = guard.load_max.plus(Load(1));
        set_load(&mut stage.cluster, ServerId(0), beyond);
        assert_eq!(stage.answer(&setup::ask_for(1)).server, ServerId(1), "{name}: not one further");
    }
}
