//! THE CLUSTER OF LARD AND P-HTTP: connections that enter as others leave, over nodes with a CPU
//! and a disk.
//!
//! The simulators of Pai et al. (ASPLOS 1998) and of Aron, Druschel, Zwaenepoel (USENIX 1999): a
//! front-end lets so many connections in at once, in the order of a trace; a [`policy::Desk`] says
//! who serves, [`model::Node`] how long it takes, and the [`Mechanism`] what becomes of the later
//! requests of a connection. The network is infinitely fast and clients do not think. Constants
//! are in [`cost`] and [`model::cost`].
//!
//! [`Script`] is what is asked, [`Setup`] the cluster, [`Engine`] the simulation, [`Report`] what
//! came of it; [`run`] is all of it at once.

mod arrivals;
mod cache_mirror;
mod connection;
pub mod cost;
mod distributed;
mod engine;
mod faults;
mod journey;
mod meter;
pub mod points;
mod report;
mod script;
mod setup;

pub use arrivals::Arrivals;
pub use cache_mirror::CacheMirror;
pub use engine::Engine;
pub use report::{NodeReport, Report, Totals};
pub use script::Script;
pub use setup::{Chooser, Fault, FaultKind, Limit, Loss, Mechanism, Reports, Setup};

/// Simulates `script` on the cluster of `setup`, to the end.
pub fn run(setup: &Setup, script: &Script) -> Report {
    let mut engine = Engine::new(setup, script);
    while engine.step() {}
    engine.report()
}
