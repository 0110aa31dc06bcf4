//! The stage of a demonstration: emulated servers and a switch, in this process, on ports of the
//! kernel's choice. Everything ends when it is dropped, so nothing outlives the program.

use crate::config::{Config, Flag};
use crate::exit::say;
use crate::serve::Service;
use anyhow::{Context, Result};
use origin::{Origin, Sizes, content};
use policy::TargetId;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::sync::watch;
use workload::Plan;

/// How servers are made.
#[derive(Clone)]
pub struct Cast {
    /// How many.
    pub servers: usize,
    /// Cache of each.
    pub cache_bytes: u64,
    /// Real seconds for each second of the model.
    pub time_scale: f64,
    /// Sizes of targets.
    pub sizes: Arc<HashMap<TargetId, u64>>,
}

/// The sizes that a plan's targets have, as origins look them up.
pub fn catalogue(plan: &Plan) -> Arc<HashMap<TargetId, u64>> {
    let targets = plan.trace.targets.iter();
    let entry = |target: &workload::Target| {
        (content::target(Some(plan.trace.site(target)), &target.url), target.size)
    };
    Arc::new(targets.map(entry).collect())
}

/// The name of the thread on which the emulated servers are.
pub const THREAD: &str = "origins";

/// Emulated servers on a thread of their own.
pub struct Origins {
    /// Where they listen.
    pub addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Origins {
    /// Starts them, caches empty.
    ///
    /// # Errors
    /// When one cannot listen or the thread cannot be started.
    pub fn start(cast: Cast) -> Result<Self> {
        Self::with((0..cast.servers).map(|at| config(&cast, at)).collect())
    }

    /// Starts one for each configuration, caches empty.
    ///
    /// # Errors
    /// When one cannot listen or the thread cannot be started.
    pub fn with(configs: Vec<origin::Config>) -> Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || play(configs, &stopped, &tell))
            .context("cannot start a thread for the servers")?;
        let addresses = told.recv().context("the servers did not start")??;
        Ok(Self { addresses, stop, thread: Some(thread) })
    }
}

impl Drop for Origins {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the panic hook.
            let _reported = thread.join();
        }
    }
}

fn play(
    configs: Vec<origin::Config>,
    stopped: &watch::Receiver<bool>,
    tell: &mpsc::Sender<Result<Vec<SocketAddr>>>,
) {
    let started = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a reactor for the servers")
        .and_then(|runtime| {
            let _inside = runtime.enter();
            let origins = configs.into_iter().map(Origin::bind).collect::<Result<Vec<_>, _>>()?;
            drop(_inside);
            Ok((runtime, origins))
        });
    let (runtime, origins) = match started {
        Ok(started) => started,
        // Nobody listens only if the program is ending.
        Err(error) => return drop(tell.send(Err(error))),
    };
    drop(tell.send(Ok(origins.iter().map(Origin::addr).collect())));
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut serving = Vec::new();
        for origin in origins {
            let mut stopped = stopped.clone();
            serving.push(tokio::task::spawn_local(origin.serve(async move {
                // The sender gone means the same.
                let _gone = stopped.wait_for(|stop| *stop).await;
            })));
        }
        for one in serving {
            if let Ok(Err(error)) = one.await {
                say(format_args!("baton: an emulated server failed: {error}"));
            }
        }
    });
}

fn config(cast: &Cast, at: usize) -> origin::Config {
    let usual = origin::Config::default();
    origin::Config {
        name: format!("origin-{}", at + 1),
        model: origin::model::Config {
            cpu: origin::model::CpuCost::ASPLOS,
            cache_bytes: cast.cache_bytes,
            ..usual.model.clone()
        },
        time_scale: cast.time_scale,
        sizes: Sizes { catalogue: Arc::clone(&cast.sizes), ..Sizes::default() },
        prefixes: Vec::new(),
        drain_timeout: std::time::Duration::from_millis(100),
        ..usual
    }
}

/// A switch in front of `origins`.
///
/// # Errors
/// When it cannot start.
pub fn switch(policy: &str, origins: &Origins) -> Result<Service> {
    let mut flags = vec![
        Flag::Listen("127.0.0.1:0".to_owned()),
        Flag::Policy(policy.to_owned()),
        Flag::Workers("1".to_owned()),
        Flag::Set("admin.socket=off".to_owned()),
        Flag::Set("timeouts.drain=1s".to_owned()),
        Flag::Set("health.kind=off".to_owned()),
        Flag::Set("limits.connections=4000".to_owned()),
        Flag::Set("log.level=warn".to_owned()),
    ];
    for (at, address) in origins.addresses.iter().enumerate() {
        flags.push(Flag::Server(format!("origin-{}={address}", at + 1)));
    }
    let loaded = Config::from_flags(&flags)?;
    Service::start(loaded.config, "demonstration")
}
