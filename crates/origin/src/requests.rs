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
    let key = if head.query.is_some_and(asks_size) {
        content::target(head.authority, &without_size(&line))
    } else {
        target
    };
    Wants::Content { key, target, bytes, class, chunked }
}

/// Whether a query says how long the answer is to be. That is how the answer looks, not what it
/// is: a program whose answers differ in length is one target, to the cache too.
fn asks_size(query: &str) -> bool {
    query.split('&').any(is_size)
}

fn is_size(field: &str) -> bool {
    field.starts_with("size=")
}

/// Path and query without what says how long the answer is to be.
fn without_size(line: &str) -> String {
    let (path, query) = line.split_once('?').unwrap_or((line, ""));
    let kept: Vec<&str> = query.split('&').filter(|field| !is_size(field)).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

/// A line of text.
pub(crate) fn text(status: u16, line: &str) -> Wants {
    Wants::Text(status, "text/plain", format!("{line}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::http::{Limits, Slots, request};

    fn key_and_target(line: &str) -> (policy::TargetId, policy::TargetId) {
        let text = format!("GET {line} HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut slots = Slots::new();
        let head = request::parse(text.as_bytes(), &Limits::default(), &mut slots);
        let head = head.expect("it is valid").expect("it is whole");
        match content(&head, &Config::default()) {
            Wants::Content { key, target, .. } => (key, target),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_size_that_is_asked_for_says_how_an_answer_looks_and_not_what_it_is() {
        let (small, large) = (key_and_target("/p?size=1"), key_and_target("/p?size=2"));
        assert_eq!(small.0, large.0, "one to the cache");
        assert_ne!(small.1, large.1, "two contents");
        assert_eq!(key_and_target("/p?a=1&size=2&b=3").0, key_and_target("/p?a=1&b=3").0);
        assert_ne!(key_and_target("/p?a=1&size=2").0, key_and_target("/p?a=2&size=2").0);
        let (key, target) = key_and_target("/p?sized=2");
        assert_eq!(key, target, "another field belongs to the name");
        assert_eq!(small.0, key_and_target("/p").0);
    }
}
