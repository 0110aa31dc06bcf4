//! Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10, 2001.

use crate::{Claim, Study};

/// Its figures.
pub(super) const STUDIES: &[Study] = &[];

/// Its claims.
pub(super) const CLAIMS: &[Claim] = &[];
