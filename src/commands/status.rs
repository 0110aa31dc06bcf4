//! `baton status`: how a running switch and its servers are.

use crate::exit::{Exit, Outcome};
use crate::flags;
use control::Client;
use control::view::{ServerReport, Status};
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
        "baton {} ({}), pid {}, up {:.0} s, {} workers, policy {}\n",
        status.version,
        status.config.source,
        status.pid,
        status.uptime_s,
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
    out.push_str(
        "server               state      weight    load  queued       ok  failed  p90 ms\n",
    );
    for report in servers {
        let server = &report.server;
        let p90 = server.duration.quantile_s(0.9);
        let p90 = p90.map_or("-".to_owned(), |s| format!("{:.1}", s * 1000.0));
        out.push_str(&format!(
            "{:<20} {:<9} {:>7} {:>7.2} {:>7} {:>8} {:>7} {p90:>7}\n",
            server.name,
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
