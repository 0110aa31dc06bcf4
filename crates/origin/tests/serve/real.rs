//! The real mode: CPU time that is burnt and files that are read, against the model that says how
//! much and which.

use crate::support::{LIMIT, Running};
use ::model::{Reading, Service};
use origin::{Config, DocumentCache, RealSettings, content};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

fn settings(root: &Path) -> RealSettings {
    RealSettings { database_bytes: 1 << 20, ..RealSettings::below(root) }
}

/// A real origin with small demands, so that tests take little of a busy machine.
fn real(root: &Path) -> Config {
    Config { real: Some(settings(root)), time_scale: 0.1, ..Config::default() }
}

fn number(status: &Value, part: &str, name: &str) -> f64 {
    status[part][name].as_f64().unwrap()
}

const PATHS: [&str; 12] = [
    "/bytes/1000/a",
    "/bytes/1000/a",
    "/bytes/200000/b",
    "/bytes/0/c",
    "/light/bytes/3000/d",
    "/light/bytes/3000/d",
    "/cpu/bytes/700/e",
    "/disk/bytes/700/e",
    "/cpu+disk/bytes/700/e",
    "/secure/bytes/10240/f",
    "/secure/bytes/10240/f",
    "/secure+query/bytes/10/g",
];

#[test]
fn the_same_requests_get_the_same_answers_and_use_as_much_cpu_as_on_paper() {
    // It is ten milliseconds, of which what interrupts a processor may take some, now and then.
    let off: Vec<f64> = (0..3).map(|_| off_paper()).take_while(|off| off.abs() >= 0.03).collect();
    assert!(off.len() < 3, "{off:?}");
}

/// Compares the answers; by what share more CPU time was used than on paper.
fn off_paper() -> f64 {
    let root = tempfile::tempdir().unwrap();
    let mut paper = real(root.path());
    (paper.model.reading, paper.real) = (Reading::Whole, None);
    let (paper, real) = (Running::start(paper), Running::start(real(root.path())));
    let (mut on_paper, mut in_truth) = (paper.client(), real.client());
    for path in PATHS {
        let (reckoned, burnt) = (on_paper.get(path), in_truth.get(path));
        assert_eq!((reckoned.status, &reckoned.body), (burnt.status, &burnt.body), "{path}");
        // The date may have changed in between.
        let fields = |fields: &[(String, String)]| {
            fields.iter().filter(|field| field.0 != "date").cloned().collect::<Vec<_>>()
        };
        assert_eq!(fields(&reckoned.fields), fields(&burnt.fields), "{path}");
        let target = content::target(Some("a.example"), path);
        assert!(content::verify(target, 0, &burnt.body), "{path}");
    }
    let (reckoned, burnt) = (paper.status(), real.status());
    for name in ["requests", "hits", "misses", "bypassed", "finished", "bytes", "active"] {
        assert_eq!(reckoned[name], burnt[name], "{name}");
    }
    assert_eq!(reckoned["cache"], burnt["cache"]);
    assert_eq!(reckoned["disk"]["reads"], burnt["disk"]["reads"]);
    // Model seconds there, real ones here. The look at the status was a connection on both.
    let scaled = number(&reckoned, "cpu", "busy_seconds") * 0.1;
    let off = number(&burnt, "cpu", "busy_seconds") / scaled - 1.0;
    assert!(number(&burnt, "disk", "busy_seconds") > 0.0, "{burnt}");
    off
}

#[test]
fn whoever_joins_a_read_waits_for_it_and_one_read_serves_all() {
    let root = tempfile::tempdir().unwrap();
    let mut config = real(root.path());
    // Computing takes a while, so that all are there before the first has been read.
    config.offer("slow", Service { cpu: Duration::from_millis(500), ..Service::STATIC });
    let origin = Running::start(config);
    let mut clients: Vec<_> = (0..9).map(|_| origin.client()).collect();
    for client in &mut clients {
        client.send("GET /slow/bytes/40000/a HTTP/1.1\r\nHost: a.example\r\n\r\n");
    }
    let target = content::target(Some("a.example"), "/slow/bytes/40000/a");
    for client in &mut clients {
        assert!(content::verify(target, 0, &client.response("GET").unwrap().body));
    }
    let status = origin.status();
    assert_eq!((&status["disk"]["reads"], &status["misses"]), (&1.into(), &1.into()), "{status}");
    assert_eq!(status["coalesced"].as_u64().unwrap() + status["hits"].as_u64().unwrap(), 8);
}

#[test]
fn it_answers_about_itself_while_its_cpu_burns_and_ends_without_waiting_for_it() {
    let root = tempfile::tempdir().unwrap();
    let mut config = real(root.path());
    config.offer("cpu", Service { cpu: Duration::from_secs(36_000), ..Service::PROGRAM });
    config.drain_timeout = Duration::from_millis(10);
    config.sample = Duration::from_millis(50);
    let mut origin = Running::start(config);
    let mut client = origin.client();
    client.send("GET /cpu/a HTTP/1.1\r\nHost: a.example\r\n\r\n");
    client.send("GET /cpu/b HTTP/1.1\r\nHost: a.example\r\n\r\n");
    let status = origin.wait("burning", |status| number(status, "cpu", "busy_seconds") > 0.01);
    assert_eq!(status["active"], 1, "requests of a connection are answered one by one");
    assert!(number(&status, "cpu", "queue") >= 1.0 && number(&status, "cpu", "occupied") > 0.0);
    // Burnt time is told while it is burnt, not when a piece of work is done.
    origin.wait_at("/.origin/utilisation", "a busy sample", |usage| {
        usage["real"] == true
            && usage["samples"]
                .as_array()
                .unwrap()
                .iter()
                .any(|sample| sample["cpu"].as_f64() > Some(0.05))
    });
    let start = Instant::now();
    origin.stop();
    origin.join();
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}

#[test]
fn under_the_kernels_cache_it_is_the_kernel_who_says_what_is_a_hit() {
    let root = tempfile::tempdir().unwrap();
    let cache = DocumentCache::Kernel;
    let real = Some(RealSettings { cache, ..settings(root.path()) });
    let origin = Running::start(Config { real, ..real_scale() });
    let mut client = origin.client();
    client.get("/bytes/50000/a");
    let again = client.get("/bytes/50000/a");
    assert_eq!(again.field("cache-status"), Some("origin; hit"));
    let target = content::target(Some("a.example"), "/bytes/50000/a");
    assert!(content::verify(target, 0, &again.body));
    assert_eq!(client.get("/query/bytes/5").field("cache-status"), Some("origin; fwd=bypass"));
    assert_eq!(origin.status()["cache"]["bytes"], 0, "it keeps nothing itself");
}

fn real_scale() -> Config {
    Config { time_scale: 0.1, ..Config::default() }
}

#[test]
fn a_document_that_cannot_be_made_is_an_error_with_its_reason_for_all_who_wait() {
    let root = tempfile::tempdir().unwrap();
    let real = Some(RealSettings { bytes_max: 5_000, ..settings(root.path()) });
    let origin = Running::start(Config { real, ..real_scale() });
    assert_eq!(origin.get("/bytes/4000/a").status, 200);
    let mut clients: Vec<_> = (0..3).map(|_| origin.client()).collect();
    for client in &mut clients {
        client.send("GET /bytes/4001/b HTTP/1.1\r\nHost: a.example\r\n\r\n");
    }
    for client in &mut clients {
        let answer = client.response("GET").unwrap();
        let text = String::from_utf8(answer.body).unwrap();
        assert!(answer.status == 500 && text.contains("may hold 5000"), "{text}");
        assert!(client.is_closed());
    }
    let status = origin.wait("the end of all", |status| status["active"] == 0);
    assert_eq!(status["finished"], 1);
    assert_eq!(origin.get("/bytes/4000/a").status, 200, "it goes on");
}

#[test]
fn only_heads_chunks_and_old_clients_get_what_they_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let origin = Running::start(real(root.path()));
    let mut client = origin.client();
    client.send("HEAD /bytes/9000/a HTTP/1.1\r\nHost: a.example\r\n\r\n");
    let head = client.response("HEAD").unwrap();
    assert_eq!(
        (head.field("content-length"), origin.status()["disk"]["reads"].as_u64()),
        (Some("9000"), Some(0))
    );
    let chunked = client.get("/bytes/90000/a?chunked");
    let target = content::target(Some("a.example"), "/bytes/90000/a?chunked");
    assert!(chunked.body.len() == 90_000 && content::verify(target, 0, &chunked.body));
    client.send("GET /bytes/9/a HTTP/1.0\r\nHost: a.example\r\n\r\n");
    assert_eq!(client.response("GET").unwrap().field("connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn a_root_that_cannot_be_written_to_is_said_at_the_start() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = origin::Origin::bind(real(&file)).err().unwrap().to_string();
    assert!(error.contains("cannot begin to burn and read") && error.contains("file"), "{error}");
    let mut none = real(&file);
    none.real = Some(RealSettings { roots: Vec::new(), ..settings(&file) });
    let error = origin::Origin::bind(none).err().unwrap().to_string();
    assert!(error.contains("no folder"), "{error}");
}
