//! A trace in a closed loop: so many sessions at a time ask, and what counts is how many requests
//! a second the cluster answers, and how many of them from its caches.

use super::bed::Bed;
use super::quiet::{Pairs, Run, Runs, settled, until_sure};
use super::verdict::{AROUND, Comparison, Kind, mean};
use crate::demo;
use crate::experiments::{Lab, Reading};
use anyhow::{Result, ensure};
use load::Options;
use model::CpuCost;
use origin::Sizes;
use policy::{Admission, Entry, TargetId};
use rules::{Described, Rules};
use sim::cluster::cost::FrontCost;
use sim::cluster::{Arrivals, Chooser, Limit, Mechanism, Script, Setup};
use std::sync::Arc;
use std::time::Duration;
use workload::{Pick, Plan, Shape};

/// Servers.
const SERVERS: u16 = 4;

/// Names of servers here and on paper: hash policies place servers by their names.
const PREFIX: &str = "node-";

/// The experiment.
pub struct Closed {
    plan: Arc<Plan>,
    script: Script,
    node: model::Config,
    /// Real seconds for each second of the model.
    scale: f64,
    seed: u64,
}

/// What one run found.
#[derive(Clone, Copy, Debug)]
struct Found {
    hit_ratio: f64,
    /// Requests a second, in the time of the model.
    requests_s: f64,
}

impl Closed {
    /// The first `requests` of the trace that ships.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn new(requests: usize, scale: f64, seed: u64) -> Result<Self> {
        let mut trace = demo::plan(None)?.trace;
        let gets: Vec<bool> =
            trace.requests.iter().map(|entry| trace.method(entry) == "GET").collect();
        let mut number = 0;
        trace.retain(|_, _| {
            number += 1;
            gets[number - 1]
        });
        let plan = Plan::new(trace, Pick::First(requests), Shape::default());
        let rules = Rules::none();
        let trace = &plan.trace;
        let known = trace.targets.iter().zip(0..).map(|(target, number)| {
            let url = format!("http://{}{}", trace.site(target), target.url);
            // What could not be sent is not asked for: any number will do.
            Described::new("GET", &url)
                .map_or(TargetId(number), |request| rules.judge(&request).target)
        });
        let script = Script::persistent(trace, &plan.sessions).known_by(known);
        let node = model::Config {
            cpu: CpuCost::ASPLOS,
            cache_bytes: plan.working_set_bytes / u64::from(SERVERS),
            ..origin::Config::default().model
        };
        Ok(Self { script, node, scale, seed, plan: Arc::new(plan) })
    }

    /// Sessions at a time, here and on paper: LARD's S.
    pub fn sessions() -> usize {
        demo::sessions(usize::from(SERVERS))
    }

    /// What it is, in a sentence.
    pub fn about(&self) -> String {
        format!(
            "closed loop: {} requests of three-sites in {} sessions, {} at a time, {SERVERS} \
             servers with {:.1} MB of cache each, time scale {}",
            self.plan.trace.requests.len(),
            self.plan.sessions.len(),
            Self::sessions(),
            self.node.cache_bytes as f64 / 1e6,
            self.scale,
        )
    }

    /// What client, switch and sockets take for a request, in real time: the same trace, asked of
    /// servers that take no time. Twice, and the lesser counts: others only ever add to it.
    ///
    /// # Errors
    /// When the live side cannot be started, or requests fail.
    pub fn floor(&self, lab: &Lab) -> Result<Option<Duration>> {
        let entry = policy::entry("round-robin").expect("round robin is one of POLICIES");
        let mut most_s = 1.0_f64;
        for _ in 0..2 {
            let Some(run) = self.play(entry, 0.0, lab)? else { return Ok(None) };
            most_s = most_s.max(run.found.requests_s);
        }
        Ok(Some(Duration::from_secs_f64(1.0 / most_s)))
    }

    /// Compares live runs under a policy with the simulated one, to which `floor` is what the
    /// front-end takes for each request.
    ///
    /// # Errors
    /// When the live side cannot be started, or requests fail.
    pub fn compare(
        &self,
        policy: &'static Entry,
        runs: Runs,
        floor: Duration,
        lab: &Lab,
    ) -> Result<Option<Vec<Comparison>>> {
        let papers = AROUND.map(|part| self.paper(policy, floor.mul_f64(part)));
        let simulated = Found {
            hit_ratio: mean(papers.iter().map(|found| found.hit_ratio)),
            requests_s: mean(papers.iter().map(|found| found.requests_s)),
        };
        let experiment = format!("trace, {}", policy.name);
        let compared = |pairs: &Pairs<Found>| {
            vec![
                pairs.compare(&experiment, Kind::Hits, |found| found.hit_ratio),
                pairs.compare(&experiment, Kind::Throughput, |found| found.requests_s),
            ]
        };
        let play = |_| {
            settled(runs, lab)?;
            self.play(policy, self.scale, lab)
        };
        until_sure(runs, play, |_| simulated, compared)
    }

    /// One live run. A scale of 0 is servers that take no time; rates are in real time then.
    fn play(&self, policy: &'static Entry, scale: f64, lab: &Lab) -> Result<Option<Run<Found>>> {
        let bed = Bed::start(policy, PREFIX, "", self.servers(scale))?;
        let mut options = Options::new(bed.address);
        options.sessions = Self::sessions();
        options.verify_size = true;
        options.timeout = Duration::from_secs(120);
        let before = Reading::now(&[])?;
        let replay = load::replay(Arc::clone(&self.plan), options, |_| {}, lab.stopped());
        let report = lab.block_on(replay);
        let others = Reading::now(&[])?.since(&before).others;
        if report.stopped {
            return Ok(None);
        }
        let example = report.examples.first();
        ensure!(
            report.failures() == 0,
            "{} of {} requests failed, such as {}",
            report.failures(),
            report.settled(),
            example.map_or(String::new(), |one| format!("{} ({})", one.target, one.detail)),
        );
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let found = Found {
            hit_ratio: report.hit_ratio().unwrap_or(f64::NAN),
            requests_s: report.throughput_rps() * scale,
        };
        Ok(Some(Run { found, others }))
    }

    fn servers(&self, scale: f64) -> Vec<origin::Config> {
        let sizes = Sizes { catalogue: demo::catalogue(&self.plan), ..Sizes::default() };
        let server = |number: u16| origin::Config {
            name: format!("{PREFIX}{number}"),
            model: self.node.clone(),
            time_scale: scale,
            sizes: sizes.clone(),
            prefixes: Vec::new(),
            idle_timeout: Duration::from_secs(600),
            drain_timeout: Duration::from_millis(100),
            ..origin::Config::default()
        };
        (0..SERVERS).map(server).collect()
    }

    /// The same on paper: the same nodes and names, a relay that decides each request, and what it
    /// takes for one.
    fn paper(&self, policy: &'static Entry, floor: Duration) -> Found {
        let chooser = Chooser::named(policy.name).expect("it is a row of POLICIES");
        let each = floor.div_f64(self.scale);
        let admission = Admission::new(Some(25), Some(65), Default::default());
        let setup = Setup {
            node: self.node.clone(),
            mechanism: Mechanism::Relaying,
            front: FrontCost { connection: each, request: each, reply_512: Duration::ZERO },
            arrivals: Arrivals::Closed(Limit::Admission(admission)),
            tail: true,
            seed: self.seed,
            ..Setup::asplos(SERVERS, chooser)
        };
        let report = sim::cluster::run(&setup, &self.script);
        Found { hit_ratio: 1.0 - report.miss_ratio, requests_s: report.throughput_rps }
    }
}
