//! The switch as the control side sees it: every counter, book and setting as plain data.

use super::changes::{differences, fingerprint};
use super::eras::{Eras, Sums};
use super::{explain, live_of, totals};
use crate::config::Config;
use crate::config::keys::WEIGHT_MAX;
use crate::config::ready::Level;
use crate::gather::Gather;
use crate::oneway::Oneway;
use control::view::{
    ConfigView, ConnectionsView, DecisionView, ExplainRequest, ExplainView, Histogram,
    LATENCY_BOUNDS_S, ListenerView, ReloadView, Replies, ServerView, Status, Totals,
};
use control::{Refusal, Switch};
use distributor::counters::{BOUNDS_US, Counter};
use distributor::journal::Record;
use distributor::{Backend, Entrance, PerWorker, Shared, say};
use policy::{Class, Cluster, Policy, State, Why};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

const _: () = assert!(BOUNDS_US.len() == LATENCY_BOUNDS_S.len());

/// Lines of events on their way to standard error.
const EVENT_LINES_MAX: usize = 256;

/// A view of a running switch.
pub struct Glass {
    shared: Arc<Shared>,
    /// This switch's own name.
    pub(super) pseudonym: String,
    state: Mutex<Ruling>,
    /// Who asks servers' agents.
    gather: Arc<Gather>,
    /// One-way delivery, once a listener wants it.
    oneway: OnceLock<Arc<Oneway>>,
}

/// What is in force, and how it came to be.
struct Ruling {
    config: Arc<Config>,
    /// Whether the policy object is older than the configuration.
    policy_due: bool,
    eras: Eras,
    view: ConfigView,
    listening: Vec<(String, SocketAddr)>,
    entrances: Vec<Arc<Entrance>>,
}

impl Glass {
    pub(super) fn new(
        shared: Arc<Shared>,
        config: Config,
        source: &str,
        pseudonym: String,
    ) -> Arc<Self> {
        let hash = fingerprint(&config);
        let view = ConfigView { source: source.to_owned(), hash, ..ConfigView::default() };
        let eras = Eras::new(config.policy.entry.name);
        let state = Mutex::new(Ruling {
            eras,
            config: Arc::new(config),
            policy_due: false,
            view,
            listening: Vec::new(),
            entrances: Vec::new(),
        });
        let gather = Gather::new(Arc::clone(&shared));
        Arc::new(Self { shared, pseudonym, state, gather, oneway: OnceLock::new() })
    }

    /// What the workers share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Who asks servers' agents.
    pub(super) fn gather(&self) -> &Arc<Gather> {
        &self.gather
    }

    /// One-way delivery, where a listener hands connections over.
    pub fn oneway(&self) -> Option<&Arc<Oneway>> {
        self.oneway.get()
    }

    /// From here on connections may be handed over. Once in a process.
    pub(super) fn set_oneway(&self, oneway: Arc<Oneway>) {
        let fresh = self.oneway.set(oneway).is_ok();
        assert!(fresh, "one-way delivery is opened only where there is none");
    }

    /// Tells whoever must know at once that servers have changed.
    fn servers_changed(&self) {
        if let Some(oneway) = self.oneway() {
            oneway.refresh();
        }
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.state().config)
    }

    pub(super) fn set_listening(
        &self,
        listening: &[(String, SocketAddr)],
        entrances: &[Arc<Entrance>],
    ) {
        let mut state = self.state();
        state.listening = listening.to_vec();
        state.entrances = entrances.to_vec();
    }

    /// Puts a configuration in force and says what is different.
    pub(super) fn set_config(&self, config: Config) -> Vec<String> {
        let mut state = self.state();
        let old = Arc::clone(&state.config);
        let changes = differences(&old, &config);
        state.policy_due = old.policy != config.policy;
        state.view.hash = fingerprint(&config);
        state.config = Arc::new(config);
        changes
    }

    /// Another policy object, if the configuration names another or other parameters.
    pub(super) fn policy_due(&self) -> Option<Box<dyn Policy>> {
        let mut state = self.state();
        core::mem::take(&mut state.policy_due).then(|| state.config.policy.build())
    }

    /// Notes that what [`Glass::policy_due`] gave decides from here on.
    pub(super) fn policy_changed(&self) {
        let mut state = self.state();
        let (policy, now) = (state.config.policy.entry.name, self.shared.clock.now());
        state.eras.change(policy, &self.decided(), now);
    }

    /// Decisions by reason since the process began.
    fn decided(&self) -> Sums {
        core::array::from_fn(|why| self.shared.counters.sum(|c| &c.decisions[why]))
    }

    /// Decisions by the policy that made them, and reason.
    pub(super) fn decisions_by_policy(&self) -> Vec<(&'static str, Why, u64)> {
        // The sums inside of the lock: they must not be older than the present policy.
        let state = self.state();
        state.eras.decisions(&self.decided())
    }

    /// Where the lines of events go: standard error, if the configuration in force wants them. By a
    /// thread of their own: whoever reads them may be slow, and events come from under locks.
    pub(super) fn event_log(self: &Arc<Self>) -> control::EventLog {
        let glass = Arc::clone(self);
        let (sender, lines) = std::sync::mpsc::sync_channel::<String>(EVENT_LINES_MAX);
        let writer = move || lines.iter().for_each(say);
        let started = std::thread::Builder::new().name("baton-events".to_owned()).spawn(writer);
        Box::new(move |line| {
            if started.is_ok() && glass.config().log.level >= Level::Info {
                // A reader that is that far behind has lost interest; /v1/events keeps them.
                let _dropped = sender.try_send(line.to_owned());
            }
        })
    }

    /// Says when the system allows fewer connections than the configuration.
    pub(super) fn say_if_capped(&self) {
        let (wanted, config) = (self.config().limits.connections, self.config());
        let allowed = live_of(self).settings.connections_max;
        if allowed < wanted && config.log.level >= Level::Warn {
            say(format_args!(
                "at most {allowed} connections at once, not {wanted}: the system lets this \
                 process open no more files (ulimit -n, LimitNOFILE=)"
            ));
        }
    }

    pub(super) fn reloaded(&self, ok: bool, message: &str) {
        let mut state = self.state();
        let count = if ok { &mut state.view.reloads_ok } else { &mut state.view.reloads_failed };
        *count += 1;
        let at_unix_ms = self.unix_ms(self.shared.clock.now());
        let message = message.to_owned();
        state.view.reload_last = Some(ReloadView { at_unix_ms, ok, message });
    }

    fn state(&self) -> MutexGuard<'_, Ruling> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unix_ms(&self, at: policy::Instant) -> u64 {
        self.shared.journal.started_unix_ms() + at.0 / 1_000_000
    }

    fn server(&self, backend: &Backend) -> Option<ServerView> {
        let books = self.shared.ask.books();
        let server = books.desk().cluster().server(backend.id)?;
        let config = self.config();
        let of_config = config.servers.iter().find(|server| *server.name == *backend.name);
        let live = live_of(self);
        let classes = live.rules.classes();
        let c = &backend.counters;
        let handed_over = self.oneway().map_or(0, |oneway| oneway.handed_over(backend.id));
        let by_class = (0..Class::COUNT_MAX).filter_map(|class| {
            let count = c.sum(|worker| &worker.classes[class]);
            (count > 0).then(|| (classes.name(Class(class as u8)).to_owned(), count))
        });
        Some(ServerView {
            id: backend.id.0,
            name: backend.name.to_string(),
            address: backend.address.to_string(),
            weight: server.spec.weight,
            warmth: server.warmth,
            capacity: server.spec.capacity,
            in_flight_max: of_config.and_then(|server| server.max_inflight),
            load: server.load.as_f64(),
            queued: books.waiting(backend.id) as u64,
            begun: server.begun,
            handed_over,
            ok: c.sum(|w| &w.answered) - c.sum(|w| &w.errors).min(c.sum(|w| &w.answered)),
            failed: c.sum(|w| &w.failed) + c.sum(|w| &w.errors),
            expected_hits: c.sum(|w| &w.expected_hits),
            expected_misses: c.sum(|w| &w.expected_misses),
            bytes_to: c.sum(|w| &w.bytes_to),
            bytes_from: c.sum(|w| &w.bytes_from),
            classes: by_class.collect(),
            first_byte: histogram(c, |w| &w.first_byte),
            duration: histogram(c, |w| &w.duration),
        })
    }

    fn decision(&self, record: &Record) -> DecisionView {
        let live = live_of(self);
        let tally = &record.tally;
        let policy = self.state().eras.policy_at(tally.at).unwrap_or("-").to_owned();
        let ms = |us: u64| us as f64 / 1000.0;
        DecisionView {
            at_unix_ms: self.unix_ms(tally.at),
            method: record.method.text().into_owned(),
            host: record.host.text().into_owned(),
            path: record.path.text().into_owned(),
            policy,
            class: live.rules.classes().name(tally.class).to_owned(),
            target_hash: format!("{:016x}", tally.target.0),
            server: tally.why.map(|_| record.server.text().into_owned()),
            reason: tally.why.map_or("-", Why::name).to_owned(),
            candidates: tally.choice.candidates,
            load_chosen: tally.choice.load_chosen.as_f64(),
            load_least: tally.choice.load_least.as_f64(),
            expect: tally.expect.name().to_owned(),
            attempts: tally.attempts,
            delivery: tally.delivered.name().to_owned(),
            local: Some(tally.local).filter(|why| !why.is_empty()).map(str::to_owned),
            queue_ms: ms(tally.queue_us),
            connect_ms: ms(tally.connect_us),
            first_byte_ms: (tally.first_byte_us > 0).then(|| ms(tally.first_byte_us)),
            total_ms: ms(tally.total_us),
            status: (tally.status > 0).then_some(tally.status),
            end: tally.cause.code().to_owned(),
        }
    }
}

impl Switch for Glass {
    fn status(&self) -> Status {
        let shared = &self.shared;
        let state = self.state();
        let config = Arc::clone(&state.config);
        let (view, listening) = (state.view.clone(), state.listening.clone());
        drop(state);
        let now = shared.clock.now();
        let sum = |counter: fn(&distributor::counters::Counters) -> &Counter| {
            shared.counters.sum(counter)
        };
        let params = config.policy.params.iter();
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("BATON_COMMIT").map(str::to_owned),
            pid: std::process::id(),
            started_unix_ms: shared.journal.started_unix_ms(),
            uptime_s: now.0 as f64 / 1e9,
            policy: config.policy.entry.name.to_owned(),
            params: params.map(|(param, v)| (param.name.to_owned(), v.to_string())).collect(),
            config: view,
            workers: u32::try_from(shared.counters.iter().count()).unwrap_or(u32::MAX),
            panic: shared.ask.books().desk().cluster().panic(),
            listeners: self.listeners(&listening),
            requests: sum(|c| &c.requests),
            in_flight: sum(|c| &c.in_flight),
            replies: Replies {
                informational: sum(|c| &c.statuses[0]),
                success: sum(|c| &c.statuses[1]),
                redirection: sum(|c| &c.statuses[2]),
                client_error: sum(|c| &c.statuses[3]),
                server_error: sum(|c| &c.statuses[4]),
            },
            oneway: self.oneway().map(|oneway| oneway.view()),
            agents: self.gather.view(),
        }
    }

    fn servers(&self) -> Vec<ServerView> {
        let live = live_of(self);
        live.backends.iter().flatten().filter_map(|backend| self.server(backend)).collect()
    }

    fn totals(&self) -> Totals {
        totals::totals(self)
    }

    fn decisions(&self, count: usize) -> Vec<DecisionView> {
        let recent = self.shared.journal.recent(count);
        recent.iter().map(|record| self.decision(record)).collect()
    }

    fn connections(&self, count: usize) -> ConnectionsView {
        self.oneway().map(|oneway| oneway.connections(count)).unwrap_or_default()
    }

    fn explain(&self, request: &ExplainRequest) -> Result<ExplainView, Refusal> {
        explain::explain(self, request)
    }

    fn set_state(&self, server: &str, state: State) {
        self.shared.ask.change(|edit| {
            if let Some(id) = named(edit.cluster(), server).map(|known| known.id) {
                edit.set_state(id, state);
            }
        });
        self.servers_changed();
    }

    fn set_warmth(&self, server: &str, warmth: u16) {
        self.shared.ask.change(|edit| {
            if let Some((id, weight)) = named(edit.cluster(), server).map(|s| (s.id, s.spec.weight))
            {
                edit.set_share(id, weight, warmth);
            }
        });
    }

    fn set_weight(&self, server: &str, weight: u32) -> Result<u32, Refusal> {
        if !(1..=WEIGHT_MAX).contains(&weight) {
            return Err(Refusal::Invalid(format!(
                "weight {weight} is not between 1 and {WEIGHT_MAX}; to give a server nothing new, \
                 drain it"
            )));
        }
        let was = self.shared.ask.change(|edit| {
            let known = named(edit.cluster(), server)?;
            let (id, was, warmth) = (known.id, known.spec.weight, known.warmth);
            edit.set_share(id, weight, warmth);
            Some(was)
        });
        was.ok_or_else(|| Refusal::Unknown(format!("there is no server {server}")))
    }
}

/// The server that has this name now: a reload may have given its old slot to another.
fn named<'a>(cluster: &'a Cluster, name: &str) -> Option<&'a policy::Server> {
    cluster.servers().find(|server| *server.spec.name == *name && server.state != State::Left)
}

impl Glass {
    /// Each listener once, with all its addresses: it is the listener that is counted.
    fn listeners(&self, listening: &[(String, SocketAddr)]) -> Vec<ListenerView> {
        let entrances = self.state().entrances.clone();
        let mut views: Vec<ListenerView> = Vec::new();
        for (name, address) in listening {
            if let Some(known) = views.iter_mut().find(|view| view.name == *name) {
                known.address += &format!(", {address}");
                continue;
            }
            let entrance = entrances.iter().find(|entrance| *entrance.name == **name);
            views.push(ListenerView {
                name: name.clone(),
                address: address.to_string(),
                connections_open: entrance.map_or(0, |e| e.counters.sum(|c| &c.open)),
                connections_total: entrance.map_or(0, |e| e.counters.sum(|c| &c.accepted)),
            });
        }
        views
    }
}

pub(super) fn histogram<T>(
    copies: &PerWorker<T>,
    of: impl Fn(&T) -> &distributor::counters::Histogram,
) -> Histogram {
    let buckets = (0..=BOUNDS_US.len()).map(|at| copies.sum(|copy| &of(copy).buckets[at]));
    let sum_us = copies.sum(|copy| &of(copy).sum_us);
    Histogram::new(&LATENCY_BOUNDS_S, buckets.collect(), sum_us as f64 / 1e6)
}
