//! The relay from outside.
//!
//! Method: a switch in this process on a port of the kernel's choice (`stage`), before servers
//! that are raw sockets with a script (`server`), asked by clients that are raw sockets too
//! (`peer`). Nothing is slept for: a test waits for bytes, for the end of a connection, or for a
//! counter, each with a limit. One file for each promise.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod aside;
mod bodies;
mod framing;
mod heads;
mod log;
mod peer;
mod queue;
mod refusals;
mod retry;
mod server;
mod stage;
mod storms;
mod timeouts;
mod told;
mod truncated;
mod tunnel;
mod uploads;
