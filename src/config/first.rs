//! Where a key that is set twice was set first.
//!
//! The TOML reader says where the second is, and not where the first one is. Everything before the
//! second's line is TOML by itself, so that is read again, and the key looked up in it.

use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key that is set a second time.
pub(super) struct Again {
    /// Names of the tables around it, and its own.
    pub(super) path: Vec<String>,
    /// Whether it is a table's, `[name]` or `[[name]]`.
    pub(super) table: bool,
    /// Where the line begins that begins the table it is in, or names.
    pub(super) header: usize,
    /// Where it was set first; `None` where that cannot be told, as within an inline table.
    pub(super) first: Option<Range<usize>>,
}

/// The key at `second`, of which the reader of `text` says that it was set before.
pub(super) fn find(text: &str, second: &Range<usize>) -> Option<Again> {
    let start = text.get(..second.start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let (before, line) = (&text[..start], text[start..].lines().next()?);
    let table = line.trim_start().starts_with('[');
    let (header, mut path) = if table { (start, Vec::new()) } else { header(before) };
    path.extend(names(line, second.start - start)?);
    let (known, _) = DeTable::parse_recoverable(before);
    let first = look_up(known.get_ref(), &path);
    Some(Again { path, table, header, first })
}

/// Where the table begins that a key after `before` is in, and its names.
fn header(before: &str) -> (usize, Vec<String>) {
    let mut end = before.len();
    for line in before.split_inclusive('\n').rev() {
        end -= line.len();
        if line.trim_start().starts_with('[')
            && let Some(names) = names(line, line.len())
        {
            return (end, names);
        }
    }
    (0, Vec::new())
}

/// The names in a line of TOML, from the outermost to the one that `offset` is in or before.
fn names(line: &str, offset: usize) -> Option<Vec<String>> {
    let (table, _) = DeTable::parse_recoverable(line);
    let mut names = Vec::new();
    let mut table = Some(table.get_ref());
    while let Some((key, value)) = table.and_then(|table| table.iter().next()) {
        if key.span().start > offset {
            break;
        }
        names.push(key.get_ref().clone().into_owned());
        table = inner(value);
    }
    (!names.is_empty()).then_some(names)
}

/// The table in a value, the last one of many.
fn inner<'t, 'i>(value: &'t Spanned<DeValue<'i>>) -> Option<&'t DeTable<'i>> {
    match value.get_ref() {
        DeValue::Table(table) => Some(table),
        DeValue::Array(list) => list.last().and_then(inner),
        _ => None,
    }
}

fn look_up(table: &DeTable<'_>, path: &[String]) -> Option<Range<usize>> {
    let (name, rest) = path.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name.as_str())?;
    if rest.is_empty() { Some(key.span()) } else { look_up(inner(value)?, rest) }
}

#[cfg(test)]
mod tests {
    //! Method: texts in which one key, marked by `<`, is there twice, and the line of its first.

    use super::*;

    #[test]
    fn the_first_of_two_is_found_whatever_is_between() {
        let table = [
            ("a = 1\n<a = 2\n", Some(1)),
            ("[q]\na = 1\n[r]\na = 1\n<a = 2", Some(4)),
            ("[s.a]\nx = 1\n[l.a]\n[s.b]\n[s.<a]\n", Some(1)),
            ("[[r]]\na = 1\n[[r]]\na = 1\n  <a = 2\n", Some(4)),
            ("[r]\na = 1\n[[<r]]\na = 1\n", Some(1)),
            ("[[r]]\n[<r]\n", Some(1)),
            ("p.a = 1\np.b = 1\np.<a = 2\n", Some(1)),
            ("\"k \u{e4}\" = 1\n<\"k \u{e4}\" = 2\n", Some(1)),
            ("t = { a = 1, <a = 2 }\n", None),
        ];
        for (marked, line) in table {
            let second = marked.find('<').unwrap();
            let text = marked.replace('<', "");
            let again = find(&text, &(second..second + 1)).unwrap();
            let found = again.first.map(|first| text[..first.start].matches('\n').count() + 1);
            assert_eq!(found, line, "{marked}: {:?}", again.path);
        }
    }

    #[test]
    fn a_place_that_is_not_in_the_text_is_none() {
        assert!(find("", &(0..0)).is_none());
        assert!(find("a = 1", &(99..100)).is_none());
        assert!(find("\u{e4}", &(1..2)).is_none());
    }
}
