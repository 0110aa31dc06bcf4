//! `baton load`: users who come to a server or switch, and what they had to wait.
//!
//! Flags and scenario files become a [`Job`] (`plan`, `script`), crate `load` plays it run by run
//! (`play`, with `live` to be seen meanwhile), and what it found, a [`Study`], is told as table,
//! JSON, CSV, picture and page. `tree` writes the site that is asked for.

mod csv;
mod json;
mod live;
mod log;
mod page;
mod picture;
mod plan;
mod play;
pub mod script;
mod story;
mod study;
mod target;
#[cfg(test)]
mod tests;
mod text;
mod tree;

pub use csv::csv;
pub use json::{VERSION, json};
pub use live::Display;
pub use page::page;
pub use picture::alone as svg;
pub use plan::{Asked, Job, Logged, named};
pub use play::{interrupt, play};
pub use script::Script;
pub use study::{Row, SHARE_NAMES, SHARES, Study, class_name};
pub use text::text;
pub use tree::{Written, write as write_site};
