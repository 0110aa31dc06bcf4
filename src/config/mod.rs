//! The configuration: from a TOML file and flags to ready values, once.
//!
//! Nothing after this module parses or checks settings. What is wrong is found all at once, each
//! mistake with its line, cause and remedy. The keys are declared in [`keys`]; what a ready
//! configuration is, in [`ready`].

mod address;
mod agents;
mod build;
mod document;
mod ends;
mod first;
mod flag;
pub mod keys;
mod kind;
mod load;
mod oneway;
mod policy_table;
mod problem;
mod raw;
pub mod ready;
pub mod reference;
mod rule_table;
mod source;
mod units;
mod values;

pub(crate) use document::nearest;
pub use ends::socket_default;
pub use flag::Flag;
pub use kind::Kind;
pub(crate) use kind::quoted;
pub use load::{LoadError, Loaded};
pub use problem::{Diagnosis, Gravity, Problem};
pub(crate) use raw::{Entry, Raw, read as read_toml};
pub use ready::Config;
pub(crate) use rule_table::rule_label;
pub use source::{Place, Source, Spot};
pub use units::size;
pub(crate) use units::{span, span_text};
