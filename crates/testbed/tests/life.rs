//! Method: beds are made, dropped, failed, left and killed, and what is left is looked for where it
//! could be: names of namespaces, processes, mounts and folders. Each has a name of its own, so
//! beds of others are not seen.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use rustix::fs::statfs;
use site::{get, is_possible, up};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use testbed::{Condition, Error, Host, Plan, TestBed, Variant, abandoned, beds, condition, down};

/// What a BPF file system calls itself: `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FILES: i64 = 0xcafe_4a11;

/// Everything on this machine that has a bed's name.
fn traces(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut names = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path().display().to_string());
        found.extend(paths.filter(|path| path.contains(name)));
    };
    for folder in ["/run/netns", "/run/baton-testbed", "/sys/class/net", "/sys/fs/bpf"] {
        names(folder);
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    found.extend(mounts.lines().filter(|line| line.contains(name)).map(str::to_owned));
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let own = process.file_name().to_str() == Some(&std::process::id().to_string());
        found.extend((line.contains(name) && !own).then_some(line));
    }
    found
}

/// A name that no other test has, and no process that is not of its bed.
fn name(letter: char) -> String {
    format!("life{letter}{}", std::process::id())
}

#[test]
fn a_bed_that_is_dropped_leaves_nothing() {
    for variant in [Variant::Bridge, Variant::Routed] {
        let plan = Plan::new(2).wired(variant).named(&name('a'));
        let Some(bed) = up(&plan) else { return };
        let mut command = bed.command(Host::Client, "sleep");
        let mut stray = command.arg("1000").spawn().unwrap();
        assert!(traces(&plan.name).len() > plan.hosts().len());
        assert!(beds().contains(&plan.name) && !abandoned().contains(&plan.name));
        assert_eq!(condition(&plan.name), Some(Condition::Held(std::process::id())));
        drop(bed);
        assert!(!stray.wait().unwrap().success(), "it was killed");
        assert_eq!(traces(&plan.name), [""; 0]);
        assert_eq!(condition(&plan.name), None);
    }
}

#[test]
fn a_name_is_given_once() {
    let plan = Plan::new(1).named(&name('b'));
    let Some(bed) = up(&plan) else { return };
    assert!(matches!(TestBed::up(&plan), Err(Error::Exists(_))));
    get(&bed, bed.server(1).each()[0], "/0").unwrap();
}

#[test]
fn a_bed_that_cannot_be_finished_leaves_nothing() {
    if !is_possible() {
        return;
    }
    let plan = Plan::new(2).named(&name('c'));
    let stopped = TestBed::up_unless(&plan, &AtomicBool::new(true));
    assert!(matches!(stopped, Err(Error::Interrupted)));
    assert_eq!(traces(&plan.name), [""; 0]);
    // The last of the namespaces is there already, so all others are made before it fails.
    let wire = plan.namespace(Host::Wire);
    assert!(Command::new("ip").args(["netns", "add", &wire]).status().unwrap().success());
    assert_eq!(condition(&plan.name), Some(Condition::Remains));
    assert!(matches!(TestBed::up(&plan), Err(Error::Program { .. })));
    assert_eq!(traces(&plan.name), [""; 0]);
}

#[test]
fn a_bed_that_is_to_stand_is_found_and_removed_by_its_name() {
    let plan = Plan::new(1).named(&name('d'));
    let Some(bed) = up(&plan) else { return };
    bed.stand().unwrap();
    assert_eq!(condition(&plan.name), Some(Condition::Standing));
    let found = TestBed::find(&plan.name).unwrap();
    assert_eq!(*found.plan(), plan);
    get(&found, found.server(1).each()[1], "/0").unwrap();
    drop(found);
    assert!(TestBed::find(&plan.name).is_ok(), "whoever finds a bed does not own it");
    for _ in 0..2 {
        down(&plan.name).unwrap();
        assert_eq!(traces(&plan.name), [""; 0]);
    }
    assert!(matches!(TestBed::find(&plan.name), Err(Error::Unknown(_))));
    assert!(down("../etc").is_err());
}

#[test]
fn a_bed_whose_maker_is_killed_is_removed_by_the_next_maker() {
    /// Set in the process that is to be killed: the name of its bed.
    const MAKER: &str = "BATON_TESTBED_MAKER";
    if let Ok(name) = std::env::var(MAKER) {
        let _bed = TestBed::up(&Plan::new(1).named(&name)).unwrap();
        println!("\nready");
        return std::io::stdin().read_line(&mut String::new()).map(drop).unwrap();
    }
    if !is_possible() {
        return;
    }
    let name = name('e');
    let this = std::thread::current().name().unwrap().to_owned();
    let mut maker = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &this, "--nocapture"])
        .env(MAKER, &name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(maker.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    assert!(!abandoned().contains(&name));
    maker.kill().unwrap();
    maker.wait().unwrap();
    assert_eq!(condition(&name), Some(Condition::Abandoned));
    assert!(TestBed::find(&name).is_err());
    let next = TestBed::up(&Plan::new(1)).unwrap();
    assert_eq!(traces(&name), [""; 0]);
    drop(next);
}

#[test]
fn each_machine_has_a_folder_for_pins() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    for host in bed.plan().hosts() {
        assert_eq!(statfs(bed.pins(host)).unwrap().f_type as i64, BPF_FILES, "{host}");
        fs::create_dir(bed.pins(host).join("maps")).unwrap();
    }
}

#[test]
fn work_in_a_machine_gives_its_value_or_its_panic() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    let settings = |host| {
        let file = Path::new("/proc/sys/net/ipv4/tcp_congestion_control");
        bed.enter(host, || fs::read_to_string(file).unwrap()).unwrap()
    };
    assert_eq!(settings(Host::Client), "reno\n");
    let panics = || bed.enter(Host::Client, || panic!("as it should"));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"as it should"));
    assert!(bed.enter(Host::Router, || ()).is_err(), "neighbours have no router");
    std::io::stdout().flush().unwrap();
}
