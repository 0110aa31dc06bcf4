//! Where hash policies place a server: by its name, never by its slot or address, so that a server
//! that comes back under another address, or a front-end that learnt of the servers in another
//! order, finds every target where it was.
//!
//! Slow start without moving targets: a table rebuilt at each step of the ramp would move some
//! targets at each step. Instead every target has a fraction of its own, and a server whose ramp
//! has not reached it *lends* the target to the next choice. Nothing moves twice.

use crate::{Cluster, ServerId, TargetId, WARM, units::mix};

/// A usable server as hash policies see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its slot.
    pub(crate) id: ServerId,
    /// A hash of its name: where it stands.
    pub(crate) seed: u64,
    /// Its configured share.
    pub(crate) weight: u32,
    /// How far it has warmed up relative to the warmest, 1..=[`WARM`]: when everybody starts
    /// together, nobody has anybody to lend to.
    pub(crate) ramp: u16,
}

/// The usable servers by seed: in an order that does not depend on slots.
pub(crate) fn named(cluster: &Cluster) -> Vec<Named> {
    let servers = || cluster.usable().iter().filter_map(|id| cluster.server(*id));
    let warmest = u32::from(servers().map(|server| server.warmth).max().unwrap_or(WARM));
    let place = |server: &crate::Server| Named {
        id: server.id,
        seed: name_hash(&server.spec.name),
        weight: server.spec.weight,
        ramp: (u32::from(server.warmth) * u32::from(WARM) / warmest) as u16,
    };
    let mut named: Vec<_> = servers().map(place).collect();
    named.sort_by_key(|server| (server.seed, server.id));
    named
}

/// Whether two sets of servers place targets alike: the same servers and weights in the same
/// slots, however far each has warmed up.
pub(crate) fn place_alike(one: &[Named], other: &[Named]) -> bool {
    let place = |server: &Named| (server.id, server.seed, server.weight);
    one.iter().map(place).eq(other.iter().map(place))
}

/// The part of a ramp, 0 to 255, from which a server keeps `target` to itself.
pub(crate) const fn fraction(target: TargetId) -> u16 {
    (target.mixed(FRACTION_SALT) >> 56) as u16
}

/// Keeps a target's fraction independent of its place.
const FRACTION_SALT: u64 = 0x0510_057a_1270;

/// FNV-1a, scrambled: names such as `web1` and `web2` differ in a few bits only.
fn name_hash(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    mix(name.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}
