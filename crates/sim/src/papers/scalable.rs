//! Aron, Sanders, Druschel, Zwaenepoel: *Scalable Content-aware Request Distribution in
//! Cluster-based Network Servers*, USENIX ATC 2000.

use crate::{Claim, Study};

/// Its figures.
pub(super) const STUDIES: &[Study] = &[];

/// Its claims.
pub(super) const CLAIMS: &[Claim] = &[];
