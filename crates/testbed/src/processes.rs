//! Processes: which are in the bed's namespaces, whether one still lives, and ending them.

use crate::{Error, namespace};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

/// How long a killed process may take to be gone.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// How often it is looked again for processes that came while others were ended.
const ROUNDS_MAX: u32 = 20;

/// A process, known again even when its number is given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    /// Its number.
    pub id: u32,
    /// When it began, in ticks since the machine did.
    pub began: u64,
}

impl Process {
    /// The one that asks.
    pub fn own() -> Self {
        let id = std::process::id();
        Self { id, began: began(id).unwrap_or(0) }
    }

    /// Whether it lives.
    pub fn lives(self) -> bool {
        began(self.id) == Some(self.began)
    }
}

/// When a process began: the 22nd field of its `stat` (proc(5)), the second of which may have
/// spaces in it. A dead one that nobody has waited for has not begun.
fn began(id: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.nth(18)?.parse().ok())?
}

/// Processes in any of these namespaces, but for this one.
pub(crate) fn within(namespaces: &[String]) -> Vec<u32> {
    let identity =
        |path: &std::path::Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let spaces: BTreeSet<_> =
        namespaces.iter().filter_map(|name| identity(&namespace::file(name))).collect();
    if spaces.is_empty() {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = ids.filter(|id| *id != std::process::id());
    let is_in = |id: &u32| {
        let space = identity(std::path::Path::new(&format!("/proc/{id}/ns/net")));
        space.is_some_and(|space| spaces.contains(&space))
    };
    others.filter(is_in).collect()
}

/// Kills whatever runs in these namespaces, and waits until it is gone.
pub(crate) fn end_within(namespaces: &[String]) -> Result<(), Error> {
    for _ in 0..ROUNDS_MAX {
        let ids = within(namespaces);
        if ids.is_empty() {
            return Ok(());
        }
        let handles: Vec<OwnedFd> = ids.iter().filter_map(|id| handle(*id)).collect();
        for handle in &handles {
            // It may be gone by itself.
            let _gone = pidfd_send_signal(handle, Signal::KILL);
        }
        for handle in &handles {
            // A process is readable by its handle when it has ended.
            let mut waiting = [PollFd::new(handle, PollFlags::IN)];
            poll(&mut waiting, Some(&PATIENCE)).map_err(Error::system("wait for a process"))?;
        }
    }
    let left = within(namespaces);
    let said = format!("processes {left:?} do not end");
    if left.is_empty() { Ok(()) } else { Err(Error::Program { program: "kill".into(), said }) }
}

fn handle(id: u32) -> Option<OwnedFd> {
    let id = Pid::from_raw(i32::try_from(id).ok()?)?;
    pidfd_open(id, PidfdFlags::empty()).ok()
}
