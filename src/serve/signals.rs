//! A switch in the foreground: signals until the end.

use super::{Service, Wrong};
use crate::config::Config;
use anyhow::{Context, Result};
use distributor::say;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// Serves until SIGTERM, SIGINT or SIGQUIT; SIGHUP calls `again` for a new configuration.
///
/// # Errors
/// When the switch cannot start; see [`Service::start`].
pub fn run(
    config: Config,
    source: &str,
    mut again: impl FnMut() -> Result<Config, Wrong>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot wait for signals")?;
    let _inside = runtime.enter();
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    let service = Service::start(config, source)?;
    for (name, address) in service.listening() {
        say(format_args!("{name} listens on {address}"));
    }
    runtime.block_on(async {
        loop {
            tokio::select! {
                _ = hang_up.recv() => reload(&service, &mut again),
                _ = terminate.recv() => return,
                _ = interrupt.recv() => return,
                _ = quit.recv() => return,
            }
        }
    });
    let (open, patience) = service.open();
    say(format_args!(
        "stopping; {open} connections may finish, for {patience:?} at most (a second signal \
         ends them now)"
    ));
    let hurry = Arc::new(AtomicBool::new(false));
    let (done, ended) = tokio::sync::oneshot::channel();
    let impatient = Arc::clone(&hurry);
    let stopping = std::thread::spawn(move || {
        let left = service.stop(&impatient);
        // Nobody listens only if waiting itself has failed.
        let _unheard = done.send(left);
    });
    let left = runtime.block_on(async {
        let mut ended = ended;
        loop {
            tokio::select! {
                left = &mut ended => return left.unwrap_or(0),
                _ = terminate.recv() => hurry.store(true, Ordering::Relaxed),
                _ = interrupt.recv() => hurry.store(true, Ordering::Relaxed),
                _ = quit.recv() => hurry.store(true, Ordering::Relaxed),
            }
        }
    });
    if stopping.join().is_err() {
        anyhow::bail!("stopping failed");
    }
    match left {
        0 => say("stopped"),
        left => say(format_args!("stopped; {left} connections were cut off")),
    }
    Ok(())
}

fn reload(service: &Service, again: &mut impl FnMut() -> Result<Config, Wrong>) {
    match again() {
        // The service says itself, in one line, what became of it.
        Ok(config) => drop(service.reload(config)),
        Err(wrong) => service.refuse(&wrong),
    }
}
