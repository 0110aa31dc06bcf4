//! Users with browsers in an open loop: they come when they come, fetch pages and think. What
//! counts is how many pages a second are complete, how long nine of ten take at most, and what the
//! caches have.

use super::bed::Bed;
use super::quiet::{Pairs, Run, Runs, settled, until_sure};
use super::verdict::{AROUND, Comparison, Kind, mean};
use crate::experiments::{Lab, Reading};
use anyhow::{Result, ensure};
use load::{Arrivals, Manner, Scenario, Site as Asked, Users};
use policy::Entry;
use sim::site::scenario::clubweb_setup;
use sim::site::{Audience, Contender, Layer, Live, Setup};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workload::draw::{Draw, Exponential, Pareto};
use workload::visits::{CLUBWEB_CPU, Mix, Site, Visits};

/// Names of servers here and on paper.
const PREFIX: &str = "web";

/// The rules of the switch: a class for each prefix of a path, and a program is one target whatever
/// the size that its query asks for, as it is one to the servers' caches and on paper.
pub(super) const RULES: &str = "\
[[rule]]\ntarget = \"host+path\"\n\n\
[[rule]]\npath_prefix = \"/light/\"\nclass = \"light\"\n\n\
[[rule]]\npath_prefix = \"/cpu/\"\nclass = \"cpu\"\n\n\
[[rule]]\npath_prefix = \"/disk/\"\nclass = \"disk\"\n\n\
[[rule]]\npath_prefix = \"/cpu+disk/\"\nclass = \"cpu+disk\"\n";

/// Servers.
const SERVERS: usize = 4;

/// Connections of a browser.
const CONNECTIONS: usize = 4;

/// Each cache, as a share of the site's bytes: CAP's.
const CACHE_SHARE: f64 = 0.15;

/// ClubWeb's users on a tenth of its site, so that caches are warm in a short warm-up.
const MIX: Mix<'static> = Mix {
    site: Site { documents: 500, objects: 1_500, programs: 20, exponent: 0.9 },
    ..CLUBWEB_CPU
};

/// How long is played, in the time of the model.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Not measured.
    pub warm_up: Duration,
    /// Measured.
    pub measured: Duration,
}

/// The experiment.
pub struct Pages {
    span: Span,
    /// Real seconds for each second of the model.
    scale: f64,
    seed: u64,
}

/// What one run found.
#[derive(Clone, Copy, Debug)]
struct Found {
    hit_ratio: f64,
    pages_s: f64,
    p90_ms: f64,
}

impl Pages {
    /// So much of it.
    pub fn new(span: Span, scale: f64, seed: u64) -> Self {
        Self { span, scale, seed }
    }

    /// What it is, in a sentence.
    pub fn about(&self) -> String {
        format!(
            "open loop: ClubWeb's users (CPU-bound) with {CONNECTIONS} connections on a site of \
             {:.1} MB, {SERVERS} servers, {:.0} s of warm-up and {:.0} s measured in the time of \
             the model, time scale {}",
            Visits::new(&MIX, self.seed).site_bytes() as f64 / 1e6,
            self.span.warm_up.as_secs_f64(),
            self.span.measured.as_secs_f64(),
            self.scale,
        )
    }

    /// What client, switch and sockets add to a request on average, in real time: the same users,
    /// `users_s` a second of the model, before servers that take no time. Twice, and the lesser
    /// counts: others only ever add to it.
    ///
    /// # Errors
    /// When the live side cannot be started, or requests fail.
    pub fn floor(&self, users_s: f64, lab: &Lab) -> Result<Option<Duration>> {
        let entry = policy::entry("round-robin").expect("round robin is one of POLICIES");
        let mut least_us = f64::INFINITY;
        for _ in 0..2 {
            let Some((outcome, _)) = self.ask(entry, users_s, (0.0, self.seed), lab)? else {
                return Ok(None);
            };
            least_us = least_us.min(outcome.requests.sent_us.mean());
        }
        Ok(Some(Duration::from_secs_f64(least_us / 1e6)))
    }

    /// Compares live runs under a policy, `users_s` new users a second and other ones in each run,
    /// with simulated ones, to which `floor` is a delay of each request.
    ///
    /// # Errors
    /// When the live side cannot be started, or requests fail.
    pub fn compare(
        &self,
        (policy, load): (&'static Entry, &str),
        users_s: f64,
        runs: Runs,
        floor: Duration,
        lab: &Lab,
    ) -> Result<Option<Vec<Comparison>>> {
        let seed = |run: usize| self.seed + run as u64;
        let play = |run| {
            settled(runs, lab)?;
            let asked = self.ask(policy, users_s, (self.scale, seed(run)), lab)?;
            Ok(asked.map(|(outcome, others)| Run { found: self.found(&outcome), others }))
        };
        let busy = Cell::new((0.0, 0.0));
        let paper = |run| {
            let papers =
                AROUND.map(|part| self.paper(policy, users_s, floor.mul_f64(part), seed(run)));
            let (sum, count) = busy.get();
            busy.set((sum + mean(papers.iter().map(|paper| paper.1)), count + 1.0));
            let of = |figure: fn(&Found) -> f64| mean(papers.iter().map(|one| figure(&one.0)));
            Found {
                hit_ratio: of(|found| found.hit_ratio),
                pages_s: of(|found| found.pages_s),
                p90_ms: of(|found| found.p90_ms),
            }
        };
        let compared = |pairs: &Pairs<Found>| {
            let busy = busy.get().0 / busy.get().1;
            let experiment = format!("pages, {load} ({:.0}%), {}", busy * 100.0, policy.name);
            vec![
                pairs.compare(&experiment, Kind::Hits, |found| found.hit_ratio),
                pairs.compare(&experiment, Kind::Throughput, |found| found.pages_s),
                pairs.compare(&experiment, Kind::PageP90, |found| found.p90_ms),
            ]
        };
        until_sure(runs, play, paper, compared)
    }

    /// The figures of a live run.
    fn found(&self, outcome: &load::Outcome) -> Found {
        Found {
            hit_ratio: outcome.hits as f64 / (outcome.hits + outcome.misses).max(1) as f64,
            pages_s: outcome.pages.done as f64 / outcome.took.as_secs_f64() * self.scale,
            p90_ms: outcome.pages.due_us.value_at_quantile(0.9) as f64 / 1e3 / self.scale,
        }
    }

    /// One live run, and which share of a core others used meanwhile; a scale of 0 is servers that
    /// take no time, asked at the experiment's pace.
    fn ask(
        &self,
        policy: &'static Entry,
        users_s: f64,
        (scale, seed): (f64, u64),
        lab: &Lab,
    ) -> Result<Option<(load::Outcome, f64)>> {
        let bed = Bed::start(policy, PREFIX, RULES, self.servers(scale, seed))?;
        let mix = Mix { think_s: sooner(MIX.think_s, self.scale), ..MIX };
        let site = Asked::Visits(Arc::new(Visits::new(&mix, seed)));
        let gaps = Draw::Exponential(Exponential { mean: self.scale / users_s });
        let mut scenario = Scenario::new(bed.address, site, Users::Open(Arrivals::Gaps(gaps)));
        scenario.host = "site".to_owned();
        scenario.manner = Manner::Parallel(CONNECTIONS);
        scenario.warm_up = self.span.warm_up.mul_f64(self.scale);
        scenario.duration = self.span.measured.mul_f64(self.scale);
        scenario.seed = seed;
        scenario.timeout = Duration::from_secs(120);
        scenario.sessions_max = 1_000;
        let stop = AtomicBool::new(false);
        let look = |_: &load::Outcome| stop.store(lab.is_stopped(), Ordering::Relaxed);
        let before = Reading::now(&[])?;
        let outcome = load::run(&scenario, look, &stop)?;
        let usage = Reading::now(&[])?.since(&before);
        if outcome.stopped {
            return Ok(None);
        }
        let failed: u64 = outcome.failed.iter().sum();
        let example = outcome.examples.first();
        ensure!(
            failed == 0,
            "{failed} requests failed, such as {}",
            example.map_or(String::new(), |one| format!("{} ({})", one.target, one.detail)),
        );
        // The client's thread has ended, and says itself what it used.
        let others = (usage.others + usage.client - outcome.pace.cpu).max(0.0);
        Ok(Some((outcome, others)))
    }

    fn servers(&self, scale: f64, seed: u64) -> Vec<origin::Config> {
        let server = |number: usize| origin::Config {
            name: format!("{PREFIX}{number}"),
            model: Self::node(seed),
            time_scale: scale,
            seed: number as u64,
            connections_max: 8_000,
            idle_timeout: Duration::from_secs(600),
            drain_timeout: Duration::from_millis(100),
            ..origin::Config::default()
        };
        (0..SERVERS).map(server).collect()
    }

    /// What every server is: Apache, and the services that emulated servers offer.
    fn node(seed: u64) -> model::Config {
        let site_bytes = Visits::new(&MIX, seed).site_bytes();
        model::Config {
            cache_bytes: (site_bytes as f64 * CACHE_SHARE) as u64,
            ..origin::Config::default().model
        }
    }

    /// The same on paper, and how busy the busiest component of a server is there, on average.
    fn paper(
        &self,
        policy: &'static Entry,
        users_s: f64,
        floor: Duration,
        seed: u64,
    ) -> (Found, f64) {
        let live = Live {
            node: Self::node(seed),
            connections: CONNECTIONS,
            delay: floor.div_f64(self.scale),
            arrivals_seed: load::arrivals_seed(seed),
        };
        let setup = Setup {
            live: Some(live),
            ..clubweb_setup(SERVERS, self.span.warm_up, self.span.measured)
        };
        let gap = Draw::Exponential(Exponential { mean: 1.0 / users_s });
        let contender = Contender::new(policy.name, policy.name, Layer::SevenEach);
        let outcome = sim::site::run(&setup, &Audience { mix: MIX, gap }, &contender, seed);
        let found = Found {
            hit_ratio: outcome.hit_ratio(),
            pages_s: outcome.pages_s(),
            p90_ms: outcome.percentile(0.9) * 1e3,
        };
        (found, outcome.mean(|server| server.busiest()))
    }
}

/// Users who think `scale` times as long: the same draws, so that they do the same things.
fn sooner(think_s: Draw, scale: f64) -> Draw {
    match think_s {
        Draw::Pareto(Pareto { alpha, min, max }) => {
            Draw::Pareto(Pareto { alpha, min: min * scale, max: max * scale })
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::visits::Visit;

    #[test]
    fn users_who_think_shorter_do_the_same_things_sooner() {
        let fast = Mix { think_s: sooner(MIX.think_s, 0.1), ..MIX };
        let (one, other) = (Visits::new(&MIX, 1), Visits::new(&fast, 1));
        let (mut slow, mut quick) = (Visit::default(), Visit::default());
        let mut thought = 0;
        for number in 0..200 {
            one.visit(number, &mut slow);
            other.visit(number, &mut quick);
            assert_eq!(slow.len(), quick.len());
            for (slow, quick) in slow.pages().zip(quick.pages()) {
                assert_eq!(slow.objects, quick.objects);
                let off_s = slow.think.as_secs_f64() * 0.1 - quick.think.as_secs_f64();
                assert!(off_s.abs() < 1e-6, "{off_s}");
                thought += usize::from(slow.think > Duration::ZERO);
            }
        }
        assert!(thought > 100);
    }

    #[test]
    fn a_program_is_one_target_and_a_path_has_its_class() {
        use crate::config::Config;
        use rules::Described;
        let text =
            format!("[listen.web]\naddress = \":0\"\n[server.a]\naddress = \"[::1]:1\"\n{RULES}");
        let loaded = Config::parse("rules", &text, &|_| None).expect("they are valid");
        let judge = |url: &str| {
            let request = Described::new("GET", url).expect("it can be asked for");
            loaded.config.rules.judge(&request)
        };
        let (one, other) = (judge("site/cpu/program-1?size=5"), judge("site/cpu/program-1?size=9"));
        assert_eq!((one.target, one.class), (other.target, policy::Class::CPU));
        assert_ne!(one.target, judge("site/cpu/program-2?size=5").target);
        assert_eq!(judge("site/static/bytes/9/1").class, policy::Class::STATIC);
    }
}
