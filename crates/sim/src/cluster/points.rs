//! Runs of the cluster as points of figures.

use super::{Report, Script, Setup, run};
use crate::{Row, Run};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use workload::{Sessions, Shape, Trace};

/// What a figure of the cluster tells of each point, after its own first column.
pub const COLUMNS: &[&str] = &[
    "throughput_rps",
    "miss_ratio",
    "delay_mean_ms",
    "delay_p99_ms",
    "idle_share",
    "cpu_share",
    "disk_share",
    "imbalance",
    "handed_on",
    "forwarded",
];

/// A script that the first run to need it writes, for all that need it.
pub type Lazy = Arc<LazyLock<Script, Box<dyn FnOnce() -> Script + Send>>>;

/// The script that `write` will write.
pub fn lazy(write: impl FnOnce() -> Script + Send + 'static) -> Lazy {
    Arc::new(LazyLock::new(Box::new(write)))
}

/// A trace as HTTP/1.0.
pub fn singles(trace: &Arc<Trace>) -> Lazy {
    let trace = Arc::clone(trace);
    lazy(move || Script::singles(&trace))
}

/// A trace as HTTP/1.1, with a `share` of the later requests for the most popular `bytes`
/// exchanged, see [`Script::strayed`].
pub fn persistent(trace: &Arc<Trace>, share: f64, bytes: u64) -> Lazy {
    let trace = Arc::clone(trace);
    lazy(move || {
        let sessions = Sessions::of(&trace, Shape::default());
        Script::persistent(&trace, &sessions).strayed(share, bytes, STRAY_SEED)
    })
}

/// Which requests stray: any number, always the same.
const STRAY_SEED: u64 = 9;

/// A point of `curve` at `x`, with [`COLUMNS`].
pub fn point(curve: impl Into<Cow<'static, str>>, x: f64, setup: Setup, script: &Lazy) -> Run {
    let (curve, script) = (curve.into(), Arc::clone(script));
    Run::new(format!("{curve} at {x}"), move || {
        vec![Row::new(curve, x, values(&run(&setup, &script)))]
    })
}

/// What [`COLUMNS`] name.
pub fn values(report: &Report) -> Vec<f64> {
    vec![
        report.throughput_rps,
        report.miss_ratio,
        report.delay_mean.as_secs_f64() * 1e3,
        report.delay_p99.as_secs_f64() * 1e3,
        report.idle,
        report.node_mean(|node| node.cpu),
        report.node_mean(|node| node.disk),
        report.imbalance,
        report.moved as f64,
        report.forwarded as f64,
    ]
}
