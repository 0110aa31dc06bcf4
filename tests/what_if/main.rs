//! `baton sim` as its user meets it.
//!
//! Method: the real program, on small logs written here in several formats and on the trace that
//! ships; its table, JSON, CSV and page, its exit codes and what it says on standard error.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod costs;
mod mistakes;
mod page;
mod reading;
mod sure;

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// How a line of a log is written.
#[derive(Clone, Copy)]
enum Format {
    Combined,
    /// nginx with the request's time behind it.
    Timed,
    /// Baton's own.
    Json,
}

fn baton(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_baton"))
        .arg("sim")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that ends before it has read everything is judged by its exit code.
    let _early = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// What it wrote and what it said, when it must have gone well.
fn done(args: &[&str]) -> (String, String) {
    let output = baton(args, b"");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

fn object(args: &[&str]) -> Value {
    serde_json::from_str(&done(args).0).unwrap()
}

/// What it said, when it must have ended with this code.
fn refused(args: &[&str], input: &[u8], code: i32) -> String {
    let output = baton(args, input);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// A log of 4,000 requests, four a second, for 200 targets of 20 KB, the low numbers more often.
fn log(format: Format) -> String {
    let mut seed = 7_u64;
    let mut draw = |end: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % end
    };
    let mut text = String::new();
    for number in 0..4_000_u64 {
        let limit = 1 + draw(200);
        let (target, client) = (draw(limit), draw(40));
        let (hour, minute, second) = (number / 14_400, number / 240 % 60, number / 4 % 60);
        let stamp = format!("17/May/2015:{:02}:{minute:02}:{second:02} +0000", 10 + hour);
        let hit = target < 20;
        let ms = if hit { 2 } else { 30 };
        let line = match format {
            Format::Combined => format!(
                "10.0.0.{client} - - [{stamp}] \"GET /t/{target} HTTP/1.1\" 200 20000 \"-\" \"x\"\n"
            ),
            Format::Timed => format!(
                "10.0.0.{client} - - [{stamp}] \"GET /t/{target} HTTP/1.1\" 200 20000 \"-\" \"x\" \
                 0.{ms:03}\n"
            ),
            Format::Json => format!(
                "{{\"time_ms\":{},\"client\":\"10.0.0.{client}\",\"method\":\"GET\",\
                 \"host\":\"w.example\",\"path\":\"/t/{target}\",\"status\":200,\"bytes\":20000,\
                 \"bytes_out\":20200,\"server\":\"s{}\",\"expect\":\"{}\",\"first_byte_ms\":{ms},\
                 \"total_ms\":{ms}}}\n",
                1_431_856_800_000 + number * 250,
                number % 2 + 1,
                if hit { "hit" } else { "miss" }
            ),
        };
        text += &line;
    }
    text
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn file(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Figures of the cluster of a policy with so many servers.
fn cluster<'a>(object: &'a Value, policy: &str, servers: u64) -> &'a Value {
    let clusters = object["clusters"].as_array().unwrap();
    let fits = |one: &&Value| one["policy"] == policy && one["servers"] == servers;
    clusters.iter().find(fits).unwrap()
}

#[test]
fn every_format_is_found_out_and_gives_the_same_hits() {
    let folder = folder();
    let mut ratios = Vec::new();
    for (name, format) in
        [("a.log", Format::Combined), ("b.log", Format::Timed), ("c.log", Format::Json)]
    {
        let path = file(&folder, name, log(format));
        let args = ["--servers", "4", "--cache", "1MiB", "--policy", "lard", "--seeds", "1"];
        let args = [&[path.as_str(), "--json"], &args[..]].concat();
        let (out, said) = done(&args);
        assert!(said.contains("read as ") && said.contains("% sure"), "{said}");
        let object: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(object["log"]["requests"], 4_000, "{name}");
        assert_eq!(object["setup"]["times"], if name == "a.log" { "costs" } else { "log" });
        let read = cluster(&object, "lard", 4);
        ratios.push(read["hit_ratio"]["mean"].as_f64().unwrap());
    }
    assert!(ratios[0] > 0.5, "{ratios:?}");
    // Reads that take longer are joined more often, which is no hit.
    assert!(ratios.iter().all(|ratio| (ratio - ratios[0]).abs() < 0.03), "{ratios:?}");
}

#[test]
fn a_pattern_and_a_name_are_formats_too_and_standard_input_is_a_log() {
    let text = log(Format::Combined);
    let pattern = "$remote_addr - - [$time_local] \"$request\" $status $body_bytes_sent \
                   \"$http_referer\" \"$http_user_agent\"";
    for format in ["combined", pattern] {
        let args = ["-", "--format", format, "--servers", "2", "--policy", "wrr", "--csv"];
        let output = baton(&args, text.as_bytes());
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows: Vec<&str> = out.lines().collect();
        assert_eq!(rows.len(), 3, "a header and two caches: {out}");
        let columns = rows[0].split(',').count();
        assert!(rows.iter().all(|row| row.split(',').count() == columns), "{out}");
        assert!(rows[1].starts_with("wrr,2,268435456,3,4000,"), "{out}");
    }
}

#[test]
fn the_table_and_the_advice_answer_the_question() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let args = [&path, "--servers", "2..8", "--cache", "400KiB", "--policy", "wrr,lard-r"];
    let (out, _) = done(&args.map(|arg| arg as &str));
    let rows = out.lines().filter(|line| line.contains(" wrr ") || line.contains(" lard-r "));
    assert_eq!(
        rows.filter(|line| line.trim_start().starts_with(['2', '4', '8'])).count(),
        6,
        "{out}"
    );
    let words: String = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("With 8 servers of 400KiB, lard-r answers"), "{words}");
    assert!(words.contains("the choice still matters with 8 servers"), "{words}");
    assert!(words.contains("times the capacity of wrr"), "{words}");
    assert!(words.contains("[sure:") || words.contains("[likely:"), "{words}");
}

#[test]
fn a_log_too_small_for_the_question_is_called_so() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let (out, _) = done(&[&path, "--servers", "2,4", "--cache", "1GiB", "--seeds", "1"]);
    let words: String = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The log is too small for this question"), "{words}");
    assert!(words.contains("not sure: the log is too small"), "{words}");
}

#[test]
fn the_object_has_the_promised_keys_and_intervals() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let args =
        [&path, "--servers", "1,4", "--cache", "400KiB", "--policy", "random,lard", "--json"];
    let object = object(&args.map(|arg| arg as &str));
    assert_eq!(object["version"], 1);
    assert_eq!(object["logs"][0]["lines"], 4_000);
    for key in ["requests", "targets", "footprint_bytes", "span_s", "rate_rps", "clients"] {
        assert!(object["log"][key].as_f64().unwrap() > 0.0, "{key}");
    }
    assert_eq!(object["clusters"].as_array().unwrap().len(), 4);
    for one in object["clusters"].as_array().unwrap() {
        for key in [
            "throughput_rps",
            "capacity_rps",
            "hit_ratio",
            "byte_hit_ratio",
            "p50_ms",
            "p90_ms",
            "p99_ms",
            "imbalance",
            "replicated_targets",
            "work",
        ] {
            let (mean, half) = (&one[key]["mean"], &one[key]["half_width"]);
            assert!(mean.is_f64() && half.is_f64(), "{key}: {one}");
        }
        let reasons = one["reasons"].as_object().unwrap().values();
        let sum: f64 = reasons.map(|share| share.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{one}");
        assert!(!one["parts"].as_array().unwrap().is_empty());
    }
    let hottest = &object["hottest"][0];
    assert_eq!(hottest["url"], "/t/0");
    assert_eq!(hottest["homes"].as_array().unwrap().len(), 4);
    assert!(!object["advice"].as_array().unwrap().is_empty());
}

#[test]
fn threads_and_repetition_cannot_be_seen_in_the_figures() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let run = |threads: &str| {
        done(&[
            &path,
            "--servers",
            "2,4",
            "--policy",
            "random,lard-r",
            "--csv",
            "--threads",
            threads,
        ])
        .0
    };
    assert_eq!(run("1"), run("3"));
}

#[test]
fn clusters_that_do_not_fit_into_memory_wait_for_another_reading() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let run = |memory: &str| {
        let args = [&path, "--servers", "2,8", "--policy", "wrr,lard-r", "--csv", "--memory"];
        done(&[&args[..], &[memory]].concat()).0
    };
    assert_eq!(run("1KiB"), run("1GiB"), "one run of each thread at a time, and the same figures");
}

#[test]
fn logs_one_behind_the_other_are_one_log() {
    let folder = folder();
    let text = log(Format::Combined);
    let middle = text.match_indices('\n').nth(1_999).unwrap().0 + 1;
    let (whole, first, second) = (
        file(&folder, "whole.log", &text),
        file(&folder, "1.log", &text[..middle]),
        file(&folder, "2.log", zstd::encode_all(&text.as_bytes()[middle..], 1).unwrap()),
    );
    let args = ["--servers", "3", "--policy", "lard", "--csv"];
    let one = done(&[&[whole.as_str()], &args[..]].concat()).0;
    assert_eq!(one, done(&[&[first.as_str(), &second], &args[..]].concat()).0);
}

#[test]
fn a_closed_loop_tells_what_the_cluster_can_do() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let args =
        [&path, "--servers", "4", "--cache", "1MiB", "--policy", "lard", "--json", "--closed"];
    let object = object(&args.map(|arg| arg as &str));
    let lard = cluster(&object, "lard", 4);
    let mean = |key: &str| lard[key]["mean"].as_f64().unwrap();
    assert!(mean("throughput_rps") > 40.0, "ten times the log's rate");
    assert!(mean("capacity_rps") > mean("throughput_rps"), "once caches are warm it is more");
}

#[test]
fn more_than_servers_can_do_is_no_percentile() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let args = [&path, "--servers", "1", "--cache", "100KiB", "--policy", "wrr", "--speed", "100"];
    let (out, _) = done(&args.map(|arg| arg as &str));
    let row = out.lines().find(|line| line.contains(" wrr ")).unwrap();
    assert!(row.contains("not sustainable"), "{out}");
    let words: String = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("latencies only tell how long the log is"), "{out}");
}

#[test]
fn what_the_log_measured_is_held_against_the_simulation() {
    let folder = folder();
    let path = file(&folder, "c.log", log(Format::Json));
    let args = [&path, "--servers", "2", "--cache", "1MiB", "--policy", "wrr", "--live"];
    let (out, _) = done(&args.map(|arg| arg as &str));
    let tail = out.split("Beside what the log itself measured").nth(1).unwrap();
    for figure in ["hit ratio", "p50", "p99", "busiest server's requests"] {
        assert!(tail.contains(figure), "{figure}: {tail}");
    }
    let object = object(&[&args.map(|arg| arg as &str)[..], &["--json"]].concat());
    let figures = object["live"][0]["figures"].as_array().unwrap();
    let logged = |name: &str| {
        let one = figures.iter().find(|one| one["figure"].as_str().unwrap().starts_with(name));
        one.unwrap()["logged"].as_f64().unwrap()
    };
    assert!((logged("p99") - 30.0).abs() < 0.6, "{figures:?}");
    for value in figures.iter().flat_map(|one| [&one["logged"], &one["simulated"], &one["error"]]) {
        let digits = value.to_string();
        let decimals = digits.split('.').nth(1).map_or(0, str::len);
        assert!(decimals <= 3, "{digits} is no more exact for its digits");
    }
    assert!((logged("busiest") - 1.0).abs() < 1e-9, "{figures:?}");
}

#[test]
fn rules_and_demands_say_which_requests_are_heavy() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let rules = "[listen.a]\naddress = \":1\"\n[server.a]\naddress = \"127.0.0.1:1\"\n\
                 [classes]\nnames = [\"slow\"]\n\
                 [[rule]]\npath_prefix = [\"/t/1\"]\nclass = \"slow\"\n";
    let rules = file(&folder, "baton.toml", rules);
    let work = |more: &[&str]| {
        let args = [&path, "--servers", "2", "--policy", "wrr", "--json", "--rules", &rules];
        let args = args.map(|arg| arg as &str);
        let object = object(&[&args[..], more].concat());
        cluster(&object, "wrr", 2)["work"]["mean"].as_f64().unwrap()
    };
    let plain = work(&[]);
    let heavy = work(&["--demand", "slow=disk:200ms,cacheable:0"]);
    assert!(heavy > plain * 3.0, "{plain} {heavy}");
}

#[test]
fn the_trace_that_ships_is_a_log_too() {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let found = fs::read_dir(shipped).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let traces: Vec<_> =
        found.filter(|path| path.extension().is_some_and(|e| e == "zst")).collect();
    assert!(!traces.is_empty(), "the demonstration's trace is there");
    for path in traces {
        let args = [path.to_str().unwrap(), "--servers", "2", "--policy", "lard", "--seeds", "1"];
        let (out, _) = done(&[&args[..], &["--cache", "64MiB"]].concat());
        assert!(out.contains("Advice"), "{out}");
    }
}
