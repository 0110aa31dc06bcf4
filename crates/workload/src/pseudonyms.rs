//! URLs without what may name a person.
//!
//! Queries hold what people typed: names, addresses, words they searched for. So the rule for
//! queries, and for the parameters of a path segment (`;name=value`, RFC 3986 3.3), is a list of
//! what may stay, not of what must go: short numbers but for those that are [`SECRETS`], and the
//! values of [`HARMLESS`] parameters; everything else becomes a pseudonym. Paths are what a site
//! published, so there it is a list of what must go: a segment with a mail or Internet address, one
//! that follows a word such as "user" or "session" ([`BEFORE_NAMES`]), a home directory, and what
//! looks like the number of a session or of a person.
//!
//! A pseudonym is a number by first appearance, so it cannot be turned back by trying names, as an
//! unkeyed hash could; equal values stay equal and different ones different, so targets do, too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Query parameters whose values say nothing of a person: versions, pages, feeds, sort orders,
/// fields of publishing software.
#[rustfmt::skip] // a set to skim, not a column
const HARMLESS: &[&str] = &[
    "C", "O", "M", "N", "S", "D", "ver", "v", "page", "paged", "flav", "feed", "format", "type",
    "port", "share", "relatedposts", "c", "dir", "load", "load%5B%5D", "load[]", "action",
    "registration", "option", "view",
];

/// Words in the names of parameters whose values are nobody else's business, however short.
#[rustfmt::skip] // a set to skim, not a column
const SECRETS: &[&str] = &[
    "pin", "pins", "pass", "passwd", "password", "pwd", "pw", "otp", "tan", "code", "token", "auth",
    "key", "secret", "session", "sessionid", "jsessionid", "phpsessid", "sid", "user", "userid",
    "username", "uid", "login", "account", "customer", "member", "name", "zip", "plz", "postcode",
    "phone", "tel", "mobile", "age", "birth", "birthday", "dob", "ssn", "card", "cvv", "cvc",
];

/// Path segments behind which people or their sessions are named.
#[rustfmt::skip] // a set to skim, not a column
const BEFORE_NAMES: &[&str] = &[
    "author", "authors", "user", "users", "u", "profile", "profiles", "people", "person", "member",
    "members", "account", "accounts", "customer", "customers", "client", "clients", "patient",
    "patients", "session", "sessions", "token", "reset", "verify", "unsubscribe", "invite",
];

/// Shortest hexadecimal path segment that is taken for the number of a session: half a UUID's.
const HEX_BYTES_MIN: usize = 16;

/// Shortest decimal path segment that is taken for the number of a person: longer than a date.
const DIGITS_MIN: usize = 9;

/// How the path segment of a home directory begins.
const HOMES: [&str; 3] = ["~", "%7E", "%7e"];

/// Longest value that may stay, in bytes: words that programs choose are short.
const VALUE_BYTES_MAX: usize = 64;

/// Longest number that may stay: shorter than a telephone number.
const NUMBER_BYTES_MAX: usize = 6;

/// The pseudonyms given so far.
#[derive(Clone, Debug, Default)]
pub struct Pseudonyms(BTreeMap<Box<str>, u32>);

impl Pseudonyms {
    /// How many different values were replaced.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The URL with everything that may name a person replaced.
    pub fn url(&mut self, url: &str) -> String {
        let (path, query) = url.split_once('?').map_or((url, None), |(p, q)| (p, Some(q)));
        let mut out = String::with_capacity(url.len());
        let mut before = "";
        for (place, whole) in path.split('/').enumerate() {
            if place > 0 {
                out.push('/');
            }
            let (segment, params) =
                whole.split_once(';').map_or((whole, None), |(s, p)| (s, Some(p)));
            if let Some(mark) = HOMES.iter().find(|mark| segment.starts_with(**mark)) {
                out.push_str(mark);
                self.replace(&segment[mark.len()..], &mut out);
            } else if among(BEFORE_NAMES, before) || addressed(segment) || number_of_one(segment) {
                self.replace(segment, &mut out);
            } else {
                out.push_str(segment);
            }
            if let Some(params) = params {
                out.push(';');
                self.pairs(params, ';', &mut out);
            }
            before = segment;
        }
        if let Some(query) = query {
            out.push('?');
            self.pairs(query, '&', &mut out);
        }
        out
    }

    /// Names and values with `gap` between the pairs.
    fn pairs(&mut self, text: &str, gap: char, out: &mut String) {
        for (place, pair) in text.split(gap).enumerate() {
            if place > 0 {
                out.push(gap);
            }
            match pair.split_once('=') {
                Some((name, value)) if plain_name(name) => {
                    out.push_str(name);
                    out.push('=');
                    let harmless = HARMLESS.contains(&name) && value.len() <= VALUE_BYTES_MAX;
                    let short = short_number(value) && !secret(name);
                    if (harmless && !addressed(value)) || short {
                        out.push_str(value);
                    } else {
                        self.replace(value, out);
                    }
                }
                None if short_number(pair) || pair == "rsd" => out.push_str(pair),
                _ => self.replace(pair, out),
            }
        }
    }

    fn replace(&mut self, value: &str, out: &mut String) {
        if value.is_empty() {
            return;
        }
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let number = *self.0.entry(value.into()).or_insert(next);
        // Writing to a String cannot fail.
        let _ = write!(out, "p{number:05}");
    }
}

/// A parameter's name as programs choose it, not a text with a "=" in it.
fn plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.%[]".contains(&byte);
    !name.is_empty() && name.len() <= 32 && name.bytes().all(plain) && !addressed(name)
}

fn among(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether one of the words in a parameter's name is among [`SECRETS`]: `user_pin` has one,
/// `shipping` none.
fn secret(name: &str) -> bool {
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| among(SECRETS, word))
}

/// Whether a path segment is long enough a number, decimal or hexadecimal, to be somebody's.
fn number_of_one(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (digits == segment.len() && digits >= DIGITS_MIN)
        || (digits > 0 && segment.len() >= HEX_BYTES_MIN && segment.bytes().all(hex))
}

/// Digits, with dots and commas as in versions, sizes and points of a map, and few of them.
fn short_number(value: &str) -> bool {
    let numeric = |byte: u8| byte.is_ascii_digit() || b".,".contains(&byte);
    value.len() <= NUMBER_BYTES_MAX + 1 && value.bytes().all(numeric)
}

/// Whether the text holds a mail address or an IPv4 address.
fn addressed(text: &str) -> bool {
    text.contains('@') || text.contains("%40") || has_ipv4(text)
}

fn has_ipv4(text: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_digit() && letter != '.').any(|word| {
        let parts: Vec<&str> = word.split('.').collect();
        parts.windows(4).any(|four| {
            four.iter().all(|part| (1..=3).contains(&part.len()) && part.parse::<u8>().is_ok())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_name_a_person_goes_and_the_rest_stays() {
        let mut names = Pseudonyms::default();
        let cases = [
            ("/a/b.gif", "/a/b.gif"),
            ("/x.css?ver=4.4.2&p=17", "/x.css?ver=4.4.2&p=17"),
            ("/cgi-bin/phf?Jserver=www&Qname=j+doe", "/cgi-bin/phf?Jserver=p00000&Qname=p00001"),
            ("/cgi-bin/phf?Qname=j+doe", "/cgi-bin/phf?Qname=p00001"),
            ("/imagemap/map?120,34", "/imagemap/map?120,34"),
            ("/find?some+words", "/find?p00002"),
            ("/author/jdoegmail-com/page/2/", "/author/p00003/page/2/"),
            ("/~jdoe/index.html", "/~p00004/index.html"),
            ("/gate/134.67.99.11=wais=210", "/gate/p00005"),
            ("/wp?v=me%40example.org", "/wp?v=p00006"),
            ("/wp?phone=5551234567", "/wp?phone=p00007"),
            ("/?", "/?"),
        ];
        for (url, expected) in cases {
            assert_eq!(names.url(url), expected);
        }
        assert_eq!(names.count(), 8);
    }

    #[test]
    fn sessions_and_people_in_paths_go() {
        let mut names = Pseudonyms::default();
        let cases = [
            ("/a;jsessionid=ABCDEF123456", "/a;jsessionid=p00000"),
            ("/a;sid=1234;v=2/b?jsessionid=ABCDEF123456", "/a;sid=p00001;v=2/b?jsessionid=p00000"),
            ("/a;john.smith", "/a;p00002"),
            ("/user/john.smith/session/9f8e7d6c5b4a39281706", "/user/p00002/session/p00003"),
            ("/Users/john.smith", "/Users/p00002"),
            ("/s/9f8e7d6c-5b4a-3928-1706-000000000001/x", "/s/p00004/x"),
            ("/call/5551234567", "/call/p00005"),
            ("/p?pin=1234&id=77&user_id=12", "/p?pin=p00001&id=77&user_id=p00006"),
            ("/2015/20150517/archive.html", "/2015/20150517/archive.html"),
            (
                "/js/app.9f8e7d6c5b4a39281706.js?shipping=3",
                "/js/app.9f8e7d6c5b4a39281706.js?shipping=3",
            ),
            ("/users/", "/users/"),
        ];
        for (url, expected) in cases {
            assert_eq!(names.url(url), expected);
        }
    }

    #[test]
    fn versions_are_no_addresses() {
        for text in ["1.2.3", "4.4.2", "300.1.1.1", "1..2.3"] {
            assert!(!has_ipv4(text), "{text}");
        }
        assert!(has_ipv4("host-10.0.0.1-x"));
    }
}
