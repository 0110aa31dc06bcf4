//! Method: desks of a few servers behind their lock, asked and changed by one thread; a policy that
//! says whether the lock was free when it was called. That a kernel repeats what the policy would
//! say is proved in `proof`.

use super::kernel::{REPEAT_MAX, Repeat};
use super::proof::model::Model;
use super::*;
use crate::gate::Waited;
use policy::{Class, Cluster, Params, Spec, State, TargetId, entry};
use std::task::{Context, Waker};

fn ask(servers: u16) -> Ask {
    ask_of("round-robin", servers)
}

fn ask_of(policy: &str, servers: u16) -> Ask {
    let row = entry(policy).expect("it is a row of POLICIES");
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

const A: ServerId = ServerId(0);
const B: ServerId = ServerId(1);

fn kernel(ask: &Ask) -> Arc<Model> {
    let model = Arc::new(Model::default());
    ask.set_kernel(Some(Arc::clone(&model) as _));
    model
}

fn total(ask: &Ask) -> Load {
    ask.books().desk().cluster().total()
}

#[test]
fn a_decision_for_one_way_begins_nothing_and_waits_for_nobody() {
    let ask = ask(1);
    ask.set_gate(A, 1, 0);
    ask.set_crowd(Some(CrowdLimit::Fixed(1)));
    let Answer::Go(_running) = ask.assign(&question(), &[]) else { panic!("it is free") };
    assert!(matches!(ask.assign(&question(), &[]), Answer::Full));
    let decided = ask.decide(&question(), &[]).expect("there is a server");
    assert_eq!((decided.assignment.server, total(&ask)), (A, Load::ONE));
    assert_eq!((decided.choice.candidates, decided.choice.load_chosen), (1, Load::ONE));
    assert!(ask.decide(&question(), &[A]).is_none(), "there is no other");
}

#[test]
fn a_target_is_asked_for_again_before_it_looks_unused() {
    let ask = ask_of("lard", 2);
    let model = kernel(&ask);
    let decided = ask.decide(&question(), &[]).expect("there is a server");
    let Repeat::Target(guard) = decided.repeat else { panic!("{decided:?}") };
    assert_eq!(guard.until, Instant::ZERO.plus(REPEAT_MAX));
    let server = decided.assignment.server;
    assert_eq!(model.repeat(&question()), Some(server));
    assert_eq!(model.repeat(&Request { at: guard.until, ..question() }), None);
    let retried = ask.decide(&question(), &[server]).expect("there is another");
    assert_eq!((retried.repeat, retried.assignment.why), (Repeat::Nothing, Why::Retry));
    assert_eq!(model.repeat(&question()), None, "what was said last is not to be repeated");
}

#[test]
fn a_memo_heeds_the_load_that_either_side_counts() {
    let ask = ask_of("lard", 2);
    let model = kernel(&ask);
    let server = ask.decide(&question(), &[]).expect("there is a server").assignment.server;
    let tickets: Vec<_> = (0..30)
        .map(|_| match ask.assign(&question(), &[]) {
            Answer::Go(assigned) => assigned.ticket,
            _ => panic!("there is no limit"),
        })
        .collect();
    (0..35).for_each(|_| model.open(server));
    assert_eq!(model.repeat(&question()), Some(server), "65 are T_high, and not too many");
    model.open(server);
    assert_eq!(model.repeat(&question()), None);
    let moved = ask.decide(&question(), &[]).expect("there is a server").assignment;
    assert_eq!((moved.why, moved.server == server), (Why::SpillOverload, false));
    for ticket in tickets {
        ask.finish(ticket, Outcome { at: Instant::ZERO, ok: true, first_byte: None });
    }
    assert_eq!(model.repeat(&question()), Some(moved.server), "it has moved for good");
}

#[test]
fn turns_come_from_one_cursor_whoever_takes_them() {
    let ask = ask(2);
    let model = kernel(&ask);
    assert_eq!(model.repeat(&question()), None, "nobody was asked yet");
    let decided = ask.decide(&question(), &[]).expect("there is a server");
    assert_eq!((decided.assignment.server, decided.repeat), (A, Repeat::Wheel));
    assert_eq!(model.repeat(&question()), Some(B));
    let Answer::Go(relayed) = ask.assign(&question(), &[]) else { panic!("there is no limit") };
    assert_eq!(relayed.ticket.server, A);
    assert_eq!(ask.books().desk().explain(&question()).answer.map(|a| a.server), Some(B));
    ask.change(|edit| edit.set_state(A, State::Down));
    assert_eq!(model.repeat(&question()), None, "the wheel was taken back");
    assert_eq!(ask.decide(&question(), &[]).map(|decided| decided.assignment.server), Some(B));
}

#[test]
fn a_kernel_that_is_let_go_repeats_nothing_and_counts_no_more() {
    let ask = ask_of("lard", 2);
    let model = kernel(&ask);
    let server = ask.decide(&question(), &[]).expect("there is a server").assignment.server;
    model.open(server);
    assert_eq!((total(&ask), model.repeat(&question())), (Load::ONE, Some(server)));
    ask.set_kernel(None);
    assert_eq!((total(&ask), model.repeat(&question())), (Load::ZERO, None));
    assert!(ask.decide(&question(), &[]).is_some(), "the desk goes on by itself");
}

#[test]
fn another_policy_is_not_bound_by_what_the_one_before_it_promised() {
    let ask = ask_of("maglev", 2);
    let model = kernel(&ask);
    assert!(ask.decide(&question(), &[]).is_some() && model.repeat(&question()).is_some());
    let row = entry("target-hash").expect("it is a row of POLICIES");
    let another = (row.build)(&Params::new(row.params));
    ask.change_with(Some(another), |_| (), |_, ()| ());
    assert_eq!(model.repeat(&question()), None, "though the servers are the same");
}

#[test]
fn work_that_did_not_come_to_its_server_says_nothing_of_how_fast_that_is() {
    let ask = ask_of("peak-ewma", 1);
    let at = Instant(3_000_000_000);
    let later = Request { at, ..question() };
    let cost = || ask.books().desk().explain(&later).candidates;
    let before = cost();
    let course = || ask.decide_where(&question(), &[], |_| false);
    let aside = || match course() {
        Some(Course::Relayed(assigned)) => assigned,
        _ => panic!("no server takes connections over"),
    };
    ask.put_back(aside().ticket, at);
    assert_eq!(cost(), before, "nobody took it");
    let old = aside();
    ask.set_gate(ServerId(0), 1, 1);
    ask.change_with(None, |_| (), |books, ()| books.next_version());
    let Answer::Go(taken) = ask.admit(Some(old), &later, &[]) else { panic!("it is free") };
    let Answer::Wait(assigned, turn) = ask.assign(&question(), &[]) else { panic!("it is full") };
    assert!(matches!(ask.assign(&question(), &[]), Answer::Full));
    ask.give_up(assigned.ticket, &turn, at);
    ask.take_back(taken.ticket, at);
    assert_eq!(cost(), before, "nor was anything served");
    assert_eq!(ask.books().desk().cluster().total(), Load::ZERO);
    assert!(matches!(ask.assign(&later, &[]), Answer::Go(_)), "the place is free again");
}
