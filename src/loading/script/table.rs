//! A table of a scenario file, key by key: what is not asked for is unknown, and said.

use crate::config::{Entry, Gravity, Place, Problem, Raw, nearest, quoted};

/// Keys of the scenario itself, which belong to no table.
const TOP: [&str; 3] = ["base", "name", "source"];

/// What is left of a table while it is read.
pub(super) struct Table<'p> {
    /// How messages call it, such as `[page]`.
    pub(super) name: String,
    /// Where it begins.
    pub(super) place: Option<Place>,
    entries: Vec<Entry>,
    /// Keys that were asked for.
    known: Vec<&'static str>,
    problems: &'p mut Vec<Problem>,
}

impl<'p> Table<'p> {
    pub(super) fn new(
        name: impl Into<String>,
        place: Option<Place>,
        entries: Vec<Entry>,
        problems: &'p mut Vec<Problem>,
    ) -> Self {
        Self { name: name.into(), place, entries, known: Vec::new(), problems }
    }

    /// The entry of a key, once.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Entry> {
        self.known.push(key);
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// Notes what is wrong.
    pub(super) fn wrong(
        &mut self,
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(Problem::error(place, message, remedy));
    }

    /// Whether anything is wrong, here or elsewhere in the file.
    pub(super) fn is_wrong(&self) -> bool {
        self.problems.iter().any(|problem| problem.gravity == Gravity::Error)
    }

    /// Notes what is odd.
    pub(super) fn odd(&mut self, place: Place, message: impl Into<String>, remedy: &str) {
        self.problems.push(Problem::warning(place, message, remedy));
    }

    /// Notes that the value of `entry` is not what is `wanted`.
    pub(super) fn unfit(&mut self, entry: &Entry, wanted: &str) {
        let message =
            format!("{} of {} cannot be {}", entry.key, self.name, entry.value.describe());
        self.wrong(entry.place.clone(), message, format!("write {wanted}"));
    }

    /// A table within this one, with the list of problems lent to it.
    pub(super) fn inner(&mut self, name: String, place: Place, entries: Vec<Entry>) -> Table<'_> {
        Table::new(name, Some(place), entries, self.problems)
    }

    /// The table of a key; an empty one when it is not there.
    pub(super) fn table(&mut self, key: &'static str) -> Table<'_> {
        let name = format!("[{key}]");
        match self.take(key) {
            Some(Entry { value: Raw::Table(entries), key_place, .. }) => {
                Table::new(name, Some(key_place), entries, self.problems)
            }
            Some(entry) => {
                let message = format!("{key} is a table, and not {}", entry.value.describe());
                self.wrong(entry.key_place, message, format!("put its keys below {name}"));
                Table::new(name, None, Vec::new(), self.problems)
            }
            None => Table::new(name, None, Vec::new(), self.problems),
        }
    }

    /// A number in a range.
    pub(super) fn number(&mut self, key: &'static str, range: (f64, f64)) -> Option<f64> {
        let entry = self.take(key)?;
        let found = number(&entry.value).filter(|value| (range.0..=range.1).contains(value));
        if found.is_none() {
            self.unfit(&entry, &between(range));
        }
        found
    }

    /// A whole number in a range.
    pub(super) fn count(&mut self, key: &'static str, range: (u32, u32)) -> Option<u32> {
        let entry = self.take(key)?;
        let found = entry.value.count().and_then(|count| u32::try_from(count).ok());
        let found = found.filter(|count| (range.0..=range.1).contains(count));
        if found.is_none() {
            self.unfit(&entry, &format!("a whole number from {} to {}", range.0, range.1));
        }
        found
    }

    /// A number that must be there, see [`Table::number`].
    pub(super) fn needed(&mut self, key: &'static str, range: (f64, f64)) -> Option<f64> {
        self.must(key);
        self.number(key, range)
    }

    /// Says so if a key that must be there is not.
    pub(super) fn must(&mut self, key: &str) {
        if !self.entries.iter().any(|entry| entry.key == key) {
            let message = format!("{} has no {key}", self.name);
            self.wrong(self.place.clone(), message, format!("write {key} = ..."));
        }
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        let entry = self.take(key)?;
        let found = entry.value.flag();
        if found.is_none() {
            self.unfit(&entry, "true or false");
        }
        found
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<(String, Place)> {
        let entry = self.take(key)?;
        let Some(text) = entry.value.text() else {
            self.unfit(&entry, "a string in quotes");
            return None;
        };
        Some((text.to_owned(), entry.place))
    }

    /// One of some words.
    pub(super) fn word(&mut self, key: &'static str, words: &[&'static str]) -> Option<usize> {
        let (text, place) = self.text(key)?;
        let found = words.iter().position(|word| *word == text);
        if found.is_none() {
            let remedy = match nearest(&text, words) {
                Some(near) => format!("did you mean {near:?}? Possible is {}", quoted(words)),
                None => format!("write one of {}", quoted(words)),
            };
            let message = format!("{key} of {} cannot be {text:?}", self.name);
            self.wrong(place, message, remedy);
        }
        found
    }

    /// Says which keys are left, that is, unknown.
    pub(super) fn finish(self) {
        for entry in &self.entries {
            if self.place.is_some() && TOP.contains(&entry.key.as_str()) {
                let (key, name) = (&entry.key, &self.name);
                let message = format!(
                    "{key} of the scenario stands above the first table: in TOML, what is below \
                     {name} belongs to it"
                );
                let remedy = format!("move the line with {key} to the top of the file");
                self.problems.push(Problem::error(entry.key_place.clone(), message, remedy));
                continue;
            }
            let remedy = match nearest(&entry.key, &self.known) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("remove it; there are {}", quoted(&self.known)),
            };
            let message = format!("there is no key {:?} in {}", entry.key, self.name);
            self.problems.push(Problem::error(entry.key_place.clone(), message, remedy));
        }
    }
}

/// A number, whole or not.
pub(super) fn number(value: &Raw) -> Option<f64> {
    value.count().map(|count| count as f64).or_else(|| value.real())
}

fn between((from, to): (f64, f64)) -> String {
    match (from, to) {
        (f64::MIN_POSITIVE, f64::MAX | f64::INFINITY) => "a number above 0".to_owned(),
        (f64::NEG_INFINITY, f64::INFINITY) => "a number, with a point if below 0".to_owned(),
        (f64::MIN_POSITIVE, to) => format!("a number above 0, at most {to}"),
        (from, to) => format!("a number from {from} to {to}"),
    }
}
