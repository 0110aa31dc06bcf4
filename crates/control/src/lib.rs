//! WHO KNOWS: health, metrics and the admin interface of a web switch.
//!
//! The slow side: it may allocate, lock and wait, and runs on its own current-thread runtime in
//! its own thread, away from the workers. It sees the switch only through the [`Switch`] trait,
//! as plain data ([`view`]).

mod switch;
pub mod view;

pub use switch::{Refusal, Switch};
