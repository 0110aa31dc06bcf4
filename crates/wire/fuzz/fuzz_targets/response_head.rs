//! Runs [`wire::fuzzing::response_head`] on whatever the engine makes up.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzzing::response_head(bytes));
