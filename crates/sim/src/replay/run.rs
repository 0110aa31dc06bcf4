//! One run: the desk of the switch, asked for each request of the log, over servers on paper.

mod steps;

use super::arrivals::Arrivals;
use super::copies::Copies;
use super::holders::Holders;
use super::server::{Next, Server};
use super::slices::Slices;
use super::{Demand, Histogram, Outcome, Pace, ServerOutcome, Setup};
use crate::Clerk;
use core::time::Duration;
use model::{Calendar, Slab, Source};
use policy::{
    Admission, AdmissionForm, Cluster, Dice, Instant, Load, Request, ServerId, TargetId, Ticket,
    Why,
};

/// Requests that are served at once, at most, in an open loop: beyond, a front-end would long have
/// begun to turn clients away, and so does a run.
pub const OPEN_MAX: usize = 1 << 15;

/// How often servers report their utilisation: what CAP's servers were asked for was some seconds
/// old, what Prequal's probes say at most one.
const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// Separates the dice of arrivals and of replies from the policy's own.
const ARRIVALS_SALT: u64 = 0x6172_7269_7661_6c73;
const REPLIES_SALT: u64 = 0x7265_706c_6965_7321;

/// Policies that read how many requests a server has, or how many of them at its disk, from its
/// report. On paper nothing prevents these from being true when they are read, while utilisation is
/// a mean over a period by its nature. A test shows that the list is complete.
const READ_QUEUES: [&str; 3] = ["wrr-num", "lard-ext", "prequal"];

/// A request that is being served.
#[derive(Debug)]
struct Open {
    ticket: Ticket,
    /// Whether it uses the disk.
    disk: bool,
    /// Whether it reads its target for the cache.
    reads: bool,
    /// How long it will use the disk, as long as it has not entered it.
    disk_ns: u64,
    /// What it waits for after that, and after the read that it does or has joined.
    miss_wait_ns: u64,
    wait_ns: u64,
}

/// A cluster that is being played a log.
pub struct Run {
    clerk: Clerk,
    servers: Vec<Server>,
    pace: Pace,
    /// Whether entering the disk is an event.
    stepped: bool,
    /// Whether servers report their queues whenever they change.
    timely: bool,
    /// Requests served at once.
    open_max: usize,
    open: Slab<Open>,
    /// When requests enter the disk, or end.
    ends: Calendar<u32>,
    arrivals: Arrivals,
    times: Vec<Instant>,
    dice: Dice,
    holders: Holders,
    copies: Copies,
    evicted: Vec<TargetId>,
    now: Instant,
    first: Option<Instant>,
    report_due: Instant,
    latency: Histogram,
    slices: Slices,
    totals: Totals,
}

/// What is counted along the way.
#[derive(Clone, Debug, Default)]
struct Totals {
    requests: u64,
    refused: u64,
    cacheable: u64,
    judged: u64,
    judged_hits: u64,
    coalesced: u64,
    misses: u64,
    reply_bytes: u64,
    hit_bytes: u64,
    whys: Vec<u64>,
}

impl Run {
    /// The cluster of `setup`, caches cold, before the first request.
    pub fn new(setup: &Setup) -> Self {
        let timely = READ_QUEUES.contains(&setup.policy.name);
        // A queue at the disk is exact only where entering it is an event.
        Self::with(setup, timely || setup.cores > 1, timely)
    }

    fn with(setup: &Setup, stepped: bool, timely: bool) -> Self {
        let policy = (setup.policy.build)(&setup.params);
        let names = (1..=setup.servers.max(1)).map(|number| format!("s{number}"));
        let clerk = Clerk::new(policy, names, setup.seed);
        let servers = vec![Server::new(setup, stepped); clerk.cluster().usable().len()];
        let speed = if let Pace::Open { speed } = setup.pace { speed } else { 1.0 };
        Self {
            open_max: open_max(setup.pace, clerk.cluster()),
            clerk,
            servers,
            pace: setup.pace,
            stepped,
            timely,
            open: Slab::default(),
            ends: Calendar::default(),
            arrivals: Arrivals::new(setup.seed ^ ARRIVALS_SALT, setup.grain, speed),
            times: Vec::new(),
            dice: Dice::new(setup.seed ^ REPLIES_SALT),
            holders: Holders::new(),
            copies: Copies::default(),
            evicted: Vec::new(),
            now: Instant::ZERO,
            first: None,
            report_due: Instant::ZERO,
            latency: Histogram::default(),
            slices: Slices::new(),
            totals: Totals { whys: vec![0; Why::ALL.len()], ..Totals::default() },
        }
    }

    /// Plays the next part of the log. Requests of one stamp belong into one part, as far as that
    /// is possible; the cut between parts changes nothing else.
    pub fn feed(&mut self, demands: &[Demand]) {
        if let Pace::Closed { .. } = self.pace {
            for demand in demands {
                while self.open.len() >= self.open_max {
                    self.end_next(Instant::NEVER);
                }
                self.place(demand);
            }
            return;
        }
        let mut times = std::mem::take(&mut self.times);
        self.arrivals.fill(demands, &mut times);
        for (demand, &at) in demands.iter().zip(&times) {
            while self.end_next(at) {}
            self.now = at;
            if self.open.len() >= self.open_max {
                self.totals.refused += 1;
            } else {
                self.place(demand);
            }
        }
        self.times = times;
    }

    /// Ends all that is still being served. `hot` are targets whose homes are wanted.
    ///
    /// # Panics
    /// When a request was begun and not ended: that would be a mistake in here.
    pub fn finish(mut self, hot: &[u32]) -> Outcome {
        let arrived_last = self.now;
        while self.end_next(Instant::NEVER) {}
        self.end_slice(arrived_last);
        let homes = hot.iter().map(|target| self.homes(*target)).collect();
        let first = self.first.unwrap_or_default();
        let end = self.now;
        let books = self.clerk.cluster();
        assert_eq!(books.total(), Load::ZERO, "every request that was begun has ended");
        let server = |(at, server): (usize, &Server)| ServerOutcome {
            requests: server.requests,
            hits: server.hits,
            cpu: server.cpu.given(),
            disk: server.disk.given(),
            load_mean: books
                .server(ServerId(at as u16))
                .map_or(0.0, |server| server.load_mean(first, end)),
            cached_bytes: server.cache.bytes(),
            cached_targets: server.cache.targets() as u64,
        };
        let servers: Vec<_> = self.servers.iter().enumerate().map(server).collect();
        Outcome {
            requests: self.totals.requests,
            refused: self.totals.refused,
            span: end.since(first),
            arrivals_span: arrived_last.since(first),
            cacheable: self.totals.cacheable,
            judged: self.totals.judged,
            judged_hits: self.totals.judged_hits,
            hits: servers.iter().map(|server| server.hits).sum(),
            coalesced: self.totals.coalesced,
            misses: self.totals.misses,
            reply_bytes: self.totals.reply_bytes,
            hit_bytes: self.totals.hit_bytes,
            latency: self.latency,
            servers,
            replicated: self.copies.replicated(),
            gauges: self.clerk.policy().gauges(),
            whys: self.totals.whys,
            homes,
            slices: self.slices.into_list(),
            closed: matches!(self.pace, Pace::Closed { .. }),
        }
    }

    /// About how much memory it holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let table = self.clerk.policy().gauges().targets * size_of::<[u64; 6]>();
        let caches: usize = self.servers.iter().map(Server::memory_bytes).sum();
        caches + table + self.copies.memory_bytes() + self.holders.memory_bytes()
    }

    /// Asks who serves, and lets that server serve.
    #[inline]
    fn place(&mut self, demand: &Demand) {
        let now = self.now;
        self.first.get_or_insert(now);
        if now >= self.report_due {
            self.report();
        }
        let request = Request {
            at: now,
            target: TargetId(demand.target.into()),
            class: demand.class,
            holder: self.holders.of(demand.client, demand.at),
        };
        let (answer, ticket) =
            self.clerk.assign(&request, &[]).expect("every server of a run is up");
        self.holders.note(demand.client, answer.server, demand.at);
        self.totals.whys[answer.why.index()] += 1;

        let cacheable = demand.cacheable >= 1.0
            || (demand.cacheable > 0.0 && self.dice.unit() < f64::from(demand.cacheable));
        // What is forwarded is served, and kept, by the server it is fetched from.
        let keep = answer.cache || answer.why == Why::Forward;
        let server = &mut self.servers[answer.server.index()];
        let (visit, kept) = server.serve(now, demand, (cacheable, keep), &mut self.evicted);
        if kept {
            self.copies.add(demand.target);
        }
        for gone in self.evicted.drain(..) {
            self.copies.remove(gone.0 as u32);
        }
        self.count(demand, visit.source, cacheable);
        let reads = visit.source == Source::Miss;
        let entering = matches!(visit.next, Next::Disk(_));
        let id = self.open.insert(Open {
            ticket,
            disk: visit.disk,
            reads,
            disk_ns: if entering { demand.disk_ns } else { 0 },
            miss_wait_ns: demand.miss_wait_ns,
            wait_ns: demand.wait_ns,
        });
        match visit.next {
            Next::Done(done) => {
                self.ends.enter(done, id);
                self.timed(answer.server, done.0 - now.0);
            }
            Next::Disk(computed) => self.ends.enter(computed, id),
            Next::Read(computed) => {
                self.servers[answer.server.index()].wait(request.target, id, computed);
            }
        }
        if self.timely {
            self.report_queues(answer.server);
        }
    }

    #[inline]
    fn count(&mut self, demand: &Demand, source: Source, cacheable: bool) {
        let (totals, hit) = (&mut self.totals, source == Source::Hit);
        totals.requests += 1;
        totals.cacheable += u64::from(cacheable);
        totals.judged += u64::from(demand.judged);
        totals.judged_hits += u64::from(demand.judged && hit);
        totals.coalesced += u64::from(source == Source::Coalesced);
        totals.misses += u64::from(source == Source::Miss);
        totals.reply_bytes = totals.reply_bytes.saturating_add(demand.reply_bytes);
        if hit {
            totals.hit_bytes = totals.hit_bytes.saturating_add(demand.reply_bytes);
        }
        if self.slices.count(hit) {
            self.end_slice(self.now);
        }
    }

    /// Counts how long a request takes, as soon as that is known.
    #[inline]
    fn timed(&mut self, server: ServerId, latency_ns: u64) {
        self.latency.count(latency_ns);
        self.slices.timed(latency_ns);
        self.servers[server.index()].timed(latency_ns);
    }

    /// Does what is next, if that is due by `limit`.
    #[inline]
    fn end_next(&mut self, limit: Instant) -> bool {
        let Some((at, id)) = self.ends.pop(limit) else { return false };
        self.now = at;
        if self.stepped && self.enter_disk(id) {
            return true;
        }
        let open = self.open.remove(id).expect("a request ends once");
        let (server, target) = (open.ticket.server, open.ticket.request.target);
        if open.disk {
            self.servers[server.index()].disk_done();
        }
        if open.reads {
            self.servers[server.index()].read_done(target);
        }
        let took = at.since(open.ticket.request.at);
        self.clerk.end(open.ticket, policy::Outcome { at, ok: true, first_byte: Some(took) });
        if self.timely {
            self.report_queues(server);
        }
        true
    }

    fn end_slice(&mut self, now: Instant) {
        let stations = self.servers.iter();
        let given = stations.flat_map(|server| [server.cpu.given(), server.disk.given()]);
        self.slices.end(now, given);
    }

    #[cold]
    fn report(&mut self) {
        let now = self.now;
        self.report_due = now.plus(REPORT_PERIOD);
        for (at, server) in self.servers.iter_mut().enumerate() {
            let id = ServerId(at as u16);
            let active = active(self.clerk.cluster().load(id));
            let report = server.report(now, active);
            self.clerk.report(id, report);
        }
    }

    /// The servers whose caches have the target.
    fn homes(&self, target: u32) -> Vec<u16> {
        let has = |server: &Server| server.cache.contains(TargetId(target.into()));
        let servers = self.servers.iter().enumerate();
        servers.filter(|(_, server)| has(server)).map(|(at, _)| at as u16).collect()
    }
}

/// A load in whole requests.
fn active(load: Load) -> u32 {
    u32::try_from(load.0 / Load::ONE.0).unwrap_or(u32::MAX)
}

/// How many requests are served at once, at most.
fn open_max(pace: Pace, cluster: &Cluster) -> usize {
    match pace {
        Pace::Open { .. } => OPEN_MAX,
        Pace::Closed { limit: Some(limit) } => limit.clamp(1, OPEN_MAX),
        Pace::Closed { limit: None } => {
            let papers = Admission::new(Some(25), Some(65), AdmissionForm::MinusOne);
            ((papers.limit(cluster).0 / Load::ONE.0) as usize).clamp(1, OPEN_MAX)
        }
    }
}
