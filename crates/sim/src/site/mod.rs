//! Users who come, fetch pages and think, over servers with CPU, memory, disk and network: CAP and
//! ClubWeb.
//!
//! Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10 2001, section 4. A [`run()`] takes visitors through their stages:
//! switch, CPU, cache or disk or database, memory, CPU and card by windows, and back. Every
//! component is a first-come-first-served station, so a step is all that is ever due.
//!
//! A lookup, a key exchange, a hand-off cost what [`cost`] says; the packets of a reply are counted
//! one by one on the wire but pass the card a window at a time (`transfer`). The first half of a
//! warm-up is at half the rate.
//!
//! The same users may be put before the live switch on paper ([`Live`]): browsers with several
//! connections, a relay, and the nodes that emulated servers run. `baton fidelity` holds that
//! against the switch itself.
//!
//! Not modelled: the network beyond the LAN (nor is it in the paper), loss, several connections of
//! one browser, pipelined requests, and that concurrent misses on a file could share a read.

pub mod cost;
pub mod scenario;

mod browser;
mod farm;
mod outcome;
mod run;
mod server;
mod setup;
mod switch;
mod transfer;
mod visitor;
mod world;

pub use outcome::{Outcome, Pages, Spread};
pub use run::run;
pub use server::Utilisation;
pub use setup::{Audience, Contender, Delivery, Demand, Fault, Layer, Live, Setup};
