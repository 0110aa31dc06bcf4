//! WHAT CLIENTS ASK: request logs read, folded, measured and cut into sessions.
//!
//! Pure: bytes arrive through a `BufRead` that the caller opened, and the same bytes give the same
//! trace everywhere, so the load generator and the simulator ask the same questions.
//!
//! The way of a log: [`detect`] finds its format among [`FORMATS`] (or the user names one, or gives
//! a [`Pattern`]), [`read()`] turns lines into [`Record`]s, a [`Builder`] turns records of one or
//! several sites into a [`Trace`], [`Sessions`] groups its requests into HTTP/1.1 connections and
//! batches, [`Statistics`] describes it, and a [`Plan`] says which part of it is to be asked. A log
//! too large for that becomes numbers, in [`Chunks`] of [`Ask`]s or [`Compact`].

mod civil;
pub mod draw;
mod grain;
mod names;
mod plan;
mod pseudonyms;
mod read;
mod record;
mod sessions;
mod statistics;
mod stream;
pub mod synth;
mod trace;
pub mod visits;
mod write;

pub use grain::grain;
pub use names::{Catalogue, Names, Sizing};
pub use plan::{Pick, Plan};
pub use pseudonyms::Pseudonyms;
pub use read::{
    Cause, EXAMPLES_MAX, FORMATS, Format, Guess, LINE_BYTES_MAX, Parse, Pattern, PatternError,
    Reader, Reject, Tally, Unusable, detect, format, read, whole_lines,
};
pub use record::{Record, Stamp};
pub use sessions::{Session, Sessions, Shape};
pub use statistics::{Coverage, Statistics};
pub use stream::{Ask, Chunks, Compact, Intake};
pub use trace::{Builder, Clock, Entry, Full, Target, Trace};
pub use write::clf_line;
