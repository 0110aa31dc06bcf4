//! An origin over real sockets: whether it behaves as the server of a paper would, in time and in
//! what its cache holds. Times are compared with the papers' formulas at a scale.

use crate::support::{Client, Response, Running};
use ::model::{CachePolicy, DiskCost};
use origin::{Config, Origin, content};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn scaled(time_scale: f64) -> Config {
    Config { time_scale, ..Config::default() }
}

fn source(response: &Response) -> &str {
    response.field("cache-status").unwrap().strip_prefix("origin; ").unwrap()
}

#[test]
fn the_second_request_for_a_target_is_a_hit() {
    let origin = Running::start(scaled(0.05));
    let mut client = origin.client();
    assert_eq!(source(&client.get("/bytes/1000/a")), "fwd=miss");
    assert_eq!(source(&client.get("/bytes/1000/a")), "hit");
    assert_eq!(source(&client.get("/bytes/1000/b")), "fwd=miss");
    assert_eq!(source(&client.get("/disk/bytes/1000/a")), "fwd=bypass");
    assert_eq!(source(&client.get("/disk/bytes/1000/a")), "fwd=bypass");
    let status = origin.status();
    assert_eq!((&status["hits"], &status["misses"]), (&1.into(), &2.into()));
    assert_eq!((&status["bypassed"], &status["disk"]["reads"]), (&2.into(), &4.into()));
}

#[test]
fn fifty_concurrent_misses_on_a_target_cost_one_disk_read() {
    // All fifty are there before the first is read, and the disk is slow.
    let origin = Origin::bind(scaled(10.0)).unwrap();
    let mut clients: Vec<_> = (0..50).map(|_| Client::new(origin.addr())).collect();
    for client in &mut clients {
        client.send("GET /bytes/40000/a HTTP/1.1\r\nHost: a.example\r\n\r\n");
    }
    let origin = Running::serve(origin);
    let answers: Vec<_> =
        clients.iter_mut().map(|client| client.response("GET").unwrap()).collect();
    let target = content::target(Some("a.example"), "/bytes/40000/a");
    assert!(answers.iter().all(|answer| content::verify(target, 0, &answer.body)));
    let collapsed = answers.iter().filter(|answer| source(answer) == "fwd=miss; collapsed").count();
    assert_eq!(collapsed, 49);
    assert_eq!(origin.status()["disk"]["reads"], 1);
}

#[test]
fn a_full_cache_evicts_and_stays_within_its_bytes() {
    for (name, cache_policy) in CachePolicy::ALL {
        let mut config = scaled(0.0);
        (config.model.cache_bytes, config.model.cache_policy) = (100_000, cache_policy);
        let origin = Running::start(config);
        let mut client = origin.client();
        for i in 0..30 {
            assert_eq!(source(&client.get(&format!("/bytes/10000/{i}"))), "fwd=miss", "{name}");
        }
        let status = origin.status();
        assert_eq!((&status["evicted"], &status["cache"]["targets"]), (&20.into(), &10.into()));
        assert_eq!(status["cache"]["bytes"], 100_000, "{name}");
        assert_eq!(source(&client.get("/bytes/10000/29")), "hit", "{name}");
        assert_eq!(source(&client.get("/bytes/10000/0")), "fwd=miss", "{name}");
        assert_eq!(source(&client.get("/bytes/100001/large")), "fwd=miss", "{name}");
        assert_eq!(source(&client.get("/bytes/100001/large")), "fwd=miss", "never kept, {name}");
    }
}

#[test]
fn sizes_come_from_the_catalogue() {
    let mut config = scaled(0.0);
    let target = content::target(Some("a.example"), "/x");
    config.sizes.catalogue = Arc::new(HashMap::from([(target, 4321)]));
    let origin = Running::start(config);
    let response = origin.get("/x");
    assert_eq!(response.body.len(), 4321);
    assert!(content::verify(target, 0, &response.body));
}

#[test]
fn a_miss_takes_as_long_as_the_disk_formula_says() {
    let origin = Running::start(scaled(1.0));
    let mut client = origin.client();
    client.get("/.origin/health");
    // 527 us for the request, the disk, 16 * 24 us to send.
    let model = Duration::from_micros(527 + 384) + DiskCost::ASPLOS.read(8192);
    let took = (0..10).map(|number| {
        let start = Instant::now();
        client.get(&format!("/bytes/8192/{number}"));
        start.elapsed()
    });
    let took: Vec<_> = took.collect();
    // Early by the precision at most; late by what others on the machine make of it, which is not
    // much for all ten.
    let least = *took.iter().min().unwrap();
    assert!(least > model - Duration::from_micros(100), "{took:?} for {model:?}");
    assert!(least < model + Duration::from_millis(15), "{took:?} for {model:?}");
}

#[test]
fn a_disk_bound_origin_serves_as_many_as_the_formula_says() {
    // Others on the machine may take its processors from one round, not from all.
    let rounds: Vec<_> = (0..5).map_while(|_| a_disk_bound_round().err()).collect();
    assert!(rounds.len() < 5, "{rounds:?}");
}

/// Whether an origin served as many as the formula says; how many, if not.
fn a_disk_bound_round() -> Result<(), String> {
    // So many clients that the disk has a tenth of a second of work while they take their time.
    let (scale, requests, clients) = (0.1, 400, 40);
    let origin = Running::start(scaled(scale));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for c in 0..clients {
            let origin = &origin;
            scope.spawn(move || {
                let mut client = origin.client();
                for i in 0..requests / clients {
                    client.get(&format!("/bytes/8192/{c}/{i}"));
                }
            });
        }
    });
    let rate = f64::from(requests) / start.elapsed().as_secs_f64();
    let model = 1.0 / (DiskCost::ASPLOS.read(8192).as_secs_f64() * scale);
    let used = origin.status()["disk"]["utilisation"].as_f64().unwrap();
    match (rate / model - 1.0).abs() < 0.1 && used > 0.8 {
        true => Ok(()),
        false => Err(format!("{rate} requests/s, the formula says {model}; the disk: {used}")),
    }
}

#[test]
fn the_classes_cost_what_their_services_say() {
    let mut config = scaled(0.0);
    config.model.cache_bytes = 0;
    let origin = Running::start(config);
    let mut client = origin.client();
    client.get("/bytes/0");
    let mut spent = |path: &str| {
        let busy_ms = |client: &mut Client| {
            let status: Value =
                serde_json::from_slice(&client.get("/.origin/status").body).unwrap();
            ["cpu", "disk"].map(|part| status[part]["busy_seconds"].as_f64().unwrap() * 1e3)
        };
        let before = busy_ms(&mut client);
        client.get(path);
        let after = busy_ms(&mut client);
        (after[0] - before[0], after[1] - before[1])
    };
    let (static_cpu, static_disk) = spent("/bytes/1024");
    let (light_cpu, light_disk) = spent("/light/bytes/1024");
    let (program_cpu, program_disk) = spent("/cpu/bytes/1024");
    let (reads_cpu, reads_disk) = spent("/disk/bytes/1024");
    let (both_cpu, both_disk) = spent("/cpu+disk/bytes/1024");
    let (query_cpu, query_disk) = spent("/query/bytes/1024");
    assert!((static_disk - 28.41).abs() < 0.01 && (light_disk - 28.41).abs() < 0.01);
    assert!((light_cpu - static_cpu - 1.0).abs() < 0.01, "{light_cpu} {static_cpu}");
    assert!((program_cpu - static_cpu - 40.0).abs() < 0.01 && program_disk == 0.0);
    assert!((reads_cpu - static_cpu - 2.0).abs() < 0.01 && (reads_disk - 40.89).abs() < 0.01);
    assert!((both_cpu - static_cpu - 40.0).abs() < 0.01 && (both_disk - 40.89).abs() < 0.01);
    assert!((query_cpu - static_cpu - 1.0).abs() < 0.01 && (query_disk - 40.89).abs() < 0.01);
    // RSA once a connection, then 0.2 ms for each KB.
    let (first_cpu, first_disk) = spent("/secure/bytes/1024");
    let (next_cpu, _) = spent("/secure/bytes/1024");
    let (secure_query_cpu, secure_query_disk) = spent("/secure+query/bytes/1024");
    assert!((first_cpu - static_cpu - 6.85).abs() < 0.01 && (first_disk - 28.41).abs() < 0.01);
    assert!((next_cpu - static_cpu - 0.2).abs() < 0.01, "{next_cpu} {static_cpu}");
    assert!((secure_query_cpu - query_cpu - 0.2).abs() < 0.01, "{secure_query_cpu}");
    assert!((secure_query_disk - query_disk).abs() < 0.01, "{secure_query_disk}");
    let mut other = origin.client();
    let busy_ms = || origin.status()["cpu"]["busy_seconds"].as_f64().unwrap() * 1e3;
    other.get("/bytes/0");
    let (before, _) = (busy_ms(), other.get("/secure/bytes/1024"));
    // The looks at the status are connections of their own, each 2 * 0.278 ms.
    let fresh = busy_ms() - before - static_cpu;
    assert!((6.85..6.85 + 2.0).contains(&fresh), "another connection pays again: {fresh}");
}
