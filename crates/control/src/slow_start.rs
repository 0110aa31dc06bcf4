//! Slow start: a server that comes back, or is new, gets a growing share until it is warm.
//!
//! Its cache is empty and its pools are closed: a full share at once would drown it (and for hash
//! policies, where that share is a fixed set of targets, nothing else would hold it back). Pure:
//! the driver asks at each step and tells the switch only what has changed.

use policy::WARM;
use std::time::Duration;

/// The least warmth: a tenth. With less, a server of a large cluster would see so few requests
/// that it could not warm up.
pub const WARMTH_MIN: u16 = WARM / 10;

/// The warmth of a server `elapsed` after it came up, 1..=[`WARM`]: a straight line from
/// [`WARMTH_MIN`] that arrives after `span`. A span of zero switches slow start off.
pub fn warmth(elapsed: Duration, span: Duration) -> u16 {
    if elapsed >= span {
        return WARM;
    }
    let ramp = u128::from(WARM - WARMTH_MIN) * elapsed.as_nanos() / span.as_nanos();
    WARMTH_MIN + u16::try_from(ramp).expect("less than the whole ramp before its end")
}
