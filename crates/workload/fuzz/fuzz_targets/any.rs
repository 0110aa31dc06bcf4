//! Any bytes as a log in every format there is: see `check.rs`. Its seeds are the formats' tables:
//! `cargo +nightly fuzz run any fuzz/corpus/any tests/formats`.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::any(bytes));
