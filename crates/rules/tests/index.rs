//! The index may only leave out rules that cannot match.
//!
//! Random rule sets and random requests over few words, so that they often meet. An explanation
//! tries every rule one by one; a judgement goes by the index: they must agree.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use proptest::prelude::*;
use rules::{ClassNames, Described, RuleSpec, Rules};

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["/", "a", "b", "ab"]), 0..5)
        .prop_map(|pieces| format!("/{}", pieces.concat()))
}

fn host() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["h", "i", "*.h", "a.h"]).prop_map(str::to_owned)
}

fn spec() -> impl Strategy<Value = RuleSpec> {
    let paths = || prop::collection::vec(path(), 0..3);
    let hosts = prop::collection::vec(host(), 0..3);
    let outcome = prop::option::of(prop::sample::select(vec!["cpu", "disk"]));
    (hosts, paths(), paths(), 0..4, outcome).prop_map(|(host, path, path_prefix, keep, class)| {
        RuleSpec {
            host: if keep % 2 == 0 { host } else { Vec::new() },
            path: if keep == 1 { path } else { Vec::new() },
            path_prefix: if keep > 1 { path_prefix } else { Vec::new() },
            class: class.map(str::to_owned),
            target: class.is_none().then(|| "path".parse().unwrap()),
            ..RuleSpec::default()
        }
    })
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
