//! THE CLIENT SIDE: asks a Web server or switch what the clients of a trace asked, and measures.
//!
//! [`run`] is the open-loop client: users come when a [`Scenario`] says, ask for pages over the
//! connections that it says, think and leave; latency counts from when a thing was due. Threads
//! with an epoll set each, no runtime, and about as much CPU for a request as wrk
//! (`cargo bench -p load --bench speed`).
//!
//! [`replay()`] plays the sessions of a [`workload::Plan`] over real sockets: so many at a time,
//! each on its own persistent connection, batch after batch. Every reply is read to its end and
//! checked; a request is either answered as it should be or counted as failed, with its [`Cause`].
//!
//! Of a replay: one thread, one tokio current-thread runtime, no allocation and two system calls a
//! request, so that a small machine's other cores are left to what is measured.

mod cache_status;
mod client;
mod connection;
mod engine;
mod failure;
mod options;
mod outcome;
mod pace;
mod path;
mod replay;
mod reply;
mod report;
mod scenario;
mod watch;

pub use engine::{RunError, arrivals_seed, run};
pub use failure::{Cause, EXAMPLES_MAX, Failure};
pub use options::{Content, Options};
pub use outcome::{ClassOutcome, Outcome, Slice, Timing, Unanswered};
pub use pace::Pace;
pub use path::{files, path};
pub use replay::replay;
pub use report::Report;
pub use scenario::{Arrivals, Manner, One, Scenario, Site, Users};
