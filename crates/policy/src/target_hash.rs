//! Target hash: a target is always served by the same server, whatever the load.
//!
//! The locality-only baseline "LB" of Pai et al.: *Locality-Aware Request Distribution in
//! Cluster-based Network Servers*, ASPLOS 1998. The paper takes the hash modulo the number of
//! servers, which never changes there. Here servers come and go, and a modulus would then move
//! nearly every target; highest random weight (Thaler, Ravishankar: *Using Name-Based Mappings to
//! Increase Hit Rates*, IEEE/ACM Transactions on Networking 6(1), 1998) spreads targets just as
//! evenly and moves only those of the server that left. It has no table, so its cost grows with
//! the number of servers: for hundreds take `maglev`.

use crate::named::{Named, fraction, named};
use crate::{
    Assignment, Change, Cluster, Dice, Entry, Guard, Instant, Load, Policy, Request, TargetId, Why,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "target-hash",
    aliases: &["lb", "hash", "rendezvous"],
    about: "always the same server for a target, by hash, whatever the load",
    paper: "LB in Pai et al., ASPLOS 1998; placed by Thaler, Ravishankar, IEEE/ACM ToN 6(1), 1998",
    params: &[],
    build: |_| Box::new(TargetHash::default()),
};

#[derive(Default)]
struct TargetHash {
    servers: Vec<Named>,
    /// Whether all weights are equal: then the hashes themselves are compared.
    equal: bool,
}

impl TargetHash {
    /// The server that `target` ranks first among those that `may` serve it.
    fn first(&self, target: TargetId, may: impl Fn(&Named) -> bool) -> Option<Named> {
        let servers = self.servers.iter().filter(|server| may(server));
        if self.equal {
            return servers.max_by_key(|server| target.mixed(server.seed)).copied();
        }
        let rank = |server: &Named| rarity(target.mixed(server.seed)) / f64::from(server.weight);
        let ranked = servers.map(|server| (rank(server), server));
        ranked.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, server)| *server)
    }
}

impl Policy for TargetHash {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        let mut server = self.first(request.target, |_| true)?;
        let mut why = Why::Hash;
        let fraction = fraction(request.target);
        if server.ramp <= fraction {
            // The warmest server's ramp is full, so there is always somebody to lend to.
            server = self.first(request.target, |server| server.ramp > fraction)?;
            why = Why::SlowStart;
        }
        let guard = Guard { load_max: Load::MAX, until: Instant::NEVER, epoch: cluster.epoch() };
        Some(Assignment { guard: Some(guard), ..Assignment::new(server.id, why) })
    }

    fn changed(&mut self, _: Change, cluster: &Cluster) {
        self.servers = named(cluster);
        self.equal = self.servers.windows(2).all(|pair| pair[0].weight == pair[1].weight);
    }
}

/// -log2 of a hash taken as a number in (0, 1]: divided by a weight, the least of several falls on
/// each in proportion to its weight. Computed from basic operations, which give the same bits on
/// every machine, as the library's logarithm does not.
fn rarity(hash: u64) -> f64 {
    const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = (hash.max(1) as f64).to_bits();
    // hash = mantissa x 2^exponent, the mantissa within a factor of sqrt 2 of 1, so that the
    // series is best where it matters: near 1, among the winners.
    let mut exponent = (bits >> FRACTION_BITS) as f64 - 1023.0;
    let mut mantissa = f64::from_bits((bits << 12 >> 12) | 1.0_f64.to_bits());
    if mantissa > core::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1.0;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let tail = square * (1.0 / 5.0 + square * (1.0 / 7.0 + square / 9.0));
    let series = ratio * (1.0 + square * (1.0 / 3.0) + square * tail);
    64.0 - exponent - 2.0 * core::f64::consts::LOG2_E * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarity_is_the_negative_logarithm() {
        for hash in [1, 2, 3, 1 << 20, 0x1234_5678_9abc_def0, 1 << 63, (3 << 62) + 5, u64::MAX] {
            let library = 64.0 - (hash as f64).log2();
            assert!((rarity(hash) - library).abs() < 1e-6, "{hash}: {} {library}", rarity(hash));
        }
    }
}
