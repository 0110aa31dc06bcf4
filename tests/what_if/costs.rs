//! What requests cost: by the log, and by what the user says instead.

use super::{Format, baton, cluster, done, file, folder, log, object, refused};

/// The median of a cluster of one server, in milliseconds, and how busy it is.
fn median_and_work(args: &[&str]) -> (f64, f64) {
    let setting = ["--servers", "1", "--cache", "16MiB", "--policy", "wrr", "--seeds", "1"];
    let told = object(&[args, &setting[..], &["--json"]].concat());
    let one = cluster(&told, "wrr", 1);
    (one["p50_ms"]["mean"].as_f64().unwrap(), one["work"]["mean"].as_f64().unwrap())
}

#[test]
fn what_the_user_says_goes_before_what_the_log_says() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Json));
    let as_logged = median_and_work(&[&path]);
    assert!(as_logged.0 < 5.0, "{as_logged:?}");
    for (args, least_ms) in [(["--hit", "40ms"], 40.0), (["--demand", "static=cpu:60ms"], 60.0)] {
        let (median_ms, work) = median_and_work(&[&[path.as_str()], &args[..]].concat());
        assert!(median_ms >= least_ms, "{args:?}: {median_ms}");
        assert!(work > 0.1, "{args:?}: four requests a second of {least_ms} ms: {work}");
    }
}

#[test]
fn a_slow_client_does_not_make_a_busy_server() {
    let folder = folder();
    // Four requests a second that each take the client half a second or more.
    let slow = log(Format::Timed).replace(" 0.0", " 0.9");
    let path = file(&folder, "a.log", slow);
    let (median_ms, work) = median_and_work(&[&path]);
    assert!((850.0..1_000.0).contains(&median_ms), "{median_ms}");
    assert!(work < 0.1, "{work}");
    let (out, _) = done(&[&path, "--servers", "1", "--policy", "wrr", "--seeds", "1"]);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("until the client had everything"), "{out}");
    assert!(words.contains("does not tell hits from misses"), "{out}");
}

#[test]
fn hits_are_compared_on_the_requests_that_the_log_judges() {
    let folder = folder();
    // Half of the requests are of a kind that the log says nothing about.
    let text = log(Format::Json).replace("\"expect\":\"miss\"", "\"expect\":\"\"");
    let path = file(&folder, "a.log", text);
    let (out, _) = done(&[&path, "--servers", "1", "--policy", "wrr", "--seeds", "1", "--live"]);
    let line = out.lines().find(|line| line.contains("hit ratio")).unwrap();
    assert!(line.contains("logged     100.00"), "{line}");
    // Twenty targets are judged, each of them read once.
    let simulated = line.split("simulated").nth(1).unwrap().split_whitespace().next().unwrap();
    assert!(simulated.parse::<f64>().unwrap() > 98.0, "{line}");
}

#[test]
fn a_disk_of_ones_own_replaces_that_of_the_paper() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined));
    let p99_ms = |args: &[&str]| {
        let setting = ["--servers", "1", "--cache", "200KiB", "--policy", "wrr", "--seeds", "1"];
        let told = object(&[&[path.as_str(), "--json"], args, &setting[..]].concat());
        cluster(&told, "wrr", 1)["p90_ms"]["mean"].as_f64().unwrap()
    };
    assert!(p99_ms(&[]) > 28.0);
    let quick = p99_ms(&["--disk", "first:0.1ms,page:0.01ms"]);
    assert!((0.15..4.0).contains(&quick), "{quick}");
    refused(&[&path, "--disk", "4ms"], b"", 2);
}

#[test]
fn what_does_not_fit_into_memory_is_not_taken_from_standard_input() {
    let text = log(Format::Combined);
    let args = ["-", "--servers", "2..16", "--policy", "all", "--memory", "100KiB"];
    let said = refused(&args, text.as_bytes(), 1);
    assert!(said.contains("--memory") && said.contains("as a file"), "{said}");
    let output = baton(&["-", "--servers", "2", "--policy", "wrr"], text.as_bytes());
    assert!(output.status.success());
}
