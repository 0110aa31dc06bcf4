//! What is wrong with a log or a command line, and what is said of it.

use super::{Format, done, file, folder, log, object, refused};
use std::fs;

#[test]
fn what_is_no_request_is_counted_and_shown() {
    let folder = folder();
    let text = log(Format::Combined) + "garbage\n10.0.0.1 - - [when] \"GET / HTTP/1.1\" 200 1\n";
    let path = file(&folder, "a.log", text);
    let (_, said) = done(&[&path, "--servers", "2", "--policy", "wrr"]);
    assert!(said.contains("2 of 4002 lines are no requests"), "{said}");
    assert!(said.contains("line 4001: ") && said.contains("no valid time"), "{said}");
}

#[test]
fn what_was_passed_over_stands_at_the_head_of_every_report() {
    let folder = folder();
    let told = "2 of 4,002 lines (less than 0.1\u{a0}%) are no requests and were not played.";
    let path = file(&folder, "a.log", log(Format::Combined) + "garbage\nand more\n");
    let page = folder.path().join("report.html");
    let args = [&path, "--servers", "2", "--policy", "wrr", "--seeds", "1"];
    let args = args.map(|arg| arg as &str);
    let (out, _) = done(&[&args[..], &["--html", page.to_str().unwrap()]].concat());
    let head = out.split("cache of").next().unwrap();
    assert!(head.contains(told), "{out}");
    assert!(!out.split("Advice").nth(1).unwrap().contains("no requests"), "few are no advice");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.split("Advice").next().unwrap().contains(told), "at the page's head");
    let object = object(&[&args[..], &["--json"]].concat());
    assert_eq!(object["caveats"][0], told);
    assert_eq!(
        (&object["log"]["lines"], &object["log"]["rejected_lines"]),
        (&4_002.into(), &2.into())
    );
}

#[test]
fn with_many_lines_passed_over_the_advice_begins_with_that() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined) + &"garbage\n".repeat(600));
    let args = [&path, "--servers", "2", "--policy", "wrr,lard", "--seeds", "1", "--json"];
    let object = object(&args.map(|arg| arg as &str));
    let first = object["advice"][0]["text"].as_str().unwrap();
    assert!(first.starts_with("600 of 4,600 lines (13.0\u{a0}%) are no requests"), "{first}");
}

#[test]
fn a_log_of_which_no_cache_can_answer_anything_is_told_so_once() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Combined).replace("GET", "POST"));
    let args = [&path, "--servers", "2,4", "--policy", "wrr,lard", "--seeds", "1"];
    let (out, _) = done(&args.map(|arg| arg as &str));
    let advice = out.split("Advice").nth(1).unwrap();
    assert!(advice.contains("Nothing in this log may come from a cache"), "{out}");
    for wrong in ["All targets together", "too small", "--cache", "holds all"] {
        assert!(!advice.contains(wrong), "{wrong}: {advice}");
    }
}

#[test]
fn mistakes_get_one_clear_answer_and_the_right_exit_code() {
    let folder = folder();
    let good = file(&folder, "a.log", log(Format::Combined));
    let empty = file(&folder, "empty.log", "");
    let noise = file(&folder, "noise.log", "nothing\nof\nthe kind\n");
    let table: [(&[&str], i32, &str); 12] = [
        (&[&empty], 1, "there is nothing in it"),
        (&[&noise], 1, "no known format fits it"),
        (&[&noise, "--format", "combined"], 1, "none of the log's 3 lines is a request"),
        (&["/no/such/file.log"], 3, "cannot read /no/such/file.log"),
        (&[&good, "--policy", "lrad"], 1, "did you mean \"lard\"?"),
        (&[&good, "--format", "combnied"], 2, "did you mean \"combined\"?"),
        (&[&good, "--servers", "16..2"], 2, "is no number of servers"),
        (&[&good, "--cache", "4"], 2, "32MiB"),
        (&[&good, "--costs", "flush"], 2, "known: asplos, apache, flash"),
        (&[&good, "--times", "log"], 1, "the log has no times"),
        (&[&good, "--set", "policy.t_high=x"], 1, "policy.t_high cannot be"),
        (&[&good, "--demand", "nil=cpu:1ms"], 2, "there is no class"),
    ];
    for (args, code, words) in table {
        let said = refused(args, b"", code);
        assert!(said.contains(words), "{args:?}: {said}");
    }
}
