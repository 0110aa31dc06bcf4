//! Asks the servers' agents: what they report goes to the policy, what they own to the keeper.
//!
//! All agents by one thread with a reactor of its own; each has a deadline, so that one which is
//! silent delays no other. A report that is not renewed expires: the policy is told of an idle
//! server rather than of one that was busy an hour ago.

use super::fabric::Owned;
use super::keeper::Notice;
use agent::client::{fetch_flows, fetch_load};
use agent::{Flow, LoadReport};
use distributor::{Clock, Shared};
use policy::{Instant, Report, ServerId};
use std::collections::BTreeMap;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Periods after which a report that was not renewed is believed no more.
const EXPIRES_AFTER: u32 = 3;
/// An agent has this long for an answer, or a period if that is shorter.
const DEADLINE_MAX: Duration = Duration::from_secs(2);
/// Reports between two questions for all connections.
const FLOWS_EVERY: u64 = 10;
/// Pages of connections that are read: beyond, nothing is reconciled.
const PAGES_MAX: usize = 256;

/// The agents there are, and how they do.
#[derive(Default)]
pub(super) struct Agents {
    known: Mutex<BTreeMap<ServerId, Known>>,
}

/// An agent.
#[derive(Clone, Debug)]
struct Known {
    address: String,
    health: Health,
}

/// How an agent does.
#[derive(Clone, Debug, Default)]
pub(super) struct Health {
    /// Its last report, and when that came.
    pub(super) report: Option<(Instant, LoadReport)>,
    /// Reports that came.
    pub(super) answers: u64,
    /// Questions without a good answer.
    pub(super) failures: u64,
    /// What went wrong the last time, if it did.
    pub(super) fault: Option<String>,
    /// Whether the policy has been told that the report is too old.
    expired: bool,
}

impl Agents {
    /// Replaces the agents by those of the configuration in force.
    pub(super) fn set(&self, wanted: impl IntoIterator<Item = (ServerId, String)>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut old = std::mem::take(&mut *known);
        for (id, address) in wanted {
            let same = old.remove(&id).filter(|old| old.address == address);
            known.insert(id, same.unwrap_or(Known { address, health: Health::default() }));
        }
    }

    /// How each does.
    pub(super) fn health(&self) -> Vec<(ServerId, String, Health)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|(id, one)| (*id, one.address.clone(), one.health.clone())).collect()
    }

    /// Takes note of an answer, and returns what the policy is to be told.
    fn note(
        &self,
        id: ServerId,
        address: &str,
        answer: Result<LoadReport, String>,
        at: Instant,
        believed: Duration,
    ) -> Option<Report> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A reload may have taken it away meanwhile.
        let one = known.get_mut(&id).filter(|one| one.address == address)?;
        let health = &mut one.health;
        match answer {
            Ok(load) => {
                let report = load.report(at);
                health.report = Some((at, load));
                health.answers += 1;
                (health.fault, health.expired) = (None, false);
                report
            }
            Err(fault) => {
                health.failures += 1;
                health.fault = Some(fault);
                let last = health.report.as_ref().map(|(at, _)| *at);
                let old = last.is_some_and(|last| at.since(last) > believed);
                let tell = old && !std::mem::replace(&mut health.expired, old);
                tell.then(|| Report { at, ..Report::default() })
            }
        }
    }

    /// Asks all of them every `period` until `stop`.
    pub(super) fn run(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        period: Duration,
        notices: &SyncSender<Notice>,
        mut stop: watch::Receiver<bool>,
    ) {
        let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match built {
            Ok(runtime) => runtime,
            Err(error) => {
                distributor::say(format_args!("one way: agents cannot be asked: {error}"));
                return;
            }
        };
        runtime.block_on(async {
            let mut timer = tokio::time::interval(period);
            timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            let mut round = 0u64;
            loop {
                tokio::select! {
                    _ = timer.tick() => {}
                    _ = stop.changed() => return,
                }
                self.round(shared, period, round, notices).await;
                round += 1;
            }
        });
    }

    /// Asks each once, all at a time.
    async fn round(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        period: Duration,
        round: u64,
        notices: &SyncSender<Notice>,
    ) {
        let deadline = period.min(DEADLINE_MAX);
        let mut asked = JoinSet::new();
        for (id, address, _) in self.health() {
            let flows_due = round.is_multiple_of(FLOWS_EVERY);
            let clock = shared.clock;
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
            let now = shared.clock.now();
            if let Some(report) = self.note(id, &address, load, now, period * EXPIRES_AFTER) {
                shared.ask.report(id, report);
            }
            if let Some(owned) = owned {
                // A keeper that is behind reconciles the next time.
                let _behind = notices.try_send(Notice::Owned(id, owned));
            }
        }
    }
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
mod tests {
    use super::*;

    #[test]
    fn a_report_that_is_not_renewed_expires_once() {
        let (agents, id, believed) = (Agents::default(), ServerId(0), Duration::from_secs(3));
        agents.set([(id, "h:1".to_owned())]);
        let note = |answer: Result<LoadReport, String>, second: u64| {
            let at = Instant(second * 1_000_000_000);
            agents.note(id, "h:1", answer, at, believed).map(|report| report.cpu)
        };
        let busy = LoadReport { period_s: 1.0, cpu_busy: Some(0.5), ..LoadReport::default() };
        let silent = || Err("silent".to_owned());
        assert_eq!(note(silent(), 0), None, "there is nothing to take back");
        assert_eq!(note(Ok(busy.clone()), 1), Some(0.5));
        assert_eq!(note(silent(), 4), None, "it is still believed");
        assert_eq!(note(silent(), 5), Some(0.0));
        assert_eq!(note(silent(), 6), None, "that was said already");
        assert_eq!(note(Ok(busy), 7), Some(0.5));
        let (_, _, health) = agents.health().remove(0);
        assert_eq!((health.answers, health.failures, health.fault), (2, 4, None));
    }

    #[test]
    fn an_answer_of_an_agent_that_is_gone_is_not_heard() {
        let agents = Agents::default();
        agents.set([(ServerId(0), "h:1".to_owned())]);
        agents.set([(ServerId(0), "h:2".to_owned())]);
        let late = LoadReport { period_s: 1.0, ..LoadReport::default() };
        let heard = agents.note(ServerId(0), "h:1", Ok(late), Instant::ZERO, Duration::MAX);
        assert!(heard.is_none());
    }
}
