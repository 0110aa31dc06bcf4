//! One file for each subcommand: it wires the parts together and says what came of it.

pub mod check;
pub mod completions;
pub mod man;
pub mod policies;
pub mod schema;
