//! Several changes of a cluster that belong together, such as those of a reload.
//!
//! Whoever drives a desk describes them once, as a function of an [`Edit`]. It is run on a copy,
//! to prepare what is slow ([`crate::Desk::prepare`]), and then in earnest. The policy hears of
//! all changes when all are made: a table that follows from the servers is made once, not for each
//! of them.

use crate::tape::Step;
use crate::{Change, Cluster, Instant, ServerId, Spec, State};

/// A cluster that is being changed.
pub struct Edit<'a> {
    cluster: &'a mut Cluster,
    /// What the policy will be told.
    made: Vec<Change>,
    /// What is written on a tape, where one runs.
    steps: Option<Vec<Step>>,
}

impl<'a> Edit<'a> {
    pub(crate) fn of(cluster: &'a mut Cluster) -> Self {
        Self { cluster, made: Vec::new(), steps: None }
    }

    /// The same, of which a tape is to have the steps.
    pub(crate) fn taped(cluster: &'a mut Cluster) -> Self {
        Self { steps: Some(Vec::new()), ..Self::of(cluster) }
    }

    /// What the policy is told, and what the tape is.
    pub(crate) fn made(self) -> (Vec<Change>, Option<Vec<Step>>) {
        (self.made, self.steps)
    }

    fn step(&mut self, step: impl FnOnce() -> Step) {
        if let Some(steps) = &mut self.steps {
            steps.push(step());
        }
    }

    /// The cluster as it has become so far.
    pub fn cluster(&self) -> &Cluster {
        self.cluster
    }

    /// Adds a server; `None` when every slot is taken.
    pub fn join(&mut self, spec: Spec, state: State, now: Instant) -> Option<ServerId> {
        let taped = self.steps.is_some().then(|| spec.clone());
        let slot = self.cluster.join(spec, state, now);
        if let Some(spec) = taped {
            self.step(|| Step::Join { spec, state, at: now, slot });
        }
        let id = slot?;
        self.made.push(Change::Joined(id));
        Some(id)
    }

    /// Removes a server; nothing may map to it afterwards.
    pub fn leave(&mut self, id: ServerId) {
        self.step(|| Step::Leave(id));
        self.cluster.leave(id);
        self.made.push(Change::Left(id));
    }

    /// Changes whether a server takes new requests; [`State::Left`] is [`Edit::leave`].
    pub fn set_state(&mut self, id: ServerId, state: State) {
        if state == State::Left {
            return self.leave(id);
        }
        self.step(|| Step::State(id, state));
        self.cluster.set_state(id, state);
        self.made.push(Change::State(id, state));
    }

    /// Changes a server's weight and how far its slow start has come.
    pub fn set_share(&mut self, id: ServerId, weight: u32, warmth: u16) {
        self.step(|| Step::Share { id, weight, warmth });
        self.cluster.set_share(id, weight, warmth);
        self.made.push(Change::Share(id));
    }

    /// Changes how many requests a server works on at once without visible delay.
    pub fn set_capacity(&mut self, id: ServerId, capacity: Option<u32>) {
        self.step(|| Step::Capacity(id, capacity));
        self.cluster.set_capacity(id, capacity);
        self.made.push(Change::Share(id));
    }

    /// Changes below which share of servers up ejections are ignored; see [`Cluster::new`].
    pub fn set_panic_share(&mut self, panic_share: f64) {
        self.step(|| Step::PanicShare(panic_share));
        let before = self.cluster.panic();
        self.cluster.set_panic_share(panic_share);
        if self.cluster.panic() != before {
            // Those that were ejected may be chosen now, or no longer.
            let ejected = self.cluster.servers().filter(|server| server.state == State::Ejected);
            self.made.extend(ejected.map(|server| Change::State(server.id, State::Ejected)));
        }
    }
}
