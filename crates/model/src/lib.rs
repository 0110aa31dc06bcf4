//! A SERVER ON PAPER: how long a Web server of the papers would take, as pure values.
//!
//! A [`Node`] is a CPU and a disk, each a first-come-first-served [`Station`], and a [`Cache`] of
//! whole targets; concurrent misses on a target share one read. Costs are in [`cost`] with their
//! sources. Time and randomness are arguments. The emulated server and the simulator run the same
//! nodes, so that what is measured live and what is simulated can be held against each other.

pub mod cost;

mod cache;
mod calendar;
mod config;
mod exchange;
mod node;
mod rows;
mod service;
mod slab;
mod station;

pub use cache::{Cache, CachePolicy, Gds, GdsCost, Index, Lru, TARGETS_MAX};
pub use calendar::Calendar;
pub use config::{Config, Reading};
pub use cost::{CpuCost, DiskCost};
pub use exchange::{Agenda, Ask, Counts, Handling, Part, Source, Timeline, Wake};
pub use node::Node;
pub use rows::{Constant, Mark, ROWS, Row};
pub use service::{Service, Services};
pub use slab::Slab;
pub use station::Station;
