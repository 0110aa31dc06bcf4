//! Wheels: answers of a rotation, written down in advance, for those who repeat without asking.
//!
//! A guard (see [`crate::Guard`]) covers the next request for the same *target*. The answers of a
//! rotation differ with each request, but as long as the cluster stays they are a cycle that does
//! not depend on the request at all. Whoever has the cycle and a cursor that all sides share, and
//! that each moves on by one with an atomic operation, gives the policy's own answers.

use crate::{Instant, ServerId};

/// The answers of a rotation from its next turn on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wheel {
    /// Classes whose wheels have the same number take turns of one rotation: one cursor.
    pub number: u8,
    /// The next answers, which then repeat for ever: as long as [`crate::Cluster::epoch`] stays
    /// what it is. Between one and [`WHEEL_TURNS_MAX`].
    pub cycle: Vec<ServerId>,
    /// Until when; [`Instant::NEVER`] if time alone changes nothing. The first request at this time
    /// or later must be put to the policy.
    pub until: Instant,
}

/// Turns of a wheel at most: room in a kernel table. Plain rotations of as many servers fit, and
/// weights whose sum, in lowest terms, is not larger.
pub const WHEEL_TURNS_MAX: usize = 256;
