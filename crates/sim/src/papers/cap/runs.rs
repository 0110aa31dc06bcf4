//! The runs behind CAP's figures.

use crate::site::scenario::{
    self as scenario, CAP, GATHER, LARD_CONNECTIONS, RANDOM, ROUND_ROBIN, STATIC_PARTITION,
    TRANSACTION_USERS_S, USERS_S, cap_audience, cap_setup, contenders, lard, wrr_num, wrr_time,
};
use crate::site::{Audience, Contender, Demand, Outcome, Setup, run};
use crate::stats::Estimate;
use crate::{Row, Run, Scale};
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
    mix: &'static Mix,
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
        Scale::Quick => (50, 25),
        Scale::Full => (60, 150),
    }
}

fn seeds(scale: Scale) -> std::ops::RangeInclusive<u64> {
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

/// Figure 10: four servers under the prototype's dynamic workload, span by span.
pub(super) fn spread(scale: Scale) -> Vec<Run> {
    let spans = move |contender: Contender| {
        Run::new(contender.curve.into(), move || {
            let (_, span_s) = times_s(scale);
            let mut setup = cap_setup(Duration::from_secs(30), Duration::from_secs(span_s));
            setup.servers = SPREAD_SERVERS;
            let audience = cap_audience(&scenario::PROTOTYPE, SPREAD_USERS_S);
            let outcome = run(&setup, &audience, &contender, 1);
            let watched = outcome.spread.iter().filter(|look| look.at > setup.warm_up);
            let row = |look: &crate::site::Spread| {
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

/// Servers of the prototype. Published.
const SPREAD_SERVERS: usize = 4;
/// New users a second there. Chosen: the busiest components at about 0.7.
const SPREAD_USERS_S: f64 = 20.0;

pub(super) fn spread_caption(scale: Scale) -> String {
    let (_, span_s) = times_s(scale);
    format!(
        "The prototype's dynamic workload (80 % static, 10 % light, 6 % CPU, 4 % CPU and disk) on \
         the model of Figs. 4-6 with {SPREAD_SERVERS} servers (published) and {SPREAD_USERS_S} new \
         users/s (chosen); utilisation over 5 s of each server's busiest component, the least and \
         the greatest of them; 30 s to warm up, {span_s} s measured; seed 1."
    )
}

/// What a sensitivity varies: a site, the values, and what a value does to it.
pub(super) struct Sensitivity {
    site: Site,
    values: &'static [f64],
    /// Those of the quick form.
    quick: &'static [f64],
    vary: fn(&mut Case, f64),
    says: &'static str,
}

pub(super) const LOAD: Sensitivity = Sensitivity {
    site: TRANSACTION,
    values: &[50.0, 70.0, 90.0, 100.0, 109.0, 116.0],
    quick: &[70.0, 109.0],
    vary: |case, users_s| case.audience = cap_audience(&visits::TRANSACTION, users_s),
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
    says: "The accesses of a query vary, and the arrival rate inversely, so that the database's \
           disks do the same work.",
};

pub(super) const PROGRAMS: Sensitivity = Sensitivity {
    site: TRANSACTION,
    values: &[2.0, 5.0, 20.0, 100.0, 1000.0, 100_000.0],
    quick: &[5.0, 1000.0],
    vary: |case, programs| case.audience.mix.site.programs = programs as u32,
    says: "The number of programs, which are targets to LARD, varies; at the right every query is \
           a target of its own.",
};

pub(super) const KEYS: Sensitivity = Sensitivity {
    site: COMMERCE_CPU,
    values: &[6.65, 25.0, 50.0, 100.0, 150.0],
    quick: &[6.65, 100.0],
    vary: |case, milliseconds| {
        case.setup.key_exchange = Duration::from_secs_f64(milliseconds / 1e3);
    },
    says: "The key exchange of a session varies: 6.65 ms is 256 bits at the published 38.5 kbit/s; \
           the certificate's 2048 bytes would take 425 ms.",
};

/// Percentiles by whatever varies.
pub(super) fn sensitivity(scale: Scale, what: &'static Sensitivity) -> Vec<Run> {
    let values = if scale == Scale::Quick { what.quick } else { what.values };
    let who = || [CAP, wrr_num(GATHER), lard(), LARD_CONNECTIONS, STATIC_PARTITION];
    let at = |(value, contender): (f64, Contender)| {
        Run::new(format!("{} at {value}", contender.curve), move || {
            let mut case = what.site.case(scale);
            (what.vary)(&mut case, value);
            let outcome = run(&case.setup, &case.audience, &contender, 1);
            vec![Row::new(contender.curve, value, measured(&[outcome]))]
        })
    };
    values.iter().flat_map(|value| who().map(|one| (*value, one))).map(at).collect()
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
         {warm_up_s} s to warm up, {span_s} s measured; mean of seeds {}-{}.",
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
