//! What tells one configuration from another.

use crate::config::Config;

/// A short hash that tells whether two switches run the same configuration.
pub(super) fn fingerprint(config: &Config) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(format!("{config:?}").as_bytes()))
}

/// Changes that a line names at most.
const NAMED_MAX: usize = 24;

/// The changes of a reload in one line.
pub(super) fn sentence(changes: &[String]) -> String {
    let named = changes.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match changes.len() {
        0 => "nothing has changed".to_owned(),
        count if count > NAMED_MAX => format!("{named} and {} more", count - NAMED_MAX),
        _ => named,
    }
}

/// What a reload changes, in words for the operator.
pub(super) fn differences(old: &Config, new: &Config) -> Vec<String> {
    let mut changed = Vec::new();
    let mut note = |name: &str, differs: bool| {
        if differs {
            changed.push(name.to_owned());
        }
    };
    note("listeners", old.listeners != new.listeners);
    note("servers", old.servers != new.servers);
    note("policy", old.policy != new.policy);
    note("rules", old.rules != new.rules || old.rule_names != new.rule_names);
    note("limits", old.limits != new.limits);
    note("time-outs", old.timeouts != new.timeouts);
    note("queue", old.queue != new.queue);
    note("retry", old.retry != new.retry);
    note("health", old.health != new.health);
    note("ejection", old.ejection != new.ejection || old.panic_share != new.panic_share);
    note("slow start", old.slow_start != new.slow_start);
    note("log", old.log != new.log);
    note("forwarded", old.forwarded != new.forwarded);
    note("one way", old.oneway != new.oneway);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_has_changed_up_to_a_limit() {
        let changes = |count: usize| vec!["a".to_owned(); count];
        assert_eq!(sentence(&[]), "nothing has changed");
        assert_eq!(sentence(&changes(2)), "a, a");
        let long = sentence(&changes(NAMED_MAX + 2));
        assert!(long.ends_with("a and 2 more"), "{long}");
    }
}
