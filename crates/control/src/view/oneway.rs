//! One-way delivery as plain data: what was handed over, what was not and why, and the agents.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One-way delivery since the kernel's tables were made, unless something else is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OnewayView {
    /// What the kernel counts, by its own names.
    pub kernel: BTreeMap<String, u64>,
    /// Questions of the kernel that were answered, by how the request was delivered. Since the
    /// process began.
    pub asked: BTreeMap<String, u64>,
    /// Requests for the relay by such an answer, given or repeated, by reason. Since the process
    /// began.
    pub local: BTreeMap<String, u64>,
    /// Targets whose answer the kernel may repeat, or has been told of.
    pub targets: u64,
    /// What the look through the connections did, by what. Since the process began.
    pub swept: BTreeMap<String, u64>,
    /// Servers that connections are handed to.
    pub servers: Vec<OnewayServer>,
    /// Interfaces that the front-end's program is to be on.
    #[serde(default)]
    pub interfaces: Vec<InterfaceView>,
}

/// An interface that the front-end's program is to be on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceView {
    /// Its name.
    pub interface: String,
    /// Whether the program was there, or was put back, when that was last looked at.
    pub attached: bool,
    /// Why it cannot be put back, if it is missing.
    pub fault: Option<String>,
    /// Times it was missing and was put back. Since the process began.
    pub restored: u64,
}

impl InterfaceView {
    /// What is the matter where the program is missing; `None`: it is there.
    pub fn sentence(&self) -> Option<String> {
        let fault = self.fault.as_deref().unwrap_or("it will be attached again soon");
        let what = "the front-end's program is missing, so new connections are relayed and those \
                    handed over are reset";
        (!self.attached).then(|| format!("interface {}: {what}: {fault}", self.interface))
    }
}

/// Connections handed to one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnewayServer {
    /// Its name, or `#` and its slot when it is of a configuration before.
    pub server: String,
    /// Its slot in the kernel's tables.
    pub slot: u16,
    /// Where connections are sent.
    pub address: String,
    /// What it may be given: `up`, `draining` or `down`.
    pub state: String,
    /// Connections that it has.
    pub open: u64,
    /// Connections ever handed to it.
    pub handed_over: u64,
    /// Whether its host is known to take them over: `confirmed` by its agent, `doubted`, or
    /// `unchecked` where it has no agent. Empty for a place that it has left.
    #[serde(default)]
    pub standing: String,
    /// Why it is doubted: then its connections are relayed.
    #[serde(default)]
    pub doubt: Option<DoubtView>,
}

/// Why a server gets no connections handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubtView {
    /// In a word, such as `other-key`.
    pub reason: String,
    /// What is the matter, and what to do.
    pub sentence: String,
}

/// A server's agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentView {
    /// The server it speaks for.
    pub server: String,
    /// Where it is asked.
    pub address: String,
    /// How old its last report is; `None`: it has never answered.
    pub age_s: Option<f64>,
    /// Reports that came.
    pub answers: u64,
    /// Questions without a good answer.
    pub failures: u64,
    /// What went wrong the last time, if it did.
    pub fault: Option<String>,
    /// Busy share of its CPU, 0 to 1.
    pub cpu_busy: Option<f64>,
    /// Busy share of its disk, 0 to 1.
    pub disk_busy: Option<f64>,
    /// Requests waiting for its disks or served by them.
    pub disk_queue: Option<f64>,
    /// Connections that wait to be accepted.
    pub accept_queue: Option<u32>,
    /// What its program counted that makes clients wait in vain, by name.
    #[serde(default)]
    pub troubles: BTreeMap<String, u64>,
    /// What its doctor finds wrong, in a sentence each.
    #[serde(default)]
    pub complaints: Vec<String>,
}

impl OnewayView {
    /// Connections that were handed over and are open.
    pub fn open(&self) -> u64 {
        self.servers.iter().map(|server| server.open).sum()
    }

    /// Servers that may be handed connections, and all of them.
    pub fn taking(&self) -> (usize, usize) {
        let current = self.servers.iter().filter(|server| !server.standing.is_empty());
        let (doubted, all) = current.fold((0, 0), |(doubted, all), server| {
            (doubted + usize::from(server.doubt.is_some()), all + 1)
        });
        (all - doubted, all)
    }

    /// What the kernel counts under a name; 0 for one that it does not have.
    pub fn counted(&self, name: &str) -> u64 {
        self.kernel.get(name).copied().unwrap_or(0)
    }

    /// Requests that were relayed although their listener hands connections over, by reason: what
    /// the kernel found by itself, and what rules and servers made of questions.
    pub fn locals(&self) -> BTreeMap<String, u64> {
        let mut all = self.local.clone();
        // Those that the kernel was told are in `local` with their reasons.
        let own = self.kernel.iter().filter(|(name, _)| *name != "local_verdict");
        for (name, count) in own {
            if let Some(reason) = name.strip_prefix("local_") {
                *all.entry(reason.replace('_', "-")).or_default() += count;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_kernel_and_questions_are_one_list() {
        let counts = |list: &[(&str, u64)]| {
            list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let view = OnewayView {
            kernel: counts(&[("local_split_head", 2), ("local_verdict", 9), ("moved", 5)]),
            local: counts(&[("split-head", 1), ("rule-says-relay", 8)]),
            ..OnewayView::default()
        };
        assert_eq!(view.locals(), counts(&[("rule-says-relay", 8), ("split-head", 3)]));
    }
}
