//! What a bed needs of the machine, and how to get what is missing.

use crate::Error;
use std::io::Write;
use std::path::Path;

/// A program, and the package of Debian that has it.
const PROGRAMS: [(&str, &str); 3] =
    [("ip", "iproute2"), ("nsenter", "util-linux"), ("nginx", "nginx-light")];

/// Where root's programs are, besides `PATH`.
const ROOTS_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Whether this process is root.
pub fn rooted() -> bool {
    rustix::process::geteuid().is_root()
}

/// What is missing besides root, each as a sentence with its remedy.
pub fn missing() -> Vec<String> {
    let lacking = PROGRAMS.iter().filter(|(program, _)| !there(program));
    let say = |(program, package): &(&str, &str)| format!("{program} (apt install {package})");
    let mut missing: Vec<String> = lacking.map(say).collect();
    if !Path::new("/proc/self/ns/net").exists() {
        missing.push("network namespaces (a kernel with CONFIG_NET_NS)".to_owned());
    }
    missing
}

/// Set where a test that is skipped has failed: in continuous integration.
const NO_SKIP: &str = "BATON_NO_SKIP";

/// Whether tests can have a bed here. If not, says so past the capture of output.
///
/// # Panics
/// If not, where the environment has `BATON_NO_SKIP`.
pub fn possible() -> bool {
    let missing = missing();
    let reason = match () {
        () if !rooted() => "not root".to_owned(),
        () if !missing.is_empty() => missing.join("; "),
        () => return true,
    };
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(std::env::var_os(NO_SKIP).is_none(), "{test} may not be skipped: {reason}");
    // Not a macro, whose output is shown of failed tests alone.
    let _unseen = std::io::stderr()
        .write_all(format!("SKIPPED {test}: no test bed here: {reason}\n").as_bytes());
    false
}

/// # Errors
/// What is missing.
pub(crate) fn check() -> Result<(), Error> {
    if !rooted() {
        return Err(Error::NotRoot);
    }
    let missing = missing();
    if missing.is_empty() { Ok(()) } else { Err(Error::Missing(missing)) }
}

fn there(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(ROOTS_FOLDERS.split(':'));
    folders
        .filter(|folder| !folder.is_empty())
        .any(|folder| Path::new(folder).join(program).is_file())
}
