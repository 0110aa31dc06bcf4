//! What the papers claim of their prototypes, read off the tables of the live experiments.

use super::Table;
use std::collections::BTreeMap;

/// Tables by the name of their experiment.
pub type Tables = BTreeMap<&'static str, Table>;

/// What a table says of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Whether it holds here.
    pub holds: bool,
    /// The measured figures.
    pub measured: String,
}

/// A published statement about a prototype.
pub struct LiveClaim {
    /// Its number in our notes on the papers, or what this project set itself.
    pub id: &'static str,
    /// The statement.
    pub says: &'static str,
    /// The published figure.
    pub published: &'static str,
    /// The experiment it is judged by.
    pub needs: &'static str,
    /// What the outcome depends on, and why it is as it is.
    pub notes: &'static str,
    /// Reads the outcome off; `None` when the points that it needs were not measured.
    pub judge: fn(&Table) -> Option<Outcome>,
}

/// All of them.
pub const CLAIMS: &[LiveClaim] = &[
    LiveClaim {
        id: "LARD-C11",
        says: "LARD/R serves about 2.5 times as much as WRR on the Rice log (six servers)",
        published: "2.5",
        needs: "lard",
        notes: "the published number is of six servers; here of each number that was measured and \
                whose caches together hold less than the log",
        judge: lard_over_wrr,
    },
    LiveClaim {
        id: "goal: 2 x WRR",
        says: "LARD/R serves at least twice as much as WRR where the working set exceeds a cache \
               and locality pays (Rice twin, from 4 nodes on)",
        published: "2 (set for this project)",
        needs: "lard",
        notes: "",
        judge: twice_wrr,
    },
    LiveClaim {
        id: "goal: HAProxy",
        says: "LARD/R is not below HAProxy's consistent hashing with bounded loads",
        published: "1.0 (set for this project)",
        needs: "lard",
        notes: "largest number of nodes that was repeated, each workload; 3 % are within the \
                repeats' distance",
        judge: not_below_haproxy,
    },
    LiveClaim {
        id: "PH-C12",
        says: "extended LARD serves four times as much as WRR, and up to 26 % more with persistent \
               connections than without",
        published: "4.0; 1.26 (six servers)",
        needs: "phttp",
        notes: "the relay fetches in the holder's place; LARD over HTTP/1.0 stands for extended \
                LARD without persistence, which it is then",
        judge: extended_lard,
    },
    LiveClaim {
        id: "PH-C13",
        says: "LARD whose first request decides for the connection is up to 35 % worse with \
               persistent connections than without",
        published: "0.65 at worst",
        needs: "phttp",
        notes: "",
        judge: first_decides,
    },
    LiveClaim {
        id: "CW-C4",
        says: "a 1.5 KB file: throughput grows nearly linearly with servers; the switch is never \
               the bottleneck",
        published: "near-linear until the LAN of 100 Mb/s is full",
        needs: "clubweb-static",
        notes: "there is no LAN here: linear means in servers, to the end",
        judge: scales,
    },
    LiveClaim {
        id: "CW-C5",
        says: "the TCP gateway does not scale beyond two servers",
        published: "about 600 connections/s",
        needs: "clubweb-static",
        notes: "a CPU of today is a hundred times theirs, so the same program is no bottleneck for \
                servers of 2003; what is left of the claim is its cost beside the switch's",
        judge: gateway,
    },
    LiveClaim {
        id: "CAP-C11",
        says: "static: CAP and LARD have similar throughput",
        published: "curves alike (Fig. 7)",
        needs: "cap",
        notes: "similar is within a tenth, at every number of clients",
        judge: alike_when_static,
    },
    LiveClaim {
        id: "CAP-C12",
        says: "light dynamic: CAP is ahead of LARD, and the spread of the servers' utilisation is \
               smaller",
        published: "Figs. 8 and 10",
        needs: "cap",
        notes: "at the greatest number of clients; LARD as there, on connections reported every \
                10 s",
        judge: ahead_when_light,
    },
    LiveClaim {
        id: "CAP-C13",
        says: "intensive dynamic: CAP serves 13 % more than LARD at 160 clients and 21 % more at \
               240",
        published: "1.13; 1.21 (Fig. 9)",
        needs: "cap",
        notes: "LARD as there, on connections reported every 10 s; the second number is LARD with \
                its own undelayed count. The programs' CPU and the think time are chosen",
        judge: ahead_when_intensive,
    },
    LiveClaim {
        id: "CAP-C1",
        says: "WRR is sensitive to metric and period; active connections with a small period are \
               best; badly tuned it is worse than random and round robin",
        published: "curves lost (Fig. 3)",
        needs: "wrr",
        notes: "a simulation there; 90-percentile of pages, dynamic site",
        judge: wrr_is_hard_to_tune,
    },
    LiveClaim {
        id: "CW-C8",
        says: "realistic load: the switch's CPU is never busier than 0.5",
        published: "0.5",
        needs: "clubweb",
        notes: "of one worker of a relay on a CPU of today; per request, `front_us` of the table",
        judge: switch_idles,
    },
    LiveClaim {
        id: "CW-C9",
        says: "CAP is better than LARD for both models at every offered load",
        published: "clearly better",
        needs: "clubweb",
        notes: "90-percentile of pages; LARD on utilisation, as the authors had it, and on \
                connections",
        judge: cap_beats_lard,
    },
];

fn ratio(table: &Table, case: &str, x: f64, (over, under): (&str, &str)) -> Option<f64> {
    let of = |curve| table.at(case, curve, x, "requests_s").map(|spread| spread.median);
    Some(of(over)? / of(under)?)
}

fn last(table: &Table, case: &str) -> Option<f64> {
    table.places(case).last().copied()
}

fn lard_over_wrr(table: &Table) -> Option<Outcome> {
    let pair = ("LARD/R", "WRR");
    let ratios: Vec<(f64, f64)> = (table.places("rice").into_iter())
        .filter_map(|nodes| Some((nodes, ratio(table, "rice", nodes, pair)?)))
        .collect();
    let near = |nodes: f64| (nodes - 6.0).abs();
    let at = ratios.iter().min_by(|left, right| near(left.0).total_cmp(&near(right.0)))?;
    let all: Vec<String> = ratios.iter().map(|(n, ratio)| format!("{ratio:.2} at {n}")).collect();
    Some(Outcome { holds: at.1 >= 2.0, measured: format!("{} nodes", all.join(", ")) })
}

fn twice_wrr(table: &Table) -> Option<Outcome> {
    let pair = ("LARD/R", "WRR");
    let places = table.places("rice").into_iter().filter(|nodes| *nodes >= 4.0);
    let ratios: Vec<f64> = places.filter_map(|nodes| ratio(table, "rice", nodes, pair)).collect();
    let least = ratios.iter().copied().reduce(f64::min)?;
    Some(Outcome { holds: least >= 2.0, measured: format!("at least {least:.2}") })
}

fn not_below_haproxy(table: &Table) -> Option<Outcome> {
    let pair = ("LARD/R", "HAProxy bounded hashing");
    let repeated = |case: &str, x: f64| {
        table.rows.iter().filter(|row| row.case == case && row.x == x).any(|row| row.repeat > 1)
    };
    let mut found = Vec::new();
    for case in table.cases() {
        let places = table.places(case);
        let most = places.iter().rev().find(|x| repeated(case, **x)).or(places.last())?;
        found.push((case.to_owned(), ratio(table, case, *most, pair)?));
    }
    let least = found.iter().map(|(_, ratio)| *ratio).reduce(f64::min)?;
    let words: Vec<String> = found.iter().map(|(case, r)| format!("{case} {r:.2}")).collect();
    Some(Outcome { holds: least >= 0.97, measured: words.join(", ") })
}

fn extended_lard(table: &Table) -> Option<Outcome> {
    let nodes = last(table, "rice")?;
    let of = |over, under| ratio(table, "rice", nodes, (over, under));
    let kept = of("ext-LARD HTTP/1.1", "WRR HTTP/1.1")?;
    let closing = of("LARD HTTP/1.0", "WRR HTTP/1.0")?;
    let gain = of("ext-LARD HTTP/1.1", "LARD HTTP/1.0")?;
    let measured = format!(
        "{nodes} nodes: {kept:.2} times WRR with persistence, {closing:.2} without; with over \
         without {gain:.2}"
    );
    Some(Outcome { holds: kept >= 2.0 && closing >= 2.0 && gain > 1.0, measured })
}

fn first_decides(table: &Table) -> Option<Outcome> {
    let pair = ("LARD HTTP/1.1 first decides", "LARD HTTP/1.0");
    let places = table.places("rice");
    let found: Vec<(f64, f64)> = (places.into_iter())
        .filter_map(|nodes| Some((nodes, ratio(table, "rice", nodes, pair)?)))
        .collect();
    let least = found.iter().map(|(_, ratio)| *ratio).reduce(f64::min)?;
    let words: Vec<String> = found.iter().map(|(n, r)| format!("{r:.2} at {n}")).collect();
    Some(Outcome { holds: least < 0.95, measured: format!("{} nodes", words.join(", ")) })
}

fn scales(table: &Table) -> Option<Outcome> {
    let curve = table.curve("small-file", "Baton relay", "requests_s");
    let (n, one) = curve.first().map(|(n, spread)| (*n, spread.median))?;
    let linear = curve.iter().map(|(x, spread)| spread.median / (one * x / n));
    let worst = linear.fold(f64::INFINITY, f64::min);
    let busiest = table.curve("small-file", "Baton relay", "front_cpu");
    let busy = busiest.iter().map(|(_, spread)| spread.max).fold(0.0, f64::max);
    let measured =
        format!("at least {worst:.3} of linear; the switch's worker at most {busy:.2} busy");
    Some(Outcome { holds: worst > 0.9 && busy < 0.9, measured })
}

fn gateway(table: &Table) -> Option<Outcome> {
    let best = |curve: &str| {
        let points = table.curve("saturation", curve, "requests_s");
        let best = points.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
        let us = table.at("saturation", curve, best.0, "front_us")?.median;
        Some((best.1.median, us))
    };
    let (most, gateway_us) = best("Apache TCP gateway")?;
    let (_, switch_us) = best("Baton relay")?;
    let curve = table.curve("small-file", "Apache TCP gateway", "requests_s");
    let two = curve.iter().find(|(x, _)| *x >= 2.0)?.1.median;
    let end = curve.last()?.1.median;
    let measured = format!(
        "{:.1} times two servers' throughput with all of them; it gives in at {most:.0}/s (real), \
         {gateway_us:.0} us of CPU a connection, the switch takes {switch_us:.0}",
        end / two
    );
    Some(Outcome { holds: end < two * 1.03, measured })
}

fn alike_when_static(table: &Table) -> Option<Outcome> {
    let places = table.places("static").into_iter();
    let pair = ("CAP", "LARD 10 s late");
    let ratios: Vec<f64> = places.filter_map(|x| ratio(table, "static", x, pair)).collect();
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    let measured = format!("CAP over LARD {least:.2} to {most:.2}");
    Some(Outcome { holds: least > 0.9 && most < 1.1, measured })
}

/// Distance of the idlest from the busiest server.
fn spread(table: &Table, case: &str, curve: &str, x: f64) -> Option<f64> {
    let of = |column| table.at(case, curve, x, column).map(|spread| spread.median);
    Some(of("utilisation_max")? - of("utilisation_min")?)
}

fn ahead_when_light(table: &Table) -> Option<Outcome> {
    let most = last(table, "light")?;
    let gain = ratio(table, "light", most, ("CAP", "LARD 10 s late"))?;
    let of = |curve| spread(table, "light", curve, most);
    let (cap, lard) = (of("CAP")?, of("LARD 10 s late")?);
    let measured = format!(
        "{most} clients: CAP over LARD {gain:.2}; utilisation from least to greatest {cap:.2} \
         apart under CAP, {lard:.2} under LARD"
    );
    Some(Outcome { holds: gain > 1.0 && cap < lard, measured })
}

fn ahead_when_intensive(table: &Table) -> Option<Outcome> {
    let mut holds = true;
    let mut words = Vec::new();
    for clients in [160.0, 240.0] {
        let of = |lard| ratio(table, "intensive", clients, ("CAP", lard));
        let Some(late) = of("LARD 10 s late") else { continue };
        holds &= late > 1.05;
        let own = of("LARD undelayed")?;
        words.push(format!("{late:.2} ({own:.2}) at {clients}"));
    }
    let measured = format!("CAP over LARD {} clients", words.join(", "));
    (!words.is_empty()).then_some(Outcome { holds, measured })
}

fn wrr_is_hard_to_tune(table: &Table) -> Option<Outcome> {
    let at = |curve: &str, x: f64| {
        table.at("dynamic", curve, x, "page_p90_ms").map(|spread| spread.median)
    };
    let periods = table.places("dynamic");
    let (first, longest) = (*periods.first()?, *periods.last()?);
    let num = at("WRR num", first)?;
    let all = ["WRR num", "WRR time"]
        .iter()
        .flat_map(|curve| periods.iter().filter_map(|x| at(curve, *x)));
    let (best, worst) = all.fold((f64::INFINITY, 0.0_f64), |(best, worst), p90_ms| {
        (best.min(p90_ms), worst.max(p90_ms))
    });
    let (turns, random) = (at("RR", first)?, at("random", first)?);
    let measured = format!(
        "{num:.0} ms by connections every {first} s, {best:.0} to {worst:.0} ms over metrics and \
         periods up to {longest} s; round robin {turns:.0}, random {random:.0}"
    );
    // Two measurements of the same differ by some per cent.
    let holds = num <= best * 1.1 && worst > turns.max(random);
    Some(Outcome { holds, measured })
}

fn switch_idles(table: &Table) -> Option<Outcome> {
    let busiest = table.rows.iter().map(|row| row.get("front_cpu")).reduce(f64::max)?;
    let us: Vec<f64> = table.rows.iter().map(|row| row.get("front_us")).collect();
    let mean_us = us.iter().sum::<f64>() / us.len() as f64;
    let measured = format!("at most {busiest:.2} of a core, {mean_us:.0} us a request");
    Some(Outcome { holds: busiest < 0.5, measured })
}

fn cap_beats_lard(table: &Table) -> Option<Outcome> {
    let (mut holds, mut words) = (true, Vec::new());
    for case in table.cases() {
        for x in table.places(case) {
            let of = |curve: &str| {
                table.at(case, curve, x, "page_p90_ms").map(|spread| spread.median / 1e3)
            };
            let (cap, own) = (of("CAP")?, of("LARD")?);
            let reported = of("LARD on utilisation")?;
            holds &= cap < own && cap < reported;
            words.push(format!("{case} at {x}: {cap:.2} s, LARD {reported:.2} and {own:.2} s"));
        }
    }
    (!words.is_empty()).then_some(Outcome { holds, measured: words.join("; ") })
}
