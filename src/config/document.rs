//! From what was written to tables of values: every key is known, of its kind, and set once.

use super::keys::{self, Form, Key, SECTIONS, Section};
use super::kind::{Kind, quoted};
use super::problem::Problem;
use super::raw::{Entry, Raw};
use super::source::Place;
use super::values::Values;

/// All tables of a configuration, whatever files and flags they come from.
#[derive(Debug)]
pub(crate) struct Document {
    /// Sources before this one are flags: what they say replaces what files say.
    flags: usize,
    tables: Vec<Values>,
    /// Sections that were written, but not as tables.
    spoilt: Vec<&'static str>,
    /// Keys of `[policy]` that are parameters.
    pub(crate) params: Vec<Entry>,
    pub(crate) problems: Vec<Problem>,
}

impl Document {
    /// No tables yet; the first `flags` sources are flags.
    pub(crate) fn new(flags: usize, problems: Vec<Problem>) -> Self {
        Self { flags, tables: Vec::new(), spoilt: Vec::new(), params: Vec::new(), problems }
    }

    /// Adds what one source says. Flags come first.
    pub(crate) fn add(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.top(entry);
        }
    }

    /// Whether nothing at all was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.params.is_empty()
    }

    /// Whether a section is not written at all, not even wrongly.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        !self.spoilt.contains(&name) && !self.tables.iter().any(|table| table.section.name == name)
    }

    /// The only table of a section; all defaults when it is not written.
    pub(crate) fn one(&self, name: &str) -> Values {
        let declared = keys::section(name).expect("only declared sections are asked for");
        let found = self.tables.iter().find(|table| table.section.name == name);
        found.cloned().unwrap_or_else(|| Values::new(declared, "", None))
    }

    /// The tables of a section that has many, in order.
    pub(crate) fn many(&self, name: &str) -> Vec<Values> {
        self.tables.iter().filter(|table| table.section.name == name).cloned().collect()
    }

    fn top(&mut self, entry: Entry) {
        let declared = keys::section(&entry.key).filter(|section| !section.name.is_empty());
        let Some(section) = declared else {
            let top = keys::section("").expect("there are keys outside of tables");
            let at = self.table(top, "", &entry.key_place);
            return self.entry(at, entry);
        };
        match (section.form, entry.value) {
            (Form::One | Form::Open, Raw::Table(entries)) => {
                self.entries(section, "", &entry.key_place, entries);
            }
            (Form::Named, Raw::Table(tables)) => {
                for table in tables {
                    match table.value {
                        Raw::Table(entries) => {
                            self.entries(section, &table.key, &table.key_place, entries);
                        }
                        other => self.misplaced(section, table.key_place, &other),
                    }
                }
            }
            (Form::Many, Raw::List(items)) => {
                for (item, place) in items {
                    match item {
                        Raw::Table(entries) => self.entries(section, "", &place, entries),
                        other => self.misplaced(section, place, &other),
                    }
                }
            }
            (_, other) => self.misplaced(section, entry.key_place, &other),
        }
    }

    fn misplaced(&mut self, section: &'static Section, place: Place, found: &Raw) {
        let name = section.name;
        self.spoilt.push(name);
        let form = match section.form {
            Form::Named => format!("[{name}.NAME]"),
            Form::Many => format!("[[{name}]]"),
            Form::Top | Form::One | Form::Open => format!("[{name}]"),
        };
        let message = format!("{name} consists of tables {form}, and this is {}", found.describe());
        let remedy = match (section.form, found) {
            (Form::Many, Raw::Table(_)) => format!("write {form}, with two brackets"),
            (_, Raw::List(_)) => format!("write {form}, with single brackets"),
            _ => format!("put keys below {form}"),
        };
        self.problems.push(Problem::error(place, message, remedy));
    }

    fn entries(&mut self, section: &'static Section, name: &str, place: &Place, list: Vec<Entry>) {
        let at = self.table(section, name, place);
        for entry in list {
            self.entry(at, entry);
        }
    }

    /// The index of the table of that name; of a new one where tables have no names.
    fn table(&mut self, section: &'static Section, name: &str, place: &Place) -> usize {
        let same = |table: &Values| table.section.name == section.name && table.name == name;
        let found = self.tables.iter().position(same).filter(|_| section.form != Form::Many);
        found.unwrap_or_else(|| {
            self.tables.push(Values::new(section, name, Some(place.clone())));
            self.tables.len() - 1
        })
    }

    fn entry(&mut self, at: usize, entry: Entry) {
        let section = self.tables[at].section;
        let Some(key) = section.keys.iter().find(|key| key.name == entry.key) else {
            match section.form {
                Form::Open => self.param(entry),
                _ => self.unknown(at, &entry),
            }
            return;
        };
        if self.tables[at].is_set(key.name) {
            let earlier = self.tables[at].place(key.name);
            return self.again(earlier, &entry);
        }
        match key.kind.read(&entry.value) {
            Ok(value) => self.tables[at].set(key, value, entry.place),
            Err(_) if matches!(entry.value, Raw::Broken) => self.tables[at].spoil(key.name),
            Err(inner) => self.unfit(at, key, &entry, inner),
        }
    }

    fn param(&mut self, entry: Entry) {
        match self.params.iter().find(|param| param.key == entry.key) {
            None => self.params.push(entry),
            Some(earlier) => self.again(Some(earlier.place.clone()), &entry),
        }
    }

    /// A key that is set already: a flag replaces what a file says, all else is a mistake.
    fn again(&mut self, earlier: Option<Place>, entry: &Entry) {
        let flag = |place: &Place| place.source < self.flags;
        if earlier.as_ref().is_some_and(flag) && !flag(&entry.place) {
            return;
        }
        let message = format!("{} is set twice", entry.key);
        let problem = Problem::error(entry.key_place.clone(), message, "keep one of the two");
        self.problems.push(problem.after(earlier));
    }

    fn unfit(&mut self, at: usize, key: &Key, entry: &Entry, inner: Option<Place>) {
        let table = &mut self.tables[at];
        table.spoil(key.name);
        let path = [table.section.name, &table.name, key.name];
        let path: Vec<_> = path.into_iter().filter(|part| !part.is_empty()).collect();
        let path = path.join(".");
        let (place, message) = match inner {
            Some(place) => (place, format!("an entry of {path} is no string, or empty")),
            None => (entry.place.clone(), format!("{path} cannot be {}", entry.value.describe())),
        };
        let wanted = key.kind.describe();
        let near = match (entry.value.text(), key.kind) {
            (Some(text), Kind::Word(words)) => nearest(text, words),
            _ => None,
        };
        let remedy = match (near, key.kind.example()) {
            (Some(near), _) => format!("did you mean {near:?}? Possible is {wanted}"),
            (None, Some(example)) => format!("write {wanted}, such as {example}"),
            (None, None) => format!("write {wanted}"),
        };
        self.problems.push(Problem::error(place, message, remedy));
    }

    fn unknown(&mut self, at: usize, entry: &Entry) {
        let section = self.tables[at].section;
        let own = section.keys.iter().map(|key| key.name);
        let tables = SECTIONS.iter().map(|section| section.name).filter(|name| !name.is_empty());
        let names: Vec<_> =
            if section.form == Form::Top { own.chain(tables).collect() } else { own.collect() };
        let elsewhere = SECTIONS.iter().find(|other| {
            other.name != section.name && other.keys.iter().any(|key| key.name == entry.key)
        });
        let near = nearest(&entry.key, &names);
        if let Some(near) = near {
            self.tables[at].spoil(near);
        }
        let remedy = match (near, elsewhere) {
            (Some(near), _) => format!("did you mean {near:?}?"),
            (None, Some(other)) if section.form == Form::Top => {
                format!("it belongs into [{}]", other.name)
            }
            (None, Some(other)) => format!("[{}] has such a key: move it there", other.name),
            (None, None) => format!("remove it; there are {}", quoted(&names)),
        };
        let place = match section.form {
            Form::Top => "outside of any table".to_owned(),
            Form::Many => format!("in [[{}]]", section.name),
            Form::Named => format!("in [{}.{}]", section.name, self.tables[at].name),
            Form::One | Form::Open => format!("in [{}]", section.name),
        };
        let message = format!("there is no key {:?} {place}", entry.key);
        self.problems.push(Problem::error(entry.key_place.clone(), message, remedy));
    }
}

/// The name that was probably meant: the most alike, if it is alike at all.
pub(crate) fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &&&str| strsim::damerau_levenshtein(word, name);
    let near = names.iter().min_by_key(distance)?;
    // A third of the letters may be wrong: "wieght" is weight, "rate" is not path.
    (strsim::damerau_levenshtein(word, near) * 3 <= near.len().max(3)).then_some(*near)
}
