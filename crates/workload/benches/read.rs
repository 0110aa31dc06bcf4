//! Lines a second of log formats, on one core. The goal: 10,000,000 combined lines in 6 s, that is
//! 1.7 million a second; JSON and HAProxy lines are longer.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use policy::Dice;
use std::fmt::Write as _;
use std::hint::black_box;
use workload::{Compact, Intake, Reader, Record, format};

/// Lines of a log: enough that its addresses and URLs do not all stay in the first cache.
const LINES: usize = 20_000;

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// What a line tells, drawn from a fixed seed: few hot targets, many cold ones.
struct Draw(Dice);

impl Draw {
    fn log(line: impl Fn(&mut String, usize, usize, usize, usize)) -> Vec<u8> {
        let mut draw = Self(Dice::new(1));
        let mut log = String::new();
        for at in 0..LINES {
            let below = draw.0.below(4000) + 1;
            let (url, client, bytes) =
                (draw.0.below(below), draw.0.below(900), draw.0.below(90_000));
            line(&mut log, at / 10, client, url, bytes);
            log.push('\n');
        }
        log.into_bytes()
    }
}

fn combined() -> Vec<u8> {
    Draw::log(|log, second, client, url, bytes| {
        let _ = write!(
            log,
            "10.1.{}.{} - - [17/May/2015:{:02}:{:02}:{:02} +0000] \"GET /articles/{url}/index.html \
             HTTP/1.1\" 200 {bytes} \"https://www.example.org/articles/\" \"{AGENT}\"",
            client / 250,
            client % 250,
            second / 3600,
            second / 60 % 60,
            second % 60,
        );
    })
}

fn haproxy() -> Vec<u8> {
    Draw::log(|log, second, client, url, bytes| {
        let _ = write!(
            log,
            "May 17 10:05:03 lb1 haproxy[14389]: 10.1.{}.{}:33317 \
             [17/May/2015:{:02}:{:02}:{:02}.125] web-in app/web{} 0/0/1/69/109 200 {bytes} - - \
             ---- 12/10/3/1/0 0/0 {{www.example.org}} {{}} \
             \"GET /articles/{url}/index.html HTTP/1.1\"",
            client / 250,
            client % 250,
            second / 3600,
            second / 60 % 60,
            second % 60,
            url % 8,
        );
    })
}

fn json() -> Vec<u8> {
    Draw::log(|log, second, client, url, bytes| {
        let _ = write!(
            log,
            "{{\"time_ms\":{},\"client\":\"10.1.{}.{}\",\"method\":\"GET\",\
             \"host\":\"www.example.org\",\"path\":\"/articles/{url}/index.html\",\"status\":200,\
             \"bytes\":{bytes},\"bytes_out\":{bytes},\"bytes_in\":0,\"policy\":\"lard-r\",\
             \"class\":\"static\",\"target\":\"00000000000000ff\",\"server\":\"web-{}\",\
             \"reason\":\"affinity\",\"candidates\":8,\"load_chosen\":3.0,\"load_least\":1.0,\
             \"expect\":\"hit\",\"mechanism\":\"relay\",\"attempts\":1,\"queue_ms\":0.0,\
             \"connect_ms\":0.0,\"first_byte_ms\":3.125,\"total_ms\":4.5,\"term\":\"--\",\
             \"request_id\":\"018f3f5a1c2d7e00\",\"trace_id\":\"\",\"referer\":\"\",\
             \"agent\":\"{AGENT}\"}}",
            1_431_856_800_000 + second * 1000,
            client / 250,
            client % 250,
            url % 8,
        );
    })
}

fn lines(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("read");
    group.throughput(Throughput::Elements(LINES as u64));
    let logs = [
        ("combined", combined()),
        ("clf", combined()),
        ("haproxy", haproxy()),
        ("baton-json", json()),
    ];
    for (name, log) in &logs {
        let parser = format(name).expect("it is in the list").parser;
        group.bench_function(*name, |b| {
            b.iter(|| {
                let mut reader = Reader::new(parser());
                reader.block(black_box(log), |record: &Record<'_>| {
                    black_box(record);
                });
                assert_eq!(reader.tally().records, LINES as u64);
            });
        });
    }
    let combined = format("combined").expect("it is in the list").parser;
    group.bench_function("combined into numbers", |b| {
        b.iter_batched_ref(
            || Compact { intake: Intake::default(), asks: Vec::with_capacity(LINES) },
            |compact| {
                let mut reader = Reader::new(combined());
                reader.block(black_box(&logs[0].1), |record| {
                    compact.push("", record).expect("it is far from full");
                });
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, lines);
criterion_main!(benches);
