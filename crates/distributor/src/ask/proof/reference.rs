//! A policy that is asked for everything, and books that are told of everything: what a desk with a
//! kernel is compared with.

use super::Act;
use policy::{
    Assignment, Change, Cluster, Dice, Ended, Instant, Load, Outcome, Policy, Request, ServerId,
    State, Ticket,
};

/// The policy, without a desk.
pub(super) struct Reference {
    policy: Box<dyn Policy>,
    pub(super) cluster: Cluster,
    dice: Dice,
}

impl Reference {
    pub(super) fn new(policy: Box<dyn Policy>, seed: u64) -> Self {
        Self { policy, cluster: Cluster::new(0.0), dice: Dice::new(seed) }
    }

    /// The policy's answer.
    pub(super) fn decide(&mut self, request: &Request) -> Option<Assignment> {
        self.policy.decide(request, &self.cluster, &mut self.dice)
    }

    /// What it would be.
    pub(super) fn explain(&self, request: &Request) -> Option<Assignment> {
        self.policy.decide(request, &self.cluster, &mut self.dice.clone())
    }

    pub(super) fn commit(&mut self, request: &Request, answer: &Assignment) {
        self.policy.commit(request, answer, &self.cluster);
    }

    /// Who serves when the policy says `server` and some have failed.
    pub(super) fn past(&self, server: ServerId, failed: &[ServerId]) -> Option<ServerId> {
        if !failed.contains(&server) {
            return Some(server);
        }
        let others = self.cluster.usable().iter().copied().filter(|id| !failed.contains(id));
        self.cluster.least_loaded_of(others)
    }

    pub(super) fn opened(&mut self, server: ServerId, now: Instant) {
        self.cluster.begin(server, Load::ONE, now);
    }

    pub(super) fn closed(&mut self, server: ServerId, now: Instant) {
        self.cluster.end(server, Load::ONE, now);
    }

    /// The end of a relayed request: of these the policy hears.
    pub(super) fn finish(&mut self, ticket: &Ticket, outcome: Outcome) {
        self.cluster.end(ticket.server, ticket.amount(), outcome.at);
        let (server, class, at) = (ticket.server, ticket.request.class, outcome.at);
        let took = at.since(ticket.request.at);
        let first_byte = outcome.first_byte;
        let ended = Ended { server, class, at, took, first_byte, ok: outcome.ok };
        self.policy.ended(&ended, &self.cluster);
    }

    pub(super) fn apply(&mut self, act: &Act, now: Instant) -> Option<ServerId> {
        let (change, slot) = match act {
            Act::Join(spec) => {
                let id = self.cluster.join(spec.clone(), State::Up, now)?;
                (Change::Joined(id), Some(id))
            }
            Act::Leave(id) => {
                self.cluster.leave(*id);
                (Change::Left(*id), None)
            }
            Act::State(id, state) => {
                self.cluster.set_state(*id, *state);
                (Change::State(*id, *state), None)
            }
            Act::Share(id, weight, warmth) => {
                self.cluster.set_share(*id, *weight, *warmth);
                (Change::Share(*id), None)
            }
        };
        self.policy.changed(change, &self.cluster);
        slot
    }

    pub(super) fn replace(&mut self, policy: Box<dyn Policy>) {
        self.policy = policy;
        let stays = self.cluster.servers().filter(|server| server.state != State::Left);
        for id in stays.map(|server| server.id) {
            self.policy.changed(Change::Joined(id), &self.cluster);
        }
    }
}
