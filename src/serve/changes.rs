//! What tells one configuration from another.

use crate::config::Config;

/// A short hash that tells whether two switches run the same configuration.
pub(super) fn fingerprint(config: &Config) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(format!("{config:?}").as_bytes()))
}

/// What a reload changes, in words for the operator.
pub(super) fn differences(old: &Config, new: &Config) -> String {
    let mut changed = Vec::new();
    let mut note = |name: &str, differs: bool| {
        if differs {
            changed.push(name.to_owned());
        }
    };
    note("listeners", old.listeners != new.listeners);
    note("servers", old.servers != new.servers);
    note("policy", old.policy != new.policy);
    note("rules", old.rules != new.rules);
    note("limits", old.limits != new.limits);
    note("time-outs", old.timeouts != new.timeouts);
    note("queue", old.queue != new.queue);
    note("retry", old.retry != new.retry);
    note("health", old.health != new.health);
    note("ejection", old.ejection != new.ejection || old.panic_share != new.panic_share);
    note("slow start", old.slow_start != new.slow_start);
    note("log", old.log != new.log);
    note("forwarded", old.forwarded != new.forwarded);
    if changed.is_empty() { "nothing has changed".to_owned() } else { changed.join(", ") }
}
