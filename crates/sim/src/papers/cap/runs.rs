//! The runs behind CAP's figures.

use crate::site::scenario::{
    self as scenario, CAP, GATHER, LARD_CONNECTIONS, RANDOM, ROUND_ROBIN, STATIC_PARTITION,
    TRANSACTION_USERS_S, USERS_S, cap_audience, cap_setup, clubweb_setup, contenders, lard,
    wrr_num, wrr_time,
};
use crate::site::{Audience, Contender, Delivery, Demand, Outcome, Setup, Spread, run};
use crate::stats::Estimate;
use crate::{Row, Run, Scale};
use core::ops::RangeInclusive;
use core::time::Duration;
use workload::visits::{self, Mix};

/// What is measured for a point. Utilisations are means over the servers.
pub(super) const MEASURED: &[&str] =
    &["p90_s", "p50_s", "hit_ratio", "cpu", "disk", "database", "switch"];

/// The same beside a curve of frequencies, at every place of it; infinite is the half width of the
/// confidence interval of one seed.
pub(super) const FREQUENCIES: &[&str] = &[
    "frequency",
    "p90_half_width_s",
    "p90_s",
    "p50_s",
    "hit_ratio",
    "cpu",
    "disk",
    "database",
    "switch",
];

/// Where frequencies are read off.
const LATENCIES_S: &[f64] = &[
    0.01, 0.02, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5,
    3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 50.0, 70.0, 100.0,
];

/// A site: what is asked, and how many come to ask.
#[derive(Clone, Copy)]
pub(super) struct Site {
    mix: &'static Mix<'static>,
    users_s: f64,
}

pub(super) const PUBLISHING: Site = Site { mix: &visits::PUBLISHING_STATIC, users_s: USERS_S };
pub(super) const PUBLISHING_LIGHT: Site = Site { mix: &visits::PUBLISHING_LIGHT, users_s: USERS_S };
pub(super) const TRANSACTION: Site =
    Site { mix: &visits::TRANSACTION, users_s: TRANSACTION_USERS_S };
pub(super) const COMMERCE_CPU: Site = Site { mix: &visits::COMMERCE_A, users_s: USERS_S };
pub(super) const COMMERCE_EITHER: Site = Site { mix: &visits::COMMERCE_B, users_s: USERS_S };
pub(super) const COMMERCE_ALL: Site = Site { mix: &visits::COMMERCE_C, users_s: USERS_S };

/// Everything that one run needs.
#[derive(Clone)]
struct Case {
    setup: Setup,
    audience: Audience,
}

impl Site {
    fn case(self, scale: Scale) -> Case {
        let (warm_up_s, span_s) = times_s(scale);
        let setup = cap_setup(Duration::from_secs(warm_up_s), Duration::from_secs(span_s));
        Case { setup, audience: cap_audience(self.mix, self.users_s) }
    }
}

fn times_s(scale: Scale) -> (u64, u64) {
    match scale {
        Scale::Quick => (40, 20),
        Scale::Full => (60, 150),
    }
}

/// The seeds whose mean is shown.
fn seeds(scale: Scale) -> RangeInclusive<u64> {
    match scale {
        Scale::Quick => 1..=1,
        Scale::Full => 1..=3,
    }
}

/// The outcomes of a case, one for each seed.
fn outcomes(case: &Case, contender: &Contender, scale: Scale) -> Vec<Outcome> {
    seeds(scale).map(|seed| run(&case.setup, &case.audience, contender, seed)).collect()
}

fn estimate(outcomes: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> Estimate {
    Estimate::of(&outcomes.iter().map(figure).collect::<Vec<_>>())
}

/// The values of [`MEASURED`].
fn measured(outcomes: &[Outcome]) -> Vec<f64> {
    let mean = |figure: fn(&Outcome) -> f64| estimate(outcomes, figure).mean;
    vec![
        mean(|outcome| outcome.percentile(0.9)),
        mean(|outcome| outcome.percentile(0.5)),
        mean(Outcome::hit_ratio),
        mean(|outcome| outcome.mean(|server| server.cpu)),
        mean(|outcome| outcome.mean(|server| server.disk)),
        mean(|outcome| outcome.mean(|server| server.database)),
        mean(|outcome| outcome.switch),
    ]
}

/// Figures 4 to 6: the cumulative frequency of page latency under each policy.
pub(super) fn distribution(scale: Scale, site: Site) -> Vec<Run> {
    let frequencies = move |contender: Contender| {
        Run::new(contender.curve.into(), move || {
            let outcomes = outcomes(&site.case(scale), &contender, scale);
            let p90 = estimate(&outcomes, |outcome| outcome.percentile(0.9));
            let mut beside = vec![p90.half_width];
            beside.extend(measured(&outcomes));
            let row = |limit_s: &f64| {
                let frequency = estimate(&outcomes, |outcome| outcome.within(*limit_s)).mean;
                let values = std::iter::once(frequency).chain(beside.iter().copied());
                Row::new(contender.curve, *limit_s, values.collect())
            };
            LATENCIES_S.iter().map(row).collect()
        })
    };
    contenders().into_iter().map(frequencies).collect()
}

/// Figure 3: both forms of WRR by period, and the two policies that have none.
pub(super) fn wrr_periods(scale: Scale, site: Site) -> Vec<Run> {
    const PERIODS_S: &[f64] = &[0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let periods: Vec<f64> = match scale {
        Scale::Quick => vec![0.5, 1.0, 4.0, 16.0],
        Scale::Full => PERIODS_S.to_vec(),
    };
    let at = move |contender: Contender, gather: Duration, periods_s: Vec<f64>| {
        Run::new(format!("{} {gather:?}", contender.curve), move || {
            let mut case = site.case(scale);
            case.setup.gather = gather;
            let outcomes = outcomes(&case, &contender, scale);
            let percentile = |share| estimate(&outcomes, |outcome| outcome.percentile(share)).mean;
            let values = vec![percentile(0.9), percentile(0.5)];
            let row = |period_s: &f64| Row::new(contender.curve, *period_s, values.clone());
            periods_s.iter().map(row).collect()
        })
    };
    let mut runs = Vec::new();
    for period_s in &periods {
        let period = Duration::from_secs_f64(*period_s);
        for contender in [wrr_num(period), wrr_time(period)] {
            runs.push(at(contender, period, vec![*period_s]));
        }
    }
    for contender in [ROUND_ROBIN, RANDOM] {
        runs.push(at(contender, GATHER, periods.clone()));
    }
    runs
}

/// Figure 10: the prototype's servers under its dynamic workload, span by span.
pub(super) fn spread(scale: Scale) -> Vec<Run> {
    let spans = move |contender: Contender| {
        Run::new(contender.curve.into(), move || {
            let setup = spread_setup(scale);
            let audience = cap_audience(&scenario::PROTOTYPE, SPREAD_USERS_S);
            let outcome = run(&setup, &audience, &contender, 1);
            let watched = outcome.spread.iter().filter(|look| look.at > setup.warm_up);
            let row = |look: &Spread| {
                let at_s = look.at.as_secs_f64();
                let end = |which: &str, utilisation| {
                    Row::new(format!("{} {which}", contender.curve), at_s, vec![utilisation])
                };
                [end("max", look.max), end("min", look.min)]
            };
            watched.flat_map(row).collect()
        })
    };
    [CAP, lard()].map(spans).into()
}

fn spread_setup(scale: Scale) -> Setup {
    let (warm_up_s, span_s) = times_s(scale);
    let times = [warm_up_s, span_s].map(Duration::from_secs);
    let mut setup = clubweb_setup(SPREAD_SERVERS, times[0], times[1]);
    (setup.gather, setup.cache_share, setup.delivery) = (SPREAD_GATHER, 1.0, Delivery::OneWay);
    setup
}

/// Servers of the prototype, and how often they report. Published.
const SPREAD_SERVERS: usize = 4;
/// See [`SPREAD_SERVERS`].
const SPREAD_GATHER: Duration = Duration::from_secs(10);
/// New users a second there. Chosen: CPUs half busy.
const SPREAD_USERS_S: f64 = 75.0;

pub(super) fn spread_caption(scale: Scale) -> String {
    let (warm_up_s, span_s) = times_s(scale);
    format!(
        "The prototype's dynamic workload (80 % static, programs: 10 % light, 6 % CPU, 4 % CPU and \
         disk) on a model of it: {SPREAD_SERVERS} servers that report every {SPREAD_GATHER:?} \
         (published), {SPREAD_USERS_S} new users/s, files in memory, programs of {:?} and {:?} CPU \
         (chosen); utilisation over 5 s of each server's busiest component, the least and the \
         greatest of them; {warm_up_s} s to warm up, {span_s} s measured; seed 1.",
        scenario::CLUBWEB_LIGHT,
        scenario::CLUBWEB_HEAVY,
    )
}

/// What a sensitivity varies: a site, the values, and what a value does to it.
pub(super) struct Sensitivity {
    site: Site,
    values: &'static [f64],
    /// Those of the quick form.
    quick: &'static [f64],
    vary: fn(&mut Case, f64),
    /// For whom; the others do not depend on it.
    who: fn() -> Vec<Contender>,
    says: &'static str,
}

/// CAP and its competitors.
fn competitors() -> Vec<Contender> {
    vec![CAP, wrr_num(GATHER), lard(), LARD_CONNECTIONS, STATIC_PARTITION]
}

pub(super) const LOAD: Sensitivity = Sensitivity {
    site: TRANSACTION,
    values: &[50.0, 70.0, 90.0, 100.0, 109.0, 116.0],
    quick: &[70.0, 109.0],
    vary: |case, users_s| case.audience = cap_audience(&visits::TRANSACTION, users_s),
    who: competitors,
    says: "The arrival rate varies.",
};

pub(super) const QUERIES: Sensitivity = Sensitivity {
    site: TRANSACTION,
    values: &[6.0, 9.0, 13.0, 20.0, 28.0],
    quick: &[6.0, 20.0],
    vary: |case, queries| {
        case.setup.demands = Demand::cap(queries as u32);
        let users_s = TRANSACTION_USERS_S * f64::from(scenario::QUERIES) / queries;
        case.audience = cap_audience(&visits::TRANSACTION, users_s);
    },
    who: competitors,
    says: "The accesses of a query vary, and the arrival rate inversely, so that the database's \
           disks do the same work.",
};

pub(super) const PROGRAMS: Sensitivity = Sensitivity {
    site: TRANSACTION,
    values: &[2.0, 5.0, 20.0, 100.0, 1000.0, 100_000.0],
    quick: &[5.0, 1000.0],
    vary: |case, programs| case.audience.mix.site.programs = programs as u32,
    who: || vec![lard(), LARD_CONNECTIONS],
    says: "The number of programs, which are targets to LARD, varies (to the others they are \
           none); at the right nearly every query is a target of its own.",
};

pub(super) const KEYS: Sensitivity = Sensitivity {
    site: COMMERCE_CPU,
    values: &[6.65, 25.0, 50.0, 100.0, 150.0],
    quick: &[6.65, 100.0],
    vary: |case, milliseconds| {
        case.setup.key_exchange = Duration::from_secs_f64(milliseconds / 1e3);
    },
    who: competitors,
    says: "The key exchange of a session varies: 6.65 ms is 256 bits at the published 38.5 kbit/s; \
           the certificate's 2048 bytes would take 425 ms.",
};

/// Percentiles by whatever varies.
pub(super) fn sensitivity(scale: Scale, what: &'static Sensitivity) -> Vec<Run> {
    let values = if scale == Scale::Quick { what.quick } else { what.values };
    let at = |(value, contender): (f64, Contender)| {
        Run::new(format!("{} at {value}", contender.curve), move || {
            let mut case = what.site.case(scale);
            (what.vary)(&mut case, value);
            let outcome = run(&case.setup, &case.audience, &contender, 1);
            vec![Row::new(contender.curve, value, measured(&[outcome]))]
        })
    };
    let cases = values.iter().flat_map(|value| (what.who)().into_iter().map(|one| (*value, one)));
    cases.map(at).collect()
}

/// Hit ratios of static and lightly dynamic sites by the skew of popularity.
pub(super) fn popularity(scale: Scale) -> Vec<Run> {
    let exponents: &[f64] =
        if scale == Scale::Quick { &[0.0, 0.9] } else { &[0.0, 0.3, 0.6, 0.9, 1.2] };
    let sites = [("static", PUBLISHING), ("light", PUBLISHING_LIGHT)];
    let mut runs = Vec::new();
    for exponent in exponents {
        for (name, site) in sites {
            for contender in [CAP, LARD_CONNECTIONS] {
                let (exponent, curve) = (*exponent, format!("{} {name}", contender.curve));
                runs.push(Run::new(format!("{curve} {exponent}"), move || {
                    let mut case = site.case(scale);
                    case.audience.mix.site.exponent = exponent;
                    let outcome = run(&case.setup, &case.audience, &contender, 1);
                    let disk = outcome.mean(|server| server.disk);
                    let values = vec![outcome.hit_ratio(), outcome.percentile(0.9), disk];
                    vec![Row::new(curve, exponent, values)]
                }));
            }
        }
    }
    runs
}

/// The parameters of a site.
pub(super) fn caption(scale: Scale, site: Site) -> String {
    let (warm_up_s, span_s) = times_s(scale);
    let seeds = seeds(scale);
    let part = |service: &visits::Service| {
        let class = policy::Class::NAMES[service.html.class.index()];
        format!("{:.0} % {class}", service.share * 100.0)
    };
    let mix: Vec<_> = site.mix.services.iter().map(part).collect();
    format!(
        "{}; {} servers (chosen of the published 2-32), {} new users/s (published 100-300, \
         calibrated on Fig. 4(a)), files equally popular (chosen), queries of {} accesses \
         (chosen), reports and weights every {:?} (chosen), Apache's CPU costs of P-HTTP (chosen); \
         {warm_up_s} s to warm up, half of them at half the rate, {span_s} s measured; mean of \
         seeds {}-{}.",
        mix.join(", "),
        scenario::SERVERS,
        site.users_s,
        scenario::QUERIES,
        GATHER,
        seeds.start(),
        seeds.end(),
    )
}

pub(super) fn sensitivity_caption(scale: Scale, what: &Sensitivity) -> String {
    format!("{} Otherwise {} Here seed 1 alone.", what.says, caption(scale, what.site))
}

pub(super) fn popularity_caption(scale: Scale) -> String {
    format!(
        "Hit ratio of the servers' caches, of 15 % of the site each, by the exponent of Zipf's law \
         (0: all files alike). Otherwise as Fig. 4: {} Here seed 1 alone.",
        caption(scale, PUBLISHING)
    )
}
