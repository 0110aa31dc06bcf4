//! Logs that are easily read wrong, and what is said of them.

use super::{baton, cluster, done, file, folder};
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;

/// Forty requests a second for a hundred targets in whole seconds, from one number to another.
fn lines(numbers: std::ops::Range<u32>, status: u16, end: &str) -> String {
    let line = |number: u32| {
        let (minute, second) = (number / 2400, number / 40 % 60);
        format!(
            "10.0.0.{} - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET /{} HTTP/1.1\" \
             {status} 20000 \"-\" \"x\"{end}\n",
            number % 40,
            number * 7919 % 100
        )
    };
    numbers.map(line).collect()
}

const SMALL: [&str; 8] = ["--servers", "1", "--policy", "wrr", "--seeds", "1", "--cache", "1GiB"];

fn object(paths: &[&str], more: &[&str]) -> Value {
    serde_json::from_str(&done(&[paths, &SMALL, &["--json"], more].concat()).0).unwrap()
}

#[test]
fn a_log_that_also_tells_times_has_no_bursts_that_the_other_has_not() {
    let folder = folder();
    let plain = file(&folder, "a.log", lines(0..8000, 200, ""));
    let timed = file(&folder, "b.log", lines(0..8000, 200, " 0.005"));
    let costs = ["--times", "costs", "--hit", "5ms", "--miss", "0ms"];
    let p50 = |path: &str| {
        let object = object(&[path], &costs);
        cluster(&object, "wrr", 1)["p50_ms"]["mean"].as_f64().unwrap()
    };
    let (plain, timed) = (p50(&plain), p50(&timed));
    assert!((timed / plain - 1.0).abs() < 0.05, "{timed} ms against {plain} ms");
}

#[test]
fn rotated_logs_are_played_oldest_first_however_they_are_given() {
    let folder = folder();
    let old = file(&folder, "access.log.1", lines(0..4000, 200, ""));
    let new = file(&folder, "access.log", lines(4000..8000, 200, ""));
    let args = |paths: [&str; 2]| [&paths[..], &SMALL, &["--csv"]].concat().join("\n");
    let run = |paths: [&str; 2]| done(&args(paths).split('\n').collect::<Vec<_>>());
    let (newest_first, oldest_first) = (run([&new, &old]), run([&old, &new]));
    assert_eq!(newest_first.0, oldest_first.0);
    assert!(newest_first.1.contains("log 1 of 2 in order of time: "), "{}", newest_first.1);
    assert!(!newest_first.1.contains("came before"), "{}", newest_first.1);
}

#[test]
fn of_logs_that_overlap_those_that_step_back_are_counted() {
    let folder = folder();
    let first = file(&folder, "a.log", lines(0..4000, 200, ""));
    let second = file(&folder, "b.log", lines(2000..6000, 200, ""));
    let (_, said) = done(&[&[first.as_str(), &second], &SMALL[..]].concat());
    // The last stamp of the first log is that of its last 40 requests.
    assert!(said.contains("1960 of its requests came before the last one of"), "{said}");
}

#[test]
fn targets_that_were_sent_in_parts_only_have_a_size_and_a_warning() {
    let folder = folder();
    let path = file(&folder, "a.log", lines(0..4000, 206, ""));
    let (out, said) = done(&[&[path.as_str()], &SMALL[..], &["--json"]].concat());
    assert!(said.contains("Sizes are guesses: 100.0\u{a0}%"), "{said}");
    let object: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(object["log"]["footprint_bytes"], 2_000_000);
    assert_eq!(object["log"]["sizes"]["partial"], 4_000);
}

#[test]
fn a_broken_clock_is_a_bad_line_or_a_word_of_warning() {
    let folder = folder();
    let good = lines(0..4000, 200, "");
    let odd = |year: u32| good.lines().next().unwrap().replace("2015", &year.to_string()) + "\n";
    let path = file(&folder, "a.log", [odd(9999), good.clone(), odd(1999)].concat());
    let (out, said) = done(&[&[path.as_str()], &SMALL[..]].concat());
    assert!(said.contains("a time before 1970 or after 2099"), "{said}");
    assert!(out.contains("1 request is more than a day from all others"), "{out}");
    let path = file(&folder, "b.log", [good.clone(), odd(2035)].concat());
    let (out, said) = done(&[&[path.as_str()], &SMALL[..]].concat());
    assert!(!said.contains("no requests"), "{said}");
    assert!(out.contains("1 request is more than a day from all others"), "{out}");
    let (_, said) = done(&[&[path.as_str()], &SMALL[..], &["--csv"]].concat());
    assert!(said.contains("1 request is more than a day from all others"), "CSV has no head");
    assert_eq!(object(&[&path], &[])["log"]["strays"], 1);
}

#[test]
fn of_a_log_that_is_cut_the_beginning_is_played_and_then_the_error_told() {
    let folder = folder();
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(lines(0..60_000, 200, "").as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let path = file(&folder, "a.log.gz", &packed[..packed.len() / 2]);
    let output = baton(&[&[path.as_str()], &SMALL[..], &["--csv"]].concat(), b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("it breaks off") && said.contains("of them requests"), "{said}");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.lines().count() == 2 && out.contains("wrr"), "{out}");
}

#[test]
fn a_log_with_other_lines_between_its_requests_is_read_and_they_are_counted() {
    let folder = folder();
    let requests = lines(0..1000, 200, "");
    let text: String = requests.lines().map(|line| format!("some message\n{line}\n")).collect();
    let path = file(&folder, "a.log", text);
    let (_, said) = done(&[&[path.as_str()], &SMALL[..]].concat());
    assert!(said.contains("50 of the first 100 lines fit; if it is in another format"), "{said}");
    assert!(said.contains("1000 of 2000 lines are no requests"), "{said}");
}
