//! One visit: a dozen requests over one persistent connection, who answered each, and what the
//! switch says about how and why.

use super::client::Connection;
use super::program::wait;
use super::site::Site;
use anyhow::Result;
use control::view::{DecisionView, ExplainView};
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use testbed::Host;

/// What is asked for, in this order: new pages, the same again, and back to those before.
pub(super) const ASKED: [&str; 12] = [
    "/index.html",
    "/news.html",
    "/news.html",
    "/index.html",
    "/style.css",
    "/logo.svg",
    "/logo.svg",
    "/style.css",
    "/news.html",
    "/index.html",
    "/index.html",
    "/logo.svg",
];

/// A request of a visit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// What was asked for.
    pub path: String,
    /// The name that the answering server gives itself.
    pub answered_by: String,
    /// How it reached that server: `handoff`, `moved`, `stayed`, `relay`.
    pub delivery: Option<String>,
    /// Why that server: the policy's reason.
    pub reason: Option<String>,
    /// Whether the kernel answered by itself, repeating what the policy had said.
    pub by_kernel: Option<bool>,
    /// From the request's first byte to the reply's last.
    pub us: f64,
}

/// A visit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Visit {
    /// The client's end of its connection.
    pub client: SocketAddr,
    /// Its requests, in order.
    pub requests: Vec<Request>,
}

/// Makes a visit to `address`, asking for pages of `host`, which no visit before did.
///
/// # Errors
/// When a reply is not as it should be, or the switch does not say what it decided;
/// [`testbed::Error::Interrupted`].
pub(super) fn visit(
    site: &Site,
    address: SocketAddr,
    host: &'static str,
    stop: &AtomicBool,
) -> Result<Visit> {
    let known = decisions(site)?.len();
    let asked = || -> Result<_> {
        let mut connection = Connection::open(address, host)?;
        let replies = ASKED.map(|path| connection.ask(path)).into_iter();
        Ok((connection.end()?, replies.collect::<Result<Vec<_>>>()?))
    };
    let (client, replies) = site.bed.enter(Host::Client, asked)??;
    // What the kernel answered by itself is told a little later.
    let mut told = wait("the switch's word about its decisions", stop, || {
        let all = decisions(site)?;
        Ok((all.len() >= known + ASKED.len()).then_some(all))
    })?;
    // Newest first; the ones before are older.
    told.truncate(ASKED.len());
    let mut requests = Vec::new();
    for (path, reply) in ASKED.iter().zip(replies) {
        let hash = target_hash(site, host, path)?;
        let decision = take_first(&mut told, &hash, &reply.server);
        requests.push(Request {
            path: (*path).to_owned(),
            answered_by: reply.server,
            by_kernel: decision.as_ref().map(|decision| decision.path.is_empty()),
            delivery: decision.as_ref().map(|decision| decision.delivery.clone()),
            reason: decision.map(|decision| decision.reason),
            us: reply.took.as_nanos() as f64 / 1000.0,
        });
    }
    Ok(Visit { client, requests })
}

/// The decisions that the switch remembers, newest first.
fn decisions(site: &Site) -> Result<Vec<DecisionView>> {
    Ok(serde_json::from_value(site.admin.get("/v1/decisions?n=256")?)?)
}

fn target_hash(site: &Site, host: &str, path: &str) -> Result<String> {
    let answer = site.admin.explain("GET", &format!("http://{host}{path}"), &[])?;
    Ok(serde_json::from_value::<ExplainView>(answer)?.target_hash)
}

/// Takes the oldest decision about a target out of those that are left, newest first. `None` if the
/// switch does not speak of this server: then it is of another request.
fn take_first(told: &mut Vec<DecisionView>, hash: &str, server: &str) -> Option<DecisionView> {
    let one = told.remove(told.iter().rposition(|one| one.target_hash == hash)?);
    (one.server.as_deref() == Some(server)).then_some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(hash: &str, path: &str, server: &str) -> DecisionView {
        DecisionView {
            target_hash: hash.to_owned(),
            path: path.to_owned(),
            server: Some(server.to_owned()),
            ..DecisionView::default()
        }
    }

    #[test]
    fn decisions_are_taken_in_the_order_they_were_made_in() {
        let mut all = vec![
            told("b", "/b", "s2"),
            told("a", "", "s1"),
            told("a", "/a", "s1"),
            told("c", "", "s3"),
        ];
        assert_eq!(take_first(&mut all, "a", "s1").unwrap().path, "/a");
        assert_eq!(take_first(&mut all, "a", "s1").unwrap().path, "");
        assert_eq!(take_first(&mut all, "a", "s1"), None);
        assert_eq!(take_first(&mut all, "b", "s1"), None, "it speaks of another server");
        assert_eq!(all.len(), 1);
    }
}
