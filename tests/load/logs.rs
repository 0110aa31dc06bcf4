//! Logs that are asked again: what of them is compared, and what is told of each class.

use crate::trouble::server_of;
use crate::{Server, ends, load, object, write};
use serde_json::Value;
use std::path::Path;

/// A log of `(status, bytes, URL)`, each by a client of its own.
fn log(folder: &Path, rows: &[(u16, &str, &str)]) -> String {
    let line = |(number, (status, bytes, url)): (usize, &(u16, &str, &str))| {
        format!(
            "10.0.0.{number} - - [17/May/2015:10:00:00 +0000] \
             \"GET {url} HTTP/1.1\" {status} {bytes} \"-\" \"x\"\n"
        )
    };
    write(folder, "a.log", &rows.iter().enumerate().map(line).collect::<String>())
}

#[test]
fn of_a_log_the_length_is_compared_that_a_url_names_and_no_other() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    // The origin draws the lengths of those that name none; copies and parts become whole.
    let rows = [
        (200, "2000", "/t/7"),
        (304, "-", "/t/8"),
        (206, "100", "/t/9"),
        (200, "700", "/static/bytes/700/a"),
        (304, "-", "/static/bytes/700/b"),
        (206, "100", "/cpu/program-17?size=700"),
        (206, "100", "/bytes/700/c?size=9"),
    ];
    let log = log(folder.path(), &rows);
    let found = object(&[&server.url, "--replay", &log, "--speed", "0", "--verify"]);
    assert_eq!((&found["requests"], &found["failed"]), (&7.into(), &0.into()), "{found}");
}

#[test]
fn a_reply_that_is_shorter_than_its_url_says_is_found_whatever_the_log_had() {
    let url = server_of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    for (status, bytes) in [(200, "10"), (200, "0"), (206, "4"), (304, "-")] {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), &[(status, bytes, "/static/bytes/10/a")]);
        let (wrote, said) = ends(&[&url, "--replay", &log, "-q", "--verify"], 1);
        assert!(wrote.contains("failed: 1 by size\n"), "{status}: {wrote}");
        assert!(said.contains("not what should be there"), "{said}");
    }
}

#[test]
fn a_page_that_says_what_is_not_there_is_compared_by_its_status_alone() {
    let reply = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone";
    let url = server_of(reply);
    for (status, code, part) in [(404, 0, "No request failed."), (403, 1, "failed: 1 by status")] {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), &[(status, "9", "/static/bytes/10/a")]);
        let (wrote, _) = ends(&[&url, "--replay", &log, "-q", "--verify"], code);
        let wrote = wrote.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(wrote.contains(part), "{status}: {wrote}");
    }
}

#[test]
fn the_requests_of_a_log_are_of_the_class_that_their_urls_say() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let rows = [
        (200, "9", "/t/7"),
        (200, "9", "/cpu/program-1?size=9"),
        (404, "9", "/cpu/program-2?size=9"),
        (200, "9", "/cpu+disk/bytes/9/1"),
        (200, "9", "/cpu/program-1?size=9"),
    ];
    let log = log(folder.path(), &rows);
    let found = object(&[&server.url, "--replay", &log, "--speed", "0"]);
    let classes = found["classes"].as_array().unwrap();
    let told: Vec<(&str, u64, u64)> = classes
        .iter()
        .map(|class| {
            let count = |key: &str| class[key].as_u64().unwrap();
            (class["class"].as_str().unwrap(), count("requests"), count("failed"))
        })
        .collect();
    assert_eq!(told, [("static", 1, 0), ("cpu", 2, 1), ("cpu+disk", 1, 0)]);
    assert_eq!(classes[1]["failed_by_cause"], serde_json::json!({ "status": 1 }));
    assert_eq!(classes[0]["failed_by_cause"], serde_json::json!({}));
    let rate = |object: &Value| object["requests_s"]["mean"].as_f64().unwrap();
    let sum: f64 = classes.iter().map(rate).sum();
    assert!((sum - rate(&found)).abs() < 0.01 * sum, "{found}");
}

#[test]
fn a_log_and_an_object_have_one_connection_for_each_user_and_the_help_says_so() {
    let help = String::from_utf8(load(&["--help"]).stdout).unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let usual = "[default: the scenario's, or 6; 1 for a log or a single object]";
    assert!(help.contains(usual), "{help}");
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), &[(200, "9", "/t/7")]);
    // Nobody listens there: it is told all the same how it was asked.
    let url = "http://127.0.0.1:1";
    let short = ["--duration", "100ms", "--warm-up", "0s", "--json"];
    let cases: [(&[&str], &str); 4] = [
        (&[url, "--replay", &log], "Each user has one persistent connection"),
        (&["http://127.0.0.1:1/t/7"], "Each user has one persistent connection"),
        (&[url, "--replay", &log, "--connections", "6"], "Each user has up to 6 persistent"),
        (&[url, "--rate", "100"], "Each user has up to 6 persistent connections"),
    ];
    for (args, how) in cases {
        let (wrote, _) = ends(&[args, &short[..]].concat(), 3);
        assert!(wrote.contains(&format!("\"how\":\"{how}")), "{args:?}: {wrote}");
    }
}
