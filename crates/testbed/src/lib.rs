//! A SITE IN ONE MACHINE: client, front-end and servers in network namespaces, wired by a bridge or
//! a router, with unmodified nginx on the servers.
//!
//! One-way delivery cannot be shown on the loopback: it needs several machines that all have the
//! virtual address, an ARP that answers for only one of them, and replies that take another way
//! than requests. Network namespaces are such machines, down to their own neighbours, routes and
//! TCP settings. It is the shape of mininet (Lantz, Heller, McKeown, *A Network in a Laptop*,
//! HotNets 2010), as a value: a [`TestBed`] is there while it lives, and leaves nothing.
//!
//! Everything is named after the bed, and nothing of it is in the namespace of the host: a bed
//! whose maker was killed is found by its name and removed ([`abandoned`], [`down`]).

mod address;
mod bed;
pub mod content;
mod error;
mod layout;
mod namespace;
mod needs;
mod nginx;
mod plan;
mod port;
mod processes;
mod settings;
mod state;
mod wire;

pub use address::Both;
pub use bed::{Condition, TestBed, abandoned, beds, condition, down};
pub use error::Error;
pub use namespace::inside;
pub use needs::{missing, possible, rooted};
pub use plan::{File, Host, INITIAL_WINDOW, Plan, SERVERS_MAX, Variant};
pub use port::Port;
pub use wire::{Adversity, Counts, Wire};
