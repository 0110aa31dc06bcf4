//! How busy an origin says it was, against what it was given to do.

use crate::support::{Client, Running};
use origin::{COLUMNS, Config};
use serde_json::Value;
use std::time::Duration;

const UTILISATION: &str = "/.origin/utilisation";
const LOAD: &str = "/.origin/load";

/// Intervals are short, so that tests need not wait for long ones.
fn quick() -> Config {
    let (sample, report_period) = (Duration::from_millis(20), Duration::from_millis(20));
    Config { sample, report_period, time_scale: 0.1, ..Config::default() }
}

/// Times are told to the microsecond: so much may a sum of a thousand of them be off.
const ROUNDING_S: f64 = 1e-3;

fn sum(samples: &Value, of: impl Fn(&Value) -> f64) -> f64 {
    samples["samples"].as_array().unwrap().iter().map(of).sum()
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap()
}

#[test]
fn samples_add_up_to_what_was_done() {
    let origin = Running::start(quick());
    let mut client = origin.client();
    for path in ["/bytes/1000/a", "/bytes/1000/a", "/query/bytes/500", "/cpu/bytes/2000"] {
        client.get(path);
    }
    let requests = |samples: &Value| sum(samples, |one| number(one, "finished"));
    let samples = origin.wait_at(UTILISATION, "the sample", |samples| requests(samples) >= 4.0);
    let total = |name: &str| sum(&samples, |one| number(one, name));
    assert_eq!(["requests", "hits", "misses", "bypassed"].map(total), [4.0, 1.0, 1.0, 2.0]);
    assert_eq!(total("out_bytes"), 4500.0);
    // Seconds of the model: 0.1 real ones each. The disk read a file and made three accesses.
    let busy_s = |part: &str| sum(&samples, |one| number(one, part) * number(one, "span_s") / 0.1);
    assert!((busy_s("disk") - 0.028_41 - 0.040_89).abs() < ROUNDING_S, "{}", busy_s("disk"));
    // Reads one at a time: the queue is what is being read.
    assert!((busy_s("disk_queue") - busy_s("disk")).abs() < ROUNDING_S);
    assert!(busy_s("cpu") > 0.041, "{}", busy_s("cpu"));
    let ends: Vec<f64> =
        samples["samples"].as_array().unwrap().iter().map(|one| number(one, "at_s")).collect();
    assert!(ends.is_sorted(), "{ends:?}");
    let mbit_s = sum(&samples, |one| number(one, "network") * number(one, "span_s")) / 0.1 * 100.0;
    assert!((mbit_s - 0.036).abs() < 0.036 * 0.01 + 1e-3 * 100.0 * ROUNDING_S, "{mbit_s}");
}

#[test]
fn samples_are_told_as_csv_too_and_outlive_the_origin() {
    let bound = origin::Origin::bind(quick()).unwrap();
    let usage = bound.usage();
    let mut origin = Running::serve(bound);
    origin.get("/bytes/1000/a");
    origin.wait_at(UTILISATION, "a sample", |samples| {
        sum(samples, |one| number(one, "requests")) > 0.0
    });
    let csv = origin.get("/.origin/utilisation?format=csv");
    assert_eq!(csv.field("content-type"), Some("text/csv"));
    let text = String::from_utf8(csv.body).unwrap();
    assert_eq!(text.lines().next(), Some(COLUMNS));
    assert!(text.lines().nth(1).unwrap().starts_with("origin,"), "{text}");
    assert_eq!(origin.get("/.origin/utilisation?format=xml").status, 400);
    origin.get("/bytes/1000/b");
    origin.stop();
    origin.join();
    let requests: u64 = usage.samples().iter().map(|sample| sample.requests).sum();
    assert_eq!(requests, 2, "the interval that the end cut short is there as well");
    assert!(usage.csv().starts_with(text.lines().nth(1).unwrap()));
}

#[test]
fn the_load_is_told_of_the_last_period_and_of_this_moment() {
    // The disk is busy for two seconds and a half.
    let config = Config { time_scale: 20.0, ..quick() };
    let origin = Running::start(config);
    let mut busy: Vec<Client> = (0..3).map(|_| origin.client()).collect();
    for (at, client) in busy.iter_mut().enumerate() {
        client.send(&format!("GET /query/bytes/9/{at} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
    }
    // Three, and the one that asks; whoever asked before may not have been seen to go yet.
    let fits = |load: &Value| load["disk_busy"] == 1.0 && load["established"] == 4;
    let load = origin.wait_at(LOAD, "a busy disk", fits);
    assert!(number(&load, "period_s") > 0.0 && number(&load, "disk_queue") >= 1.0, "{load}");
    assert_eq!((&load["server"], &load["healthy"]), (&"origin".into(), &true.into()));
    assert!((1.0..=3.0).contains(&number(&load, "active")), "{load}");
    busy.iter_mut().for_each(|client| assert_eq!(client.response("GET").unwrap().status, 200));
    origin.wait_at(LOAD, "an idle disk", |load| load["disk_busy"] == 0.0 && load["active"] == 0);
}

#[test]
fn who_is_not_accepted_yet_is_in_the_accept_queue() {
    let origin = Running::start(Config { connections_max: 1, ..quick() });
    let mut first = origin.client();
    let load =
        |client: &mut Client| -> Value { serde_json::from_slice(&client.get(LOAD).body).unwrap() };
    assert_eq!(load(&mut first)["accept_queue"], 0);
    let waiting: Vec<Client> = (0..2).map(|_| origin.client()).collect();
    let start = std::time::Instant::now();
    let last = loop {
        let load = load(&mut first);
        if load["accept_queue"] == 2 || start.elapsed() > crate::support::LIMIT {
            break load;
        }
    };
    assert_eq!((&last["accept_queue"], &last["established"]), (&2.into(), &1.into()), "{last}");
    assert!(number(&last, "accept_backlog") >= 1.0);
    drop(waiting);
}

#[test]
fn an_agents_path_is_content_unless_the_origin_stands_in_for_one() {
    let plain = Running::start(quick());
    assert_eq!(plain.get("/load").field("content-type"), Some("application/octet-stream"));
    let agent = Running::start(Config { agent: true, ..quick() });
    assert_eq!(agent.json("/load")["server"], "origin");
}

#[test]
fn periods_that_would_leave_no_time_for_anything_else_are_refused() {
    let config = Config { sample: Duration::ZERO, ..Config::default() };
    let error = origin::Origin::bind(config).err().unwrap().to_string();
    assert!(error.contains("0ns") && error.contains("10ms"), "{error}");
}
