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
    /// Share of the requests that is not measured, 0 to 1: the caches fill.
    pub warm_share: f64,
    /// Not measured for longer than this, in real seconds, either.
    pub warm_s_max: f64,
    /// Measured for so long at most, in real seconds.
    pub measure_s_max: f64,
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
        mut row: Row,
    ) -> Result<Vec<Row>> {
        let bed = Bed::start(lab, front, servers)?;
        let (mut first, mut last): (Option<Mark>, Option<Mark>) = (None, None);
        let mut broken = None;
        let (end, ended) = watch::channel(false);
        let planned = self.plan.trace.requests.len() as u64;
        let warm = (planned as f64 * self.warm_share) as u64;
        // The last sessions are alone with each other: not the load that is measured.
        let enough = planned.saturating_sub(2 * self.sessions as u64);
        let progress = |report: &Report| {
            let took_s = report.took.as_secs_f64();
            let mark =
                || Ok::<_, anyhow::Error>(Mark { report: report.clone(), moment: bed.look()? });
            let made = match (&first, &last) {
                (None, _) if report.settled() >= warm || took_s >= self.warm_s_max => {
                    mark().map(|mark| first = Some(mark))
                }
                (Some(begin), None)
                    if report.settled() >= enough
                        || took_s - begin.report.took.as_secs_f64() >= self.measure_s_max =>
                {
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
        fill(&mut row, &bed, &first, &last);
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
    row.set("failed", (new.failures() - old.failures()) as f64);
    let mut latency_us = new.latency_us.clone();
    if latency_us.subtract(&old.latency_us).is_ok() {
        for (column, share) in [("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)] {
            row.set(column, latency_us.value_at_quantile(share) as f64 / 1e3 / scale);
        }
    }
}
