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
