//! Method: every row of POLICIES is played with seeds; then kernels with one fault each, all of
//! which must be found out, so that the proof is known to be able to fail.

use super::model::{Model, Modelled};
use super::*;
use crate::ask::kernel::Kernel;
use policy::{Cluster, Desk, Elsewhere, Entry, Guard, Load, POLICIES, Params, Value, Wheel, entry};
use std::sync::Arc;

/// Plays with a kernel that is a model, or a model with a fault.
fn run(script: &Script<'_>, fault: Option<Fault>) -> Result<Tally, String> {
    let desk = Desk::new((script.policy)(), Cluster::new(0.0), script.seed);
    let (ask, model) = (Ask::new(desk), Arc::new(Model::default()));
    let kernel: Arc<dyn Kernel> = match fault {
        Some(fault) => Arc::new(Faulty { model: Arc::clone(&model), fault }),
        None => Arc::clone(&model) as _,
    };
    ask.set_kernel(Some(kernel));
    play(script, &ask, &mut Modelled::new(&ask, model))
}

/// Every third seed plays without changes, every third with many.
fn script<'a>(policy: &'a dyn Fn() -> Box<dyn Policy>, seed: u64) -> Script<'a> {
    let change_every = [60, 0, 240][seed as usize % 3];
    Script { policy, seed, steps: 6_000, targets: 200, notes_repeats: true, change_every }
}

fn build(entry: &'static Entry) -> impl Fn() -> Box<dyn Policy> {
    move || (entry.build)(&Params::new(entry.params))
}

fn named(name: &str) -> impl Fn() -> Box<dyn Policy> {
    build(entry(name).expect("it is a row"))
}

/// A policy whose table has room for a few targets.
fn forgetful(name: &str) -> impl Fn() -> Box<dyn Policy> {
    let entry = entry(name).expect("it is a row");
    let mut params = Params::new(entry.params);
    params.set("max_targets", Value::Count(24)).expect("it has a table");
    move || (entry.build)(&params)
}

/// Of a hundred requests, how many the kernel must have answered by itself: below what was
/// measured, but not so far below that a kernel which is hardly ever told anything would pass.
const SHARES: [(&str, u64); 8] = [
    ("round-robin", 80),
    ("wrr", 80),
    ("cap", 80),
    ("static-partition", 80),
    ("lard", 15),
    ("lard-r", 15),
    ("lard-cost", 15),
    ("maglev", 40),
];

#[test]
fn who_repeats_never_answers_differently_from_the_policy_asked_directly() {
    for row in POLICIES {
        let (policy, mut sum) = (build(row), Tally::default());
        for seed in 0..9 {
            let played = run(&script(&policy, seed), None);
            let tally = played.unwrap_or_else(|why| panic!("{}, seed {seed}: {why}", row.name));
            sum.delivered += tally.delivered;
            sum.repeated += tally.repeated;
            sum.moved += tally.moved;
            sum.relayed += tally.relayed;
        }
        assert!(sum.relayed > 1_000 && sum.moved > 10, "{}: {sum:?}", row.name);
        let least = SHARES.iter().find(|(name, _)| *name == row.name);
        if let Some((_, least)) = least {
            assert!(sum.repeated * 100 >= sum.delivered * least, "{}: {sum:?}", row.name);
        }
    }
}

#[test]
fn what_the_policy_has_forgotten_the_kernel_does_not_repeat() {
    for name in ["lard", "lard-r", "lard-cost"] {
        let policy = forgetful(name);
        let mut repeated = 0;
        for seed in 0..9 {
            let script = Script { notes_repeats: false, ..script(&policy, seed) };
            let tally = run(&script, None).unwrap_or_else(|why| panic!("{name}, {seed}: {why}"));
            repeated += tally.repeated;
        }
        assert!(repeated > 100, "{name}: {repeated}");
    }
}

/// What a kernel may do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It repeats whatever the load, the time, the epoch.
    AnyLoad,
    AnyTime,
    AnyEpoch,
    /// It does not hear of targets to forget.
    Keeps,
    /// It does not hear of the load that the desk counts.
    Alone,
    /// It says too few turns, or too many, or lets its own turns and the desk's be the same.
    FewTurns,
    ManyTurns,
    SameTurns,
    /// It does not say what it counts, or in which order.
    Silent,
    Disordered,
}

struct Faulty {
    model: Arc<Model>,
    fault: Fault,
}

impl Faulty {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

impl Kernel for Faulty {
    fn elsewhere(&self, into: &mut Vec<(ServerId, Elsewhere)>) {
        self.model.elsewhere(into);
        if self.has(Fault::Silent) {
            into.clear();
        }
        if self.has(Fault::Disordered) {
            into.iter_mut().for_each(|(id, count)| count.chosen = u64::from(id.0));
        }
    }

    fn set_load(&self, server: ServerId, here: Load) {
        let here = if self.has(Fault::Alone) { Load::ZERO } else { here };
        self.model.set_load(server, here);
    }

    fn set_epoch(&self, epoch: u64) {
        self.model.set_epoch(if self.has(Fault::AnyEpoch) { 1 } else { epoch });
    }

    fn remember(&self, target: TargetId, server: ServerId, guard: &Guard) {
        let load_max = if self.has(Fault::AnyLoad) { Load::MAX } else { guard.load_max };
        let epoch = if self.has(Fault::AnyEpoch) { 1 } else { guard.epoch };
        self.model.remember(target, server, &Guard { load_max, epoch, ..*guard });
    }

    fn forget(&self, targets: &[TargetId]) {
        if !self.has(Fault::Keeps) {
            self.model.forget(targets);
        }
    }

    fn set_wheel(&self, class: Class, wheel: &Wheel) {
        let until = if self.has(Fault::AnyTime) { Instant::NEVER } else { wheel.until };
        self.model.set_wheel(class, &Wheel { until, ..wheel.clone() });
    }

    fn join_wheel(&self, class: Class, number: u8) {
        self.model.join_wheel(class, number);
    }

    fn take_turn(&self, number: u8) -> Option<ServerId> {
        if self.has(Fault::SameTurns) {
            return self.model.peek(number);
        }
        self.model.take_turn(number)
    }

    fn turns(&self, number: u8) -> u64 {
        self.model.turns(number)
    }

    fn revoke_wheel(&self, number: u8) -> u64 {
        let turns = self.model.revoke_wheel(number);
        match self.fault {
            Fault::FewTurns => turns.saturating_sub(1),
            Fault::ManyTurns => turns + 1,
            _ => turns,
        }
    }
}

#[test]
fn a_kernel_with_a_fault_is_found_out() {
    for (fault, name) in [
        (Fault::AnyLoad, "lard"),
        (Fault::AnyTime, "static-partition"),
        (Fault::AnyEpoch, "maglev"),
        (Fault::Keeps, "lard"),
        (Fault::Alone, "lard"),
        (Fault::FewTurns, "round-robin"),
        (Fault::ManyTurns, "wrr"),
        (Fault::SameTurns, "cap"),
        (Fault::Silent, "least-loaded"),
        (Fault::Disordered, "least-loaded"),
    ] {
        let policy = named(name);
        let found = (0..9).filter(|seed| run(&script(&policy, *seed), Some(fault)).is_err());
        assert!(found.count() > 0, "{fault:?} is not seen by {name}");
    }
    let policy = forgetful("lard-r");
    let script = Script { notes_repeats: false, ..script(&policy, 1) };
    assert!(run(&script, Some(Fault::Keeps)).is_err(), "forgotten targets are not seen");
}

#[test]
fn no_turn_is_lost_or_given_twice_while_all_take_turns_at_once() {
    const THREADS: u32 = 3;
    const TURNS: u32 = 20_000;
    let ask = Ask::new(Desk::new(named("wrr")(), Cluster::new(0.0), 1));
    for weight in [3, 2, 1] {
        ask.change(|edit| edited(edit, &stage_join(weight), Instant::ZERO));
    }
    let model = Arc::new(Model::default());
    ask.set_kernel(Some(Arc::clone(&model) as _));
    let request = |turn: u32| Request {
        at: Instant(1),
        target: TargetId(u64::from(turn)),
        class: Class((turn % 5) as u8),
        holder: None,
    };
    let kernel = || {
        let mut repeated = 0;
        for turn in 0..TURNS {
            let known = model.repeat(&request(turn));
            repeated += u32::from(known.is_some());
            let asked = || ask.decide(&request(turn), &[]).map(|decided| decided.assignment.server);
            model.open(known.or_else(asked).expect("all are up"));
        }
        assert!(repeated > TURNS / 2, "the kernel turned the wheel too: {repeated}");
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(kernel);
        }
        for turn in 0..TURNS {
            let Answer::Go(assigned) = ask.assign(&request(turn), &[]) else { panic!("it is up") };
            let ok = Outcome { at: Instant(1), ok: true, first_byte: None };
            ask.finish(assigned.ticket, ok);
            if turn % 100 == 0 {
                // Nothing changes, but the wheel is taken back and put out again.
                ask.change(|edit| edit.set_share(ServerId(0), 3, WARM));
            }
        }
    });
    let books = ask.books();
    let begun: Vec<_> = books.desk().cluster().servers().map(|server| server.begun).collect();
    let all = u64::from((THREADS + 1) * TURNS);
    let off = |(begun, weight): (&u64, u64)| (begun * 6).abs_diff(all * weight);
    assert!(begun.iter().zip([3, 2, 1]).all(|count| off(count) <= 6), "{begun:?} of {all}");
}
