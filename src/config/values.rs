//! One table that was read: a value for each key of its section, its own or the default.

use super::keys::{Key, Preset, Section};
use super::kind::Value;
use super::raw::Raw;
use super::source::Place;
use std::time::Duration;

/// Values of one table, every one of its key's kind.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    pub(crate) section: &'static Section,
    /// The name of a named table.
    pub(crate) name: String,
    /// Where the table begins; `None` for one that is not written at all.
    pub(crate) place: Option<Place>,
    values: Vec<Option<(Value, Place)>>,
    /// Keys that were written, but wrong: to say that they are missing would mislead.
    spoilt: Vec<&'static str>,
}

/// A list with the place of each entry.
pub(crate) type Texts = Vec<(String, Option<Place>)>;

impl Values {
    pub(crate) fn new(section: &'static Section, name: &str, place: Option<Place>) -> Self {
        let values = vec![None; section.keys.len()];
        Self { section, name: name.to_owned(), place, values, spoilt: Vec::new() }
    }

    /// Sets a value.
    pub(crate) fn set(&mut self, key: &Key, value: Value, place: Place) {
        self.values[index(self.section, key.name)] = Some((value, place));
    }

    /// Notes that a key was written, but wrong.
    pub(crate) fn spoil(&mut self, key: &'static str) {
        self.spoilt.push(key);
    }

    pub(crate) fn is_spoilt(&self, key: &str) -> bool {
        self.spoilt.contains(&key)
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.values[index(self.section, name)].is_some()
    }

    /// Where a value is, or else its table.
    pub(crate) fn place(&self, name: &str) -> Option<Place> {
        let own = self.values[index(self.section, name)].as_ref().map(|(_, place)| place.clone());
        own.or_else(|| self.place.clone())
    }

    /// The value or the default.
    pub(crate) fn value(&self, name: &str) -> Option<Value> {
        let at = index(self.section, name);
        let own = self.values[at].as_ref().map(|(value, _)| value.clone());
        own.or_else(|| preset(&self.section.keys[at]))
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            other => unreachable!("{name} is declared a text, not {other:?}"),
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Texts {
        match self.value(name) {
            None => Vec::new(),
            Some(Value::Texts(texts)) => texts,
            Some(other) => unreachable!("{name} is declared a list, not {other:?}"),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Flag(flag)) => flag,
            other => unreachable!("{name} is declared a flag with a default, not {other:?}"),
        }
    }

    /// A number; `None` for a word such as "off", or when nothing is set.
    pub(crate) fn limit(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Number(number) => Some(number),
            Value::Word(_) => None,
            other => unreachable!("{name} is declared a number, not {other:?}"),
        }
    }

    /// A number that always has one.
    pub(crate) fn number<T: TryFrom<u64>>(&self, name: &str) -> T {
        let number = self.limit(name).and_then(|number| T::try_from(number).ok());
        number.expect("the declared bounds fit the type and there is a default")
    }

    /// A span; a word such as "off" is none.
    pub(crate) fn span(&self, name: &str) -> Duration {
        match self.value(name) {
            Some(Value::Span(span)) => span,
            Some(Value::Word(_)) => Duration::ZERO,
            other => unreachable!("{name} is declared a span with a default, not {other:?}"),
        }
    }

    pub(crate) fn word(&self, name: &str) -> Option<&'static str> {
        match self.value(name)? {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }
}

fn index(section: &Section, name: &str) -> usize {
    let found = section.keys.iter().position(|key| key.name == name);
    found.unwrap_or_else(|| panic!("[{}] declares no {name}", section.name))
}

/// The declared default as a value.
pub(crate) fn preset(key: &Key) -> Option<Value> {
    let Preset::Is(text) = key.preset else { return None };
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let raw = quoted.map_or_else(|| Raw::Loose(text.to_owned()), |q| Raw::Text(q.to_owned()));
    Some(key.kind.read(&raw).expect("declared defaults are of their kind: a test reads them all"))
}

#[cfg(test)]
mod tests {
    use super::super::keys::SECTIONS;
    use super::*;

    #[test]
    fn every_default_is_of_its_kind() {
        let keys = SECTIONS.iter().flat_map(|section| section.keys);
        let given = keys.filter(|key| matches!(key.preset, Preset::Is(_)));
        let values: Vec<_> = given.filter_map(preset).collect();
        assert!(values.len() > 30, "{values:?}");
    }
}
