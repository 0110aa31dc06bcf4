//! `[policy]`: the chosen row of POLICIES with its parameters.

use super::build::Builder;
use super::document::nearest;
use super::kind::{Value as Own, quoted};
use super::problem::Problem;
use super::raw::{Entry, Raw};
use super::ready::{Admission, PolicyChoice, Server};
use super::units;
use policy::{Class, Kind, POLICIES, ParamError, Params, Value};

impl Builder<'_> {
    /// The policy; `None` when there is no such one. Server names and classes are known already.
    pub(crate) fn policy(&mut self, servers: &[Server]) -> Option<PolicyChoice> {
        let table = self.document.one("policy");
        let name = table.text("name").expect("the policy has a default");
        let Some(entry) = policy::entry(&name) else {
            let names = POLICIES.iter().flat_map(|entry| entry.aliases.iter().chain([&entry.name]));
            let remedy = match nearest(&name, &names.copied().collect::<Vec<_>>()) {
                Some(near) => format!("did you mean {near:?}?"),
                None => {
                    let names: Vec<_> = POLICIES.iter().map(|entry| entry.name).collect();
                    format!("`baton policies` tells of them: {}", quoted(&names))
                }
            };
            self.error(table.place("name"), format!("there is no policy {name:?}"), remedy);
            return None;
        };
        let mut params = Params::new(entry.params);
        let given = std::mem::take(&mut self.document.params);
        for param in &given {
            self.param(entry, &mut params, param, servers);
        }
        self.thresholds(&params, &given);
        self.out_of_reach(&params, &given, servers);
        let admission = match table.value("admission") {
            Some(Own::Number(count)) => Admission::Fixed(u32::try_from(count).unwrap_or(u32::MAX)),
            Some(Own::Word("auto")) => Admission::Auto,
            _ => Admission::Off,
        };
        Some(PolicyChoice { entry, params, seed: table.number("seed"), admission })
    }

    /// A policy whose thresholds cross would move every target on every request.
    fn thresholds(&mut self, params: &Params, given: &[Entry]) {
        let count = |name: &str| {
            params.iter().find_map(|(param, value)| match value {
                Value::Count(count) if param.name == name => Some(*count),
                _ => None,
            })
        };
        let (low, high) = (count("t_low"), count("t_high"));
        if let (Some(low), Some(high)) = (low, high)
            && low >= high
        {
            let place = given.iter().find(|entry| entry.key.starts_with("t_"));
            let place = place.map(|entry| entry.place.clone());
            let message = format!("t_low is {low} and t_high {high}: nothing lies between them");
            self.error(place, message, "set t_low below t_high");
        }
    }

    /// A server that is full before the policy moves targets away makes their requests wait.
    fn out_of_reach(&mut self, params: &Params, given: &[Entry], servers: &[Server]) {
        let high = params.iter().find_map(|(param, value)| match value {
            Value::Count(count) if param.name == "t_high" => Some(*count),
            _ => None,
        });
        let Some(high) = high else { return };
        let below = |server: &&Server| server.max_inflight.is_some_and(|m| u64::from(m) < high);
        let Some(server) = servers.iter().find(below) else { return };
        let (name, most) = (&server.name, server.max_inflight.unwrap_or(0));
        let place = given.iter().find(|entry| entry.key == "t_high");
        let place = place.map(|entry| entry.place.clone()).or_else(|| {
            let own = self.document.many("server").into_iter().find(|table| table.name == *name);
            let own = own.filter(|table| table.is_set("max_inflight"));
            own.unwrap_or_else(|| self.document.one("queue")).place("max_inflight")
        });
        let message = format!(
            "t_high is {high}, but server {name} is full at {most}: before that the policy never \
             moves targets away from it"
        );
        let remedy = "set t_high = \"auto\" and the server's capacity, or lower it";
        self.warning(place, message, remedy);
    }

    fn param(
        &mut self,
        policy: &policy::Entry,
        params: &mut Params,
        entry: &Entry,
        servers: &[Server],
    ) {
        let name = policy.name;
        let declared = policy.params.iter().find(|param| param.name == entry.key);
        let Some(declared) = declared else {
            let names: Vec<_> = policy.params.iter().map(|param| param.name).collect();
            let other = POLICIES.iter().find(|row| row.params.iter().any(|p| p.name == entry.key));
            let remedy = match (nearest(&entry.key, &names), other) {
                (Some(near), _) => format!("did you mean {near:?}?"),
                (None, Some(row)) => {
                    format!("it is a parameter of {:?}: choose that, or remove it", row.name)
                }
                (None, None) if names.is_empty() => "remove it: it has none".to_owned(),
                (None, None) => format!("remove it; there are {}", quoted(&names)),
            };
            let message = format!("the policy {name} has no parameter {:?}", entry.key);
            return self.error(Some(entry.key_place.clone()), message, remedy);
        };
        let Some(value) = self.param_value(declared.kind, entry, servers) else { return };
        if let Err(ParamError::Invalid(wanted)) = params.set(declared.name, value) {
            let found = entry.value.describe();
            let message = format!("policy.{} cannot be {found}", entry.key);
            self.error(Some(entry.place.clone()), message, format!("write {wanted}"));
        }
    }

    /// The value as the policy crate knows it; bounds are checked there.
    fn param_value(&mut self, kind: Kind, entry: &Entry, servers: &[Server]) -> Option<Value> {
        let raw = &entry.value;
        if matches!(raw, Raw::Broken) {
            return None;
        }
        let text = raw.text();
        let value = match kind {
            Kind::CountOrAuto { .. } if text == Some("auto") => Some(Value::Auto),
            Kind::Count { .. } | Kind::CountOrAuto { .. } => raw.count().map(Value::Count),
            Kind::Real { .. } => {
                let percent =
                    text.and_then(units::percent).map(|percent| f64::from(percent) / 100.);
                let count = raw.count().map(|count| count as f64);
                raw.real().or(count).or(percent).map(Value::Real)
            }
            Kind::Span => text.and_then(units::span).map(Value::Span),
            Kind::Word(words) => {
                words.iter().find(|word| Some(**word) == text).map(|word| Value::Word(word))
            }
            Kind::Partition => return self.partition(entry, servers),
        };
        if value.is_none() {
            let (found, wanted) = (raw.describe(), kind.describe());
            let message = format!("policy.{} cannot be {found}", entry.key);
            self.error(Some(entry.place.clone()), message, format!("write {wanted}"));
        }
        value
    }

    /// `partition = { static = ["a", "b"], cpu = ["c"] }`
    fn partition(&mut self, entry: &Entry, servers: &[Server]) -> Option<Value> {
        let Raw::Table(classes) = &entry.value else {
            let message = format!("policy.{} is {}", entry.key, entry.value.describe());
            let remedy = "write { CLASS = [\"SERVER\", ...], ... }";
            self.error(Some(entry.place.clone()), message, remedy);
            return None;
        };
        let mut parts = Vec::new();
        for Entry { key, key_place, value, place } in classes {
            let Some(class) = self.classes.class(key) else {
                let names: Vec<_> = self.classes.iter().map(str::to_owned).collect();
                let message = format!("there is no class {key:?}");
                self.error(Some(key_place.clone()), message, format!("use {}", quoted(&names)));
                continue;
            };
            let names = self.server_names(value, place, servers);
            parts.push((class, names));
        }
        parts.sort_by_key(|(class, _): &(Class, _)| *class);
        Some(Value::Partition(parts))
    }

    fn server_names(
        &mut self,
        value: &Raw,
        place: &super::Place,
        servers: &[Server],
    ) -> Vec<Box<str>> {
        let single = [(value.clone(), place.clone())];
        let list = if let Raw::List(list) = value { list.as_slice() } else { &single };
        let mut names = Vec::new();
        for (item, place) in list {
            let text = item.text().unwrap_or("");
            if servers.iter().any(|server| server.name == text) {
                names.push(text.into());
            } else {
                let known: Vec<_> = servers.iter().map(|server| &server.name).collect();
                let message = format!("{} is no server", item.describe());
                let remedy = format!("name servers of this file: {}", quoted(&known));
                self.problems.push(Problem::error(place.clone(), message, remedy));
            }
        }
        names
    }
}
