//! What an origin did and does, for its status path.

use crate::timed::Timed;
use core::time::Duration;
use policy::Instant;
use serde_json::{Value, json};

/// Busy times a while ago, for the utilisation since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    at: Instant,
    cpu: Duration,
    disk: Duration,
}

/// The utilisation between two looks at least [`WINDOW`] apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    before: Sample,
    cpu: f64,
    disk: f64,
}

/// Real time between two samples of the utilisation.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

impl Window {
    /// Closes the window at a model time.
    pub(crate) fn close(&mut self, now: Instant, timed: &mut Timed) {
        let sample =
            Sample { at: now, cpu: timed.node.cpu().busy(now), disk: timed.node.disk().busy(now) };
        let span = now.since(self.before.at);
        let share = |busy: Duration, before: Duration| ratio(busy.saturating_sub(before), span);
        self.cpu = share(sample.cpu, self.before.cpu);
        self.disk = share(sample.disk, self.before.disk);
        self.before = sample;
    }
}

/// What the status path says of the connections and the configuration.
pub(crate) struct Front<'a> {
    pub(crate) config: &'a crate::Config,
    pub(crate) connections: usize,
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
}

/// The status as JSON. Times of the model are in model seconds, lateness is in real ones.
pub(crate) fn report(
    front: &Front<'_>,
    real: Instant,
    window: &Window,
    timed: &mut Timed,
) -> Value {
    let now = timed.clock.model(real);
    let counts = timed.node.counts();
    let (cpu, disk) = (timed.node.cpu().utilisation(now), timed.node.disk().utilisation(now));
    let (cpu_queue, disk_queue) = (timed.node.cpu().queue(now), timed.node.disk().queue(now));
    let busy = [timed.node.cpu().busy(now), timed.node.disk().busy(now)].map(|b| b.as_secs_f64());
    let (cache, model) = (timed.node.cache(), &front.config.model);
    json!({
        "name": front.config.name,
        "uptime_seconds": real.since(Instant::ZERO).as_secs_f64(),
        "model_seconds": now.since(Instant::ZERO).as_secs_f64(),
        "time_scale": front.config.time_scale,
        "requests": counts.requests,
        "hits": counts.hits,
        "misses": counts.misses,
        "coalesced": counts.coalesced,
        "bypassed": counts.bypassed,
        "finished": counts.finished,
        "evicted": counts.evicted,
        "bytes": counts.sent_bytes,
        "active": timed.node.active(),
        "cpu": {
            "utilisation": cpu,
            "utilisation_1s": window.cpu,
            "busy_seconds": busy[0],
            "queue": cpu_queue,
        },
        "disk": {
            "utilisation": disk,
            "utilisation_1s": window.disk,
            "busy_seconds": busy[1],
            "queue": disk_queue,
            "reads": timed.node.disk_reads(),
        },
        "cache": {
            "policy": model.cache_policy.name(),
            "capacity_bytes": model.cache_bytes,
            "bytes": cache.bytes(),
            "targets": cache.targets(),
        },
        "connections": front.connections,
        "accepted": front.accepted,
        "refused": front.refused,
        "late_us": {
            "mean": timed.late.mean().as_secs_f64() * 1e6,
            "max": timed.late.worst.as_secs_f64() * 1e6,
            "count": timed.late.count,
        },
    })
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}
