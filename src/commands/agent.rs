//! `baton agent`: beside a server, takes over the connections that are handed to it and reports
//! its load.
//!
//! What takes them over is a program in the kernel, pinned there: the agent attaches it and may go.

mod back;
mod relay;
pub(super) mod site;

use super::doctor::Words;
use crate::exit::{Exit, Outcome, say};
use crate::flags;
use agent::doctor::{Row, Verdict, examine};
use agent::host::System;
use agent::{Agent, Kernel, NoKernel, Settings};
use anyhow::Context;
use distributor::Team;
use relay::Relay;
use site::Plan;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Time between readings: what policies compare changes within seconds.
const PERIOD: Duration = Duration::from_secs(1);

/// Checks the host, attaches the kernel's program and answers until SIGTERM or SIGINT.
///
/// # Errors
/// When the configuration is invalid, or the host does not allow it.
pub fn run(args: &flags::Agent) -> Outcome {
    let plan = Plan::of(args, &System)?;
    if args.detach {
        back::detach(&plan)?;
        say("baton: the kernel's programs are gone");
        return Ok(Exit::Done);
    }
    let rows = examine(&plan.site(), &System);
    complain(&rows);
    if !args.report_only && rows.iter().any(stands_in_the_way) {
        say("baton: connections could not be taken over here; repair what fails, or see what \
             `baton doctor --fix` can (--report-only reports the load all the same)");
        return Ok(Exit::Invalid);
    }
    // Before anything is changed in the kernel: an address that is taken is a mistake to repair.
    let socket = TcpListener::bind(plan.listen)
        .with_context(|| format!("cannot listen on {}", plan.listen))?;
    let (kernel, relay) = match args.report_only {
        true => (Arc::new(NoKernel) as Arc<dyn Kernel>, None),
        false => take_over(&plan, socket.local_addr()?.port())?,
    };
    answer(args, &plan, socket, kernel, relay)?;
    if !args.report_only {
        say(format_args!(
            "baton: the agent ends; the kernel's programs stay, with tables pinned below {}, and \
             so do the connections (--detach takes them away)",
            plan.pin.display()
        ));
    }
    Ok(Exit::Done)
}

/// A relay that runs, and its workers.
type Running = (Arc<Relay>, Team);

/// Attaches the kernel's program, and begins to relay what is forwarded.
fn take_over(plan: &Plan, port: u16) -> anyhow::Result<(Arc<dyn Kernel>, Option<Running>)> {
    let doors = plan.relay.as_ref().map(|relay| relay.open(port)).transpose()?;
    let attached = back::attach(plan, doors.as_ref().map_or(0, |doors| doors.port))?;
    let running = match (&plan.relay, doors) {
        (Some(relay), Some(doors)) => Some(relay::start(relay, doors, attached.clone())?),
        _ => None,
    };
    Ok((attached, running))
}

/// Whether a finding keeps the agent from starting: the served program may yet come.
fn stands_in_the_way(row: &Row) -> bool {
    row.lasting && row.finding.verdict == Verdict::Fail
}

/// Says what is not as it should be.
pub(super) fn complain(rows: &[Row]) {
    let words = Words { colour: crate::exit::colour(&std::io::stderr()) };
    for row in rows.iter().filter(|row| row.finding.verdict >= Verdict::Warn) {
        say(words.row(row).trim_end());
    }
}

/// Answers until a signal; then what is relayed may end, until another one.
fn answer(
    args: &flags::Agent,
    plan: &Plan,
    socket: TcpListener,
    kernel: Arc<dyn Kernel>,
    relay: Option<Running>,
) -> anyhow::Result<()> {
    let settings = Settings {
        server: plan.name.clone(),
        served: plan.served,
        vips: plan.vips.iter().map(|(vip, _)| *vip).collect(),
        period: PERIOD,
        watched: (!args.report_only).then(|| plan.watched()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the reactor")?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let (args, forwards) = (args.clone(), relay.as_ref().map(|(relay, _)| relay.clone()));
        let mut agent = Agent::start(socket, settings, Arc::new(System), kernel)?;
        if let Some((relay, _)) = &relay {
            agent = agent.with_relay(Arc::clone(relay) as _);
        }
        say(format_args!("baton: agent of {} listens on {}", plan.name, agent.address()?));
        let end = async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => break,
                    _ = interrupt.recv() => break,
                    _ = hangup.recv() => reload(args.clone(), forwards.clone()).await,
                }
            }
        };
        agent.serve(end).await.context("the agent failed")?;
        match relay {
            Some((relay, team)) => drain(relay, team).await,
            None => Ok(()),
        }
    })
}

/// Reads the file again for the relay: nothing else of it changes while the agent runs.
async fn reload(args: flags::Agent, relay: Option<Arc<Relay>>) {
    let read = move || match (relay, Plan::of(&args, &System)?.relay) {
        (Some(relay), Some(plan)) => {
            relay.apply(&plan).map(|count| format!("the relay knows {count} servers"))
        }
        _ => Ok("there is no relay here; start the agent again for other changes".to_owned()),
    };
    // Not here: names may have to be looked up.
    let done = tokio::task::spawn_blocking(read).await;
    match done.context("the agent failed").and_then(|done| done) {
        Ok(done) => say(format_args!("baton: read the configuration again: {done}")),
        Err(error) => say(format_args!("baton: all stays as it was: {error:#}")),
    }
}

/// Ends the relay when its connections have ended, or at a second signal.
async fn drain(relay: Arc<Relay>, team: Team) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let hurry = Arc::new(AtomicBool::new(false));
    let hurried = Arc::clone(&hurry);
    let mut ending = tokio::task::spawn_blocking(move || relay.stop(team, &hurried));
    let cut_off = loop {
        tokio::select! {
            ended = &mut ending => break ended.context("the relay failed")?,
            _ = terminate.recv() => hurry.store(true, Ordering::Relaxed),
            _ = interrupt.recv() => hurry.store(true, Ordering::Relaxed),
        }
    };
    if cut_off > 0 {
        say(format_args!("baton: {cut_off} relayed connections were cut off"));
    }
    Ok(())
}
