//! Limits that the system sets for the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that a connection needs: the client's, the server's, and two of a pipe.
const DESCRIPTORS_PER_CONNECTION: u64 = 4;

/// Descriptors for listeners, logs, the admin interface and the runtime.
const DESCRIPTORS_RESERVED: u64 = 256;

/// Raises the limit of open files as far as `connections` need and the system allows, and says so
/// when that is not far enough: the switch then waits at the limit instead of failing.
pub fn raise_descriptors(connections: usize) {
    let needed = connections as u64 * DESCRIPTORS_PER_CONNECTION + DESCRIPTORS_RESERVED;
    let now = getrlimit(Resource::Nofile);
    let hard = now.maximum.unwrap_or(u64::MAX);
    if now.current.is_none_or(|current| current >= needed) {
        return;
    }
    let wanted = needed.min(hard);
    // A refusal leaves the old limit, which is then the one to report.
    let raised =
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: now.maximum });
    let got = if raised.is_ok() { wanted } else { now.current.unwrap_or(0) };
    if got < needed {
        eprintln!(
            "baton: {got} open files are allowed; {connections} connections may need {needed}. \
             Raise the limit (ulimit -n, LimitNOFILE=) or lower limits.connections"
        );
    }
}
