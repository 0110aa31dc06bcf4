//! Method: the beginning of the trace that ships is played against a server that knows each
//! target's size; every request is answered with as many bytes as the trace says.

#[allow(dead_code)] // it can behave worse than this test needs
mod server;

use load::{Options, replay};
use server::{Answer, Server};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::sync::Arc;
use workload::{Builder, Clock, Pick, Plan, Shape, format, read};

const SHIPPED: &[u8] = include_bytes!("../../../data/three-sites.trace.zst");

/// Larger targets are left out: the test is about requests, not about bytes.
const TARGET_BYTES_MAX: u64 = 256 * 1024;

#[test]
fn the_shipped_trace_is_answered_in_full() {
    let mut builder = Builder::new(Clock::Kept);
    let text = BufReader::new(zstd::Decoder::new(SHIPPED).unwrap());
    let own = format("baton").unwrap();
    read(own, text, |record| builder.push("", record).unwrap()).unwrap();
    let mut trace = builder.finish();
    trace.retain(|_, target| target.size <= TARGET_BYTES_MAX);
    let plan = Arc::new(Plan::new(trace, Pick::First(3000), Shape::default()));

    let sizes: BTreeMap<String, u64> = plan
        .trace
        .targets
        .iter()
        .map(|target| {
            let site = plan.trace.site(target);
            let head = format!("GET {} HTTP/1.1\r\nHost: {site}\r\n\r\n", target.url);
            (head, target.size)
        })
        .collect();
    let server = Server::start(move |seen| {
        let Some(&size) = sizes.get(&seen.head) else { return Answer::Close(Vec::new()) };
        let mut reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes();
        reply.resize(reply.len() + size as usize, b'.');
        Answer::Send(reply)
    });

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for pipelining in [false, true] {
        let options =
            Options { sessions: 32, pipelining, verify_size: true, ..Options::new(server.address) };
        let (mut last, total) = (0, plan.trace.requests.len() as u64);
        let progress = |so_far: &load::Report| {
            assert!(last <= so_far.settled() && so_far.settled() <= total);
            last = so_far.settled();
        };
        let playing = replay(Arc::clone(&plan), options, progress, std::future::pending());
        let report = runtime.block_on(playing);
        assert_eq!((report.answered, report.failures()), (3000, 0), "{:?}", report.examples);
        assert_eq!(report.body_bytes, plan.reply_bytes);
        assert_eq!(report.sessions, plan.sessions.len() as u64);
        assert_eq!(report.connections, report.sessions, "one for each session");
    }
}
