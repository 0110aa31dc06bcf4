//! Network namespaces by name: making, entering and finding them.
//!
//! They are those of `ip netns`: a name is a file under `/run/netns`. They are entered by `setns`
//! or nsenter, not by `ip netns exec`, which would also hide the BPF file system.

use crate::Error;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Where `ip netns` keeps the names.
const NAMES: &str = "/run/netns";

/// The file that stands for a namespace.
pub(crate) fn file(namespace: &str) -> PathBuf {
    Path::new(NAMES).join(namespace)
}

/// Every namespace that has a name.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(NAMES).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Runs `work` on a thread of its own in a namespace and gives what it gives. A panic in it goes
/// on here.
///
/// # Errors
/// When there is no such namespace, or the thread may not enter it.
pub fn inside<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let enter = || {
        let doing = || format!("enter the network namespace {namespace}");
        let file = File::open(file(namespace)).map_err(Error::system(doing()))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(Error::system(doing()))?;
        Ok(work())
    };
    // The thread ends with the work, so no later work finds itself elsewhere than it thinks.
    thread::scope(|scope| scope.spawn(enter).join().unwrap_or_else(|why| panic::resume_unwind(why)))
}

/// A program that will run in a namespace, with the file systems of the host.
pub(crate) fn command(namespace: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", file(namespace).display())).arg("--").arg(program);
    command
}

/// Has `ip` do these commands, one a line: in a namespace, or about namespaces.
pub(crate) fn ip(namespace: Option<&str>, lines: &str) -> Result<(), Error> {
    let mut command = Command::new("ip");
    command.args(namespace.map_or(vec![], |name| vec!["-n", name]));
    command.args(["-batch", "-"]).stdin(Stdio::piped());
    // What a terminal's Ctrl-C ends is this program, which then removes what it made.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let running = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut running = running.map_err(Error::system("run ip"))?;
    let told = running.stdin.take().expect("its standard input is a pipe");
    // If it stops reading, it has said why.
    let _unread = { told }.write_all(lines.as_bytes());
    said_well(running.wait_with_output(), || {
        format!("ip {}", namespace.map_or(String::new(), |name| format!("-n {name}")))
    })
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> Result<(), Error> {
    std::os::unix::process::CommandExt::process_group(command, 0);
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output();
    said_well(output, || format!("{:?}", command.get_program()))
}

fn said_well(
    output: std::io::Result<std::process::Output>,
    program: impl Fn() -> String,
) -> Result<(), Error> {
    let output = output.map_err(Error::system(format!("run {}", program())))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    let said = if said.is_empty() { output.status.to_string() } else { said };
    Err(Error::Program { program: program().trim().to_owned(), said })
}
