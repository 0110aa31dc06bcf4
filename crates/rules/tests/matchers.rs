//! Each matcher, by a table of requests: which of them a rule with this one matcher matches.
//!
//! A rule gives its requests the class `cpu`; all others stay `static`.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use policy::Class;
use rules::{ClassNames, Described, RuleSpec, Rules};

fn list(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

fn pairs(entries: &[&str]) -> Vec<rules::Pair> {
    entries.iter().map(|entry| entry.parse().unwrap()).collect()
}

fn request(url: &str) -> Described {
    Described::new("GET", url).unwrap()
}

#[track_caller]
fn check(matchers: RuleSpec, yes: &[Described], no: &[Described]) {
    let spec = RuleSpec { class: Some("cpu".to_owned()), ..matchers };
    let rules = Rules::compile(vec![spec], ClassNames::default()).unwrap();
    for (requests, class, miss) in [(yes, Class::CPU, false), (no, Class::STATIC, true)] {
        for request in requests {
            assert_eq!(rules.judge(request).class, class, "{request:?}");
            let explanation = rules.explain(request);
            assert_eq!(explanation.findings[0].miss.is_some(), miss, "{request:?}");
        }
    }
}

#[test]
fn a_rule_without_matchers_matches_everything() {
    check(RuleSpec::default(), &[request("/"), request("http://h/a?b"), request("*")], &[]);
}

#[test]
fn methods_are_compared_with_case() {
    let post = |word| Described::new(word, "/").unwrap();
    check(
        RuleSpec { method: list(&["POST", "PUT"]), ..RuleSpec::default() },
        &[post("POST"), post("PUT")],
        &[post("GET"), post("post"), post("POSTS")],
    );
}

#[test]
fn hosts_are_compared_without_case_and_port() {
    check(
        RuleSpec { host: list(&["Example.com", "*.example.net", "[::1]"]), ..RuleSpec::default() },
        &[
            request("http://example.com/"),
            request("http://EXAMPLE.com:8080/"),
            request("http://a.b.example.net/"),
            request("http://[::1]:80/"),
        ],
        &[
            request("/"),
            request("http://www.example.com/"),
            request("http://example.net/"),
            request("http://badexample.net/"),
            request("http://example.com.evil/"),
        ],
    );
}

#[test]
fn paths_match_whole_by_beginning_and_by_end() {
    check(
        RuleSpec { path: list(&["/a", "/b/c"]), ..RuleSpec::default() },
        &[request("/a"), request("/a?x"), request("/b/c")],
        &[request("/a/"), request("/A"), request("/b"), request("/")],
    );
    check(
        RuleSpec { path_prefix: list(&["/cgi-bin/", "/q"]), ..RuleSpec::default() },
        &[request("/cgi-bin/x"), request("/cgi-bin/"), request("/query"), request("/q/a")],
        &[request("/cgi-bin"), request("/x/cgi-bin/"), request("/")],
    );
    check(
        RuleSpec { path_suffix: list(&[".php", ".cgi"]), ..RuleSpec::default() },
        &[request("/index.php"), request("/a/b.cgi?x.html")],
        &[request("/index.php5"), request("/a?x.php"), request("/php")],
    );
}

#[test]
fn a_star_of_a_glob_stays_within_a_segment() {
    check(
        RuleSpec {
            path_glob: list(&["/users/*/orders/**", "/*.{jpg,png}"]),
            ..RuleSpec::default()
        },
        &[request("/users/7/orders/1/lines"), request("/cat.png")],
        &[request("/users/7/8/orders/1"), request("/x/cat.png"), request("/cat.gif")],
    );
}

#[test]
fn an_expression_is_searched_unless_anchored() {
    check(
        RuleSpec { path_regex: list(&["[0-9]{4}", "^/x$"]), ..RuleSpec::default() },
        &[request("/blog/2024/a"), request("/x")],
        &[request("/blog/202"), request("/x/y")],
    );
}

#[test]
fn every_parameter_that_is_named_must_be_there() {
    check(
        RuleSpec { query: pairs(&["id", "page=2", "sort=y*r"]), ..RuleSpec::default() },
        &[request("/?sort=year&page=2&id"), request("/?id=7&page=1&page=2&sort=yr")],
        &[request("/?id=7&page=2"), request("/?ID=7&page=2&sort=yr"), request("/")],
    );
}

#[test]
fn fields_are_found_without_case_and_cookies_with_it() {
    let base = || request("/");
    check(
        RuleSpec { header: pairs(&["Accept=*json*", "x-a"]), ..RuleSpec::default() },
        &[base().with_field("ACCEPT", "text/html, application/json;q=1").with_field("X-A", "")],
        &[base().with_field("accept", "application/json"), base()],
    );
    check(
        RuleSpec { cookie: pairs(&["user", "mode=dark"]), ..RuleSpec::default() },
        &[base().with_field("Cookie", "a=b; user=7;mode=dark"), {
            base().with_field("cookie", "mode=dark; user=x=y")
        }],
        &[base().with_field("cookie", "User=7; mode=dark"), base(), {
            base().with_field("cookie", "user; mode=dark")
        }],
    );
}

#[test]
fn all_matchers_of_a_rule_must_match() {
    check(
        RuleSpec {
            scheme: Some(rules::Scheme::Https),
            path_prefix: list(&["/a/"]),
            path_suffix: list(&[".b"]),
            ..RuleSpec::default()
        },
        &[request("https://h/a/x.b")],
        &[request("http://h/a/x.b"), request("https://h/a/x.c"), request("https://h/c/x.b")],
    );
}

#[test]
fn the_first_rule_that_names_one_decides_the_class_and_likewise_the_target() {
    let spec = |prefix: &str, class: Option<&str>, target: Option<&str>| RuleSpec {
        path_prefix: list(&[prefix]),
        class: class.map(str::to_owned),
        target: target.map(|target| target.parse().unwrap()),
        ..RuleSpec::default()
    };
    let specs = vec![
        spec("/none/", Some("cpu"), Some("host")),
        spec("/", None, Some("path")),
        spec("/a/", Some("disk"), Some("query")),
        spec("/", Some("light"), None),
    ];
    let rules = Rules::compile(specs, ClassNames::default()).unwrap();
    let explanation = rules.explain(&request("http://h/a/b?c"));
    assert_eq!(explanation.class(&rules), "disk");
    assert_eq!((explanation.class_rule, explanation.target_rule), (Some(2), Some(1)));
    assert_eq!(explanation.verdict.rule, Some(1));
    assert_eq!(explanation.target.to_string(), "path");
    let miss = explanation.findings[0].miss.as_ref().unwrap();
    assert_eq!(miss.to_string(), r#"path_prefix is "/a/b", not /none/"#);
    assert_eq!(rules.judge(&request("/b")).class, Class::LIGHT);
}

#[test]
fn any_matching_rule_may_want_the_relay_and_needs_no_class_for_that() {
    let path = |prefix: &str| list(&[prefix]);
    let specs = vec![
        RuleSpec {
            class: Some("cpu".to_owned()),
            target: "path".parse().ok(),
            ..RuleSpec::default()
        },
        RuleSpec { path_prefix: path("/a/"), relay: true, ..RuleSpec::default() },
    ];
    let rules = Rules::compile(specs, ClassNames::default()).unwrap();
    let (relayed, other) = (rules.judge(&request("/a/b")), rules.judge(&request("/b")));
    assert_eq!((relayed.relay, relayed.class, relayed.rule), (true, Class::CPU, Some(0)));
    assert!(!other.relay);
}

#[test]
fn only_what_header_fields_had_no_say_in_is_judged_by_the_line() {
    let cookie = RuleSpec {
        path_glob: list(&["/shop/**"]),
        cookie: pairs(&["user"]),
        class: Some("cpu".to_owned()),
        ..RuleSpec::default()
    };
    let keyed = RuleSpec {
        path_prefix: list(&["/keyed"]),
        target: "path+header:x-key".parse().ok(),
        ..RuleSpec::default()
    };
    let rules = Rules::compile(vec![cookie, keyed], ClassNames::default()).unwrap();
    let by_line =
        |url: &str, cookie: &str| rules.judge(&request(url).with_field("cookie", cookie)).by_line;
    assert!(by_line("/", "user=1"), "the cookie is not even looked at");
    assert!(!by_line("/shop/a", "user=1"), "it is why the rule matches");
    assert!(!by_line("/shop/a", "other=1"), "it is why the rule does not");
    assert!(!by_line("/keyed/a", ""), "the target is made of a field");
}

#[test]
fn an_own_class_is_counted_after_the_fixed_ones() {
    let classes = ClassNames::new(&["video", "search"]).unwrap();
    let spec = RuleSpec { class: Some("search".to_owned()), ..RuleSpec::default() };
    let rules = Rules::compile(vec![spec], classes).unwrap();
    assert_eq!(rules.judge(&request("/")).class, Class(6));
    assert_eq!(rules.explain(&request("/")).class(&rules), "search");
    assert!(ClassNames::new(&["cpu"]).is_err(), "a fixed name is taken");
    assert!(ClassNames::new(&["a b"]).is_err(), "a label has no space");
    let many: Vec<_> = (0..60).map(|number| format!("own{number}")).collect();
    assert_eq!(ClassNames::new(&many).unwrap_err().0, 59, "59 fit");
}

#[test]
fn every_mistake_is_named_with_its_place_and_remedy() {
    let bad = vec![
        RuleSpec { class: Some("cpus".to_owned()), ..RuleSpec::default() },
        RuleSpec {
            method: list(&["GET", "get"]),
            host: list(&["a:80", "b", "*x"]),
            path_prefix: list(&["cgi"]),
            path: list(&["/a?b"]),
            path_glob: list(&["/["]),
            path_regex: list(&["("]),
            ..RuleSpec::default()
        },
        RuleSpec {
            path_regex: list(&["((a{500}){500}){500}"]),
            class: Some("cpu".to_owned()),
            ..RuleSpec::default()
        },
    ];
    let errors = Rules::compile(bad, ClassNames::default()).unwrap_err();
    let places: Vec<_> = errors.iter().map(|error| (error.rule, error.field, error.item)).collect();
    let wanted = [
        (0, "class", 0),
        (1, "method", 1),
        (1, "host", 0),
        (1, "host", 2),
        (1, "path", 0),
        (1, "path_prefix", 0),
        (1, "path_glob", 0),
        (1, "path_regex", 0),
        (1, "", 0),
        (2, "path_regex", 0),
    ];
    assert_eq!(places, wanted);
    assert!(errors.iter().all(|error| !error.message.is_empty() && !error.remedy.is_empty()));
}
