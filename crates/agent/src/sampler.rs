//! The thread that samples: reads, works out rates, probes the server, and keeps the last report.

use crate::doctor::look_again;
use crate::host::Host;
use crate::report::LoadReport;
use crate::sample::{Reading, between, read};
use crate::{Kernel, Settings};
use std::io;
use std::net::TcpStream;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a server has to accept the probe: it is on this very host.
const PROBE_MAX: Duration = Duration::from_millis(500);
/// Readings between two looks of the doctor.
const LOOK_EVERY: u64 = 5;

/// Samples until it is dropped.
pub(crate) struct Sampler {
    last: Arc<Mutex<LoadReport>>,
    /// Nothing is sent: the thread ends when this is dropped.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Reads once, so that there is something to tell, and begins.
    pub(crate) fn start(
        settings: &Settings,
        host: Arc<dyn Host>,
        kernel: Arc<dyn Kernel>,
    ) -> io::Result<Self> {
        let settings = settings.clone();
        let (stop, stopped) = channel::<()>();
        let (mut before, mut first) = sample(&settings, &Reading::default(), &*host, &*kernel);
        let look = |settings: &Settings, host: &dyn Host| {
            settings.watched.as_ref().map_or_else(Vec::new, |site| look_again(site, host))
        };
        let mut faults = look(&settings, &*host);
        first.faults.clone_from(&faults);
        let last = Arc::new(Mutex::new(first));
        let kept = last.clone();
        let mut readings = 0u64;
        let thread = thread::Builder::new().name("agent-sampler".to_owned()).spawn(move || {
            while stopped.recv_timeout(settings.period) == Err(RecvTimeoutError::Timeout) {
                let (reading, mut report) = sample(&settings, &before, &*host, &*kernel);
                before = reading;
                readings += 1;
                if readings.is_multiple_of(LOOK_EVERY) {
                    faults = look(&settings, &*host);
                }
                report.faults.clone_from(&faults);
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = report;
            }
        })?;
        Ok(Self { last, stop: Some(stop), thread: Some(thread) })
    }

    /// The last report.
    pub(crate) fn last(&self) -> LoadReport {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to hand over; if it panicked, that was said.
            let _ended = thread.join();
        }
    }
}

fn sample(
    settings: &Settings,
    before: &Reading,
    host: &dyn Host,
    kernel: &dyn Kernel,
) -> (Reading, LoadReport) {
    let reading = read(host, settings.served.port(), &settings.ports(), before);
    let rates = between(before, &reading);
    let mut report = LoadReport::of(&settings.server, &rates, &reading);
    (report.healthy, report.health) = match TcpStream::connect_timeout(&settings.served, PROBE_MAX)
    {
        Ok(_) => (true, format!("{} accepts connections", settings.served)),
        Err(error) => (false, format!("{}: {error}", settings.served)),
    };
    match kernel.counters() {
        Ok(counters) => report.kernel = counters.into_iter().collect(),
        Err(error) => report.unread.push(format!("cannot read the program's counters: {error}")),
    }
    report.takes_over = kernel.takes_over();
    (reading, report)
}
