//! What the advice says, and whether it may be as sure of it.
//!
//! Method: logs written here whose right answer is known, such as one that is thin but for an hour;
//! and synthetic sites that differ in their seed alone, over which intervals must hold what they
//! promise.

use super::{Format, Value, cluster, done, file, folder, log, object};
use std::process::Command;

/// A day with a request a minute, but for a burst of 200 a second for a minute, for few targets.
fn burst() -> String {
    let mut text = String::new();
    let mut line = |second: u64, number: u64| {
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let target = (number * 7_919 + number / 13) % 40;
        text += &format!(
            "10.0.0.1 - - [17/May/2015:{hour:02}:{minute:02}:{second:02} +0000] \
             \"GET /t/{target} HTTP/1.1\" 200 2000 \"-\" \"x\"\n"
        );
    };
    (0..720).for_each(|minute| line(60 * minute, minute));
    (0..12_000).for_each(|number| line(43_200 + number / 200, number));
    (721..1_440).for_each(|minute| line(60 * minute, minute));
    text
}

fn words(out: &str) -> String {
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts of an object's advice.
fn advice(object: &Value) -> Vec<(String, String, String)> {
    let text = |one: &Value, key: &str| words(one[key].as_str().unwrap());
    let pieces = object["advice"].as_array().unwrap().iter();
    pieces.map(|one| (text(one, "text"), text(one, "sure"), text(one, "because"))).collect()
}

#[test]
fn the_busiest_part_decides_how_many_servers_are_needed() {
    let folder = folder();
    let path = file(&folder, "burst.log", burst());
    let args = [&path, "--servers", "1,2,3,4", "--cache", "10KiB", "--policy", "wrr,random"];
    let costs = ["--hit", "10ms", "--miss", "0ms", "--json"];
    let object = object(&[&args.map(|arg| arg as &str)[..], &costs].concat());
    let mean = cluster(&object, "wrr", 1)["work"]["mean"].as_f64().unwrap();
    assert!(mean < 0.01, "over the whole day hardly anything is to be done: {mean}");
    let pieces = advice(&object);
    assert!(pieces.iter().all(|(text, ..)| !text.contains("will do")), "{pieces:?}");
    let needed = pieces.iter().find(|(text, ..)| text.starts_with("Servers needed")).unwrap();
    assert!(needed.0.contains("wrr 3 and") || needed.0.contains("both 3"), "{needed:?}");
    assert!(cluster(&object, "wrr", 2)["peak_work"].as_f64().unwrap() > 0.98, "200 x 10 ms on 2");
}

#[test]
fn a_latency_has_a_confidence_of_its_own() {
    let folder = folder();
    let path = file(&folder, "burst.log", burst());
    let args = [&path, "--servers", "4", "--cache", "20KiB", "--policy", "wrr,lard", "--json"];
    for (seeds, told) in [("1", false), ("3", true)] {
        let object = object(&[&args.map(|arg| arg as &str)[..], &["--seeds", seeds]].concat());
        let pieces = advice(&object);
        let (lead, p99): (Vec<_>, Vec<_>) =
            pieces.iter().partition(|(text, ..)| text.contains("from caches"));
        assert!(lead.iter().all(|(text, ..)| !text.contains("p99")), "{lead:?}");
        let p99 = p99.iter().find(|(text, ..)| text.contains("p99")).unwrap();
        assert_eq!(p99.2.contains('±'), told, "{p99:?}");
        assert!(told || p99.1 == "not sure", "{p99:?}");
    }
}

#[test]
fn a_short_log_is_told_to_be_short() {
    let folder = folder();
    let text = log(Format::Combined);
    let end = text.match_indices('\n').nth(99).unwrap().0 + 1;
    for (name, text) in [("a.log", &text[..end]), ("b.log", &text[..text.find('\n').unwrap() + 1])]
    {
        let path = file(&folder, name, text);
        let (out, _) = done(&[&path, "--servers", "2,4", "--policy", "wrr,lard"]);
        let out = words(&out);
        assert!(out.contains("too few to tell"), "{out}");
        for wrong in ["one seed says", "0 of 0", "1 requests", "where wrr answers 0.0"] {
            assert!(!out.contains(wrong), "{wrong}: {out}");
        }
        assert!(!out.contains("000%"), "no CPU is busier than it can be: {out}");
    }
}

#[test]
fn what_was_not_measured_has_no_interval() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let args = [&path, "--servers", "2", "--cache", "400KiB", "--policy", "wrr,lard", "--closed"];
    let args = args.map(|arg| arg as &str);
    let told = object(&[&args[..], &["--json"]].concat());
    for one in told["clusters"].as_array().unwrap() {
        assert!(one["hit_ratio"]["half_width"].is_null(), "seeds differ in nothing: {one}");
        assert!(one["work"]["mean"].as_f64().unwrap() <= 1.0, "{one}");
    }
    let (out, _) = done(&[&args[..], &["--csv"]].concat());
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    assert_eq!((rows[1][column("hit_ratio_half")], rows[1][column("p99_ms_half")]), ("", ""));
    let (out, _) = done(&args);
    assert!(out.contains("The seeds differ in nothing here"), "{out}");
}

#[test]
fn programs_are_told_the_lead_and_every_server() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let args = [&path, "--servers", "4", "--cache", "400KiB", "--policy", "wrr,lard"];
    let args = args.map(|arg| arg as &str);
    let told = object(&[&args[..], &["--json"]].concat());
    let (wrr, lard) = (cluster(&told, "wrr", 4), cluster(&told, "lard", 4));
    assert!(wrr["lead"].is_null());
    let lead = |key: &str| lard["lead"][key].as_f64().unwrap();
    assert!(lead("low") < lead("mean") && lead("mean") < lead("high"), "{}", lard["lead"]);
    let capacity = |one: &Value| one["capacity_rps"]["mean"].as_f64().unwrap();
    assert!((lead("mean") - capacity(lard) / capacity(wrr)).abs() < 1e-9);
    let servers = lard["servers_each"].as_array().unwrap();
    assert_eq!(servers.len(), 4);
    let requests = servers.iter().map(|server| server["requests"].as_u64().unwrap());
    assert_eq!(requests.sum::<u64>(), 4_000);
    let (out, _) = done(&[&args[..], &["--csv"]].concat());
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    assert_eq!((rows[1][column("lead")], rows[2][column("against")]), ("", "wrr"));
    assert!((rows[2][column("lead_low")].parse::<f64>().unwrap() - lead("low")).abs() < 1e-5);
}

#[test]
fn the_best_policy_is_the_best_however_many_are_asked_about() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let args = [&path, "--servers", "2,4,8,16", "--cache", "400KiB,800KiB", "--json", "--policy"];
    let args = args.map(|arg| arg as &str);
    let told = object(&[&args[..], &["wrr,lard-r,lard,bounded-hash,p2c,random,lb"]].concat());
    let clusters = told["clusters"].as_array().unwrap();
    let score = |policy: &str| {
        let of = clusters.iter().filter(|one| one["policy"] == policy);
        of.map(|one| one["lead"]["mean"].as_f64().unwrap().ln()).sum::<f64>()
    };
    let others = ["lard-r", "lard", "bounded-hash", "p2c", "random", "lb"];
    let best = others.into_iter().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap();
    let said = advice(&told);
    assert!(said[1].0.contains(&format!(", {best} answers")), "{best}: {said:?}");
    assert!(score(best) - score("lard-r") < 0.5, "close enough that a bonus would decide");
}

#[test]
fn a_range_is_narrowed_down_to_the_very_number() {
    let folder = folder();
    let path = file(&folder, "burst.log", burst());
    let run = |servers: &str| {
        let args = [&path, "--servers", servers, "--cache", "10KiB", "--policy", "wrr,random"];
        let costs = ["--hit", "20ms", "--miss", "0ms", "--json"];
        object(&[&args.map(|arg| arg as &str)[..], &costs].concat())
    };
    let needed = |told: &Value| {
        let pieces = advice(told);
        pieces.iter().find(|(text, ..)| text.starts_with("Servers needed")).unwrap().0.clone()
    };
    let (narrowed, listed) = (run("1..8"), run("1,2,4,8"));
    assert!(
        needed(&narrowed).contains("wrr 6 and") || needed(&narrowed).contains("both 6"),
        "{}",
        needed(&narrowed)
    );
    assert!(needed(&listed).contains("5 to 8"), "{}", needed(&listed));
    assert_eq!(cluster(&narrowed, "wrr", 6)["servers"], 6);
}

#[test]
fn the_interval_of_a_lead_has_the_truth_of_the_site_in_it() {
    let folder = folder();
    let path = folder.path().join("site.trace");
    let path = path.to_str().unwrap();
    let lead = |seed: u32| {
        let seed = seed.to_string();
        let size = ["trace", "synth", "zipf", "--requests", "40000", "--targets", "3000"];
        let more = ["--seed", &seed, "-o", path];
        let made = Command::new(env!("CARGO_BIN_EXE_baton")).args(size).args(more).output();
        assert!(made.unwrap().status.success());
        let args = [path, "--servers", "4", "--cache", "1MiB", "--policy", "wrr,lard"];
        let told = object(&[&args[..], &["--seeds", "1", "--json"]].concat());
        let lead = cluster(&told, "lard", 4)["lead"].clone();
        ["mean", "low", "high"].map(|key| lead[key].as_f64().unwrap())
    };
    let leads: Vec<[f64; 3]> = (1..=20).map(lead).collect();
    let truth = leads.iter().map(|[mean, ..]| mean).sum::<f64>() / leads.len() as f64;
    let covered = leads.iter().filter(|[_, low, high]| (low..=high).contains(&&truth)).count();
    assert!(covered >= 18, "{covered} of 20: {truth} {leads:?}");
    assert!(leads.iter().all(|[mean, low, _]| low > &(mean * 0.85)), "and tells something");
}

#[test]
fn a_rush_too_short_for_a_part_is_seen_in_the_p99() {
    let folder = folder();
    // Two requests a second, and thirty more at once every 500 s: hardly any work, and long queues.
    let mut text = String::new();
    for second in 0..10_000_u64 {
        let (hour, minute, rest) = (second / 3_600, second / 60 % 60, second % 60);
        let count = if second % 500 == 250 { 32 } else { 2 };
        for number in 0..count {
            text += &format!(
                "10.0.0.1 - - [17/May/2015:{hour:02}:{minute:02}:{rest:02} +0000] \
                 \"GET /t/{number} HTTP/1.1\" 200 2000 \"-\" \"x\"\n"
            );
        }
    }
    let path = file(&folder, "rush.log", text);
    let args = [&path, "--servers", "1,8", "--cache", "10KiB", "--policy", "wrr,random"];
    let object = object(
        &[&args.map(|arg| arg as &str)[..], &["--hit", "40ms", "--miss", "0ms", "--json"]].concat(),
    );
    let pieces = advice(&object);
    assert!(pieces.iter().all(|(text, ..)| !text.contains("will do")), "{pieces:?}");
}
