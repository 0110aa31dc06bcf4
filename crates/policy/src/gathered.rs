//! Weights that follow a measurement: what WRR_num and WRR_time have in common.
//!
//! Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10 2001: weights are recomputed at the end of every gather period from
//! what was measured in it. The formula is not in the paper; the natural one is used: the weight
//! is inversely proportional to the cost that was measured.

use crate::rotation::{Roster, Rotation};
use crate::{Change, Cluster, Instant, Kind, Param, Params, Server, ServerId, Value};
use core::time::Duration;

/// The gather period, as both policies declare it.
pub(crate) const GATHER: Param = Param {
    name: "gather",
    kind: Kind::Span,
    default: || Value::Span(Duration::from_secs(1)),
    about: "how often weights are recomputed; the paper finds small periods best, its own figure \
            is not recovered, 1s is ours",
};

/// The greatest weight over the least. A server measured badly once must go on being measured;
/// the range is that of HAProxy's weights.
const RATIO_MAX: f64 = 256.0;

/// Fixed-point unit of the computed shares: the largest share times [`RATIO_MAX`] is exact.
const SHARE_MAX: f64 = 65_536.0;

/// A rotation whose shares are recomputed every period.
pub(crate) struct Gathered {
    period: Duration,
    due: Instant,
    /// By slot, what a request costs there; none as long as nothing was measured.
    costs: Vec<Option<f64>>,
    roster: Roster,
    rotation: Rotation,
}

impl Gathered {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            period: params.span(GATHER.name),
            due: Instant::ZERO,
            costs: Vec::new(),
            roster: Roster::default(),
            rotation: Rotation::default(),
        }
    }

    /// Whose turn it is under the present weights.
    pub(crate) fn next(&self) -> Option<ServerId> {
        self.rotation.next(&self.roster)
    }

    /// Takes the turn that [`Gathered::next`] gave.
    pub(crate) fn take(&mut self, winner: ServerId) {
        self.rotation.take(winner, &self.roster);
    }

    /// Recomputes the weights if the period is over; `measure` gives what a request costs at a
    /// server, in any unit, or nothing if that was not seen in this period.
    pub(crate) fn gather(
        &mut self,
        now: Instant,
        cluster: &Cluster,
        measure: impl Fn(&Server) -> Option<f64>,
    ) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now.plus(self.period);
        self.costs.resize(cluster.slot_count(), None);
        for server in cluster.servers() {
            let cost = &mut self.costs[server.id.index()];
            *cost = measure(server).or(*cost);
        }
        self.weigh(cluster);
        true
    }

    /// Takes note of a change: who is new, or back, has not been measured.
    pub(crate) fn changed(&mut self, change: Change, cluster: &Cluster) {
        if let Change::Joined(id) | Change::Left(id) | Change::State(id, _) = change
            && let Some(cost) = self.costs.get_mut(id.index())
        {
            *cost = None;
        }
        self.weigh(cluster);
    }

    /// What a request costs at a server, as last measured.
    pub(crate) fn cost(&self, id: ServerId) -> Option<f64> {
        self.costs.get(id.index()).copied().flatten()
    }

    /// Turns costs into shares. A server without a measurement counts as an average one: with the
    /// cost of an idle one, everything would go there until the next period.
    fn weigh(&mut self, cluster: &Cluster) {
        let usable = || cluster.usable().iter().filter_map(|id| cluster.server(*id));
        let known = || usable().filter_map(|server| self.cost(server.id));
        let count = known().count().max(1) as f64;
        let mean = known().sum::<f64>() / count;
        let rate = |server: &Server| {
            let cost = self.cost(server.id).unwrap_or(mean);
            server.share() as f64 / if cost > 0.0 { cost } else { 1.0 }
        };
        let most = usable().map(rate).fold(0.0, f64::max);
        let share = |server: &Server| {
            let part = (rate(server) / most).max(1.0 / RATIO_MAX);
            (part * SHARE_MAX).round() as u64
        };
        let roster = Roster::of(cluster, share);
        self.rotation.adapt(&self.roster, &roster);
        self.roster = roster;
    }
}
