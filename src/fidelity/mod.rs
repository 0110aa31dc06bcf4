//! FIDELITY: the same experiments live and on paper, and how far apart they are.
//!
//! Live are emulated servers, the switch and clients, over sockets of this machine. On paper are
//! the same servers ([`model::Node`], which the emulated ones run), the same policies behind the
//! same desk, and the same clients. What is found off is the simulator's mistake until shown
//! otherwise: docs/FIDELITY.md says what was found.

mod bed;
mod closed;
mod pages;
mod quiet;
mod table;
mod verdict;

pub use closed::Closed;
pub use pages::{Pages, Span};
pub use quiet::Runs;
pub use table::{json, text};
pub use verdict::{Comparison, Kind, Verdict, holds, summary, worst};
