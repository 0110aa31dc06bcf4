//! What the agent answers: GET /load, /flows, /health and /metrics.
//!
//! Nothing here changes anything, and nothing is secret but who is connected: it belongs on the
//! inner network. Connections, pages and time are bounded.

mod listen;

use crate::host::{Connection, Host};
use crate::report::{Flow, FlowsPage, LoadReport};
use crate::sampler::Sampler;
use crate::{Kernel, Relay, Settings, metrics};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use listen::Listener;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Connections of a page when nothing is said, and at most.
const FLOWS_DEFAULT: usize = 1000;
/// The same, at most: about a megabyte.
pub(crate) const FLOWS_MAX: usize = 10_000;
/// How long answers under way may take when the agent ends.
const STOP_MAX: Duration = Duration::from_secs(1);

/// An agent that listens and samples; [`Agent::serve`] answers.
pub struct Agent {
    socket: TcpListener,
    app: App,
}

struct App {
    settings: Settings,
    sampler: Sampler,
    host: Arc<dyn Host>,
    relay: Option<Arc<dyn Relay>>,
    /// The kernel goes through all its sockets for a page: one asks at a time.
    turn: Mutex<()>,
}

impl Agent {
    /// Begins to sample, and will answer on `socket`.
    ///
    /// # Errors
    /// When the socket cannot be used, or there can be no more threads.
    pub fn start(
        socket: TcpListener,
        settings: Settings,
        host: Arc<dyn Host>,
        kernel: Arc<dyn Kernel>,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let sampler = Sampler::start(&settings, host.clone(), kernel)?;
        let turn = Mutex::new(());
        Ok(Self { socket, app: App { settings, sampler, host, relay: None, turn } })
    }

    /// Reports of this relay too.
    pub fn with_relay(mut self, relay: Arc<dyn Relay>) -> Self {
        self.app.relay = Some(relay);
        self
    }

    /// Where it listens, with the port that the kernel gave.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers until `stop` is ready.
    ///
    /// # Errors
    /// When the runtime cannot take the socket.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let listener = Listener::new(self.socket)?;
        let routes = axum::Router::new()
            .route("/load", get(load))
            .route("/flows", get(flows))
            .route("/health", get(health))
            .route("/metrics", get(metrics_page))
            .fallback(async || {
                trouble(StatusCode::NOT_FOUND, "look at /load, /flows, /health or /metrics")
            })
            .with_state(Arc::new(self.app));
        let (stopped, mut stopping) = tokio::sync::watch::channel(false);
        let stop = async move {
            stop.await;
            // Nobody listens when serving has ended already.
            let _unheard = stopped.send(true);
        };
        let late = async {
            let _ended = stopping.wait_for(|stopped| *stopped).await;
            tokio::time::sleep(STOP_MAX).await;
        };
        tokio::select! {
            ended = axum::serve(listener, routes).with_graceful_shutdown(stop) => ended,
            () = late => Ok(()),
        }
    }
}

fn trouble(status: StatusCode, remedy: &str) -> Response {
    let error = status.canonical_reason().unwrap_or_default();
    (status, Json(json!({ "error": error, "remedy": remedy }))).into_response()
}

impl App {
    /// The last reading, with what the relay did until now.
    fn report(&self) -> LoadReport {
        let forwarding = self.relay.as_ref().map(|relay| relay.forwarding());
        LoadReport { forwarding, ..self.sampler.last() }
    }
}

async fn load(State(app): State<Arc<App>>) -> Json<LoadReport> {
    Json(app.report())
}

async fn health(State(app): State<Arc<App>>) -> Response {
    let LoadReport { healthy, health, .. } = app.sampler.last();
    let status = if healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "healthy": healthy, "health": health }))).into_response()
}

async fn metrics_page(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::page(app.report()))
}

/// How many connections, and after which; anything else in the query is a mistake.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    n: Option<usize>,
    /// Both ends of the last connection of the page before.
    client: Option<SocketAddr>,
    vip: Option<SocketAddr>,
}

async fn flows(
    State(app): State<Arc<App>>,
    range: Result<Query<Range>, QueryRejection>,
) -> Response {
    let remedy = "give ?n= and a number, and &client=ADDRESS:PORT&vip=ADDRESS:PORT of the last one";
    let Ok(Query(range)) = range else { return trouble(StatusCode::BAD_REQUEST, remedy) };
    let after = match (range.client, range.vip) {
        (Some(client), Some(vip)) => Some(Flow { client, vip }),
        (None, None) => None,
        _ => return trouble(StatusCode::BAD_REQUEST, remedy),
    };
    let count = range.n.unwrap_or(FLOWS_DEFAULT).clamp(1, FLOWS_MAX);
    let _turn = app.turn.lock().await;
    let (host, vips) = (app.host.clone(), app.settings.vips.clone());
    let found = tokio::task::spawn_blocking(move || page(&*host, &vips, after, count)).await;
    match found.map_err(io::Error::other).and_then(|found| found) {
        Ok(page) => Json(page).into_response(),
        Err(error) => {
            let remedy = format!("the kernel does not say: {error}");
            trouble(StatusCode::INTERNAL_SERVER_ERROR, &remedy)
        }
    }
}

/// The first `count` connections to `vips` after one, of however many there are, in memory for
/// `count` alone.
fn page(
    host: &dyn Host,
    vips: &[SocketAddr],
    after: Option<Flow>,
    count: usize,
) -> io::Result<FlowsPage> {
    let mut first: BTreeSet<Flow> = BTreeSet::new();
    let mut more = false;
    let mut ports: Vec<u16> = vips.iter().map(SocketAddr::port).collect();
    ports.sort_unstable();
    ports.dedup();
    for port in ports {
        host.connections(port, &mut |Connection { local: vip, client, .. }| {
            let flow = Flow { client, vip };
            if vips.contains(&vip) && after.is_none_or(|after| flow > after) {
                first.insert(flow);
                if first.len() > count {
                    more = true;
                    first.pop_last();
                }
            }
        })?;
    }
    Ok(FlowsPage { flows: first.into_iter().collect(), more })
}
