//! From what a log says of a request to what the request asks of a server.
//!
//! Without times in the log, the CPU takes what the cost set says for a request on a connection
//! of its own, and a miss what the disk's formula says, or what the user says. With times, the log
//! itself is believed: see [`Times::Logged`].

use super::{Demand, Histogram};
use core::time::Duration;
use model::{CpuCost, DiskCost, Services};
use policy::{Class, Instant};

/// What a log says of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logged {
    /// When it came, since the beginning of the log.
    pub at: Instant,
    /// What it names.
    pub target: u32,
    /// Who asked.
    pub client: u32,
    /// Its class, by the rules.
    pub class: Class,
    /// What kind of reply it had.
    pub reply: Reply,
    /// Bytes of the target.
    pub size_bytes: u64,
    /// Bytes of the reply.
    pub reply_bytes: u64,
    /// How long it took, where the log says.
    pub took: Option<Duration>,
    /// Whether that is till the client had everything, rather than what the server took: then the
    /// client's network is in it, and nobody knows how much of it.
    pub till_sent: bool,
    /// Whether the logged server's cache had it, where the log says.
    pub hit: Option<bool>,
}

/// What kind of reply a request had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The target, a part of it, or leave to use the client's copy: a cache may answer.
    Target,
    /// Anything else: it takes the CPU, and what its class asks for.
    Other,
}

/// Where the times of requests come from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Times {
    /// From the costs: the log has none, or they are not to be believed.
    #[default]
    Costs,
    /// From the log. A reply that a cache may give takes the CPU for what a hit typically takes
    /// there, or for its own time if that is shorter; the rest of its own time is what a miss
    /// takes of the disk, which stands for whatever makes misses slow. If the log says that it was
    /// a hit, its own time is the CPU's, and a miss takes what misses typically take beyond that.
    /// Any other reply takes the CPU for its own time. Logged times have the queues of the logged
    /// servers in them, so what they give is an estimate from above.
    ///
    /// Where only the time till the client had everything is known, nothing takes the CPU for
    /// longer than it would by the costs, and the rest is a wait that keeps no server from other
    /// work: a slow client would else be a busy server. As much of it as a hit typically takes is
    /// waited for by all, what is beyond by misses.
    ///
    /// What the user says goes before: the time of hits, of misses, and of whole classes.
    Logged {
        /// What a hit typically takes: the median of the log's hits, or, if it does not tell hits
        /// from misses, the time that one in ten replies stayed below.
        hit: Duration,
        /// What a miss typically takes: the median of the log's misses, or of all replies.
        miss: Duration,
    },
}

/// The costs of every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// What a request takes of the CPU.
    pub cpu: CpuCost,
    /// What a miss takes of the disk.
    pub disk: DiskCost,
    /// What every request takes of the CPU instead.
    pub hit: Option<Duration>,
    /// What every miss takes of the disk instead.
    pub miss: Option<Duration>,
    /// What classes ask for beyond.
    pub services: Services,
    /// Classes of which the user said what they cost: the log's own times do not count for them.
    pub stated: Vec<Class>,
    /// Whether the log's own times replace all that.
    pub times: Times,
}

impl Costs {
    /// What a request asks of a server.
    pub fn demand(&self, logged: &Logged) -> Demand {
        let service = self.services.of(logged.class);
        let is_target = logged.reply == Reply::Target;
        let needs = match (self.times, logged.took) {
            (Times::Logged { hit, miss }, _) if self.stated.contains(&logged.class) => {
                let own = self.hit.unwrap_or(hit);
                self.stated(logged, own, self.miss.unwrap_or(miss.saturating_sub(hit)))
            }
            (Times::Logged { hit, miss }, took) => {
                let typical = if is_target && logged.hit != Some(true) { miss } else { hit };
                self.timed(logged, took.unwrap_or(typical), (hit, miss))
            }
            (Times::Costs, _) => {
                let own = self.hit.unwrap_or_else(|| self.cpu.exchange(logged.reply_bytes));
                let read = self.miss.unwrap_or_else(|| self.disk.read(logged.size_bytes));
                self.stated(logged, own, read)
            }
        };
        Demand {
            at: logged.at,
            target: logged.target,
            client: logged.client,
            size_bytes: logged.size_bytes,
            reply_bytes: logged.reply_bytes,
            cpu_ns: nanoseconds(needs.cpu),
            disk_ns: nanoseconds(needs.disk),
            wait_ns: nanoseconds(needs.wait),
            miss_wait_ns: nanoseconds(needs.miss_wait),
            cacheable: if is_target { service.cacheable as f32 } else { 0.0 },
            judged: logged.hit.is_some(),
            class: logged.class,
        }
    }

    /// The needs of a request by its class, for which a file takes `own` of the CPU and `read` of
    /// the disk.
    fn stated(&self, logged: &Logged, own: Duration, read: Duration) -> Needs {
        let service = self.services.of(logged.class);
        let reads = logged.reply == Reply::Target && service.reads;
        let read = if reads { read } else { Duration::ZERO };
        Needs {
            cpu: own.saturating_add(service.compute(logged.reply_bytes)),
            disk: read.saturating_add(service.disk),
            ..Needs::default()
        }
    }

    /// The needs of a request that took so long in the log, of whose hits and misses it is known
    /// what they typically take.
    fn timed(&self, logged: &Logged, took: Duration, (hit, miss): (Duration, Duration)) -> Needs {
        let is_target = logged.reply == Reply::Target;
        let was_hit = is_target && logged.hit == Some(true);
        let whole = !logged.till_sent && (was_hit || !is_target);
        let own = if whole { took } else { took.min(hit) };
        let mut needs = Needs { cpu: self.hit.unwrap_or(own), ..Needs::default() };
        if logged.till_sent {
            let least = own.min(self.cpu.exchange(logged.reply_bytes));
            needs.cpu = self.hit.unwrap_or(least);
            needs.wait = own.saturating_sub(needs.cpu);
        }
        let rest = took.saturating_sub(own.max(needs.cpu));
        if was_hit {
            needs.disk = miss.saturating_sub(if whole { took } else { hit });
            needs.wait = needs.wait.saturating_add(rest);
        } else if is_target {
            needs.disk = rest;
        } else {
            needs.wait = needs.wait.saturating_add(rest);
        }
        if logged.till_sent {
            (needs.miss_wait, needs.disk) = (needs.disk, Duration::ZERO);
        }
        if let (Some(miss), true) = (self.miss, is_target) {
            (needs.miss_wait, needs.disk) = (Duration::ZERO, miss);
        }
        needs
    }
}

/// What a request needs, see [`Demand`].
#[derive(Default)]
struct Needs {
    cpu: Duration,
    disk: Duration,
    wait: Duration,
    miss_wait: Duration,
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Share of replies that must have a time for the log's times to be used.
const TIMED_MIN: f64 = 0.9;

/// Hits, and misses, that must have been logged for their median to be typical.
const TYPICAL_MIN: u64 = 50;

/// What a time of zero means: logs in whole milliseconds write it for anything less than one.
const ZERO_MEANS: Duration = Duration::from_micros(500);

/// Learns from the beginning of a log what its hits and misses typically take.
#[derive(Clone, Debug, Default)]
pub struct Teacher {
    replies: u64,
    all: Histogram,
    hits: Histogram,
    misses: Histogram,
}

impl Teacher {
    /// Takes note of a request.
    pub fn note(&mut self, logged: &Logged) {
        if logged.reply != Reply::Target {
            return;
        }
        self.replies += 1;
        let Some(took) = logged.took else { return };
        let took_ns = nanoseconds(if took.is_zero() { ZERO_MEANS } else { took });
        self.all.count(took_ns);
        match logged.hit {
            Some(true) => self.hits.count(took_ns),
            Some(false) => self.misses.count(took_ns),
            None => {}
        }
    }

    /// What it has learnt; [`Times::Costs`] from a log with too few times.
    pub fn times(&self) -> Times {
        let timed = self.all.total() as f64;
        if timed == 0.0 || timed < TIMED_MIN * self.replies as f64 {
            return Times::Costs;
        }
        let known = |of: &Histogram| of.total() >= TYPICAL_MIN;
        let hits = if known(&self.hits) { self.hits.quantile(0.5) } else { self.all.quantile(0.1) };
        let misses = if known(&self.misses) { &self.misses } else { &self.all };
        Times::Logged { hit: hits, miss: misses.quantile(0.5).max(hits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Service;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn costs(times: Times) -> Costs {
        let (cpu, disk) = (CpuCost::ASPLOS, DiskCost::ASPLOS);
        Costs {
            cpu,
            disk,
            hit: None,
            miss: None,
            services: Services::default(),
            stated: Vec::new(),
            times,
        }
    }

    fn logged(took: Option<Duration>, hit: Option<bool>) -> Logged {
        Logged {
            at: Instant::ZERO,
            target: 1,
            client: 1,
            class: Class::STATIC,
            reply: Reply::Target,
            size_bytes: 8 * 1024,
            reply_bytes: 8 * 1024,
            took,
            till_sent: false,
            hit,
        }
    }

    fn ms(costs: &Costs, logged: &Logged) -> (f64, f64) {
        let demand = costs.demand(logged);
        (demand.cpu_ns as f64 / 1e6, demand.disk_ns as f64 / 1e6)
    }

    #[test]
    fn without_times_the_papers_and_the_users_figures_count() {
        let mut costs = costs(Times::Costs);
        let static_file = logged(Some(MS(7)), None);
        assert_eq!(ms(&costs, &static_file), (0.93, 28.82), "an 8 KB document of LARD's paper");
        let query = Logged { class: Class::DISK, ..static_file };
        assert_eq!(ms(&costs, &query), (1.93, 3.0 * 13.63), "three accesses, no file");
        assert_eq!(costs.demand(&query).cacheable, 0.0);
        let post = Logged { reply: Reply::Other, ..static_file };
        assert_eq!((ms(&costs, &post).1, costs.demand(&post).cacheable), (0.0, 0.0));
        costs.hit = Some(MS(1));
        costs.miss = Some(MS(20));
        assert_eq!(ms(&costs, &static_file), (1.0, 20.0));
    }

    #[test]
    fn with_times_the_log_is_believed() {
        let costs = costs(Times::Logged { hit: MS(2), miss: MS(30) });
        for (took, hit, wanted, why) in [
            (Some(MS(50)), None, (2.0, 48.0), "its own time, less what a hit takes"),
            (Some(MS(1)), None, (1.0, 0.0), "faster than a typical hit"),
            (Some(MS(50)), Some(false), (2.0, 48.0), "a miss there"),
            (Some(MS(5)), Some(true), (5.0, 25.0), "a hit there, a typical miss here"),
            (None, None, (2.0, 28.0), "typical of both"),
        ] {
            assert_eq!(ms(&costs, &logged(took, hit)), wanted, "{why}");
        }
        let post = Logged { reply: Reply::Other, ..logged(Some(MS(50)), None) };
        assert_eq!(ms(&costs, &post), (50.0, 0.0));
    }

    #[test]
    fn what_the_user_says_goes_before_the_log() {
        let mut costs = costs(Times::Logged { hit: MS(2), miss: MS(30) });
        (costs.hit, costs.miss) = (Some(MS(7)), Some(MS(70)));
        for hit in [None, Some(true), Some(false)] {
            for took in [None, Some(MS(1)), Some(MS(50))] {
                assert_eq!(ms(&costs, &logged(took, hit)), (7.0, 70.0), "{took:?}, {hit:?}");
            }
        }
        costs.miss = None;
        assert_eq!(ms(&costs, &logged(Some(MS(50)), None)), (7.0, 43.0), "together its own time");
        let post = Logged { reply: Reply::Other, ..logged(Some(MS(50)), None) };
        assert_eq!(ms(&costs, &post), (7.0, 0.0), "every request takes that of the CPU");
        costs.hit = None;
        let query = Logged { class: Class::CPU, ..logged(Some(MS(50)), None) };
        assert_eq!(ms(&costs, &query), (2.0, 48.0), "nothing is said of it");
        costs.stated = vec![Class::CPU];
        let service = Service { cpu: MS(20), disk: MS(4), reads: false, ..Service::STATIC };
        costs.services.set(Class::CPU, service);
        assert_eq!(ms(&costs, &query), (22.0, 4.0), "beyond what a hit takes");
    }

    #[test]
    fn a_time_till_the_client_had_everything_keeps_no_server_busy() {
        let mut costs = costs(Times::Logged { hit: MS(2), miss: MS(30) });
        let slow = |hit| Logged { till_sent: true, ..logged(Some(MS(900)), hit) };
        let needs = |costs: &Costs, logged: &Logged| {
            let found = costs.demand(logged);
            let all = [found.cpu_ns, found.disk_ns, found.wait_ns, found.miss_wait_ns];
            all.map(|ns| ns as f64 / 1e6)
        };
        assert_eq!(needs(&costs, &slow(None)), [0.93, 0.0, 1.07, 898.0]);
        assert_eq!(
            needs(&costs, &slow(Some(true))),
            [0.93, 0.0, 899.07, 28.0],
            "the client's wait"
        );
        let post = Logged { reply: Reply::Other, ..slow(None) };
        assert_eq!(needs(&costs, &post), [0.93, 0.0, 899.07, 0.0]);
        costs.miss = Some(MS(20));
        assert_eq!(needs(&costs, &slow(None)), [0.93, 20.0, 1.07, 0.0], "known to be the disk's");
    }

    #[test]
    fn what_is_typical_is_learnt_from_enough_replies_or_not_at_all() {
        let mut teacher = Teacher::default();
        assert_eq!(teacher.times(), Times::Costs);
        for number in 0..100 {
            teacher.note(&logged(Some(MS(number + 1)), None));
        }
        let Times::Logged { hit, miss } = teacher.times() else { panic!("every reply has a time") };
        assert!((9..=11).contains(&hit.as_millis()), "one in ten: {hit:?}");
        assert!((49..=51).contains(&miss.as_millis()), "the median: {miss:?}");
        for _ in 0..60 {
            teacher.note(&logged(Some(MS(3)), Some(true)));
            teacher.note(&logged(Some(MS(80)), Some(false)));
        }
        let Times::Logged { hit, miss } = teacher.times() else { panic!("every reply has a time") };
        assert!((2_900..=3_100).contains(&hit.as_micros()), "the median of hits: {hit:?}");
        assert!((79..=81).contains(&miss.as_millis()), "the median of misses: {miss:?}");
        for _ in 0..100 {
            teacher.note(&logged(None, None));
        }
        assert_eq!(teacher.times(), Times::Costs, "a third of the replies has no time");
    }
}
