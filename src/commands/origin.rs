//! `baton origin`: emulated Web servers in the foreground.

mod services;

use crate::exit::{self, Exit, Outcome, say};
use crate::{flags, limits};
use anyhow::{Context, Result};
use origin::model::{CachePolicy, CpuCost};
use origin::{COLUMNS, Config, DocumentCache, Origin, RealSettings, Usage};
use std::io::Write;
use std::path::Path;
use std::thread::JoinHandle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// Answers until SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot listen, or the file of samples cannot be written.
pub fn run(args: &flags::Origin) -> Outcome {
    let Some(cpu) = named(&CpuCost::SETS, &args.costs) else {
        return unknown("cost set", &args.costs, &CpuCost::SETS.map(|(name, _)| name));
    };
    let Some(cache_policy) = named(&CachePolicy::ALL, &args.cache_policy) else {
        let known = CachePolicy::ALL.map(|(name, _)| name);
        return unknown("cache policy", &args.cache_policy, &known);
    };
    let mut config = Config {
        listen: args.listen,
        name: args.name.clone(),
        time_scale: args.time_scale,
        class_field: args.class_field.clone(),
        sample: args.sample,
        report_period: args.report_period,
        agent: args.agent,
        real: args.real.then(|| real(args)),
        ..Config::default()
    };
    config.model.cpu = cpu;
    config.model.cache_bytes = match args.cache {
        flags::DocumentCache::Bytes(bytes) => bytes,
        flags::DocumentCache::Kernel if args.real => 0,
        flags::DocumentCache::Kernel => {
            return exit::usage("--cache kernel needs --real: on paper there is no kernel");
        }
    };
    config.model.cache_policy = cache_policy;
    let given = match services::apply(&mut config, &args.service, &args.prefix) {
        Ok(given) => given,
        Err(why) => return exit::usage(&why),
    };
    if args.services {
        std::io::stdout().lock().write_all(services::list(&config, &given).as_bytes())?;
        return Ok(Exit::Done);
    }
    let configs = match each(config, args.count) {
        Ok(configs) => configs,
        Err(why) => return exit::usage(&why),
    };
    let usages = serve(configs)?;
    if let Some(path) = &args.utilisation {
        write(path, &usages).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Exit::Done)
}

fn real(args: &flags::Origin) -> RealSettings {
    RealSettings {
        roots: args.root.clone(),
        threads: usize::from(args.threads),
        cache: match args.cache {
            flags::DocumentCache::Bytes(_) => DocumentCache::Own,
            flags::DocumentCache::Kernel => DocumentCache::Kernel,
        },
        database_bytes: args.database,
        bytes_max: args.root_max,
    }
}

/// A configuration for each of `count` servers.
fn each(config: Config, count: u16) -> Result<Vec<Config>, String> {
    if count == 1 {
        return Ok(vec![config]);
    }
    let all = config.connections_max * usize::from(count);
    let connections_max = (limits::connections_allowed(all) / usize::from(count)).max(1);
    let one = |at: u16| {
        let mut one = Config { connections_max, ..config.clone() };
        one.name = format!("{}-{}", config.name, at + 1);
        for root in one.real.iter_mut().flat_map(|real| &mut real.roots) {
            *root = root.join(&one.name);
        }
        if config.listen.port() != 0 {
            let port = config.listen.port().checked_add(at).ok_or_else(|| {
                let first = config.listen.port();
                format!(
                    "{count} ports from {first} on go beyond 65535; begin lower, or with port 0"
                )
            })?;
            one.listen.set_port(port);
        }
        Ok(one)
    };
    (0..count).map(one).collect()
}

/// Answers until a signal comes; what all of them did is what is returned.
fn serve(configs: Vec<Config>) -> Result<Vec<Usage>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the reactor")?;
    let real = configs.iter().any(|config| config.real.is_some());
    let mut origins = Vec::new();
    for config in configs {
        let name = config.name.clone();
        origins.push((name, Origin::bind(config)?));
    }
    let usages = origins.iter().map(|(_, origin)| origin.usage()).collect();
    let (stop, stopped) = watch::channel(false);
    let (ended, mut ends) = mpsc::unbounded_channel();
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        for (name, origin) in &origins {
            say(format_args!("baton: origin {name} listens on {}", origin.addr()));
        }
        let origins = origins.into_iter().map(|(_, origin)| origin);
        // What is reckoned shares a thread; what is real has one each beside those that work.
        let groups =
            if real { origins.map(|one| vec![one]).collect() } else { vec![origins.collect()] };
        let start = |group: Vec<Origin>| start(group, stopped.clone(), ended.clone());
        let threads: Vec<_> = groups.into_iter().map(start).collect::<Result<_>>()?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            // One of them failed: the others end too.
            _ = ends.recv() => {}
        }
        stop.send_replace(true);
        for thread in threads {
            // A panic there was reported by the panic hook.
            thread.join().map_err(|_| anyhow::anyhow!("an origin's thread panicked"))??;
        }
        Ok(usages)
    })
}

/// Has a thread answer for some servers until it is told to stop; `ended` goes with it.
fn start(
    origins: Vec<Origin>,
    stopped: watch::Receiver<bool>,
    ended: mpsc::UnboundedSender<()>,
) -> Result<JoinHandle<Result<()>>> {
    let work = move || {
        let outcome = answer(origins, &stopped);
        // Nobody listens only where all is over.
        let _over = ended.send(());
        outcome
    };
    let builder = std::thread::Builder::new().name("origins".to_owned());
    builder.spawn(work).context("cannot start a thread for the servers")
}

fn answer(origins: Vec<Origin>, stopped: &watch::Receiver<bool>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a reactor for the servers")?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut serving = tokio::task::JoinSet::new();
        for origin in origins {
            let mut stopped = stopped.clone();
            serving.spawn_local(origin.serve(async move {
                // The sender gone means the same.
                let _gone = stopped.wait_for(|stop| *stop).await;
            }));
        }
        while let Some(one) = serving.join_next().await {
            one.context("an origin panicked")?.context("an origin failed")?;
        }
        Ok(())
    })
}

fn write(path: &Path, usages: &[Usage]) -> std::io::Result<()> {
    let mut text = format!("{COLUMNS}\n");
    usages.iter().for_each(|usage| text.push_str(&usage.csv()));
    std::fs::write(path, text)
}

fn named<T: Copy>(rows: &[(&str, T)], name: &str) -> Option<T> {
    rows.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Outcome {
    exit::usage(&format!("there is no {what} {name}; known: {}", known.join(", ")))
}
