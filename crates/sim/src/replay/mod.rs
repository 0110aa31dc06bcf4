//! A log of the user's own, streamed, over servers with a CPU, a disk and a cache: "what if".
//!
//! A [`Run`] is one cluster: a policy, so many servers, so much cache. It is fed the log in chunks
//! and never holds more than the requests in progress, what the caches keep and what the policy
//! maps, however long the log is. Many runs are fed from one reading of the log; each is
//! deterministic, so they may be fed on any threads.
//!
//! The servers are leaner than [`model::Node`], which plays every block of a file as an event: here
//! a request visits the CPU once, for all of its work, and on a miss the disk once after that.
//! Because both are first-come-first-served, everything about an answer is known when the
//! request arrives (Lindley 1952; with several lanes, Kiefer and Wolfowitz 1955), and its end is
//! its only event. Only with several cores do requests overtake each other on the way to the disk:
//! entering it is an event then. A test holds the two kinds of server against each other.

mod arrivals;
mod copies;
mod costs;
mod demand;

mod holders;
mod lanes;
mod outcome;
mod run;
mod server;
mod setup;
mod slices;

pub use crate::histogram::Histogram;
pub use costs::{Costs, Logged, Reply, Teacher, Times};
pub use demand::Demand;
pub use outcome::{Outcome, ServerOutcome, Strain};
pub use run::{OPEN_MAX, Run};
pub use setup::{Pace, Setup};
pub use slices::{SLICES_MAX, Slice};
