//! One point with users: visits to a site, open or closed loop, through the client of crate `load`.

use super::bed::{Bed, Front, Moment};
use super::gauge::now_ns;
use super::{Lab, Row};
use anyhow::{Context, Result, bail, ensure};
use load::{Arrivals, Manner, Outcome, Scenario, Site, Users};
use model::{CpuCost, DiskCost, Service, Services};
use policy::Class;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use workload::draw::{Draw, Exponential, Pareto};
use workload::visits::{Mix, Visits};

/// Who comes.
#[derive(Clone, Copy, Debug)]
pub enum Crowd {
    /// So many new users a second of the model, independent of each other.
    Open(f64),
    /// So many at a time.
    Closed(usize),
}

/// A site with its servers and users. Times are the model's, but for those called `real`.
#[derive(Clone)]
pub struct Visited {
    /// What users ask for, their thinking already in real time.
    pub visits: Arc<Visits>,
    /// Who comes.
    pub crowd: Crowd,
    /// How many servers.
    pub servers: usize,
    /// Each one's cache, as a share of the site.
    pub cache_share: f64,
    /// What their CPU charges.
    pub cpu: CpuCost,
    /// What requests of each class ask beyond that.
    pub services: Services,
    /// Real seconds for each second of the model.
    pub time_scale: f64,
    /// Not measured, in real seconds.
    pub warm_s: f64,
    /// Measured, in real seconds.
    pub measure_s: f64,
}

/// Servers that run programs, as scenarios have them in `[servers]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    /// How many.
    count: usize,
    /// CPU of light and heavy programs, in milliseconds.
    light_ms: u64,
    heavy_ms: u64,
    /// Disk accesses of programs that lean on the disk.
    accesses: u32,
    /// Each one's cache, as a share of the site's files.
    cache_share: f64,
    /// Real seconds for each second of the model.
    pub scale: f64,
}

/// Files and programs of a site whose targets are equally wanted, as scenarios have them in
/// `[site]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    documents: u32,
    objects: u32,
    programs: u32,
}

impl Files {
    /// The site.
    pub fn site(self) -> workload::visits::Site {
        let Self { documents, objects, programs } = self;
        workload::visits::Site { documents, objects, programs, exponent: 0.0 }
    }
}

impl Servers {
    /// Them, visited for `warm_s` and `measure_s` real seconds, with these costs of their CPU.
    pub fn visited(
        &self,
        cpu: CpuCost,
        visits: &Arc<Visits>,
        crowd: Crowd,
        (warm_s, measure_s): (f64, f64),
    ) -> Visited {
        let [light, heavy] = [self.light_ms, self.heavy_ms].map(Duration::from_millis);
        Visited {
            visits: Arc::clone(visits),
            crowd,
            servers: self.count,
            cache_share: self.cache_share,
            cpu,
            services: programs(light, heavy, self.accesses),
            time_scale: self.scale,
            warm_s,
            measure_s,
        }
    }
}

/// The disk of CAP's papers, an IBM Deskstar 34GXP, at 20 MB/s (published, WWW10 2001).
const DISK: DiskCost = DiskCost {
    first: model::cost::DESKSTAR_ACCESS,
    page: Duration::from_micros(205),
    again: Duration::ZERO,
};

/// The site's name: part of what hashing sees, and so the same in every run.
const HOST: &str = "site";

/// Connections of a browser. Chosen: what those of the time opened.
const CONNECTIONS: usize = 4;

/// Programs on the servers themselves: what each of ClubWeb's and the prototype's classes takes.
fn programs(light: Duration, heavy: Duration, accesses: u32) -> Services {
    let run = |cpu| Service { cpu, reads: false, cacheable: 0.0, ..Service::STATIC };
    let disk = model::cost::QUERY_ACCESS * accesses;
    let mut services = Services::default();
    services.set(Class::LIGHT, run(light));
    services.set(Class::CPU, run(heavy));
    services.set(Class::DISK, Service { disk, ..run(light) });
    services.set(Class::CPU_DISK, Service { disk, ..run(heavy) });
    services
}

/// A mix whose users think in real time, so much faster than the model's.
///
/// # Errors
/// When the thinking cannot be scaled: only those distributions can that the papers use for it.
pub fn hurried<'a>(mix: &Mix<'a>, factor: f64) -> Result<Mix<'a>> {
    let think_s = match mix.think_s {
        Draw::Pareto(Pareto { alpha, min, max }) => {
            Draw::Pareto(Pareto { alpha, min: min * factor, max: max * factor })
        }
        Draw::Constant(seconds) => Draw::Constant(seconds * factor),
        Draw::Exponential(Exponential { mean }) => {
            Draw::Exponential(Exponential { mean: mean * factor })
        }
        other => bail!("thinking by {other:?} cannot be hurried"),
    };
    Ok(Mix { think_s, ..*mix })
}

/// A policy that acts every `period_s` real seconds is seen at work: twice before the measurement
/// and five times in it, at least.
///
/// # Errors
/// How long it would have to be.
pub fn covered(period_s: f64, warm_s: f64, measure_s: f64) -> Result<()> {
    // Products of decimal fractions are off by what binary ones leave.
    let enough = warm_s >= 1.999 * period_s && measure_s >= 4.999 * period_s;
    ensure!(
        enough,
        "a period of {period_s:.2} s (real) wants a warm_s of {:.2} and a measure_s of {:.2}",
        2.0 * period_s,
        5.0 * period_s
    );
    Ok(())
}

impl Visited {
    /// About how long a point takes, in real seconds.
    pub fn about_s(&self) -> f64 {
        self.warm_s + self.measure_s
    }

    fn configs(&self) -> Vec<origin::Config> {
        let cache_bytes = (self.visits.site_bytes() as f64 * self.cache_share) as u64;
        let config = |at: usize| {
            let usual = origin::Config::default();
            origin::Config {
                name: format!("origin-{}", at + 1),
                model: model::Config {
                    cpu: self.cpu,
                    disk: DISK,
                    services: self.services.clone(),
                    cache_bytes,
                    ..usual.model.clone()
                },
                time_scale: self.time_scale,
                seed: at as u64 + 1,
                report_period: Duration::from_secs_f64(self.time_scale),
                connections_max: 20_000,
                idle_timeout: Duration::from_secs(600),
                drain_timeout: Duration::from_millis(100),
                ..usual
            }
        };
        (0..self.servers).map(config).collect()
    }

    fn scenario(&self, bed: &Bed, seed: u64) -> Scenario {
        let users = match self.crowd {
            Crowd::Closed(count) => Users::Closed(count),
            Crowd::Open(users_s) => {
                let mean = self.time_scale / users_s;
                Users::Open(Arrivals::Gaps(Draw::Exponential(Exponential { mean })))
            }
        };
        let site = Site::Visits(Arc::clone(&self.visits));
        Scenario {
            manner: Manner::Parallel(CONNECTIONS),
            warm_up: Duration::from_secs_f64(self.warm_s),
            duration: Duration::from_secs_f64(self.measure_s),
            seed,
            timeout: Duration::from_secs(120),
            host: HOST.to_owned(),
            ..Scenario::new(bed.address, site, users)
        }
    }

    /// Lets users come and measures; what is found is written into a copy of `row`, whose repeat is
    /// the seed.
    ///
    /// # Errors
    /// When servers or front-end cannot be started, or requests fail.
    pub fn measure(&self, lab: &Lab, front: &Front, row: &Row) -> Result<Vec<Row>> {
        let bed = Bed::start(lab, front, self.configs())?;
        let scenario = self.scenario(&bed, u64::from(row.repeat));
        let warm_ns = now_ns() + (self.warm_s * 1e9) as u64;
        let mut first: Option<Result<Moment>> = None;
        let progress = |_: &Outcome| {
            if first.is_none() && now_ns() >= warm_ns {
                first = Some(bed.look());
            }
        };
        let outcome = load::run(&scenario, progress, lab.stop())?;
        let last = bed.look()?;
        if lab.is_stopped() {
            return Ok(Vec::new());
        }
        let first = first.context("the run was over before it was measured")??;
        let failed: u64 = outcome.failed.iter().sum();
        let example = outcome.examples.first().map(|failure| failure.detail.clone());
        ensure!(
            failed * 1000 <= outcome.answered(),
            "{failed} requests failed, {} were answered: {}",
            outcome.answered(),
            example.unwrap_or_default()
        );
        let mut row = row.clone();
        self.fill(&mut row, &bed, (&first, &last), &outcome);
        Ok(vec![row])
    }

    fn fill(&self, row: &mut Row, bed: &Bed, (first, last): (&Moment, &Moment), outcome: &Outcome) {
        bed.note(row, (first, last), outcome.answered(), Some(outcome.pace.cpu));
        let scale = self.time_scale;
        row.set("requests_s", outcome.requests_s() * scale);
        row.set("pages_s", outcome.pages_s() * scale);
        row.set("megabits_s", outcome.body_mbit_s() * scale);
        row.set("real_requests_s", outcome.requests_s());
        row.set("failed", outcome.failed.iter().sum::<u64>() as f64);
        if let Some(share) = outcome.hit_ratio() {
            row.set("hit_ratio", share);
        }
        let requests_us = &outcome.requests.due_us;
        for (column, share) in [("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)] {
            row.set(
                column,
                some_us(requests_us.len(), requests_us.value_at_quantile(share)) / 1e3 / scale,
            );
        }
        let pages_us = &outcome.pages.due_us;
        let page_us = some_us(pages_us.len(), pages_us.value_at_quantile(0.9));
        row.set("page_p90_ms", page_us / 1e3 / scale);
        // A page that waits for its HTML is one request of many.
        let share = |done: u64, cut_off: u64| cut_off as f64 / (done + cut_off).max(1) as f64;
        let pages = share(outcome.pages.done, outcome.pages.cut_off);
        row.set("cut_off", share(outcome.answered(), outcome.cut_off).max(pages));
        row.set("pages_failed", outcome.pages_failed as f64);
        row.set("turned_away", outcome.pace.turned_away as f64);
        if outcome.bottleneck().is_some() {
            row.limited_by("client");
        }
    }
}

/// A quantile of so many times, in microseconds; of none it is no number, and surely not 0.
fn some_us(count: u64, quantile_us: u64) -> f64 {
    if count == 0 { f64::NAN } else { quantile_us as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::visits::PUBLISHING_STATIC;

    #[test]
    fn a_period_longer_than_what_is_measured_is_refused() {
        assert!(covered(2.0, 4.0, 10.0).is_ok());
        assert!(covered(2.0, 3.0, 10.0).is_err() && covered(2.0, 4.0, 9.0).is_err());
    }

    #[test]
    fn the_quantile_of_nothing_is_no_number() {
        assert!(some_us(0, 0).is_nan());
        assert_eq!(some_us(3, 700), 700.0);
    }

    #[test]
    fn users_think_faster_and_a_program_is_never_cached() {
        let mix = hurried(&PUBLISHING_STATIC, 0.1).expect("a Pareto distribution");
        let means = [mix, PUBLISHING_STATIC].map(|mix| mix.think_s.mean().expect("it is bounded"));
        assert!((means[0] * 10.0 - means[1]).abs() < 1e-9, "{means:?}");
        let services = programs(Duration::from_millis(2), Duration::from_millis(40), 3);
        assert_eq!(services.of(Class::CPU_DISK).cpu, Duration::from_millis(40));
        assert_eq!(services.of(Class::DISK).cacheable, 0.0);
        assert_eq!(services.of(Class::STATIC), Service::STATIC);
    }
}
