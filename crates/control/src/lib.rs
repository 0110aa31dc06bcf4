//! WHO KNOWS: health, metrics and the admin interface of a web switch.
//!
//! The slow side: it may allocate, lock and wait, and runs on its own current-thread runtime in
//! its own thread ([`Control`]), away from the workers. It sees the switch only through the
//! [`Switch`] trait, as plain data ([`view`]). The [`Supervisor`] decides which servers take new
//! requests; the [`Admin`] interface shows everything and lets the operator drain and weigh.

mod admin;
mod client;
mod ejection;
mod events;
pub mod health;
mod history;
pub mod metrics;
mod page;
mod probe;
pub mod slow_start;
mod supervisor;
mod switch;
mod thread;
pub mod view;

pub use admin::{Admin, Bind, BindError, TOKEN_CHARS_MIN, Token};
pub use client::{Client, ClientError};
pub use ejection::{Ejection, EjectionRule, Feed};
pub use events::{EVENTS_MAX, Event, Log as EventLog};
pub use health::HealthRule;
pub use page::Age;
pub use probe::{Fault, Probe, Step};
pub use supervisor::{Check, ServerSpec, Supervisor};
pub use switch::{Refusal, Switch};
pub use thread::Control;
