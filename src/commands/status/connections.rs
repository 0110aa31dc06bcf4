//! `baton status --connections`: where each connection is that was handed over, and how it is
//! delivered.

use crate::exit::{Exit, Outcome};
use control::view::{ConnectionView, ConnectionsView};
use control::{Age, Client};
use std::io::{self, Write};

/// Asks for `count` at most, and shows the answer.
///
/// # Errors
/// When no switch answers.
pub(super) fn show(client: &Client, count: u16, json: bool) -> Outcome {
    let answer = client.get(&format!("/v1/connections?n={count}"))?;
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&answer)?)?;
        return Ok(Exit::Done);
    }
    let view: ConnectionsView = serde_json::from_value(answer)?;
    out.write_all(text(&view).as_bytes())?;
    Ok(Exit::Done)
}

fn text(view: &ConnectionsView) -> String {
    let shown = &view.connections;
    let mut out = format!("one way: {} connections open; {} shown\n", view.open, shown.len());
    if shown.is_empty() {
        return out;
    }
    let width = |text: fn(&ConnectionView) -> &str, head: &str| {
        shown.iter().map(|one| text(one).len()).max().unwrap_or(0).max(head.len())
    };
    let client = width(|one| &one.client, "client");
    let listener = width(|one| &one.listener, "listener");
    let server = width(|one| &one.server, "server");
    let mut row = |cells: [&str; 9]| {
        let [from, to, who, how, state, age, idle, requests, moves] = cells;
        out.push_str(&format!(
            "{from:<client$}  {to:<listener$}  {how:<13}  {who:<server$}  {state:<11} {age:>13} \
             {idle:>13} {requests:>9} {moves:>6}\n"
        ));
    };
    let heads = "client listener server delivery state age silent requests moves";
    let mut heads = heads.split(' ');
    row(std::array::from_fn(|_| heads.next().unwrap_or_default()));
    for one in shown {
        let (age, idle) = (Age(one.age_s).to_string(), Age(one.idle_s).to_string());
        let (requests, moves) = (one.requests.to_string(), one.moves.to_string());
        let (client, listener, server) = (&one.client, &one.listener, &one.server);
        let (delivery, state) = (&one.delivery, &one.state);
        row([client, listener, server, delivery, state, &age, &idle, &requests, &moves]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let one = |client: &str, idle_s| ConnectionView {
            client: client.to_owned(),
            listener: "192.0.2.100:80".to_owned(),
            delivery: "multi-handoff".to_owned(),
            server: "web1".to_owned(),
            state: "half-closed".to_owned(),
            age_s: 3661.0,
            idle_s,
            requests: 7,
            moves: 2,
        };
        let both = vec![one("192.0.2.7:40000", 0.2), one("[2001:db8::1]:7", 90_000.0)];
        let shown = text(&ConnectionsView { open: 9, connections: both });
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[0], "one way: 9 connections open; 2 shown");
        assert!(lines[1..].iter().all(|line| line.len() == lines[1].len()), "{shown}");
        let words: Vec<_> = lines[2].split_whitespace().collect();
        let wanted =
            "192.0.2.7:40000 192.0.2.100:80 multi-handoff web1 half-closed 1 h 1 min 0 s 7 2";
        assert_eq!(words.join(" "), wanted);
        assert_eq!(text(&ConnectionsView::default()).lines().count(), 1);
    }
}
