//! LARD as three costs, the form of the 1999 paper: what it costs to serve a target at a server.
//!
//! Aron, Druschel, Zwaenepoel: *Efficient Support for P-HTTP in Cluster-Based Web Servers*, USENIX
//! ATC 1999. The unit of cost, as of load, is the delay of a cached request on an otherwise idle
//! server. The paper's constants are for Apache 1.3.3 on FreeBSD 2.2.6.

use crate::params::{Kind, Param, Params, Value};
use crate::thresholds::Limit;
use crate::{Cluster, Load, ServerId};

/// `L_idle`: below it a server may be under-used.
const L_IDLE: u64 = 30;

/// `L_overload`: from it on the delay is unacceptable.
const L_OVERLOAD: u64 = 130;

/// Set by every policy that compares costs.
pub(crate) const L_IDLE_PARAM: Param = Param {
    name: "l_idle",
    kind: Kind::CountOrAuto { min: 1, max: 1_000_000 },
    default: || Value::Count(L_IDLE),
    about: "open requests below which a server may be under-used (USENIX 1999: 30); auto: 30/65 \
            of its capacity",
};

/// Set by every policy that compares costs.
pub(crate) const L_OVERLOAD_PARAM: Param = Param {
    name: "l_overload",
    kind: Kind::CountOrAuto { min: 1, max: 1_000_000 },
    default: || Value::Count(L_OVERLOAD),
    about: "open requests from which a server gets nothing while another is below (USENIX 1999: \
            130); auto: twice its capacity",
};

/// Set by every policy that compares costs.
pub(crate) const MISS_COST_PARAM: Param = Param {
    name: "miss_cost",
    kind: Kind::Count { min: 1, max: 1_000_000 },
    default: || Value::Count(50),
    about: "what a cache miss costs, in cached requests on an idle server (USENIX 1999: 50)",
};

/// The constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    idle: Limit,
    overload: Limit,
    miss: Load,
}

impl Costs {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            idle: Limit::new(params.count("l_idle"), L_IDLE),
            overload: Limit::new(params.count("l_overload"), L_OVERLOAD),
            miss: Load::of(params.count("miss_cost").expect("miss_cost cannot be auto")),
        }
    }

    /// The sum of the three costs; `None` is infinite. `mapped`: the target is believed to be in
    /// the server's cache.
    #[inline]
    pub(crate) fn aggregate(&self, id: ServerId, mapped: bool, cluster: &Cluster) -> Option<Load> {
        if self.overload.compare(1, id, cluster).is_ge() {
            return None;
        }
        let felt = self.idle.felt(id, cluster);
        let balancing = felt.minus(self.idle.value);
        let locality = if mapped { Load::ONE } else { self.miss };
        // An idle server's cache is presumed not to be precious.
        let precious = !mapped && felt >= self.idle.value;
        let replacement = if precious { self.miss } else { Load::ZERO };
        Some(balancing.plus(locality).plus(replacement))
    }

    /// The cheapest of `ids`. Ties go to a mapped server, then to the least loaded, then to the
    /// one not chosen for longest; all idle servers cost the same, so ties are the rule. When all
    /// are overloaded, the least loaded of them.
    pub(crate) fn cheapest(
        &self,
        ids: impl IntoIterator<Item = ServerId>,
        mapped: impl Fn(ServerId) -> bool,
        cluster: &Cluster,
    ) -> Option<ServerId> {
        let rank = |id: &ServerId| {
            let is_mapped = mapped(*id);
            let (cost, preferred) = match self.aggregate(*id, is_mapped, cluster) {
                Some(cost) => (cost, is_mapped),
                None => (Load::MAX, false),
            };
            (cost, !preferred, self.idle.rank(*id, cluster))
        };
        ids.into_iter().filter(|id| cluster.is_usable(*id)).min_by_key(rank)
    }

    /// The cheapest of all servers for a target that is at `mapped`. Nearly always that is one of
    /// those, and the argument of [`Costs::load_stay`] saves comparing it with sixteen others.
    pub(crate) fn best(&self, mapped: &[ServerId], cluster: &Cluster) -> Option<ServerId> {
        let near = match mapped {
            [only] => Some(*only).filter(|id| cluster.is_usable(*id)),
            _ => self.cheapest(mapped.iter().copied(), |_| true, cluster),
        };
        if near.is_some_and(|id| cluster.load(id) <= self.load_stay(id, cluster)) {
            return near;
        }
        let usable = cluster.usable().iter().copied();
        self.cheapest(usable, |id| mapped.contains(&id), cluster)
    }

    /// The largest load of the mapped server `id` at which no other could be cheaper, whatever the
    /// others' loads: there its cost is that of an idle server that has to read the target. (With
    /// the paper's constants 79: the rule is a threshold in disguise.)
    pub(crate) fn load_stay(&self, id: ServerId, cluster: &Cluster) -> Load {
        // Mapped and at this load: balancing plus one, a miss cost at most. Its least is one, for
        // an idle server's mapped target, and the least miss cost is one too: a tie stays.
        let felt = self.idle.value.plus(self.miss).minus(Load::ONE);
        let cheap = self.idle.load_at(felt, id, cluster);
        cheap.min(self.overload.load_at(self.overload.value.below(), id, cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instant, Spec, State};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_short_cut_finds_what_comparing_all_servers_finds(
            loads in prop::collection::vec(0u64..160, 1..6),
            mapped in prop::collection::vec(0u16..6, 0..4),
            numbers in (1u64..60, 1u64..150, 1u64..80),
        ) {
            let mut cluster = Cluster::new(0.0);
            for load in loads {
                let spec = Spec { name: "s".into(), weight: 1, capacity: None };
                let id = cluster.join(spec, State::Up, Instant::ZERO).unwrap();
                cluster.begin(id, Load::of(load), Instant::ZERO);
            }
            let mapped: Vec<_> = mapped.into_iter().map(ServerId).collect();
            let (idle, overload, miss) = numbers;
            let costs = Costs {
                idle: Limit::new(Some(idle), 1),
                overload: Limit::new(Some(overload), 1),
                miss: Load::of(miss),
            };
            let usable = cluster.usable().iter().copied();
            let best = costs.cheapest(usable, |id| mapped.contains(&id), &cluster);
            prop_assert_eq!(costs.best(&mapped, &cluster), best);
        }
    }
}
