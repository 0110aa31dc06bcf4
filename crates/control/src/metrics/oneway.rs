//! The families of one-way delivery, there only where a listener hands connections over, and of
//! servers' agents, there where servers have them.

use super::{Families, Unit};
use crate::view::{AgentView, OnewayView};
use std::collections::BTreeMap;
use std::fmt;

/// What the kernel did with clients' segments: counters of its own, and the word in the label.
const SEGMENTS: &[(&str, &str)] = &[
    ("handed_over", "handed-over"),
    ("handed_again", "handed-again"),
    ("forwarded", "forwarded"),
    ("queried", "queried"),
    ("tagged", "tagged"),
    ("fin_answered", "fin-answered"),
];

/// Why the kernel dropped a segment.
const DROPS: &[&str] = &["forged", "malformed", "unknown_release", "unanswered"];

/// Counters with a family of their own: the kernel's name, ours, and the meaning.
const SINGLE: &[(&str, &str, &str)] = &[
    ("syn_answered", "oneway_syns", "SYNs answered, without any state"),
    ("cookie_refused", "oneway_cookies_refused", "First segments that no SYN of ours led to"),
    ("handed_over", "oneway_handed_over", "Connections handed to a server"),
    ("moved", "oneway_moved", "Connections handed on to another server"),
    ("asked", "oneway_asked", "Requests that the kernel asked about"),
    ("repeated", "oneway_repeated", "Requests that the kernel answered as the policy promised"),
    ("forged", "oneway_forged", "Envelopes with a wrong seal: dropped"),
    ("events_lost", "oneway_events_lost", "Repeated decisions that the log could not take"),
];

pub(super) fn encode(view: &OnewayView, families: &mut Families<'_>) -> fmt::Result {
    families.counter(
        "oneway_segments",
        "Segments of clients, by what became of them",
        None,
        SEGMENTS.iter().map(|(name, word)| ([("verdict", *word)], view.counted(name))),
    )?;
    families.counter(
        "oneway_drops",
        "Segments and envelopes that were dropped, by reason",
        None,
        DROPS.iter().map(|name| ([("reason", *name)], view.counted(name))),
    )?;
    for (name, family, about) in SINGLE {
        families.counter(family, about, None, [([], view.counted(name))])?;
    }
    stayed(view, families)?;
    families.counter(
        "oneway_questions",
        "Questions of the kernel, by how the request was delivered then",
        None,
        view.asked.iter().map(|(how, count)| ([("delivery", how.as_str())], *count)),
    )?;
    let locals = view.locals();
    families.counter(
        "oneway_local",
        "Requests that were relayed although their listener hands connections over, by reason",
        None,
        locals.iter().map(|(why, count)| ([("reason", why.as_str())], *count)),
    )?;
    families.counter(
        "oneway_swept",
        "Connections that were closed or forgotten: reset for a dead server, idle, unknown to the \
         agent, over",
        None,
        view.swept.iter().map(|(what, count)| ([("what", what.as_str())], *count)),
    )?;
    families.gauge(
        "oneway_targets",
        "Targets whose answer the kernel may repeat",
        None,
        [([], view.targets as f64)],
    )?;
    interfaces(view, families)?;
    servers(view, families)
}

/// Whether the front-end's program is where it is to be.
fn interfaces(view: &OnewayView, families: &mut Families<'_>) -> fmt::Result {
    let all = || view.interfaces.iter().map(|one| ([("interface", one.interface.as_str())], one));
    families.gauge(
        "oneway_attached",
        "1 when the front-end's program is on the interface; 0 when it is missing",
        None,
        all().map(|(label, one)| (label, f64::from(u8::from(one.attached)))),
    )?;
    families.counter(
        "oneway_restored",
        "Times that the front-end's program was missing on the interface and was put back",
        None,
        all().map(|(label, one)| (label, one.restored)),
    )
}

/// What belongs to one server.
fn servers(view: &OnewayView, families: &mut Families<'_>) -> fmt::Result {
    // A server that has moved has two rows until its old connections have ended.
    let mut servers: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for one in &view.servers {
        let sums = servers.entry(&one.server).or_default();
        *sums = (sums.0 + one.open, sums.1 + one.handed_over);
    }
    families.gauge(
        "oneway_flows",
        "Connections handed to a server and not closed",
        None,
        servers.iter().map(|(name, (open, _))| ([("server", *name)], *open as f64)),
    )?;
    families.counter(
        "oneway_server_flows",
        "Connections ever handed to a server",
        None,
        servers.iter().map(|(name, (_, ever))| ([("server", *name)], *ever)),
    )?;
    // A place that a server has left says nothing of it.
    let standing = view.servers.iter().filter(|one| !one.standing.is_empty());
    families.gauge(
        "oneway_confirmed",
        "1 when the server's agent confirms that it takes connections over; 0 when it is doubted, \
         and relayed; not there for one without an agent",
        None,
        standing.filter(|one| one.standing != "unchecked").map(|one| {
            ([("server", one.server.as_str())], f64::from(u8::from(one.doubt.is_none())))
        }),
    )
}

/// What servers' programs count that makes clients wait in vain, over all of them.
pub(super) fn troubles(agents: &[AgentView], families: &mut Families<'_>) -> fmt::Result {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in agents.iter().flat_map(|agent| &agent.troubles) {
        *sums.entry(name).or_default() += count;
    }
    families.counter(
        "oneway_server_troubles",
        "What servers' programs count that makes clients wait in vain, over all agents",
        None,
        sums.into_iter().map(|(name, count)| ([("what", name)], count)),
    )
}

pub(super) fn agents(agents: &[AgentView], families: &mut Families<'_>) -> fmt::Result {
    let aged = agents.iter().filter_map(|agent| Some((agent.age_s?, agent.server.as_str())));
    families.gauge(
        "agent_report_age",
        "Age of the agent's last report",
        Some(Unit::Seconds),
        aged.map(|(age_s, name)| ([("server", name)], age_s)),
    )?;
    families.counter(
        "agent_failures",
        "Questions that the agent did not answer well",
        None,
        agents.iter().map(|one| ([("server", one.server.as_str())], one.failures)),
    )
}

/// Requests whose connection stayed although it was to move. Nobody tells the front-end: what it
/// asked for and did not get stayed where it was.
fn stayed(view: &OnewayView, families: &mut Families<'_>) -> fmt::Result {
    let asked = view.counted("queried");
    let stayed = asked.saturating_sub(view.counted("moved")) + view.counted("stayed_pipelined");
    let about = "Requests whose connection was to move and had something left to say";
    families.counter("oneway_stayed", about, None, [([], stayed)])
}
