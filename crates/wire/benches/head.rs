//! Time to read, judge and send on one head, against a goal of 400 ns for a browser's request.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wire::http::emit::{RequestEdit, RequestId, ResponseEdit};
use wire::http::{Chunks, Limits, Method, RequestContext, Slots, emit, request, response};

const WRK: &[u8] = b"GET /index.html HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";

const BROWSER: &[u8] = b"GET /assets/app/main.css?v=12 HTTP/1.1\r\n\
Host: www.example.org\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
Accept: text/css,*/*;q=0.1\r\n\
Accept-Language: en-GB,en;q=0.5\r\n\
Accept-Encoding: gzip, deflate, br\r\n\
Connection: keep-alive\r\n\
Referer: http://www.example.org/news/2024/index.html\r\n\
Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; seen=17\r\n\r\n";

const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\n\
Server: nginx/1.22.1\r\n\
Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
Content-Type: text/css\r\n\
Content-Length: 1536\r\n\
Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
Connection: keep-alive\r\n\
ETag: \"64b0-600\"\r\n\
Accept-Ranges: bytes\r\n\r\n";

const EDIT: RequestEdit<'static> = RequestEdit {
    via: Some("baton"),
    client: Some("192.0.2.17"),
    scheme: Some("http"),
    x_forwarded: true,
    forwarded: false,
    trusted: false,
    request_id: RequestId::KeepOr("018f3f5a1c2d7e00"),
    host: None,
    close: false,
    upgrade: false,
    expect: false,
};

fn heads(bench: &mut Criterion) {
    let limits = Limits::default();
    let mut out = Vec::with_capacity(4096);
    for (name, bytes) in [("wrk", WRK), ("browser", BROWSER)] {
        bench.bench_function(&format!("request {name}: split by httparse alone"), |b| {
            b.iter(|| {
                let mut slots = [const { core::mem::MaybeUninit::uninit() }; 100];
                let mut split = httparse::Request::new(&mut []);
                split.parse_with_uninit_headers(black_box(bytes), &mut slots).is_ok()
            });
        });
        bench.bench_function(&format!("request {name}: read and judged"), |b| {
            b.iter(|| {
                let mut slots = Slots::new();
                let head = request::parse(black_box(bytes), &limits, &mut slots);
                matches!(&head, Ok(Some(head)) if black_box(head).keep_alive)
            });
        });
        bench.bench_function(&format!("request {name}: read, judged and sent on"), |b| {
            b.iter(|| {
                let mut slots = Slots::new();
                if let Ok(Some(head)) = request::parse(black_box(bytes), &limits, &mut slots) {
                    out.clear();
                    emit::request(&head, &EDIT, &mut out);
                }
                out.len()
            });
        });
    }
    let asked = RequestContext { method: Method::Get, upgrade: false };
    let edit = ResponseEdit {
        via: Some("baton"),
        request_id: Some("018f3f5a1c2d7e00"),
        ..Default::default()
    };
    bench.bench_function("response: read, judged and sent on", |b| {
        b.iter(|| {
            let mut slots = Slots::new();
            if let Ok(Some(head)) = response::parse(black_box(REPLY), &asked, &limits, &mut slots) {
                out.clear();
                emit::response(&head, &edit, &mut out);
            }
            out.len()
        });
    });
}

fn bodies(bench: &mut Criterion) {
    let mut body = Vec::new();
    for _ in 0..64 {
        emit::chunk_size(4096, &mut body);
        body.extend_from_slice(&[b'x'; 4096]);
        body.extend_from_slice(emit::CHUNK_END);
    }
    body.extend_from_slice(emit::LAST_CHUNK);
    let mut group = bench.benchmark_group("chunks");
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("64 chunks of 4 KiB", |b| {
        b.iter(|| Chunks::new(&Limits::default()).advance(black_box(&body)));
    });
    group.finish();
}

criterion_group!(benches, heads, bodies);
criterion_main!(benches);
