//! The main job: a real trace, replayed over real sockets through the switch, under one policy
//! after the other.
//!
//! Real are the sockets, the switch, its decisions, the bytes and the clients' sessions. Emulated
//! are the servers' service times and caches (crate `model`, the costs of ASPLOS 1998), run a
//! number of times faster than those machines were.

#[cfg(feature = "oneway")]
pub mod oneway;
mod plot;
mod stage;
mod table;

pub use stage::{Cast, Origins, THREAD as ORIGINS_THREAD, catalogue, switch};
pub use table::{Row, json, text};

use crate::exit::say;
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use load::Options;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload::{Clock, Pick, Plan, Shape, Trace};

/// The trace that ships with the program.
const TRACE: &[u8] = include_bytes!("../../data/three-sites.trace.zst");

/// Its name in tables.
pub const TRACE_NAME: &str = "three-sites";

/// The policies compared when none are named.
pub const POLICIES: [&str; 6] = ["round-robin", "wrr", "bounded-hash", "lard", "lard-r", "cap"];

/// One client in this many is taken, with all its sessions: the day's mix in a quarter of the time.
const CLIENTS_OF: u32 = 4;

/// Targets above this size are left out: the thirteen of them would be two thirds of all bytes,
/// and each as large as a cache.
const TARGET_BYTES_MAX: u64 = 10_000_000;

/// Model seconds are this many real ones: the servers are 12.5 times faster than those of 1998.
const TIME_SCALE: f64 = 0.08;

/// What to play.
pub struct Plot {
    /// Policies, in order.
    pub policies: Vec<String>,
    /// Servers.
    pub servers: usize,
    /// Requests under each policy; all of the sample if `None`.
    pub requests: Option<usize>,
}

/// The part of the trace to be asked.
///
/// # Errors
/// When the trace in the program is damaged.
pub fn plan(requests: Option<usize>) -> Result<Plan> {
    let bytes = zstd::decode_all(TRACE).context("the trace in the program is damaged")?;
    let format = workload::format("baton").context("the trace's format is missing")?;
    let mut builder = workload::Builder::new(Clock::Kept);
    let mut full = None;
    let tally = workload::read(format, bytes.as_slice(), |record| {
        full = full.take().or(builder.push(&record.site, record).err());
    })?;
    if tally.records == 0 || full.is_some() {
        bail!("the trace in the program is damaged");
    }
    let mut trace: Trace = builder.finish();
    trace.retain(|_, target| (1..=TARGET_BYTES_MAX).contains(&target.size));
    let sample = Plan::new(trace, Pick::Clients { of: CLIENTS_OF, seed: 1 }, Shape::default());
    let Some(count) = requests else { return Ok(sample) };
    Ok(Plan::new(sample.trace, Pick::First(count), Shape::default()))
}

/// Sessions at a time: as many as the papers' front-end lets in (their S), so that the servers are
/// busy but none needs to be overloaded while another idles.
pub fn sessions(servers: usize) -> usize {
    let mut cluster = policy::Cluster::new(0.0);
    for at in 0..servers {
        let spec = policy::Spec { name: at.to_string().into(), weight: 1, capacity: None };
        // Sixty-five thousand slots are more than the servers that can be asked for.
        let _slot = cluster.join(spec, policy::State::Up, policy::Instant::ZERO);
    }
    let admission = policy::Admission::new(Some(25), Some(65), policy::AdmissionForm::MinusOne);
    usize::try_from(admission.limit(&cluster).0 / policy::Load::ONE.0).unwrap_or(usize::MAX).max(1)
}

/// Plays the trace under each policy. Fewer rows than policies: it was interrupted.
///
/// # Errors
/// When servers or switch cannot be started.
pub fn play(plot: &Plot, plan: &Arc<Plan>, progress: bool) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a reactor for the clients")?;
    let cast = Cast {
        servers: plot.servers,
        cache_bytes: plan.working_set_bytes / plot.servers as u64,
        time_scale: TIME_SCALE,
        sizes: catalogue(plan),
    };
    let mut rows = Vec::new();
    for policy in &plot.policies {
        let origins = Origins::start(cast.clone())?;
        let service = switch(policy, &origins)?;
        let (_, address) = service.listening().pop().context("the switch does not listen")?;
        let bar = bar(policy, plan.trace.requests.len(), progress);
        let mut options = Options::new(address);
        options.sessions = sessions(plot.servers);
        options.verify_size = true;
        let replay = load::replay(
            Arc::clone(plan),
            options,
            |report| bar.set_position(report.settled()),
            async {
                // Without a handler for signals there is only the default: the program ends.
                let _unheard = tokio::signal::ctrl_c().await;
            },
        );
        let report = runtime.block_on(replay);
        bar.finish();
        if report.stopped {
            service.stop(&AtomicBool::new(true));
            return Ok(rows);
        }
        let imbalance = imbalance(&service);
        service.stop(&AtomicBool::new(false));
        let row = Row::new(policy, &report, imbalance);
        if !progress {
            // No terminal, no bar: a line when a policy is done.
            say(format_args!(
                "{policy}: {:.0} requests/s in {:.0} s",
                row.throughput_rps,
                report.took.as_secs_f64()
            ));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Mean load of the busiest server over the mean of all, from the switch's own books.
fn imbalance(service: &crate::serve::Service) -> f64 {
    let shared = service.glass().shared();
    let (books, now) = (shared.ask.books(), shared.clock.now());
    let servers = books.desk().cluster().servers();
    let means: Vec<f64> =
        servers.map(|server| server.load_mean(policy::Instant::ZERO, now)).collect();
    let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
    if mean > 0.0 { means.iter().copied().fold(0.0, f64::max) / mean } else { 1.0 }
}

/// Draws the comparison.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn draw(rows: &[Row], caption: &str, folder: &Path) -> Result<std::path::PathBuf> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join("demo.svg");
    plot::draw(rows, caption, &path)?;
    Ok(path)
}

fn bar(policy: &str, requests: usize, visible: bool) -> ProgressBar {
    if !visible {
        return ProgressBar::hidden();
    }
    let style = "{prefix:>14} [{bar:40}] {pos}/{len} requests, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(style)
        .expect("the template is a constant that was tried")
        .progress_chars("=> ");
    ProgressBar::new(requests as u64).with_style(style).with_prefix(policy.to_owned())
}
