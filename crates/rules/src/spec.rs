//! Rules as plain values, as the configuration gives them, before they are compiled.

use core::fmt;
use core::str::FromStr;

/// How a client came to the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Through TLS.
    Https,
}

/// One rule. A matcher that is empty matches everything; all others must match.
///
/// A request has one method, host, scheme and path, so *any* entry of such a list may match. It has
/// many parameters, header fields and cookies, so *every* entry of such a list must.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleSpec {
    /// Methods, such as `GET`; compared with case.
    pub method: Vec<String>,
    /// The scheme.
    pub scheme: Option<Scheme>,
    /// Hosts without port: exact, or `*.example.com` for every name below it (not itself).
    pub host: Vec<String>,
    /// Whole paths.
    pub path: Vec<String>,
    /// What the path begins with.
    pub path_prefix: Vec<String>,
    /// What the path ends with, such as `.php`.
    pub path_suffix: Vec<String>,
    /// Globs of the whole path: `*` stays within a segment, `**` does not, `{a,b}` and `[a-z]` too.
    pub path_glob: Vec<String>,
    /// Regular expressions found anywhere in the path unless anchored by `^` and `$`.
    pub path_regex: Vec<String>,
    /// Parameters of the query.
    pub query: Vec<Pair>,
    /// Header fields.
    pub header: Vec<Pair>,
    /// Cookies.
    pub cookie: Vec<Pair>,
    /// The class that a matching request gets.
    pub class: Option<String>,
    /// What the target of a matching request is made of.
    pub target: Option<TargetSpec>,
    /// Whether matching requests pass through the switch, however the listener delivers.
    pub relay: bool,
}

/// A name that must be there, and what its value must be like: `name`, `name=value` or
/// `name=*part*`, where `*` stands for any bytes. Values are compared as sent, with case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The name.
    pub name: String,
    /// The value; any if `None`.
    pub value: Option<String>,
}

/// What a target is made of, written `host+path+query`.
///
/// Every part adds to the target in the order of [`Part`], whatever the order in which they were
/// written. When nothing of what is asked for is there (`header:x-key` without that field) the
/// target is the whole URL, so that such requests do not become one big target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetSpec(pub(crate) Vec<Part>);

/// One part of a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// `host`: in lower case, without port.
    Host,
    /// `path`: as sent.
    Path,
    /// `query`: the whole of it, as sent; the order of parameters counts.
    Query,
    /// `query:id,page`: only these parameters, whatever their order in the URL.
    Parameters(Vec<String>),
    /// `header:x-key`: the value of a header field.
    Header(String),
    /// `cookie:session`: the value of a cookie.
    Cookie(String),
}

/// Why a text is not what it should be; a sentence that says what would be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecError(pub String);

impl TargetSpec {
    /// A target made of `parts`.
    ///
    /// # Errors
    /// When there is none, or one is there twice.
    pub fn new(mut parts: Vec<Part>) -> Result<Self, SpecError> {
        for part in &mut parts {
            if let Part::Parameters(names) = part {
                names.sort();
                names.dedup();
            }
        }
        parts.sort();
        let queries = |part: &&Part| matches!(part, Part::Query | Part::Parameters(_));
        let twice = parts.windows(2).any(|pair| pair[0] == pair[1]);
        if parts.is_empty() || twice || parts.iter().filter(queries).count() > 1 {
            return Err(SpecError("name each part of a target once".to_owned()));
        }
        Ok(Self(parts))
    }

    /// Its parts, in the order in which they count.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }
}

/// Host, path and the whole query: LARD's "URL plus any arguments".
impl Default for TargetSpec {
    fn default() -> Self {
        Self(vec![Part::Host, Part::Path, Part::Query])
    }
}

impl FromStr for TargetSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::new(text.split('+').map(str::trim).map(str::parse).collect::<Result<_, _>>()?)
    }
}

impl FromStr for Part {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (word, rest) = match text.split_once(':') {
            Some((word, rest)) => (word, Some(rest)),
            None => (text, None),
        };
        let names = rest.unwrap_or("").split(',').map(str::trim).map(str::to_owned);
        let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
        match (word, rest.is_some(), names.as_slice()) {
            ("host", false, _) => Ok(Self::Host),
            ("path", false, _) => Ok(Self::Path),
            ("query", false, _) => Ok(Self::Query),
            ("query", true, [_, ..]) => Ok(Self::Parameters(names)),
            ("header", true, [name]) => Ok(Self::Header(name.to_ascii_lowercase())),
            ("cookie", true, [name]) => Ok(Self::Cookie(name.clone())),
            _ => Err(SpecError(format!(
                "{text:?} is no part of a target: use host, path, query, query:NAME,NAME, \
                 header:NAME or cookie:NAME, joined by +"
            ))),
        }
    }
}

impl fmt::Display for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let plus = if index == 0 { "" } else { "+" };
            match part {
                Part::Host => write!(f, "{plus}host")?,
                Part::Path => write!(f, "{plus}path")?,
                Part::Query => write!(f, "{plus}query")?,
                Part::Parameters(names) => write!(f, "{plus}query:{}", names.join(","))?,
                Part::Header(name) => write!(f, "{plus}header:{name}")?,
                Part::Cookie(name) => write!(f, "{plus}cookie:{name}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Pair {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        if name.is_empty() {
            return Err(SpecError("write NAME or NAME=VALUE".to_owned()));
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Scheme {
    /// The word in URLs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl FromStr for Scheme {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text {
            "http" => Ok(Self::Http),
            "https" => Ok(Self::Https),
            _ => Err(SpecError("a scheme is http or https".to_owned())),
        }
    }
}
