//! The policies that take turns, each against its own rule. Method: play requests through a desk
//! and count who served.

#![allow(clippy::unwrap_used)] // In a test, an unwrap is an assertion.

mod farm;

use core::time::Duration;
use farm::{Farm, MS};
use policy::{Class, ServerId, State, Value};
use proptest::prelude::*;

fn counts(farm: &mut Farm, requests: usize, class: Class, servers: usize) -> Vec<u32> {
    let mut counts = vec![0; servers];
    for target in 0..requests {
        counts[farm.serve(target as u64, class).index()] += 1;
    }
    counts
}

#[test]
fn round_robin_ignores_weights_and_wrr_follows_them() {
    let weights = [3, 2, 1];
    let mut rr = Farm::new("rr", &[], &weights);
    assert_eq!(counts(&mut rr, 12, Class::STATIC, 3), [4, 4, 4]);
    let mut wrr = Farm::new("wrr", &[], &weights);
    assert_eq!(counts(&mut wrr, 12, Class::STATIC, 3), [6, 4, 2]);
}

#[test]
fn a_server_that_warms_up_gets_its_part_of_the_turns() {
    for policy in ["rr", "wrr", "cap", "static-partition"] {
        let mut farm = Farm::new(policy, &[], &[1, 1]);
        farm.desk.set_share(ServerId(1), 1, 64);
        assert_eq!(counts(&mut farm, 50, Class::STATIC, 2), [40, 10], "{policy}");
    }
}

#[test]
fn wrr_num_gives_a_busy_server_as_much_less_as_it_is_busier() {
    let mut farm = Farm::new("wrr-num", &[], &[1, 1]);
    let work = farm.burden(1, 9);
    farm.serve(0, Class::STATIC); // The first request gathers.
    let after = counts(&mut farm, 110, Class::STATIC, 2);
    assert_eq!(after, [100, 10], "1 request would be alone on one and the 10th on the other");
    farm.end(work, true);
    let blind = counts(&mut farm, 110, Class::STATIC, 2);
    assert_eq!(blind, [100, 10], "until the period is over, the weights are blind");
    farm.wait(Duration::from_secs(1));
    farm.serve(0, Class::STATIC);
    let even = counts(&mut farm, 100, Class::STATIC, 2);
    assert!(even[0].abs_diff(even[1]) <= 2, "{even:?}");
}

#[test]
fn wrr_time_gives_a_slow_server_as_much_less_as_it_is_slower() {
    let mut farm = Farm::new("wrr-time", &[], &[1, 1]);
    for _ in 0..200 {
        let (answer, ticket) = farm.begin(0, Class::STATIC);
        farm.wait(if answer.server == ServerId(0) { 10 * MS } else { 40 * MS });
        farm.end(ticket, true);
    }
    let mut served = [0, 0];
    for _ in 0..500 {
        let (answer, ticket) = farm.begin(0, Class::STATIC);
        served[answer.server.index()] += 1;
        farm.wait(if answer.server == ServerId(0) { 10 * MS } else { 40 * MS });
        farm.end(ticket, true);
    }
    assert!((390..=410).contains(&served[0]), "4 to 1: {served:?}");
}

#[test]
fn wrr_time_gives_a_server_that_refuses_at_once_no_more_than_before() {
    let mut farm = Farm::new("wrr-time", &[], &[1, 1]);
    let mut served = [0, 0];
    for _ in 0..1_000 {
        let (answer, ticket) = farm.begin(0, Class::STATIC);
        served[answer.server.index()] += 1;
        let fails = answer.server == ServerId(1);
        farm.wait(if fails { MS / 100 } else { 10 * MS });
        farm.end(ticket, !fails);
    }
    assert!(served[1] <= 510, "{served:?}");
}

#[test]
fn a_newcomer_is_an_average_server_until_it_is_measured() {
    let mut farm = Farm::new("wrr-num", &[], &[1, 1]);
    let _work = (farm.burden(0, 50), farm.burden(1, 50));
    farm.serve(0, Class::STATIC);
    farm.join("new", 1);
    let served = counts(&mut farm, 30, Class::STATIC, 3);
    assert_eq!(served[2], 10, "{served:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Vector T8.
    #[test]
    fn cap_gives_every_server_its_share_of_every_class_after_any_prefix(
        servers in 1..9_usize, classes in prop::collection::vec(0..7_u8, 1..200)
    ) {
        let mut farm = Farm::new("cap", &[], &vec![1; servers]);
        let mut counts = [[0_u32; 8]; 7];
        for class in classes {
            let server = farm.serve(0, Class(class));
            let count = &mut counts[usize::from(class)];
            count[server.index()] += 1;
            let (most, least) = (count[..servers].iter().max(), count[..servers].iter().min());
            prop_assert!(most.unwrap() - least.unwrap() <= 1, "class {class}: {count:?}");
        }
    }
}

#[test]
fn cap_starts_the_list_of_each_class_at_another_server() {
    for class in 0..5 {
        let mut farm = Farm::new("cap", &[], &[1, 1, 1]);
        assert_eq!(farm.serve(0, Class(class)), ServerId(u16::from(class) % 3));
    }
}

#[test]
fn cap_deals_out_the_example_of_figure_2_evenly() {
    // "N" of the paper covers static and lightly dynamic; the latter's list begins at B.
    let (n, cb, db, dcb) = (Class::LIGHT, Class::CPU, Class::DISK, Class::CPU_DISK);
    let mut farm = Farm::new("cap", &[], &[1, 1]);
    let mut has = [[0_i32; 5]; 2];
    for class in [cb, dcb, n, db] {
        has[farm.serve(0, class).index()][class.index()] += 1;
    }
    assert_eq!(has, [[0, 0, 1, 0, 1], [0, 1, 0, 1, 0]], "A has CB and DCB, B has N and DB");
    for class in [cb, n, db, n, db, n, dcb, cb] {
        has[farm.serve(0, class).index()][class.index()] += 1;
    }
    for class in [n, cb, db, dcb] {
        let apart = has[0][class.index()] - has[1][class.index()];
        assert!(apart.abs() <= 1, "{class:?}: {has:?}");
    }
    let heavy = |server: usize| has[server][2..].iter().sum::<i32>();
    assert!((heavy(0) - heavy(1)).abs() <= 1, "nobody has all the heavy ones: {has:?}");
}

#[test]
fn cap_alarm_leaves_a_server_out_until_it_has_recovered() {
    let mut farm = Farm::new("cap-alarm", &[], &[1, 1, 1]);
    for (utilisation, served, why) in [
        (0.85, true, "below the upper threshold"),
        (0.95, false, "above it"),
        (0.85, false, "between the two it stays out"),
        (0.60, true, "it has recovered"),
        (0.85, true, "between the two it stays in"),
    ] {
        farm.report(1, utilisation);
        let counts = counts(&mut farm, 30, Class::CPU, 3);
        assert_eq!(counts[1] > 0, served, "{utilisation}: {why}");
        assert_eq!(counts[0], counts[2].max(counts[0] - 1), "the others take turns: {counts:?}");
    }
}

#[test]
fn cap_alarm_uses_everybody_when_everybody_raised_an_alarm() {
    let mut farm = Farm::new("cap-alarm", &[], &[1, 1]);
    farm.report(0, 1.0);
    farm.report(1, 1.0);
    assert_eq!(counts(&mut farm, 10, Class::CPU, 2), [5, 5]);
}

#[test]
fn the_alarm_of_a_server_that_left_does_not_hold_for_who_has_its_slot() {
    let mut farm = Farm::new("cap-alarm", &[], &[1, 1]);
    farm.report(1, 1.0);
    farm.serve(0, Class::CPU);
    farm.desk.leave(ServerId(1));
    assert_eq!(farm.join("new", 1), ServerId(1), "the slot is free");
    assert_eq!(farm.serve(0, Class::CPU), ServerId(1));
}

#[test]
fn cap_alarm_does_not_believe_an_agent_that_fell_silent() {
    let mut farm = Farm::new("cap-alarm", &[], &[1, 1]);
    farm.report(1, 1.0);
    assert_eq!(counts(&mut farm, 10, Class::CPU, 2), [10, 0]);
    farm.wait(Duration::from_secs(31));
    farm.serve(0, Class::CPU);
    let after = counts(&mut farm, 10, Class::CPU, 2);
    assert_eq!(after, [5, 5]);
}

#[test]
fn cap_alarm_can_go_by_connections() {
    let metric = ("metric", Value::Word("connections"));
    let mut farm = Farm::new("cap-alarm", &[metric], &[1, 1]);
    let work = farm.burden(1, 66);
    farm.serve(0, Class::STATIC);
    farm.serve(0, Class::STATIC);
    assert_eq!(counts(&mut farm, 10, Class::STATIC, 2), [10, 0]);
    farm.end(work, true);
    assert_eq!(counts(&mut farm, 10, Class::STATIC, 2), [5, 5]);
}

#[test]
fn static_partition_keeps_each_class_on_its_named_servers() {
    let names = |list: &[&str]| list.iter().map(|name| Box::from(*name)).collect::<Vec<_>>();
    let parts = vec![(Class::CPU, names(&["web0", "web1"])), (Class::DISK, names(&["web2"]))];
    let partition = ("partition", Value::Partition(parts));
    let mut farm = Farm::new("static-partition", &[partition], &[1, 1, 1, 1]);
    assert_eq!(counts(&mut farm, 10, Class::CPU, 4), [5, 5, 0, 0]);
    assert_eq!(counts(&mut farm, 10, Class::DISK, 4), [0, 0, 10, 0]);
    assert_eq!(counts(&mut farm, 10, Class::STATIC, 4), [0, 0, 0, 10], "unnamed: the free one");
    farm.desk.set_state(ServerId(2), State::Down);
    let spread = counts(&mut farm, 9, Class::DISK, 4);
    assert_eq!(spread, [3, 3, 0, 3], "its server is down: any serves");
}

#[test]
fn static_partition_splits_by_the_arrivals_it_measured() {
    let mut farm = Farm::new("static-partition", &[], &[1; 8]);
    let mixed = |farm: &mut Farm| {
        for target in 0..100 {
            let class = if target % 4 == 0 { Class::DISK } else { Class::STATIC };
            farm.serve(target, class);
        }
    };
    mixed(&mut farm);
    farm.wait(Duration::from_secs(10));
    farm.serve(0, Class::STATIC);
    let files = counts(&mut farm, 60, Class::STATIC, 8);
    let disks = counts(&mut farm, 60, Class::DISK, 8);
    assert_eq!(files.iter().filter(|count| **count == 10).count(), 6, "{files:?}");
    assert_eq!(disks.iter().filter(|count| **count == 30).count(), 2, "{disks:?}");
    assert!(files.iter().zip(&disks).all(|(one, other)| *one == 0 || *other == 0));
}
