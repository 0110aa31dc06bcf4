//! What a request head asks of an origin.

use crate::conn::{Request, Wants};
use crate::{Config, content};
use std::borrow::Cow;
use wire::http::{Method, RequestHead};

/// The origin's own paths begin so.
const OWN: &str = "/.origin/";

/// One of the origin's own paths, asked for or told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own<'q> {
    Status,
    Load,
    Utilisation(&'q str),
    Health,
    SetHealth(&'q str),
    SetFault(&'q str),
    Unknown,
}

/// The origin's own path that a head names, if it does; an agent's path too, where it is one's
/// stand-in.
pub(crate) fn own<'b>(head: &RequestHead<'b, '_>, agent: bool) -> Option<Own<'b>> {
    let asks = matches!(head.method, Method::Get | Method::Head);
    let Some(path) = head.path.strip_prefix(OWN) else {
        return (agent && asks && head.path == "/load").then_some(Own::Load);
    };
    let query = head.query.unwrap_or("");
    Some(match (path, head.method) {
        ("status", _) if asks => Own::Status,
        ("load", _) if asks => Own::Load,
        ("utilisation", _) if asks => Own::Utilisation(query),
        ("health", _) if asks => Own::Health,
        ("health", Method::Post) => Own::SetHealth(query),
        ("fault", Method::Post) => Own::SetFault(query),
        _ => Own::Unknown,
    })
}

/// The request that a head makes, which wants `wants`.
pub(crate) fn request(head: &RequestHead<'_, '_>, wants: Wants) -> Request {
    Request {
        method: head.method,
        version: head.version,
        keep_alive: head.keep_alive,
        framing: head.body,
        expect_continue: head.expect_continue,
        wants,
    }
}

/// The content that a head names.
pub(crate) fn content(head: &RequestHead<'_, '_>, config: &Config) -> Wants {
    let line: Cow<'_, str> = match (head.target.starts_with('/'), head.query) {
        (true, _) => head.target.into(),
        (false, None) => head.path.into(),
        (false, Some(query)) => format!("{}?{query}", head.path).into(),
    };
    let target = content::target(head.authority, &line);
    let Some(bytes) = config.sizes.of(target, head.path, head.query) else {
        return text(400, "the size asked for is larger than this origin sends");
    };
    let mut fields = head.query.unwrap_or("").split('&');
    let chunked = fields.any(|field| field == "chunked" || field.starts_with("chunked="));
    let named = config.class_field.as_deref().and_then(|name| head.field(name));
    let class = config.class(named.and_then(|value| str::from_utf8(value).ok()), head.path);
    Wants::Content { target, bytes, class, chunked }
}

/// A line of text.
pub(crate) fn text(status: u16, line: &str) -> Wants {
    Wants::Text(status, "text/plain", format!("{line}\n"))
}
