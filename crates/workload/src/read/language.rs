//! The languages in which servers' configurations describe a log line: nginx's `log_format`,
//! Apache's `LogFormat`, Envoy's format strings. Names and meanings are those of their manuals.

use super::field::Field;
use super::pattern::PatternError;
use super::value::Unit;

/// A part of a pattern.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Stands in the line as it is.
    Text(Vec<u8>),
    /// Stands for a value; with its name, for errors.
    Field(Field, String),
}

/// nginx's variables, and ours for what nginx has none.
pub(super) const VARIABLES: &[(&str, Field)] = &[
    ("remote_addr", Field::Client),
    ("http_x_forwarded_for", Field::Forwarded),
    ("time_local", Field::At),
    ("time_iso8601", Field::At),
    ("msec", Field::At),
    ("request", Field::Request),
    ("request_method", Field::Method),
    ("request_uri", Field::Url),
    ("uri", Field::Path),
    ("document_uri", Field::Path),
    ("args", Field::Query),
    ("query_string", Field::Query),
    ("is_args", Field::Query),
    ("status", Field::Status),
    ("body_bytes_sent", Field::Bytes),
    ("bytes_sent", Field::Bytes),
    ("request_time", Field::Took(Unit::Seconds)),
    ("upstream_response_time", Field::Served(Unit::Seconds)),
    ("upstream_addr", Field::Servers),
    ("upstream_cache_status", Field::Hit),
    ("host", Field::Site),
    ("http_host", Field::Site),
    ("server_name", Field::Site),
    ("site_port", Field::Port),
    ("peer", Field::Peer),
    ("server", Field::Server),
    ("hit", Field::Hit),
    ("began", Field::Began),
    ("took_s", Field::Took(Unit::Seconds)),
    ("took_ms", Field::Took(Unit::Millis)),
    ("took_us", Field::Took(Unit::Micros)),
    ("served_s", Field::TookAndServed(Unit::Seconds)),
    ("served_ms", Field::Served(Unit::Millis)),
];

/// Apache's directives of one letter, as `LogFormat` has them.
const DIRECTIVES: &[(u8, Field)] = &[
    (b'h', Field::Client),
    (b'a', Field::Client),
    (b't', Field::At),
    (b'r', Field::Request),
    (b'm', Field::Method),
    (b'U', Field::Path),
    (b'q', Field::Query),
    (b's', Field::Status),
    (b'b', Field::Bytes),
    (b'B', Field::Bytes),
    (b'O', Field::Bytes),
    (b'D', Field::Took(Unit::Micros)),
    (b'T', Field::Took(Unit::Seconds)),
    (b'v', Field::Site),
    (b'V', Field::Site),
];

/// Envoy's command operators.
const OPERATORS: &[(&str, Field)] = &[
    ("START_TIME", Field::At),
    ("REQ(:METHOD)", Field::Method),
    ("REQ(X-ENVOY-ORIGINAL-PATH?:PATH)", Field::Url),
    ("REQ(:PATH)", Field::Url),
    ("PATH", Field::Url),
    ("REQ(:AUTHORITY)", Field::Site),
    ("REQ(X-FORWARDED-FOR)", Field::Forwarded),
    ("RESPONSE_CODE", Field::Status),
    ("BYTES_SENT", Field::Bytes),
    ("DURATION", Field::Took(Unit::Millis)),
    ("RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)", Field::Served(Unit::Millis)),
    ("UPSTREAM_HOST", Field::Server),
    ("DOWNSTREAM_REMOTE_ADDRESS", Field::Peer),
    ("DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", Field::Client),
];

/// The field that nginx's (or our) variable `name` stands for.
pub(super) fn variable(name: &str) -> Field {
    known(VARIABLES, name)
}

fn known(table: &[(&str, Field)], name: &str) -> Field {
    table.iter().find(|(known, _)| *known == name).map_or(Field::Skip, |&(_, field)| field)
}

/// The parts of a format, and whether its times are of the reply's end.
pub(super) fn tokens(text: &str) -> Result<(Vec<Token>, bool), PatternError> {
    let text = bare(text);
    if text.contains('$') {
        // nginx writes a line, and its time, when the request has ended.
        return Ok((nginx(&text)?, true));
    }
    if ["%START_TIME", "%REQ(", "%PATH"].iter().any(|operator| text.contains(operator)) {
        return Ok((envoy(&text)?, false));
    }
    let at_end = text.contains("%{end:") || text.contains("%{end}t");
    Ok((apache(&text)?, at_end))
}

/// The format itself, of a whole line of configuration: `log_format name '...' '...';` or
/// `LogFormat "..." name`.
fn bare(text: &str) -> String {
    let text = text.trim();
    let unescape = |text: &str| text.replace("\\\"", "\"").replace("\\t", "\t");
    if let Some(rest) = text.strip_prefix("log_format ") {
        return rest.split('\'').skip(1).step_by(2).collect();
    }
    if let Some(rest) = text.strip_prefix("LogFormat ") {
        let rest = rest.trim_start().strip_prefix('"').unwrap_or(rest);
        return unescape(rest.rfind('"').map_or(rest, |end| &rest[..end]));
    }
    unescape(text)
}

/// Collects tokens; texts grow together.
#[derive(Default)]
struct Tokens(Vec<Token>);

impl Tokens {
    fn text(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Token::Text(text)) => text.extend_from_slice(bytes),
            _ => self.0.push(Token::Text(bytes.to_vec())),
        }
    }

    fn field(&mut self, field: Field, name: &str) {
        self.0.push(Token::Field(field, name.to_owned()));
    }
}

fn nginx(text: &str) -> Result<Vec<Token>, PatternError> {
    let mut tokens = Tokens::default();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        if at > 0 {
            tokens.text(&rest.as_bytes()[..at]);
        }
        let after = &rest[at + 1..];
        let (name, length) = if let Some(braced) = after.strip_prefix('{') {
            let end = braced.find('}').ok_or_else(|| PatternError::Open(rest[at..].to_owned()))?;
            (&braced[..end], end + 2)
        } else {
            let part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = after.find(|letter| !part(letter)).unwrap_or(after.len());
            (&after[..end], end)
        };
        tokens.field(variable(name), &rest[at..=at + length]);
        rest = &after[length..];
    }
    if !rest.is_empty() {
        tokens.text(rest.as_bytes());
    }
    Ok(tokens.0)
}

fn envoy(text: &str) -> Result<Vec<Token>, PatternError> {
    let mut tokens = Tokens::default();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        if at > 0 {
            tokens.text(&rest.as_bytes()[..at]);
        }
        let after = &rest[at + 1..];
        // A format of START_TIME has per cent signs of its own, in brackets.
        let from = match (after.find('('), after.find('%')) {
            (Some(open), Some(end)) if open < end => after.find(')').unwrap_or(0),
            _ => 0,
        };
        let end = after[from..].find('%').map(|end| from + end);
        let end = end.ok_or_else(|| PatternError::Open(rest[at..].to_owned()))?;
        let operator = after[..end].to_ascii_uppercase();
        let name = if operator.starts_with("START_TIME") {
            "START_TIME"
        } else {
            operator.split("):").next().unwrap_or_default()
        };
        let name = if operator.contains("):") { format!("{name})") } else { name.to_owned() };
        tokens.field(known(OPERATORS, &name), &rest[at..at + end + 2]);
        rest = &after[end + 1..];
    }
    if !rest.is_empty() {
        tokens.text(rest.trim_end_matches("\\n").as_bytes());
    }
    Ok(tokens.0)
}

fn apache(text: &str) -> Result<Vec<Token>, PatternError> {
    let mut tokens = Tokens::default();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        if at > 0 {
            tokens.text(&rest.as_bytes()[..at]);
        }
        let after = &rest[at + 1..];
        // Conditions (%400,501{...}i, %!200r) and the choice of first or last request.
        let part = |letter: char| letter.is_ascii_digit() || "!,<>".contains(letter);
        let skip = after.find(|letter| !part(letter)).unwrap_or(after.len());
        let (argument, letter_at) = match after[skip..].strip_prefix('{') {
            Some(braced) => {
                let end = braced.find('}');
                let end = end.ok_or_else(|| PatternError::Open(rest[at..].to_owned()))?;
                (&braced[..end], skip + end + 2)
            }
            None => ("", skip),
        };
        let letter = after[letter_at..].chars().next();
        let letter = letter.ok_or_else(|| PatternError::Open(rest[at..].to_owned()))?;
        let next = letter_at + letter.len_utf8();
        match letter {
            '%' => tokens.text(b"%"),
            't' if argument.is_empty() => {
                tokens.text(b"[");
                tokens.field(Field::At, "%t");
                tokens.text(b"]");
            }
            _ => tokens.field(directive(argument, letter), &rest[at..=at + next]),
        }
        rest = &after[next..];
    }
    if !rest.is_empty() {
        tokens.text(rest.as_bytes());
    }
    Ok(tokens.0)
}

fn directive(argument: &str, letter: char) -> Field {
    match (letter, argument) {
        ('T', "ms") => Field::Took(Unit::Millis),
        ('T', "us") => Field::Took(Unit::Micros),
        ('t', format) => {
            let format = format.split_once(':').map_or(format, |(when, format)| match when {
                "begin" | "end" => format,
                _ => argument,
            });
            let whole = ["sec", "msec", "usec", "%s", "begin", "end"].contains(&format)
                || format.starts_with("%d/%b/%Y:")
                || format.starts_with("%Y-%m-%d")
                || format.starts_with("%F");
            if whole { Field::At } else { Field::Skip }
        }
        ('i', name) if name.eq_ignore_ascii_case("host") => Field::Site,
        ('i', name) if name.eq_ignore_ascii_case("x-forwarded-for") => Field::Forwarded,
        ('o', name) if name.eq_ignore_ascii_case("x-cache") => Field::Hit,
        ('e', "BALANCER_WORKER_NAME") => Field::Server,
        ('i' | 'o' | 'e' | 'n' | 'C' | 'p' | 'P', _) => Field::Skip,
        _ => {
            let known = DIRECTIVES.iter().find(|(known, _)| char::from(*known) == letter);
            known.map_or(Field::Skip, |&(_, field)| field)
        }
    }
}
