//! `[listen.NAME]`, `[server.NAME]` and `[admin]`: the two ends of the switch and its side door.

use super::address;
use super::agents;
use super::build::Builder;
use super::problem::Problem;
use super::raw::Env;
use super::ready::{Admin, Delivery, Listener, Secret, Server};
use super::source::Place;
use super::values::Values;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Longest name of a server or listener: it becomes a label of metrics and a column of tables.
const NAME_BYTES_MAX: usize = 64;
/// Characters a token has at least: shorter ones can be guessed over a network.
const TOKEN_CHARS_MIN: usize = 16;

impl Builder<'_> {
    pub(crate) fn listeners(&mut self) -> Vec<Listener> {
        let tables = self.document.many("listen");
        if self.document.lacks("listen") {
            let remedy = "add [listen.web] with address = \":8080\"";
            self.error(None, "there is no listener: no client could connect", remedy);
        }
        let mut seen: Vec<(SocketAddr, Option<Place>)> = Vec::new();
        let mut listeners = Vec::new();
        for table in &tables {
            self.name(table);
            let mut addresses = Vec::new();
            for (text, place) in self.needed_texts(table, "address") {
                let Some(address) = self.listen_address(&text, &place) else { continue };
                let first = seen.iter().find(|(other, _)| *other == address && other.port() != 0);
                if let Some((_, first)) = first {
                    let message = format!("{text:?} is listened on twice");
                    let problem = Problem::error(place.clone(), message, "keep one of the two");
                    self.problems.push(problem.after(first.clone()));
                }
                seen.push((address, place));
                addresses.push(address);
            }
            listeners.push(Listener {
                name: table.name.clone(),
                addresses,
                delivery: table.word("delivery").and_then(Delivery::named).unwrap_or_default(),
                congestion: table.text("congestion"),
                defer_accept: table.flag("defer_accept"),
                backlog: table.number("backlog"),
            });
        }
        listeners
    }

    pub(crate) fn servers(&mut self) -> Vec<Server> {
        let tables = self.document.many("server");
        if self.document.lacks("server") {
            let remedy = "add [server.a] with address = \"HOST:PORT\"";
            self.error(None, "there is no server: nobody could answer", remedy);
        }
        let fallback = self.document.one("queue").limit("max_inflight");
        let mut servers: Vec<Server> = Vec::new();
        for table in &tables {
            self.name(table);
            let Some((text, place)) = self.needed_texts(table, "address").into_iter().next() else {
                continue;
            };
            let address = match address::server(&text) {
                Ok(address) => address,
                Err((message, remedy)) => {
                    self.error(place, message, remedy);
                    continue;
                }
            };
            if let Some(other) = servers.iter().find(|server| server.address == address) {
                let message = format!("server {} has the address of {}", table.name, other.name);
                let remedy = "give each machine one name, and a weight";
                let first = tables.iter().find(|table| table.name == other.name);
                let problem = Problem::warning(place, message, remedy);
                self.problems.push(problem.after(first.and_then(|first| first.place("address"))));
            }
            let agent = self.agent(table);
            let own = table.is_set("max_inflight").then(|| table.limit("max_inflight"));
            servers.push(Server {
                name: table.name.clone(),
                address,
                weight: table.number("weight"),
                capacity: table.limit("capacity").map(narrow),
                max_inflight: own.unwrap_or(fallback).map(narrow),
                agent,
            });
        }
        servers
    }

    fn agent(&mut self, table: &Values) -> Option<String> {
        match agents::agent(&table.text("agent")?) {
            Ok(address) => Some(address),
            Err((message, remedy)) => {
                self.error(table.place("agent"), message, remedy);
                None
            }
        }
    }

    pub(crate) fn admin(&mut self, env: Env<'_>) -> Admin {
        let table = self.document.one("admin");
        let socket = match table.text("socket").as_deref() {
            Some("off") | None => None,
            Some("auto") => Some(socket_default(env)),
            Some(path) => Some(PathBuf::from(path)),
        };
        let token = self.token(&table);
        let Some(text) = table.text("address") else {
            if token.is_some() {
                let message = "a token guards nothing without admin.address";
                self.warning(table.place("token"), message, "add the address or remove the token");
            }
            return Admin { socket, tcp: None };
        };
        let place = table.place("address");
        let address = self.listen_address(&text, &place);
        // A token that cannot be read has been reported as that.
        let given = |key| table.is_set(key) || table.is_spoilt(key);
        let written = given("token") || given("token_file");
        if token.is_none() && !written {
            let remedy = "add token = \"${BATON_TOKEN}\" or token_file, or keep to the socket";
            self.error(place, "an admin listener on TCP needs a token", remedy);
        }
        Admin { socket, tcp: address.zip(token) }
    }

    fn token(&mut self, table: &Values) -> Option<Secret> {
        let (key, word) = match (table.text("token"), table.text("token_file")) {
            (Some(word), None) => ("token", word),
            (None, Some(path)) => match self.secret_file(Path::new(&path)) {
                Ok(word) => ("token_file", word.trim().to_owned()),
                Err(error) => {
                    let message = format!("cannot read {path}: {error}");
                    self.error(table.place("token_file"), message, "name a readable file");
                    return None;
                }
            },
            (None, None) => return None,
            (Some(_), Some(_)) => {
                let message = "there are a token and a token_file";
                self.error(table.place("token"), message, "keep one of the two");
                return None;
            }
        };
        if word.chars().count() < TOKEN_CHARS_MIN || !word.bytes().all(|b| b.is_ascii_graphic()) {
            let message = "the token is too easy or cannot be sent";
            let remedy = "use 16 or more letters and digits, such as `openssl rand -hex 16` gives";
            self.error(table.place(key), message, remedy);
            return None;
        }
        Some(Secret::new(word))
    }

    fn listen_address(&mut self, text: &str, place: &Option<Place>) -> Option<SocketAddr> {
        match address::listen(text) {
            Ok(address) => Some(address),
            Err((message, remedy)) => {
                self.error(place.clone(), message, remedy);
                None
            }
        }
    }

    fn name(&mut self, table: &Values) {
        let name = &table.name;
        let fits = (1..=NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:[]*".contains(&byte));
        if !fits {
            let message = format!("{name:?} is no name for a {}", table.section.name);
            let remedy = "use 1 to 64 letters, digits and - _ . :";
            self.error(table.place.clone(), message, remedy);
        }
    }

    /// The texts of a key that must be there, each with its place.
    fn needed_texts(&mut self, table: &Values, key: &str) -> Vec<(String, Option<Place>)> {
        let texts = match table.value(key) {
            Some(super::kind::Value::Texts(texts)) => texts,
            Some(super::kind::Value::Text(text)) => vec![(text, None)],
            _ => Vec::new(),
        };
        if texts.is_empty() && !table.is_spoilt(key) {
            let (section, name) = (table.section.name, &table.name);
            let message = format!("[{section}.{name}] has no {key}");
            let example = if section == "listen" { ":8080" } else { "HOST:PORT" };
            self.error(table.place.clone(), message, format!("add {key} = {example:?}"));
        }
        let own = |(text, place): (String, Option<Place>)| (text, place.or(table.place(key)));
        texts.into_iter().map(own).collect()
    }
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).expect("the declared bounds of counts fit 32 bits")
}

/// Where the admin socket is unless it is said: also for the commands that ask a running switch.
pub fn socket_default(env: Env<'_>) -> PathBuf {
    match env("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        Some(directory) => PathBuf::from(directory).join("baton/admin.sock"),
        None => PathBuf::from("/run/baton/admin.sock"),
    }
}
