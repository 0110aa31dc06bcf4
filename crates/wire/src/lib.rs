//! BYTES <-> VALUES: what HTTP/1.1 looks like on the wire; hostile bytes stop here.
//!
//! Pure: no sockets, no clock, no allocation on the hot path. A caller owns the buffers, hands over
//! a slice of what has arrived, and gets a value that borrows from it, the news that more is
//! needed, or the reason why it will never be right. So the same code serves the relay (both of
//! its sides), the origin (a server), the load generator (a client) and the fuzzer.

#[doc(hidden)]
pub mod fuzzing;
pub mod http;
