//! What a node is made of.

use crate::{CachePolicy, CpuCost, DiskCost, Services};

/// What a node is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// The costs of its CPU.
    pub cpu: CpuCost,
    /// The costs of each of its disks.
    pub disk: DiskCost,
    /// Whether answers move in blocks.
    pub reading: Reading,
    /// The demands of each class.
    pub services: Services,
    /// Size of the cache.
    pub cache_bytes: u64,
    /// Which targets the cache gives up.
    pub cache_policy: CachePolicy,
    /// Disks, over which targets are spread by hash; 0 counts as 1.
    pub disks: usize,
}

impl Default for Config {
    /// An Apache node of the P-HTTP paper: 85 MB of cache under Greedy-Dual-Size (recalled).
    fn default() -> Self {
        Self {
            cpu: CpuCost::APACHE,
            disk: DiskCost::ASPLOS,
            reading: Reading::Blocks,
            services: Services::default(),
            cache_bytes: 85 << 20,
            cache_policy: CachePolicy::Gds(crate::GdsCost::One),
            disks: 1,
        }
    }
}

/// How much is read or sent in one go, so that others have to wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// The whole target.
    Whole,
    /// A block of 44 KB; a block is sent as soon as it is read, and between the blocks of a large
    /// target others get the disk and the CPU (the papers' simulators).
    #[default]
    Blocks,
}
