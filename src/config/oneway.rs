//! `[oneway]` and the deliveries that need it: what is said, and what does not go together.
//!
//! A switch that hands connections over sees neither replies nor the end of a request, so some
//! keys cannot hold there. Whoever set them is told, once each.

use super::address;
use super::build::Builder;
use super::kind::Value;
use super::problem::Problem;
use super::ready::{Listener, PolicyChoice, Server};
use super::source::Place;
use super::values::Values;
use distributor::Delivery;
use rules::Part;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How connections are handed to servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oneway {
    /// Interfaces by which clients come and servers are reached; at least one.
    pub interfaces: Vec<String>,
    /// What front-end and servers know each other's messages by.
    pub key: Key,
    /// UDP port of those messages.
    pub port: u16,
    /// Where servers are.
    pub network: Network,
    /// Whether SYNs are answered in the driver.
    pub early: bool,
    /// How long a connection may be silent.
    pub idle: Duration,
    /// Connections handed over at once.
    pub flows_max: u32,
    /// Answers that the kernel may repeat.
    pub memos_max: u32,
    /// Where the kernel's tables outlive the process.
    pub pin: PathBuf,
}

/// The shared key, which is never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// The 32 hexadecimal digits of a key.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().as_bytes();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let number = u128::from_str_radix(text.trim(), 16).ok()?;
        Some(Self(number.to_be_bytes()))
    }

    /// Its bytes, in the order of the digits.
    pub fn expose(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Where servers are, seen from the front-end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// On the same layer-2 network.
    Neighbours,
    /// Behind routers.
    Routed,
}

/// Policies that learn from the times of replies.
const LEARN_FROM_REPLIES: &[&str] = &["peak-ewma", "prequal", "wrr-time"];

/// Keys that hold for requests that pass the switch, and for no others.
const OF_THE_SWITCH: &[(&str, &str)] = &[("queue", "max_inflight"), ("policy", "admission")];

/// Keys that hold for requests that pass a relay: the switch, or an agent's that forwards.
const OF_A_RELAY: &[(&str, &str)] = &[
    ("limits", "body"),
    ("retry", "attempts"),
    ("retry", "budget"),
    ("timeouts", "first_byte"),
    ("timeouts", "body"),
    ("forwarded", "x_forwarded"),
    ("forwarded", "forwarded"),
    ("forwarded", "via"),
    ("forwarded", "request_id"),
];

const KEY_REMEDY: &str = "use 32 hexadecimal digits, such as `openssl rand -hex 16` gives";

impl Builder<'_> {
    /// `[oneway]`; `None` without one, or after mistakes in it.
    pub(crate) fn oneway(&mut self) -> Option<Oneway> {
        if self.document.lacks("oneway") {
            return None;
        }
        let table = self.document.one("oneway");
        let interfaces = self.interfaces(&table);
        let key = self.oneway_key(&table);
        let pin = PathBuf::from(table.text("pin").expect("the folder of pins has a default"));
        if !pin.is_absolute() {
            let remedy = "name a folder below /sys/fs/bpf";
            self.error(table.place("pin"), "oneway.pin is not absolute", remedy);
        }
        let network = match table.word("network") {
            Some("routed") => Network::Routed,
            _ => Network::Neighbours,
        };
        Some(Oneway {
            interfaces: interfaces?,
            key: key?,
            port: table.number("port"),
            network,
            early: table.flag("early"),
            idle: table.span("idle"),
            flows_max: table.number("flows_max"),
            memos_max: table.number("memos_max"),
            pin,
        })
    }

    fn interfaces(&mut self, table: &Values) -> Option<Vec<String>> {
        let texts = table.texts("interfaces");
        if texts.is_empty() {
            if !table.is_spoilt("interfaces") {
                let remedy = "add interfaces = [\"eth0\"]; `ip route` shows their names";
                self.error(table.place.clone(), "[oneway] names no interfaces", remedy);
            }
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        for (name, place) in texts {
            let place = place.or_else(|| table.place("interfaces"));
            // IFNAMSIZ less the zero, and what the kernel's dev_valid_name refuses.
            let fits = name.len() <= 15
                && name != "."
                && name != ".."
                && !name.contains(['/', ':'])
                && !name.contains(char::is_whitespace);
            if !fits {
                let message = format!("{name:?} is no name of an interface");
                self.error(place, message, "`ip link` shows them");
            } else if names.contains(&name) {
                self.error(place, format!("{name:?} is there twice"), "keep one of the two");
            } else {
                names.push(name);
            }
        }
        Some(names)
    }

    fn oneway_key(&mut self, table: &Values) -> Option<Key> {
        let (name, word) = match (table.text("key"), table.text("key_file")) {
            (Some(_), Some(_)) => {
                let remedy = "keep one of the two";
                self.error(table.place("key"), "there are a key and a key_file", remedy);
                return None;
            }
            (Some(word), None) => ("key", word),
            (None, Some(path)) => match self.secret_file(Path::new(&path)) {
                Ok(word) => {
                    self.warn_of_readers(table, &path);
                    ("key_file", word)
                }
                Err(error) => {
                    let message = format!("cannot read {path}: {error}");
                    self.error(table.place("key_file"), message, "name a readable file");
                    return None;
                }
            },
            (None, None) => {
                // One that cannot be read has been reported as that.
                if !table.is_spoilt("key") && !table.is_spoilt("key_file") {
                    let message = "[oneway] has no key: anybody could move connections";
                    let remedy = "add key = \"${BATON_ONEWAY_KEY}\" or key_file; `openssl rand \
                                  -hex 16` makes one";
                    self.error(table.place.clone(), message, remedy);
                }
                return None;
            }
        };
        let key = Key::parse(&word);
        if key.is_none() {
            self.error(table.place(name), "the key is not 16 bytes in hexadecimal", KEY_REMEDY);
        }
        key
    }

    /// Who has the key can move and reset every connection.
    fn warn_of_readers(&mut self, table: &Values, path: &str) {
        let file = self.directory.map(|directory| directory.join(path));
        let mode = file.and_then(|file| file.metadata().ok()).map(|data| data.permissions().mode());
        if mode.is_some_and(|mode| mode & 0o077 != 0) {
            let message = format!("{path} is open to others than its owner");
            self.warning(table.place("key_file"), message, format!("chmod 600 {path}"));
        }
    }

    /// What does not go together with listeners that hand connections over.
    pub(crate) fn one_way_contradictions(
        &mut self,
        listeners: &[Listener],
        servers: &[Server],
        policy: Option<&PolicyChoice>,
    ) {
        let tables = self.document.many("listen");
        let one_way = |table: &&Values| {
            table.word("delivery").and_then(Delivery::named).is_some_and(Delivery::one_way)
        };
        let splice = |table: &&Values| table.word("delivery") == Some(Delivery::Splice.name());
        if let Some(table) = tables.iter().find(splice).filter(|_| !cfg!(feature = "oneway")) {
            let message = "this baton was built without eBPF, which delivery \"splice\" needs";
            let remedy = "build it with clang there and the feature oneway, which is on by \
                          default, or use delivery = \"relay\"";
            return self.error(table.place("delivery"), message, remedy);
        }
        let Some(first) = tables.iter().find(one_way) else {
            if !self.document.lacks("oneway") {
                let place = self.document.one("oneway").place;
                let remedy = "give a listener delivery = \"handoff\", or remove [oneway]";
                self.warning(place, "no listener hands connections over", remedy);
            }
            return;
        };
        let place = first.place("delivery");
        // A text alone is judged for any baton, a file for this one.
        if !cfg!(feature = "oneway") && self.directory.is_some() {
            let message = "this baton was built without one-way delivery";
            let remedy = "build it with clang there and the feature oneway, which is on by \
                          default, or use delivery = \"relay\"";
            return self.error(place, message, remedy);
        }
        if self.document.lacks("oneway") {
            let name = first.word("delivery").expect("it was found by its delivery");
            let message = format!("delivery {name:?} needs [oneway]");
            self.error(place.clone(), message, "add [oneway] with interfaces and a key");
        }
        for table in tables.iter().filter(one_way) {
            self.virtual_addresses(table, listeners);
        }
        if listeners.iter().any(|listener| listener.delivery == Delivery::Forward) {
            self.forwarders(servers);
        } else if !self.document.lacks("oneway") {
            self.unchecked(servers, &place);
        }
        if let Some(policy) = policy {
            self.learners(policy, servers, &place);
        }
        let relayed = |one: &Listener| !one.delivery.one_way() || one.delivery == Delivery::Forward;
        self.of_the_relay(&place, listeners.iter().all(relayed));
        self.asked_always(&place);
    }

    /// The kernel knows the connections of such a listener by their very address.
    fn virtual_addresses(&mut self, table: &Values, listeners: &[Listener]) {
        let Some(listener) = listeners.iter().find(|listener| listener.name == table.name) else {
            return;
        };
        let texts = match table.value("address") {
            Some(Value::Texts(texts)) => texts,
            _ => return,
        };
        for (text, place) in texts {
            let place = place.or_else(|| table.place("address"));
            let Ok(address) = address::listen(&text) else { continue };
            if address.ip().is_unspecified() || address.ip().is_multicast() {
                let name = listener.delivery.name();
                let message = format!("delivery {name:?} wants the very address, not {text:?}");
                let remedy = "name the address that clients connect to, and that every server \
                              has on its loopback";
                self.error(place, message, remedy);
            } else if address.port() == 0 {
                let message = "a port that the kernel chooses cannot be handed over";
                self.error(place, message, "name the port that clients connect to");
            }
        }
    }

    /// Who forwards for others is the agent.
    fn forwarders(&mut self, servers: &[Server]) {
        let tables = self.document.many("server");
        for server in servers.iter().filter(|server| server.agent.is_none()) {
            let table = tables.iter().find(|table| table.name == server.name);
            let message =
                format!("server {} has no agent, and delivery \"forward\" needs it", server.name);
            let remedy = "add agent = \"HOST:PORT\" and run `baton agent` there";
            self.error(table.and_then(|table| table.place.clone()), message, remedy);
        }
    }

    fn learners(&mut self, policy: &PolicyChoice, servers: &[Server], listener: &Option<Place>) {
        let name = policy.entry.name;
        let blind = servers.iter().any(|server| server.agent.is_none());
        if !LEARN_FROM_REPLIES.contains(&name) || !blind {
            return;
        }
        let table = self.document.one("policy");
        let message = format!(
            "policy {name:?} learns from replies, and those of connections that are handed over \
             do not pass here"
        );
        let remedy = "give every server an agent, whose reports stand in, or choose another policy";
        let problem = Problem::warning(table.place("name"), message, remedy);
        self.problems.push(problem.after(listener.clone()));
    }

    /// Keys that somebody set and that hold for relays alone. `relayed`: every request meets one,
    /// the switch's or an agent's.
    fn of_the_relay(&mut self, listener: &Option<Place>, relayed: bool) {
        let mut found: Vec<(String, Option<Place>)> = Vec::new();
        let of_a_relay = if relayed { &[] } else { OF_A_RELAY };
        for (section, key) in OF_THE_SWITCH.iter().chain(of_a_relay) {
            let table = self.document.one(section);
            if table.is_set(key) {
                found.push((format!("{section}.{key}"), table.place(key)));
            }
        }
        for table in self.document.many("server").iter().filter(|t| t.is_set("max_inflight")) {
            let name = format!("server.{}.max_inflight", table.name);
            found.push((name, table.place("max_inflight")));
        }
        for (name, place) in found {
            let message = format!("{name} does not hold for connections that are handed over");
            let remedy = "it holds for what the relay takes; a [[rule]] with delivery = \"relay\" \
                          sends more there";
            self.problems.push(Problem::note(place, message, remedy).after(listener.clone()));
        }
    }

    /// Rules by header fields: the kernel reads the request line and Host alone.
    fn asked_always(&mut self, listener: &Option<Place>) {
        for table in self.document.many("rule") {
            let by_target = table.text("target").and_then(|text| text.parse().ok());
            let by_target = by_target.is_some_and(|target: rules::TargetSpec| {
                target.parts().iter().any(|p| matches!(p, Part::Header(_) | Part::Cookie(_)))
            });
            let mut keys = ["header", "cookie"].into_iter().filter(|key| table.is_set(key));
            let Some(key) = keys.next().or(by_target.then_some("target")) else { continue };
            let message = "the kernel cannot repeat what is decided by a header field: such \
                           requests are asked for one by one";
            let remedy = "nothing, if they are few; each costs some ten microseconds";
            let problem = Problem::note(table.place(key), message, remedy);
            self.problems.push(problem.after(listener.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
