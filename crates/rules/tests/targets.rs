//! What makes two requests one target: examples, and promises over random URLs.
//!
//! The known values at the end are a contract: a switch, its successor and a simulation of its log
//! must agree on what a target is.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use policy::TargetId;
use proptest::prelude::*;
use rules::{ClassNames, Described, RuleSpec, Rules};

fn rules(target: &str) -> Rules {
    let target = Some(target.parse().unwrap());
    let spec = RuleSpec { target, ..RuleSpec::default() };
    Rules::compile(vec![spec], ClassNames::default()).unwrap()
}

fn target(rules: &Rules, url: &str) -> TargetId {
    rules.judge(&Described::new("GET", url).unwrap()).target
}

#[track_caller]
fn check(recipe: &str, same: &[(&str, &str)], differ: &[(&str, &str)]) {
    let rules = rules(recipe);
    for (a, b) in same {
        assert_eq!(target(&rules, a), target(&rules, b), "{recipe}: {a} and {b} are one target");
    }
    for (a, b) in differ {
        assert_ne!(target(&rules, a), target(&rules, b), "{recipe}: {a} and {b} are two targets");
    }
}

#[test]
fn a_target_can_be_read() {
    let text = |recipe: &str, url: &str| {
        let facts = Described::new("GET", url).unwrap().with_field("Cookie", "session=secret");
        rules(recipe).explain(&facts).target_text
    };
    let url = "http://WWW.Example.com:80/a/b?y=2&x=1&z=3";
    for (recipe, wanted) in [
        ("host+path+query", "www.example.com/a/b?y=2&x=1&z=3"),
        ("path", "/a/b"),
        ("path+query:x,y", "/a/b?x=1&y=2"),
        ("cookie:session", "cookie session (6 bytes)"),
        ("path+header:x-key", "/a/b header x-key (absent)"),
        ("header:x-key", "www.example.com/a/b?y=2&x=1&z=3"),
    ] {
        assert_eq!(text(recipe, url), wanted, "{recipe}");
    }
    assert_eq!(text("host+path+query", "http://h/a?"), "h/a", "an empty query is none");
}

#[test]
fn by_default_a_target_is_the_url_with_its_arguments() {
    let (none, whole) = (Rules::none(), rules("host+path+query"));
    for url in ["/", "http://h/a", "http://h/a?b=1", "http://H:80/a?b"] {
        assert_eq!(target(&none, url), target(&whole, url));
    }
    check(
        "query + path + host",
        &[
            ("http://h/a", "https://H:8080/a"),
            ("http://h/a?", "http://h/a"),
            ("http://h", "http://h/"),
        ],
        &[
            ("http://h/a", "http://h/A"),
            ("http://h/a", "http://i/a"),
            ("http://h/a?x=1", "http://h/a"),
            ("http://h/a?x=1&y=2", "http://h/a?y=2&x=1"),
            ("http://h/%7Ea", "http://h/~a"),
            ("http://ha/", "http://h/a/"),
        ],
    );
}

#[test]
fn the_query_and_the_host_can_be_left_out() {
    check("host+path", &[("http://h/a?x", "http://h/a?y")], &[("http://h/a", "http://i/a")]);
    check("path", &[("http://h/a?x", "http://i/a")], &[("http://h/a", "http://h/b")]);
}

#[test]
fn named_parameters_count_whatever_their_order() {
    check(
        "path+query:page,id",
        &[
            ("/a?id=1&page=2", "/a?page=2&utm=x&id=1"),
            ("/a?utm=x", "/a"),
            ("/a?id", "/a?id="),
            ("/b?id=1&id=2", "/b?id=1&x&id=2"),
        ],
        &[
            ("/a?id=1&page=2", "/a?id=2&page=1"),
            ("/a?id=1", "/a?page=1"),
            ("/a?id=1", "/b?id=1"),
            ("/a?id=", "/a"),
            ("/a?id=1&id=2", "/a?id=2&id=1"),
        ],
    );
}

#[test]
fn a_field_or_a_cookie_can_name_the_target() {
    let rules = rules("header:X-Tenant");
    let judge = |url: &str, tenant: &str| {
        rules.judge(&Described::new("GET", url).unwrap().with_field("x-tenant", tenant)).target
    };
    assert_eq!(judge("/a", "7"), judge("/b?c", "7"));
    assert_ne!(judge("/a", "7"), judge("/a", "8"));
    let without = Described::new("GET", "/a?b").unwrap();
    assert_eq!(rules.judge(&without).target, Rules::none().judge(&without).target);
    let cookie = self::rules("path+cookie:user");
    let with = |text: &str| Described::new("GET", "/a").unwrap().with_field("cookie", text);
    assert_eq!(cookie.judge(&with("user=1; x=2")), cookie.judge(&with("y=3; user=1")));
    assert_ne!(cookie.judge(&with("user=1")), cookie.judge(&with("user=2")));
}

#[test]
fn a_recipe_that_makes_no_sense_is_refused() {
    for bad in ["", "hots", "host+host", "query+query:id", "query:", "header:", "header:a,b", "+"] {
        assert!(bad.parse::<rules::TargetSpec>().is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn the_same_url_is_the_same_target_and_capitals_of_the_host_do_not_count(
        host in "[a-zA-Z0-9.-]{1,40}", path in "/[!-\"$->@-~]{0,300}", query in "[!-\"$-~]{0,300}",
    ) {
        let rules = Rules::none();
        let url = format!("http://{host}{path}?{query}");
        let shouted = format!("http://{}{path}?{query}", host.to_ascii_uppercase());
        prop_assert_eq!(target(&rules, &url), target(&rules, &url));
        prop_assert_eq!(target(&rules, &url), target(&rules, &shouted));
    }

    #[test]
    fn any_order_of_named_parameters_is_one_target(
        pairs in prop::collection::btree_map("[a-d]", "[a-z0-9%]{0,6}", 0..4usize),
        noise in "[x-z]=[0-9]{1,3}",
    ) {
        let rules = rules("host+path+query:a,b,c,d");
        let mut parts: Vec<_> =
            pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let url = format!("http://h/p?{}", parts.join("&"));
        parts.reverse();
        parts.insert(parts.len() / 2, noise);
        let shuffled = format!("http://h/p?{}", parts.join("&"));
        prop_assert_eq!(target(&rules, &url), target(&rules, &shuffled));
    }

    #[test]
    fn moving_a_byte_from_host_to_path_to_query_is_another_target(
        a in "[a-z]{1,20}", b in "[a-z]{1,20}", c in "[a-z]{1,20}",
    ) {
        let rules = Rules::none();
        let one = target(&rules, &format!("http://{a}/{b}{c}"));
        prop_assert_ne!(one, target(&rules, &format!("http://{a}{b}/{c}")));
        prop_assert_ne!(one, target(&rules, &format!("http://{a}/{b}?{c}")));
    }

    #[test]
    fn no_request_makes_a_judgement_fail(
        method in "\\PC{0,8}", host in "\\PC{0,20}", path in "\\PC{0,40}", cookie in "\\PC{0,40}",
    ) {
        let rules = rules("host+path+query:a+header:x+cookie:a");
        if let Ok(request) = Described::new(&method, &format!("{host}{path}")) {
            let request = request.with_field("cookie", &cookie).with_field("host", &host);
            prop_assert_eq!(rules.explain(&request).verdict, rules.judge(&request));
        }
    }
}

#[test]
fn targets_are_the_same_on_every_machine_and_in_every_version() {
    let whole = Rules::none();
    let known = [
        target(&whole, "http://example.com/"),
        target(&whole, "http://example.com/a?b=1"),
        target(&rules("path+query:id"), "/a?x=1&id=7"),
    ];
    assert_eq!(
        known.map(|target| target.0),
        [11_529_608_451_506_091_465, 7_956_427_137_109_118_553, 18_187_271_920_731_587_440,]
    );
}
