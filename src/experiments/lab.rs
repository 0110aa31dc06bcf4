//! Where experiments run: the client's reactor, the wish to stop, and what goes on as progress.

use super::Row;
use super::gauge::now_ns;
use crate::exit::say;
use anyhow::{Context, Result, bail};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// What points need beside their own values.
pub struct Lab {
    runtime: Runtime,
    stopped: watch::Receiver<bool>,
    /// The same for who cannot wait for it.
    stop: Arc<AtomicBool>,
}

/// Measures a point.
pub type Work = Box<dyn FnOnce(&Lab) -> Result<Vec<Row>>>;

/// One point to measure: what it is, about how long it takes, and how it is done.
pub struct Job {
    /// For people who watch.
    pub label: String,
    /// About how long it takes, start and end included.
    pub about: Duration,
    /// Does it. Without rows: it is skipped, and the reason was said.
    pub work: Work,
}

impl Job {
    /// A job of about `seconds`, with a second around it for those who come and go.
    pub fn new(
        label: String,
        seconds: f64,
        work: impl FnOnce(&Lab) -> Result<Vec<Row>> + 'static,
    ) -> Self {
        let about = Duration::from_secs_f64(seconds + AROUND_S);
        Self { label, about, work: Box::new(work) }
    }
}

/// What starting and stopping servers and switch takes, in seconds. Measured, about.
const AROUND_S: f64 = 0.4;

impl Lab {
    /// A lab that stops when Ctrl-C or SIGTERM says so.
    ///
    /// # Errors
    /// When the system gives no reactor or no thread.
    pub fn open() -> Result<Self> {
        let reactor = || Builder::new_current_thread().enable_all().build();
        let runtime = reactor().context("cannot start a reactor for the clients")?;
        let listening = reactor().context("cannot start a reactor for signals")?;
        let (tell, stopped) = watch::channel(false);
        let stop = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&stop);
        let listen = async move {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                // Without handlers there is only the default: the program ends at once.
                return;
            };
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                set.store(true, Ordering::Relaxed);
                tell.send_replace(true);
            }
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || listening.block_on(listen))
            .context("cannot start a thread for signals")?;
        Ok(Self { runtime, stopped, stop })
    }

    /// Whether we were asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// True once we are asked to stop.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Done when we are asked to stop.
    pub fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let mut stopped = self.stopped.clone();
        async move {
            if stopped.wait_for(|stop| *stop).await.is_err() {
                // Nobody listens for signals any more: then nobody stops us.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Does it on the client's reactor.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Does jobs one after the other; `None` when we were asked to stop. A point that cannot be
    /// measured does not take the others with it: it is said aloud, and returned with its reason.
    ///
    /// # Errors
    /// The first reason, when no point at all could be measured.
    pub fn run(&self, name: &str, jobs: Vec<Job>) -> Result<Option<(Vec<Row>, Vec<String>)>> {
        let (began_ns, count) = (now_ns(), jobs.len());
        let mut left: Duration = jobs.iter().map(|job| job.about).sum();
        let (mut rows, mut failed) = (Vec::new(), Vec::new());
        for (number, job) in jobs.into_iter().enumerate() {
            let spent_s = now_ns().saturating_sub(began_ns) as f64 / 1e9;
            say(format_args!(
                "{name}: point {} of {count}, {} ({spent_s:.0} s so far, about {:.0} s left)",
                number + 1,
                job.label,
                left.as_secs_f64(),
            ));
            let label = job.label;
            left = left.saturating_sub(job.about);
            let found = (job.work)(self);
            if self.is_stopped() {
                return Ok(None);
            }
            match found {
                Ok(found) => rows.extend(found),
                Err(error) => {
                    say(format_args!("baton: {name}, {label}, cannot be measured: {error:#}"));
                    // A note is a line.
                    let reason = format!("{label}: {error:#}");
                    failed.push(reason.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
        }
        match failed.first() {
            Some(reason) if rows.is_empty() => bail!("{name}: {reason}"),
            _ => Ok(Some((rows, failed))),
        }
    }
}
