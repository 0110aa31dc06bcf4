//! Limits that the system sets for the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors of a connection that is served: the client's and the server's. Pipes for large
/// bodies come from the reserve.
const DESCRIPTORS_PER_CONNECTION: u64 = 2;

/// Descriptors for listeners, pipes, idle connections to servers, logs and the admin interface.
const DESCRIPTORS_RESERVED: u64 = 512;

/// How many connections may be open at once: as many as `wanted`, if the system lets the process
/// open as many files. Raises the process's limit as far as that needs.
pub fn connections_allowed(wanted: usize) -> usize {
    let needed = (wanted as u64)
        .saturating_mul(DESCRIPTORS_PER_CONNECTION)
        .saturating_add(DESCRIPTORS_RESERVED);
    let now = getrlimit(Resource::Nofile);
    let current = now.current.unwrap_or(u64::MAX);
    if current >= needed {
        return wanted;
    }
    let raised = needed.min(now.maximum.unwrap_or(u64::MAX));
    let limit = Rlimit { current: Some(raised), maximum: now.maximum };
    let files = if setrlimit(Resource::Nofile, limit).is_ok() { raised } else { current };
    let spare = files.saturating_sub(DESCRIPTORS_RESERVED).max(files / 4);
    usize::try_from(spare / DESCRIPTORS_PER_CONNECTION).unwrap_or(usize::MAX).clamp(1, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_connections_are_always_allowed_and_never_more_than_wanted() {
        assert_eq!(connections_allowed(10), 10);
        assert!((1..=usize::MAX / 2).contains(&connections_allowed(usize::MAX / 2)));
    }
}
