//! `baton status`: how a running switch and its servers are.

mod connections;

use crate::exit::{Exit, Outcome};
use crate::flags;
use control::view::{AgentView, OnewayView, ServerReport, ServerView, Status};
use control::{Age, Client};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Asks and shows the answer.
///
/// # Errors
/// When no switch answers.
pub fn run(args: &flags::Status) -> Outcome {
    let client = Client::Unix(args.at.socket());
    if let Some(count) = args.connections {
        return connections::show(&client, count, args.answer.json);
    }
    let (status, servers) = (client.get("/v1/status")?, client.get("/v1/servers")?);
    let mut out = io::stdout().lock();
    if args.answer.json {
        let both = serde_json::json!({ "status": status, "servers": servers });
        writeln!(out, "{}", serde_json::to_string_pretty(&both)?)?;
        return Ok(Exit::Done);
    }
    let status: Status = serde_json::from_value(status)?;
    let servers: Vec<ServerReport> = serde_json::from_value(servers)?;
    out.write_all(text(&status, &servers).as_bytes())?;
    Ok(Exit::Done)
}

fn text(status: &Status, servers: &[ServerReport]) -> String {
    let mut out = format!(
        "baton {} ({}), pid {}, up {}, {} workers, policy {}\n",
        status.version,
        status.config.source,
        status.pid,
        Age(status.uptime_s),
        status.workers,
        status.policy
    );
    for listener in &status.listeners {
        out.push_str(&format!(
            "{} on {}: {} connections open, {} so far\n",
            listener.name, listener.address, listener.connections_open, listener.connections_total
        ));
    }
    out.push_str(&relay(status));
    out.push_str(&table(servers, status.oneway.is_some()));
    if let Some(view) = &status.oneway {
        out.push_str(&one_way(view));
    }
    if !status.agents.is_empty() {
        out.push_str(&agents(&status.agents));
    }
    out
}

/// What the relay served: all there is, or what was not handed over, which may be nothing.
fn relay(status: &Status) -> String {
    let one_way = status.oneway.is_some();
    if one_way && status.requests == 0 {
        return "relay: no requests\n\n".to_owned();
    }
    format!(
        "{}{} requests, {} in flight; replies 2xx {} 3xx {} 4xx {} 5xx {}\n\n",
        if one_way { "relay: " } else { "" },
        status.requests,
        status.in_flight,
        status.replies.success,
        status.replies.redirection,
        status.replies.client_error,
        status.replies.server_error
    )
}

/// Counts that are not zero, in a list.
fn counts(of: &BTreeMap<String, u64>) -> String {
    let some = of.iter().filter(|(_, count)| **count > 0);
    some.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// What was handed over, and what was not.
fn one_way(view: &OnewayView) -> String {
    let count = |name| view.counted(name);
    let mut out = format!(
        "\none way: {} connections open, {} handed over, {} moved on; {} answered by the kernel, \
         {} asked about\n",
        view.open(),
        count("handed_over"),
        count("moved"),
        count("repeated"),
        count("asked"),
    );
    for (about, list) in [
        ("asked about, and answered", counts(&view.asked)),
        ("relayed all the same", counts(&view.locals())),
    ] {
        if !list.is_empty() {
            out.push_str(&format!("{about}: {list}\n"));
        }
    }
    for missing in view.interfaces.iter().filter_map(|one| one.sentence()) {
        out.push_str(&format!("{missing}\n"));
    }
    for one in &view.servers {
        out.push_str(&format!(
            "  {:<18} {:<22} {:<9} {:>7} open {:>9} handed over  {}\n",
            one.server, one.address, one.state, one.open, one.handed_over, one.standing
        ));
        if let Some(doubt) = &one.doubt {
            out.push_str(&format!("    relayed, not handed over: {}\n", doubt.sentence));
        } else if one.standing == "unchecked" {
            let risk = "it has no agent: should its host not take connections over, clients wait \
                        in vain";
            out.push_str(&format!("    {risk}; add agent = \"HOST:PORT\"\n"));
        }
    }
    out
}

/// How the agents do, and what they find wrong.
fn agents(agents: &[AgentView]) -> String {
    let mut out = "\n".to_owned();
    for one in agents {
        let age = one
            .age_s
            .map_or("never answered".to_owned(), |age_s| format!("reported {age_s:.1} s ago"));
        let fault = one.fault.as_ref().map_or(String::new(), |fault| format!(": {fault}"));
        out.push_str(&format!("  agent of {:<9} {:<22} {age}{fault}\n", one.server, one.address));
        for complaint in &one.complaints {
            out.push_str(&format!("    {complaint}\n"));
        }
    }
    out
}

/// A line for each server; names and addresses as wide as they are. Of requests that were handed
/// over (`one_way`) nothing is known here: where there were no others, nothing is said of them.
fn table(servers: &[ServerReport], one_way: bool) -> String {
    let width = |text: fn(&ServerReport) -> &str, head: &str| {
        servers.iter().map(|one| text(one).len()).max().unwrap_or(0).max(head.len())
    };
    let name = width(|one| &one.server.name, "server");
    let address = width(|one| &one.server.address, "address");
    let mut out = format!(
        "{:<name$}  {:<address$}  state      weight    load  queued       ok  failed  p90 ms  \
         exp. hits\n",
        "server", "address",
    );
    for report in servers {
        let server = &report.server;
        out.push_str(&format!(
            "{:<name$}  {:<address$}  {:<9} {:>7} {:>7.2} {}\n",
            server.name,
            server.address,
            report.standing.state.name(),
            server.weight,
            server.load,
            relayed(server, one_way),
        ));
        if !report.standing.why.is_empty() && report.standing.state.name() != "up" {
            out.push_str(&format!("  {}\n", report.standing.why));
        }
    }
    out
}

/// What the relay knows of a server, in columns.
fn relayed(server: &ServerView, one_way: bool) -> String {
    let unknown = || "-".to_owned();
    let p90 = server.duration.quantile_s(0.9);
    let believed = server.expected_hits + server.expected_misses;
    let hits = (believed > 0)
        .then(|| format!("{:.1} %", server.expected_hits as f64 * 100.0 / believed as f64));
    let nothing = one_way && server.begun == server.handed_over;
    let count = |count: u64| if nothing { unknown() } else { count.to_string() };
    format!(
        "{:>7} {:>8} {:>7} {:>7} {:>10}",
        count(server.queued),
        count(server.ok),
        count(server.failed),
        p90.map_or_else(unknown, |s| format!("{:.1}", s * 1000.0)),
        hits.unwrap_or_else(unknown),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test says no")]
mod tests {
    use super::*;
    use control::view::{ServerState, Standing};

    fn list(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    fn server(name: &str, begun: u64, handed_over: u64, ok: u64) -> ServerReport {
        let (name, address) = (name.to_owned(), "10.0.0.1:80".to_owned());
        let server = ServerView { name, address, begun, handed_over, ok, ..ServerView::default() };
        let (state, why) = (ServerState::Up, String::new());
        ServerReport { server, standing: Standing { state, why, since_unix_ms: 0, check: None } }
    }

    /// The words of the line that begins with a server's name.
    fn row<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
        text.lines()
            .find(|line| line.starts_with(name))
            .expect("its line")
            .split_whitespace()
            .collect()
    }

    #[test]
    fn where_connections_are_handed_over_the_relay_counts_for_itself_alone() {
        let view = OnewayView {
            kernel: list(&[("handed_over", 7), ("repeated", 5), ("asked", 9), ("moved", 2)]),
            asked: list(&[("handoff", 4), ("moved", 2), ("stayed", 0), ("relay", 3)]),
            local: list(&[("unconfirmed", 3), ("no-server", 0)]),
            ..OnewayView::default()
        };
        let mut status = Status { oneway: Some(view), ..Status::default() };
        let servers = [server("a", 4, 4, 0), server("b", 6, 3, 3)];
        let shown = text(&status, &servers);
        assert!(shown.contains("\nrelay: no requests\n"), "{shown}");
        assert!(!shown.contains("2xx"), "{shown}");
        let one_way = "7 handed over, 2 moved on; 5 answered by the kernel, 9 asked about\n\
                       asked about, and answered: handoff 4, moved 2, relay 3\n\
                       relayed all the same: unconfirmed 3\n";
        assert!(shown.contains(one_way), "{shown}");
        assert_eq!(row(&shown, "a ")[5..], ["-"; 5], "nothing is known: {shown}");
        assert_eq!(row(&shown, "b ")[5..8], ["0", "3", "0"], "{shown}");

        (status.requests, status.replies.success) = (3, 3);
        let shown = text(&status, &servers);
        assert!(shown.contains("\nrelay: 3 requests, 0 in flight; replies 2xx 3 3xx 0"), "{shown}");
    }

    #[test]
    fn a_switch_that_relays_everything_shows_its_zeros() {
        let shown = text(&Status::default(), &[server("a", 0, 0, 0)]);
        assert!(shown.contains("\n0 requests, 0 in flight; replies 2xx 0"), "{shown}");
        assert_eq!(row(&shown, "a ")[5..8], ["0", "0", "0"], "{shown}");
    }
}
