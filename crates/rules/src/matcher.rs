//! One compiled rule: its matchers from the cheapest to the dearest.

use crate::explain::Field;
use crate::facts::View;
use crate::pattern::Pattern;
use crate::target::Recipe;
use crate::{Facts, Pair, RuleSpec, Scheme};
use policy::Class;

/// A rule, ready to be tried.
#[derive(Debug)]
pub(crate) struct Rule {
    /// What it demands and nothing else, the cheapest first and those of header fields last: most
    /// rules have one test.
    pub(crate) tests: Vec<Test>,
    pub(crate) class: Option<Class>,
    pub(crate) recipe: Option<Recipe>,
    /// Whether a matching request passes through the switch, whatever the listener does.
    pub(crate) relay: bool,
    /// Whether any test is about header fields; those are the last ones.
    pub(crate) reads_fields: bool,
}

/// One matcher. Any entry must fit of those that are about one thing, every one of `Wanted`.
#[derive(Debug)]
pub(crate) enum Test {
    Method(Vec<Box<str>>),
    Scheme(Scheme),
    Host(Vec<Host>),
    Path(Vec<Box<str>>),
    PathPrefix(Vec<Box<str>>),
    PathSuffix(Vec<Box<str>>),
    Query(Vec<Wanted>),
    Header(Vec<Wanted>),
    Cookie(Vec<Wanted>),
    PathGlob(Vec<Pattern>),
    PathRegex(Vec<Pattern>),
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
    /// A rule that matches everything and decides nothing yet.
    pub(crate) fn new(mut tests: Vec<Test>) -> Self {
        let of_header = |test: &Test| test.field().is_of_header();
        tests.sort_by_key(of_header);
        let reads_fields = tests.iter().any(of_header);
        Self { tests, class: None, recipe: None, relay: false, reads_fields }
    }

    /// The first matcher that does not match; `None` when the rule matches.
    #[inline]
    pub(crate) fn miss<F: Facts>(&self, view: &View<'_, F>) -> Option<Field> {
        self.tests.iter().find(|test| !test.fits(view)).map(Test::field)
    }
}

impl Test {
    fn fits<F: Facts>(&self, view: &View<'_, F>) -> bool {
        let path = view.path;
        match self {
            Self::Method(list) => list.iter().any(|method| **method == *view.facts.method()),
            Self::Scheme(scheme) => *scheme == view.facts.scheme(),
            Self::Host(list) => list.iter().any(|host| host.fits(&view.host)),
            Self::Path(list) => list.iter().any(|exact| **exact == *path),
            Self::PathPrefix(list) => list.iter().any(|prefix| path.starts_with(&**prefix)),
            Self::PathSuffix(list) => list.iter().any(|suffix| path.ends_with(&**suffix)),
            Self::PathGlob(list) | Self::PathRegex(list) => {
                list.iter().any(|pattern| pattern.is_match(path))
            }
            Self::Query(list) => list.iter().all(|wanted| wanted.in_query(view)),
            Self::Header(list) => {
                list.iter().all(|wanted| wanted.fits(view.facts.field(&wanted.name)))
            }
            Self::Cookie(list) => {
                list.iter().all(|wanted| wanted.fits(view.facts.cookie(&wanted.name)))
            }
        }
    }

    fn field(&self) -> Field {
        match self {
            Self::Method(_) => Field::Method,
            Self::Scheme(_) => Field::Scheme,
            Self::Host(_) => Field::Host,
            Self::Path(_) => Field::Path,
            Self::PathPrefix(_) => Field::PathPrefix,
            Self::PathSuffix(_) => Field::PathSuffix,
            Self::Query(_) => Field::Query,
            Self::Header(_) => Field::Header,
            Self::Cookie(_) => Field::Cookie,
            Self::PathGlob(_) => Field::PathGlob,
            Self::PathRegex(_) => Field::PathRegex,
        }
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

/// The tests of a rule that compare texts: globs and expressions, which may be wrong, go behind.
pub(crate) fn tests(spec: &RuleSpec) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut texts = |list: &[String], test: fn(Vec<Box<str>>) -> Test| {
        if !list.is_empty() {
            tests.push(test(list.iter().map(|text| text.as_str().into()).collect()));
        }
    };
    texts(&spec.path, Test::Path);
    texts(&spec.path_prefix, Test::PathPrefix);
    texts(&spec.path_suffix, Test::PathSuffix);
    texts(&spec.method, Test::Method);
    tests.extend(spec.scheme.map(Test::Scheme));
    if !spec.host.is_empty() {
        tests.push(Test::Host(spec.host.iter().map(|host| Host::new(host)).collect()));
    }
    let mut pairs = |list: &[Pair], test: fn(Vec<Wanted>) -> Test| {
        if !list.is_empty() {
            tests.push(test(list.iter().map(Wanted::new).collect()));
        }
    };
    pairs(&spec.query, Test::Query);
    pairs(&spec.header, Test::Header);
    pairs(&spec.cookie, Test::Cookie);
    tests
}
