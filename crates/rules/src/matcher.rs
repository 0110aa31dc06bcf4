//! One compiled rule: its matchers from the cheapest to the dearest.

use crate::explain::Field;
use crate::facts::View;
use crate::target::Recipe;
use crate::{Facts, Pair, RuleSpec, Scheme};
use policy::Class;
use regex::bytes::Regex;

/// A rule, ready to be tried.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) method: Vec<Box<str>>,
    pub(crate) scheme: Option<Scheme>,
    pub(crate) host: Vec<Host>,
    pub(crate) path: Vec<Box<str>>,
    pub(crate) path_prefix: Vec<Box<str>>,
    pub(crate) path_suffix: Vec<Box<str>>,
    pub(crate) path_glob: Vec<Regex>,
    pub(crate) path_regex: Vec<Regex>,
    pub(crate) query: Vec<Wanted>,
    pub(crate) header: Vec<Wanted>,
    pub(crate) cookie: Vec<Wanted>,
    pub(crate) class: Option<Class>,
    pub(crate) recipe: Option<Recipe>,
}

/// A host that is wanted, in lower case.
#[derive(Debug)]
pub(crate) enum Host {
    /// This one.
    Exact(Box<str>),
    /// Every name that ends so; begins with a dot.
    Below(Box<str>),
}

/// A parameter, field or cookie that is wanted.
#[derive(Debug)]
pub(crate) struct Wanted {
    name: Box<str>,
    value: Option<Value>,
}

#[derive(Debug)]
enum Value {
    Exact(Box<[u8]>),
    /// What stands between the stars.
    Pieces(Vec<Box<[u8]>>),
}

impl Rule {
    /// The first matcher that does not match; `None` when the rule matches.
    pub(crate) fn miss<F: Facts>(&self, view: &View<'_, F>) -> Option<Field> {
        let path = view.path;
        let any = |list: &[Box<str>], fits: &dyn Fn(&str) -> bool| {
            list.is_empty() || list.iter().any(|entry| fits(entry))
        };
        let found = |list: &[Regex]| {
            list.is_empty() || list.iter().any(|regex| regex.is_match(path.as_bytes()))
        };
        if !any(&self.method, &|method| method == view.facts.method()) {
            return Some(Field::Method);
        }
        if self.scheme.is_some_and(|scheme| scheme != view.facts.scheme()) {
            return Some(Field::Scheme);
        }
        if !self.host.is_empty() && !self.host.iter().any(|host| host.fits(&view.host)) {
            return Some(Field::Host);
        }
        if !any(&self.path, &|exact| exact == path) {
            return Some(Field::Path);
        }
        if !any(&self.path_prefix, &|prefix| path.starts_with(prefix)) {
            return Some(Field::PathPrefix);
        }
        if !any(&self.path_suffix, &|suffix| path.ends_with(suffix)) {
            return Some(Field::PathSuffix);
        }
        if !self.query.iter().all(|wanted| wanted.in_query(view)) {
            return Some(Field::Query);
        }
        if !self.header.iter().all(|wanted| wanted.fits(view.facts.field(&wanted.name))) {
            return Some(Field::Header);
        }
        if !self.cookie.iter().all(|wanted| wanted.fits(view.facts.cookie(&wanted.name))) {
            return Some(Field::Cookie);
        }
        if !found(&self.path_glob) {
            return Some(Field::PathGlob);
        }
        (!found(&self.path_regex)).then_some(Field::PathRegex)
    }
}

impl Host {
    pub(crate) fn new(pattern: &str) -> Self {
        let pattern = pattern.to_ascii_lowercase();
        match pattern.strip_prefix('*') {
            Some(below) => Self::Below(below.into()),
            None => Self::Exact(pattern.into()),
        }
    }

    fn fits(&self, host: &str) -> bool {
        match self {
            Self::Exact(exact) => **exact == *host,
            Self::Below(below) => host.len() > below.len() && host.ends_with(&**below),
        }
    }
}

impl Wanted {
    pub(crate) fn new(pair: &Pair) -> Self {
        let value = pair.value.as_ref().map(|value| {
            if value.contains('*') {
                Value::Pieces(value.split('*').map(|piece| piece.as_bytes().into()).collect())
            } else {
                Value::Exact(value.as_bytes().into())
            }
        });
        Self { name: pair.name.as_str().into(), value }
    }

    fn in_query<F: Facts>(&self, view: &View<'_, F>) -> bool {
        view.parameters()
            .any(|(name, value)| *name == *self.name && self.fits(Some(value.as_bytes())))
    }

    fn fits(&self, found: Option<&[u8]>) -> bool {
        match (&self.value, found) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(Value::Exact(exact)), Some(found)) => **exact == *found,
            (Some(Value::Pieces(pieces)), Some(found)) => wildcard(pieces, found),
        }
    }
}

/// Whether `text` is the pieces in order with anything between them. The leftmost place for each
/// piece leaves the most room for the others, so no place need be tried twice.
fn wildcard(pieces: &[Box<[u8]>], text: &[u8]) -> bool {
    let [first, middle @ .., last] = pieces else { return false };
    let Some(mut rest) = text.strip_prefix(&**first) else { return false };
    for piece in middle.iter().filter(|piece| !piece.is_empty()) {
        let Some(at) = rest.windows(piece.len()).position(|window| *window == **piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

impl From<&RuleSpec> for Rule {
    /// Everything that cannot fail; globs, expressions, class and recipe are left empty.
    fn from(spec: &RuleSpec) -> Self {
        let boxed =
            |list: &[String]| list.iter().map(|entry| entry.as_str().into()).collect::<Vec<_>>();
        let wanted = |list: &[Pair]| list.iter().map(Wanted::new).collect::<Vec<_>>();
        Self {
            method: boxed(&spec.method),
            scheme: spec.scheme,
            host: spec.host.iter().map(|host| Host::new(host)).collect(),
            path: boxed(&spec.path),
            path_prefix: boxed(&spec.path_prefix),
            path_suffix: boxed(&spec.path_suffix),
            path_glob: Vec::new(),
            path_regex: Vec::new(),
            query: wanted(&spec.query),
            header: wanted(&spec.header),
            cookie: wanted(&spec.cookie),
            class: None,
            recipe: None,
        }
    }
}
