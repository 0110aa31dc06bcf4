//! Origins over real sockets, each on a thread of its own and on a port from the kernel, asked by a
//! blocking client that shares no code with them but the content function; each is shut down, and
//! its end waited for, at the end of its test.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod faults;
mod http;
mod model;
mod real;
mod support;
mod usage;
