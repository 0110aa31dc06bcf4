//! Consistent hashing with bounded loads: a target's server is found on a ring, and one that has
//! its bounded share of the whole load passes the target on to the next.
//!
//! Mirrokni, Thorup, Zadimoghaddam: *Consistent Hashing with Bounded Loads*, SODA 2018: locality
//! as by a plain hash, but no server ever has more than (1 + eps) times the mean, rounded up, and
//! no table is needed. The bound is given as HAProxy gives it (`hash-balance-factor`): 125 says
//! eps = 1/4. A bound depends on the load of *all* servers, so an answer carries no guard: the
//! same server at the same load may be over its bound a moment later.

use crate::ahead::Ahead;
use crate::named::{Named, named, place_alike};
use crate::{
    Assignment, Change, Cluster, Dice, Entry, Kind, Load, Param, Params, Policy, Preparation,
    Request, ServerId, TargetId, Value, WARM, Why, units::mix,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "bounded-hash",
    aliases: &["bounded", "chwbl"],
    about: "a consistent hash of the target; a server at its bound passes it on along the ring",
    paper: "Mirrokni, Thorup, Zadimoghaddam, SODA 2018",
    params: &[Param {
        name: "balance_factor",
        kind: Kind::Count { min: 100, max: 100_000 },
        default: || Value::Count(125),
        about: "most load a server may have, in percent of the mean; 100 (1 + eps) in the paper, \
                HAProxy's hash-balance-factor, whose manual suggests 125 to 200",
    }],
    build: |params| Box::new(BoundedHash::new(params)),
};

/// Points on the ring of a server of the greatest weight: shares then differ by about 8 %, and 16
/// servers fit into the second-level cache. The number Ketama made usual.
const POINTS_PER_SERVER: u64 = 160;

/// Points on a ring, at most about: with very many servers, each has fewer.
const POINTS_MAX: u64 = 1 << 20;

/// A server's claim to the targets before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    /// Where on the ring.
    at: u32,
    /// Whose: index into `servers`.
    server: u16,
    /// The part of the slow start from which it counts, 0 to 255.
    ramp: u16,
}

/// The ring.
#[derive(Default)]
struct Ring {
    /// Ascending.
    points: Vec<Point>,
    /// For each of a power of two of equal parts of the ring, its first point: one step instead of
    /// a binary search.
    index: Vec<u32>,
}

impl Ring {
    /// Places the points. Only names and weights count, so that a ramp moves nothing.
    fn new(servers: &[Named]) -> Self {
        let weight_max = servers.iter().map(|s| s.weight).max().unwrap_or(1);
        let most = POINTS_PER_SERVER.min(POINTS_MAX / servers.len().max(1) as u64);
        let mut points = Vec::new();
        for (index, server) in servers.iter().enumerate() {
            let count = (most * u64::from(server.weight)).div_ceil(u64::from(weight_max));
            points.extend((0..count).map(|point| Point {
                at: (mix(server.seed ^ mix(point + 1)) >> 32) as u32,
                server: index as u16,
                ramp: (point * u64::from(WARM) / count) as u16,
            }));
        }
        points.sort_unstable();
        let parts = (points.len() * 2).next_power_of_two().max(2);
        let width = (1_u64 << 32) / parts as u64;
        let mut place = 0;
        let first = |part: usize| {
            place = after(&points, place, part as u64 * width);
            place as u32
        };
        let index = (0..parts).map(first).collect();
        Self { points, index }
    }

    /// Index of the first point at or after the target; one past the last where it wraps around.
    fn start(&self, target: TargetId) -> usize {
        let at = (target.mixed(RING_SALT) >> 32) as u32;
        let part = at >> (32 - self.index.len().trailing_zeros());
        after(&self.points, self.index[part as usize] as usize, u64::from(at))
    }
}

/// The first of `points` from `place` on that is at or after `at`.
fn after(points: &[Point], mut place: usize, at: u64) -> usize {
    while points.get(place).is_some_and(|point| u64::from(point.at) < at) {
        place += 1;
    }
    place
}

#[derive(Default)]
struct BoundedHash {
    /// In percent of the mean.
    factor: u64,
    servers: Vec<Named>,
    /// As `servers`: the share of each in the bound.
    shares: Vec<u64>,
    share_total: u64,
    ring: Ring,
    ahead: Ahead<Ring>,
    /// Of the cluster that `servers` shows: of changes made together, only the first is work.
    epoch: Option<u64>,
    /// Whether every server is usable: then the books have the sum of their loads ready.
    all_usable: bool,
}

/// What the walk over the ring found.
struct Found {
    server: ServerId,
    why: Why,
}

impl BoundedHash {
    fn new(params: &Params) -> Self {
        let factor = params.count("balance_factor").expect("it cannot be auto");
        Self { factor, ..Self::default() }
    }

    /// The first server along the ring that has room.
    fn walk(&self, target: TargetId, cluster: &Cluster) -> Option<Found> {
        let total = self.load_total(cluster);
        let points = &self.ring.points;
        let (before, after) = points.split_at(self.ring.start(target).min(points.len()));
        let mut why = Why::Hash;
        let mut refused = None;
        for point in after.iter().chain(before) {
            let index = usize::from(point.server);
            if self.servers[index].ramp <= point.ramp {
                if why == Why::Hash {
                    why = Why::SlowStart;
                }
                continue;
            }
            if refused == Some(index) {
                continue;
            }
            if self.has_room(index, total, cluster) {
                return Some(Found { server: self.servers[index].id, why });
            }
            refused = Some(index);
            why = Why::BoundExceeded;
        }
        // Whole requests always find room; loads in fractions may fill every server up to less
        // than one request.
        let server = cluster.least_loaded()?;
        Some(Found { server, why: Why::BoundExceeded })
    }

    /// Whether one more request keeps a server within its bound, which is
    /// ceil(factor/100 x (total + 1) x share/share_total). Compared without the division: for
    /// whole loads, `load + 1 <= ceil(x)` is `load < x`.
    fn has_room(&self, index: usize, total: Load, cluster: &Cluster) -> bool {
        let load = cluster.load(self.servers[index].id);
        let whole = u128::from(load.0.div_ceil(Load::ONE.0)) * u128::from(Load::ONE.0);
        let (ours, theirs) = self.sides(index, total);
        whole * theirs < ours
    }

    /// The bound as a fraction, in fixed-point load units.
    fn sides(&self, index: usize, total: Load) -> (u128, u128) {
        let ours =
            u128::from(self.factor * self.shares[index]) * u128::from(total.plus(Load::ONE).0);
        (ours, u128::from(100 * self.share_total))
    }

    /// The load of the usable servers together.
    fn load_total(&self, cluster: &Cluster) -> Load {
        if self.all_usable {
            return cluster.total();
        }
        let sum = |sum: Load, server: &Named| sum.plus(cluster.load(server.id));
        self.servers.iter().fold(Load::ZERO, sum)
    }
}

/// Keeps a target's place on the ring apart from its other hashes.
const RING_SALT: u64 = 0x00b0_07ed;

impl Policy for BoundedHash {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        if self.ring.points.is_empty() {
            return None;
        }
        let found = self.walk(request.target, cluster)?;
        Some(Assignment::new(found.server, found.why))
    }

    fn changed(&mut self, _: Change, cluster: &Cluster) {
        if self.epoch.replace(cluster.epoch()) == Some(cluster.epoch()) {
            return;
        }
        let servers = named(cluster);
        let alike = place_alike(&self.servers, &servers);
        self.servers = servers;
        if !alike {
            self.ring = self.ahead.take(&self.servers).unwrap_or_else(|| Ring::new(&self.servers));
        }
        let share = |server: &Named| cluster.server(server.id).map_or(1, crate::Server::share);
        self.shares = self.servers.iter().map(share).collect();
        self.share_total = self.shares.iter().sum();
        self.all_usable = cluster.servers().count() == self.servers.len();
    }

    fn prepare(&mut self, cluster: &Cluster) -> Option<Preparation> {
        let servers = named(cluster);
        let slow = !place_alike(&self.servers, &servers);
        slow.then(|| self.ahead.expect(servers, Ring::new))
    }

    /// How full the server is: its load over its bound.
    fn cost(&self, server: ServerId, _: &Request, cluster: &Cluster) -> Option<f64> {
        let index = self.servers.iter().position(|named| named.id == server)?;
        let (ours, theirs) = self.sides(index, self.load_total(cluster));
        Some(cluster.load(server).0 as f64 * theirs as f64 / ours as f64)
    }
}
