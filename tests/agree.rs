//! Method: a live switch in this process, several workers, emulated servers and clients on real
//! sockets, and in the middle of it all that can happen to servers. What its desk was told and
//! answered is on a tape, in the order that only the desk's lock knows; the tape is played to the
//! simulator's desk, and every answer and the books beside it must be the same. For every row of
//! POLICIES. That a simulator which counted otherwise would be found out is shown on tapes with
//! one thing changed.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

#[path = "agree/clients.rs"]
mod clients;
#[path = "agree/site.rs"]
mod site;

use distributor::ask::Ask;
use distributor::ask::proof::model::{Model, Modelled};
use distributor::ask::proof::{self, Script};
use policy::tape::{End, Event, Seen, Step, Tape, Work};
use policy::{Cluster, Desk, Instant, Load, POLICIES, Params};
use sim::tape::{Agreement, Difference, Disagreement, play};
use site::{Site, taped};
use std::sync::Arc;

/// Settings under which a row decides by what else it may, in the course of a second and with a few
/// requests for each server.
const VARIANTS: &[(&str, &str)] = &[
    ("wrr-num", "gather = \"20ms\""),
    ("wrr-time", "gather = \"20ms\""),
    ("static-partition", "period = \"50ms\""),
    ("peak-ewma", "decay = \"50ms\""),
    ("lard", "t_low = 1\nt_high = 2"),
    ("lard", "metric = \"utilisation\"\nu_low = 0.3\nu_high = 0.6"),
    ("lard", "metric = \"reported\"\nt_low = 2\nt_high = 4"),
    ("lard-r", "k = \"20ms\"\nt_low = 1\nt_high = 2"),
    ("lard-r", "metric = \"reported\"\nt_low = 2\nt_high = 4"),
    ("lard-cost", "l_idle = 1\nl_overload = 2"),
    ("lard-ext", "l_idle = 1\nl_overload = 2"),
];

fn agreed(name: &str, tape: &Tape) -> Agreement {
    let agreement = play(tape).unwrap_or_else(|other| panic!("{name}: {other}"));
    assert_eq!(agreement.decisions, tape.questions(), "{name}");
    agreement
}

#[test]
fn the_simulator_decides_as_the_live_switch_did_under_every_policy() {
    let site = Site::new();
    let defaults = POLICIES.iter().map(|row| (row.name, ""));
    let mut counts = (0, 0);
    for (name, params) in defaults.chain(VARIANTS.iter().copied()) {
        let tape = taped(&site, name, params);
        assert_eq!(tape.end, None, "{name}: nothing happened that is not on the tape");
        let agreement = agreed(name, &tape);
        let params = params.replace('\n', ", ");
        println!("agree: {name} {agreement} {params} {}", whys(&tape));
        let Agreement { decisions, again, ends, failures, changes, reports, open_max } = agreement;
        assert!(decisions >= site::TAPED_MIN, "{name}: each request was asked for");
        assert!(
            ends > site::TAPED_MIN / 2 && changes >= 9,
            "{name}: {ends} ends, {changes} changes"
        );
        assert!(again > 0 && failures > 0 && reports > 0, "{name}: it was no idle afternoon");
        assert!(open_max >= 3, "{name}: no more than {open_max} at once");
        let older = |event: &&Event| matches!(event, Event::Ended { work: Work::Older(_), .. });
        counts.0 += tape.events.iter().filter(older).count();
        counts.1 += backwards(&tape);
        mistakes_are_found_out(name, &tape);
    }
    let (older, earlier) = counts;
    println!("agree: {older} ends of work from before the tape, {earlier} questions out of order");
    assert!(older > 0, "no tape began while something was under way");
}

/// The reasons on a tape, with how often each was given.
fn whys(tape: &Tape) -> String {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for event in &tape.events {
        if let Event::Assigned { seen: Seen { answer: Some(answer), .. }, .. } = event {
            *counts.entry(answer.why.name()).or_default() += 1;
        }
    }
    format!("{counts:?}")
}

/// Questions whose time is before that of the question before them.
fn backwards(tape: &Tape) -> usize {
    let times = tape.events.iter().filter_map(|event| match event {
        Event::Assigned { request, .. } => Some(request.at),
        _ => None,
    });
    let times: Vec<_> = times.collect();
    times.windows(2).filter(|pair| pair[1] < pair[0]).count()
}

/// Something that a simulator gets wrong, done to a tape.
type Mistake<'a> = dyn Fn(&mut Tape) + 'a;

/// Changes one thing of a tape at a time, as a simulator might get it wrong: each must be found
/// out, and not before it happens.
fn mistakes_are_found_out(name: &str, tape: &Tape) {
    // There is something in the books by then, and something yet to come.
    let from = tape.events.len() / 3;
    let position = |of: &dyn Fn(&[Event]) -> bool| {
        from + tape.events[from..].windows(2).position(of).expect("such things happened")
    };
    let end = position(&|pair| matches!(pair[0], Event::Ended { .. }));
    let asked = position(&|pair| matches!(pair[0], Event::Assigned { .. }));
    let answered =
        |event: &Event| matches!(event, Event::Assigned { seen, .. } if seen.answer.is_some());
    let pair = position(&|pair| matches!(pair[0], Event::Ended { .. }) && answered(&pair[1]));
    // Other changes may have changed nothing: one may say twice that a server is up.
    let joins = |step: &Step| matches!(step, Step::Join { .. });
    let change =
        position(&|pair| matches!(&pair[0], Event::Changed(steps) if steps.iter().any(joins)));
    let mistakes: [(usize, &Mistake<'_>); 5] = [
        // An end is never told, a server joins and nobody says so, a request is not asked for.
        (end, &|tape| drop(tape.events.remove(end))),
        (change, &|tape| drop(tape.events.remove(change))),
        (asked, &|tape| drop(tape.events.remove(asked))),
        // An end is told after the next question.
        (pair, &|tape| tape.events.swap(pair, pair + 1)),
        // There is more in the books at the beginning.
        (0, &|tape| {
            let first = tape.cluster.usable()[0];
            tape.cluster.begin(first, Load::ONE, Instant::ZERO);
        }),
    ];
    for (number, (at, mistake)) in mistakes.iter().enumerate() {
        let mut other = tape.clone();
        mistake(&mut other);
        let found = play(&other).expect_err("every mistake shows in the books at least");
        assert!(found.position >= *at, "{name}, {number}: {found}, but the mistake is at {at}");
    }
}

/// A tape of a desk with a kernel that repeats answers: memos, wheels, and counts of elsewhere.
fn with_a_kernel(row: &'static policy::Entry, seed: u64) -> Tape {
    let params = Params::new(row.params);
    let build = || (row.build)(&params);
    let ask = Ask::new(Desk::new(build(), Cluster::new(0.0), seed));
    ask.record(row, &params, seed, 1 << 20);
    let model = Arc::new(Model::default());
    ask.set_kernel(Some(Arc::clone(&model) as _));
    let script = Script {
        policy: &build,
        seed,
        steps: 3000,
        targets: 200,
        notes_repeats: true,
        // Another policy ends the tape, and one change in twelve is that.
        change_every: if seed == 0 { 0 } else { 150 },
    };
    proof::play(&script, &ask, &mut Modelled::new(&ask, model)).unwrap();
    ask.tape().unwrap()
}

#[test]
fn the_simulator_decides_as_a_desk_did_whose_kernel_answers_too() {
    for row in POLICIES {
        let tapes: Vec<_> = (0..6).map(|seed| with_a_kernel(row, seed)).collect();
        let counted = |tape: &Tape| tape.events.iter().any(|e| matches!(e, Event::Counted { .. }));
        assert!(tapes.iter().all(counted), "{}: the kernel has counted", row.name);
        let agreements = tapes.iter().map(|tape| agreed(row.name, tape).decisions);
        let decisions: usize = agreements.sum();
        println!("agree: {} with a kernel {decisions} decisions, {decisions} equal", row.name);
    }
}

/// A tape of `random`, whose dice are all that matters.
fn random() -> Tape {
    with_a_kernel(policy::entry("random").unwrap(), 7)
}

#[test]
fn another_seed_is_the_first_disagreement_that_there_can_be() {
    let mut tape = random();
    tape.seed += 1;
    let Disagreement { position, decisions, difference } = play(&tape).unwrap_err();
    let Difference::Answer { request: Some(request), live, played, .. } = &difference else {
        panic!("{difference:?}")
    };
    assert!(decisions < 20 && position >= decisions, "{position} {decisions}");
    let on_tape = match &tape.events[position] {
        Event::Asked { request, .. } | Event::Assigned { request, .. } => request,
        other => panic!("{other:?}"),
    };
    assert_eq!(request, on_tape, "the question is named");
    assert_ne!(live.answer.map(|a| a.server), played.answer.map(|a| a.server));
    let said = play(&tape).unwrap_err().to_string();
    assert!(said.starts_with(&format!("event {position}, after {decisions} equal decisions")));
    assert!(said.contains("live") && said.contains("simulated"), "{said}");
}

#[test]
fn a_tape_that_names_what_is_not_there_is_refused() {
    let mut tape = random();
    let end = tape.events.iter().position(|event| matches!(event, Event::Ended { .. })).unwrap();
    tape.events.insert(end, tape.events[end].clone());
    let Disagreement { position, difference, .. } = play(&tape).unwrap_err();
    assert!(matches!(difference, Difference::Unknown(_)) && position == end + 1);
    let mut tape = random();
    for event in &mut tape.events {
        if let Event::Changed(steps) = event
            && let Some(Step::Join { slot, .. }) = steps.first_mut()
        {
            *slot = None;
        }
    }
    assert!(matches!(play(&tape).unwrap_err().difference, Difference::Slot(_)));
}

#[test]
fn a_tape_has_a_bound_and_no_gap() {
    let row = policy::entry("lard").unwrap();
    let ask = Ask::new(Desk::new((row.build)(&Params::new(row.params)), Cluster::new(0.0), 1));
    assert!(ask.tape().is_none(), "none runs");
    ask.record(row, &Params::new(row.params), 1, 10);
    let params = Params::new(row.params);
    let build = || (row.build)(&params);
    let script = Script {
        policy: &build,
        seed: 1,
        steps: 200,
        targets: 10,
        notes_repeats: true,
        change_every: 1000,
    };
    let model = Arc::new(Model::default());
    ask.set_kernel(Some(Arc::clone(&model) as _));
    proof::play(&script, &ask, &mut Modelled::new(&ask, model)).unwrap();
    let tape = ask.tape().unwrap();
    assert_eq!((tape.end, tape.events.len() <= 10), (Some(End::Full), true));
    assert_eq!(play(&tape).unwrap().decisions, tape.questions());
    assert!(ask.tape().is_none(), "it was taken");
    ask.record(row, &params, 1, 10);
    ask.change_with(Some(build()), |_| (), |_, ()| ());
    assert_eq!(ask.tape().unwrap().end, Some(End::Replaced));
}

/// Code of the simulator that speaks to a desk past [`sim::Clerk`] would not be on trial here.
#[test]
fn the_simulator_has_one_way_to_its_desk() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/sim/src");
    let mut folders = vec![root];
    let mut makers = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            if text.contains("Desk::new") || text.contains("&mut Desk") || text.contains(".desk()")
            {
                makers.push(path.file_name().unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    makers.sort();
    // The engine shows its desk to tests, to read.
    assert_eq!(makers, ["clerk.rs", "engine.rs"]);
}
