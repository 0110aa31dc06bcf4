//! Method: small plans are played against a server on 127.0.0.1 that behaves well, oddly or badly;
//! each test states what the client makes of it. Requests are answered or failed, never lost.

mod server;

use load::{Cause, Content, Options, Report, replay};
use server::{Answer, Server, whole};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use workload::{Builder, Clock, Pick, Plan, Shape, format, read};

/// A plan of `(second, client, method, status, size, url)`.
fn plan(rows: &[(u32, u32, &str, u16, u64, &str)]) -> Arc<Plan> {
    let mut text =
        String::from("#baton-trace/1\tat_ms\tclient\tmethod\tstatus\tbytes\tsite\tsize\turl\n");
    for (at_s, client, method, status, size, url) in rows {
        text += &format!("{at_s}000\t{client}\t{method}\t{status}\t0\ta.test\t{size}\t{url}\n");
    }
    let mut builder = Builder::new(Clock::Kept);
    let own = format("baton").expect("it is in the list");
    let tally = read(own, text.as_bytes(), |record| {
        builder.push("", record).expect("it is far from full");
    })
    .expect("reading from memory cannot fail");
    assert_eq!(tally.rejects(), 0);
    Arc::new(Plan::new(builder.finish(), Pick::All, Shape::default()))
}

/// One session: a page, then a batch of `count - 1` of five bytes each.
fn page(count: u32) -> Arc<Plan> {
    let urls: Vec<String> = (0..count).map(|number| format!("/{number}")).collect();
    let rows: Vec<_> = urls.iter().map(|url| (1, 0, "GET", 200, 5, url.as_str())).collect();
    plan(&rows)
}

fn options(address: SocketAddr) -> Options {
    Options { verify_size: true, sessions: 4, ..Options::new(address) }
}

fn play_until(plan: Arc<Plan>, options: Options, stop: impl Future<Output = ()>) -> Report {
    let planned = plan.trace.requests.len() as u64;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system has epoll");
    let limited = tokio::time::Duration::from_secs(30);
    let report = runtime.block_on(async {
        tokio::time::timeout(limited, replay(plan, options, |_| {}, stop)).await
    });
    let report = report.expect("the replay ends");
    assert_eq!(report.planned, planned);
    if !report.stopped {
        assert_eq!(report.answered + report.failures(), planned, "{report:?}");
    }
    assert_eq!(report.latency_us.len(), report.answered);
    report
}

fn play(plan: Arc<Plan>, options: Options) -> Report {
    play_until(plan, options, std::future::pending())
}

/// The only cause of failure, and how often it was.
fn only(report: &Report, cause: Cause) -> u64 {
    let count = report.failed[cause.index()];
    assert_eq!(report.failures(), count, "{:?}", report.examples);
    count
}

#[test]
fn a_session_keeps_its_connection_and_names_its_site() {
    let server = Server::start(|_| Answer::Send(whole("hello")));
    let report = play(page(5), options(server.address));
    assert_eq!((report.answered, report.connections, report.sessions), (5, 1, 1));
    assert_eq!((report.body_bytes, report.resent), (25, 0));
    let heads = server.heads();
    assert_eq!(heads[3].head, "GET /3 HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert!(heads.iter().all(|seen| seen.connection == 0));
}

#[test]
fn every_framing_is_read_to_its_end() {
    let replies: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
    ];
    let server = Server::start(move |seen| {
        let number: usize = seen.head[5..6].parse().expect("the plan's URLs are digits");
        match number {
            3 => Answer::Close(replies[3].to_vec()),
            _ => Answer::Send(replies[number].to_vec()),
        }
    });
    for pipelining in [false, true] {
        let report = play(page(4), Options { pipelining, ..options(server.address) });
        assert_eq!((report.answered, report.body_bytes), (4, 20), "{:?}", report.examples);
    }
}

#[test]
fn a_reply_to_head_has_no_body() {
    let plan = plan(&[(1, 0, "HEAD", 200, 9, "/a"), (2, 0, "GET", 304, 5, "/b")]);
    let server = Server::start(|seen| {
        let head = seen.head.starts_with("HEAD");
        Answer::Send(if head { whole("hello")[..38].to_vec() } else { whole("hello") })
    });
    let report = play(plan, options(server.address));
    assert_eq!((report.answered, report.connections), (2, 1), "{:?}", report.examples);
}

/// What is sent, the cause it should be counted under, and the sending.
type Bad = (&'static str, Cause, fn() -> Answer);

#[test]
fn each_kind_of_bad_reply_is_its_own_cause_and_hurts_no_other_request() {
    let cases: [Bad; 7] = [
        ("body cut short", Cause::ShortBody, || {
            Answer::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel".to_vec())
        }),
        ("last chunk missing", Cause::ShortBody, || {
            let text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
            Answer::Close(text.to_vec())
        }),
        ("another size than the trace's", Cause::Size, || Answer::Send(whole("hell"))),
        ("more than announced", Cause::LongBody, || {
            Answer::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!".to_vec())
        }),
        ("an error", Cause::Status, || {
            Answer::Send(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec())
        }),
        ("another protocol", Cause::Malformed, || Answer::Close(b"SSH-2.0-x\r\n\r\n".to_vec())),
        ("half a head", Cause::Reset, || Answer::Close(b"HTTP/1.1 200 OK\r\nCont".to_vec())),
    ];
    for (what, cause, bad) in cases {
        let server = Server::start(move |seen| {
            if seen.head.starts_with("GET /1 ") { bad() } else { Answer::Send(whole("hello")) }
        });
        for pipelining in [false, true] {
            if pipelining && cause == Cause::LongBody {
                // A surplus byte within a pipeline belongs to the next reply, and spoils it.
                continue;
            }
            let report = play(page(4), Options { pipelining, ..options(server.address) });
            assert_eq!(only(&report, cause), 1, "{what}");
            assert_eq!(report.answered, 3, "{what}");
            let example = &report.examples[0];
            assert_eq!((example.cause, example.target.as_str()), (cause, "a.test/1"), "{what}");
        }
    }
}

#[test]
fn content_is_compared_at_its_offset() {
    let server = Server::start(|seen| {
        Answer::Send(whole(if seen.head.starts_with("GET /2 ") { "hexlo" } else { "hello" }))
    });
    let content = |site: &str, url: &str, offset: u64, bytes: &[u8]| {
        assert!(site == "a.test" && url.starts_with('/'));
        b"hello"[offset as usize..].starts_with(bytes)
    };
    let checked = Options { content: Some(Content::new(content)), ..options(server.address) };
    assert_eq!(only(&play(page(4), checked), Cause::Content), 1);
}

#[test]
fn a_refused_connection_fails_each_request_and_ends_the_replay() {
    let address = testbed::Port::kept().unwrap().for_ever();
    for pipelining in [false, true] {
        let report = play(page(3), Options { pipelining, ..options(address) });
        assert_eq!((only(&report, Cause::Connect), report.connections), (3, 0));
    }
}

#[test]
fn an_idle_connection_that_the_server_closed_is_no_failure() {
    // The server says nothing of it: it answers and closes, as if its idle time-out had passed.
    let server = Server::start(|_| Answer::Close(whole("hello")));
    let report = play(page(4), options(server.address));
    assert_eq!((report.answered, report.failures()), (4, 0), "{:?}", report.examples);
    assert_eq!((report.connections, report.resent), (4, 3));
}

#[test]
fn what_may_not_be_asked_twice_is_not() {
    let plan = plan(&[(1, 0, "GET", 200, 5, "/a"), (2, 0, "POST", 200, 5, "/b")]);
    let server = Server::start(|_| Answer::Close(whole("hello")));
    let report = play(plan, options(server.address));
    assert_eq!((report.answered, only(&report, Cause::Reset), report.resent), (1, 1, 0));
}

#[test]
fn a_new_connection_that_is_closed_without_a_reply_is_a_failure() {
    let server = Server::start(|_| Answer::Close(Vec::new()));
    for pipelining in [false, true] {
        let report = play(page(3), Options { pipelining, ..options(server.address) });
        assert_eq!(only(&report, Cause::Reset), 3);
    }
}

#[test]
fn silence_is_a_timeout_and_the_session_goes_on() {
    let server = Server::start(|seen| {
        if seen.head.starts_with("GET /1 ") {
            Answer::Silence
        } else {
            Answer::Send(whole("hello"))
        }
    });
    let timeout = Duration::from_secs(2);
    let report = play(page(3), Options { timeout, ..options(server.address) });
    assert_eq!((only(&report, Cause::Timeout), report.answered), (1, 2));
    assert!(report.took >= timeout);
}

#[test]
fn pipelined_requests_of_a_batch_are_under_way_together() {
    // The batch is answered only when all of it has come.
    let server = Server::start(|seen| match seen.place {
        0 => Answer::Send(whole("hello")),
        1 | 2 => Answer::Silence,
        _ => Answer::Send([whole("hello"), whole("hello"), whole("hello")].concat()),
    });
    let report = play(page(4), Options { pipelining: true, ..options(server.address) });
    assert_eq!((report.answered, report.connections), (4, 1), "{:?}", report.examples);
}

#[test]
fn a_pipeline_cut_between_replies_is_asked_again_from_there() {
    let server = Server::start(|seen| match (seen.connection, seen.place) {
        (0, 2) => Answer::Close(whole("hello")),
        _ => Answer::Send(whole("hello")),
    });
    let report = play(page(6), Options { pipelining: true, ..options(server.address) });
    assert_eq!((report.answered, report.connections, report.resent), (6, 2, 3));
}

#[test]
fn so_many_sessions_are_played_at_a_time_and_no_more() {
    // Each connection waits until three are there; more would be seen in the count.
    let meeting = Arc::new((Mutex::new(0_usize), Condvar::new()));
    let most = Arc::new(AtomicUsize::new(0));
    let (together, now) = (Arc::clone(&most), AtomicUsize::new(0));
    let server = Server::start(move |_| {
        together.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let (count, changed) = &*meeting;
        let mut count = count.lock().unwrap();
        *count += 1;
        changed.notify_all();
        let limit = Duration::from_secs(10);
        let (count, waited) = changed.wait_timeout_while(count, limit, |count| *count < 3).unwrap();
        drop(count);
        now.fetch_sub(1, Ordering::SeqCst);
        assert!(!waited.timed_out(), "three sessions come together");
        Answer::Send(whole("hello"))
    });
    let rows: Vec<_> = (0..12).map(|client| (1, client, "GET", 200, 5, "/")).collect();
    let report = play(plan(&rows), Options { sessions: 3, ..options(server.address) });
    assert_eq!((report.answered, report.sessions, report.connections), (12, 12, 12));
    assert!(most.load(Ordering::SeqCst) <= 3);
}

#[test]
fn gaps_pass_as_much_faster_as_asked_and_do_not_count_as_latency() {
    let plan = plan(&[(1, 0, "GET", 200, 5, "/a"), (9, 0, "GET", 200, 5, "/b")]);
    let server = Server::start(|_| Answer::Send(whole("hello")));
    let began = Instant::now();
    let report = play(plan, Options { speed: Some(4.0), ..options(server.address) });
    assert!(began.elapsed() >= Duration::from_secs(2), "8 s, 4 times as fast");
    assert!(report.latency_ms(1.0) < 2000.0);
    assert_eq!((report.answered, report.connections), (2, 1));
}

#[test]
fn cache_status_is_counted_at_the_client() {
    let server = Server::start(|seen| {
        let line = match &seen.head[5..6] {
            "0" => "Cache-Status: origin; hit\r\n",
            "1" => "cache-status: origin; fwd=miss\r\n",
            "2" => "Cache-Status: origin; fwd=miss\r\nCache-Status: edge; hit\r\n",
            _ => "",
        };
        let text = format!("HTTP/1.1 200 OK\r\n{line}Content-Length: 5\r\n\r\nhello");
        Answer::Send(text.into_bytes())
    });
    let report = play(page(4), options(server.address));
    assert_eq!((report.hits, report.misses, report.answered), (2, 1, 4));
    assert!((report.hit_ratio().unwrap() - 2.0 / 3.0).abs() < 1e-9);
}

#[test]
fn a_stopped_replay_ends_at_once_and_says_what_was_settled() {
    let server = Server::start(|seen| match seen.place {
        0 => Answer::Send(whole("hello")),
        _ => Answer::Silence,
    });
    let seen = Arc::clone(&server.seen);
    let stop = async move {
        while seen.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    let began = Instant::now();
    let report = play_until(page(3), options(server.address), stop);
    assert!(began.elapsed() < Duration::from_secs(10), "far less than the time-out");
    assert!(report.stopped);
    assert_eq!((report.answered, report.failures()), (1, 0));
}

#[test]
fn an_empty_plan_ends_at_once() {
    let report = play(plan(&[]), options(SocketAddr::from(([127, 0, 0, 1], 1))));
    assert_eq!((report.planned, report.settled(), report.stopped), (0, 0, false));
}

#[test]
fn what_cannot_be_sent_is_said_so() {
    let plan = plan(&[(1, 0, "G@T", 200, 5, "/a"), (1, 0, "GET", 200, 5, "/b")]);
    let server = Server::start(|_| Answer::Send(whole("hello")));
    let report = play(plan, options(server.address));
    assert_eq!((only(&report, Cause::Unsendable), report.answered), (1, 1));
}
