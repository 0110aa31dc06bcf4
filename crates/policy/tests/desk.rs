//! What the driver adds to a policy: retries, panic, introductions, explanations; and what the
//! policies' numbers and parameters promise.
//!
//! Method: a desk with a policy that writes down what it is told, or a plain one; one promise each.

mod setup;

use policy::{
    Assignment, Change, Cluster, Desk, Dice, Edit, Entry, Instant, Load, Outcome, POLICIES,
    ParamError, Params, Policy, Request, ServerId, Spec, State, Value, WARM, Why, entry,
};
use proptest::prelude::*;
use setup::{A, B, C, D, ask_for, at, spec};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Always answers with the first usable server; reports changes.
struct Witness(Sender<Change>);

impl Policy for Witness {
    fn decide(&self, _: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(*cluster.usable().first()?, Why::Rotation))
    }

    fn changed(&mut self, change: Change, _: &Cluster) {
        self.0.send(change).expect("the test listens");
    }
}

fn witness() -> (Box<dyn Policy>, Receiver<Change>) {
    let (sender, told) = channel();
    (Box::new(Witness(sender)), told)
}

/// A desk with this row's policy at its defaults.
fn desk_of(entry: &Entry, servers: usize) -> Desk {
    let policy = (entry.build)(&Params::new(entry.params));
    let mut desk = Desk::new(policy, Cluster::new(0.0), 1);
    for number in 0..servers {
        desk.join(spec(number), State::Up, Instant::ZERO);
    }
    desk
}

fn desk(servers: usize, panic_share: f64) -> (Desk, Receiver<Change>) {
    let (policy, told) = witness();
    let mut desk = Desk::new(policy, Cluster::new(panic_share), 1);
    for number in 0..servers {
        desk.join(spec(number), State::Up, Instant::ZERO);
    }
    (desk, told)
}

#[test]
fn a_retry_goes_to_the_least_loaded_server_that_did_not_fail() {
    let (mut desk, _told) = desk(3, 0.0);
    let _b = desk.begin(B, &ask_for(1), Load::ONE);
    let (answer, _a) = desk.assign(&ask_for(1), &[A]).unwrap();
    assert_eq!((answer.server, answer.why), (C, Why::Retry));
    assert!(desk.assign(&ask_for(1), &[A, B, C]).is_none(), "all have failed it");
}

#[test]
fn too_few_servers_up_means_that_ejections_are_ignored() {
    let (mut desk, _told) = desk(3, 0.5);
    desk.set_state(A, State::Ejected);
    assert_eq!(desk.assign(&ask_for(1), &[]).unwrap().0.server, B);
    assert!(!desk.cluster().panic(), "two of three are up");
    desk.set_state(B, State::Down);
    let (answer, _ticket) = desk.assign(&ask_for(1), &[]).unwrap();
    assert_eq!((answer.server, answer.why), (A, Why::Panic));
}

#[test]
fn a_new_policy_is_introduced_to_every_server_but_those_that_left() {
    let (mut desk, _told) = desk(3, 0.0);
    let ticket = desk.begin(B, &ask_for(1), Load::ONE);
    desk.leave(B);
    assert!(desk.cluster().server(B).is_some(), "it has work to finish");
    let (policy, told) = witness();
    desk.set_policy(policy);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [Change::Joined(A), Change::Joined(C)]);
    desk.finish(ticket, Outcome { at: at(1), ok: true, first_byte: None });
    assert!(desk.cluster().server(B).is_none());
    assert_eq!(desk.join(spec(9), State::Up, at(1)), Some(B), "the slot is free again");
}

#[test]
fn a_state_of_left_is_leaving() {
    let (mut desk, told) = desk(1, 0.0);
    desk.set_state(A, State::Left);
    assert_eq!(told.try_iter().last(), Some(Change::Left(A)));
    assert!(desk.cluster().server(A).is_none());
}

#[test]
fn an_explanation_changes_nothing() {
    let mut plain = Desk::new(setup::policy("random", &[]), Cluster::new(0.0), 1);
    let mut asked = Desk::new(setup::policy("random", &[]), Cluster::new(0.0), 1);
    for number in 0..8 {
        plain.join(spec(number), State::Up, Instant::ZERO);
        asked.join(spec(number), State::Up, Instant::ZERO);
    }
    for _ in 0..50 {
        let explained = asked.explain(&ask_for(1)).answer;
        let (answer, _plain) = plain.assign(&ask_for(1), &[]).unwrap();
        assert_eq!(explained, Some(answer));
        assert_eq!(asked.assign(&ask_for(1), &[]).unwrap().0, answer);
    }
}

#[test]
fn the_mean_load_weighs_loads_with_their_time() {
    let (mut desk, _told) = desk(1, 0.0);
    let first = desk.begin(A, &ask_for(1), Load::ONE);
    let second = desk.begin(A, &Request { at: at(6), ..ask_for(1) }, Load::ONE);
    for ticket in [first, second] {
        desk.finish(ticket, Outcome { at: at(8), ok: true, first_byte: None });
    }
    // 1 for six seconds, 2 for two, 0 for two.
    let server = desk.cluster().server(A).unwrap();
    assert!((server.load_mean(Instant::ZERO, at(10)) - 1.0).abs() < 1e-9);
}

#[test]
fn half_the_weight_feels_twice_the_load() {
    let mut cluster = Cluster::new(0.0);
    for weight in [2, 1] {
        let spec = Spec { weight, ..spec(0) };
        let id = cluster.join(spec, State::Up, Instant::ZERO).unwrap();
        cluster.begin(id, Load::of(10), Instant::ZERO);
    }
    assert_eq!([A, B].map(|id| cluster.pressure(id)), [Load::of(10), Load::of(20)]);
    cluster.set_share(A, 2, 64);
    assert_eq!([A, B].map(|id| cluster.pressure(id)), [Load::of(20), Load::of(10)]);
    assert_eq!(cluster.pressure(ServerId(7)), Load::MAX, "nobody can be given more");
}

#[test]
fn a_parameter_is_refused_with_what_it_may_be() {
    let mut params = Params::new(entry("lard").unwrap().params);
    assert_eq!(params.set("t_high", Value::Auto), Ok(()));
    assert_eq!(params.set("u_low", Value::Count(1)), Ok(()), "a whole number is a number");
    for (name, value) in [
        ("t_high", Value::Count(0)),
        ("u_low", Value::Real(f64::NAN)),
        ("u_low", Value::Real(1.1)),
        ("metric", Value::Word("noise")),
        ("max_targets", Value::Auto),
    ] {
        assert!(matches!(params.set(name, value), Err(ParamError::Invalid(_))), "{name}");
    }
    match params.set("t_hihg", Value::Count(1)) {
        Err(ParamError::Unknown(known)) => assert!(known.contains(&"t_high")),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn unscaled_gives_the_largest_load_that_scales_to_no_more(
        load in 0..u64::MAX / 2, numerator in 1..1u64 << 40, denominator in 1..1u64 << 40,
    ) {
        let most = Load(load).unscaled(numerator, denominator);
        prop_assert!(most.scaled(numerator, denominator) <= Load(load));
        if most < Load(u64::MAX) {
            prop_assert!(Load(most.0 + 1).scaled(numerator, denominator) > Load(load));
        }
    }
}

#[test]
fn a_change_that_was_prepared_ends_like_one_that_was_not() {
    for entry in POLICIES {
        let changed = |prepare: bool| {
            let mut desk = desk_of(entry, 4);
            if prepare && let Some(work) = desk.prepare(|edit| edit.leave(B)) {
                work();
            }
            desk.leave(B);
            let answer = |target| desk.explain(&ask_for(target)).answer;
            (0..100).map(answer).collect::<Vec<_>>()
        };
        assert_eq!(changed(true), changed(false), "{}", entry.name);
    }
}

#[test]
fn what_is_slow_to_change_can_be_prepared_and_nothing_else_needs_it() {
    for entry in POLICIES {
        let mut desk = desk_of(entry, 4);
        let slow = ["maglev", "bounded-hash"].contains(&entry.name);
        let leave = desk.prepare(|edit| edit.leave(B));
        assert_eq!(leave.is_some(), slow, "{}", entry.name);
        let ramp = desk.prepare(|edit| edit.set_share(B, 1, WARM / 2));
        assert!(ramp.is_none(), "{}: a ramp moves nothing", entry.name);
        assert_eq!(desk.cluster().usable().len(), 4, "{}: nothing has changed yet", entry.name);
    }
}

/// What a reload may do at once: a server leaves, another has its slot, one changes, one joins.
fn reload(edit: &mut Edit<'_>) {
    edit.leave(B);
    assert_eq!(edit.join(spec(7), State::Up, at(1)), Some(B), "its slot is free at once");
    edit.set_share(C, 3, WARM);
    edit.join(spec(8), State::Up, at(1));
    edit.set_panic_share(0.5);
}

fn answers(desk: &Desk) -> Vec<Option<Assignment>> {
    (0..100).map(|target| desk.explain(&ask_for(target)).answer).collect()
}

#[test]
fn changes_made_together_end_like_changes_made_in_turn() {
    for entry in POLICIES {
        let (mut together, mut in_turn) = (desk_of(entry, 4), desk_of(entry, 4));
        for desk in [&mut together, &mut in_turn] {
            for target in 0..100 {
                let (_, ticket) = desk.assign(&ask_for(target), &[]).unwrap();
                desk.finish(ticket, Outcome { at: at(0), ok: true, first_byte: None });
            }
        }
        if let Some(work) = together.prepare(reload) {
            work();
        }
        together.change(reload);
        in_turn.leave(B);
        in_turn.join(spec(7), State::Up, at(1));
        in_turn.set_share(C, 3, WARM);
        in_turn.join(spec(8), State::Up, at(1));
        in_turn.change(|edit| edit.set_panic_share(0.5));
        assert_eq!(answers(&together), answers(&in_turn), "{}", entry.name);
    }
}

#[test]
fn a_policy_that_was_prepared_answers_like_one_that_was_not() {
    for entry in POLICIES {
        let replaced = |prepare: bool| {
            let mut desk = desk_of(&POLICIES[0], 4);
            let mut policy = (entry.build)(&Params::new(entry.params));
            if prepare && let Some(work) = policy.prepare(&desk.preview(reload)) {
                work();
            }
            let (old, ()) = desk.replace(policy, reload);
            drop(old);
            answers(&desk)
        };
        assert_eq!(replaced(true), replaced(false), "{}", entry.name);
    }
}

#[test]
fn a_policy_hears_of_changes_when_all_are_made_and_the_old_one_hears_of_none() {
    let (mut desk, told_old) = desk(3, 0.0);
    let _introduced = told_old.try_iter().count();
    desk.change(reload);
    let changes = [Change::Left(B), Change::Joined(B), Change::Share(C), Change::Joined(D)];
    assert_eq!(told_old.try_iter().collect::<Vec<_>>(), changes);
    let (policy, told) = witness();
    let (_old, ()) = desk.replace(policy, |edit| edit.leave(A));
    assert_eq!(told_old.try_iter().count(), 0);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [B, C, D].map(Change::Joined));
}

#[test]
fn a_panic_that_a_new_threshold_begins_or_ends_is_told() {
    for entry in POLICIES {
        let mut desk = desk_of(entry, 2);
        desk.set_state(A, State::Ejected);
        for panic_share in [0.9, 0.0] {
            desk.change(|edit| edit.set_panic_share(panic_share));
            for answer in answers(&desk).iter().flatten() {
                assert!(desk.cluster().is_usable(answer.server), "{}", entry.name);
            }
        }
        desk.set_state(B, State::Down);
        assert_eq!(desk.explain(&ask_for(1)).answer.map(|a| a.server), None, "{}", entry.name);
        desk.change(|edit| edit.set_panic_share(0.9));
        assert_eq!(desk.explain(&ask_for(1)).answer.map(|a| a.server), Some(A), "{}", entry.name);
    }
}
