//! Promise: nothing is left of connections that ended, and nothing of a switch that was killed.

use crate::peer::Peer;
use crate::running::eventually;
use crate::site::{Site, ask, origin};
use rustix::process::Signal;
use serde_json::Value;
use std::process::Command;

/// What `bpftool` says of `subject`, as JSON; `None`: there is no such thing.
fn bpftool(subject: &[&str]) -> Option<Value> {
    let output = Command::new("bpftool").arg("-j").args(subject).output();
    let output = output.expect("this needs bpftool (make bed, or apt install bpftool)");
    output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
}

/// Numbers of the maps that a process has open.
fn maps(pid: u32) -> Vec<String> {
    let mut maps = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let id = text.lines().find_map(|line| line.strip_prefix("map_id:"));
        maps.extend(id.map(|id| id.trim().to_owned()));
    }
    maps
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Entries in all hash maps of a process.
fn entries(pid: u32) -> usize {
    let of = |id: &String| bpftool(&["map", "dump", "id", id])?.as_array().map(Vec::len);
    let hashes = |id: &&String| {
        let map = bpftool(&["map", "show", "id", id]);
        map.is_some_and(|map| map["type"] == "hash" || map["type"] == "sockhash")
    };
    maps(pid).iter().filter(hashes).filter_map(of).sum()
}

#[test]
fn two_thousand_short_connections_leave_no_entry_and_no_descriptor() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    let pid = site.pid();
    ask(&mut site.client(), 10);
    eventually("the first is forgotten", || entries(pid) == 0);
    let before = descriptors(pid);
    let mut held = site.client();
    ask(&mut held, 10);
    assert!(entries(pid) >= 3, "an open connection can be seen");
    drop(held);
    let address = site.baton.address;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                (0..500).for_each(|_| ask(&mut Peer::connect(address), 100));
            });
        }
    });
    eventually("all entries are gone", || entries(pid) == 0);
    eventually("all descriptors are closed", || descriptors(pid) <= before);
}

#[test]
fn a_switch_that_is_killed_leaves_no_map_and_ends_its_connections() {
    let Some(mut site) = Site::before(&[origin()], "") else { return };
    let pid = site.pid();
    let mut client = site.client();
    ask(&mut client, 1 << 20);
    let had = maps(pid);
    assert!(had.len() >= 4, "{had:?}");
    site.baton.signal(Signal::KILL);
    site.baton.ended();
    client.rest();
    eventually("the kernel has forgotten them", || {
        had.iter().all(|id| bpftool(&["map", "show", "id", id]).is_none())
    });
}
