//! "What if": an access log, played to clusters on paper.
//!
//! The way of a question: the command line becomes a [`Plan`]; the log is read once and each of its
//! requests becomes a demand (`feed`); every cluster of the plan is fed on some thread
//! (`running`); what came of them is a [`Study`], which is shown as a table, with a piece of
//! advice ([`advice`]), or written as JSON, CSV or one HTML page.

pub mod advice;
mod caveats;
mod cell;
mod csv;
mod feed;
mod json;
mod lead;
mod live;
mod logs;
mod narrow;
pub(crate) mod page;
mod plan;
pub(crate) mod plot;
mod running;
mod study;
mod survey;
mod table;
pub(crate) mod words;

pub use cell::{Cell, Figures};
pub use csv::csv;
pub use feed::Sizes;
pub use json::json;
pub use lead::Lead;
pub use live::{Measured, text as live};
pub use logs::Logs;
pub use narrow::narrow;
pub use page::page;
pub use plan::{Choice, Plan};
pub use running::{Bar, play};
pub use study::Study;
pub use survey::{Hot, Survey};
pub use table::table;
