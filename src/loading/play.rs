//! Run after run, until the last one or Ctrl-C.

use super::plan::Job;
use anyhow::{Context, Result};
use load::Outcome;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// Plays all runs; `show` is told of the run under way, from 0, and what is known of it.
///
/// A run that was stopped counts only if there is no other.
///
/// # Errors
/// When the client cannot be started.
pub fn play(
    job: &Job,
    stop: &AtomicBool,
    mut show: impl FnMut(u16, &Outcome),
) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for run in 0..job.runs {
        let outcome = load::run(&job.scenario(run), |outcome| show(run, outcome), stop)?;
        if outcome.stopped && !outcomes.is_empty() {
            break;
        }
        let stopped = outcome.stopped;
        outcomes.push(outcome);
        if stopped {
            break;
        }
    }
    Ok(outcomes)
}

/// What becomes true with Ctrl-C or SIGTERM.
///
/// # Errors
/// When the thread that waits for them cannot be started.
pub fn interrupt() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Registered before anything is asked, so that no signal ends the program without a report.
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let wait = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        told.store(true, Ordering::Relaxed);
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(wait))
        .context("cannot start the thread that waits for Ctrl-C")?;
    Ok(stop)
}
