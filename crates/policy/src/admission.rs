//! The admission limit: how much work the front-end lets into the cluster at once.
//!
//! ASPLOS 1998 gives `S = (n-1) T_high + T_low - 1` with the purpose that at most n-2 servers are
//! at or above `T_high` while none is below `T_low`: otherwise LARD could move no target although
//! almost all servers are busy. It is often quoted with `+ 1`, which is two too many for that.
//! Servers with limits of their own: the sum of all `T_high`, one of them replaced by that server's
//! `T_low`, such that the sum is least.

use crate::thresholds::Thresholds;
use crate::{Cluster, Load};

/// Which reading of the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionForm {
    /// `- 1`: keeps the promise.
    #[default]
    MinusOne,
    /// `+ 1`: as often quoted.
    PlusOne,
}

/// The admission limit of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    thresholds: Thresholds,
    form: AdmissionForm,
}

impl Admission {
    /// The limit for thresholds in open requests, at least 1; `None` derives one from each server's
    /// capacity, as the policy's `auto` does.
    pub fn new(t_low: Option<u64>, t_high: Option<u64>, form: AdmissionForm) -> Self {
        Self { thresholds: Thresholds::new(t_low, t_high), form }
    }

    /// The load up to which requests are let in; nothing without a usable server. It changes only
    /// with [`Cluster::epoch`], so a driver in a hurry may keep it.
    ///
    /// One server alone gets `T_low - 1`, as the formula says: a single server needs no limit to
    /// keep targets movable, and its driver may prefer none.
    pub fn limit(&self, cluster: &Cluster) -> Load {
        let limits = cluster.usable().iter().map(|id| self.thresholds.reached(*id, cluster));
        let (sum, slack) = limits.fold((Load::ZERO, None), |(sum, slack), (low, high)| {
            (sum.plus(high), slack.max(Some(high.minus(low))))
        });
        let Some(slack) = slack else { return Load::ZERO };
        match self.form {
            AdmissionForm::MinusOne => sum.minus(slack).minus(Load::ONE),
            AdmissionForm::PlusOne => sum.minus(slack).plus(Load::ONE),
        }
    }

    /// Whether one more request may enter now.
    pub fn admits(&self, cluster: &Cluster) -> bool {
        cluster.total().plus(Load::ONE) <= self.limit(cluster)
    }
}
