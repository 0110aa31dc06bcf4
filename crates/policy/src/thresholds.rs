//! The thresholds of the LARD family, each fixed or derived from the server's capacity.
//!
//! A threshold is compared with what a server *feels*. Fixed thresholds: its pressure, so that half
//! the weight or half the warm-up halves what it may be given. `auto`: its load on the scale of the
//! paper, where the machine the thresholds were chosen for had a capacity of [`CAPACITY_PAPER`]
//! (ASPLOS 1998: `T_high` 65). A server of capacity 130 then feels half of its load, so that its
//! `T_high` is 130 and its `T_low` 50. A server without a capacity feels its pressure.

use crate::{Cluster, Guard, Instant, Load, ServerId, WARM};
use core::cmp::Ordering;

/// `T_low` of ASPLOS 1998: below it a server may become idle.
pub(crate) const T_LOW: u64 = 25;

/// `T_high` of ASPLOS 1998: above it a server's delay is noticeable.
pub(crate) const T_HIGH: u64 = 65;

/// The capacity that `auto` takes the papers' numbers to be meant for.
const CAPACITY_PAPER: u64 = T_HIGH;

/// One threshold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Its value, on the scale of [`Limit::felt`].
    pub(crate) value: Load,
    auto: bool,
    source: Source,
}

/// Whose count of a server's load is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// The desk's: as it is now.
    #[default]
    Books,
    /// The server's own, as it last reported: as it was then. Until the next report the server that
    /// reported least gets whatever goes to the least loaded, however much that has become (the
    /// herd effect of stale loads: Mitzenmacher, IEEE TPDS 2000); and a server that does not
    /// report counts as idle. For comparison with those who worked so.
    Reports,
}

impl Limit {
    /// A parameter's value, or for `auto` the paper's number on the scale of each server.
    pub(crate) fn new(set: Option<u64>, paper: u64) -> Self {
        let (value, source) = (Load::of(set.unwrap_or(paper)), Source::Books);
        Self { value, auto: set.is_none(), source }
    }

    /// What the server feels of its load.
    #[inline]
    pub(crate) fn felt(self, id: ServerId, cluster: &Cluster) -> Load {
        if self.source == Source::Reports {
            return self.felt_as(reported(id, cluster), id, cluster);
        }
        match self.capacity(id, cluster) {
            Some(capacity) => cluster.load(id).scaled(CAPACITY_PAPER * u64::from(WARM), capacity),
            None => cluster.pressure(id),
        }
    }

    /// What the server would feel of a load.
    #[cold]
    fn felt_as(self, load: Load, id: ServerId, cluster: &Cluster) -> Load {
        match self.capacity(id, cluster) {
            Some(capacity) => load.scaled(CAPACITY_PAPER * u64::from(WARM), capacity),
            None => cluster.pressure_at(id, load),
        }
    }

    /// Whether the cluster's own order of servers is that of this limit.
    #[inline]
    fn is_pressure(self) -> bool {
        !self.auto && self.source == Source::Books
    }

    /// The largest load at which the server feels at most `felt`.
    pub(crate) fn load_at(self, felt: Load, id: ServerId, cluster: &Cluster) -> Load {
        match self.capacity(id, cluster) {
            Some(capacity) => felt.unscaled(CAPACITY_PAPER * u64::from(WARM), capacity),
            None => cluster.load_at(id, felt),
        }
    }

    /// The usable server that feels least; ties go to the one not chosen for longest.
    #[inline]
    pub(crate) fn least_loaded(self, cluster: &Cluster) -> Option<ServerId> {
        if self.is_pressure() {
            return cluster.least_loaded();
        }
        cluster.usable().iter().copied().min_by_key(|id| self.rank(*id, cluster))
    }

    /// Whether some usable server feels less than this threshold.
    #[inline]
    fn any_below(self, cluster: &Cluster) -> bool {
        if self.is_pressure() {
            return cluster.any_below(self.value);
        }
        cluster.usable().iter().any(|id| self.compare(1, *id, cluster).is_lt())
    }

    /// Order by load as felt and, among equals, by how long ago the last choice was.
    #[inline]
    pub(crate) fn rank(self, id: ServerId, cluster: &Cluster) -> (Load, u64) {
        let chosen = cluster.server(id).map_or(u64::MAX, |server| server.chosen);
        (self.felt(id, cluster), chosen)
    }

    /// The least load at which the server feels this threshold reached.
    fn reached(self, id: ServerId, cluster: &Cluster) -> Load {
        self.load_at(self.value.below(), id, cluster).plus(Load(1))
    }

    /// How the server's load compares with `times` this threshold.
    #[inline]
    pub(crate) fn compare(self, times: u64, id: ServerId, cluster: &Cluster) -> Ordering {
        self.felt(id, cluster).cmp(&Load(self.value.0.saturating_mul(times)))
    }

    /// The capacity that `auto` follows, reduced by slow start. Unit: requests x [`WARM`].
    #[inline]
    fn capacity(self, id: ServerId, cluster: &Cluster) -> Option<u64> {
        if !self.auto {
            return None;
        }
        let server = cluster.server(id)?;
        let capacity = server.spec.capacity?;
        Some(u64::from(capacity.max(1)) * u64::from(server.warmth))
    }
}

/// The requests that a server last said it had.
fn reported(id: ServerId, cluster: &Cluster) -> Load {
    let report = cluster.server(id).and_then(|server| server.report);
    report.map_or(Load::ZERO, |report| Load::of(u64::from(report.active)))
}

/// The two thresholds of the ASPLOS paper and its three questions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    low: Limit,
    pub(crate) high: Limit,
}

impl Thresholds {
    /// Thresholds in requests, at least 1; `None` is `auto`. A `T_low` above a `T_high` would call
    /// one server idle and busy at once: it counts as equal.
    pub(crate) fn new(t_low: Option<u64>, t_high: Option<u64>) -> Self {
        let t_low = t_low.map(|low| low.min(t_high.unwrap_or(low)));
        Self { low: Limit::new(t_low, T_LOW), high: Limit::new(t_high, T_HIGH) }
    }

    /// The same, of loads of another source.
    #[must_use]
    pub(crate) fn with_source(mut self, source: Source) -> Self {
        (self.low.source, self.high.source) = (source, source);
        self
    }

    /// The promise that `id` keeps the targets that it has: of loads that are not in the books
    /// nobody can promise anything.
    #[inline]
    pub(crate) fn guard(&self, id: ServerId, cluster: &Cluster) -> Option<Guard> {
        if self.high.source == Source::Reports {
            return None;
        }
        let load_max = self.load_high(id, cluster);
        Some(Guard { load_max, until: Instant::NEVER, epoch: cluster.epoch() })
    }

    /// Whether a target that is mapped to `id` should leave it: it is above `T_high` while another
    /// is below `T_low`, or at `2 T_high` whatever the others are.
    #[inline]
    pub(crate) fn too_busy(&self, id: ServerId, cluster: &Cluster) -> bool {
        if self.high.compare(1, id, cluster).is_le() {
            return false; // Then it is below 2 T_high too: T_high is not zero.
        }
        self.high.compare(2, id, cluster).is_ge() || self.low.any_below(cluster)
    }

    /// The largest load of `id` that is not above `T_high`: up to it no target leaves.
    fn load_high(&self, id: ServerId, cluster: &Cluster) -> Load {
        self.high.load_at(self.high.value, id, cluster)
    }

    /// The least loads at which `id` has reached `T_low` and `T_high`.
    pub(crate) fn reached(&self, id: ServerId, cluster: &Cluster) -> (Load, Load) {
        (self.low.reached(id, cluster), self.high.reached(id, cluster))
    }
}
