//! A server's memory of whole targets, bounded in bytes.
//!
//! All caches here are deterministic: what is evicted depends on the calls alone. A target larger
//! than the whole cache is not kept.

mod gds;
mod index;
mod lru;

pub use gds::{Gds, GdsCost};
pub use index::Index;
pub use lru::Lru;

use policy::TargetId;

/// Targets that a cache keeps at most, whatever its bytes: even empty ones take memory.
pub const TARGETS_MAX: usize = 1 << 22;

/// Which target a full cache gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CachePolicy {
    /// The one not used for longest.
    #[default]
    Lru,
    /// Greedy-Dual-Size: the one with the least value, which is cost over size plus age.
    Gds(GdsCost),
}

impl CachePolicy {
    /// Every policy with the name it goes by in configurations and reports.
    pub const ALL: [(&'static str, Self); 3] = [
        ("lru", Self::Lru),
        ("gds", Self::Gds(GdsCost::One)),
        ("gds-size", Self::Gds(GdsCost::Size)),
    ];

    /// The policy called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy)
    }

    /// The name it goes by.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, policy)| *policy == self).map_or("?", |(name, _)| name)
    }
}

/// A cache under one of the policies.
#[derive(Clone, Debug)]
pub enum Cache {
    /// See [`Lru`].
    Lru(Lru),
    /// See [`Gds`].
    Gds(Gds),
}

impl Cache {
    /// An empty cache for `capacity_bytes`.
    pub fn new(policy: CachePolicy, capacity_bytes: u64) -> Self {
        match policy {
            CachePolicy::Lru => Self::Lru(Lru::new(capacity_bytes)),
            CachePolicy::Gds(cost) => Self::Gds(Gds::new(capacity_bytes, cost)),
        }
    }

    /// Notes a use of `target`; false when it is not there.
    pub fn touch(&mut self, target: TargetId) -> bool {
        match self {
            Self::Lru(cache) => cache.touch(target),
            Self::Gds(cache) => cache.touch(target),
        }
    }

    /// Notes a use of `target`, which is of `bytes` now: another size than it came in with is what
    /// it takes from now on. What has to go for it is appended to `evicted`, and so is `target`
    /// itself when it has become larger than the cache. False when it is not there afterwards.
    pub fn touch_sized(
        &mut self,
        target: TargetId,
        bytes: u64,
        evicted: &mut Vec<TargetId>,
    ) -> bool {
        match self {
            Self::Lru(cache) => cache.touch_sized(target, bytes, evicted),
            Self::Gds(cache) => cache.touch_sized(target, bytes, evicted),
        }
    }

    /// Puts `target` in, or gives it another size; what has to go for it is appended to `evicted`.
    /// False when it is larger than the cache and so not kept.
    pub fn insert(&mut self, target: TargetId, bytes: u64, evicted: &mut Vec<TargetId>) -> bool {
        match self {
            Self::Lru(cache) => cache.insert(target, bytes, evicted),
            Self::Gds(cache) => cache.insert(target, bytes, evicted),
        }
    }

    /// Takes `target` out; false when it was not there.
    pub fn remove(&mut self, target: TargetId) -> bool {
        match self {
            Self::Lru(cache) => cache.remove(target),
            Self::Gds(cache) => cache.remove(target),
        }
    }

    /// Whether `target` is there. No use is noted.
    pub fn contains(&self, target: TargetId) -> bool {
        match self {
            Self::Lru(cache) => cache.contains(target),
            Self::Gds(cache) => cache.contains(target),
        }
    }

    /// The worth of the target that would be evicted next, by whose order caches of one policy
    /// compare: for Greedy-Dual-Size its worth, otherwise zero. `None` when it is empty.
    pub fn least_worth(&mut self) -> Option<f64> {
        match self {
            Self::Lru(cache) => cache.victim().map(|_| 0.0),
            Self::Gds(cache) => cache.least_worth(),
        }
    }

    /// The target that would be evicted next; `None` when it is empty.
    pub fn victim(&mut self) -> Option<TargetId> {
        match self {
            Self::Lru(cache) => cache.victim(),
            Self::Gds(cache) => cache.victim(),
        }
    }

    /// The size of all targets together.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Lru(cache) => cache.bytes(),
            Self::Gds(cache) => cache.bytes(),
        }
    }

    /// How many targets there are.
    pub fn targets(&self) -> usize {
        match self {
            Self::Lru(cache) => cache.targets(),
            Self::Gds(cache) => cache.targets(),
        }
    }
}
