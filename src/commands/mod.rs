//! One file for each subcommand: it wires the parts together and says what came of it.

pub mod agent;
pub mod check;
pub mod completions;
pub mod demo;
pub mod doctor;
pub mod experiment;
pub mod explain;
pub mod fidelity;
pub mod figures;
pub mod load;
pub mod man;
pub mod origin;
pub mod policies;
pub mod run;
pub mod schema;
pub mod servers;
pub mod sim;
pub mod status;
pub mod testbed;
pub mod trace;
