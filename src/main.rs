//! The program `baton`.
fn main() {}
