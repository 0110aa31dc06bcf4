//! Promise: each request is one line of the access log, with the decision and how it ended; and
//! what the switch says of itself has its time.

use crate::running::{Baton, config};
use crate::server::Server;
use rustix::process::Signal;
use serde_json::Value;

fn lines(format: &str) -> Vec<String> {
    let server = Server::saying("hello");
    let rest = format!(
        "[health]\nkind = \"off\"\n[policy]\nname = \"lard\"\n[log]\naccess = \"{format}\"\n"
    );
    let one = config(&[("a", server.address)], &rest).replace("workers = 2", "workers = 1");
    let mut switch = Baton::run(&one);
    let mut client = switch.client();
    for path in ["/x?q=1", "/x?q=1", "/%22quoted%22"] {
        client.send(format!(
            "GET {path} HTTP/1.1\r\nHost: w.example\r\nReferer: http://r/\"\r\n\
             User-Agent: test \\ \"1\"\r\n\
             traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n"
        ));
        assert_eq!(client.reply().text(), "hello");
    }
    let mut wrong = switch.client();
    wrong.send("nonsense\r\n\r\n");
    assert_eq!(wrong.reply().status, 400);
    client.send("POST /p HTTP/1.1\r\nHost: w.example\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(client.reply().text(), "hello");
    drop(client);
    switch.signal(Signal::TERM);
    assert_eq!(switch.ended().code(), Some(0));
    switch.output().lines().map(str::to_owned).collect()
}

#[test]
fn a_json_line_has_every_field_of_the_decision() {
    let lines = lines("json");
    assert_eq!(lines.len(), 5, "{lines:#?}");
    let parsed: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = &parsed[0];
    for (key, value) in [
        ("client", Value::from("127.0.0.1")),
        ("method", Value::from("GET")),
        ("host", Value::from("w.example")),
        ("path", Value::from("/x?q=1")),
        ("status", Value::from(200)),
        ("policy", Value::from("lard")),
        ("class", Value::from("static")),
        ("server", Value::from("a")),
        ("reason", Value::from("first-seen")),
        ("candidates", Value::from(1)),
        ("load_chosen", Value::from(0.0)),
        ("load_least", Value::from(0.0)),
        ("expect", Value::from("miss")),
        ("mechanism", Value::from("relay")),
        ("trace_id", Value::from("4bf92f3577b34da6a3ce929d0e0e4736")),
        ("attempts", Value::from(1)),
        ("queue_ms", Value::from(0.0)),
        ("term", Value::from("--")),
        ("referer", Value::from("http://r/\"")),
        ("agent", Value::from("test \\ \"1\"")),
    ] {
        assert_eq!(first[key], value, "{key} of {first}");
    }
    for key in ["connect_ms", "first_byte_ms", "total_ms", "bytes", "time_ms"] {
        assert!(first[key].as_f64().unwrap() > 0.0, "{key} of {first}");
    }
    assert_eq!(first["target"].as_str().unwrap().len(), 16);
    assert_eq!(first["request_id"].as_str().unwrap().len(), 16);
    assert_eq!((&parsed[1]["reason"], &parsed[1]["expect"]), (&"affinity".into(), &"hit".into()));
    assert_eq!(parsed[1]["target"], first["target"]);
    assert_eq!(parsed[1]["connect_ms"], 0.0, "over the same connection");
    let refused = parsed.iter().find(|line| line["status"] == 400).unwrap();
    assert_eq!((&refused["term"], &refused["path"]), (&"PR".into(), &"-".into()), "{refused}");
    let posted = parsed.iter().find(|line| line["method"] == "POST").unwrap();
    assert_eq!(posted["bytes_in"], 3);
    assert!(parsed[0]["total_ms"].as_f64() >= parsed[0]["first_byte_ms"].as_f64());
}

#[test]
fn a_combined_line_is_read_by_those_who_know_the_format() {
    let lines = lines("combined");
    assert_eq!(lines.len(), 5, "{lines:#?}");
    let first = &lines[0];
    assert!(first.starts_with("127.0.0.1 - - ["), "{first}");
    assert!(first.contains("] \"GET /x?q=1 HTTP/1.1\" 200 "), "{first}");
    assert!(first.contains(" \"http://r/\\x22\" \"test \\x5C \\x221\\x22\" "), "{first}");
    for part in ["policy=lard", "class=static", "server=a", "reason=first-seen", "term=--"] {
        assert!(first.contains(part), "{part} is in {first}");
    }
    let day = first.split(['[', ']']).nth(1).unwrap();
    assert!(day.ends_with(" +0000") && day.len() == "29/Feb/2000:12:34:56 +0000".len(), "{day}");
    assert!(lines.iter().all(|line| line.matches('"').count() == 6), "{lines:#?}");
}

#[test]
fn what_it_says_has_its_time_unless_the_journal_adds_it() {
    let server = Server::saying("hello");
    let file = config(&[("a", server.address)], "");
    let said = |journal: Option<&str>| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_baton"));
        command.env_remove("JOURNAL_STREAM");
        command.envs(journal.map(|value| ("JOURNAL_STREAM", value)));
        let switch = Baton::run_by(&file, command);
        switch.signal(Signal::TERM);
        switch.hears("stopping")
    };
    let timed = said(None);
    let (time, rest) = timed.split_once(' ').unwrap();
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{timed}");
    assert!(rest.starts_with("baton: stopping; "), "{timed}");
    assert!(said(Some("8:123")).starts_with("baton: stopping; "));
}
