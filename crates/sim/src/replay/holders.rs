//! Which server has a client's persistent connection: the one that served it last, if that was
//! not long ago. For policies that look at it; logs do not say which requests shared a connection.

use core::time::Duration;
use policy::{Instant, ServerId};

/// After so long without a request the connection is taken to be closed (P-HTTP, USENIX 1999).
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(15);

/// Clients remembered, a power of two: more than are busy within [`IDLE_MAX`] at most sites, and
/// little enough to stay in a core's cache. A client forgotten opens a new connection.
const PLACES: usize = 1 << 12;

/// A place that nobody has.
const FREE: Holder = Holder { client: u32::MAX, server: ServerId(0), at_ms: 0 };

#[derive(Clone, Copy, Debug)]
struct Holder {
    client: u32,
    server: ServerId,
    /// In 32 bits, which go round in 49 days; so long ago is as good as now once in a long log.
    at_ms: u32,
}

/// The last server of recent clients.
#[derive(Clone, Debug)]
pub(crate) struct Holders(Vec<Holder>);

impl Holders {
    pub(crate) fn new() -> Self {
        Self(vec![FREE; PLACES])
    }

    /// Who holds the client's connection at a time of the log's clock.
    #[inline]
    pub(crate) fn of(&self, client: u32, at: Instant) -> Option<ServerId> {
        let held = self.0[client as usize & (PLACES - 1)];
        let idle_ms = wrapped_ms(at).wrapping_sub(held.at_ms);
        (held.client == client && u128::from(idle_ms) <= IDLE_MAX.as_millis())
            .then_some(held.server)
    }

    /// Notes who serves the client now.
    #[inline]
    pub(crate) fn note(&mut self, client: u32, server: ServerId, at: Instant) {
        let at_ms = wrapped_ms(at);
        self.0[client as usize & (PLACES - 1)] = Holder { client, server, at_ms };
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Holder>()
    }
}

fn wrapped_ms(at: Instant) -> u32 {
    (at.0 / 1_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_held_for_fifteen_seconds_and_by_its_own_client_alone() {
        let mut holders = Holders::new();
        let second = |s: u64| Instant(s * 1_000_000_000);
        holders.note(7, ServerId(3), second(100));
        assert_eq!(holders.of(7, second(115)), Some(ServerId(3)));
        assert_eq!(holders.of(7, second(116)), None);
        assert_eq!(holders.of(7 + PLACES as u32, second(101)), None);
    }
}
