//! The target table: bounded, correct, and it forgets nothing recent.
//!
//! Method: the table is compared, step by step, with a list that remembers every touch.

use policy::{Dice, TARGETS_MAX_DEFAULT, TargetId, Targets};
use proptest::prelude::*;

/// A target, its value, and when it was last touched.
type Known = (TargetId, u32, u64);

#[derive(Clone, Copy, Debug)]
enum Step {
    Get(u64),
    Touch(u64),
    Insert(u64, u32),
}

fn steps(targets: u64) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..targets).prop_map(Step::Get),
        (0..targets).prop_map(Step::Touch),
        (0..targets, any::<u32>()).prop_map(|(target, value)| Step::Insert(target, value)),
    ];
    prop::collection::vec(step, 0..600)
}

fn play(max: usize, steps: &[Step]) {
    let mut table = Targets::new(max);
    let mut list: Vec<Known> = Vec::new();
    let mut now = 0;
    for step in steps {
        let (Step::Get(name) | Step::Touch(name) | Step::Insert(name, _)) = *step;
        let target = TargetId(name);
        let known = list.iter().position(|known| known.0 == target);
        match *step {
            Step::Get(_) => assert_eq!(table.get(target), known.map(|at| &list[at].1)),
            Step::Touch(_) => {
                assert_eq!(table.touch(target).copied(), known.map(|at| list[at].1));
                if let Some(at) = known {
                    now += 1;
                    list[at].2 = now;
                }
            }
            Step::Insert(_, value) => {
                now += 1;
                let forgotten = table.insert(target, value);
                assert_eq!(forgotten.is_some(), known.is_none() && list.len() == max);
                if let Some(forgotten) = forgotten {
                    forget(&mut list, forgotten, now, max as u64);
                }
                list.retain(|known| known.0 != target);
                list.push((target, value, now));
            }
        }
        assert_eq!(table.len(), list.len());
    }
    for (target, value, _) in list {
        assert_eq!(table.get(target), Some(&value));
    }
}

/// Removes what the table forgot, and checks that it was not recent.
fn forget(list: &mut Vec<Known>, gone: (TargetId, u32), now: u64, max: u64) {
    let at = list.iter().position(|known| known.0 == gone.0).expect("it was in the table");
    let (_, value, touched) = list.remove(at);
    assert_eq!(value, gone.1);
    // Six of eight epochs; in tables so small that an epoch is a touch, all others.
    let spared = if max < 8 { max - 1 } else { 6 * (max / 8) };
    assert!(touched + spared < now, "touched at {touched}, forgotten at {now}, of {max}");
}

proptest! {
    #[test]
    fn the_table_agrees_with_a_list(max in 1usize..80, steps in steps(120)) {
        play(max, &steps);
    }
}

#[test]
fn whoever_is_not_touched_is_gone_when_the_table_was_filled_twice_more() {
    for max in [1, 2, 7, 8, 9, 100, 1000] {
        let mut table = Targets::new(max);
        let mut dice = Dice::new(max as u64);
        for name in 0..max as u64 {
            table.insert(TargetId(name), ());
        }
        for _ in 0..2 * max {
            table.insert(TargetId(dice.bits()), ());
        }
        let left = (0..max as u64).filter(|name| table.get(TargetId(*name)).is_some());
        assert_eq!(left.count(), 0, "of {max}");
    }
}

#[test]
fn exactly_so_many_targets_are_kept() {
    let mut table = Targets::new(TARGETS_MAX_DEFAULT);
    for name in 0..TARGETS_MAX_DEFAULT as u64 {
        assert!(table.insert(TargetId(name), ()).is_none());
    }
    assert!(table.insert(TargetId(u64::MAX), ()).is_some());
    assert_eq!(table.len(), 1_000_000);
}

#[test]
fn an_unused_table_is_small() {
    assert!(Targets::<u64>::new(TARGETS_MAX_DEFAULT).memory_bytes() < 1024);
}

#[test]
fn forgotten_targets_are_listed_once_and_only_on_request() {
    let mut table = Targets::new(2);
    let mut list = Vec::new();
    for name in 0..3 {
        table.insert(TargetId(name), ());
    }
    table.take_forgotten(&mut list);
    assert_eq!(list, []);
    table.keep_forgotten(true);
    table.touch(TargetId(2));
    table.insert(TargetId(3), ());
    table.take_forgotten(&mut list);
    table.take_forgotten(&mut list);
    assert_eq!(list.len(), 1);
    assert!(list[0] < TargetId(2));
}
