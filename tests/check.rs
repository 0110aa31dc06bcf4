//! The commands that need no switch: `check`, `policies`, `schema`, `completions`, `man`.
//!
//! Each test runs the real program and looks at its output and exit code.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use serde_json::Value;
use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const GOOD: &str = "[listen.a]\naddress = \"127.0.0.1:0\"\n[server.a]\naddress = \"127.0.0.1:1\"\n";

fn baton(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_baton")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A directory with a configuration file in it.
fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("baton.toml");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn check(text: &str, flags: &[&str]) -> Output {
    let (_directory, path) = file(text);
    let mut args = vec!["check", path.to_str().unwrap()];
    args.extend(flags);
    baton(&args)
}

#[test]
fn a_valid_file_is_exit_code_0() {
    let output = check(GOOD, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).ends_with("baton.toml: valid\n"));
}

#[test]
fn an_invalid_file_is_exit_code_1_with_the_line_the_label_and_the_remedy() {
    let output = check(&format!("{GOOD}wieght = 2\n"), &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    let wanted =
        ["baton.toml:5:1", "5 │ wieght = 2", "──────", "did you mean \"weight\"?", "1 error"];
    for part in wanted {
        assert!(text.contains(part), "{part:?} is in:\n{text}");
    }
    assert!(!text.contains('\x1b'), "a pipe gets no colours");
}

#[test]
fn a_program_gets_the_same_as_json() {
    let output = check(&format!("{GOOD}wieght = 2\nweight = 0\n"), &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["ok"], &value["errors"]), (&Value::from(false), &Value::from(2)));
    let problem = &value["problems"][1];
    assert_eq!((&problem["line"], &problem["column"]), (&Value::from(6), &Value::from(10)));
    assert_eq!(problem["source"], "weight = 0");
    assert_eq!(problem["severity"], "error");
    assert!(problem["message"].as_str().unwrap().contains("server.a.weight cannot be 0"));
    assert!(!problem["remedy"].as_str().unwrap().is_empty());
}

#[test]
fn json_has_two_words_and_says_the_same() {
    let one = check(GOOD, &["--format", "json"]).stdout;
    let other = check(GOOD, &["--json"]).stdout;
    assert_eq!(one, other);
    assert!(serde_json::from_slice::<Value>(&one).unwrap()["ok"] == true);
}

#[test]
fn of_two_that_are_the_same_both_are_shown() {
    let text = format!("{GOOD}[queue]\nlength = 1\n[server.a]\naddress = \"127.0.0.1:2\"\n");
    let output = stdout(&check(&text, &[]));
    for part in ["baton.toml:7:9", "3 │ [server.a]", "the first", "7 │ [server.a]"] {
        assert!(output.contains(part), "{part:?} is in:\n{output}");
    }
    let output = stdout(&check(&text, &["--format", "json"]));
    let value: Value = serde_json::from_str(&output).unwrap();
    let first = &value["problems"][0]["first"];
    assert_eq!((&first["line"], &first["column"]), (&Value::from(3), &Value::from(9)), "{output}");
}

#[test]
fn warnings_fail_only_when_they_should() {
    let text = format!("{GOOD}[server.b]\naddress = \"127.0.0.1:1\"\n");
    assert_eq!(check(&text, &[]).status.code(), Some(0));
    assert_eq!(check(&text, &["--strict"]).status.code(), Some(1));
}

#[test]
fn wrong_usage_is_exit_code_2_and_a_missing_file_3() {
    assert_eq!(baton(&["check"]).status.code(), Some(2));
    assert_eq!(baton(&["policies", "lrad"]).status.code(), Some(2));
    let output = baton(&["check", "/nonexistent/baton.toml"]);
    assert_eq!(output.status.code(), Some(3));
    let sentence = String::from_utf8(output.stderr).unwrap();
    assert!(sentence.starts_with("baton: cannot read /nonexistent/baton.toml: "), "{sentence}");
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
}

#[test]
fn connect_finds_what_does_not_work_here_and_now() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let (up, busy) = (server.local_addr().unwrap(), taken.local_addr().unwrap());
    let text = |listen: &str, server: &str| {
        format!("[listen.a]\naddress = \"{listen}\"\n[server.a]\naddress = \"{server}\"\n")
    };
    let good = text("127.0.0.1:0", &up.to_string());
    assert_eq!(check(&good, &["--connect"]).status.code(), Some(0));

    let bad = text(&busy.to_string(), "127.0.0.1:1");
    assert_eq!(check(&bad, &[]).status.code(), Some(0), "valid as far as a file can be");
    let output = check(&bad, &["--connect"]);
    assert_eq!(output.status.code(), Some(3));
    let text = stdout(&output);
    assert!(text.contains(&format!("listener a: cannot bind {busy}")), "{text}");
    assert!(text.contains("server a: cannot connect to 127.0.0.1:1"), "{text}");
}

#[test]
fn a_reader_who_has_seen_enough_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn policies_tell_their_papers_parameters_and_defaults() {
    let text = stdout(&baton(&["policies"]));
    let value: Value = serde_json::from_slice(&baton(&["policies", "--json"]).stdout).unwrap();
    let rows = value.as_array().unwrap();
    assert_eq!(rows.len(), policy::POLICIES.len());
    for (row, entry) in rows.iter().zip(policy::POLICIES) {
        assert_eq!(row["name"], entry.name);
        assert!(text.contains(entry.name));
        let full = stdout(&baton(&["policies", entry.name]));
        assert!(entry.params.iter().all(|param| full.contains(param.name)), "{full}");
        assert!(full.lines().all(|line| line.chars().count() <= 96), "{full}");
    }
}

#[test]
fn the_reference_says_what_the_program_does() {
    let written = include_str!("../docs/configuration.md");
    let now = stdout(&baton(&["schema", "--format", "markdown"]));
    let remedy = "run: baton schema --format markdown > docs/configuration.md";
    assert!(written == now, "docs/configuration.md is stale; {remedy}");
}

#[test]
fn the_schema_knows_every_declared_key() {
    let value: Value = serde_json::from_slice(&baton(&["schema"]).stdout).unwrap();
    for section in baton::config::keys::SECTIONS {
        for key in section.keys {
            let table = if section.name.is_empty() {
                &value
            } else {
                let table = &value["properties"][section.name];
                let inner = ["additionalProperties", "items"].map(|name| &table[name]);
                inner.into_iter().find(|inner| inner.is_object()).unwrap_or(table)
            };
            let about = &table["properties"][key.name]["description"];
            assert_eq!(about, key.about, "{}.{}", section.name, key.name);
        }
    }
}

#[test]
fn shells_and_man_know_every_subcommand() {
    let subcommands = ["run", "check", "explain", "status", "policies", "demo", "origin"];
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&baton(&["completions", shell]));
        assert!(subcommands.iter().all(|name| script.contains(name)), "{shell}");
    }
    let page = stdout(&baton(&["man", "baton"]));
    assert!(subcommands.iter().all(|name| page.contains(name)), "{page}");
    let list = stdout(&baton(&["man"]));
    let listed = |name: &&str| list.lines().any(|line| line.starts_with(&format!("{name} ")));
    assert!(listed(&"baton") && subcommands.iter().all(listed), "{list}");
    assert_eq!(baton(&["man", "nothing"]).status.code(), Some(2));
    assert!(stdout(&baton(&["man", "explain"])).contains("Nothing is chosen by asking"));
}
