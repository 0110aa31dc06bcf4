//! `baton status`: how a running switch and its servers are.

use crate::exit::{Exit, Outcome};
use crate::flags;
use control::view::{AgentView, OnewayView, ServerReport, Status};
use control::{Age, Client};
use std::io::{self, Write};

/// Asks and shows the answer.
///
/// # Errors
/// When no switch answers.
pub fn run(args: &flags::Status) -> Outcome {
    let client = Client::Unix(args.at.socket());
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
    out.push_str(&format!(
        "{} requests, {} in flight; replies 2xx {} 3xx {} 4xx {} 5xx {}\n\n",
        status.requests,
        status.in_flight,
        status.replies.success,
        status.replies.redirection,
        status.replies.client_error,
        status.replies.server_error
    ));
    out.push_str(&table(servers));
    if let Some(view) = &status.oneway {
        out.push_str(&one_way(view));
    }
    if !status.agents.is_empty() {
        out.push_str(&agents(&status.agents));
    }
    out
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
    let locals = view.locals();
    let some = locals.iter().filter(|(_, count)| **count > 0);
    let some: Vec<_> = some.map(|(why, count)| format!("{why} {count}")).collect();
    if !some.is_empty() {
        out.push_str(&format!("relayed all the same: {}\n", some.join(", ")));
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

/// A line for each server; names and addresses as wide as they are.
fn table(servers: &[ServerReport]) -> String {
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
        let p90 = server.duration.quantile_s(0.9);
        let p90 = p90.map_or("-".to_owned(), |s| format!("{:.1}", s * 1000.0));
        let believed = server.expected_hits + server.expected_misses;
        let hits = match believed {
            0 => "-".to_owned(),
            all => format!("{:.1} %", server.expected_hits as f64 * 100.0 / all as f64),
        };
        out.push_str(&format!(
            "{:<name$}  {:<address$}  {:<9} {:>7} {:>7.2} {:>7} {:>8} {:>7} {p90:>7} {hits:>10}\n",
            server.name,
            server.address,
            report.standing.state.name(),
            server.weight,
            server.load,
            server.queued,
            server.ok,
            server.failed,
        ));
        if !report.standing.why.is_empty() && report.standing.state.name() != "up" {
            out.push_str(&format!("  {}\n", report.standing.why));
        }
    }
    out
}
