//! `baton status`: how a running switch and its servers are.

use crate::exit::{Exit, Outcome};
use crate::flags;
use control::view::{ServerReport, Status};
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
