//! One-way delivery as a user runs it: `baton run` on the front-end and `baton agent` on each
//! server, unmodified nginx, clients on a machine of their own.
//!
//! Method: a site in network name spaces for each test. Clients compare every byte, and who
//! answered with what switch, agents and books say of it; then a process is killed, a server
//! stopped, a link cut, a table filled. Without root each test says that it is skipped.

#![cfg(feature = "oneway")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod attached;
mod bounds;
mod client;
mod deaf;
mod deciding;
mod operator;
mod process;
mod relayed;
mod restarts;
mod site;
mod trouble;
mod trusted;

use site::{Setup, Site};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs a test on a site, and shows what was counted where it fails.
fn on(setup: Setup, work: impl FnOnce(&mut Site)) {
    if !testbed::possible() {
        return; // It has said why.
    }
    let mut site = Site::up(setup);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&mut site))) {
        let shown = catch_unwind(AssertUnwindSafe(|| {
            let view = site.status().oneway.unwrap_or_default();
            println!("{}", String::from_utf8_lossy(&site.ask(&["status"]).stdout));
            let counts = view.kernel.iter().filter(|(_, count)| **count > 0);
            println!("kernel: {:?}", counts.collect::<Vec<_>>());
        }));
        if let Some(switch) = &site.switch {
            println!("the switch said: {} (asked: {})", switch.said(), shown.is_ok());
        }
        resume_unwind(panic);
    }
}
