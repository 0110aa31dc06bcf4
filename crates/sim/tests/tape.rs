//! Method: a desk with a tape is driven as the switch does not drive one: with persistent
//! connections, batches and hand-offs, some of them from before the tape. The simulator must count
//! and answer the same, and a tape with one number changed must be found out.

use policy::tape::{Event, Recorder, Tape};
use policy::{
    Charge, Class, Cluster, Desk, Dice, Held, Instant, Load, Outcome, Params, Request, ServerId,
    Spec, State, TargetId, entry,
};
use sim::tape::{Difference, play};

const CONNECTIONS: usize = 8;

fn desk(name: &str) -> (Desk, Recorder) {
    let row = entry(name).expect("it is a row of POLICIES");
    let params = Params::new(row.params);
    let mut desk = Desk::new((row.build)(&params), Cluster::new(0.5), 3);
    for name in ["a", "b", "c"] {
        let spec = Spec { name: name.into(), weight: 1, capacity: None };
        desk.join(spec, State::Up, Instant::ZERO).expect("there are slots");
    }
    (desk, Recorder::new(row, &params, 3, 10_000))
}

fn request(at: u64, target: usize, holder: Option<ServerId>) -> Request {
    let (at, target) = (Instant(at), TargetId(target as u64));
    Request { at, target, class: Class::STATIC, holder }
}

/// Connections that are opened before the tape, and served and closed on it.
fn taped(name: &str) -> Tape {
    let (mut desk, recorder) = desk(name);
    let mut dice = Dice::new(1);
    let open = |desk: &mut Desk, at: u64| {
        let (_, unit) = desk.assign(&request(at, at as usize, None), &[]).expect("all are up");
        Held::open(unit, Charge::PerRequest)
    };
    let mut held: Vec<_> = (0..CONNECTIONS as u64).map(|at| open(&mut desk, at)).collect();
    let row = entry(name).expect("it is a row of POLICIES");
    drop(desk.set_policy((row.build)(&Params::new(row.params))));
    desk.record(recorder);
    for at in 100..1000 {
        let place = dice.below(CONNECTIONS);
        let one = &mut held[place];
        if dice.below(3) == 0 {
            one.batch_begin(&mut desk, Instant(at));
        }
        let asked = request(at, dice.below(30), Some(one.holder()));
        let server = desk.ask(&asked, &[]).expect("all are up").server;
        match dice.below(4) {
            0 => one.move_to(&mut desk, &asked, server),
            1 => {
                let outcome = Outcome { at: Instant(at), ok: true, first_byte: None };
                held.swap_remove(place).close(&mut desk, outcome);
                held.push(open(&mut desk, at));
            }
            _ => one.serve(&mut desk, &asked, server),
        }
    }
    desk.tape().expect("it ran")
}

#[test]
fn shares_of_batches_and_work_from_before_the_tape_are_counted_alike() {
    for name in ["least-loaded", "lard-ext", "lard-r"] {
        let tape = taped(name);
        let seen = play(&tape).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(seen.decisions, tape.questions(), "{name}");
        assert!(seen.decisions > 1000 && seen.ends > 300, "{name}: {seen}");
        let has = |of: fn(&Event) -> bool| tape.events.iter().any(of);
        assert!(has(|event| matches!(event, Event::Reweighed { .. })), "{name}");
        assert!(has(|event| matches!(event, Event::Begun { .. })), "{name}");
    }
}

#[test]
fn a_share_that_is_charged_otherwise_is_found_out() {
    let mut tape = taped("least-loaded");
    let (at, amount) = (tape.events.iter_mut().enumerate())
        .find_map(|(at, event)| match event {
            Event::Reweighed { amount, .. } if at > 300 => Some((at, amount)),
            _ => None,
        })
        .expect("a batch has shares");
    *amount = amount.plus(Load(1));
    let found = play(&tape).expect_err("the books show it");
    assert!(found.position > at, "{found}");
    assert!(matches!(found.difference, Difference::Answer { .. }), "{found}");
}
