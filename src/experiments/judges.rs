//! How claims are judged: by figures that nothing but the modelled cluster limited, and by repeats
//! that are further apart between curves than within them.

use super::claims::{Outcome, Verdict};
use super::lard::HAPROXY;
use super::phttp::UNSTRAYED;
use super::reader::{Pair, Reader};
use super::table::middle;
use super::{Row, Spread};

/// A claim is reproduced from this share of the published gain on: 2.35 of 2.5, 1.117 of 1.13.
pub const NEAR: f64 = 0.9;
/// And larger than published beyond this share of it.
const FAR: f64 = 1.5;

/// Of ratios with what was published for them.
fn graded(pairs: &[(Pair, f64)]) -> Verdict {
    let near = |(pair, published): &(Pair, f64)| pair.ratio >= 1.0 + NEAR * (published - 1.0);
    let far = |(pair, published): &(Pair, f64)| pair.ratio > 1.0 + FAR * (published - 1.0);
    if !pairs.iter().all(|(pair, _)| pair.apart) {
        Verdict::NotReproduced
    } else if pairs.iter().all(near) && pairs.iter().any(far) {
        Verdict::Larger
    } else if pairs.iter().all(near) {
        Verdict::Reproduced
    } else {
        Verdict::Direction
    }
}

const RICE_PAIR: (&str, &str) = ("LARD/R", "WRR");

pub fn lard_over_wrr(reader: &Reader) -> Option<Outcome> {
    let six = reader.pair(("rice", 6.0), RICE_PAIR)?;
    Some(Outcome::new(graded(&[(six, 2.5)]), format!("{:.2} at 6 nodes", six.ratio)))
}

pub fn twice_wrr(reader: &Reader) -> Option<Outcome> {
    let places = reader
        .repeated("rice", RICE_PAIR.0, &[RICE_PAIR.1])
        .into_iter()
        .filter(|nodes| *nodes >= 4.0);
    let found: Vec<(f64, Pair)> = places
        .filter_map(|nodes| Some((nodes, reader.pair(("rice", nodes), RICE_PAIR)?)))
        .collect();
    let least = found.iter().map(|(_, pair)| pair.ratio).reduce(f64::min)?;
    let verdict = match found.iter().all(|(_, pair)| pair.apart) {
        true if least >= 2.0 => Verdict::Reproduced,
        true => Verdict::Direction,
        false => Verdict::NotReproduced,
    };
    let words: Vec<String> = found.iter().map(|(n, p)| format!("{:.2} at {n}", p.ratio)).collect();
    Some(Outcome::new(verdict, format!("{} nodes", words.join(", "))))
}

/// So much below cannot be told from as much: repeats of one curve are further apart.
const ALIKE: f64 = 0.97;

pub fn not_below_haproxy(reader: &Reader) -> Option<Outcome> {
    let (mut verdict, mut words) = (Verdict::Reproduced, Vec::new());
    for case in reader.table.cases() {
        let curves = reader.table.curves(case).into_iter();
        let theirs: Vec<&str> = curves.filter(|curve| curve.starts_with(HAPROXY)).collect();
        for x in reader.repeated(case, "LARD/R", &theirs) {
            let all = theirs
                .iter()
                .filter_map(|curve| Some((*curve, reader.at(case, curve, x, "requests_s")?)));
            let (best, _) = all.max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
            let ours = reader.pair((case, x), ("LARD/R", best))?;
            let behind = reader.pair((case, x), (best, "LARD/R"))?.apart;
            let (factor, ratio) = (best.trim_start_matches(HAPROXY).trim(), ours.ratio);
            words.push(format!("{case} at {x} {ratio:.2} (its factor {factor})"));
            if behind || ratio < ALIKE {
                verdict = Verdict::NotReproduced;
            } else if ratio < 1.0 && verdict == Verdict::Reproduced {
                verdict = Verdict::Alike;
            }
        }
    }
    (!words.is_empty()).then(|| Outcome::new(verdict, words.join(", ")))
}

pub fn extended_lard(reader: &Reader) -> Option<Outcome> {
    let nodes = *reader.table.places("rice").last()?;
    let of = |over, under| reader.pair(("rice", nodes), (over, under));
    let kept = of("ext-LARD HTTP/1.1", "WRR HTTP/1.1")?;
    let closing = of("LARD HTTP/1.0", "WRR HTTP/1.0")?;
    let gain = of("ext-LARD HTTP/1.1", "LARD HTTP/1.0")?;
    let measured = format!(
        "{nodes} nodes: {:.2} times WRR with persistence, {:.2} without; with over without {:.2}",
        kept.ratio, closing.ratio, gain.ratio
    );
    Some(Outcome::new(graded(&[(kept, 4.0), (closing, 4.0), (gain, 1.26)]), measured))
}

pub fn first_decides(reader: &Reader) -> Option<Outcome> {
    let nodes = *reader.table.places("rice").last()?;
    let pair = reader.pair(("rice", nodes), ("LARD HTTP/1.0", "LARD HTTP/1.1 first decides"))?;
    // How much is lost follows from how many requests stray, which is chosen.
    let verdict = if pair.apart { Verdict::Depends } else { Verdict::NotReproduced };
    let straight = reader.beside(("rice", nodes), (UNSTRAYED, "LARD HTTP/1.0"));
    let straight = straight.map_or(String::new(), |share| format!(", {share:.2} with none"));
    let share = 1.0 / pair.ratio;
    Some(Outcome::new(verdict, format!("{share:.2} at {nodes} nodes{straight}")))
}

pub fn scales(reader: &Reader) -> Option<Outcome> {
    let of = |x: f64, column| reader.at("small-file", "Baton relay", x, column);
    let places = reader.table.places("small-file");
    let first = *places.first()?;
    let one = of(first, "requests_s")?.median / first;
    let (mut worst, mut busy) = (f64::INFINITY, 0.0_f64);
    for x in places {
        let here = of(x, "requests_s")?;
        reader.repeats(&here);
        worst = worst.min(here.median / (one * x));
        busy = busy.max(of(x, "front_cpu")?.max);
    }
    let verdict = match busy < 0.9 {
        true if worst >= 0.9 => Verdict::Reproduced,
        true if worst >= 0.7 => Verdict::Direction,
        _ => Verdict::NotReproduced,
    };
    let measured =
        format!("at least {worst:.3} of linear; the switch's worker at most {busy:.2} busy");
    Some(Outcome::new(verdict, measured))
}

const GATEWAY: &str = "Apache TCP gateway";

pub fn gateway(reader: &Reader) -> Option<Outcome> {
    // Where servers take no time, what stands before them is the limit: that is measured there.
    let table = &reader.table;
    let best = |curve: &str| {
        let points = table.curve("saturation", curve, "requests_s");
        let best = points.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
        Some((best.1.median, table.at("saturation", curve, best.0, "front_us")?.median))
    };
    let (most, gateway_us) = best(GATEWAY)?;
    let (_, switch_us) = best("Baton relay")?;
    let end = *table.places("small-file").last()?;
    let of = |x: f64| reader.at_despite("front", ("small-file", GATEWAY, x), "requests_s");
    let (all, two) = (of(end)?, of(2.0)?);
    reader.repeats(&all);
    let times = all.median / two.median;
    let measured = format!(
        "{times:.2} times two servers' throughput with {end}; it gives in at {most:.0}/s (real), \
         {gateway_us:.0} us of CPU a connection, the switch takes {switch_us:.0}"
    );
    // From linear growth, a fourth or more is missing: it gives in, later than published.
    let verdict = if times <= 1.1 {
        Verdict::Reproduced
    } else if times <= 0.75 * end / 2.0 {
        Verdict::Direction
    } else {
        Verdict::NotReproduced
    };
    Some(Outcome::new(verdict, measured))
}

const CAP_PAIR: (&str, &str) = ("CAP", "LARD 10 s late");

pub fn alike_when_static(reader: &Reader) -> Option<Outcome> {
    let places = reader.table.places("static").into_iter();
    let ratios: Vec<f64> =
        places.filter_map(|x| Some(reader.pair(("static", x), CAP_PAIR)?.ratio)).collect();
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    let busy = reader
        .table
        .places("static")
        .into_iter()
        .filter_map(|x| Some(reader.at("static", CAP_PAIR.0, x, "utilisation_max")?.max));
    let busy = busy.fold(0.0, f64::max);
    // Users who think most of the time get the same from everybody.
    let verdict = match least > 0.9 && most < 1.1 {
        true if busy < 0.8 => Verdict::Depends,
        true => Verdict::Reproduced,
        false => Verdict::NotReproduced,
    };
    let measured = format!(
        "CAP over LARD {least:.2} to {most:.2}; CAP's busiest server at most {busy:.2} busy"
    );
    Some(Outcome::new(verdict, measured))
}

/// Distance of the idlest from the busiest server, by repeats: least, middle, greatest.
fn distance(reader: &Reader, case: &str, curve: &str, x: f64) -> Option<[f64; 3]> {
    let far = |row: &Row| row.get("utilisation_max") - row.get("utilisation_min");
    let mut all: Vec<f64> = reader.rows(case, curve, x).into_iter().map(far).collect();
    all.sort_by(f64::total_cmp);
    Some([*all.first()?, middle(&all)?, *all.last()?])
}

pub fn ahead_when_light(reader: &Reader) -> Option<Outcome> {
    let most = *reader.table.places("light").last()?;
    let gain = reader.pair(("light", most), CAP_PAIR)?;
    let cap = distance(reader, "light", CAP_PAIR.0, most)?;
    let lard = distance(reader, "light", CAP_PAIR.1, most)?;
    let measured = format!(
        "{most} clients: CAP over LARD {:.2}; utilisation from least to greatest {:.2} apart under \
         CAP, {:.2} under LARD",
        gain.ratio, cap[1], lard[1]
    );
    let verdict = match (gain.apart, cap[2] < lard[0]) {
        (true, true) if gain.ratio >= 1.02 => Verdict::Reproduced,
        (true, _) if cap[1] < lard[1] => Verdict::Direction,
        (_, true) if gain.ratio > 1.0 => Verdict::Direction,
        _ => Verdict::NotReproduced,
    };
    Some(Outcome::new(verdict, measured))
}

pub fn ahead_when_intensive(reader: &Reader) -> Option<Outcome> {
    let (mut pairs, mut words) = (Vec::new(), Vec::new());
    for (clients, published) in [(160.0, 1.13), (240.0, 1.21)] {
        let Some(late) = reader.pair(("intensive", clients), CAP_PAIR) else {
            reader.doubt(format!("not measured at {clients} clients"));
            continue;
        };
        let own = reader.beside(("intensive", clients), ("CAP", "LARD undelayed"))?;
        words.push(format!("{:.2} ({own:.2}) at {clients}", late.ratio));
        pairs.push((late, published));
    }
    let measured = format!("CAP over LARD {} clients", words.join(", "));
    (!words.is_empty()).then(|| Outcome::new(graded(&pairs), measured))
}

pub fn wrr_is_hard_to_tune(reader: &Reader) -> Option<Outcome> {
    let at = |curve: &str, x: f64| reader.at("dynamic", curve, x, "page_p90_ms");
    let least = |curve: &str, x: f64| reader.at_least("dynamic", curve, x, "page_p90_ms");
    let periods = reader.table.places("dynamic");
    let (first, longest) = (*periods.first()?, *periods.last()?);
    let num = at("WRR num", first)?;
    let mut tuned = Vec::new();
    for curve in ["WRR num", "WRR time"] {
        for x in &periods {
            tuned.push(((curve, *x), least(curve, *x)?));
        }
    }
    // What is more in truth than its figure is not the best of them either.
    let by_median =
        |a: &&((&str, f64), Spread), b: &&((&str, f64), Spread)| a.1.median.total_cmp(&b.1.median);
    let ((curve, x), _) = tuned.iter().min_by(by_median)?;
    let (best, worst) = (&at(curve, *x)?, &tuned.iter().max_by(by_median)?.1);
    let (turns, random) = (at("RR", first)?, at("random", first)?);
    let untuned = turns.median.min(random.median);
    let others = if untuned < best.median { ": the best is not WRR" } else { "" };
    let measured = format!(
        "{:.0} ms by connections every {first} s, {:.0} to {:.0} ms over metrics and periods up to \
         {longest} s; round robin {:.0}, random {:.0}{others}",
        num.median, best.median, worst.median, turns.median, random.median
    );
    let sensitive = reader.above(worst, best);
    let badly = reader.above(worst, &turns) && reader.above(worst, &random);
    let verdict = match badly {
        true if sensitive && num.median <= best.median.min(untuned) => Verdict::Reproduced,
        true => Verdict::Direction,
        false => Verdict::NotReproduced,
    };
    Some(Outcome::new(verdict, measured))
}

/// What a LAN of 100 Mb/s carries of 1.5 KB files in requests a second, at most: derived from the
/// published peak of 89.1 Mb/s. More was never offered there.
const LAN_REQUESTS_S: f64 = 5_900.0;
/// The busiest that the switch was there, of a core.
const SWITCH_BUSY: f64 = 0.5;

pub fn switch_idles(reader: &Reader) -> Option<Outcome> {
    let us = reader.table.rows.iter().map(|row| row.get("front_us"));
    let most_us = us.filter(|us| us.is_finite()).reduce(f64::max)?;
    let busy = most_us * LAN_REQUESTS_S / 1e6;
    let measured = format!(
        "at most {most_us:.0} us a request: {busy:.2} of a core at the {LAN_REQUESTS_S} requests a \
         second that their LAN carries at most"
    );
    // A CPU of today that is busier refutes it; one that is not says little of theirs.
    let refuted = busy > SWITCH_BUSY;
    let verdict = if refuted { Verdict::NotReproduced } else { Verdict::Depends };
    Some(Outcome::new(verdict, measured))
}

pub fn cap_beats_lard(reader: &Reader) -> Option<Outcome> {
    let (mut below, mut apart, mut words) = (true, true, Vec::new());
    for case in reader.table.cases() {
        for x in reader.table.places(case) {
            let cap = reader.at(case, "CAP", x, "page_p90_ms")?;
            let least = |curve: &str| reader.at_least(case, curve, x, "page_p90_ms");
            let (own, reported) = (least("LARD")?, least("LARD on utilisation")?);
            for lard in [&own, &reported] {
                below &= cap.median < lard.median;
                apart &= reader.above(lard, &cap);
            }
            let [cap_s, own_s, reported_s] = [cap, own, reported].map(|p90| p90.median / 1e3);
            words.push(format!(
                "{case} at {x}: {cap_s:.2} s, LARD {reported_s:.2} and {own_s:.2} s"
            ));
        }
    }
    let verdict = match (apart, below) {
        (true, _) => Verdict::Reproduced,
        (false, true) => Verdict::Direction,
        (false, false) => Verdict::NotReproduced,
    };
    (!words.is_empty()).then(|| Outcome::new(verdict, words.join("; ")))
}

#[cfg(test)]
mod tests;
