//! GATHERS what servers say of themselves: asks their agents, whatever the delivery, and tells the
//! policy and whoever else listens (the Collector and Manager of CAP, Casalicchio and Colajanni,
//! WWW10 2001).
//!
//! All agents by one thread with a reactor of its own; each has a deadline, so that one which is
//! silent delays no other. Their lists of connections, which may be long, are read beside that, one
//! at a time of each agent. A report that is not renewed expires: the policy is told of an idle
//! server rather than of one that was busy an hour ago.

mod lists;

use crate::config::Config;
use crate::oneway::fabric::Owned;
use agent::LoadReport;
use agent::client::fetch_load;
use anyhow::{Context, Result};
use control::view::AgentView;
use distributor::{Backend, Shared, say};
use lists::owned;
use policy::{Instant, Report, ServerId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};

/// Periods after which a report that was not renewed is believed no more.
const EXPIRES_AFTER: u32 = 3;
/// An agent has this long for an answer, or a period if that is shorter.
const DEADLINE_MAX: Duration = Duration::from_secs(2);
/// The same when it is asked for the first time: nothing is known of its server until then.
const DEADLINE_FIRST: Duration = Duration::from_secs(1);
/// Where something speaks against hand-overs, or nothing is known, it is asked again after this, or
/// a period if that is shorter: what was mended is used soon, whatever the period.
const SOON: Duration = Duration::from_secs(1);
/// Periods between two questions for all connections; the first comes after one.
const FLOWS_EVERY: u32 = 10;
/// Counters of servers' programs that say that clients wait in vain.
pub const TROUBLES: [&str; 3] = ["forged", "no_listener", "adopt_refused"];

/// Whoever listens to servers, beside the policy. Called by the thread that asks: it may take short
/// locks.
pub trait Ear: Send + Sync {
    /// An agent has answered. Whether all is well: if not, it is asked again soon.
    fn heard(&self, server: ServerId, report: &LoadReport) -> bool;
    /// An agent has not.
    fn silent(&self, server: ServerId, why: &str);
    /// These are all connections that a server has, of the addresses that its agent knows.
    fn owned(&self, server: ServerId, owned: Owned);
}

/// Asks the agents of a switch.
pub struct Gather {
    shared: Arc<Shared>,
    known: Mutex<Known>,
    ear: OnceLock<Arc<dyn Ear>>,
    /// Asks at once: who is to be asked has changed.
    wake: Arc<Notify>,
    /// It is over.
    halt: Arc<Notify>,
    running: Mutex<Option<Running>>,
    /// How long an agent has for its first answer.
    first: Duration,
}

/// Who is asked, and how often.
#[derive(Default)]
struct Known {
    agents: BTreeMap<ServerId, Agent>,
    period: Duration,
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
    /// When it is asked again; the beginning: at once.
    due: Instant,
    /// When it is asked for all connections; `None`: it has not answered yet.
    flows_due: Option<Instant>,
}

/// What came of a question for a load: whose, where it was asked, what it said.
type Answered = (ServerId, String, Result<LoadReport, String>);
/// The same for all connections.
type Listed = (ServerId, String, Option<Owned>);

impl Gather {
    /// Asks nobody yet.
    pub fn new(shared: Arc<Shared>) -> Arc<Self> {
        let (known, ear) = (Mutex::default(), OnceLock::new());
        let (wake, halt, running) = (Arc::default(), Arc::default(), Mutex::default());
        Arc::new(Self { shared, known, ear, wake, halt, running, first: DEADLINE_FIRST })
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
            let _late = running.asked.recv_timeout(self.first * 2);
        }
    }

    /// Asks nobody any more.
    pub fn stop(&self) {
        self.halt.notify_one();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if running.is_some_and(|running| running.thread.join().is_err()) {
            say("the thread that asks agents did not end well");
        }
    }

    /// Replaces the agents.
    fn set(&self, wanted: impl IntoIterator<Item = (ServerId, String, String)>, period: Duration) {
        let mut known = self.known();
        let mut old = std::mem::take(&mut known.agents);
        // What a configuration changed is seen in the next answer of each.
        old.values_mut().for_each(|agent| agent.health.due = Instant::ZERO);
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
        let period = known.period;
        let believed = period * EXPIRES_AFTER;
        // A reload may have taken it away meanwhile.
        let one = known.agents.get_mut(&id).filter(|one| one.address == address)?;
        let health = &mut one.health;
        Some(match answer {
            Ok(load) => {
                let report = load.report(at);
                health.report = Some((at, load.clone()));
                health.answers += 1;
                (health.fault, health.expired) = (None, false);
                health.flows_due.get_or_insert(at.plus(period));
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
        let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match built {
            Ok(runtime) => runtime,
            Err(error) => return say(format_args!("agents cannot be asked: {error}")),
        };
        runtime.block_on(async {
            tokio::select! {
                () = self.halt.notified() => {}
                () = self.rounds(asked) => {}
            }
        });
    }

    async fn rounds(&self, asked: Sender<()>) {
        let mut asked = Some(asked);
        let mut lists: JoinSet<Listed> = JoinSet::new();
        let mut listing: BTreeSet<ServerId> = BTreeSet::new();
        loop {
            let period = self.known().period;
            // From the beginning of the round on.
            let next = tokio::time::sleep(period.min(SOON));
            self.round(period).await;
            // Nobody waits for it but at the start.
            let _unheard = asked.take().map(|asked| asked.send(()));
            self.begin_lists(period, &mut listing, &mut lists);
            tokio::pin!(next);
            loop {
                tokio::select! {
                    () = &mut next => break,
                    () = self.wake.notified() => break,
                    Some(ended) = lists.join_next() => self.listed(ended, &mut listing),
                }
            }
        }
    }

    /// Asks each that is due once, all at a time.
    async fn round(&self, period: Duration) {
        let now = self.shared.clock.now();
        let mut asked: JoinSet<Answered> = JoinSet::new();
        for (id, Agent { address, health, .. }) in self.known().agents.clone() {
            if health.due > now {
                continue;
            }
            let fresh = health.answers + health.failures == 0;
            let deadline = if fresh { self.first } else { period.min(DEADLINE_MAX) };
            asked.spawn(async move {
                let load = fetch_load(&address, deadline).await;
                (id, address, load.map_err(|fault| fault.to_string()))
            });
        }
        while let Some(ended) = asked.join_next().await {
            // A task that panicked broke a promise of the agent's client: the others go on.
            let Ok((id, address, load)) = ended else { continue };
            self.answered(now, id, &address, &load);
        }
    }

    /// Tells everybody of an answer to a question of `asked`.
    fn answered(
        &self,
        asked: Instant,
        id: ServerId,
        address: &str,
        load: &Result<LoadReport, String>,
    ) {
        let Some(report) = self.note(id, address, load, self.shared.clock.now()) else { return };
        if let Some(report) = report {
            self.shared.ask.report(id, report);
        }
        let well = match (self.ear.get(), load) {
            (Some(ear), Ok(load)) => ear.heard(id, load),
            (Some(ear), Err(fault)) => {
                ear.silent(id, fault);
                false
            }
            (None, load) => load.is_ok(),
        };
        let mut known = self.known();
        let period = known.period;
        if let Some(agent) = known.agents.get_mut(&id).filter(|agent| agent.address == address) {
            let pause = if well { period } else { period.min(SOON) };
            // By half a round: the one that it is for must not find it due just after.
            agent.health.due = asked.plus(pause - period.min(SOON) / 2);
        }
    }

    /// Begins to read the connections of those whose turn it is, and who are not read already.
    fn begin_lists(
        &self,
        period: Duration,
        listing: &mut BTreeSet<ServerId>,
        lists: &mut JoinSet<Listed>,
    ) {
        if self.ear.get().is_none() {
            return;
        }
        let clock = self.shared.clock;
        let now = clock.now();
        for (id, agent) in &mut self.known().agents {
            let well = agent.health.fault.is_none();
            let due = agent.health.flows_due.is_some_and(|due| due <= now);
            if !well || !due || !listing.insert(*id) {
                continue;
            }
            agent.health.flows_due = Some(now.plus(period * FLOWS_EVERY));
            let (id, address) = (*id, agent.address.clone());
            lists.spawn(async move {
                let owned = owned(&address, clock).await;
                (id, address, owned)
            });
        }
    }

    /// Tells of a server's connections, if all of them were read.
    fn listed(&self, ended: Result<Listed, JoinError>, listing: &mut BTreeSet<ServerId>) {
        // One that panicked is not read again: which one it was is not known any more.
        let Ok((id, address, owned)) = ended else { return };
        listing.remove(&id);
        let asked = self.known().agents.get(&id).is_some_and(|agent| agent.address == address);
        if let (Some(ear), Some(owned), true) = (self.ear.get(), owned, asked) {
            ear.owned(id, owned);
        }
    }
}

/// What the doctor finds wrong at a server, in a sentence each.
fn complaints(load: &LoadReport) -> Vec<String> {
    let say =
        |fault: &agent::Fault| format!("{}: {} ({})", fault.check, fault.evidence, fault.remedy);
    load.faults.iter().map(say).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test says no")]
mod tests;
