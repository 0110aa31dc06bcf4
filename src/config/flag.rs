//! Flags as configuration: each becomes entries of the tables that a file would have, so that a
//! mistake in a flag is shown like one in a file.

use super::problem::Problem;
use super::raw::{Entry, Raw};
use super::source::{Place, Source};

/// A flag of the command line that sets something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flag {
    /// `--listen ADDRESS:PORT`: one more listener.
    Listen(String),
    /// `--delivery NAME`, of a listener that `--listen` gave.
    Delivery {
        /// What `--listen` said.
        listener: String,
        /// The delivery.
        name: String,
    },
    /// `--server [NAME=]HOST:PORT[,KEY=VALUE...]`: one more server. Its name is its address
    /// unless one is given.
    Server(String),
    /// `--policy NAME`
    Policy(String),
    /// `--access-log FORMAT`
    AccessLog(String),
    /// `--workers COUNT`
    Workers(String),
    /// `--admin PATH`: the admin socket.
    Admin(String),
    /// `--set SECTION.KEY=VALUE`
    Set(String),
}

impl Flag {
    /// The text of the flag, under its name.
    pub(crate) fn source(&self) -> Source {
        let (name, text) = match self {
            Self::Listen(text) => ("--listen", text),
            Self::Delivery { name, .. } => ("--delivery", name),
            Self::Server(text) => ("--server", text),
            Self::Policy(text) => ("--policy", text),
            Self::AccessLog(text) => ("--access-log", text),
            Self::Workers(text) => ("--workers", text),
            Self::Admin(text) => ("--admin", text),
            Self::Set(text) => ("--set", text),
        };
        Source { name: name.to_owned(), text: text.clone() }
    }

    /// What it says, as the source with number `source`.
    pub(crate) fn entries(&self, source: usize, problems: &mut Vec<Problem>) -> Vec<Entry> {
        let written = Written { source };
        match self {
            Self::Listen(text) => written.nested(&["listen", text, "address"], text),
            Self::Delivery { listener, name } => {
                written.nested(&["listen", listener, "delivery"], name)
            }
            Self::Policy(text) => written.nested(&["policy", "name"], text),
            Self::AccessLog(text) => written.nested(&["log", "access"], text),
            Self::Workers(text) => written.nested(&["workers"], text),
            Self::Admin(text) => written.nested(&["admin", "socket"], text),
            Self::Server(text) => written.server(text, problems),
            Self::Set(text) => written.set(text, problems),
        }
    }
}

/// A flag's text; spans are into it.
struct Written {
    source: usize,
}

impl Written {
    /// Tables within tables, the last key with the value.
    fn nested(&self, keys: &[&str], value: &str) -> Vec<Entry> {
        self.nested_at(keys, value, 0, 0..value.len())
    }

    fn nested_at(
        &self,
        keys: &[&str],
        value: &str,
        value_start: usize,
        key_span: std::ops::Range<usize>,
    ) -> Vec<Entry> {
        let end = value_start + value.len();
        let place = Place::new(self.source, value_start..end);
        let key_place = Place::new(self.source, key_span);
        let mut raw = Raw::Loose(value.to_owned());
        for key in keys.iter().rev() {
            let (key, key_place, place) = ((*key).to_owned(), key_place.clone(), place.clone());
            raw = Raw::Table(vec![Entry { key, key_place, value: raw, place }]);
        }
        match raw {
            Raw::Table(entries) => entries,
            _ => Vec::new(),
        }
    }

    fn server(&self, text: &str, problems: &mut Vec<Problem>) -> Vec<Entry> {
        let (first, rest) = text.split_once(',').unwrap_or((text, ""));
        let (name, address) = first.split_once('=').unwrap_or((first, first));
        let start = first.len() - address.len();
        let mut entries =
            self.nested_at(&["server", name, "address"], address, start, 0..first.len());
        let mut at = first.len() + 1;
        for part in rest.split(',').filter(|_| !rest.is_empty()) {
            let span = at..at + part.len();
            at = span.end + 1;
            match part.split_once('=') {
                Some((key, value)) => {
                    let start = span.end - value.len();
                    let key_span = span.start..span.start + key.len();
                    entries.extend(self.nested_at(&["server", name, key], value, start, key_span));
                }
                None => {
                    let message = format!("{part:?} is no KEY=VALUE");
                    let remedy = "write [NAME=]HOST:PORT[,weight=N][,capacity=N][,max_inflight=N]";
                    problems.push(Problem::error(Place::new(self.source, span), message, remedy));
                }
            }
        }
        entries
    }

    fn set(&self, text: &str, problems: &mut Vec<Problem>) -> Vec<Entry> {
        let place = Place::new(self.source, 0..text.len());
        let Some((path, value)) = text.split_once('=') else {
            let message = format!("{text:?} is no KEY=VALUE");
            problems.push(Problem::error(place, message, "write SECTION.KEY=VALUE"));
            return Vec::new();
        };
        // A server's name may have dots in it: the first word is the section, the last the key.
        let keys: Vec<&str> = match (path.split_once('.'), path.rsplit_once('.')) {
            (Some((section, rest)), Some((front, key))) if front.len() > section.len() => {
                vec![section, &rest[..rest.len() - key.len() - 1], key]
            }
            (Some((section, key)), _) => vec![section, key],
            (None, _) => vec![path],
        };
        self.nested_at(&keys, value, path.len() + 1, 0..path.len())
    }
}
