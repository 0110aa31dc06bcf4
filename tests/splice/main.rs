//! Delivery by the kernel with everything real: `baton run` with `delivery = "splice"`.
//!
//! Method: the real program in a process of its own, on loopback, before servers of this process
//! that say bytes which depend on their place in the stream alone: each is compared. What the
//! kernel holds is seen by what a server can say while nobody reads, and by its tables. Without
//! root it says so.

#![cfg(feature = "oneway")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod bytes;
mod ends;
mod load;
#[path = "../../crates/distributor/tests/switch/peer.rs"]
#[allow(dead_code, reason = "shared with the relay's own tests, which use more of it")]
mod peer;
mod remains;
#[path = "../program/running.rs"]
#[allow(dead_code, reason = "shared with the program's tests, which use more of it")]
mod running;
mod site;
