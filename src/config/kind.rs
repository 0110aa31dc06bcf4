//! What the value of a key may be, and how it is read from what was written.

use super::raw::Raw;
use super::source::Place;
use super::units;
use std::time::Duration;

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A string that is not empty.
    Text,
    /// A string or a list of strings, none of them empty.
    Texts,
    /// `true` or `false`.
    Flag,
    /// A whole number within bounds, or one of the words.
    Count(u64, u64, &'static [&'static str]),
    /// A size within bounds in bytes, or one of the words.
    Size(u64, u64, &'static [&'static str]),
    /// A span of time within bounds in milliseconds, or one of the words.
    Span(u64, u64, &'static [&'static str]),
    /// A percentage up to a bound.
    Percent(u32),
    /// One of the words.
    Word(&'static [&'static str]),
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Texts`], with the place of each.
    Texts(Vec<(String, Option<Place>)>),
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Count`], [`Kind::Percent`], or bytes of [`Kind::Size`].
    Number(u64),
    /// Of [`Kind::Span`].
    Span(Duration),
    /// One of a kind's words.
    Word(&'static str),
}

impl Kind {
    /// Reads a value; otherwise says where the mistake is, when only an entry of a list is wrong.
    pub(crate) fn read(self, raw: &Raw) -> Result<Value, Option<Place>> {
        if let (Some(text), Some(words)) = (raw.text(), self.words())
            && let Some(word) = words.iter().find(|word| **word == text)
        {
            return Ok(Value::Word(word));
        }
        let text = || raw.text().ok_or(None);
        let within = |number: u64, min, max| {
            (min..=max).contains(&number).then_some(Value::Number(number)).ok_or(None)
        };
        match self {
            Self::Text => Ok(Value::Text(filled(text()?).ok_or(None)?)),
            Self::Texts => texts(raw),
            Self::Flag => raw.flag().map(Value::Flag).ok_or(None),
            Self::Count(min, max, _) => within(raw.count().ok_or(None)?, min, max),
            Self::Size(min, max, _) => within(units::size(text()?).ok_or(None)?, min, max),
            Self::Percent(max) => {
                within(u64::from(units::percent(text()?).ok_or(None)?), 0, u64::from(max))
            }
            Self::Span(min, max, _) => {
                let span = units::span(text()?).ok_or(None)?;
                let (min, max) = (Duration::from_millis(min), Duration::from_millis(max));
                (min..=max).contains(&span).then_some(Value::Span(span)).ok_or(None)
            }
            Self::Word(_) => Err(None),
        }
    }

    /// The words that may stand in place of a value.
    pub(crate) fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Count(_, _, words) | Self::Size(_, _, words) | Self::Span(_, _, words) => {
                Some(words)
            }
            Self::Word(words) => Some(words),
            Self::Text | Self::Texts | Self::Flag | Self::Percent(_) => None,
        }
    }

    /// What a value looks like: for error messages, help and the reference.
    pub fn describe(self) -> String {
        let main = match self {
            Self::Text => "a string that is not empty".to_owned(),
            Self::Texts => "a string or a list of strings".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count(min, max, _) => format!("a whole number from {min} to {max}"),
            Self::Size(min, max, _) => {
                let (min, max) = (units::size_text(min), units::size_text(max));
                format!("a size from \"{min}\" to \"{max}\"")
            }
            Self::Span(min, max, _) => {
                let text = |ms| units::span_text(Duration::from_millis(ms));
                format!("a time from \"{}\" to \"{}\"", text(min), text(max))
            }
            Self::Percent(max) => format!("a percentage from \"0%\" to \"{max}%\""),
            Self::Word(words) => return format!("one of {}", quoted(words)),
        };
        match self.words().unwrap_or(&[]) {
            [] => main,
            words => format!("{main}, or {}", quoted(words)),
        }
    }

    /// An example of the kind, where units need one.
    pub(crate) fn example(self) -> Option<&'static str> {
        match self {
            Self::Size(..) => Some("\"16KiB\", \"2MB\" (units: B, kB, KiB, MB, MiB, GB, GiB)"),
            Self::Span(..) => Some("\"250ms\", \"5s\", \"1m30s\" (units: ms, s, m, h, d)"),
            Self::Percent(_) => Some("\"20%\""),
            _ => None,
        }
    }
}

/// Words in quotes, joined by commas.
pub(crate) fn quoted(words: &[impl AsRef<str>]) -> String {
    words.iter().map(|word| format!("\"{}\"", word.as_ref())).collect::<Vec<_>>().join(", ")
}

fn filled(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn texts(raw: &Raw) -> Result<Value, Option<Place>> {
    let one = |raw: &Raw| raw.text().and_then(filled);
    let Raw::List(list) = raw else {
        return Ok(Value::Texts(vec![(one(raw).ok_or(None)?, None)]));
    };
    let entry = |(raw, place): &(Raw, Place)| match one(raw) {
        Some(text) => Ok((text, Some(place.clone()))),
        None => Err(Some(place.clone())),
    };
    list.iter().map(entry).collect::<Result<_, _>>().map(Value::Texts)
}
