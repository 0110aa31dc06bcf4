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
use super::setup::{Audience, Contender, Delivery, Demand, Layer, Setup};
use core::time::Duration;
use model::CpuCost;
use policy::{Class, Value};
use workload::draw::{Draw, Exponential};
use workload::visits::{Answer, Mix, PUBLISHING_STATIC, Service, Site};

/// Servers of CAP's figures: the most it names. Chosen.
pub const SERVERS: usize = 32;

/// New users a second on CAP's publishing and commerce sites. Calibrated, see above.
pub const USERS_S: f64 = 218.0;

/// New users a second on CAP's transaction site: half as many, since twice as many pages need the
/// database, so that its disks are as busy as on the commerce site. Derived from [`USERS_S`].
pub const TRANSACTION_USERS_S: f64 = USERS_S / 2.0;

/// Accesses of a database query, one after the other, together 0.18 s. Chosen so that at these
/// rates the database is about as busy as the files' disks.
pub const QUERIES: u32 = 13;

/// CAP's site. Files alike in popularity and 20 programs, which are targets to LARD: chosen. How
/// many files there are is chosen too; only the time that caches need to fill depends on it.
const SITE: Site = Site { documents: 800, objects: 2000, programs: 20, exponent: 0.0 };

/// CAP's users: `arrivals_s` new ones a second, independent of each other, on its site.
pub const fn cap_audience(mix: &Mix<'static>, arrivals_s: f64) -> Audience {
    Audience { mix: Mix { site: SITE, ..*mix }, gap: independent(arrivals_s) }
}

/// The dynamic workload of CAP's prototype: 80 % static, and programs: 10 % light, 6 % CPU, 4 % CPU
/// and disk. Published.
pub const PROTOTYPE: Mix = {
    const FILES: &[(f64, Answer)] = &[(1.0, Answer { class: Class::STATIC, program: false })];
    const fn service(share: f64, class: Class, program: bool) -> Service<'static> {
        Service { share, html: Answer { class, program }, secure: false, embedded: FILES }
    }
    const SERVICES: &[Service] = &[
        service(0.8, Class::STATIC, false),
        service(0.1, Class::LIGHT, true),
        service(0.06, Class::CPU, true),
        service(0.04, Class::CPU_DISK, true),
    ];
    Mix { name: "prototype", services: SERVICES, ..PUBLISHING_STATIC }
};

const fn independent(arrivals_s: f64) -> Draw {
    Draw::Exponential(Exponential { mean: 1.0 / arrivals_s })
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
        live: None,
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
/// The fewest connections in the switch's own books.
pub const LEAST_LOADED: Contender = Contender::new("least-loaded", "least-loaded", Layer::Four);
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

/// Who is compared in CAP's figures 4 to 6: its four, and three that it does not show.
pub fn contenders() -> Vec<Contender> {
    vec![CAP, wrr_num(GATHER), lard(), LARD_CONNECTIONS, STATIC_PARTITION, CAP_ALARM, LEAST_LOADED]
}

/// Servers of ClubWeb's cluster. Published.
pub const CLUBWEB_SERVERS: usize = 7;

/// CPU of ClubWeb's servers. Calibrated: Apache of P-HTTP as it is answers about 850 requests a
/// second for 1.5 KB, so that seven servers fill the LAN, as published. Scaled to their clock, two
/// would.
pub const CLUBWEB_SERVER: CpuCost = CpuCost::APACHE;

/// CPU of ClubWeb's lightly and heavily dynamic programs. Chosen.
pub const CLUBWEB_LIGHT: Duration = Duration::from_millis(2);
/// See [`CLUBWEB_LIGHT`].
pub const CLUBWEB_HEAVY: Duration = Duration::from_millis(40);
/// Disk accesses of a heavily dynamic program of the disk-bound model. Chosen: about as long.
pub const CLUBWEB_ACCESSES: u32 = 3;

/// ClubWeb's users of the realistic test, with popularity by Zipf's law, which the paper only
/// mentions.
pub const fn clubweb_audience(mix: &Mix<'static>, arrivals_s: f64) -> Audience {
    Audience { mix: *mix, gap: independent(arrivals_s) }
}

/// ClubWeb's cluster: programs on the servers themselves, one LAN for all replies. Of what is
/// asked only the static part is cacheable. Published; the caches' share is CAP's.
pub fn clubweb_setup(servers: usize, warm_up: Duration, span: Duration) -> Setup {
    let light = Demand::program(CLUBWEB_LIGHT, 0);
    let heavy = Demand::program(CLUBWEB_HEAVY, 0);
    let disk = Demand::program(CLUBWEB_LIGHT, CLUBWEB_ACCESSES);
    let both = Demand::program(CLUBWEB_HEAVY, CLUBWEB_ACCESSES);
    Setup {
        servers,
        machine: CLUBWEB_SERVER,
        demands: [Demand::FILE, light, heavy, disk, both],
        replica: false,
        delivery: Delivery::OneWayShared,
        switch: SwitchCost::PENTIUM_III,
        ..cap_setup(warm_up, span)
    }
}

/// ClubWeb's stress test: one small file, one request a connection, `arrivals_s` a second.
pub const fn small_file_audience(arrivals_s: f64) -> Audience {
    let mix = Mix {
        name: "small-file",
        source: "Andreolini, Colajanni, Nuccio, WWW 2003, scalability analysis",
        pages: Draw::Constant(1.0),
        objects: Draw::Constant(1.0),
        html_bytes: Draw::Constant(SMALL_FILE_BYTES),
        embedded_bytes: Draw::Constant(SMALL_FILE_BYTES),
        site: Site { documents: 1, objects: 1, programs: 1, exponent: 0.0 },
        ..PUBLISHING_STATIC
    };
    Audience { mix, gap: independent(arrivals_s) }
}

/// The home page of the Apache site, about. Published.
const SMALL_FILE_BYTES: f64 = 1500.0;
