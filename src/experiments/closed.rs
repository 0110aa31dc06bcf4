//! One point in closed loop: a trace is played to a cluster by so many sessions at a time.

use super::bed::{Bed, Front, Moment};
use super::{Lab, Row};
use anyhow::{Context, Result, ensure};
use load::{Options, Report};
use std::sync::Arc;
use tokio::sync::watch;
use workload::Plan;

/// What is played, and how much of it is measured.
#[derive(Clone, Debug)]
pub struct Closed {
    /// What is asked.
    pub plan: Arc<Plan>,
    /// Sessions at a time.
    pub sessions: usize,
    /// Whether the requests of a batch go out at once.
    pub pipelining: bool,
    /// What is measured.
    pub window: Window,
}

/// What of the requests is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// The same requests, whoever answers them and however fast.
    Requests {
        /// So many before are not measured: the caches fill.
        warm: u64,
        /// So many are.
        measured: u64,
        /// It ends after so many real seconds in any case, warm-up included, and is then marked as
        /// limited by its `window`.
        seconds_max: f64,
    },
    /// Real seconds, where all requests are alike.
    Seconds {
        /// Not measured.
        warm: f64,
        /// Measured.
        measured: f64,
    },
}

impl Window {
    /// Whether the warm-up is over.
    fn begins(&self, report: &Report) -> bool {
        let took_s = report.took.as_secs_f64();
        match *self {
            Self::Requests { warm, measured, seconds_max } => {
                let share = warm as f64 / (warm + measured).max(1) as f64;
                report.settled() >= warm || took_s >= seconds_max * share
            }
            Self::Seconds { warm, .. } => took_s >= warm,
        }
    }

    /// Whether what began with `first` is over.
    fn ends(&self, first: &Report, report: &Report) -> bool {
        match *self {
            Self::Requests { warm, measured, seconds_max } => {
                report.settled() >= warm + measured || report.took.as_secs_f64() >= seconds_max
            }
            Self::Seconds { measured, .. } => (report.took - first.took).as_secs_f64() >= measured,
        }
    }

    /// Whether time was over before the requests were.
    fn is_cut(&self, last: &Report) -> bool {
        matches!(*self, Self::Requests { warm, measured, .. } if last.settled() < warm + measured)
    }
}

/// What was seen at a moment.
struct Mark {
    report: Report,
    moment: Moment,
}

impl Closed {
    /// Plays and measures; what is found is written into `row`.
    ///
    /// # Errors
    /// When servers or front-end cannot be started, or requests fail.
    pub fn measure(
        &self,
        lab: &Lab,
        front: &Front,
        servers: Vec<origin::Config>,
        row: &Row,
    ) -> Result<Vec<Row>> {
        let bed = Bed::start(lab, front, servers)?;
        let (mut first, mut last): (Option<Mark>, Option<Mark>) = (None, None);
        let mut broken = None;
        let (end, ended) = watch::channel(false);
        let progress = |report: &Report| {
            let mark =
                || Ok::<_, anyhow::Error>(Mark { report: report.clone(), moment: bed.look()? });
            let made = match (&first, &last) {
                (None, _) if self.window.begins(report) => mark().map(|mark| first = Some(mark)),
                (Some(begin), None) if self.window.ends(&begin.report, report) => {
                    end.send_replace(true);
                    mark().map(|mark| last = Some(mark))
                }
                _ => Ok(()),
            };
            if let Err(error) = made {
                broken = Some(error);
                end.send_replace(true);
            }
        };
        let report = lab.block_on(self.play(&bed, progress, until(ended, lab.stopped())));
        if let Some(error) = broken {
            return Err(error);
        }
        if lab.is_stopped() {
            return Ok(Vec::new());
        }
        let failures = report.failures();
        let example = report.examples.first().map(|failure| failure.detail.clone());
        ensure!(
            failures * 1000 <= report.settled(),
            "{failures} of {} requests failed: {}",
            report.settled(),
            example.unwrap_or_default()
        );
        let (first, last) = first.zip(last).context("the trace was over before it was measured")?;
        let mut row = row.clone();
        fill(&mut row, &bed, &first, &last);
        if self.window.is_cut(&last.report) {
            row.limited_by("window");
        }
        Ok(vec![row])
    }

    async fn play(
        &self,
        bed: &Bed,
        progress: impl FnMut(&Report),
        stop: impl Future<Output = ()>,
    ) -> Report {
        let mut options = Options::new(bed.address);
        options.sessions = self.sessions;
        options.pipelining = self.pipelining;
        options.verify_size = true;
        options.timeout = std::time::Duration::from_secs(120);
        load::replay(Arc::clone(&self.plan), options, progress, stop).await
    }
}

/// About how long a point takes whose window is of requests, in real seconds, with all that is done
/// around it: measured, over all points of `lard`, on two cores.
pub fn about_s(requests: u64, is_wrr: bool) -> f64 {
    requests as f64 / if is_wrr { 850.0 } else { 1_800.0 }
}

/// Done when the first of them is.
async fn until(mut ended: watch::Receiver<bool>, stopped: impl Future<Output = ()>) {
    tokio::select! {
        _ = ended.wait_for(|end| *end) => {}
        () = stopped => {}
    }
}

/// Writes down what happened between two marks. Rates are the modelled cluster's: by its seconds.
fn fill(row: &mut Row, bed: &Bed, first: &Mark, last: &Mark) {
    let (old, new) = (&first.report, &last.report);
    let answered = new.answered - old.answered;
    bed.note(row, (&first.moment, &last.moment), answered, None);
    let real_s = new.took.saturating_sub(old.took).as_secs_f64().max(1e-9);
    // Where no time passes in the model, the machine's own counts.
    let scale = if row.get("time_scale") > 0.0 { row.get("time_scale") } else { 1.0 };
    let model_s = real_s / scale;
    row.set("requests_s", answered as f64 / model_s);
    let (hits, misses) = (new.hits - old.hits, new.misses - old.misses);
    if hits + misses > 0 {
        row.set("hit_ratio", hits as f64 / (hits + misses) as f64);
    }
    row.set("megabits_s", (new.body_bytes - old.body_bytes) as f64 * 8.0 / 1e6 / model_s);
    row.set("first_request", old.settled() as f64);
    row.set("last_request", new.settled() as f64);
    row.set("failed", (new.failures() - old.failures()) as f64);
    let mut latency_us = new.latency_us.clone();
    if latency_us.subtract(&old.latency_us).is_ok() {
        for (column, share) in [("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)] {
            row.set(column, latency_us.value_at_quantile(share) as f64 / 1e3 / scale);
        }
    }
}
