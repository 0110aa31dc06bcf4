//! `baton load` as its user meets it.
//!
//! Method: the real program asks a real `baton origin` in a process of its own, whose model takes
//! no time; its table, JSON, CSV, pictures and page, its exit codes and what it says.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod logs;
mod trouble;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// An emulated server that answers at once.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn new() -> Self {
        let mut child = baton(&["origin", "--listen", "127.0.0.1:0", "--time-scale", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listens on") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "the origin says where it listens");
        }
        // Who would write to a pipe that nobody reads is stopped by it.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let address = line.split_whitespace().last().unwrap();
        Self { url: format!("http://{address}"), child }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn baton(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(args);
    command
}

fn load(args: &[&str]) -> Output {
    baton(&["load"]).args(args).output().unwrap()
}

/// What it wrote and what it said, when it must have ended with this code.
fn ends(args: &[&str], code: i32) -> (String, String) {
    let output = load(args);
    let said = String::from_utf8(output.stderr).unwrap();
    let wrote = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{wrote}\n{said}");
    assert!(!said.contains("panicked") && !said.contains('\u{1b}'), "{said}");
    (wrote, said)
}

fn object(args: &[&str]) -> Value {
    let (wrote, _) = ends(&[args, &["--json"]].concat(), 0);
    serde_json::from_str(&wrote).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A row of the table of latencies.
fn row<'a>(object: &'a Value, of: &str, class: Option<&str>) -> &'a Value {
    let rows = object["latency"].as_array().unwrap();
    rows.iter().find(|row| row["of"] == of && row["class"].as_str() == class).unwrap()
}

/// Users who do not think long, so that a short run has pages enough.
const HASTY: &str = "base = \"clubweb-cpu\"\nname = \"hasty\"\n[session]\nthink_s = 0.05\n\
                     [site]\ndocuments = 50\nobjects = 100\n";

#[test]
fn users_come_look_at_pages_and_are_reported() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let scenario = write(folder.path(), "hasty.toml", HASTY);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, svg, html) = (path("a.csv"), path("a.svg"), path("a.html"));
    let args = ["--scenario", &scenario, "--rate", "20", "--duration", "3s", "--warm-up", "500ms"];
    let files = ["--csv", &csv, "--svg", &svg, "--html", &html, "--verify"];
    let found = object(&[&[server.url.as_str()], &args[..], &files].concat());
    assert_eq!(found["scenario"], "hasty");
    assert_eq!((&found["failed"], &found["stopped"]), (&0.into(), &false.into()));
    let sessions = found["sessions"].as_u64().unwrap();
    assert!((20..=120).contains(&sessions), "60 are expected: {sessions}");
    assert!(found["pages"].as_u64().unwrap() > sessions, "{found}");
    assert!(found["requests"].as_u64() > found["pages"].as_u64());
    assert!(found["hit_ratio"]["mean"].as_f64().unwrap() > 0.0, "the origin tells of its cache");
    for (of, class) in [("requests", None), ("pages", None), ("requests", Some("cpu"))] {
        let row = row(&found, of, class);
        let ms = |from: &str, share: &str| row[from][share]["mean"].as_f64().unwrap();
        assert!(ms("due_ms", "p50") <= ms("due_ms", "max"));
        assert!(ms("due_ms", "max") >= ms("sent_ms", "max"), "no wait is hidden: {row}");
        assert!(row["due_ms"]["p50"]["half_width"].is_null(), "one run has no interval");
    }
    assert!(found["command"].as_str().unwrap().ends_with("--json --seed 1"), "{found}");
    a_table_is_whole(&fs::read_to_string(csv).unwrap());
    a_page_needs_nothing_else(&fs::read_to_string(html).unwrap());
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("Latency by percentile") && svg.matches("<polyline").count() >= 4);
}

fn a_table_is_whole(csv: &str) {
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0][..4], ["run", "at_s", "sessions", "pages"]);
    assert!(lines.len() >= 4, "a row for each second: {csv}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
}

fn a_page_needs_nothing_else(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    for tag in ["svg", "table", "figure", "div", "details"] {
        let opened = page.matches(&format!("<{tag}")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        assert!(opened > 0, "{tag}");
    }
    for loads in ["src=", "href=", "<script", "@import", "url("] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    for part in ["How to repeat it", "--seed 1", "think_s = 0.05", "Not emulated"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_keys_of_the_object_stay() {
    let server = Server::new();
    let url = format!("{}/static/bytes/100/a", server.url);
    let found = object(&[&url, "--duration", "2s", "--warm-up", "0s", "--clients", "2"]);
    let keys: Vec<&str> = found.as_object().unwrap().keys().map(String::as_str).collect();
    let wanted = "asked body_bytes body_mbit_s caveats classes client command connections \
                  connections_s cut_off each examples failed failed_by_cause headline hit_ratio \
                  how latency oldest_unanswered pages pages_cut_off pages_failed pages_s requests \
                  requests_s resent runs scenario \
                  seed sessions sessions_cut_off sessions_failed stopped took_s url version when";
    assert_eq!(keys.join(" "), wanted);
    assert_eq!(found["version"], 1);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(row(&found, "requests", None)),
        ["class", "count", "cut_off", "due_ms", "of", "sent_ms"]
    );
    assert_eq!(
        keys(&found["client"]),
        [
            "bottleneck",
            "busy",
            "cpu_request_us",
            "late_p99_ms",
            "not_begun",
            "turned_away",
            "waited"
        ]
    );
}

#[test]
fn one_object_is_asked_for_by_users_at_a_time() {
    let server = Server::new();
    let url = format!("{}/static/bytes/1000/a", server.url);
    let (wrote, said) = ends(&[&url, "--duration", "3s", "--warm-up", "100ms", "-q"], 0);
    assert!(said.is_empty(), "{said}");
    for part in
        ["64 users at a time", "No request failed.", "latency from when it was due", "p99.9"]
    {
        assert!(wrote.contains(part), "{part}:\n{wrote}");
    }
    let found = object(&[&url, "--rate", "100", "--duration", "4s", "--warm-up", "0s"]);
    let requests = found["requests"].as_u64().unwrap();
    assert!((150..=600).contains(&requests), "an open loop asks as often as it should: {requests}");
    assert_eq!(found["body_bytes"].as_u64().unwrap() % 1000, 0);
}

#[test]
fn a_log_is_asked_again_to_its_end() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let line = |number: u32| {
        let (client, second) = (number % 5, number / 5);
        format!(
            "10.0.0.{client} - - [17/May/2015:10:00:{second:02} +0000] \
             \"GET /t/{number} HTTP/1.1\" 200 2000 \"-\" \"x\"\n"
        )
    };
    let log = write(folder.path(), "a.log", &(0..60).map(line).collect::<String>());
    let found = object(&[&server.url, "--replay", &log, "--speed", "20"]);
    let settled = found["requests"].as_u64().unwrap() + found["failed"].as_u64().unwrap();
    assert_eq!(settled, 60, "{found}");
    assert!(found["took_s"].as_f64().unwrap() < 10.0, "twenty times as fast as logged");
}

#[test]
fn several_runs_have_intervals_on_the_same_site() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let scenario = write(folder.path(), "hasty.toml", HASTY);
    let args = [&server.url, "--scenario", &scenario, "--duration", "3s", "--warm-up", "0s"];
    let found = object(&[&args[..], &["--runs", "2", "--rate", "30"]].concat());
    assert_eq!(found["each"].as_array().unwrap().len(), 2);
    for figure in [&found["requests_s"], &row(&found, "requests", None)["due_ms"]["p50"]] {
        assert!(figure["half_width"].as_f64().unwrap() > 0.0, "{figure}");
    }
    let first = &found["each"][0]["requests_s"];
    assert_ne!(first, &found["each"][1]["requests_s"], "other users came");
}

#[test]
fn another_shape_of_gaps_keeps_the_rate() {
    let server = Server::new();
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{HASTY}[arrivals]\nrate = 40\n");
    let scenario = write(folder.path(), "own.toml", &text);
    let args = [&server.url, "--scenario", &scenario, "--arrivals", "constant"];
    let found = object(&[&args[..], &["--duration", "2990ms", "--warm-up", "0s"]].concat());
    assert!(found["when"].as_str().unwrap().starts_with("40 sessions a second"), "{found}");
    assert_eq!(found["sessions"], 119, "one each 25 ms, from the first of them on");
}

#[test]
fn ctrl_c_ends_it_with_a_report() {
    let server = Server::new();
    let mut child = baton(&["load", &server.url, "--duration", "10m", "--warm-up", "0s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("measuring") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "a line tells how it goes");
    }
    assert!(line.contains("requests/s") && line.contains("left"), "{line}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let wrote = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{wrote}");
    assert!(wrote.contains("Ctrl-C ended it") && wrote.contains("latency from"), "{wrote}");
}

#[test]
fn a_site_is_written_as_its_server_has_it() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let text = HASTY.replace("clubweb-cpu", "publishing-static");
    let scenario = write(folder.path(), "hasty.toml", &text);
    let tree = folder.path().join("site");
    let args = [&server.url, "--scenario", &scenario, "--write-site", tree.to_str().unwrap()];
    let (_, said) = ends(&args, 0);
    assert!(said.contains("150 files with "), "{said}");
    let host = server.url.trim_start_matches("http://");
    let mut folders = vec![tree.clone()];
    let mut files = 0;
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let url = format!("/{}", path.strip_prefix(&tree).unwrap().display());
            let target = origin::content::target(Some(host), &url);
            let bytes = fs::read(&path).unwrap();
            assert!(origin::content::verify(target, 0, &bytes), "{url}");
            assert!(url.contains(&format!("/bytes/{}/", bytes.len())), "{url}");
            files += 1;
        }
    }
    assert_eq!(files, 150);
}

#[test]
fn scenarios_are_printed_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (usual, _) = ends(&["--print-scenario"], 0);
    assert!(usual.starts_with("# ClubWeb's CPU-bound model"), "{usual}");
    let (disk, _) = ends(&["--print-scenario", "clubweb-disk"], 0);
    assert!(disk.contains("name = \"clubweb-disk\""));
    let scenario = write(folder.path(), "hasty.toml", HASTY);
    let (own, _) = ends(&["--scenario", &scenario, "--print-scenario"], 0);
    let again = write(folder.path(), "again.toml", &own);
    let (second, _) = ends(&["--scenario", &again, "--print-scenario"], 0);
    assert_eq!(own, second, "what is printed reads as what it was");
    assert!(own.contains("think_s = 0.05") && own.contains("documents = 50"));
}

#[test]
fn mistakes_are_said_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = write(folder.path(), "wrong.toml", "base = \"clubweb-cpu\"\n[page]\nobject = 3\n");
    let url = "http://127.0.0.1:1";
    let line = "10.0.0.1 - - [17/May/2015:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 20 \"-\" \"x\"\n";
    let log = write(folder.path(), "a.log", line);
    let table: [(&[&str], i32, &str); 17] = [
        (&["https://a.example"], 2, "is for TLS, which is not spoken here; write http://HOST"),
        (&["http://none.invalid"], 3, "there is no host \"none.invalid\""),
        (&[url, "--mix", "clubweb"], 2, "there is no scenario \"clubweb\"; there are"),
        (&[url, "--mix", "comerce-a"], 2, "did you mean \"commerce-a\"?"),
        (&[url, "--scenario", &wrong], 1, "there is no key \"object\" in [page]"),
        (&[url, "--scenario", &wrong], 1, "did you mean \"objects\"?"),
        (&[url, "--scenario", "none.toml"], 3, "cannot read none.toml"),
        (&[url, "--rate", "0"], 2, "--rate 0 is none; write a number above 0, such as 50"),
        (&[url, "--ramp", "5-80"], 2, "--ramp \"5-80\" is no ramp; write one such as 5..80"),
        (&[url, "--steps", "5:10"], 2, "\"5:10\" of --steps is no step"),
        (&[url, "--connections", "7"], 2, "write 1 to 6, pipelined or http10"),
        (&[url, "--replay", &log, "--ramp", "1..5"], 2, "--ramp over a log needs its time"),
        (&[url, "--replay", &log, "--arrivals", "weibull"], 2, "needs --rate"),
        (&[url, "--csv", "/nowhere/a.csv"], 3, "cannot write /nowhere/a.csv"),
        (&[url, "--arrivals", "logged"], 2, "--arrivals logged needs a log: --replay LOG"),
        (&["http://127.0.0.1:1/a", "--mix", "commerce-a"], 2, "write the URL without one"),
        (&[url, "--duration", "300ms", "--warm-up", "0s"], 3, "nothing was answered"),
    ];
    for (args, code, part) in table {
        let (wrote, said) = ends(args, code);
        assert!(said.contains(part), "{args:?}: {said}");
        assert_eq!(wrote.is_empty(), part != "nothing was answered", "before the run: {wrote}");
    }
}
