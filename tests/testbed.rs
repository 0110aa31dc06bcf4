//! Method: `baton testbed` as a process, as root: what it says, how it ends, and what is there when
//! it has ended. Where there cannot be a test bed, that is said past the capture of output.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use testbed::{Condition, condition};

/// How long to wait for what is to happen.
const PATIENCE: Duration = Duration::from_secs(10);

fn baton(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.arg("testbed").args(words);
    command
}

fn said(words: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = baton(words).output().expect("it runs");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// A name that no other test and no other run has; removed, whatever becomes of the test.
struct Name(String);

impl Name {
    fn new(letter: char) -> Option<Self> {
        testbed::possible().then(|| Self(format!("cli{letter}{}", std::process::id())))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _gone = testbed::down(&self.0);
    }
}

#[test]
fn a_bed_stands_until_it_is_taken_down_and_each_can_be_said_twice() {
    let Some(name) = Name::new('a') else { return };
    let name = name.0.as_str();
    let (code, text) = said(&["up", name, "--servers", "1"]);
    assert_eq!(code, Some(0), "{text}");
    for word in [&format!("baton-{name}-server1"), "10.77.0.11", "fd77::b", "10.77.0.9", "/1500"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert_eq!(condition(name), Some(Condition::Standing));
    let (code, text) = said(&["up", name, "--servers", "1"]);
    assert!(code == Some(0) && text.contains("there already"), "{text}");
    let (code, text) = said(&["up", name, "--servers", "2"]);
    assert!(code == Some(1) && text.contains("remove it with"), "{text}");
    let (code, text) = said(&["status"]);
    assert!(code == Some(0) && text.contains(&format!("{name} ")), "{text}");
    for word in ["is removed", "there is no test bed"] {
        let (code, text) = said(&["down", name]);
        assert!(code == Some(0) && text.contains(word), "{text}");
        assert_eq!(condition(name), None);
    }
}

/// What a program says on the first server of a bed.
fn on_server(name: &str, program: &str, words: &[&str]) -> Output {
    let space = format!("--net=/run/netns/baton-{name}-server1");
    Command::new("nsenter").args([&space, "--", program]).args(words).output().expect("it runs")
}

#[test]
fn the_doctors_remedy_for_slow_beginnings_is_one() {
    let Some(name) = Name::new('c') else { return };
    let name = name.0.as_str();
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("baton.toml");
    let text = "[listen.web]\naddress = \"10.77.0.9:80\"\ndelivery = \"multi-handoff\"\n\
                [oneway]\ninterfaces = [\"eth0\"]\nkey = \"000102030405060708090a0b0c0d0e0f\"\n\
                [server.one]\naddress = \"10.77.0.11:80\"\nagent = \"10.77.0.11:7118\"\n";
    std::fs::write(&path, text).expect("it is written");
    let file = path.to_str().expect("a path");
    let found = |vip: &str| {
        let words = ["doctor", "-c", file, "--role", "server", "--vip", vip, "--json"];
        let output = on_server(name, env!("CARGO_BIN_EXE_baton"), &words);
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let rows = answer["checks"].as_array().expect("rows").clone();
        let row = rows.into_iter().find(|row| row["name"] == "initial-window").expect("a row");
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        (text("verdict"), text("evidence"), text("remedy"))
    };
    for (shape, vips, route) in [
        (None, ["10.77.0.9", "fd77::9"], ["10.77.0.0/24", "fd77::/64"]),
        (Some("--routed"), ["10.77.2.9", "fd77:0:0:2::9"], ["default", "default"]),
    ] {
        let up = ["up", name, "--servers", "1", "--initial-window"];
        let (code, text) = said(&[&up[..], &["10"], shape.as_slice()].concat());
        assert_eq!(code, Some(0), "{text}");
        for (vip, route) in vips.into_iter().zip(route) {
            // As if nobody had set it.
            let ip = if vip.contains(':') { "ip -6" } else { "ip" };
            let list = format!("{ip} route show | sed -n 's/ initcwnd [0-9]*//p'");
            let all = format!("{list} | while read -r route; do {ip} route replace $route; done");
            assert!(on_server(name, "sh", &["-c", &all]).status.success(), "{all}");
            let (verdict, evidence, remedy) = found(vip);
            assert_eq!(verdict, "warn", "{evidence}");
            let (command, _) = remedy.split_once(',').expect("a command and more");
            let output = on_server(name, "sh", &["-c", command]);
            assert!(output.status.success(), "{command}: {output:?}");
            let (verdict, evidence, _) = found(vip);
            assert_eq!(
                (&*verdict, &*evidence),
                ("ok", &*format!("{route} begins with 32 segments"))
            );
        }
        said(&["down", name]);
    }
}

#[test]
fn ctrl_c_in_the_middle_leaves_nothing() {
    let Some(name) = Name::new('b') else { return };
    let name = name.0.as_str();
    let mut making = baton(&["up", name, "--servers", "64", "--routed"]);
    let making = making.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let began = Instant::now();
    let begun = format!("/run/netns/baton-{name}-front");
    while !Path::new(&begun).exists() {
        assert!(began.elapsed() < PATIENCE, "nothing is made");
        std::thread::yield_now();
    }
    let id = making.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("it runs").success());
    let ended = making.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("what was made is removed"));
    assert_eq!(condition(name), None);
}

#[test]
fn a_name_that_cannot_be_is_answered_with_what_names_are() {
    let (code, text) = said(&["up", "No Such"]);
    assert!(code == Some(2) && text.contains("a-z, 0-9 and -"), "{text}");
}
