//! Globs and regular expressions with the text that whatever they match must begin with.
//!
//! Comparing that text costs a few nanoseconds, asking the expression some eighty; and a beginning
//! that holds a whole directory lets the index pass the rule over altogether.

use regex::bytes::Regex;

/// A pattern of paths.
#[derive(Debug)]
pub(crate) struct Pattern {
    prefix: Box<str>,
    regex: Regex,
}

impl Pattern {
    /// `prefix`: what every match begins with; empty when that is not known.
    pub(crate) fn new(prefix: String, regex: Regex) -> Self {
        Self { prefix: prefix.into(), regex }
    }

    #[inline]
    pub(crate) fn is_match(&self, path: &str) -> bool {
        path.starts_with(&*self.prefix) && self.regex.is_match(path.as_bytes())
    }
}

/// What every path that a glob matches begins with.
pub(crate) fn glob_prefix(glob: &str) -> String {
    // `a/**/b` matches `a/b` too: the slash before `**` is in both, so it may stay.
    let end = glob.find(['*', '?', '[', ']', '{', '}', ',', '\\']).unwrap_or(glob.len());
    glob[..end].to_owned()
}

/// What every path in which an expression is found begins with, where that is easily seen: the
/// plain characters behind `^` in an expression without alternatives or flags.
pub(crate) fn regex_prefix(regex: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '~');
    let Some(rest) = regex.strip_prefix('^').filter(|rest| !rest.contains(['|', '\n'])) else {
        return String::new();
    };
    let end = rest.find(|c| !plain(c)).unwrap_or(rest.len());
    let (prefix, after) = rest.split_at(end);
    // A repetition belongs to the last character, which then may be missing.
    let repeated = after.starts_with(['*', '?', '{', '+']);
    prefix[..prefix.len() - usize::from(repeated && !prefix.is_empty())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_what_no_match_can_do_without() {
        let globs = [("/shop/*/x", "/shop/"), ("/a{b,c}", "/a"), ("/a", "/a"), ("**/x", "")];
        for (glob, prefix) in globs {
            assert_eq!(glob_prefix(glob), prefix, "{glob}");
        }
        let regexes = [
            ("^/v[0-9]+/", "/v"),
            ("^/ab?c", "/a"),
            ("^/ab{0}c", "/a"),
            ("^/a|^/b", ""),
            ("/a", ""),
            ("^/a$", "/a"),
            ("^(?i)/a", ""),
            ("^", ""),
            ("^*", ""),
            ("(?i)^/a", ""),
            ("^/a.b", "/a"),
        ];
        for (regex, prefix) in regexes {
            assert_eq!(regex_prefix(regex), prefix, "{regex}");
        }
    }
}
