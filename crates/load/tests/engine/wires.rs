//! What goes over which connections, and what comes of bad replies.

use crate::*;
use std::sync::atomic::AtomicBool;

#[test]
fn a_page_is_its_html_and_then_its_objects_on_parallel_connections() {
    // The objects are answered when six of them have come together.
    let gate = Arc::new(Gate::default());
    let (doors, html) = (Arc::clone(&gate), AtomicBool::new(false));
    let server = Server::start(move |seen| {
        if seen.head.starts_with("GET /light/") {
            html.store(true, Ordering::SeqCst);
        } else {
            assert!(html.load(Ordering::SeqCst), "the HTML names the objects");
            doors.pass_together(6);
        }
        Answer::Send(whole("hello"))
    });
    let scenario = scenario(server.address, visits(1.0, 9.0, 0.0), Users::Closed(1));
    let outcome = play_until(&scenario, |outcome| !outcome.pages.due_us.is_empty());
    assert!(gate.waiting() >= 6);
    assert_eq!(outcome.failures(), 0, "{:?}", outcome.examples);
    let first: Vec<_> = server.heads().into_iter().filter(|seen| seen.connection < 6).collect();
    let connections: BTreeSet<_> = first.iter().map(|seen| seen.connection).collect();
    assert_eq!(connections.len(), 6, "one for the HTML, five more for what is in it");
    let host = format!(" HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    assert!(first[0].head.ends_with(&host), "{}", first[0].head);
    let light = outcome.classes.iter().find(|class| class.class == Class::LIGHT).unwrap();
    assert_eq!(light.pages.due_us.len(), outcome.pages.due_us.len(), "by the class of the HTML");
}

#[test]
fn pipelined_objects_go_out_together_on_one_connection() {
    // Nothing is answered before all nine objects have come.
    let server = Server::start(|seen| match seen.place % 10 {
        0 => Answer::Send(whole("hello")),
        1..=8 => Answer::Silence,
        _ => Answer::Send(whole("hello").repeat(9)),
    });
    let manner = Manner::Pipelined;
    let scenario = scenario(server.address, visits(2.0, 9.0, 0.0), Users::Closed(1));
    let outcome = play_until(&Scenario { manner, ..scenario }, |outcome| outcome.answered() >= 20);
    assert_eq!(outcome.failures(), 0, "{:?}", outcome.examples);
    let first = server.heads().iter().filter(|seen| seen.connection == 0).count();
    assert_eq!(first, 20, "it persists across the pages of a session, and ends with it");
}

#[test]
fn closing_opens_a_connection_for_each_request() {
    let server = Server::start(|_| Answer::Close(b"HTTP/1.0 200 OK\r\n\r\nhello".to_vec()));
    let scenario = scenario(server.address, visits(1.0, 4.0, 0.0), Users::Closed(1));
    let manner = Manner::Closing(2);
    let outcome = play_until(&Scenario { manner, ..scenario }, |outcome| outcome.answered() >= 10);
    assert_eq!((outcome.failures(), outcome.resent), (0, 0), "{:?}", outcome.examples);
    let heads = server.heads();
    assert!(heads.iter().all(|seen| seen.place == 0 && seen.head.contains(" HTTP/1.0\r\n")));
    assert!(outcome.connections >= outcome.answered());
    assert_eq!(outcome.body_bytes, outcome.answered() * 5);
}

#[test]
fn each_kind_of_bad_reply_is_its_own_cause() {
    type Bad = (Cause, fn() -> Answer);
    let cases: [Bad; 8] = [
        (Cause::ShortBody, || {
            Answer::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel".to_vec())
        }),
        (Cause::Size, || Answer::Send(whole("hell"))),
        (Cause::Content, || Answer::Send(whole("hexlo"))),
        (Cause::LongBody, || {
            Answer::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!".to_vec())
        }),
        (Cause::Status, || {
            Answer::Send(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec())
        }),
        (Cause::Malformed, || Answer::Close(b"SSH-2.0-x\r\n\r\n".to_vec())),
        (Cause::Reset, || Answer::Close(b"HTTP/1.1 200 OK\r\nCont".to_vec())),
        (Cause::Timeout, || Answer::Silence),
    ];
    let rows = [(0, 0, "/0"), (1, 0, "/1?size=5"), (1, 0, "/2"), (1, 0, "/3")];
    let plan = plan(&rows);
    for (cause, bad) in cases {
        for manner in [Manner::Parallel(2), Manner::Pipelined, Manner::Closing(3)] {
            if manner == Manner::Pipelined && matches!(cause, Cause::LongBody | Cause::Timeout) {
                // A surplus byte within a pipeline belongs to the next reply, and spoils it; a
                // reply that is left out is taken for the next one.
                continue;
            }
            let server = Server::start(move |seen| match &seen.head[..7] {
                "GET /1?" => bad(),
                _ => Answer::Send(whole("hello")),
            });
            let (site, users) = sessions(&plan);
            let content = Content::new(|site, url, offset, bytes| {
                assert!(site == "a.test" && url.starts_with('/'));
                b"hello"[offset as usize..].starts_with(bytes)
            });
            let outcome = play(&Scenario {
                manner,
                content: Some(content),
                timeout: Duration::from_millis(if cause == Cause::Timeout { 2000 } else { 20_000 }),
                ..scenario(server.address, site, users)
            });
            assert_eq!(only(&outcome, cause), 1, "{cause} {manner:?}");
            assert_eq!((outcome.answered(), outcome.pages_failed), (3, 1), "{cause} {manner:?}");
            assert_eq!(outcome.examples[0].target, "a.test/1?size=5");
            let then = outcome.slices.iter().map(|slice| slice.failed[cause.index()]);
            assert_eq!(then.sum::<u64>(), 1, "{cause} {manner:?}");
        }
    }
}

#[test]
fn a_refused_connection_is_counted_and_does_not_spin() {
    let address = testbed::Port::kept().unwrap().for_ever();
    let outcome =
        play_until(&scenario(address, one(1), Users::Closed(2)), |outcome| outcome.failures() >= 4);
    assert!(only(&outcome, Cause::Connect) >= 4);
    let most = 2.0 * (outcome.took.as_secs_f64() / 0.01 + 2.0);
    assert!(outcome.failures() as f64 <= most, "{} in {:?}", outcome.failures(), outcome.took);
    assert_eq!(outcome.connections, 0);
}

#[test]
fn an_idle_connection_that_the_server_closed_is_no_failure() {
    let server = Server::start(|_| Answer::Close(whole("hello")));
    let rows = [(0, 0, "/0"), (1, 0, "/1"), (1, 0, "/2"), (1, 0, "/3")];
    for manner in [Manner::Parallel(1), Manner::Parallel(4), Manner::Pipelined] {
        let (site, users) = sessions(&plan(&rows));
        let outcome = play(&Scenario { manner, ..scenario(server.address, site, users) });
        assert_eq!((outcome.answered(), outcome.failures()), (4, 0), "{:?}", outcome.examples);
        assert_eq!(outcome.connections, 4, "{manner:?}");
    }
}

#[test]
fn a_session_without_end_keeps_its_connection() {
    let server = Server::start(hello);
    let outcome = play_until(&scenario(server.address, one(0), Users::Closed(3)), |outcome| {
        outcome.answered() >= 100
    });
    assert_eq!((outcome.connections, outcome.arrived, outcome.failures()), (3, 3, 0));
    assert!(outcome.requests_s() > 0.0 && outcome.cut_off <= 3);
}
