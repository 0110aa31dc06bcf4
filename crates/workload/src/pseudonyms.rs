//! URLs without what may name a person.
//!
//! Queries hold what people typed: names, addresses, words they searched for. So the rule for
//! queries is a list of what may stay, not of what must go: short numbers, and the values of
//! [`HARMLESS`] parameters; everything else becomes a pseudonym. In paths, a segment with a mail or
//! Internet address goes, an author's name and a home directory.
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
        for (place, segment) in path.split('/').enumerate() {
            if place > 0 {
                out.push('/');
            }
            if let Some(mark) = HOMES.iter().find(|mark| segment.starts_with(**mark)) {
                out.push_str(mark);
                self.replace(&segment[mark.len()..], &mut out);
            } else if before.eq_ignore_ascii_case("author") || addressed(segment) {
                self.replace(segment, &mut out);
            } else {
                out.push_str(segment);
            }
            before = segment;
        }
        if let Some(query) = query {
            out.push('?');
            self.query(query, &mut out);
        }
        out
    }

    fn query(&mut self, query: &str, out: &mut String) {
        for (place, pair) in query.split('&').enumerate() {
            if place > 0 {
                out.push('&');
            }
            match pair.split_once('=') {
                Some((name, value)) if plain_name(name) => {
                    out.push_str(name);
                    out.push('=');
                    let harmless = HARMLESS.contains(&name) && value.len() <= VALUE_BYTES_MAX;
                    if (harmless && !addressed(value)) || short_number(value) {
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
    fn versions_are_no_addresses() {
        for text in ["1.2.3", "4.4.2", "300.1.1.1", "1..2.3"] {
            assert!(!has_ipv4(text), "{text}");
        }
        assert!(has_ipv4("host-10.0.0.1-x"));
    }
}
