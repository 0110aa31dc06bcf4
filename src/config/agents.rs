//! Who reports for servers, and how often they are asked: `[agents]` and `agent` of servers.
//!
//! Policies may go by what servers say of themselves; hand-overs do, too. What nobody reports is
//! said when the configuration is read, not found out by clients.

use super::address;
use super::build::Builder;
use super::document::Document;
use super::problem::Problem;
use super::ready::{PolicyChoice, Server};
use super::source::Place;
use super::values::Values;
use policy::Value;
use std::time::Duration;

impl Builder<'_> {
    /// How often agents are asked: `period` of `[agents]`, or `agent_period` of `[oneway]`.
    pub(crate) fn agent_period(&mut self) -> Duration {
        let (table, oneway) = (self.document.one("agents"), self.document.one("oneway"));
        if !oneway.is_set("agent_period") {
            return table.span("period");
        }
        if table.is_set("period") {
            let message = "period of [agents] and oneway.agent_period say the same";
            let problem = Problem::error(oneway.place("agent_period"), message, "keep the first");
            self.problems.push(problem.after(table.place("period")));
        }
        oneway.span("agent_period")
    }

    /// A server that connections are handed to, and that nobody can say is able to take them.
    pub(crate) fn unchecked(&mut self, servers: &[Server], listener: &Option<Place>) {
        for server in servers.iter().filter(|server| server.agent.is_none()) {
            let table = table_of(self.document, server);
            // One that cannot be read has been reported as that.
            if table.as_ref().is_some_and(|one| one.is_set("agent") || one.is_spoilt("agent")) {
                continue;
            }
            let message = format!(
                "server {} has no agent: should its host not take connections over (another key, \
                 no program, no address of the clients), its clients wait in vain and nobody \
                 notices",
                server.name
            );
            let remedy = "add agent = \"HOST:PORT\": connections are then handed over only while \
                          its agent has nothing against it";
            let problem = Problem::warning(table.and_then(|one| one.place), message, remedy);
            self.problems.push(problem.after(listener.clone()));
        }
    }

    /// A policy that goes by reports, and servers that make none.
    pub(crate) fn silent(&mut self, policy: &PolicyChoice, servers: &[Server]) {
        let Some(what) = wants(policy) else { return };
        let silent: Vec<&Server> = servers.iter().filter(|one| one.agent.is_none()).collect();
        let Some(first) = silent.first() else { return };
        let name = policy.entry.name;
        let (who, has) = match silent.len() {
            1 => (format!("server {}", first.name), "has"),
            count if count == servers.len() => ("the servers".to_owned(), "have"),
            count => (format!("{count} of the servers, such as {},", first.name), "have"),
        };
        let message = format!("policy {name:?} {what}, and {who} {has} no agent to report it");
        let remedy = "add agent = \"HOST:PORT\" and run `baton agent --report-only` there, or \
                      choose what needs no reports";
        let table = self.document.one("policy");
        let place = if table.is_set("name") { table.place("name") } else { table.place.clone() };
        self.warning(place, message, remedy);
    }
}

fn table_of(document: &Document, server: &Server) -> Option<Values> {
    document.many("server").into_iter().find(|table| table.name == server.name)
}

/// What a policy reads in reports, if it does.
fn wants(policy: &PolicyChoice) -> Option<&'static str> {
    let by_utilisation = policy.params.iter().any(|(param, value)| {
        param.name == "metric" && matches!(value, Value::Word(word) if *word == "utilisation")
    });
    match policy.entry.name {
        _ if by_utilisation => Some("goes by the utilisation that servers report"),
        "lard-ext" => Some("knows an idle disk by the queue that servers report"),
        _ => None,
    }
}

/// The address of an agent: `HOST:PORT`, perhaps with the beginning of a path behind it.
pub(crate) fn agent(text: &str) -> Result<String, address::Refusal> {
    let (authority, prefix) = text.split_once('/').unwrap_or((text, ""));
    let (_, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    if port.parse::<u16>().is_err() {
        let remedy = "write HOST:PORT, such as \"10.0.0.1:7118\"";
        return Err((format!("{text:?} has no port"), remedy));
    }
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"?#\"\\".contains(&byte);
    if !prefix.bytes().all(fits) {
        let remedy = "write HOST:PORT/PREFIX, of which GET /PREFIX/load is asked";
        return Err((format!("{text:?} has no path that can be asked for"), remedy));
    }
    let authority = address::server(authority)?;
    let prefix = prefix.trim_matches('/');
    Ok(if prefix.is_empty() { authority } else { format!("{authority}/{prefix}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_may_be_below_a_path() {
        for (text, wanted) in [
            ("10.0.0.1:7118", "10.0.0.1:7118"),
            ("10.0.0.1:80/.origin", "10.0.0.1:80/.origin"),
            ("10.0.0.1:80/.origin/", "10.0.0.1:80/.origin"),
            ("[2001:db8::1]:80/a/b", "[2001:db8::1]:80/a/b"),
            ("h:80/", "h:80"),
        ] {
            assert_eq!(agent(text).unwrap(), wanted, "{text}");
        }
        for text in ["10.0.0.1", "10.0.0.1/x:80", "h:80/a b", "h:80/a?b", "h:99999/x"] {
            assert!(agent(text).is_err(), "{text}");
        }
    }
}
