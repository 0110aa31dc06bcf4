//! Claims about policies under users: CAP, WRR's weights, ClubWeb.

use super::*;

const LATE: &str = "LARD 10 s late";

#[test]
fn alike_is_within_a_tenth_and_says_nothing_where_servers_idle() {
    let verdict = |cap: f64, busy: f64| {
        Small::default()
            .rates(("static", 80.0), &[("CAP", 100.0), (LATE, 100.0)])
            .with(("static", "CAP", 80.0), "utilisation_max", &[0.2, 0.2])
            .rates(("static", 240.0), &[("CAP", cap), (LATE, 100.0)])
            .with(("static", "CAP", 240.0), "utilisation_max", &[busy, busy])
            .verdict("CAP-C11")
    };
    assert_eq!(verdict(105.0, 0.9), Reproduced);
    assert_eq!(verdict(105.0, 0.4), Depends);
    assert_eq!(verdict(120.0, 0.9), NotReproduced);
    assert_eq!(verdict(80.0, 0.9), NotReproduced);
}

#[test]
fn under_light_load_cap_serves_more_and_spreads_less() {
    let verdict = |cap: [f64; 2], apart: [f64; 2]| {
        let place = |curve| ("light", curve, 240.0);
        let busiest = apart.map(|apart| 0.5 + apart);
        Small::default()
            .with(place("CAP"), RATE, &cap)
            .with(place(LATE), RATE, &[100.0, 101.0])
            .with(place("CAP"), "utilisation_min", &[0.5, 0.5])
            .with(place("CAP"), "utilisation_max", &busiest)
            .with(place(LATE), "utilisation_min", &[0.5, 0.5])
            .with(place(LATE), "utilisation_max", &[0.7, 0.8])
            .verdict("CAP-C12")
    };
    let (ahead, even, behind) = ([104.0, 105.0], [100.5, 101.5], [90.0, 91.0]);
    let (close, similar, wide) = ([0.05, 0.06], [0.1, 0.25], [0.4, 0.45]);
    assert_eq!(verdict(ahead, close), Reproduced);
    assert_eq!(verdict(ahead, similar), Direction);
    assert_eq!(verdict(even, close), Direction);
    assert_eq!(verdict(even, similar), NotReproduced);
    assert_eq!(verdict(ahead, wide), NotReproduced);
    assert_eq!(verdict(behind, close), NotReproduced);
    assert_eq!(verdict(behind, wide), NotReproduced);
}

#[test]
fn under_intensive_load_both_gains_are_asked_for() {
    let table = |cap: f64| {
        let curves = [("CAP", cap), (LATE, 100.0), ("LARD undelayed", 100.0)];
        Small::default().rates(("intensive", 160.0), &curves)
    };
    let verdict = |few: f64, many: f64| {
        let curves = [("CAP", many), (LATE, 100.0), ("LARD undelayed", 100.0)];
        table(few).rates(("intensive", 240.0), &curves).verdict("CAP-C13")
    };
    assert_eq!(verdict(113.0, 121.0), Reproduced);
    assert_eq!(verdict(150.0, 160.0), Larger);
    assert_eq!(verdict(113.0, 110.0), Direction);
    assert_eq!(verdict(113.0, 90.0), NotReproduced);
    assert_eq!(verdict(90.0, 80.0), NotReproduced);
    assert_eq!(table(113.0).verdict("CAP-C13"), NotJudged, "half of it was not measured");
}

/// 90-percentiles: by connections every half second, the best of other weights, the worst, and
/// round robin.
fn weights(often: f64, other: f64, worst: [f64; 2], turns: f64) -> Small {
    let place = |curve, x: f64| ("dynamic", curve, x);
    Small::default()
        .with(place("WRR num", 0.5), P90, &[often, often])
        .with(place("WRR num", 4.0), P90, &worst)
        .with(place("WRR time", 0.5), P90, &[other, other])
        .with(place("WRR time", 4.0), P90, &[other + 10.0, other + 10.0])
        .with(place("RR", 0.5), P90, &[turns, turns])
        .with(place("random", 0.5), P90, &[350.0, 360.0])
}

#[test]
fn connections_every_moment_are_best_only_if_nothing_without_weights_is_better() {
    let verdict = |table: Small| table.verdict("CAP-C1");
    let bad = [800.0, 900.0];
    assert_eq!(verdict(weights(300.0, 400.0, bad, 340.0)), Reproduced);
    let beaten = weights(300.0, 400.0, bad, 250.0);
    assert_eq!(beaten.verdict("CAP-C1"), Direction, "round robin is best");
    let words = beaten.outcome("CAP-C1").measured;
    assert!(words.contains("the best is not WRR"), "{words}");
    assert_eq!(verdict(weights(300.0, 200.0, bad, 340.0)), Direction, "another metric is best");
    assert_eq!(verdict(weights(300.0, 310.0, [320.0, 330.0], 340.0)), NotReproduced, "never bad");
    assert_eq!(verdict(weights(300.0, 310.0, [320.0, 900.0], 340.0)), NotReproduced, "noise");
}

#[test]
fn a_switch_that_would_be_busier_than_theirs_refutes_that_it_idles() {
    let verdict = |us: f64| {
        Small::default()
            .with(("cpu-bound", "CAP", 8.0), "front_us", &[40.0, us])
            .with(("cpu-bound", "RR", 8.0), "front_us", &[f64::NAN])
            .verdict("CW-C8")
    };
    // 0.47 and 0.59 of a core.
    assert_eq!([80.0, 100.0].map(verdict), [Depends, NotReproduced]);
}

#[test]
fn cap_is_below_both_forms_of_lard_at_every_load() {
    let loaded = |table: Small, case: &str, cap: &[f64]| {
        table.with((case, "CAP", 8.0), P90, cap).with((case, "LARD", 8.0), P90, &[50.0, 51.0]).with(
            (case, "LARD on utilisation", 8.0),
            P90,
            &[60.0, 61.0],
        )
    };
    let verdict = |cap: [f64; 2]| {
        let table = loaded(Small::default(), "cpu-bound", &[40.0, 41.0]);
        loaded(table, "disk-bound", &cap).verdict("CW-C9")
    };
    assert_eq!(verdict([40.0, 41.0]), Reproduced);
    assert_eq!(verdict([40.0, 52.0]), Direction);
    assert_eq!(verdict([55.0, 56.0]), NotReproduced, "above the one");
    assert_eq!(verdict([70.0, 71.0]), NotReproduced, "above both");
}
