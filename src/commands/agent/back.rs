//! The kernel's part of the agent: attached, asked, taken away.

use super::site::Plan;
use agent::Kernel;
use anyhow::{Result, bail};
use std::sync::Arc;

/// Attaches the program, or takes over the one that an earlier agent left.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn attach(plan: &Plan) -> Result<Arc<dyn Kernel>> {
    let _ = plan;
    bail!("this baton was built without one-way delivery; --report-only reports the load")
}

/// Takes the program away.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn detach(plan: &Plan) -> Result<()> {
    let _ = plan;
    bail!("this baton was built without one-way delivery")
}
