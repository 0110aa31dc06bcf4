//! Pai, Aron, Banga, Svendsen, Druschel, Zwaenepoel, Nahum: *Locality-Aware Request Distribution
//! in Cluster-based Network Servers*, ASPLOS 1998.

use crate::{Claim, Study};

/// Its figures.
pub(super) const STUDIES: &[Study] = &[];

/// Its claims.
pub(super) const CLAIMS: &[Claim] = &[];
