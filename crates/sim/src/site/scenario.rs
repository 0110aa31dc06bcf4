//! The workloads of CAP and ClubWeb: mixes of classes, users, sizes, and the clusters they meet.
//!
//! What the papers leave open is set here and marked as in [`super::cost`]. Two choices carry much:
//!
//! - **Popularity.** CAP names none. Chosen: all files alike. It is the only choice found under
//!   which the lightly dynamic site is as fast as the static one for policies that are blind to
//!   content, as published: caches then have 15 % of the requests for the one, and 30 % of the
//!   half that they could keep, 15 % again, for the other.
//! - **Arrival rates.** CAP says 100 to 300 users a second and 2 to 32 servers. Chosen: 32.
//!   Calibrated: one rate on Fig. 4a, where CAP serves 0.9 of the pages within a second.

use super::cost::{self, SwitchCost};
use super::setup::{Contender, Delivery, Demand, Layer, Setup};
use super::visit::{Audience, Parts};
use core::time::Duration;
use model::CpuCost;
use policy::{Class, Value};
use workload::draw::{Draw, Exponential, Hybrid, InverseGaussian, Lognormal, Pareto};

/// A mix of classes; the shares sum to 1.
pub type Mix = &'static [(Class, f64)];

/// CAP's publishing site, first scenario. Published.
pub const STATIC: Mix = &[(Class::STATIC, 1.0)];
/// Its second scenario. Published.
pub const LIGHT: Mix = &[(Class::LIGHT, 1.0)];
/// CAP's transaction site. Published.
pub const TRANSACTION: Mix = &[(Class::STATIC, 0.6), (Class::DISK, 0.4)];
/// CAP's commerce site, first scenario. Published.
pub const COMMERCE_CPU: Mix = &[(Class::STATIC, 0.3), (Class::LIGHT, 0.3), (Class::CPU, 0.4)];
/// Its second scenario. Published.
pub const COMMERCE_EITHER: Mix =
    &[(Class::STATIC, 0.3), (Class::LIGHT, 0.3), (Class::CPU, 0.2), (Class::DISK, 0.2)];
/// Its third scenario. Published.
pub const COMMERCE_ALL: Mix = &[
    (Class::STATIC, 0.3),
    (Class::LIGHT, 0.3),
    (Class::CPU, 0.2),
    (Class::DISK, 0.1),
    (Class::CPU_DISK, 0.1),
];
/// The dynamic workload of CAP's prototype. Published.
pub const PROTOTYPE: Mix =
    &[(Class::STATIC, 0.8), (Class::LIGHT, 0.1), (Class::CPU, 0.06), (Class::CPU_DISK, 0.04)];
/// ClubWeb's CPU-bound model. Published.
pub const CLUBWEB_CPU: Mix = &[(Class::STATIC, 0.4), (Class::LIGHT, 0.4), (Class::CPU, 0.2)];
/// ClubWeb's disk-bound model. Published.
pub const CLUBWEB_DISK: Mix = &[(Class::STATIC, 0.4), (Class::LIGHT, 0.4), (Class::DISK, 0.2)];

/// Servers of CAP's figures: the most it names. Chosen.
pub const SERVERS: usize = 32;

/// New users a second on CAP's publishing and commerce sites. Calibrated, see above.
pub const USERS_S: f64 = 214.0;

/// New users a second on CAP's transaction site: half as many, since twice as many pages need the
/// database, so that its disks are as busy as on the commerce site. Derived from [`USERS_S`].
pub const TRANSACTION_USERS_S: f64 = USERS_S / 2.0;

/// Accesses of a database query, one after the other, together 0.19 s. Chosen so that at these
/// rates the database is about as busy as the files' disks.
pub const QUERIES: u32 = 14;

/// Programs that answer the heavy requests of CAP's sites. Chosen; to LARD a program is a target,
/// and the form's arguments are not.
pub const PROGRAMS: usize = 20;

/// Files of a site, HTML and other. Chosen; only the time that caches need to fill depends on it.
const FILES: (usize, usize) = (800, 2000);

/// Longest file, in bytes. Chosen: the tail has no mean without a cut.
const FILE_BYTES_MAX: f64 = 1e6;

/// Longest think time, in seconds. Chosen; who comes back later is somebody new.
const THINK_MAX_S: f64 = 100.0;

/// Most objects of a page. Chosen.
const OBJECTS_MAX: f64 = 150.0;

/// Length of an HTML file: a lognormal body and a Pareto tail from 10 KB. Published (WWW 2003);
/// the share of the tail, 7 %, is recalled from SURGE.
const HTML_BYTES: Draw = Draw::Hybrid(Hybrid {
    body: Lognormal { mu: 7.630, sigma: 1.001, max: 10_240.0 },
    tail: Pareto { alpha: 1.0, min: 10_240.0, max: FILE_BYTES_MAX },
    tail_share: 0.07,
});

/// CAP's users: `arrivals_s` new ones a second asking for `mix`.
///
/// Pages of a visit and think times as published in 2003 by the same group, WWW10's own cells being
/// lost. Objects of a page: Pareto from 1, recalled; the exponent is that of 2003.
pub fn cap_audience(mix: Mix, arrivals_s: f64) -> Audience {
    Audience {
        gap: Draw::Exponential(Exponential { mean: 1.0 / arrivals_s }),
        pages: Draw::InverseGaussian(InverseGaussian { mean: 3.86, shape: 9.46 }),
        think: Draw::Pareto(Pareto { alpha: 1.4, min: 1.0, max: THINK_MAX_S }),
        objects: Draw::Pareto(Pareto { alpha: 1.33, min: 1.0, max: OBJECTS_MAX }),
        html: HTML_BYTES,
        embedded: HTML_BYTES,
        files: FILES,
        skew_quarters: 0,
        programs: PROGRAMS,
        mix,
        parts: Parts::LikePage,
    }
}

/// CAP's cluster.
pub fn cap_setup(warm_up: Duration, span: Duration) -> Setup {
    Setup {
        servers: SERVERS,
        machine: cost::SERVER,
        demands: Demand::cap(QUERIES),
        key_exchange: cost::KEY_EXCHANGE,
        replica: true,
        cache_share: cost::CACHE_SHARE,
        delivery: Delivery::OneWay,
        switch: SwitchCost::PENTIUM_II,
        gather: GATHER,
        watch: Duration::from_secs(5),
        warm_up,
        span,
        faults: Vec::new(),
    }
}

/// How often servers report, and WRR recomputes its weights. Chosen: the paper uses the best of
/// its periods, which is a small one and lost.
pub const GATHER: Duration = Duration::from_secs(1);

/// CAP: by the class of the page.
pub const CAP: Contender = Contender::new("cap", "cap", Layer::Seven);
/// CAP whose lists leave out whom the reports call busy.
pub const CAP_ALARM: Contender = Contender::new("cap-alarm", "cap-alarm", Layer::Seven);
/// Servers dedicated to classes in proportion to their arrivals.
pub const STATIC_PARTITION: Contender =
    Contender::new("static-partition", "static-partition", Layer::Seven);
/// LARD of ASPLOS 1998, on connections that the switch counts, with multiple hand-off.
pub const LARD_CONNECTIONS: Contender =
    Contender::new("lard-connections", "lard", Layer::SevenEach);
/// Round robin over connections.
pub const ROUND_ROBIN: Contender = Contender::new("round-robin", "round-robin", Layer::Four);
/// Random choice for each connection.
pub const RANDOM: Contender = Contender::new("random", "random", Layer::Four);

/// CAP's LARD: thresholds on utilisation as reported, 0.3 and 0.7, with multiple hand-off.
pub fn lard() -> Contender {
    let lard = Contender::new("lard", "lard", Layer::SevenEach);
    lard.with("metric", Value::Word("utilisation"))
}

/// WRR by active processes, with weights recomputed every `period`.
pub fn wrr_num(period: Duration) -> Contender {
    Contender::new("wrr-num", "wrr-num", Layer::Four).with("gather", Value::Span(period))
}

/// WRR by mean service time, with weights recomputed every `period`.
pub fn wrr_time(period: Duration) -> Contender {
    Contender::new("wrr-time", "wrr-time", Layer::Four).with("gather", Value::Span(period))
}

/// Who is compared in CAP's figures 4 to 6: its four, and two forms that it does not show.
pub fn contenders() -> Vec<Contender> {
    vec![CAP, wrr_num(GATHER), lard(), LARD_CONNECTIONS, STATIC_PARTITION, CAP_ALARM]
}

/// Servers of ClubWeb's cluster. Published.
pub const CLUBWEB_SERVERS: usize = 7;

/// CPU of ClubWeb's servers. Calibrated: Apache of P-HTTP as it is answers about 850 requests a
/// second for 1.5 KB, so that seven servers fill the LAN, as published. Scaled to their clock, two
/// would.
pub const CLUBWEB_SERVER: CpuCost = CpuCost::APACHE;

/// CPU of ClubWeb's lightly and heavily dynamic programs. Chosen.
const CLUBWEB_LIGHT: Duration = Duration::from_millis(2);
/// See [`CLUBWEB_LIGHT`].
const CLUBWEB_HEAVY: Duration = Duration::from_millis(40);
/// Disk accesses of a heavily dynamic program of the disk-bound model. Chosen: about as long.
const CLUBWEB_ACCESSES: u32 = 3;

/// ClubWeb's users of the realistic test. Distributions published; cuts as above. Popularity is
/// mentioned without a law: Zipf's is chosen.
pub fn clubweb_audience(mix: Mix, arrivals_s: f64) -> Audience {
    let embedded = Lognormal { mu: 8.215, sigma: 1.46, max: FILE_BYTES_MAX };
    Audience {
        objects: Draw::Pareto(Pareto { alpha: 1.33, min: 2.0, max: OBJECTS_MAX }),
        embedded: Draw::Lognormal(embedded),
        skew_quarters: 4,
        parts: Parts::LikePages,
        ..cap_audience(mix, arrivals_s)
    }
}

/// ClubWeb's cluster: programs on the servers themselves, one LAN for all replies. Of what is
/// asked only the static part is cacheable. Published; the caches' share is CAP's.
pub fn clubweb_setup(servers: usize, warm_up: Duration, span: Duration) -> Setup {
    let program = |cpu, queries| Demand { cpu, queries, ..Demand::query(queries) };
    let heavy = program(CLUBWEB_HEAVY, 0);
    let disk = program(CLUBWEB_LIGHT, CLUBWEB_ACCESSES);
    Setup {
        servers,
        machine: CLUBWEB_SERVER,
        demands: [Demand::FILE, program(CLUBWEB_LIGHT, 0), heavy, disk, heavy],
        replica: false,
        delivery: Delivery::OneWayShared,
        switch: SwitchCost::PENTIUM_III,
        ..cap_setup(warm_up, span)
    }
}

/// ClubWeb's stress test: one small file, one request a connection, `arrivals_s` a second.
pub fn small_file_audience(arrivals_s: f64) -> Audience {
    Audience {
        gap: Draw::Exponential(Exponential { mean: 1.0 / arrivals_s }),
        pages: Draw::Constant(1.0),
        objects: Draw::Constant(1.0),
        html: Draw::Constant(1500.0),
        embedded: Draw::Constant(1500.0),
        files: (1, 0),
        ..cap_audience(STATIC, arrivals_s)
    }
}
