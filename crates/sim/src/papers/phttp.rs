//! Aron, Druschel, Zwaenepoel: *Efficient Support for P-HTTP in Cluster-Based Web Servers*, USENIX
//! ATC 1999.

use crate::{Claim, Study};

/// Its figures.
pub(super) const STUDIES: &[Study] = &[];

/// Its claims.
pub(super) const CLAIMS: &[Claim] = &[];
