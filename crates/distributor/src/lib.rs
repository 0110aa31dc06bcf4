//! THE DATA PLANE: accepts clients, reads request heads, asks who serves, delivers.
//!
//! One thread per core, each with its own reactor, listening sockets, connections, buffers and
//! counters. What they share is the desk (one policy for the whole process, behind one short lock)
//! and the table of servers, rules and settings, which a reload replaces as a whole.
//!
//! The order in which a request meets the modules: `worker` accepts, `client` reads its head,
//! `exchange` asks (`place`, [`ask`]) and makes attempts (`pool`, `converse`, `reply`), `pump`
//! moves bodies, `exchange` writes down what became of it ([`counters`], [`journal`]).

mod access;
pub mod ask;
mod client;
mod converse;
pub mod counters;
mod exchange;
mod facts;
mod forward;
mod gate;
mod io;
pub mod journal;
mod lane;
mod listen;
mod locals;
mod log_writer;
mod pipes;
mod place;
mod pool;
mod pump;
mod reply;
mod say;
mod scribe;
mod settings;
mod shared;
mod splice;
mod sys;
mod team;
mod told;
mod tunnel;
mod watch;
mod worker;

pub use ask::Ask;
pub use counters::PerWorker;
pub use facts::Asked;
pub use listen::Listen;
pub use locals::{ASIDE_MAX, Reasons};
pub use say::say;
pub use scribe::{Passed, Scribe};
pub use settings::{AccessFormat, Delivery, Forwarding, Retry, Settings, Timeouts};
pub use shared::{Backend, Clock, Entrance, Live, Observer, Route, Shared};
pub use splice::{Half, Joined, Joiner, Way};
pub use team::Team;
pub use told::{AsTold, Found, Told};
