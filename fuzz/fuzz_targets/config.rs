//! Any text may be given as a configuration: it is read or refused, never a panic.

#![no_main]

use baton::config::{Config, LoadError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let env = |name: &str| name.len().is_multiple_of(2).then(|| name.to_lowercase());
    match Config::parse("fuzz", text, &env) {
        Ok(loaded) => drop(loaded.warnings.human(false)),
        Err(LoadError::Invalid(diagnosis)) => {
            assert!(!diagnosis.problems.is_empty(), "a refusal has a reason");
            drop((diagnosis.human(true), diagnosis.json()));
        }
        Err(error) => panic!("no file is read here: {error}"),
    }
});
