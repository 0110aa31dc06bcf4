//! A switch in the foreground: signals until the end.

use super::Service;
use crate::config::Config;
use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Serves until SIGTERM, SIGINT or SIGQUIT; SIGHUP calls `again` for a new configuration.
///
/// # Errors
/// When the switch cannot start; see [`Service::start`].
pub fn run(
    config: Config,
    source: &str,
    mut again: impl FnMut() -> Result<Config, String>,
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
        eprintln!("baton: {name} listens on {address}");
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
    eprintln!("baton: stopping; open requests are finished first");
    match service.stop() {
        0 => eprintln!("baton: stopped"),
        left => eprintln!("baton: stopped; {left} connections were cut off at the time limit"),
    }
    Ok(())
}

fn reload(service: &Service, again: &mut impl FnMut() -> Result<Config, String>) {
    match again() {
        // The service says itself, in one line, what became of it.
        Ok(config) => drop(service.reload(config)),
        Err(diagnosis) => {
            service.refuse(&diagnosis);
        }
    }
}
