//! Andreolini, Colajanni, Nuccio: *Scalability of content-aware server switches for cluster-based
//! Web information systems*, WWW 2003.

use crate::{Claim, Study};

/// Its figures.
pub(super) const STUDIES: &[Study] = &[];

/// Its claims.
pub(super) const CLAIMS: &[Claim] = &[];
