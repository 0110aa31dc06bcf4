//! Any bytes as a format of one's own, and a log in it: see `check.rs`.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::pattern(bytes));
