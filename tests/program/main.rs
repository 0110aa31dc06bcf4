//! The program as its operator meets it: `baton run` and the commands that ask it.
//!
//! Method: the real program in processes of its own, on ports of the kernel's choice, before
//! scripted servers in this process; signals, exit codes, standard error and the admin socket are
//! what an operator has. One file for each promise. Every child is killed when its test ends.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod chain;
mod descriptors;
mod health;
mod log;
mod metrics;
#[path = "../../crates/distributor/tests/switch/peer.rs"]
#[allow(dead_code, reason = "shared with the relay's own tests, which use more of it")]
mod peer;
mod reload;
mod running;
#[path = "../../crates/distributor/tests/switch/server.rs"]
#[allow(dead_code, reason = "shared with the relay's own tests, which use more of it")]
mod server;
mod stop;
