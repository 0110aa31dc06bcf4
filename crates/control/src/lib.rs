//! WHO KNOWS: health, metrics and the admin interface of a web switch.
//!
//! The slow side: it may allocate, lock and wait, and runs on its own current-thread runtime in
//! its own thread, away from the workers. It sees the switch only through the [`Switch`] trait,
//! as plain data ([`view`]).

mod ejection;
mod events;
pub mod health;
mod probe;
pub mod slow_start;
mod supervisor;
mod switch;
pub mod view;

pub use ejection::{Ejection, EjectionRule, Feed};
pub use events::{EVENTS_MAX, Event, Log};
pub use health::HealthRule;
pub use probe::{Fault, Probe, Step};
pub use supervisor::{Check, ServerSpec, Supervisor};
pub use switch::{Refusal, Switch};
