//! Runs [`wire::fuzzing::request_head`] on whatever the engine makes up.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzzing::request_head(bytes));
