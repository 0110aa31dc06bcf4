//! GATHERS what servers say of themselves: asks their agents, whatever the delivery, and tells the
//! policy and whoever else listens (the Collector and Manager of CAP, Casalicchio and Colajanni,
//! WWW10 2001).
//!
//! All agents by one thread with a reactor of its own; each has a deadline, so that one which is
//! silent delays no other. A report that is not renewed expires: the policy is told of an idle
//! server rather than of one that was busy an hour ago.

use crate::config::Config;
use crate::oneway::fabric::Owned;
use agent::client::{fetch_flows, fetch_load};
use agent::{Flow, LoadReport};
use anyhow::{Context, Result};
use control::view::AgentView;
use distributor::{Backend, Clock, Shared, say};
use policy::{Instant, Report, ServerId};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Periods after which a report that was not renewed is believed no more.
const EXPIRES_AFTER: u32 = 3;
/// An agent has this long for an answer, or a period if that is shorter.
const DEADLINE_MAX: Duration = Duration::from_secs(2);
/// The same when it is asked for the first time: nothing is known of its server until then.
const DEADLINE_FIRST: Duration = Duration::from_secs(1);
/// Reports between two questions for all connections.
const FLOWS_EVERY: u64 = 10;
/// Pages of connections that are read: beyond, nothing is reconciled.
const PAGES_MAX: usize = 256;
/// Counters of servers' programs that say that clients wait in vain.
pub const TROUBLES: [&str; 3] = ["forged", "no_listener", "adopt_refused"];

/// Whoever listens to servers, beside the policy. Called by the thread that asks: it may take short
/// locks.
pub trait Ear: Send + Sync {
    /// An agent has answered.
    fn heard(&self, server: ServerId, report: &LoadReport);
    /// An agent has not.
    fn silent(&self, server: ServerId, why: &str);
    /// These are all connections that a server has.
    fn owned(&self, server: ServerId, owned: Owned);
}

/// Asks the agents of a switch.
pub struct Gather {
    shared: Arc<Shared>,
    known: Mutex<Known>,
    ear: OnceLock<Arc<dyn Ear>>,
    /// Asks at once: who is to be asked has changed, or it is over.
    wake: Arc<Notify>,
    running: Mutex<Option<Running>>,
}

/// Who is asked, and how often.
#[derive(Default)]
struct Known {
    agents: BTreeMap<ServerId, Agent>,
    period: Duration,
    over: bool,
}

/// The thread, and what it says when it has asked for the first time.
struct Running {
    thread: JoinHandle<()>,
    asked: Receiver<()>,
}

/// An agent.
#[derive(Clone, Debug)]
struct Agent {
    server: String,
    address: String,
    health: Health,
}

/// How an agent does.
#[derive(Clone, Debug, Default)]
struct Health {
    /// Its last report, and when that came.
    report: Option<(Instant, LoadReport)>,
    /// Reports that came.
    answers: u64,
    /// Questions without a good answer.
    failures: u64,
    /// What went wrong the last time, if it did.
    fault: Option<String>,
    /// Whether the policy has been told that the report is too old.
    expired: bool,
}

impl Gather {
    /// Asks nobody yet.
    pub fn new(shared: Arc<Shared>) -> Arc<Self> {
        let (known, ear) = (Mutex::default(), OnceLock::new());
        let (wake, running) = (Arc::default(), Mutex::default());
        Arc::new(Self { shared, known, ear, wake, running })
    }

    /// Tells `ear` from now on what servers say. Once in a process.
    pub fn tell(&self, ear: Arc<dyn Ear>) {
        let fresh = self.ear.set(ear).is_ok();
        assert!(fresh, "one-way delivery is opened only where there is none");
    }

    /// Asks the agents of the configuration in force, whose servers are in the table; and begins
    /// to, if there are the first.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn apply(self: &Arc<Self>, config: &Config) -> Result<()> {
        let live = self.shared.live.load();
        let agent = |server: &crate::config::ready::Server| {
            let same = |backend: &&Arc<Backend>| *backend.name == *server.name;
            let backend = live.backends.iter().flatten().find(same)?;
            Some((backend.id, server.name.clone(), server.agent.clone()?))
        };
        self.set(config.servers.iter().filter_map(agent), config.agent_period);
        let idle = self.known().agents.is_empty();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_none() && !idle {
            let (gather, (asked, heard)) = (Arc::clone(self), channel());
            let thread = std::thread::Builder::new().name("baton-agents".to_owned());
            let thread = thread.spawn(move || gather.run(asked));
            let thread = thread.context("cannot start the thread that asks agents")?;
            *running = Some(Running { thread, asked: heard });
        }
        Ok(())
    }

    /// Waits until every agent has had its first chance to answer.
    pub fn first_asked(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            // Late: what is not known of a server is relayed until it is.
            let _late = running.asked.recv_timeout(DEADLINE_FIRST + DEADLINE_FIRST);
        }
    }

    /// Asks nobody any more.
    pub fn stop(&self) {
        self.known().over = true;
        self.wake.notify_one();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if running.is_some_and(|running| running.thread.join().is_err()) {
            say("the thread that asks agents did not end well");
        }
    }

    /// Replaces the agents.
    fn set(&self, wanted: impl IntoIterator<Item = (ServerId, String, String)>, period: Duration) {
        let mut known = self.known();
        let mut old = std::mem::take(&mut known.agents);
        for (id, server, address) in wanted {
            let same = |old: &Agent| old.address == address && *old.server == server;
            let kept = old.remove(&id).filter(same);
            let fresh = || Agent { server, address, health: Health::default() };
            known.agents.insert(id, kept.unwrap_or_else(fresh));
        }
        known.period = period;
        drop(known);
        self.wake.notify_one();
    }

    /// How each agent does, by server.
    pub fn view(&self) -> Vec<AgentView> {
        let now = self.shared.clock.now();
        let view = |agent: &Agent| {
            let health = &agent.health;
            let load = health.report.as_ref().map(|(_, load)| load);
            let counted = |name: &str| Some((name.to_owned(), *load?.kernel.get(name)?));
            AgentView {
                server: agent.server.clone(),
                address: agent.address.clone(),
                age_s: health.report.as_ref().map(|(at, _)| now.since(*at).as_secs_f64()),
                answers: health.answers,
                failures: health.failures,
                fault: health.fault.clone(),
                cpu_busy: load.and_then(|load| load.cpu_busy),
                disk_busy: load.and_then(|load| load.disk_busy),
                disk_queue: load.and_then(|load| load.disk_queue),
                accept_queue: load.and_then(|load| load.accept_queue),
                troubles: TROUBLES.iter().filter_map(|name| counted(name)).collect(),
                complaints: load.map_or_else(Vec::new, complaints),
            }
        };
        self.known().agents.values().map(view).collect()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of an answer, and returns what the policy is to be told. `None`: it came from
    /// nobody who is asked any more.
    fn note(
        &self,
        id: ServerId,
        address: &str,
        answer: &Result<LoadReport, String>,
        at: Instant,
    ) -> Option<Option<Report>> {
        let mut known = self.known();
        let believed = known.period * EXPIRES_AFTER;
        // A reload may have taken it away meanwhile.
        let one = known.agents.get_mut(&id).filter(|one| one.address == address)?;
        let health = &mut one.health;
        Some(match answer {
            Ok(load) => {
                let report = load.report(at);
                health.report = Some((at, load.clone()));
                health.answers += 1;
                (health.fault, health.expired) = (None, false);
                report
            }
            Err(fault) => {
                health.failures += 1;
                health.fault = Some(fault.clone());
                let last = health.report.as_ref().map(|(at, _)| *at);
                let old = last.is_some_and(|last| at.since(last) > believed);
                let tell = old && !std::mem::replace(&mut health.expired, old);
                tell.then(|| Report { at, ..Report::default() })
            }
        })
    }

    /// Asks all of them every period until it is over.
    fn run(&self, asked: Sender<()>) {
        let mut asked = Some(asked);
        let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match built {
            Ok(runtime) => runtime,
            Err(error) => return say(format_args!("agents cannot be asked: {error}")),
        };
        runtime.block_on(async {
            let mut round = 0u64;
            loop {
                let period = {
                    let known = self.known();
                    if known.over {
                        return;
                    }
                    known.period
                };
                // From the beginning of the round on.
                let next = tokio::time::sleep(period);
                self.round(period, round).await;
                round += 1;
                // Nobody waits for it but at the start.
                let _unheard = asked.take().map(|asked| asked.send(()));
                tokio::select! {
                    () = next => {}
                    () = self.wake.notified() => {}
                }
            }
        });
    }

    /// Asks each once, all at a time.
    async fn round(&self, period: Duration, round: u64) {
        let agents = self.known().agents.clone();
        let (ear, clock) = (self.ear.get(), self.shared.clock);
        let mut asked = JoinSet::new();
        for (id, Agent { address, health, .. }) in agents {
            let fresh = health.answers + health.failures == 0;
            let deadline = if fresh { DEADLINE_FIRST } else { period.min(DEADLINE_MAX) };
            let flows_due = ear.is_some() && round.is_multiple_of(FLOWS_EVERY);
            asked.spawn(async move {
                let load = fetch_load(&address, deadline).await.map_err(|fault| fault.to_string());
                let owned = match flows_due && load.is_ok() {
                    true => owned(&address, deadline, clock).await,
                    false => None,
                };
                (id, address, load, owned)
            });
        }
        while let Some(ended) = asked.join_next().await {
            // A task that panicked broke a promise of the agent's client: the others go on.
            let Ok((id, address, load, owned)) = ended else { continue };
            let Some(report) = self.note(id, &address, &load, clock.now()) else { continue };
            if let Some(report) = report {
                self.shared.ask.report(id, report);
            }
            let Some(ear) = ear else { continue };
            match &load {
                Ok(load) => ear.heard(id, load),
                Err(fault) => ear.silent(id, fault),
            }
            if let Some(owned) = owned {
                ear.owned(id, owned);
            }
        }
    }
}

/// What the doctor finds wrong at a server, in a sentence each.
fn complaints(load: &LoadReport) -> Vec<String> {
    let say =
        |fault: &agent::Fault| format!("{}: {} ({})", fault.check, fault.evidence, fault.remedy);
    load.faults.iter().map(say).collect()
}

/// All connections that a server has; `None` when not all of them could be read.
async fn owned(address: &str, deadline: Duration, clock: Clock) -> Option<Owned> {
    let asked = clock.now();
    let mut flows: Vec<Flow> = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = fetch_flows(address, flows.last().copied(), deadline).await.ok()?;
        let (more, advances) = (page.more, page.flows.last() > flows.last());
        flows.extend(page.flows);
        if !more {
            flows.sort_unstable();
            let ends = flows.into_iter().map(|flow| (flow.client, flow.vip)).collect();
            return Some(Owned { asked, ends });
        }
        if !advances {
            return None;
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test says no")]
mod tests;
