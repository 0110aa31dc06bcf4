//! Prequal: the server with the least estimated latency among those that are not hot, judged by a
//! pool of fresh probes.
//!
//! Wydrowski, Kleinberg, Rumble, Archer: *Load is not what you should balance: Introducing
//! Prequal*, NSDI 2024: the asynchronous form, hot-cold lexicographic rule (HCL), probe reuse and
//! removal. Probes are answered at once from the books instead of by the servers: requests in
//! flight (the paper's RIF) are what the books, or a fresher report that sees more, say; latency
//! is what was seen at about that RIF (see `latencies`). What differs: a new probe replaces the
//! server's older one, for with fewer servers than places the pool would fill with outdated
//! answers; and nothing probes while no requests come.
//!
//! Asking changes nothing: the probes of a request are drawn in `commit`, from dice of this
//! policy's own that every target reseeds, so that two front-ends do not probe in step.

use crate::latencies::{Latencies, Quantiles};
use crate::{
    Assignment, Change, Cluster, Dice, Ended, Entry, Instant, Kind, Load, Param, Params, Policy,
    Request, ServerId, Value, Why,
};
use core::time::Duration;

pub(crate) const ENTRY: Entry = Entry {
    name: "prequal",
    aliases: &[],
    about: "of a pool of probes, the server with the least latency among those that are not hot",
    paper: "Wydrowski, Kleinberg, Rumble, Archer, NSDI 2024",
    params: PARAMS,
    build: |params| Box::new(Prequal::new(params)),
};

const PARAMS: &[Param] = &[
    Param {
        name: "pool",
        kind: Kind::Count { min: 2, max: 256 },
        default: || Value::Count(16),
        about: "probes kept at most (the paper's 16)",
    },
    Param {
        name: "probes",
        kind: Kind::Count { min: 1, max: 64 },
        default: || Value::Count(3),
        about: "probes sent for each request (the paper's r_probe, 3)",
    },
    Param {
        name: "removals",
        kind: Kind::Count { min: 0, max: 64 },
        default: || Value::Count(1),
        about: "probes removed for each request, the oldest and the worst in turn (r_remove, 1)",
    },
    Param {
        name: "rif_quantile",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: || Value::Real(0.84),
        about: "quantile of recent requests in flight above which a server is hot (Q_RIF, \
                2^-0.25)",
    },
    Param {
        name: "age",
        kind: Kind::Span,
        default: || Value::Span(Duration::from_secs(1)),
        about: "after which a probe is out of date (the paper's 1s)",
    },
    Param {
        name: "delta",
        kind: Kind::Real { min: 0.0, max: 100.0 },
        default: || Value::Real(1.0),
        about: "generosity in reusing probes (the paper's delta, 1)",
    },
    Param {
        name: "penalty",
        kind: Kind::Span,
        default: || Value::Span(Duration::from_secs(5)),
        about: "latency that a failed request counts with, at least: who fails fast must not \
                attract (ours)",
    },
];

/// Values of RIF that the threshold between cold and hot is taken from (ours: 40 requests' worth).
const RIFS_MAX: usize = 128;

/// One answer to a probe.
#[derive(Clone, Copy, Debug)]
struct Probe {
    server: ServerId,
    rif: Load,
    latency_ns: u64,
    at: Instant,
    /// How often it may still be used; none when nothing limits it but age and removal.
    uses_left: Option<u32>,
}

struct Prequal {
    pool_max: usize,
    probes: usize,
    removals: usize,
    quantile: f64,
    age_ns: u64,
    delta: f64,
    penalty: Duration,
    /// By age, oldest first; one of a server at most.
    pool: Vec<Probe>,
    /// Whether the next removal takes the worst rather than the oldest.
    worst_next: bool,
    rifs: Quantiles,
    latencies: Latencies,
    dice: Dice,
    /// Whom the present request probes; kept for its memory.
    drawn: Vec<ServerId>,
}

impl Prequal {
    fn new(params: &Params) -> Self {
        let count = |name| params.count(name).expect("it cannot be auto") as usize;
        Self {
            pool_max: count("pool"),
            probes: count("probes"),
            removals: count("removals"),
            quantile: params.real("rif_quantile"),
            age_ns: u64::try_from(params.span("age").as_nanos()).unwrap_or(u64::MAX),
            delta: params.real("delta"),
            penalty: params.span("penalty"),
            pool: Vec::new(),
            worst_next: false,
            rifs: Quantiles::new(RIFS_MAX),
            latencies: Latencies::default(),
            dice: Dice::new(0),
            drawn: Vec::new(),
        }
    }

    /// The RIF above which a server is hot.
    fn threshold(&self) -> Load {
        self.rifs.quantile(self.quantile).unwrap_or(Load::MAX)
    }

    /// Sends the probes of one request and takes their answers into the pool. The request that
    /// they are sent for is on its way to `chosen` already.
    fn probe(&mut self, request: &Request, chosen: ServerId, cluster: &Cluster) {
        self.dice = Dice::new(self.dice.bits() ^ request.target.0);
        let uses_left = self.reuse(cluster.usable().len());
        self.drawn.clear();
        while self.drawn.len() < self.probes.min(cluster.usable().len()) {
            let id = cluster.usable()[self.dice.below(cluster.usable().len())];
            if self.drawn.contains(&id) {
                continue;
            }
            self.drawn.push(id);
            let mut rif = in_flight(id, request.at, self.age_ns, cluster);
            self.rifs.push(rif);
            if id == chosen {
                rif = rif.plus(Load::ONE);
            }
            let latency_ns = self.latencies.median_ns(id, rif);
            let older = self.pool.iter().position(|probe| probe.server == id);
            if let Some(place) = older.or((self.pool.len() == self.pool_max).then_some(0)) {
                self.pool.remove(place);
            }
            self.pool.push(Probe { server: id, rif, latency_ns, at: request.at, uses_left });
        }
    }

    /// How often a probe may be used, the paper's b_reuse: so often that the pool neither runs dry
    /// nor lives on old answers. Rounded up or down by lot, so that it is right on average. None
    /// when removals take probes as fast as they come: age alone limits them then.
    fn reuse(&mut self, servers: usize) -> Option<u32> {
        let pool_share = self.pool_max as f64 / servers.max(1) as f64;
        let net = (1.0 - pool_share) * self.probes as f64 - self.removals as f64;
        if net <= 0.0 {
            return None;
        }
        let reuse = ((1.0 + self.delta) / net).max(1.0);
        Some((reuse + self.dice.unit()) as u32)
    }

    /// Takes out what is out of date, and as many more as are removed for each request.
    fn remove(&mut self, now: Instant) {
        let age_ns = self.age_ns;
        self.pool.retain(|probe| is_fresh(probe.at, now, age_ns) && probe.uses_left != Some(0));
        for _ in 0..self.removals.min(self.pool.len()) {
            let place = if self.worst_next { self.worst() } else { 0 };
            self.worst_next = !self.worst_next;
            self.pool.remove(place);
        }
    }

    /// The rule the other way round: the hot probe with the most RIF, else the latest cold one.
    fn worst(&self) -> usize {
        let threshold = self.threshold();
        let rank = |place: &usize| badness(&self.pool[*place], threshold);
        (0..self.pool.len()).max_by_key(rank).unwrap_or(0)
    }
}

/// HCL: cold before hot, the cold by latency, the hot by RIF. Lower is better.
fn badness(probe: &Probe, threshold: Load) -> (bool, u64, Load) {
    let hot = probe.rif > threshold;
    let key = if hot { probe.rif.0 } else { probe.latency_ns };
    (hot, key, probe.rif)
}

/// Whether what was true `at` that time is not out of date.
fn is_fresh(at: Instant, now: Instant, age_ns: u64) -> bool {
    now.0.saturating_sub(at.0) <= age_ns
}

/// Requests in flight at a server for its share, as the books say, or as a fresh report says that
/// sees other front-ends' requests as well.
fn in_flight(id: ServerId, now: Instant, age_ns: u64, cluster: &Cluster) -> Load {
    let report = cluster.server(id).and_then(|server| server.report.as_ref());
    let fresh = report.filter(|report| is_fresh(report.at, now, age_ns));
    let reported = fresh.map_or(Load::ZERO, |report| Load::of(u64::from(report.active)));
    cluster.pressure(id).max(reported)
}

impl Policy for Prequal {
    fn decide(&self, request: &Request, cluster: &Cluster, dice: &mut Dice) -> Option<Assignment> {
        let usable = cluster.usable();
        if usable.is_empty() {
            return None;
        }
        let threshold = self.threshold();
        let mut best = None;
        let mut count = 0;
        for probe in &self.pool {
            if !is_fresh(probe.at, request.at, self.age_ns) || !cluster.is_usable(probe.server) {
                continue;
            }
            count += 1;
            let chosen = cluster.server(probe.server).map(|server| server.chosen);
            let rank = (badness(probe, threshold), chosen);
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, probe.server));
            }
        }
        // One probe compares with nothing: then chance is better than herding.
        let Some((_, server)) = best.filter(|_| count >= 2) else {
            let server = usable[dice.below(usable.len())];
            return Some(Assignment::new(server, Why::Random));
        };
        Some(Assignment::new(server, Why::Sampled))
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, cluster: &Cluster) {
        if let Some(probe) = self.pool.iter_mut().find(|probe| probe.server == answer.server) {
            probe.rif = probe.rif.plus(Load::ONE);
            if answer.why == Why::Sampled {
                probe.uses_left = probe.uses_left.map(|left| left.saturating_sub(1));
            }
        }
        self.remove(request.at);
        self.probe(request, answer.server, cluster);
    }

    fn ended(&mut self, ended: &Ended, cluster: &Cluster) {
        if cluster.server(ended.server).is_none() {
            return;
        }
        let seen = ended.first_byte.unwrap_or(ended.took);
        let latency = if ended.ok { seen } else { seen.max(self.penalty) };
        // The load it had together with this one.
        let rif = cluster.pressure(ended.server).plus(Load::ONE);
        self.latencies.push(ended.server, rif, latency);
    }

    fn changed(&mut self, change: Change, cluster: &Cluster) {
        self.pool.retain(|probe| cluster.is_usable(probe.server));
        if let Change::Joined(id) | Change::Left(id) = change {
            self.pool.retain(|probe| probe.server != id);
            self.latencies.forget(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Spec, State, TargetId};

    fn cluster(servers: u16) -> Cluster {
        let mut cluster = Cluster::new(0.0);
        for number in 0..servers {
            let spec = Spec { name: number.to_string().into(), weight: 1, capacity: None };
            cluster.join(spec, State::Up, Instant::ZERO).expect("there is a slot");
        }
        cluster
    }

    fn request() -> Request {
        let (at, class) = (Instant(1), Class::STATIC);
        Request { at, target: TargetId(1), class, holder: None }
    }

    /// A policy that saw the RIFs 1 to 100, so that more than 84 is hot, with these probes of
    /// servers 0, 1, ...: RIF and milliseconds.
    fn with_pool(probes: &[(u64, u32)]) -> Prequal {
        let mut prequal = Prequal::new(&Params::new(PARAMS));
        (1..=100).for_each(|rif| prequal.rifs.push(Load::of(rif)));
        let probe = |(server, (rif, ms)): (u16, &(u64, u32))| Probe {
            server: ServerId(server),
            rif: Load::of(*rif),
            latency_ns: u64::from(*ms) * 1_000_000,
            at: Instant(1),
            uses_left: None,
        };
        prequal.pool = (0..).zip(probes).map(probe).collect();
        prequal
    }

    #[test]
    fn the_rule_puts_cold_before_hot_the_cold_by_latency_and_the_hot_by_rif() {
        for (probes, best, worst, why) in [
            (&[(3, 30), (80, 10), (5, 20)][..], 1, 0, "all cold: latency, whatever the RIF"),
            (&[(85, 1), (84, 90), (86, 2)], 1, 2, "the only cold one, however slow"),
            (&[(90, 9), (99, 1), (95, 5)], 0, 1, "all hot: RIF, whatever the latency"),
            (&[(1, 7), (2, 7), (3, 7)], 0, 2, "equally fast: RIF"),
        ] {
            let prequal = with_pool(probes);
            let answer = prequal.decide(&request(), &cluster(3), &mut Dice::new(1));
            assert_eq!(answer.map(|answer| answer.server), Some(ServerId(best)), "{why}");
            assert_eq!(prequal.worst(), worst, "{why}");
        }
    }

    #[test]
    fn one_probe_is_not_enough_to_choose_by() {
        for (probes, why) in [(&[(1, 1)][..], Why::Random), (&[(1, 1), (1, 2)], Why::Sampled)] {
            let answer = with_pool(probes).decide(&request(), &cluster(2), &mut Dice::new(1));
            assert_eq!(answer.map(|answer| answer.why), Some(why));
        }
    }

    #[test]
    fn removals_take_the_oldest_and_the_worst_in_turn() {
        let mut prequal = with_pool(&[(1, 1), (1, 2), (1, 50), (1, 3)]);
        prequal.remove(Instant(1));
        prequal.remove(Instant(1));
        let left: Vec<_> = prequal.pool.iter().map(|probe| probe.server.0).collect();
        assert_eq!(left, [1, 3], "0 was the oldest, then 2 the worst");
    }

    #[test]
    fn a_probe_is_used_as_often_as_the_formula_says() {
        let mut prequal = Prequal::new(&Params::new(PARAMS));
        // (1 + 1) / ((1 - 16/64) 3 - 1) = 1.6: once or twice, 1.6 times on average.
        let uses: Vec<_> = (0..1_000).filter_map(|_| prequal.reuse(64)).collect();
        assert_eq!(uses.len(), 1_000);
        let mean = f64::from(uses.iter().sum::<u32>()) / 1_000.0;
        assert!((1.55..1.65).contains(&mean), "{mean}");
        assert_eq!(
            prequal.reuse(1_000_000),
            Some(1),
            "2 / 1.99995, rounded by lot: all but never 2"
        );
        assert_eq!(prequal.reuse(16), None, "as many places as servers: age alone limits");
    }

    #[test]
    fn the_chosen_probe_counts_one_more_and_is_used_up() {
        let mut prequal = with_pool(&[(1, 1), (2, 2)]);
        prequal.probes = 0;
        prequal.removals = 0;
        prequal.pool[0].uses_left = Some(1);
        let cluster = cluster(2);
        let answer = prequal.decide(&request(), &cluster, &mut Dice::new(1)).expect("two are up");
        prequal.commit(&request(), &answer, &cluster);
        let left: Vec<_> = prequal.pool.iter().map(|probe| probe.server.0).collect();
        assert_eq!(left, [1], "its only use is over");
    }
}
