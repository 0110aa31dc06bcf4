//! A log whose sessions are to be asked again.

use crate::logs::{Log, Unfit};
use anyhow::Result;
use std::path::Path;
use workload::{Builder, Clock, Trace};

/// Reads a log. Its requests are for `site` where it names none.
///
/// # Errors
/// When it cannot be read, or has no request in it that can be used.
pub(super) fn logged(path: &Path, format: Option<&str>, site: &str) -> Result<Trace> {
    let log = Log::open(path, format)?;
    let name = log.name.clone();
    let mut builder = Builder::new(Clock::Kept);
    log.read(|record| {
        let full = |full| Unfit::Log(format!("{name}: {full}"));
        builder.push(site, record).map_err(|error| full(error).into())
    })?;
    Ok(builder.finish())
}
