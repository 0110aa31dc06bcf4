//! Method: `baton testbed demo` as a process, as root, in its short form. Its last line (JSON) is
//! held against itself and against what it wrote: the capture, the picture, the log. Where there
//! cannot be a test bed, that is said past the capture of output.

#![cfg(feature = "oneway")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long to wait for what is to happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn demo(out: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(["testbed", "demo", "--out"]).arg(out).args(words);
    command
}

/// Whether it can be shown here. tcpdump is as needed as what a test bed needs.
fn possible() -> bool {
    testbed::possible() && {
        let missing = baton::demo::oneway::missing();
        assert!(missing.is_empty() || std::env::var_os("BATON_NO_SKIP").is_none(), "{missing:?}");
        if !missing.is_empty() {
            baton::exit::say(format_args!("SKIPPED: {}", missing.join("; ")));
        }
        missing.is_empty()
    }
}

fn strings<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let all = list.as_array().unwrap().iter();
    all.filter_map(|one| one[key].as_str()).collect()
}

/// Beds of a process, whole or in part.
fn beds_of(process: u32) -> Vec<String> {
    let of = format!("p{process}-");
    testbed::beds().into_iter().filter(|name| name.starts_with(&of)).collect()
}

/// What a run found, and the text before.
fn shown(words: &[&str]) -> (Value, String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = demo(folder.path(), words);
    let running =
        command.args(["--requests", "20", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = running.spawn().unwrap();
    let process = running.id();
    let Output { status, stdout, stderr } = running.wait_with_output().unwrap();
    let (text, said) = (String::from_utf8(stdout).unwrap(), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(0), "{text}{said}");
    assert_eq!(beds_of(process), [""; 0]);
    let found = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    (found, text, folder)
}

#[test]
fn one_connection_is_answered_by_several_servers_and_what_is_said_of_it_is_so() {
    if !possible() {
        return;
    }
    let (found, text, folder) = shown(&[]);
    let requests = &found["one_way"]["requests"];
    let servers = strings(requests, "answered_by");
    let hows = strings(requests, "delivery");
    assert_eq!((servers.len(), hows.len()), (12, 12), "the switch speaks of every request");
    assert_eq!(hows[0], "handoff");
    for (at, how) in hows.iter().enumerate().skip(1) {
        let expected = if servers[at] == servers[at - 1] { "stayed" } else { "moved" };
        assert_eq!(*how, expected, "request {}", at + 1);
    }
    assert!(hows.contains(&"stayed") && hows.contains(&"moved"));
    assert_eq!(strings(&found["relay"]["requests"], "delivery"), ["relay"; 12]);
    let steps = found["sequence"]["steps"].as_array().unwrap();
    let sent = |envelope: &str| {
        let step = steps.iter().find(|step| step["envelope"] == envelope).unwrap();
        (step["from"].as_str().unwrap(), step["to"].as_str().unwrap())
    };
    assert_eq!(sent("HANDOFF"), ("front", servers[0]));
    assert_eq!(sent("QUERY"), ("front", servers[0]));
    assert_eq!(sent("RELEASED"), (servers[0], "front"));
    let replies = steps.iter().filter(|step| step["line"] == "HTTP/1.1 200 OK");
    let replies: Vec<_> = replies.map(|step| (&step["from"], &step["to"])).collect();
    let direct = servers.iter().take(3).map(|server| (Value::from(*server), "client".into()));
    assert_eq!(replies, direct.collect::<Vec<_>>().iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
    assert!(text.contains("==HANDOFF==") && text.contains("=RELEASED="), "{text}");
    the_files_are_there(folder.path());
    let cost = |delivery: &str| {
        let mut all = found["costs"].as_array().unwrap().iter();
        let one = all.find(|one| one["delivery"] == delivery && one["reply_bytes"] == 65_536);
        one.unwrap()["front_bytes"].as_f64().unwrap()
    };
    // The relay takes the reply and gives it; of what is handed over only requests pass.
    assert!(cost("relay") > 2.0 * 65_536.0 && cost("stayed") < 2_000.0 && cost("moved") < 6_000.0);
}

fn the_files_are_there(folder: &Path) {
    let capture = std::fs::read(folder.join("oneway.pcap")).unwrap();
    assert_eq!(capture[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    assert!(capture.windows(24).any(|bytes| bytes == b"GET /index.html HTTP/1.1"));
    let picture = std::fs::read_to_string(folder.join("oneway.svg")).unwrap();
    assert!(picture.contains(">RELEASED</text>") && picture.ends_with("</svg>\n"));
    let log = std::fs::read_to_string(folder.join("access.log")).unwrap();
    assert_eq!(log.lines().count(), 24, "the visits, and nothing of what was measured");
}

#[test]
fn behind_a_router_and_by_ipv6_it_is_the_same() {
    if !possible() {
        return;
    }
    let (found, text, _folder) = shown(&["--routed", "--ipv6"]);
    let hows = strings(&found["one_way"]["requests"], "delivery");
    assert!(hows.contains(&"handoff") && hows.contains(&"moved"), "{text}");
    assert!(found["one_way"]["client"].as_str().unwrap().starts_with("[fd77:"));
    let envelopes = strings(&found["sequence"]["steps"], "envelope");
    assert!(envelopes.contains(&"HANDOFF") && envelopes.contains(&"RELEASED"), "{text}");
}

/// Killed, should the test fail.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

#[test]
fn ctrl_c_in_the_middle_leaves_nothing() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = demo(folder.path(), &["--requests", "100000"]);
    let running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut running = Running(running);
    let began = Instant::now();
    while !folder.path().join("access.log").exists() {
        assert!(began.elapsed() < PATIENCE, "the switch does not start");
        std::thread::yield_now();
    }
    let id = running.0.id();
    assert_ne!(beds_of(id), [""; 0]);
    assert!(Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap().success());
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert_eq!(beds_of(id), [""; 0]);
}

#[test]
fn who_is_not_root_is_told_so() {
    if !testbed::rooted() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Nobody may read this program where root built it: a copy that all may.
    let copy = folder.path().join("baton");
    std::fs::copy(env!("CARGO_BIN_EXE_baton"), &copy).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let mut command = Command::new(&copy);
    let nobody = command.args(["testbed", "demo"]).uid(65_534).current_dir("/");
    let Output { status, stderr, .. } = nobody.output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("needs root") && said.lines().count() == 1, "{said}");
}
