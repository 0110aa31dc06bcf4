//! Maglev hashing: a table that gives every server an even share and moves few targets when the
//! servers change.
//!
//! Eisenbud et al.: *Maglev: A Fast and Reliable Software Network Load Balancer*, NSDI 2016,
//! section 3.4. Every server has a permutation of the table's places, and the servers take turns
//! to claim the next free place of theirs; weights give more turns. The lookup is one read,
//! whatever the number of servers. Here the key is the target, not the packet's addresses.

use crate::ahead::Ahead;
use crate::named::{Named, fraction, named, place_alike};
use crate::{
    Assignment, Change, Cluster, Dice, Entry, Guard, Instant, Kind, Load, Param, Params, Policy,
    Preparation, Request, Value, Why, units::mix,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "maglev",
    aliases: &[],
    about: "one look into a table that shares targets evenly and moves few when servers change",
    paper: "Eisenbud et al., NSDI 2016",
    params: &[Param {
        name: "table_size",
        kind: Kind::Count { min: 2, max: 5_000_000 },
        default: || Value::Count(65_537),
        about: "places in the table, raised to the next prime; the paper's M, 65537 or 655373, \
                is to be 100 times the number of servers",
    }],
    build: |params| Box::new(Maglev::new(params)),
};

struct Maglev {
    servers: Vec<Named>,
    /// Who has each place: index into `servers`. Empty without servers.
    table: Vec<u16>,
    /// Places in `table`.
    size: u64,
    ahead: Ahead<Vec<u16>>,
    /// Of the cluster that `servers` shows: of changes made together, only the first is work.
    epoch: Option<u64>,
}

impl Maglev {
    fn new(params: &Params) -> Self {
        let least = params.count("table_size").expect("it cannot be auto");
        let (servers, table, ahead) = (Vec::new(), Vec::new(), Ahead::default());
        Self { servers, table, size: prime_from(least), ahead, epoch: None }
    }

    fn server(&self, place: u64) -> &Named {
        &self.servers[usize::from(self.table[place as usize])]
    }
}

impl Policy for Maglev {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        if self.table.is_empty() {
            return None;
        }
        let mut place = scaled(request.target.mixed(TABLE_SALT), self.size);
        let mut why = Why::Hash;
        let fraction = fraction(request.target);
        // Lent to whoever has the next place. The warmest server's ramp is full and, with a table
        // of the advised size, it has a place; the count is for smaller ones.
        for _ in 0..self.size {
            if self.server(place).ramp > fraction {
                break;
            }
            place = (place + 1) % self.size;
            why = Why::SlowStart;
        }
        let guard = Guard { load_max: Load::MAX, until: Instant::NEVER, epoch: cluster.epoch() };
        Some(Assignment { guard: Some(guard), ..Assignment::new(self.server(place).id, why) })
    }

    fn changed(&mut self, _: Change, cluster: &Cluster) {
        if self.epoch.replace(cluster.epoch()) == Some(cluster.epoch()) {
            return;
        }
        let servers = named(cluster);
        if !place_alike(&self.servers, &servers) {
            let ready = self.ahead.take(&servers);
            self.table = ready.unwrap_or_else(|| populated(&servers, self.size));
        }
        self.servers = servers;
    }

    fn prepare(&mut self, cluster: &Cluster) -> Option<Preparation> {
        let (servers, size) = (named(cluster), self.size);
        let slow = !place_alike(&self.servers, &servers);
        slow.then(|| self.ahead.expect(servers, move |servers| populated(servers, size)))
    }
}

/// Keeps a target's place apart from its other hashes.
const TABLE_SALT: u64 = 0x03a6_1e50;

/// The table: for each of `size` places, the index of its server.
fn populated(servers: &[Named], size: u64) -> Vec<u16> {
    let Some(weight_max) = servers.iter().map(|server| u64::from(server.weight)).max() else {
        return Vec::new();
    };
    // The paper's offset and skip. The size is prime, so every skip runs through all places.
    let mut walks: Vec<_> = servers.iter().map(|server| Walk::new(server, size)).collect();
    let mut table = vec![0; size as usize];
    let mut claimed = Claims::new(size);
    // A server claims a place in each round in which its weights add up to a whole turn. They
    // begin just below one, so that the first round gives everybody a place.
    let begin = |server: &Named| weight_max - u64::from(server.weight);
    let mut earned: Vec<_> = servers.iter().map(begin).collect();
    let mut free = size;
    loop {
        for (index, server) in servers.iter().enumerate() {
            earned[index] += u64::from(server.weight);
            if earned[index] < weight_max {
                continue;
            }
            earned[index] -= weight_max;
            let walk = &mut walks[index];
            while !claimed.claim(walk.place) {
                walk.step(size);
            }
            table[walk.place as usize] = index as u16;
            free -= 1;
            if free == 0 {
                return table;
            }
        }
    }
}

/// A server's permutation of the places, and how far it came.
struct Walk {
    place: u64,
    skip: u64,
}

impl Walk {
    fn new(server: &Named, size: u64) -> Self {
        let skip = mix(server.seed ^ SKIP) % (size - 1) + 1;
        Self { place: mix(server.seed ^ OFFSET) % size, skip }
    }

    fn step(&mut self, size: u64) {
        self.place += self.skip;
        if self.place >= size {
            self.place -= size; // A division takes ten times as long.
        }
    }
}

/// Which places are claimed, by bits: most steps end at one that is, and the table itself would
/// not fit into the first-level cache.
struct Claims(Vec<u64>);

impl Claims {
    fn new(size: u64) -> Self {
        Self(vec![0; size.div_ceil(u64::from(u64::BITS)) as usize])
    }

    /// Claims a place; false if it is taken.
    fn claim(&mut self, place: u64) -> bool {
        let word = &mut self.0[(place / u64::from(u64::BITS)) as usize];
        let before = *word;
        *word |= 1 << (place % u64::from(u64::BITS));
        *word != before
    }
}

const OFFSET: u64 = 0x00ff_5e70;
const SKIP: u64 = 0x5c1b;

/// A hash as a place in `0..size`.
fn scaled(hash: u64, size: u64) -> u64 {
    ((u128::from(hash) * u128::from(size)) >> 64) as u64
}

/// The least prime that is at least `least`.
fn prime_from(least: u64) -> u64 {
    let is_prime =
        |n: &u64| *n > 1 && (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (least..).find(is_prime).expect("primes do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_raised_to_primes() {
        for (least, prime) in [(2, 2), (4, 5), (65_537, 65_537), (65_538, 65_539), (100, 101)] {
            assert_eq!(prime_from(least), prime);
        }
    }
}
