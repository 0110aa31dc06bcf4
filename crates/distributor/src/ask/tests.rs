//! Method: desks of a few servers behind their lock, asked and changed by one thread; a policy that
//! says whether the lock was free when it was called.

use super::*;
use crate::gate::Waited;
use policy::{Class, Cluster, Params, Spec, State, TargetId, entry};
use std::task::{Context, Waker};

fn ask(servers: u16) -> Ask {
    let row = entry("round-robin").expect("it is a row of POLICIES");
    let mut desk = Desk::new((row.build)(&Params::new(row.params)), Cluster::new(0.0), 1);
    for at in 0..servers {
        let spec = Spec { name: at.to_string().into(), weight: 1, capacity: None };
        desk.join(spec, State::Up, Instant::ZERO).expect("there are slots");
    }
    Ask::new(desk)
}

fn question() -> Request {
    let (at, target, class) = (Instant::ZERO, TargetId(1), Class::STATIC);
    Request { at, target, class, holder: None }
}

fn waited(turn: &Turn) -> Option<Waited> {
    turn.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn places_go_to_those_who_wait_in_the_order_they_came() {
    let ask = ask(1);
    ask.set_gate(ServerId(0), 1, 2);
    let Answer::Go(first) = ask.assign(&question(), &[]) else { panic!("it is free") };
    let wait = || match ask.assign(&question(), &[]) {
        Answer::Wait(assigned, turn) => (assigned, turn),
        _ => panic!("it is full"),
    };
    let ((_second, a), (third, b)) = (wait(), wait());
    assert!(matches!(ask.assign(&question(), &[]), Answer::Full));
    ask.give_up(third.ticket, &b, Instant::ZERO);
    let ok = Outcome { at: Instant::ZERO, ok: true, first_byte: None };
    ask.finish(first.ticket, ok);
    assert_eq!(waited(&a), Some(Waited::Granted));
    assert_eq!(ask.books().desk().cluster().total(), Load::ONE);
}

#[test]
fn the_automatic_crowd_follows_the_servers_that_are_up() {
    let ask = ask(2);
    let admission = policy::Admission::new(Some(2), Some(5), policy::AdmissionForm::MinusOne);
    ask.set_crowd(Some(CrowdLimit::Auto(admission)));
    // S = (n - 1) * T_high + T_low - 1 = 6 for two servers, and 1 for one.
    let inside: Vec<_> = (0..8).map(|_| ask.enter().expect("the queue has room")).collect();
    assert_eq!(inside.iter().filter(|turn| waited(turn).is_some()).count(), 6);
    ask.change(|edit| edit.set_state(ServerId(0), State::Down));
    inside.iter().take(5).for_each(|turn| ask.leave(turn));
    let still: Vec<_> = inside.iter().skip(5).map(|turn| waited(turn).is_some()).collect();
    assert_eq!(still, [true, false, false]);
    ask.leave(&inside[5]);
    assert!(waited(&inside[6]).is_some() && waited(&inside[7]).is_none());
    ask.set_crowd(None);
    assert!(waited(&inside[7]).is_some(), "without a limit nobody waits");
}

/// Hears whether the lock was free when something happened.
#[derive(Clone)]
struct Witness {
    ask: std::sync::Weak<Ask>,
    heard: std::sync::mpsc::Sender<(&'static str, bool)>,
}

impl Witness {
    fn say(&self, what: &'static str) {
        let free = self.ask.upgrade().is_some_and(|ask| ask.books.try_lock().is_ok());
        // At the end of the test nobody listens any more.
        let _unheard = self.heard.send((what, free));
    }
}

/// Never answers; has something to prepare for every change.
struct Slow(Witness);

impl Policy for Slow {
    fn decide(&self, _: &Request, _: &Cluster, _: &mut policy::Dice) -> Option<Assignment> {
        None
    }

    fn changed(&mut self, _: policy::Change, _: &Cluster) {
        self.0.say("changed");
    }

    fn prepare(&mut self, cluster: &Cluster) -> Option<policy::Preparation> {
        let (witness, servers) = (self.0.clone(), cluster.usable().len());
        Some(Box::new(move || {
            assert_eq!(servers, 1, "it is prepared for what comes");
            witness.say("prepared");
        }))
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.0.say("dropped");
    }
}

#[test]
fn policies_are_prepared_and_dropped_while_others_may_ask() {
    let ask = Arc::new(ask(2));
    let (heard, said) = std::sync::mpsc::channel();
    let witness = Witness { ask: Arc::downgrade(&ask), heard };
    let one_down = |edit: &mut Edit<'_>| edit.set_state(ServerId(0), State::Down);
    let replace = || {
        let slow = Slow(witness.clone());
        ask.change_with(Some(Box::new(slow)), one_down, |_, ()| witness.say("settled"));
    };
    replace();
    let introduced = [("prepared", true), ("changed", false), ("changed", false)];
    assert_eq!(said.try_iter().collect::<Vec<_>>(), [&introduced[..], &[SETTLED]].concat());
    ask.change(one_down);
    assert_eq!(said.try_iter().collect::<Vec<_>>(), introduced[..2]);
    replace();
    let over = [SETTLED, ("dropped", true)];
    assert_eq!(said.try_iter().collect::<Vec<_>>(), [&introduced[..], &over].concat());
}

/// What is seen together with a change is done before anybody may ask.
const SETTLED: (&str, bool) = ("settled", false);
