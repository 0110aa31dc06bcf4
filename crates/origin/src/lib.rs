//! AN EMULATED WEB SERVER: real HTTP/1.1, real sockets, real bytes; service times by a model.
//!
//! An [`Origin`] answers when [`model::Node`] says the server of a paper would: after its queues,
//! its disk and its CPU. It is one state machine on one epoll set, driven from whatever current-
//! thread runtime it is put on, so that many share a thread; it copies no content and makes no
//! allocation for a request, so that they leave the machine to what is being measured.
//!
//! What a request gets ([`Config`] changes most of it):
//!
//! * `GET` or `HEAD` of any path: content that depends on the target alone ([`content`]), as long
//!   as [`Sizes`] says, of the class that the path's prefix says (`/light/`, `/cpu/`, and so on
//!   for every service of [`model::ROWS`]), in chunks if the query has a field `chunked`; with
//!   `Cache-Status` (RFC 9211). Other methods get the same after their content was read.
//! * `GET /.origin/status`: what it did and does, as JSON. `GET /.origin/health`: 200 or 503.
//! * `GET /.origin/utilisation`: how busy CPU, disk, network and cache were over time ([`Usage`]),
//!   as JSON or, with `?format=csv`, as CSV. `GET /.origin/load`: as an agent reports its load.
//! * `POST /.origin/health` and `POST /.origin/fault`: misbehaviour on demand (`faults.rs`).

mod bind;
mod clock;
mod config;
mod conn;
pub mod content;
mod deliver;
mod exchange;
mod faults;
mod origin;
mod own;
mod reading;
mod real;
mod reply;
mod requests;
mod sizes;
mod status;
mod table;
mod ticks;
mod timed;
mod usage;

pub use bind::BindError;
pub use config::Config;
pub use model;
pub use origin::Origin;
pub use real::{DocumentCache, RealSettings};
pub use sizes::Sizes;
pub use usage::{COLUMNS, SAMPLES_MAX, Sample, Usage};
