//! Method: a whole switch without sockets. Configuration, rules, desk and threads are the real
//! ones; the kernel is a table in memory (`fake`) that does with memos, wheels and books what the
//! programs do, and refuses what they would refuse. `site` puts them together and sends segments.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod answers;
mod fake;
mod life;
mod posts;
#[cfg(feature = "oneway")]
mod programs;
mod site;
mod trusted;
#[cfg(feature = "oneway")]
mod wire_frames;
