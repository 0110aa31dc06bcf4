//! The index may only leave out rules that cannot match.
//!
//! Random rule sets and random requests over few words, so that they often meet. An explanation
//! tries every rule one by one; a judgement goes by the index: they must agree.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use proptest::prelude::*;
use rules::{ClassNames, Described, RuleSpec, Rules};

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["/", "a", "b", "ab", ".b"]), 0..5)
        .prop_map(|pieces| format!("/{}", pieces.concat()))
}

fn host() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["h", "i", "*.h", "a.h"]).prop_map(str::to_owned)
}

fn spec() -> impl Strategy<Value = RuleSpec> {
    let paths = || prop::collection::vec(path(), 0..3);
    let suffixes = prop::sample::select(vec!["", ".b", ".a.b", "a.b", "b"]);
    let globs = prop::sample::select(vec!["", "/a/*", "/a/**/b", "/a*", "/{a,b}/*", "**/b"]);
    let regexes =
        prop::sample::select(vec!["", "^/a/", "^/ab?", "^/b/+a", "a$", "^/a|b", "^/(a|b)/"]);
    let patterns = (suffixes, globs, regexes);
    let hosts = prop::collection::vec(host(), 0..3);
    let outcome = prop::option::of(prop::sample::select(vec!["cpu", "disk"]));
    let parts = (hosts, paths(), paths(), patterns, 0..8, outcome);
    parts.prop_map(|(host, path, path_prefix, (suffix, glob, regex), keep, class)| {
        let one = |text: &str| if text.is_empty() { vec![] } else { vec![text.to_owned()] };
        RuleSpec {
            path_suffix: if keep == 4 { one(suffix) } else { Vec::new() },
            path_glob: if keep == 5 { one(glob) } else { Vec::new() },
            path_regex: if keep == 6 { one(regex) } else { Vec::new() },
            host: if keep % 2 == 0 { host } else { Vec::new() },
            path: if keep == 1 { path } else { Vec::new() },
            path_prefix: if keep == 2 || keep == 3 { path_prefix } else { Vec::new() },
            class: class.map(str::to_owned),
            target: class.is_none().then(|| "path".parse().unwrap()),
            ..RuleSpec::default()
        }
    })
}

const GLOBS: [&str; 8] = ["/a/*", "/a/**/b", "/a*", "/{a,b}/*", "**/b", "/a/**", "/[ab]b", "/?"];
const REGEXES: [&str; 10] =
    ["^/a/", "^/ab?", "^/b/+a", "a$", "^/a|b", "^/(a|b)/", "^/a{0,1}b", "^/ab*$", "(?i)^/A", "^"];

proptest! {
    #[test]
    fn the_known_beginning_of_a_pattern_changes_nothing(
        path in path(),
        glob in prop::sample::select(GLOBS.to_vec()),
        regex in prop::sample::select(REGEXES.to_vec()),
    ) {
        let plain = globset::GlobBuilder::new(glob).literal_separator(true).build().unwrap();
        let globs = RuleSpec { path_glob: vec![glob.to_owned()], ..RuleSpec::default() };
        let regexes = RuleSpec { path_regex: vec![regex.to_owned()], ..RuleSpec::default() };
        let matches = |spec: RuleSpec| {
            let spec = RuleSpec { class: Some("cpu".to_owned()), ..spec };
            let rules = Rules::compile(vec![spec], ClassNames::default()).unwrap();
            rules.judge(&Described::new("GET", &path).unwrap()).rule.is_some()
        };
        prop_assert_eq!(matches(globs), plain.compile_matcher().is_match(&path), "{}", glob);
        let plain = regex::Regex::new(regex).unwrap();
        prop_assert_eq!(matches(regexes), plain.is_match(&path), "{}", regex);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_index_agrees_with_trying_every_rule(
        specs in prop::collection::vec(spec(), 0..12), host in "[hi]|a\\.h|H", path in path(),
    ) {
        let rules = Rules::compile(specs.clone(), ClassNames::default()).unwrap();
        let request = Described::new("GET", &format!("http://{host}{path}")).unwrap();
        let explanation = rules.explain(&request);
        let matching: Vec<_> =
            explanation.findings.iter().filter(|f| f.miss.is_none()).map(|f| f.rule).collect();
        let first = |gives: fn(&RuleSpec) -> bool| {
            matching.iter().copied().find(|rule| gives(&specs[usize::from(*rule)]))
        };
        prop_assert_eq!(explanation.verdict.rule, matching.first().copied());
        prop_assert_eq!(explanation.class_rule, first(|spec| spec.class.is_some()));
        prop_assert_eq!(explanation.target_rule, first(|spec| spec.target.is_some()));
    }
}
