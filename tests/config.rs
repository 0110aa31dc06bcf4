//! The configuration: what is understood, and what is said of what is not.
//!
//! Mistakes are a file of cases, config_mistakes.txt: a sentence, a configuration, and the
//! diagnosis word for word, for the words are what an operator works with. Files that include
//! others are written to a temporary directory.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use baton::config::ready::{AccessFormat, Admission, Check, Via};
use baton::config::{Config, Flag, LoadError, Loaded};
use std::fs;
use std::time::Duration;

const BASE: &str = "[listen.a]\naddress = \":1\"\n[server.a]\naddress = \"h:1\"\n";

fn parse(text: &str) -> Result<Loaded, LoadError> {
    Config::parse("file", text, &|name| (name == "PORT").then(|| "8088".to_owned()))
}

fn config(text: &str) -> Config {
    parse(text).unwrap_or_else(|error| panic!("{error}")).config
}

#[test]
fn every_mistake_gets_its_exact_diagnosis() {
    let cases: Vec<_> = include_str!("config_mistakes.txt").split("### ").skip(1).collect();
    assert!(cases.len() >= 50, "the file of cases is read: {}", cases.len());
    for case in cases {
        let (name, rest) = case.split_once('\n').unwrap();
        let (text, wanted) = rest.split_once("---\n").unwrap();
        let found = match Config::parse("file", text, &|_| None) {
            Ok(loaded) => loaded.warnings.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found.trim_end(), wanted.trim_end(), "{name}:\n{text}");
    }
}

#[test]
fn all_mistakes_are_found_at_once_in_their_order() {
    let text = "workres = 1\n[listen.a]\naddress = \"x\"\n[server.a]\naddress = \"h:0\"\n\
                [policy]\nt_hihg = 1\n[[rule]]\nclass = \"x\"\n[limits]\nfields = 0\n";
    let Err(LoadError::Invalid(diagnosis)) = parse(text) else { panic!("it is wrong") };
    let starts: Vec<_> =
        diagnosis.problems.iter().map(|p| p.place.as_ref().unwrap().span.start).collect();
    assert_eq!(starts.len(), 6, "{diagnosis}");
    assert!(starts.is_sorted(), "{diagnosis}");
}

#[test]
fn the_smallest_configuration_has_sane_defaults() {
    let config = config(BASE);
    assert_eq!(config.policy.entry.name, "lard-r");
    assert_eq!(config.policy.admission, Admission::Off);
    assert_eq!(config.limits.head_bytes, 16 << 10);
    assert_eq!(config.limits.body_bytes, None);
    assert_eq!(config.timeouts.tunnel, Duration::from_secs(3600));
    assert_eq!(config.servers[0].max_inflight, None);
    assert!(matches!(config.health.unwrap().check, Check::Http { .. }));
    assert_eq!(config.log.access, None);
    assert_eq!(config.listeners[0].addresses[0].to_string(), "[::]:1");
}

#[test]
fn the_reference_begins_with_a_file_that_is_valid() {
    let reference = include_str!("../docs/configuration.md");
    let (_, rest) = reference.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    assert_eq!(config(example).servers.len(), 2);
}

#[test]
fn everything_that_can_be_set_arrives() {
    let text = r#"
        workers = "${WORKERS:-3}"
        [listen.a]
        address = ["127.0.0.1:${PORT}", "[::1]:1"]
        congestion = "cubic"
        defer_accept = false
        backlog = 10
        [server.a]
        address = "h"
        weight = 3
        capacity = 65
        max_inflight = "off"
        [server.b]
        address = "[::1]:2"
        [policy]
        name = "cap-alarm"
        seed = 9
        admission = 99
        [classes]
        names = ["video"]
        [[rule]]
        path_prefix = "/v/"
        class = "video"
        [queue]
        max_inflight = 7
        [health]
        kind = "tcp"
        [ejection]
        failures = "off"
        panic = "30%"
        [slow_start]
        time = "off"
        [log]
        access = "combined"
        path = "/tmp/x"
        [admin]
        socket = "off"
        address = "127.0.0.1:9"
        token = "0123456789abcdef"
        [forwarded]
        via = "off"
    "#;
    let config = config(text);
    assert_eq!(config.workers, 3);
    assert_eq!(config.listeners[0].addresses[0].port(), 8088);
    assert!(!config.listeners[0].defer_accept);
    let servers: Vec<_> = config.servers.iter().map(|s| (&*s.address, s.max_inflight)).collect();
    assert_eq!(servers, [("h:80", None), ("[::1]:2", Some(7))]);
    assert_eq!((config.policy.entry.name, config.policy.seed), ("cap-alarm", 9));
    assert_eq!(config.policy.admission, Admission::Fixed(99));
    let video = rules::Described::new("GET", "/v/x").unwrap();
    assert_eq!(config.rules.judge(&video).class, policy::Class(5));
    assert_eq!(config.health.unwrap().check, Check::Tcp);
    assert_eq!(config.ejection, None);
    assert!((config.panic_share - 0.3).abs() < 1e-9);
    assert_eq!(config.slow_start, Duration::ZERO);
    assert_eq!(config.log.access, Some(AccessFormat::Combined));
    assert_eq!(config.admin.socket, None);
    let (address, token) = config.admin.tcp.unwrap();
    assert_eq!((address.port(), token.expose()), (9, "0123456789abcdef"));
    assert_eq!(format!("{token:?}"), "(secret)", "a token is never shown");
    assert_eq!(config.forwarded.via, Via::Off);
}

#[test]
fn every_parameter_of_every_policy_can_be_set_to_its_default() {
    for entry in policy::POLICIES {
        for param in entry.params {
            let value = match (param.default)() {
                policy::Value::Span(span) => format!("\"{}ns\"", span.as_nanos()),
                policy::Value::Word(word) => format!("\"{word}\""),
                policy::Value::Auto => "\"auto\"".to_owned(),
                policy::Value::Partition(_) => "{}".to_owned(),
                other => other.to_string(),
            };
            let text =
                format!("{BASE}[policy]\nname = \"{}\"\n{} = {value}\n", entry.name, param.name);
            let set = config(&text);
            let unset = config(&format!("{BASE}[policy]\nname = \"{}\"\n", entry.name));
            assert_eq!(set, unset, "{}.{}", entry.name, param.name);
        }
    }
}

#[test]
fn configurations_are_equal_when_they_would_make_the_same_switch() {
    let spelt =
        format!("# a comment\n{BASE}[timeouts]\nhead = \"10000ms\"\n[policy]\nt_low = 25\n");
    assert_eq!(config(BASE), config(&spelt));
    assert_ne!(config(BASE), config(&format!("{BASE}[policy]\nt_low = 26\n")));
    assert_ne!(config(BASE), config(&format!("{BASE}[[rule]]\nclass = \"cpu\"\n")));
}

#[test]
fn flags_need_no_file() {
    let flags = [
        Flag::Listen(":8080".to_owned()),
        Flag::Server("127.0.0.1:9001".to_owned()),
        Flag::Server("b=10.0.0.2:80,weight=2,max_inflight=9".to_owned()),
        Flag::Policy("lard".to_owned()),
        Flag::Set("policy.t_high=80".to_owned()),
        Flag::Set("server.127.0.0.1:9001.capacity=5".to_owned()),
        Flag::AccessLog("json".to_owned()),
    ];
    let config = Config::from_flags(&flags).unwrap().config;
    assert_eq!(config.listeners[0].name, ":8080");
    let [a, b] = config.servers.as_slice() else { panic!("{:?}", config.servers) };
    assert_eq!((&*a.name, &*a.address, a.capacity), ("127.0.0.1:9001", "127.0.0.1:9001", Some(5)));
    assert_eq!((&*b.name, b.weight, b.max_inflight), ("b", 2, Some(9)));
    let high = config.policy.params.iter().find(|(param, _)| param.name == "t_high").unwrap().1;
    assert_eq!(*high, policy::Value::Count(80));
    assert_eq!(config.log.access, Some(AccessFormat::Json));
}

#[test]
fn a_mistake_in_a_flag_is_shown_in_the_flag() {
    let table = [
        (Flag::Server("b=h:2,wieght=2".to_owned()), "--server:1:7: there is no key \"wieght\" in"),
        (Flag::Server("b=h:2,weight=x".to_owned()), "--server:1:14: server.b.weight cannot be"),
        (Flag::Server("b=h:2,weight".to_owned()), "--server:1:7: \"weight\" is no KEY=VALUE"),
        (Flag::Server("h:x".to_owned()), "--server:1:1: \"h:x\" has no port"),
        (Flag::Set("policy.t_hihg=8".to_owned()), "--set:1:1: the policy lard-r has no parameter"),
        (Flag::Set("limits".to_owned()), "--set:1:1: \"limits\" is no KEY=VALUE"),
        (Flag::Policy("lrad".to_owned()), "--policy:1:1: there is no policy \"lrad\"; did you"),
    ];
    for (flag, wanted) in table {
        let flags = [Flag::Listen(":1".to_owned()), Flag::Server("a=h:1".to_owned()), flag.clone()];
        let error = Config::from_flags(&flags).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{flag:?}: {error}");
    }
}

#[test]
fn flags_replace_what_the_file_says_and_add_servers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("baton.toml");
    fs::write(&path, format!("{BASE}[policy]\nname = \"wrr\"\n[queue]\nlength = 5\n")).unwrap();
    let flags = [
        Flag::Policy("lard".to_owned()),
        Flag::Set("queue.length=6".to_owned()),
        Flag::Server("b=h:2".to_owned()),
    ];
    let config = Config::load(&path, &flags).unwrap().config;
    assert_eq!((config.policy.entry.name, config.queue.length), ("lard", 6));
    assert_eq!(config.servers.len(), 2);
}

#[test]
fn included_files_add_their_tables_in_the_order_of_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    fs::create_dir(directory.path().join("conf.d")).unwrap();
    let main = directory.path().join("baton.toml");
    write("baton.toml", &format!("include = [\"conf.d/*.toml\"]\n{BASE}[queue]\nlength = 5\n"));
    write("conf.d/2.toml", "[[rule]]\npath = \"/2\"\nclass = \"disk\"\n");
    write(
        "conf.d/1.toml",
        "[server.b]\naddress = \"h:2\"\n[[rule]]\npath = \"/1\"\nclass = \"cpu\"\n",
    );
    write("conf.d/ignored.txt", "not toml");
    let config = Config::load(&main, &[]).unwrap().config;
    let paths: Vec<_> = config.rules.specs().iter().map(|rule| rule.path[0].clone()).collect();
    assert_eq!((config.servers.len(), paths), (2, vec!["/1".to_owned(), "/2".to_owned()]));

    write("conf.d/3.toml", "[queue]\nlength = 7\n[server.c]\naddress = 1\n");
    write("conf.d/4.toml", "include = \"x.toml\"\n[server\n");
    let error = Config::load(&main, &[]).unwrap_err().to_string();
    let wanted = [
        "/conf.d/3.toml:2:1: length is set twice (the first is at ",
        "/conf.d/3.toml:4:11: server.c.address cannot be 1",
        "/conf.d/4.toml:2:8: this is not TOML: unclosed table",
    ];
    assert_eq!(error.lines().count(), wanted.len(), "{error}");
    for (line, wanted) in error.lines().zip(wanted) {
        assert!(line.contains(wanted), "{wanted}: {error}");
    }
}

#[test]
fn a_token_is_read_from_a_file_beside_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let admin = "[admin]\naddress = \"127.0.0.1:9\"\ntoken_file = \"token\"\n";
    write("baton.toml", &format!("{BASE}{admin}"));
    let load = || Config::load(&directory.path().join("baton.toml"), &[]);
    let error = load().unwrap_err().to_string();
    assert!(error.contains("baton.toml:7:14: cannot read token: "), "{error}");
    write("token", "0123456789abcdef\n");
    assert_eq!(load().unwrap().config.admin.tcp.unwrap().1.expose(), "0123456789abcdef");
}

#[test]
fn a_server_that_cannot_be_resolved_is_one_sentence() {
    let config = config("[listen.a]\naddress = \":1\"\n[server.a]\naddress = \"127.0.0.1:5\"\n");
    assert_eq!(config.servers[0].resolve().unwrap().to_string(), "127.0.0.1:5");
    let nowhere = baton::config::ready::Server {
        address: "no-such-name.invalid:80".to_owned(),
        ..config.servers[0].clone()
    };
    let sentence = nowhere.resolve().unwrap_err();
    assert!(sentence.starts_with("server a: cannot resolve no-such-name.invalid:80"), "{sentence}");
}
