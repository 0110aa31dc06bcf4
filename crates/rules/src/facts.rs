//! What rules may look at: a request as a set of facts, wherever it comes from.

use crate::Scheme;
use std::borrow::Cow;

/// A request, read by rules. Implemented for heads off the wire and for lines of logs.
///
/// A log line does not know every fact; what it does not know it answers with an empty string or
/// `None`, and rules about it do not match.
pub trait Facts {
    /// The method, in its own case: `GET`.
    fn method(&self) -> &str;
    /// How the client came.
    fn scheme(&self) -> Scheme;
    /// The authority the request is for, as sent: any case, with or without a port.
    fn host(&self) -> &str;
    /// The path, beginning with `/`, without the query, percent-encoding untouched.
    fn path(&self) -> &str;
    /// What follows the first `?`, if there is one.
    fn query(&self) -> Option<&str>;
    /// The value of the first header field of that name. Names are compared without case.
    fn field(&self, name: &str) -> Option<&[u8]>;

    /// The value of a cookie, from the `Cookie` field. Names are compared with case (RFC 6265).
    fn cookie(&self, name: &str) -> Option<&[u8]> {
        self.field("cookie")?.split(|byte| *byte == b';').find_map(|pair| {
            let pair = pair.trim_ascii();
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            (&pair[..equals] == name.as_bytes()).then(|| &pair[equals + 1..])
        })
    }
}

/// The host of an authority: without its port, IPv6 literals keep their brackets.
pub fn host_without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (host.ends_with(']') || !host.contains(':')) =>
        {
            host
        }
        _ => authority,
    }
}

/// A request that somebody described: for `baton explain`, tests and benchmarks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    method: String,
    scheme: Scheme,
    host: String,
    path: String,
    query: Option<String>,
    fields: Vec<(String, String)>,
}

/// Why a text is not a URL that could be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It starts with another scheme.
    #[error("{0:?} is neither http nor https")]
    Scheme(String),
    /// It has spaces or control characters, which cannot be sent.
    #[error("a URL has no spaces or control characters; write %20 for a space")]
    Character,
}

impl Described {
    /// A request for `url`: `http://host/path?query`, `host/path` or `/path` (without a host).
    ///
    /// # Errors
    /// When `url` could not be sent as it stands.
    pub fn new(method: &str, url: &str) -> Result<Self, UrlError> {
        if url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(UrlError::Character);
        }
        let (scheme, rest) = match url.split_once("://") {
            None => (Scheme::Http, url),
            Some((word, rest)) => match word.parse() {
                Ok(scheme) => (scheme, rest),
                Err(_) if word.contains(['/', '?']) => (Scheme::Http, url),
                Err(_) => return Err(UrlError::Scheme(word.to_owned())),
            },
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        let path = if path.is_empty() { "/" } else { path };
        let (method, host, path) = (method.to_owned(), host.to_owned(), path.to_owned());
        Ok(Self { method, scheme, host, path, query, fields: Vec::new() })
    }

    /// The same with one more header field; `host` replaces the host of the URL.
    #[must_use]
    pub fn with_field(mut self, name: &str, value: &str) -> Self {
        if name.eq_ignore_ascii_case("host") {
            value.clone_into(&mut self.host);
        }
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Facts for Described {
    fn method(&self) -> &str {
        &self.method
    }
    fn scheme(&self) -> Scheme {
        self.scheme
    }
    fn host(&self) -> &str {
        &self.host
    }
    fn path(&self) -> &str {
        &self.path
    }
    fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }
    fn field(&self, name: &str) -> Option<&[u8]> {
        let found = self.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_bytes())
    }
}

/// The facts of one request with what several rules need made ready once.
pub(crate) struct View<'a, F> {
    pub(crate) facts: &'a F,
    /// Without port, in lower case.
    pub(crate) host: Cow<'a, str>,
    pub(crate) path: &'a str,
    /// An empty query is no query.
    pub(crate) query: Option<&'a str>,
}

impl<'a, F: Facts> View<'a, F> {
    pub(crate) fn new(facts: &'a F) -> Self {
        let host = host_without_port(facts.host());
        // Looking at every byte without leaving early lets the compiler look at many at a time.
        let capitals = host.bytes().fold(false, |some, byte| some | byte.is_ascii_uppercase());
        let host =
            if capitals { Cow::Owned(host.to_ascii_lowercase()) } else { Cow::Borrowed(host) };
        let query = facts.query().filter(|query| !query.is_empty());
        Self { facts, host, path: facts.path(), query }
    }

    /// The parameters of the query in the order sent: name and value, `a` being the same as `a=`.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a, F> {
        let pairs = self.query.unwrap_or("").split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}
