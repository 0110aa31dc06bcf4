//! What was written, before anybody asks what it means: tables of keys with their places.
//!
//! TOML and the command line both end up here, so that everything after treats them alike.

use super::first;
use super::keys::{self, Form};
use super::problem::Problem;
use super::source::{Place, Source};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value as written.
#[derive(Clone, Debug)]
pub(crate) enum Raw {
    /// A string.
    Text(String),
    /// A string whose type was not said: of the command line, or with a variable in it. It may be
    /// read as a number or a flag.
    Loose(String),
    /// An integer that fits, or `None`.
    Count(Option<u64>),
    /// A decimal number.
    Real(f64),
    /// `true` or `false`.
    Flag(bool),
    /// An array.
    List(Vec<(Raw, Place)>),
    /// A table.
    Table(Vec<Entry>),
    /// A date or time, which no key takes.
    Date,
    /// A string whose variables could not be replaced: the problem is noted already.
    Broken,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) value: Raw,
    pub(crate) place: Place,
}

/// Environment variables by name.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Raw {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Loose(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Self::Count(count) => *count,
            Self::Loose(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn real(&self) -> Option<f64> {
        match self {
            Self::Real(real) => Some(*real),
            Self::Loose(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            Self::Loose(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// What it is, for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Text(text) | Self::Loose(text) => format!("{text:?}"),
            Self::Count(Some(count)) => count.to_string(),
            Self::Count(None) => "a number that is negative or too large".to_owned(),
            Self::Real(real) => real.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
            Self::Date => "a date".to_owned(),
            Self::Broken => "a string with a variable".to_owned(),
        }
    }
}

/// Lines that are no TOML of which each is said: of a file of another kind nearly every one is.
const BROKEN_MAX: usize = 5;

/// Reads a TOML text. Whatever can be read is, beside the problems.
pub(crate) fn read(
    number: usize,
    source: &Source,
    env: Env<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Entry> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut doubled = None;
    let is_double = |message: &str| message == "duplicate key";
    let mut broken = errors.iter().filter(|error| !is_double(error.message())).count();
    let mut said = 0;
    for error in &errors {
        let place = Place::new(number, error.span().unwrap_or(0..0));
        if is_double(error.message()) {
            problems.extend(twice(source, place, &mut doubled));
            continue;
        }
        if said == BROKEN_MAX {
            continue;
        }
        (said, broken) = (said + 1, broken - 1);
        let mut message = format!("this is not TOML: {}", error.message().replace('\n', "; "));
        if said == BROKEN_MAX && broken > 0 {
            message += &format!(" (and {broken} more mistakes like this after it)");
        }
        problems.push(Problem::error(place, message, REMEDY));
    }
    let mut reader = Reader { number, env, problems };
    // After a broken line the rest of a table is guesswork, and its problems would hide the cause.
    if errors.is_empty() { reader.table(table.get_ref()) } else { Vec::new() }
}

/// The problem of a key that is set at `place`, and was set before. Keys of a table that is there
/// twice itself are none: `doubled` is where the last such table begins.
fn twice(source: &Source, place: Place, doubled: &mut Option<usize>) -> Option<Problem> {
    let key = source.text.get(place.span.clone()).unwrap_or("this");
    let Some(again) = first::find(&source.text, &place.span) else {
        return Some(Problem::error(place, format!("{key} is set twice"), "keep one of the two"));
    };
    let name = again.path.join(".");
    let many = keys::section(&name).is_some_and(|section| section.form == Form::Many);
    let (message, remedy) = match again.table {
        true if many => {
            let remedy = format!("write [[{name}]], with two brackets, each time");
            (format!("the table {name} is there twice"), remedy)
        }
        true => (format!("the table {name} is there twice"), "make one of the two".to_owned()),
        false if *doubled == Some(again.header) => return None,
        false => (format!("{key} is set twice in one table"), "keep one of the two".to_owned()),
    };
    *doubled = again.table.then_some(again.header).or(*doubled);
    let first = again.first.map(|span| Place::new(place.source, span));
    Some(Problem::error(place, message, remedy).after(first))
}

const REMEDY: &str = "write key = value, strings in quotes, tables as [name]; see https://toml.io";

struct Reader<'a> {
    number: usize,
    env: Env<'a>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>) -> Vec<Entry> {
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            Entry {
                key: name.clone().into_owned(),
                key_place: Place::new(self.number, key.span()),
                value: self.value(value),
                place: Place::new(self.number, value.span()),
            }
        };
        table.iter().map(entry).collect()
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) -> Raw {
        match value.get_ref() {
            DeValue::String(text) => self.string(text, value.span()),
            DeValue::Integer(integer) => {
                let digits = integer.as_str().trim_start_matches('+');
                Raw::Count(u64::from_str_radix(digits, integer.radix()).ok())
            }
            DeValue::Float(float) => Raw::Real(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Raw::Flag(*flag),
            DeValue::Datetime(_) => Raw::Date,
            DeValue::Array(array) => {
                let number = self.number;
                let entry = |entry| (self.value(entry), Place::new(number, entry.span()));
                Raw::List(array.iter().map(entry).collect())
            }
            DeValue::Table(table) => Raw::Table(self.table(table)),
        }
    }

    fn string(&mut self, text: &str, span: std::ops::Range<usize>) -> Raw {
        if !text.contains("${") {
            return Raw::Text(text.to_owned());
        }
        match expand(text, self.env) {
            Ok(text) => Raw::Loose(text),
            Err((message, remedy)) => {
                let place = Place::new(self.number, span);
                self.problems.push(Problem::error(place, message, remedy));
                Raw::Broken
            }
        }
    }
}

/// Replaces `${NAME}` and `${NAME:-default}` by the environment's values, once: a value that has
/// `${` in it is not read again. `$${` stands for `${` itself.
fn expand(text: &str, env: Env<'_>) -> Result<String, (String, String)> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        if rest[..at].ends_with('$') {
            out.push('{');
            rest = &rest[at + 2..];
            continue;
        }
        let inner = &rest[at + 2..];
        let Some(end) = inner.find('}') else {
            let message = "a variable begins with ${ and never ends".to_owned();
            return Err((message, "close it with }, or write $${ for ${ itself".to_owned()));
        };
        let (name, default) = match inner[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&inner[..end], None),
        };
        match (env(name), default) {
            (Some(value), _) if !value.is_empty() || default.is_none() => out.push_str(&value),
            (_, Some(default)) => out.push_str(default),
            _ => {
                let message = format!("the environment variable {name} is not set");
                return Err((message, format!("set it, or give a default: ${{{name}:-default}}")));
            }
        }
        rest = &inner[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_that_is_no_toml_a_few_lines_are_enough() {
        let text = "no toml at all\n".repeat(40);
        let source = Source { name: "a".to_owned(), text };
        let mut problems = Vec::new();
        read(0, &source, &|_: &str| None, &mut problems);
        let last = problems.last().map(|problem| problem.message.as_str()).unwrap_or_default();
        assert_eq!(problems.len(), BROKEN_MAX);
        assert!(last.ends_with("(and 35 more mistakes like this after it)"), "{last}");
    }

    #[test]
    fn variables_are_replaced_once() {
        let env = |name: &str| match name {
            "PORT" => Some("80".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${PORT}".to_owned()),
            _ => None,
        };
        let table = [
            ("a:${PORT}", Ok("a:80")),
            ("${PORT}${PORT}", Ok("8080")),
            ("${NONE:-x}", Ok("x")),
            ("${NONE:-}", Ok("")),
            ("${EMPTY:-x}", Ok("x")),
            ("${EMPTY}", Ok("")),
            ("${NESTED}", Ok("${PORT}")),
            ("$${PORT}", Ok("${PORT}")),
            ("$PORT", Ok("$PORT")),
            ("${NONE}", Err(())),
            ("${PORT", Err(())),
        ];
        for (text, wanted) in table {
            let found = expand(text, &env);
            assert_eq!(found.as_deref().map_err(|_| ()), wanted, "{text}");
        }
    }
}
