//! The first request of a connection: whose it is, and how it gets there.

use crate::Fixture;
use crate::segment::{ACK, AGENT, FIN, Letter, PSH, SYN, Segment, TRACK, WITH_SACK, mss, scale};
use crate::stage::{
    Client, DROPPED, FORWARD, LOAD_ONE, MARK_RELAY, MULTI, NOTHING, REDIRECTED, SINGLE, Stage, get,
    modest,
};
use handoff::{Repeat, State};

pub const FIXTURES: &[Fixture] = &[
    ("a request that nobody knows is held for user space, with a note", unknown),
    ("a request with a memo is handed over in an envelope, itself unchanged", known),
    ("the envelope says which way the connection is delivered", deliveries),
    ("the envelope says what the client offered", offered),
    ("a server of the other family gets the client's packet all the same", other_family),
    ("the same segment again is handed over again", again),
    ("the last request of a client that says no more is counted as long as it waits", with_fin),
    ("a memo of another epoch is not repeated", epoch),
    ("no memo is repeated while there is no epoch", no_epoch),
    ("a memo is not repeated when the connections are more than its guard allows", by_book),
    ("a memo is not repeated when the desk's own load is more than its guard allows", by_load),
    ("a memo is not repeated from its end on", by_time),
    ("a wheel's turns are taken in order, the relay's too", wheel),
    ("a wheel's cursor is the same for user space", wheel_shared),
    ("a wheel taken back, ended, empty or of another epoch is not turned", wheel_bad),
    ("a memo for a server that takes nothing new is asked again", draining),
    ("a memo for the relay takes the request to the relay", to_relay),
    ("user space's verdict hands the request over", verdict),
    ("user space's verdict for the relay goes in where the client is", verdict_relay),
    ("a held segment without a verdict is decided again, but not asked twice", no_verdict),
    ("a verdict for a server that is down or unknown drops the segment", verdict_down),
    ("a frame from the TAP without a note is dropped", no_note),
    ("what is no HTTP/1 goes to the relay", not_http),
    ("a head that does not end in its segment goes to the relay", split),
    ("a head that only the kernel has put together goes to the relay", put_together),
    ("two requests in one segment go to the relay, where connections may move", pipelined),
    ("two requests in one segment go to one server, where connections stay", pipelined_stays),
    ("a request with a body, or more of it to come, is handed over", bodies),
    ("a request whose end takes all of HTTP to tell is asked about, known or not", unclear),
    ("what comes behind a body is another request: it goes to the relay", behind_body),
];

pub const FULL: &[Fixture] = &[("without room for a flow the relay takes the connection", full)];

fn ask(t: &Stage<'_>, head: &[u8]) {
    let first = t.connected(MULTI).says(head);
    t.sees(&first).is(REDIRECTED, "asked", &t.held(&first));
}

fn unknown(t: &Stage<'_>) {
    let first = t.connected(MULTI).says(get("/unknown"));
    t.sees(&first).is(REDIRECTED, "asked", &t.held(&first));
    // A copy of it waits for the same answer.
    t.sees(&first).went(DROPPED, "asked_already");
}

fn known(t: &Stage<'_>) {
    let (client, first) = t.handed(MULTI);
    assert!(t.front.has(client.at, client.vip));
    let book = t.front.books().book(0);
    assert_eq!((book.open, book.begun), (1, 1));
    // Another connection with the same request.
    let first = Segment { ..t.connected(MULTI).says(first.payload) };
    t.sees(&first).is(REDIRECTED, "repeated handed_over", &t.hand_over(&first, 0).frame());
    assert_eq!(t.front.books().book(0).open, 2);
}

fn deliveries(t: &Stage<'_>) {
    for (port, flags) in
        [(MULTI, TRACK | WITH_SACK), (SINGLE, WITH_SACK), (FORWARD, AGENT | WITH_SACK)]
    {
        t.knows("/a", 1);
        let first = t.connected(port).says(get("/a"));
        let letter = t.hand_over(&first, 1);
        assert_eq!(letter.flags, flags);
        t.sees(&first).is(REDIRECTED, "repeated handed_over", &letter.frame());
    }
}

/// A client that has sent this SYN and got its answer.
fn after(t: &Stage<'_>, syn: impl Fn(&Client) -> Segment) -> Client {
    let mut client = t.client(MULTI);
    let answer = t.sees(&syn(&client));
    answer.went(REDIRECTED, "syn_answered");
    client.next = client.next.wrapping_add(1);
    client.heard = answer.tcp_seq().wrapping_add(1);
    client
}

fn offered(t: &Stage<'_>) {
    t.knows("/a", 0);
    let nothing = after(t, |client| client.bare().flags(SYN));
    let first = nothing.bare().flags(ACK | PSH).saying(get("/a"));
    let letter = modest(t.hand_over(&first, 0));
    t.sees(&first).is(REDIRECTED, "repeated handed_over", &letter.frame());
    for (said, carried) in [(1300, 1220), (1460, 1460), (9000, 8960), (100, 536)] {
        let some = after(t, |client| client.bare().flags(SYN).with([mss(said), scale(14)]));
        let first = some.bare().flags(ACK | PSH).saying(get("/a"));
        let letter = Letter { mss: carried, wscale: 14, ..modest(t.hand_over(&first, 0)) };
        t.sees(&first).is(REDIRECTED, "repeated handed_over", &letter.frame());
    }
}

fn other_family(t: &Stage<'_>) {
    t.knows("/a", 2);
    let first = t.connected(MULTI).says(get("/a"));
    t.sees(&first).is(REDIRECTED, "repeated handed_over", &t.hand_over(&first, 2).frame());
}

fn again(t: &Stage<'_>) {
    let (_, first) = t.handed(MULTI);
    // Whatever the memo says by now.
    t.front.forget_all();
    for _ in 0..2 {
        t.sees(&first).is(REDIRECTED, "handed_again", &t.hand_over(&first, 0).frame());
    }
    assert_eq!(t.front.books().book(0).open, 1);
}

fn with_fin(t: &Stage<'_>) {
    t.knows("/a", 0);
    let first = t.connected(MULTI).says(get("/a")).flags(ACK | PSH | FIN);
    let letter = t.hand_over(&first, 0);
    t.sees(&first).is(REDIRECTED, "repeated handed_over", &letter.frame());
    let book = t.front.books().book(0);
    assert_eq!((book.open, book.begun), (1, 1));
}

fn server(slot: u16, load_max: u64) -> Repeat {
    Repeat::Server { slot, load_max, until_ns: u64::MAX }
}

fn epoch(t: &Stage<'_>) {
    t.learns(&get("/a"), 2, server(0, u64::MAX));
    ask(t, &get("/a"));
    t.front.books().set_epoch(2);
    t.sees(&t.connected(MULTI).says(get("/a"))).went(REDIRECTED, "repeated handed_over");
}

fn no_epoch(t: &Stage<'_>) {
    t.knows("/a", 0);
    t.front.books().set_epoch(0);
    ask(t, &get("/a"));
}

fn by_book(t: &Stage<'_>) {
    t.learns(&get("/a"), 1, server(0, LOAD_ONE));
    for _ in 0..2 {
        t.sees(&t.connected(MULTI).says(get("/a"))).went(REDIRECTED, "repeated handed_over");
    }
    assert_eq!(t.front.books().book(0).open, 2);
    ask(t, &get("/a"));
}

fn by_load(t: &Stage<'_>) {
    t.learns(&get("/a"), 1, server(0, 2 * LOAD_ONE));
    t.front.books().set_load(0, 2 * LOAD_ONE);
    t.sees(&t.connected(MULTI).says(get("/a"))).went(REDIRECTED, "repeated handed_over");
    // The connection and the desk's part together.
    ask(t, &get("/a"));
    t.front.books().set_load(0, LOAD_ONE + 1);
    ask(t, &get("/a"));
    t.front.books().set_load(0, LOAD_ONE);
    t.sees(&t.connected(MULTI).says(get("/a"))).went(REDIRECTED, "repeated handed_over");
}

fn by_time(t: &Stage<'_>) {
    let until = |until_ns| Repeat::Server { slot: 0, load_max: u64::MAX, until_ns };
    for until_ns in [0, 1, handoff::now_ns()] {
        t.learns(&get("/a"), 1, until(until_ns));
        ask(t, &get("/a"));
    }
    t.learns(&get("/a"), 1, until(handoff::now_ns() + 60_000_000_000));
    t.sees(&t.connected(MULTI).says(get("/a"))).went(REDIRECTED, "repeated handed_over");
}

fn turn(t: &Stage<'_>, slot: Option<u16>) {
    let first = t.connected(MULTI).says(get("/turn"));
    match slot {
        Some(slot) => {
            let letter = t.hand_over(&first, slot);
            t.sees(&first).is(REDIRECTED, "repeated handed_over", &letter.frame());
        }
        None => {
            t.sees(&first).leaves(DROPPED, "repeated local_verdict local_refused");
        }
    }
}

fn wheel(t: &Stage<'_>) {
    let turns = [Some(1), None, Some(0), Some(1)];
    t.learns(&get("/turn"), 1, Repeat::Wheel(3));
    t.front.books().set_wheel(3, 1, u64::MAX, &turns);
    for round in 0..3 {
        for (number, slot) in (0..).zip(turns) {
            assert_eq!(t.front.books().turns(3), round * 4 + number);
            turn(t, slot);
        }
    }
}

fn wheel_shared(t: &Stage<'_>) {
    t.learns(&get("/turn"), 1, Repeat::Wheel(0));
    t.front.books().set_wheel(0, 1, u64::MAX, &[Some(0), Some(1), Some(2)]);
    turn(t, Some(0));
    assert_eq!(t.front.books().take_turn(0), 1);
    turn(t, Some(2));
    assert_eq!(t.front.books().take_turn(0), 3);
    assert_eq!(t.front.books().revoke_wheel(0), 4);
}

fn wheel_bad(t: &Stage<'_>) {
    let books = t.front.books();
    let some = [Some(0), Some(1)];
    t.learns(&get("/turn"), 1, Repeat::Wheel(1));
    books.set_wheel(1, 1, u64::MAX, &some);
    books.revoke_wheel(1);
    ask(t, &get("/turn"));
    books.set_wheel(1, 1, handoff::now_ns(), &some);
    ask(t, &get("/turn"));
    books.set_wheel(1, 2, u64::MAX, &some);
    ask(t, &get("/turn"));
    books.set_wheel(1, 1, u64::MAX, &[]);
    ask(t, &get("/turn"));
    t.learns(&get("/turn"), 1, Repeat::Wheel(200));
    ask(t, &get("/turn"));
}

fn draining(t: &Stage<'_>) {
    for state in [State::Draining, State::Down] {
        t.knows("/a", 0);
        t.set_server(0, state);
        let first = t.connected(MULTI).says(get("/a"));
        t.sees(&first).is(REDIRECTED, "repeated asked", &t.held(&first));
    }
}

fn to_relay(t: &Stage<'_>) {
    t.learns(&get("/relay"), 1, Repeat::Relay);
    let first = t.connected(MULTI).says(get("/relay"));
    t.sees(&first).leaves(DROPPED, "local_verdict local_refused");
}

fn verdict(t: &Stage<'_>) {
    let first = t.connected(MULTI).says(get("/asked"));
    t.sees(&first).went(REDIRECTED, "asked");
    let mut frame = t.hand_over(&first, 1).frame();
    let held = t.noted(&first, 1);
    frame[..12].copy_from_slice(&held[..12]);
    t.answered(&first, 1).is(REDIRECTED, "answered handed_over", &frame);
    // From now on it is known; its answer came to another interface.
    t.sees(&first).is(REDIRECTED, "handed_again", &t.hand_over(&first, 1).frame());
}

fn verdict_relay(t: &Stage<'_>) {
    let first = t.connected(MULTI).says(get("/asked"));
    let seen = t.answered(&first, u32::MAX - 1);
    seen.went(REDIRECTED, "answered local_verdict");
    assert_eq!((seen.tried.mark, &seen.tried.frame), (MARK_RELAY, &seen.sent));
    // And there it comes in again, marked.
    let frame = first.frame();
    t.tried(&frame, t.interface, MARK_RELAY).went(DROPPED, "local_refused");
}

fn no_verdict(t: &Stage<'_>) {
    let first = t.connected(MULTI).says(get("/asked"));
    t.answered(&first, u32::MAX).leaves(DROPPED, "answered unanswered");
    t.knows("/asked", 0);
    t.answered(&first, u32::MAX).went(REDIRECTED, "answered repeated handed_over");
}

fn verdict_down(t: &Stage<'_>) {
    t.set_server(1, State::Down);
    for slot in [1, 7, 256, 0x7fff_ffff] {
        let first = t.connected(MULTI).says(get("/asked"));
        t.answered(&first, slot).leaves(DROPPED, "answered unanswered");
        assert!(!t.front.has(first.from, first.to));
    }
}

fn no_note(t: &Stage<'_>) {
    let first = t.connected(MULTI).says(get("/asked"));
    t.tried(&first.frame(), t.tap, 0).leaves(DROPPED, NOTHING);
}

fn not_http(t: &Stage<'_>) {
    // The beginning of a TLS ClientHello.
    let hello = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 200]].concat();
    for bytes in [
        &hello[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"get / HTTP/1.1\r\n\r\n",
        b"\r\nGET / HTTP/1.1\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"GET\t/ HTTP/1.1\r\n\r\n",
        b"G",
        b"GET",
        b"\0\0\0\0\n\n",
    ] {
        let first = t.connected(MULTI).says(bytes);
        t.sees(&first).leaves(DROPPED, "local_not_http local_refused");
    }
}

fn split(t: &Stage<'_>) {
    let whole = get("/split");
    t.knows("/split", 0);
    for cut in 4..whole.len() {
        let first = t.connected(MULTI).says(&whole[..cut]);
        t.sees(&first).leaves(DROPPED, "local_split_head local_refused");
    }
    t.sees(&t.connected(MULTI).says(&whole)).went(REDIRECTED, "repeated handed_over");
}

fn put_together(t: &Stage<'_>) {
    t.knows("/a", 0);
    let first = t.connected(MULTI).says(get("/a"));
    let seen = t.put_together(&first, first.length() - 1);
    seen.leaves(DROPPED, "local_split_head local_refused");
    // One that the next part was only put behind is read.
    let post = [&b"POST /b HTTP/1.1\r\nContent-Length: 9\r\n\r\n"[..], b"some body"].concat();
    let first = t.connected(MULTI).says(&post);
    t.put_together(&first, first.length() - 9).is(REDIRECTED, "asked", &t.held(&first));
}

fn pipelined(t: &Stage<'_>) {
    t.knows("/a", 0);
    for port in [MULTI, FORWARD] {
        let first = t.connected(port).says([get("/a"), get("/b")].concat());
        t.sees(&first).leaves(DROPPED, "local_pipelined local_refused");
    }
}

fn pipelined_stays(t: &Stage<'_>) {
    t.knows("/a", 0);
    let first = t.connected(SINGLE).says([get("/a"), get("/b")].concat());
    t.sees(&first).is(REDIRECTED, "repeated handed_over", &t.hand_over(&first, 0).frame());
}

fn bodies(t: &Stage<'_>) {
    for head in [
        &b"POST /x HTTP/1.1\r\nHost: bed\r\nContent-Length: 4\r\n\r\nbody"[..],
        b"POST /x HTTP/1.1\r\nHost: bed\r\nContent-Length: 400000\r\n\r\nbo",
        b"POST /x HTTP/1.1\r\nHost: bed\r\nContent-Length: 400000\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost: bed\r\ncontent-length:4\r\n\r\nbody",
        b"DELETE /x HTTP/1.0\n\n",
        b"PATCH /x HTTP/1.0\n\n",
        b"HEAD /x HTTP/1.0\n\n",
        b"OPTIONS * HTTP/1.1\r\n\r\n",
    ] {
        t.learns(head, 1, server(1, u64::MAX));
        let first = t.connected(MULTI).says(head);
        t.sees(&first).is(REDIRECTED, "repeated handed_over", &t.hand_over(&first, 1).frame());
    }
}

fn unclear(t: &Stage<'_>) {
    for fields in [
        "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
        "Content-Length: 5, 6\r\n\r\nhello",
        "Content-Length: +5\r\n\r\nhello",
        "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "Content-Length: 99999999999\r\n\r\nhello",
    ] {
        let head = format!("POST /x HTTP/1.1\r\nHost: bed\r\n{fields}");
        t.learns(head.as_bytes(), 1, server(1, u64::MAX));
        let first = t.connected(MULTI).says(head.as_bytes());
        t.sees(&first).is(REDIRECTED, "asked", &t.held(&first));
    }
}

fn behind_body(t: &Stage<'_>) {
    for more in
        ["GET /a HTTP/1.1\r\nHost: bed\r\nContent-Length: 0", "POST /a HTTP/1.1\r\nHost: bed"]
    {
        let head = format!("{more}\r\n\r\nGET /b HTTP/1.1\r\nHost: bed\r\n\r\n");
        t.learns(head.as_bytes(), 1, server(1, u64::MAX));
        let first = t.connected(MULTI).says(head.as_bytes());
        t.sees(&first).went(DROPPED, "local_pipelined local_refused");
    }
}

fn full(t: &Stage<'_>) {
    t.knows("/a", 0);
    // The first takes the only place, the family before this one may have it already.
    let _first = t.sees(&t.connected(MULTI).says(get("/a")));
    let open = t.front.books().book(0).open;
    for _ in 0..3 {
        let first = t.connected(MULTI).says(get("/a"));
        t.sees(&first).leaves(DROPPED, "repeated local_full local_refused");
    }
    assert_eq!(t.front.books().book(0).open, open);
}
