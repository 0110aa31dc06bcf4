//! What the real mode is made of.

use std::path::PathBuf;

/// How an origin burns and reads, instead of reckoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealSettings {
    /// Folders of the documents and the database, which are made as needed: one disk each, over
    /// which targets are spread by hash. At least one.
    pub roots: Vec<PathBuf>,
    /// Threads that burn CPU time, the model's one CPU each; 0 counts as 1.
    pub threads: usize,
    /// Who keeps documents in memory.
    pub cache: DocumentCache,
    /// Size of each root's database, from which queries read pages anywhere.
    pub database_bytes: u64,
    /// How large the documents of a root may become together.
    pub bytes_max: u64,
}

impl RealSettings {
    /// One disk below `root`, one CPU, a cache of the origin's own, a database of 64 MiB, and at
    /// most 4 GiB of documents.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self {
            roots: vec![root.into()],
            threads: 1,
            cache: DocumentCache::Own,
            database_bytes: 64 << 20,
            bytes_max: 4 << 30,
        }
    }
}

/// Who keeps documents in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DocumentCache {
    /// The origin, by the policy and of the size that its model has; reads go past the kernel's.
    #[default]
    Own,
    /// The kernel, which decides by itself what it keeps.
    Kernel,
}
