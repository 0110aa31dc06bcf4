//! The routes of the admin interface.

use super::token::Token;
use crate::history::{History, Sample};
use crate::view::ExplainRequest;
use crate::{EVENTS_MAX, Refusal, Supervisor, metrics, page};
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{AppendHeaders, Html, IntoResponse, Json, Response};
use axum::routing::{get, patch};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Bytes a request's body has at most: a change is a few words.
const BODY_BYTES_MAX: usize = 16 * 1024;
/// Decisions that are returned when nothing is said, and at most.
const DECISIONS_DEFAULT: usize = 50;
const DECISIONS_MAX: usize = 10_000;
/// The same of connections that are handed over.
const CONNECTIONS_DEFAULT: usize = 100;
const CONNECTIONS_MAX: usize = 10_000;

#[derive(Clone)]
struct App {
    supervisor: Arc<Supervisor>,
    history: Arc<History>,
}

/// All routes; each asks for the token first, where there is one.
pub(super) fn routes(
    supervisor: Arc<Supervisor>,
    history: Arc<History>,
    token: Option<Token>,
) -> axum::Router {
    let routes = axum::Router::new()
        .route("/", get(status_page))
        .route("/page.css", get(page_style))
        .route("/page.js", get(page_script))
        .route("/metrics", get(metrics_page))
        .route("/healthz", get(|| async { Json(json!({"healthy": true})) }))
        .route("/readyz", get(ready))
        .route("/v1/status", get(status))
        .route("/v1/servers", get(servers))
        .route("/v1/servers/{name}", patch(change_server).get(server))
        .route("/v1/decisions", get(decisions))
        .route("/v1/connections", get(connections))
        .route("/v1/explain", get(explain))
        .route("/v1/events", get(events))
        .fallback(async || Trouble::unknown("there is nothing here"))
        .method_not_allowed_fallback(async || Trouble {
            status: StatusCode::METHOD_NOT_ALLOWED,
            error: "this method is not allowed here".to_owned(),
            remedy: "GET reads; only PATCH /v1/servers/{name} changes something".to_owned(),
        })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(App { supervisor, history });
    match token {
        Some(token) => routes.layer(from_fn_with_state(token, guard)),
        None => routes,
    }
}

/// Lets through who has the token.
async fn guard(State(token): State<Token>, request: Request, next: Next) -> Response {
    let field = request.headers().get(header::AUTHORIZATION);
    if token.admits(field.and_then(|field| field.to_str().ok())) {
        return next.run(request).await;
    }
    let trouble = Trouble {
        status: StatusCode::UNAUTHORIZED,
        error: "the admin token is missing or wrong".to_owned(),
        remedy: "send Authorization: Bearer TOKEN, or TOKEN as the password in a browser"
            .to_owned(),
    };
    // Browsers read one challenge a line.
    let challenges = ["Basic realm=\"baton\", charset=\"UTF-8\"", "Bearer realm=\"baton\""];
    let challenges = challenges.map(|challenge| (header::WWW_AUTHENTICATE, challenge));
    // Only who has the token may keep one of the few connections.
    ([(header::CONNECTION, "close")], AppendHeaders(challenges), trouble).into_response()
}

async fn status_page(State(app): State<App>) -> Response {
    let recent = app.history.recent(&Sample::take(&app.supervisor));
    let html = Html(page::render(&app.supervisor, &recent));
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                  img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy), (header::CACHE_CONTROL, "no-store")], html)
        .into_response()
}

async fn page_style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], page::STYLE)
}

async fn page_script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], page::SCRIPT)
}

async fn metrics_page(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::page(&app.supervisor))
}

async fn ready(State(app): State<App>) -> Response {
    match app.supervisor.ready() {
        Ok(()) => match app.supervisor.hands_over() {
            Ok(()) => Json(json!({"ready": true})).into_response(),
            Err(note) => Json(json!({"ready": true, "note": note})).into_response(),
        },
        Err((error, remedy)) => Trouble {
            status: StatusCode::SERVICE_UNAVAILABLE,
            error: error.to_owned(),
            remedy: remedy.to_owned(),
        }
        .into_response(),
    }
}

async fn status(State(app): State<App>) -> Response {
    Json(app.supervisor.switch().status()).into_response()
}

async fn servers(State(app): State<App>) -> Response {
    Json(app.supervisor.reports()).into_response()
}

async fn server(State(app): State<App>, Path(name): Path<String>) -> Result<Response, Trouble> {
    report(&app.supervisor, &name)
}

/// How many; anything else in the query is a mistake that must not pass silently.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    n: Option<usize>,
}

async fn decisions(
    State(app): State<App>,
    query: Result<Query<Count>, QueryRejection>,
) -> Result<Response, Trouble> {
    let count = count(query)?.unwrap_or(DECISIONS_DEFAULT).min(DECISIONS_MAX);
    Ok(Json(app.supervisor.switch().decisions(count)).into_response())
}

async fn connections(
    State(app): State<App>,
    query: Result<Query<Count>, QueryRejection>,
) -> Result<Response, Trouble> {
    let count = count(query)?.unwrap_or(CONNECTIONS_DEFAULT).min(CONNECTIONS_MAX);
    Ok(Json(app.supervisor.switch().connections(count)).into_response())
}

async fn events(
    State(app): State<App>,
    query: Result<Query<Count>, QueryRejection>,
) -> Result<Response, Trouble> {
    let count = count(query)?.unwrap_or(EVENTS_MAX);
    Ok(Json(app.supervisor.events(count)).into_response())
}

fn count(query: Result<Query<Count>, QueryRejection>) -> Result<Option<usize>, Trouble> {
    let remedy = "give ?n= and a whole number, or nothing";
    query.map(|Query(count)| count.n).map_err(|error| Trouble::invalid(error.body_text(), remedy))
}

async fn explain(
    State(app): State<App>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Trouble> {
    let remedy = "give url=, and where it matters method= and header=Name:value (repeatable)";
    let Query(pairs) = query.map_err(|error| Trouble::invalid(error.body_text(), remedy))?;
    let mut request = ExplainRequest { method: "GET".to_owned(), ..ExplainRequest::default() };
    for (key, value) in pairs {
        match key.as_str() {
            "url" => request.url = value,
            "method" => request.method = value,
            "header" => {
                let (name, value) = value.split_once(':').ok_or_else(|| {
                    Trouble::invalid(format!("'{value}' is no header field"), remedy)
                })?;
                request.headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            _ => return Err(Trouble::invalid(format!("'{key}' is not known here"), remedy)),
        }
    }
    if request.url.is_empty() {
        return Err(Trouble::invalid("url= is missing", remedy));
    }
    Ok(Json(app.supervisor.switch().explain(&request)?).into_response())
}

/// A change of a server.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    drain: Option<bool>,
    weight: Option<u32>,
}

async fn change_server(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Response, Trouble> {
    let remedy = "send JSON such as {\"drain\": true} or {\"weight\": 3}";
    // A browser may not send this media type, nor PATCH, to another site unasked: pages that
    // the operator has open elsewhere cannot change anything here.
    let media = headers.get(header::CONTENT_TYPE).and_then(|field| field.to_str().ok());
    if !media.is_some_and(|media| media.starts_with("application/json")) {
        let error = "the body is not declared as JSON";
        return Err(Trouble::invalid(error, "send Content-Type: application/json"));
    }
    let body = body.map_err(|error| Trouble::invalid(error.body_text(), remedy))?;
    let change: Change = serde_json::from_slice(&body)
        .map_err(|error| Trouble::invalid(format!("the change cannot be read: {error}"), remedy))?;
    if change.drain.is_none() && change.weight.is_none() {
        return Err(Trouble::invalid("nothing is to be changed", remedy));
    }
    // The weight first: it alone can be refused for a server that exists.
    if let Some(weight) = change.weight {
        app.supervisor.set_weight(&name, weight)?;
    }
    if let Some(drain) = change.drain {
        app.supervisor.drain(&name, drain)?;
    }
    report(&app.supervisor, &name)
}

fn report(supervisor: &Supervisor, name: &str) -> Result<Response, Trouble> {
    let report = supervisor.report(name)?;
    Ok(Json(report).into_response())
}

/// An error as the client gets it: what is wrong, and what to do.
struct Trouble {
    status: StatusCode,
    error: String,
    remedy: String,
}

impl Trouble {
    fn invalid(error: impl Into<String>, remedy: &str) -> Self {
        let (error, remedy) = (error.into(), remedy.to_owned());
        Self { status: StatusCode::BAD_REQUEST, error, remedy }
    }

    fn unknown(error: impl Into<String>) -> Self {
        let remedy = "look at /v1/status, /v1/servers, /v1/decisions, /v1/connections, \
                      /v1/explain, /v1/events, /metrics, /healthz, /readyz or the page at /";
        let (error, remedy) = (error.into(), remedy.to_owned());
        Self { status: StatusCode::NOT_FOUND, error, remedy }
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unknown(error) => {
                let remedy = "choose a name from /v1/servers".to_owned();
                Self { status: StatusCode::NOT_FOUND, error, remedy }
            }
            Refusal::Invalid(error) => Self {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                error,
                remedy: "correct the value and try again".to_owned(),
            },
        }
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let body = Json(json!({"error": self.error, "remedy": self.remedy}));
        (self.status, body).into_response()
    }
}
