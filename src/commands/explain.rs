//! `baton explain`: which server a running switch would choose for a request, and why.

use crate::exit::{Exit, Outcome};
use crate::flags::Explain;
use control::Client;
use control::view::{ExplainView, ServerReport};
use std::io::{self, Write};

/// Asks and shows the answer.
///
/// # Errors
/// When no switch answers, or it cannot read the question.
pub fn run(args: &Explain) -> Outcome {
    let client = Client::Unix(args.at.socket());
    let answer = client.explain(&args.method, &args.url, &args.header)?;
    let mut out = io::stdout().lock();
    if args.answer.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&answer)?)?;
        return Ok(Exit::Done);
    }
    let view: ExplainView = serde_json::from_value(answer)?;
    let servers: Vec<ServerReport> = serde_json::from_value(client.get("/v1/servers")?)?;
    out.write_all(text(&view).as_bytes())?;
    out.write_all(left_out(&view, &servers).as_bytes())?;
    let named = args.header.iter().any(|field| field.to_ascii_lowercase().starts_with("host:"));
    if args.url.starts_with('/') && !named {
        writeln!(
            out,
            "\nThe host is part of the target: ask for http://HOST{} as a client does.",
            args.url
        )?;
    }
    Ok(if view.server.is_some() { Exit::Done } else { Exit::Invalid })
}

/// The servers that were not to choose from, and why.
fn left_out(view: &ExplainView, servers: &[ServerReport]) -> String {
    let chosen_from = |name: &str| view.candidates.iter().any(|one| one.server == name);
    let line = |report: &ServerReport| {
        let (name, standing) = (&report.server.name, &report.standing);
        format!("- {name:<18} {}: {}\n", standing.state.name(), standing.why)
    };
    let out = servers.iter().filter(|report| !chosen_from(&report.server.name));
    out.map(line).collect()
}

fn text(view: &ExplainView) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: &str| out.push_str(&format!("{name:<10} {value}\n"));
    line("rule", view.rule.as_deref().unwrap_or("none matches"));
    line("class", &view.class);
    line("target", &view.target_text);
    line("", &format!("{}, hash {}", view.target, view.target_hash));
    line("policy", &view.policy);
    match (&view.server, &view.reason) {
        (Some(server), Some(reason)) => {
            let expect = match view.expect.as_deref() {
                Some("hit") => ", believed to be in its cache",
                Some("miss") => ", believed not to be in its cache",
                _ => "",
            };
            line("server", &format!("{server}, because of {reason}{expect}"));
        }
        _ => line("server", "none: no server is up"),
    }
    if let Some(guard) = &view.guard {
        let load = guard.load_max.map_or("any load".to_owned(), |load| format!("load {load}"));
        let until = guard.for_ms.map_or(String::new(), |ms| format!(", for {ms:.0} ms"));
        line("guard", &format!("the same again up to {load} of that server{until}"));
    }
    for one in &view.deliveries {
        out.push_str(&format!(
            "{:<10} {} on {}: {}\n",
            "delivery", one.delivery, one.listener, one.why
        ));
        if let Some(repeat) = &one.repeat {
            out.push_str(&format!("{:<10} {repeat}\n", "repeated"));
        }
    }
    if !view.candidates.is_empty() {
        out.push_str("\ncandidate             load   pressure       cost\n");
        for one in &view.candidates {
            let mark = if view.server.as_deref() == Some(&one.server) { '*' } else { ' ' };
            let cost = one.cost.map_or("-".to_owned(), |cost| format!("{cost:.2}"));
            out.push_str(&format!(
                "{mark} {:<18} {:>6.2} {:>10.2} {cost:>10}\n",
                one.server, one.load, one.pressure
            ));
        }
    }
    out
}
