//! What all workers share: the server table and rules of the moment, the books, the counters.

use crate::ask::Ask;
use crate::counters::{Counters, EntranceCounters, PerWorker, RouteCounters, ServerCounters};
use crate::journal::Journal;
use crate::locals::Locals;
use crate::settings::Settings;
use crate::splice::Joiner;
use crate::told::Told;
use arc_swap::ArcSwap;
use policy::{Desk, Instant, ServerId};
use rules::Rules;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The state of a running switch that every worker and the slow side see.
pub struct Shared {
    /// Settings, rules and servers: replaced as a whole by a reload.
    pub live: ArcSwap<Live>,
    /// The one policy and its books.
    pub ask: Ask,
    /// What workers count.
    pub counters: PerWorker<Counters>,
    /// Recent decisions and the access log.
    pub journal: Journal,
    /// The clock that the policy sees.
    pub clock: Clock,
    /// Client connections open, over all workers.
    pub open: AtomicUsize,
    /// Set once: finish what there is, accept nothing new.
    pub stopping: AtomicBool,
    /// Connections that could have been handed over, on their way to the relay.
    pub(crate) locals: Locals,
    /// Who was told which server each request is for; `None`: that is for the policy to find out.
    pub told: Option<Box<dyn Told>>,
    /// Who joins sockets in the kernel; set once, if any listener wants it.
    pub joiner: OnceLock<Box<dyn Joiner>>,
    pub(crate) budget: Budget,
}

/// Settings, rules and servers as they are at one moment.
pub struct Live {
    /// The version of [`crate::ask::Books`] it belongs to.
    pub version: u64,
    /// Settings of the data plane.
    pub settings: Settings,
    /// What a request is.
    pub rules: Arc<Rules>,
    /// Name of the policy, for the log.
    pub policy: Box<str>,
    /// Counters by listener and rule: for each entrance one for each rule, and one for requests
    /// that no rule matched. `Live::route` finds them.
    pub routes: Vec<Arc<Route>>,
    /// Servers by slot.
    pub backends: Vec<Option<Arc<Backend>>>,
}

/// A server, as the data plane sees it.
pub struct Backend {
    /// Its slot in the books.
    pub id: ServerId,
    /// Its stable name.
    pub name: Box<str>,
    /// Where it listens.
    pub address: SocketAddr,
    /// What workers count of it.
    pub counters: PerWorker<ServerCounters>,
    /// Who is told how it behaves; set once, by whoever looks after servers.
    pub observer: OnceLock<Observer>,
}

/// Told of each attempt whether the server did its part: the passive health check. Called on the
/// data path: it may count, no more.
pub type Observer = Box<dyn Fn(bool) + Send + Sync>;

/// Requests that came in by one listener and met one rule.
pub struct Route {
    /// The listener's name.
    pub listener: Box<str>,
    /// The rule's name; `None`: no rule matched.
    pub rule: Option<Box<str>>,
    /// What workers count of them.
    pub counters: PerWorker<RouteCounters>,
}

/// A listener, for as long as connections that came in by it may exist.
pub struct Entrance {
    /// Its number, counted over all listeners there ever were.
    pub index: usize,
    /// Its name.
    pub name: Box<str>,
    /// What workers count of it.
    pub counters: PerWorker<EntranceCounters>,
    /// Whether its connections are handed to servers, and only what cannot be comes here.
    pub one_way: AtomicBool,
    /// Whether its connections are joined with their servers' by [`Shared::joiner`].
    pub spliced: AtomicBool,
}

impl Entrance {
    /// A listener that relays, counted by `workers` workers.
    pub fn new(index: usize, name: &str, workers: usize) -> Self {
        let (one_way, spliced) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { index, name: name.into(), counters: PerWorker::new(workers), one_way, spliced }
    }
}

impl Shared {
    /// The state of a switch that begins with `live` and `desk`.
    pub fn new(live: Live, desk: Desk, workers: usize) -> Self {
        Self {
            live: ArcSwap::from_pointee(live),
            ask: Ask::new(desk),
            counters: PerWorker::new(workers),
            journal: Journal::new(workers),
            clock: Clock::start(),
            open: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            locals: Locals::default(),
            told: None,
            joiner: OnceLock::new(),
            budget: Budget::full(),
        }
    }
}

impl Live {
    /// Where [`Live::routes`] counts an entrance and a rule. An entrance made after this was put
    /// together counts with the first.
    pub(crate) fn route(&self, entrance: usize, rule: Option<u16>) -> usize {
        let rules = self.rules.specs().len();
        let row = rule.map_or(rules, usize::from).min(rules);
        let at = entrance * (rules + 1) + row;
        if at < self.routes.len() { at } else { row }
    }

    /// The server in a slot.
    pub(crate) fn backend(&self, id: ServerId) -> Option<&Arc<Backend>> {
        self.backends.get(id.index())?.as_ref()
    }
}

impl Backend {
    /// A server in a slot, for `workers` workers.
    pub fn new(id: ServerId, name: &str, address: SocketAddr, workers: usize) -> Self {
        let (counters, observer) = (PerWorker::new(workers), OnceLock::new());
        Self { id, name: name.into(), address, counters, observer }
    }

    pub(crate) fn observed(&self, ok: bool) {
        if let Some(observer) = self.observer.get() {
            observer(ok);
        }
    }
}

/// Nanoseconds since the switch started.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// Starts it.
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Now. 580 years fit.
    pub fn now(&self) -> Instant {
        Instant(self.0.elapsed().as_nanos() as u64)
    }
}

/// The retry budget: a bucket that requests fill by percents and retries empty by hundreds.
pub(crate) struct Budget(AtomicI64);

/// Retries that may come at once after a quiet time, whatever the percentage.
const BUDGET_RETRIES_MAX: i64 = 100;

impl Budget {
    /// A request came: the bucket gains `percent` hundredths of a retry.
    pub(crate) fn earn(&self, percent: u32) {
        // Load before adding: a full bucket, the usual case, costs no write to a shared line.
        if self.0.load(Ordering::Relaxed) < BUDGET_RETRIES_MAX * 100 {
            self.0.fetch_add(i64::from(percent), Ordering::Relaxed);
        }
    }

    /// Takes a retry out, if there is one.
    pub(crate) fn spend(&self) -> bool {
        if self.0.fetch_sub(100, Ordering::Relaxed) >= 100 {
            return true;
        }
        self.0.fetch_add(100, Ordering::Relaxed);
        false
    }

    /// A full bucket.
    pub(crate) fn full() -> Self {
        Self(AtomicI64::new(BUDGET_RETRIES_MAX * 100))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_stop_when_the_budget_is_spent_and_come_back_with_requests() {
        let budget = Budget::full();
        let granted = (0..1000).filter(|_| budget.spend()).count();
        assert_eq!(granted, 100);
        (0..10).for_each(|_| budget.earn(20));
        assert_eq!((0..1000).filter(|_| budget.spend()).count(), 2);
    }
}
