//! Method: rounds of a walk with numbers that no table gave; what becomes of connections by their
//! state and silence.

use super::*;
use crate::layout::{FLOW_OPEN, FLOW_WAITING};

/// A round in which the book has been used, as its numbers show or not.
fn round(walk: &mut Walk, before: u64, now: u64, counted: u64) -> Vec<(u16, Repair)> {
    (walk.opened, walk.counted) = (vec![7, before], vec![7, counted]);
    walk.begun = vec![100, 100];
    walk.repairs(&[7, now], &[100, 101])
}

#[test]
fn a_book_that_stands_still_is_put_right_at_once() {
    let mut walk = Walk { begun: vec![9], opened: vec![5], ..Walk::default() };
    walk.counted = vec![3];
    assert_eq!(walk.repairs(&[5], &[9]), [(0, Repair::Set(5, 3))]);
    assert_eq!(walk.repairs(&[5], &[10]), [], "one came and one went");
}

#[test]
fn a_book_in_use_is_put_right_when_it_is_wrong_by_the_same_for_many_rounds() {
    let mut walk = Walk::default();
    assert_eq!(round(&mut walk, 5, 5, 5), []);
    assert_eq!(round(&mut walk, 5, 5, 4), [], "one may have moved under the walk");
    assert_eq!(round(&mut walk, 10, 12, 11), [], "it was eleven between");
    for number in 1..DRIFT_ROUNDS {
        assert_eq!(round(&mut walk, 30, 31, 34), [], "round {number} may be by chance");
    }
    assert_eq!(round(&mut walk, 50, 51, 54), [(1, Repair::Add(3))]);
    assert_eq!(round(&mut walk, 40, 41, 44), [], "that was put right: it begins anew");
}

#[test]
fn a_book_below_zero_is_put_right_too() {
    let mut walk = Walk::default();
    let below = |by: u64| 0u64.wrapping_sub(by);
    for _ in 1..DRIFT_ROUNDS {
        assert_eq!(round(&mut walk, below(2), below(3), 1), []);
    }
    assert_eq!(round(&mut walk, below(1), below(3), 1), [(1, Repair::Add(4))]);
}

#[test]
fn a_set_has_the_slots_that_were_added_and_no_others() {
    let mut set = SlotSet::default();
    [0, 63, 64, 255, 256, NOBODY].into_iter().for_each(|slot| set.add(slot));
    let has: Vec<u16> = (0..=u16::MAX).filter(|slot| set.has(*slot)).collect();
    assert_eq!(has, [0, 63, 64, 255]);
}

#[test]
fn who_waits_for_a_reply_is_not_forgotten_before_it_is_idle() {
    let idle = Duration::from_secs(3600);
    let flow = |state| Flow { state, counted: NOBODY, ..bytemuck::Zeroable::zeroed() };
    let after = |state, silence_s, is_crowded| {
        fate(&flow(state), Duration::from_secs(silence_s), idle, is_crowded)
    };
    for is_crowded in [false, true] {
        for state in [FLOW_OPEN, FLOW_HALF, FLOW_WAITING] {
            assert_eq!(after(state, 3599, is_crowded), Fate::Stays, "{state}");
            assert_eq!(after(state, 3601, is_crowded), Fate::Idle, "{state}");
        }
    }
    assert_eq!(after(FLOW_CLOSING, 59, false), Fate::Stays);
    assert_eq!(after(FLOW_CLOSING, 61, false), Fate::Forgotten);
    assert_eq!(after(FLOW_CLOSING, 6, true), Fate::Forgotten);
    let counted = Flow { counted: 0, ..flow(FLOW_HALF) };
    let half = |silence_s| fate(&counted, Duration::from_secs(silence_s), idle, false);
    assert_eq!((half(2), half(3)), (Fate::Stays, Fate::LeavesBooks));
}
