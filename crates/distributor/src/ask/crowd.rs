//! How many requests are in the cluster at once: the papers' admission limit, with the bounded
//! queue of those that wait to be let in.

use super::{Ask, Books};
use crate::gate::{GRANTED, Gate, Turn};
use policy::Load;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How many requests are in the cluster at once: the papers' admission limit S.
pub enum CrowdLimit {
    /// This many.
    Fixed(u32),
    /// From the thresholds and the servers that are up.
    Auto(policy::Admission),
}

/// Requests in the cluster, and those that wait to be let in.
pub(super) struct Crowd {
    limit: CrowdLimit,
    gate: Gate,
    /// The state of the cluster that the gate's limit was computed for.
    epoch: Option<u64>,
}

/// Requests that may wait to be let into the cluster: a bound on memory, far beyond what the
/// deadline lets through.
const CROWD_WAITING_MAX: u32 = 65_536;

impl Ask {
    /// Limits how many requests are in the cluster at once; `None` lets in all. Those that are in
    /// stay in.
    pub fn set_crowd(&self, limit: Option<CrowdLimit>) {
        let mut books = self.lock();
        self.limited.store(limit.is_some(), Ordering::Relaxed);
        match (&mut books.crowd, limit) {
            (Some(crowd), Some(limit)) => (crowd.limit, crowd.epoch) = (limit, None),
            (Some(crowd), None) => (crowd.limit, crowd.epoch) = (CrowdLimit::Fixed(0), None),
            (none, Some(limit)) => {
                let gate = Gate { queue_max: CROWD_WAITING_MAX, ..Gate::default() };
                *none = Some(Crowd { limit, gate, epoch: None });
            }
            (None, None) => {}
        }
        books.count_crowd();
    }

    /// Whether requests have to ask to be let in.
    pub(crate) fn limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
    }

    /// Asks to be let in; who is let in must [`Ask::leave`]. `None`: even the queue is full.
    pub(crate) fn enter(&self) -> Option<Arc<Turn>> {
        let mut books = self.lock();
        books.count_crowd();
        let Some(crowd) = &mut books.crowd else { return Some(Turn::new(GRANTED)) };
        crowd.gate.enter()
    }

    /// Gives back what [`Ask::enter`] gave, whether it was waited for or not.
    pub(crate) fn leave(&self, turn: &Turn) {
        let mut books = self.lock();
        books.count_crowd();
        if let Some(crowd) = &mut books.crowd {
            crowd.gate.give_up(turn);
        }
    }
}

impl Books {
    /// Brings the limit of the crowd in line with the servers that are up.
    pub(super) fn count_crowd(&mut self) {
        let cluster = self.desk.cluster();
        let Some(crowd) = self.crowd.as_mut().filter(|c| c.epoch != Some(cluster.epoch())) else {
            return;
        };
        crowd.epoch = Some(cluster.epoch());
        crowd.gate.limit = match &crowd.limit {
            CrowdLimit::Fixed(most) => *most,
            // With no server up nobody is served anyway, and zero would mean no limit.
            CrowdLimit::Auto(admission) => {
                let most = admission.limit(cluster).0 / Load::ONE.0;
                u32::try_from(most).unwrap_or(u32::MAX).max(1)
            }
        };
        crowd.gate.fill();
    }
}
