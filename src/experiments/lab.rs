//! Where experiments run: the client's reactor, the wish to stop, and what goes on as progress.

use super::Row;
use super::gauge::{Reading, now_ns};
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

/// Measures a point, which is said by an empty row; perhaps once more.
pub type Work = Box<dyn Fn(&Lab, &Row) -> Result<Vec<Row>>>;

/// One point to measure: what it is, about how long it takes, and how it is done.
pub struct Job {
    /// Where what is found belongs.
    pub row: Row,
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
        row: Row,
        label: String,
        seconds: f64,
        work: impl Fn(&Lab, &Row) -> Result<Vec<Row>> + 'static,
    ) -> Self {
        let about = Duration::from_secs_f64(seconds + AROUND_S);
        Self { row, label, about, work: Box::new(work) }
    }
}

/// What starting and stopping servers and switch takes, in seconds. Measured, about.
const AROUND_S: f64 = 0.4;

/// From this share of a core on, others are not still.
const STILL_MAX: f64 = 0.05;

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
    /// Waiting for others to be still, and measuring points again during which they were not, takes
    /// no more than the part `spare` of the plan.
    ///
    /// # Errors
    /// The first reason, when no point at all could be measured.
    pub fn run(
        &self,
        name: &str,
        jobs: Vec<Job>,
        spare: f64,
    ) -> Result<Option<(Vec<Row>, Vec<String>)>> {
        let (began_ns, count) = (now_ns(), jobs.len());
        let mut left: Duration = jobs.iter().map(|job| job.about).sum();
        let mut spare = left.mul_f64(spare);
        let (mut rows, mut failed) = (Vec::new(), Vec::new());
        for (number, job) in jobs.into_iter().enumerate() {
            let spent_s = now_ns().saturating_sub(began_ns) as f64 / 1e9;
            say(format_args!(
                "{name}: point {} of {count}, {} ({spent_s:.0} s so far, about {:.0} s left)",
                number + 1,
                job.label,
                left.as_secs_f64(),
            ));
            left = left.saturating_sub(job.about);
            let found = self.quietly(&job, &mut spare);
            let label = job.label;
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

    /// Waits for a second in which others used next to nothing: other programs, or other machines
    /// on the same processors. Not longer than `most`, from which it takes the time.
    ///
    /// # Errors
    /// When the kernel does not say who used the processors.
    pub fn settle(&self, most: &mut Duration) -> Result<()> {
        const SECOND: Duration = Duration::from_secs(1);
        while *most >= SECOND && !self.is_stopped() {
            let before = Reading::now(&[])?;
            // A second, or until we are asked to stop: then the loop ends by itself.
            let _late = self.block_on(async { tokio::time::timeout(SECOND, self.stopped()).await });
            *most -= SECOND;
            if Reading::now(&[])?.since(&before).others <= STILL_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Measures a point, and once more if somebody else worked meanwhile and `spare` time is left:
    /// other programs, or other machines on the same processors. What was found plays no part in
    /// that.
    fn quietly(&self, job: &Job, spare: &mut Duration) -> Result<Vec<Row>> {
        let disturbed = |rows: &[Row]| rows.iter().any(Row::is_disturbed);
        let found = (job.work)(self, &job.row)?;
        if !disturbed(&found) || *spare < job.about || self.is_stopped() {
            return Ok(found);
        }
        *spare -= job.about;
        say(format_args!("  once more: others used the processors meanwhile"));
        // A wait as long as the point costs as much as measuring it again.
        let mut wait = job.about.min(*spare);
        *spare -= wait;
        self.settle(&mut wait)?;
        *spare += wait;
        match (job.work)(self, &job.row) {
            Ok(again) if !disturbed(&again) && !again.is_empty() => Ok(again),
            Ok(_) => Ok(found),
            Err(error) => {
                say(format_args!("  the first one counts: {error:#}"));
                Ok(found)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A point that is disturbed the first `times` it is measured; and how often it was.
    fn disturbed(times: u32) -> (Job, Rc<Cell<u32>>) {
        let count = Rc::new(Cell::new(0));
        let counted = Rc::clone(&count);
        let work = move |_: &Lab, row: &Row| {
            counted.set(counted.get() + 1);
            let mut row = Row { repeat: counted.get(), ..row.clone() };
            if counted.get() <= times {
                row.limited_by("others");
            }
            Ok(vec![row])
        };
        let row = Row::new("case", "curve", 1.0, 0);
        (Job::new(row, "a point".to_owned(), 0.0, work), count)
    }

    #[test]
    fn a_disturbed_point_is_measured_again_once_and_while_there_is_time() {
        let lab = Lab::open().expect("a lab");
        let measured = |times, mut spare: Duration| {
            let (job, count) = disturbed(times);
            let rows = lab.quietly(&job, &mut spare).expect("measured");
            (count.get(), rows[0].repeat)
        };
        // Not enough to wait, for others work here; a point is planned with 0.4 s.
        let enough = Duration::from_millis(900);
        assert_eq!(measured(0, enough), (1, 1));
        assert_eq!(measured(1, enough), (2, 2), "the one without disturbance counts");
        assert_eq!(measured(9, enough), (2, 1), "once, and the first one stays");
        assert_eq!(measured(1, Duration::ZERO), (1, 1));
    }
}
