//! Method: for each claim, small tables that come to each of its verdicts: what was published, more
//! of it, less, and the contrary.

use crate::experiments::{CLAIMS, Outcome, Row, Table, Verdict};
use Verdict::{Alike, Depends, Direction, Larger, NotJudged, NotReproduced, Reproduced};

mod crowds;

const RATE: &str = "requests_s";
const P90: &str = "page_p90_ms";

/// A table that grows by one figure of one curve at one place, in its repeats.
#[derive(Clone, Default)]
struct Small(Table);

impl Small {
    fn with(mut self, place: (&str, &str, f64), column: &str, repeats: &[f64]) -> Self {
        let (case, curve, x) = place;
        for (repeat, value) in (1..).zip(repeats) {
            let row = Row::new(case, curve, x, repeat);
            let known = self.0.rows.iter().position(|known| known.is_of(&row));
            let at = known.unwrap_or(self.0.rows.len());
            if known.is_none() {
                self.0.rows.push(row);
            }
            self.0.rows[at].set(column, *value);
        }
        self
    }

    /// The same figure of several curves at one place; two repeats, all but alike.
    fn rates(mut self, (case, x): (&str, f64), curves: &[(&str, f64)]) -> Self {
        for (curve, rate) in curves {
            self = self.with((case, curve, x), RATE, &[*rate, rate * 1.001]);
        }
        self
    }

    fn outcome(&self, id: &str) -> Outcome {
        let claim = CLAIMS.iter().find(|claim| claim.id == id).expect("it is there");
        claim.outcome(&self.0).expect("measured")
    }

    fn verdict(&self, id: &str) -> Verdict {
        self.outcome(id).verdict
    }
}

#[test]
fn no_claim_is_judged_by_nothing() {
    for claim in CLAIMS {
        let outcome = claim.outcome(&Table::default());
        assert!(
            outcome.as_ref().is_none_or(|outcome| outcome.verdict == NotJudged),
            "{}: {outcome:?}",
            claim.id
        );
    }
}

#[test]
fn lard_over_wrr_is_judged_by_the_published_gain() {
    let verdict = |lard: f64| {
        Small::default()
            .rates(("rice", 6.0), &[("LARD/R", lard), ("WRR", 100.0)])
            .verdict("LARD-C11")
    };
    assert_eq!(
        [40.0, 150.0, 250.0, 350.0].map(verdict),
        [NotReproduced, Direction, Reproduced, Larger]
    );
}

#[test]
fn twice_wrr_is_asked_from_four_nodes_on_and_at_each() {
    let verdict = |at_six: f64| {
        Small::default()
            .rates(("rice", 1.0), &[("LARD/R", 100.0), ("WRR", 100.0)])
            .rates(("rice", 4.0), &[("LARD/R", 220.0), ("WRR", 100.0)])
            .rates(("rice", 6.0), &[("LARD/R", at_six), ("WRR", 100.0)])
            .verdict("goal: 2 x WRR")
    };
    assert_eq!([50.0, 150.0, 250.0].map(verdict), [NotReproduced, Direction, Reproduced]);
}

/// LARD/R beside two factors of HAProxy.
fn beside_haproxy(ours: &[f64], two_hundred: &[f64], other: &[f64]) -> Verdict {
    let at = |curve| ("rice", curve, 8.0);
    Small::default()
        .with(at("HAProxy bounded hashing 125"), RATE, other)
        .with(at("LARD/R"), RATE, ours)
        .with(at("HAProxy bounded hashing 200"), RATE, two_hundred)
        .verdict("goal: HAProxy")
}

#[test]
fn haproxy_is_compared_by_its_best_factor_and_what_is_within_three_per_cent_is_not_told_apart() {
    let against = |ours: &[f64]| beside_haproxy(ours, &[100.0, 100.5], &[50.0, 50.0]);
    assert_eq!(against(&[102.0, 103.0]), Reproduced);
    assert_eq!(against(&[97.5, 101.0]), Alike);
    assert_eq!(against(&[90.0, 101.0]), NotReproduced, "more than 3 % below");
    assert_eq!(against(&[98.0, 98.5]), NotReproduced, "every repeat below");
    assert_eq!(beside_haproxy(&[60.0, 60.0], &[100.0], &[50.0, 50.0]), NotJudged, "once");
}

#[test]
fn haproxy_is_compared_repeat_by_repeat() {
    // Middles alone would say 1.002: but the middle of the repeats is behind.
    let ours = [1914.0, 1934.0, 2051.0];
    let theirs = [1930.0, 2046.0, 1869.0];
    assert_eq!(beside_haproxy(&ours, &theirs, &[1500.0, 1600.0]), Alike);
    assert_eq!(beside_haproxy(&theirs, &ours, &[1500.0, 1600.0]), Reproduced);
}

#[test]
fn extended_lard_needs_all_three_gains() {
    let verdict = |wrr: f64, extended: f64| {
        let curves = [
            ("WRR HTTP/1.1", wrr),
            ("WRR HTTP/1.0", wrr * 0.8),
            ("LARD HTTP/1.0", 320.0),
            ("ext-LARD HTTP/1.1", extended),
        ];
        Small::default().rates(("rice", 6.0), &curves).verdict("PH-C12")
    };
    assert_eq!(verdict(100.0, 400.0), Reproduced);
    assert_eq!(verdict(70.0, 400.0), Larger);
    assert_eq!(verdict(100.0, 350.0), Direction);
    assert_eq!(verdict(150.0, 400.0), Direction);
    assert_eq!(verdict(100.0, 310.0), NotReproduced, "persistence costs");
    assert_eq!(verdict(900.0, 400.0), NotReproduced, "WRR is ahead");
}

#[test]
fn three_pairs_that_agree_are_no_ground_and_five_are() {
    let (closing, kept) =
        ([260.0, 238.0, 229.0, 240.0, 250.0], [272.0, 268.0, 251.0, 250.0, 260.0]);
    let verdict = |repeats: usize| {
        let of = |curve| ("rice", curve, 6.0);
        Small::default()
            .with(of("WRR HTTP/1.1"), RATE, &[48.0; 5][..repeats])
            .with(of("WRR HTTP/1.0"), RATE, &[46.0; 5][..repeats])
            .with(of("LARD HTTP/1.0"), RATE, &closing[..repeats])
            .with(of("ext-LARD HTTP/1.1"), RATE, &kept[..repeats])
            .verdict("PH-C12")
    };
    assert_eq!([3, 4, 5].map(verdict), [NotReproduced, NotReproduced, Direction]);
}

#[test]
fn what_the_first_request_decides_costs_something_and_how_much_hangs_on_what_is_chosen() {
    let table = |first: f64| {
        let curves = [("LARD HTTP/1.0", 100.0), ("LARD HTTP/1.1 first decides", first)];
        Small::default().rates(("rice", 6.0), &curves)
    };
    let verdict = |first: f64| table(first).verdict("PH-C13");
    assert_eq!([40.0, 67.0, 120.0].map(verdict), [Depends, Depends, NotReproduced]);
    let straight = ("rice", "LARD HTTP/1.1 first decides (no strays)", 6.0);
    let both = table(40.0).with(straight, RATE, &[105.0]).outcome("PH-C13");
    assert_eq!(both.measured, "0.40 at 6 nodes, 1.05 with none");
}

#[test]
fn growth_is_linear_or_nearly_and_the_switch_is_not_the_reason() {
    let verdict = |with_eight: f64, busy: f64| {
        let place = |x: f64| ("small-file", "Baton relay", x);
        Small::default()
            .with(place(1.0), RATE, &[100.0, 100.0])
            .with(place(1.0), "front_cpu", &[0.1, 0.1])
            .with(place(8.0), RATE, &[with_eight, with_eight])
            .with(place(8.0), "front_cpu", &[0.2, busy])
            .verdict("CW-C4")
    };
    assert_eq!(verdict(780.0, 0.3), Reproduced);
    assert_eq!(verdict(600.0, 0.3), Direction);
    assert_eq!(verdict(200.0, 0.3), NotReproduced);
    assert_eq!(verdict(780.0, 0.95), NotReproduced, "the switch is the bottleneck");
}

#[test]
fn a_gateway_gives_in_at_two_servers_or_later_or_not() {
    let table = |with_eight: f64| {
        let place = |case, x: f64| (case, "Apache TCP gateway", x);
        Small::default()
            .with(place("saturation", 16.0), RATE, &[9000.0, 9100.0])
            .with(place("saturation", 16.0), "front_us", &[130.0, 131.0])
            .with(("saturation", "Baton relay", 16.0), RATE, &[20_000.0, 20_000.0])
            .with(("saturation", "Baton relay", 16.0), "front_us", &[40.0, 40.0])
            .with(place("small-file", 2.0), RATE, &[600.0, 600.0])
            .with(place("small-file", 8.0), RATE, &[with_eight, with_eight])
    };
    let verdict = |with_eight: f64| table(with_eight).verdict("CW-C5");
    assert_eq!([620.0, 1500.0, 2400.0].map(verdict), [Reproduced, Direction, NotReproduced]);
    // That the gateway is the limit is what is claimed; that the client is would be no ground.
    let limited = |by: &str| {
        let mut table = table(620.0);
        table.0.rows.iter_mut().for_each(|row| row.limited_by(by));
        table.verdict("CW-C5")
    };
    assert_eq!(["front", "client"].map(limited), [Reproduced, NotJudged]);
}
