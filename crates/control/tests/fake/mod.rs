//! A switch that is only its counters, and what tests need around it.

// Each test file uses its part of this one; a panic is how a test says no.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use control::view::{
    AgentView, CandidateView, ConfigView, ConnectionView, ConnectionsView, DecisionCount,
    DecisionView, DoubtView, ExplainRequest, ExplainView, GuardView, Histogram, InterfaceView,
    LATENCY_BOUNDS_S, ListenerView, OnewayServer, OnewayView, Replies, RequestCount, RouteDuration,
    ServerView, Status, Totals,
};
use control::{Refusal, Switch};
use policy::State;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Longer than anything a test waits for takes, even on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(20);

/// What the fake was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    State(String, State),
    Warmth(String, u16),
}

pub struct Fake {
    pub servers: Mutex<Vec<ServerView>>,
    pub told: Mutex<Vec<Told>>,
    pub status: Mutex<Status>,
    pub totals: Mutex<Totals>,
}

impl Fake {
    /// A switch with servers of these names.
    pub fn new(names: &[&str]) -> Self {
        let servers = names.iter().enumerate().map(|(id, name)| server(id as u16, name)).collect();
        Self {
            servers: Mutex::new(servers),
            told: Mutex::default(),
            status: Mutex::new(status()),
            totals: Mutex::new(totals()),
        }
    }

    /// The states that `server` was given, in order, without repetitions.
    pub fn states(&self, server: &str) -> Vec<State> {
        let told = self.told.lock().unwrap();
        let mut states: Vec<State> = told
            .iter()
            .filter_map(|told| match told {
                Told::State(name, state) if name == server => Some(*state),
                _ => None,
            })
            .collect();
        states.dedup();
        states
    }

    /// The warmths that `server` was given, in order.
    pub fn warmths(&self, server: &str) -> Vec<u16> {
        let told = self.told.lock().unwrap();
        let warmth = |told: &Told| match told {
            Told::Warmth(name, warmth) if name == server => Some(*warmth),
            _ => None,
        };
        told.iter().filter_map(warmth).collect()
    }
}

impl Switch for Fake {
    fn status(&self) -> Status {
        self.status.lock().unwrap().clone()
    }

    fn servers(&self) -> Vec<ServerView> {
        self.servers.lock().unwrap().clone()
    }

    fn totals(&self) -> Totals {
        self.totals.lock().unwrap().clone()
    }

    fn decisions(&self, count: usize) -> Vec<DecisionView> {
        let decision = |n: u64| DecisionView {
            at_unix_ms: 1_000 - n,
            method: "GET".to_owned(),
            path: format!("/{n}"),
            server: Some("a".to_owned()),
            reason: "affinity".to_owned(),
            ..DecisionView::default()
        };
        (0..100).map(decision).take(count).collect()
    }

    fn connections(&self, count: usize) -> ConnectionsView {
        let connection = |port: u32| ConnectionView {
            client: format!("192.0.2.7:{port}"),
            delivery: "handoff".to_owned(),
            ..ConnectionView::default()
        };
        let connections = (1..=20_000).map(connection).take(count).collect();
        ConnectionsView { open: 20_000, connections }
    }

    fn explain(&self, request: &ExplainRequest) -> Result<ExplainView, Refusal> {
        if !request.url.starts_with('/') {
            return Err(Refusal::Invalid(format!("'{}' is no URL", request.url)));
        }
        let header = request.headers.iter().map(|(name, value)| format!("{name}={value}"));
        Ok(ExplainView {
            rule: Some("images".to_owned()),
            class: "static".to_owned(),
            target: format!("{} {}", request.method, request.url),
            target_text: "www.example.com/shop".to_owned(),
            target_hash: header.collect::<Vec<_>>().join(","),
            policy: "lard".to_owned(),
            candidates: vec![CandidateView {
                server: "a".to_owned(),
                load: 1.0,
                pressure: 1.0,
                cost: None,
            }],
            server: Some("a".to_owned()),
            reason: Some("affinity".to_owned()),
            expect: Some("hit".to_owned()),
            guard: Some(GuardView { load_max: Some(65.0), for_ms: None, epoch: 1 }),
            deliveries: Vec::new(),
        })
    }

    fn set_state(&self, server: &str, state: State) {
        self.told.lock().unwrap().push(Told::State(server.to_owned(), state));
    }

    fn set_warmth(&self, server: &str, warmth: u16) {
        self.told.lock().unwrap().push(Told::Warmth(server.to_owned(), warmth));
        let mut servers = self.servers.lock().unwrap();
        servers.iter_mut().filter(|view| view.name == server).for_each(|view| view.warmth = warmth);
    }

    fn set_weight(&self, server: &str, weight: u32) -> Result<u32, Refusal> {
        let mut servers = self.servers.lock().unwrap();
        let found = servers.iter_mut().find(|view| view.name == server);
        let found = found.ok_or_else(|| Refusal::Unknown(format!("no server '{server}'")))?;
        if weight == 0 {
            return Err(Refusal::Invalid("a weight is at least 1".to_owned()));
        }
        Ok(std::mem::replace(&mut found.weight, weight))
    }
}

/// One-way delivery with a figure of each kind.
fn oneway() -> OnewayView {
    let counts = |list: &[(&str, u64)]| {
        list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    let server = |slot, address: &str, open| OnewayServer {
        server: "a".to_owned(),
        slot,
        address: address.to_owned(),
        state: "up".to_owned(),
        open,
        handed_over: 10,
        standing: if slot == 0 { "doubted" } else { "" }.to_owned(),
        doubt: (slot == 0).then(|| DoubtView {
            reason: "other-key".to_owned(),
            sentence: "its agent has another key <script>".to_owned(),
        }),
    };
    OnewayView {
        kernel: counts(&[("handed_over", 20), ("forged", 1), ("local_split_head", 2)]),
        asked: counts(&[("handoff", 7), ("relay", 3)]),
        local: counts(&[("rule-says-relay", 3), ("split-head", 1)]),
        targets: 5,
        swept: counts(&[("reset", 4)]),
        servers: vec![server(0, "10.0.0.1:80", 2), server(3, "10.0.0.9:80", 1)],
        interfaces: vec![InterfaceView {
            interface: "eth0".to_owned(),
            attached: true,
            fault: None,
            restored: 2,
        }],
    }
}

/// Two agents that have something to say.
fn agents() -> Vec<AgentView> {
    let agent = AgentView {
        server: "a".to_owned(),
        address: "10.0.0.1:7118".to_owned(),
        age_s: Some(0.5),
        failures: 2,
        fault: Some("no agent listens there <script>".to_owned()),
        troubles: [("forged".to_owned(), 3)].into(),
        complaints: vec!["vip: not there".to_owned()],
        ..AgentView::default()
    };
    vec![agent.clone(), AgentView { server: "b".to_owned(), ..agent }]
}

fn status() -> Status {
    Status {
        oneway: Some(oneway()),
        agents: agents(),
        version: "0.1.0".to_owned(),
        commit: Some("abc1234".to_owned()),
        pid: 1,
        started_unix_ms: 1_700_000_000_000,
        uptime_s: 11_520.0,
        policy: "lard-r".to_owned(),
        params: BTreeMap::from([("load_high".to_owned(), "65".to_owned())]),
        config: ConfigView {
            source: "baton.toml".to_owned(),
            hash: "9c1f".to_owned(),
            reloads_ok: 2,
            reloads_failed: 1,
            reload_last: None,
        },
        workers: 2,
        panic: false,
        listeners: vec![ListenerView {
            name: "main".to_owned(),
            address: "0.0.0.0:8080".to_owned(),
            connections_open: 312,
            connections_total: 48_110,
        }],
        requests: 1_204_511,
        in_flight: 37,
        replies: Replies { success: 1_190_000, server_error: 41, ..Replies::default() },
    }
}

fn server(id: u16, name: &str) -> ServerView {
    ServerView {
        id,
        name: name.to_owned(),
        address: format!("10.0.0.{}:80", id + 1),
        weight: 1,
        warmth: 256,
        in_flight_max: Some(64),
        load: 12.0 + 9.0 * f64::from(id),
        begun: 301_000 + u64::from(id) * 1001,
        ok: 300_990,
        failed: u64::from(id % 3) * 4,
        expected_hits: 270_000,
        expected_misses: 21_000,
        classes: BTreeMap::from([("static".to_owned(), 250_000), ("cpu".to_owned(), 51_000)]),
        first_byte: histogram(1),
        duration: histogram(2),
        ..ServerView::default()
    }
}

/// A histogram with a believable shape.
pub fn histogram(shift: u64) -> Histogram {
    let counts = (0..=LATENCY_BOUNDS_S.len() as u64).map(|n| 4000 >> (n.abs_diff(3 + shift)));
    Histogram::new(&LATENCY_BOUNDS_S, counts.collect(), 123.5)
}

fn totals() -> Totals {
    let request = |route: Option<&str>, method: &str, code, count| RequestCount {
        listener: "main".to_owned(),
        route: route.map(str::to_owned),
        method: method.to_owned(),
        code,
        count,
    };
    let decision = |reason: &str, count| DecisionCount {
        policy: "lard-r".to_owned(),
        reason: reason.to_owned(),
        count,
    };
    let duration = |route: Option<&str>, code_class: &str, shift| RouteDuration {
        listener: "main".to_owned(),
        route: route.map(str::to_owned),
        code_class: code_class.to_owned(),
        protocol: "http/1.1".to_owned(),
        duration: histogram(shift),
    };
    Totals {
        requests: vec![
            request(Some("images"), "GET", 200, 900_000),
            request(None, "GET", 200, 290_000),
            request(None, "POST", 503, 41),
            request(None, "GET", 0, 7),
        ],
        durations: vec![
            duration(Some("images"), "2xx", 1),
            duration(None, "2xx", 3),
            duration(None, "5xx", 5),
        ],
        decisions: vec![
            decision("affinity", 1_080_000),
            decision("first-seen", 81_000),
            decision("spill-overload", 40_000),
            decision("replicate", 3_511),
        ],
        locality_given_up: BTreeMap::from([("spill-overload".to_owned(), 40_000)]),
        rejects: BTreeMap::from([("head-too-long".to_owned(), 3)]),
        ends: BTreeMap::from([("--".to_owned(), 1_190_000), ("PR".to_owned(), 3)]),
        retries: 12,
        retries_refused: 5,
        server_connections_opened: 900,
        server_connections_reused: 1_189_100,
        bytes_in: 1 << 30,
        bytes_out: 1 << 40,
        bytes_spliced: 1 << 39,
        accept_failures: 2,
        log_lines_dropped: 17,
        targets: 40_312,
        replicated_targets: 211,
        streams_closed_by_reload: 0,
    }
}

/// Waits until `holds`; fails after [`LIMIT`], saying what was waited for.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
