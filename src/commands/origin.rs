//! `baton origin`: an emulated Web server in the foreground.

use crate::exit::{self, Exit, Outcome, say};
use crate::flags;
use anyhow::Context;
use origin::model::{CachePolicy, CpuCost};
use tokio::signal::unix::{SignalKind, signal};

/// Answers until SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot listen.
pub fn run(args: &flags::Origin) -> Outcome {
    let Some(cpu) = named(&CpuCost::SETS, &args.costs) else {
        return unknown("cost set", &args.costs, &CpuCost::SETS.map(|(name, _)| name));
    };
    let Some(cache_policy) = named(&CachePolicy::ALL, &args.cache_policy) else {
        let known = CachePolicy::ALL.map(|(name, _)| name);
        return unknown("cache policy", &args.cache_policy, &known);
    };
    let usual = origin::Config::default();
    let config = origin::Config {
        listen: args.listen,
        name: args.name.clone(),
        model: origin::model::Config {
            cpu,
            cache_bytes: args.cache,
            cache_policy,
            ..usual.model.clone()
        },
        time_scale: args.time_scale,
        ..usual
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the reactor")?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let origin = origin::Origin::bind(config)?;
        say(format_args!("baton: origin {} listens on {}", args.name, origin.addr()));
        let end = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        origin.serve(end).await.context("the origin failed")?;
        anyhow::Ok(())
    })?;
    Ok(Exit::Done)
}

fn named<T: Copy>(rows: &[(&str, T)], name: &str) -> Option<T> {
    rows.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Outcome {
    exit::usage(&format!("there is no {what} {name}; known: {}", known.join(", ")))
}
