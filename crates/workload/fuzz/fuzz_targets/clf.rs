//! Any bytes as a log in the format `clf`: see `check.rs`.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::log("clf", bytes));
