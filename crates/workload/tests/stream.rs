//! Method: logs written out here become numbers, whole and in chunks, and are held against their
//! records; each test states one promise.

use std::io::BufReader;
use std::time::Duration;
use workload::{Ask, Chunks, Compact, Intake, Reader, Sizing, format};

/// A line of nginx: the time, in seconds of a day, at which its reply had ended, and what it took.
fn nginx(ended_s: u32, took_ms: u32, url: &str) -> String {
    let (h, m, s) = (ended_s / 3600, ended_s / 60 % 60, ended_s % 60);
    let (seconds, thousandths) = (took_ms / 1000, took_ms % 1000);
    format!(
        "10.0.0.{} - - [12/Nov/2024:{h:02}:{m:02}:{s:02} +0000] \"GET {url} HTTP/1.1\" 200 {} \
         \"-\" \"-\" {seconds}.{thousandths:03}\n",
        url.len(),
        took_ms * 10
    )
}

fn compact(name: &str, log: &str) -> Compact {
    let mut compact = Compact::default();
    let mut reader = Reader::new((format(name).expect("it is in the list").parser)());
    reader.block(log.as_bytes(), |record| compact.push("site", record).expect("it is not full"));
    assert_eq!(reader.tally().rejects(), 0, "{:?}", reader.tally().examples);
    compact
}

fn chunks<'a>(name: &str, log: &'a str, chunk: usize) -> Chunks<'a> {
    let parser = (format(name).expect("it is in the list").parser)();
    let input = Box::new(BufReader::with_capacity(100, log.as_bytes()));
    Chunks::new(parser, input, "site", chunk, Intake::default())
}

fn all(chunks: &mut Chunks<'_>) -> Vec<Ask> {
    let mut all = Vec::new();
    loop {
        let asks = chunks.advance().expect("reading from memory cannot fail");
        if asks.is_empty() {
            return all;
        }
        all.extend_from_slice(asks);
    }
}

/// Lines as nginx writes them, by the end of replies that took up to 7 s.
fn log() -> String {
    (0..2000_u32)
        .map(|at| nginx(10 + at / 20, at * 7919 % 7000, &format!("/{}", at * at % 97)))
        .collect()
}

#[test]
fn chunks_and_the_whole_log_give_the_same_in_order_of_time() {
    let log = log();
    let mut whole = compact("nginx", &log);
    let targets = |asks: &[Ask]| asks.iter().map(|ask| ask.target).collect::<Vec<_>>();
    let logged = targets(&whole.asks);
    whole.sort();
    assert_ne!(targets(&whole.asks), logged, "the log itself is in another order");
    // 7 s are 140 lines: no request is further from its place than a chunk.
    for chunk in [141, 500, 5000] {
        let mut chunks = chunks("nginx", &log, chunk);
        assert_eq!(all(&mut chunks), whole.asks, "chunks of {chunk}");
        assert_eq!((chunks.late(), chunks.tally().records), (0, 2000));
        let (intake, _) = chunks.finish();
        assert_eq!(intake.targets.len(), whole.intake.targets.len());
    }
}

#[test]
fn what_comes_too_late_is_given_out_late_and_counted() {
    let log = [nginx(100, 0, "/a"), nginx(101, 0, "/b"), nginx(102, 0, "/c"), nginx(50, 0, "/d")];
    let log = log.concat();
    let mut chunks = chunks("nginx", &log, 1);
    let asks = all(&mut chunks);
    assert!(asks.is_sorted_by_key(|ask| ask.at_us));
    assert_eq!((asks.len(), chunks.late()), (4, 1));
    let order: Vec<&str> =
        asks.iter().map(|ask| chunks.intake().targets.name(ask.target).1).collect();
    assert_eq!(order, ["/a", "/b", "/d", "/c"]);
}

#[test]
fn an_ask_says_what_the_line_said() {
    let log = "{\"time_ms\":1795211999250,\"client\":\"::1\",\"method\":\"GET\",\"host\":\"h\",\
               \"path\":\"/a\",\"status\":200,\"bytes\":5120,\"server\":\"web-1\",\
               \"expect\":\"miss\",\"queue_ms\":1.0,\"connect_ms\":0.0,\"first_byte_ms\":3.125,\
               \"total_ms\":4.5}\n\
               {\"time_ms\":1795211999251,\"client\":\"::1\",\"method\":\"POST\",\"path\":\"/a\",\
               \"status\":200,\"bytes\":99999999999,\"server\":\"-\",\"expect\":\"unknown\"}\n";
    let Compact { intake, asks } = compact("baton-json", log);
    let [first, second] = asks.as_slice() else { panic!("{asks:?}") };
    assert_eq!(first.at_us, 1_795_211_999_250_000);
    assert_eq!((first.status, first.bytes, first.client), (200, 5120, second.client));
    assert_eq!(first.took(), Some(Duration::from_micros(4500)));
    assert_eq!(first.served(), Some(Duration::from_micros(2125)), "without the queue");
    assert_eq!((first.hit(), second.hit()), (Some(false), None));
    assert_eq!((first.server(), second.server()), (Some(0), None));
    assert_eq!((first.get(), first.counted(), second.get()), (true, true, false));
    assert_eq!((second.took(), second.served(), second.bytes), (None, None, u32::MAX));
    assert_eq!(intake.servers.text(0), b"web-1");
    assert_eq!(intake.targets.name(first.target), ("h", "/a"));
    assert_eq!(intake.targets.name(second.target), ("site", "/a"), "another site");
    assert_eq!(intake.targets.size(first.target), 5120);
    assert_eq!(intake.targets.size(second.target), 0, "what a POST got is no size");
}

#[test]
fn servers_beyond_what_a_byte_can_count_have_no_number() {
    let line = |server: usize| {
        format!(
            "10.0.1.2:33317 [06/Feb/2024:12:14:14.655] in app/s{server} 0/0/0/1/2 200 1 - - ---- \
             1/1/1/1/0 0/0 \"GET / HTTP/1.1\"\n"
        )
    };
    let log: String = (0..300).chain(0..1).map(line).collect();
    let Compact { intake, asks } = compact("haproxy", &log);
    assert_eq!(intake.servers.len(), 255);
    assert_eq!(
        (asks[254].server(), asks[255].server(), asks[300].server()),
        (Some(254), None, Some(0))
    );
}

#[test]
fn requests_of_one_logged_second_do_not_all_begin_at_once() {
    // All ended in second 100 of the day, none took longer than a second.
    let log: String = (0..4000).map(|at| nginx(100, 250, &format!("/{at}"))).collect();
    let mut chunks = chunks("nginx", &log, 5000);
    let asks = all(&mut chunks);
    let day_us = 1_731_369_600_000_000;
    let count =
        |second: i64| asks.iter().filter(|ask| ask.at_us == day_us + second * 1_000_000).count();
    assert_eq!(count(99) + count(100), 4000, "whole seconds, as logged");
    assert!((900..1100).contains(&count(99)), "{}: a quarter began before it", count(99));
}

#[test]
fn stamps_of_milliseconds_less_what_it_took_are_exact() {
    let log =
        "1286536308.779    180 192.168.0.224 TCP_MISS/200 411 GET http://a.b/c - DIRECT/- x\n";
    let mut chunks = chunks("squid", log, 5);
    assert_eq!(all(&mut chunks)[0].at_us, 1_286_536_308_599_000);
}

#[test]
fn a_target_of_which_parts_were_sent_is_no_smaller_than_they_are() {
    let line = |url: &str, status: u16, bytes: u32| {
        format!("a - - [17/May/2015:10:00:00 +0000] \"GET {url} HTTP/1.1\" {status} {bytes}\n")
    };
    let log = [
        line("/part", 206, 70),
        line("/part", 206, 50),
        line("/whole", 206, 70),
        line("/whole", 200, 60),
        line("/none", 304, 90),
    ];
    let Compact { intake, .. } = compact("common", &log.concat());
    let found = [0, 1, 2].map(|number| intake.targets.sizing(number));
    assert_eq!(found, [Sizing::Part(70), Sizing::Whole(60), Sizing::Unknown]);
    assert_eq!(intake.targets.footprint_bytes(), 130);
}

#[test]
fn what_a_broken_log_gave_before_is_given_out_and_then_the_error() {
    struct Breaks;
    impl std::io::Read for Breaks {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::UnexpectedEof.into())
        }
    }
    let log = log();
    let input = Box::new(BufReader::new(std::io::Read::chain(log.as_bytes(), Breaks)));
    let parser = (format("nginx").expect("it is in the list").parser)();
    let mut chunks = Chunks::new(parser, input, "site", 500, Intake::default());
    let mut count = 0;
    let error = loop {
        match chunks.advance() {
            Ok(asks) => count += asks.len(),
            Err(error) => break error,
        }
        assert!(count <= 2000);
    };
    assert_eq!((count, error.kind()), (2000, std::io::ErrorKind::UnexpectedEof));
    assert!(chunks.advance().expect("it was told").is_empty());
}

#[test]
fn a_log_behind_another_that_begins_earlier_is_late() {
    let early = [nginx(50, 0, "/a"), nginx(101, 0, "/b")].concat();
    let day_us = 1_731_369_600_000_000;
    let mut chunks = chunks("nginx", &early, 5).behind(day_us + 100_000_000);
    assert!(all(&mut chunks).iter().all(|ask| ask.at_us >= day_us + 100_000_000));
    assert_eq!((chunks.late(), chunks.last_us()), (1, day_us + 101_000_000));
}
