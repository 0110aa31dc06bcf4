//! Why the program relays a connection by itself: noted for the relay's log.

use crate::Fixture;
use crate::segment::Segment;
use crate::stage::{DROPPED, MULTI, REDIRECTED, Stage, get};
use handoff::{Reason, Repeat};

pub const FIXTURES: &[Fixture] = &[
    ("why the program relays what it reads in a first segment is told once", read),
    ("of what a memo sends to the relay it is told that one did", repeated),
    ("of what user space sends to the relay nothing is told, whatever was noted before", answered),
    ("of what is handed over, or asked about, nothing is told", not_relayed),
];

pub const FULL: &[Fixture] = &[("that there was no room for a flow is told", full)];

fn tells(t: &Stage<'_>, first: &Segment, why: Option<Reason>) {
    let told = [0; 2].map(|_| t.front.relayed(first.from, first.to));
    assert_eq!(told, [why, None]);
}

fn read(t: &Stage<'_>) {
    let two = [get("/a"), get("/b")].concat();
    let cases = [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], "not_http", Reason::NotHttp),
        (&b"GET /a HTTP/1.1\r\n"[..], "split_head", Reason::SplitHead),
        (&two[..], "pipelined", Reason::Pipelined),
    ];
    let firsts = cases.map(|(bytes, count, _)| {
        let first = t.connected(MULTI).says(bytes);
        t.sees(&first).went(DROPPED, &format!("local_{count} local_refused"));
        first
    });
    for (first, (_, _, why)) in firsts.iter().zip(cases) {
        tells(t, first, Some(why));
    }
}

fn repeated(t: &Stage<'_>) {
    t.learns(&get("/relay"), 1, Repeat::Relay);
    let first = t.connected(MULTI).says(get("/relay"));
    t.sees(&first).went(DROPPED, "local_verdict local_refused");
    tells(t, &first, Some(Reason::Verdict));
}

fn answered(t: &Stage<'_>) {
    let (nothing, relay) = (u32::MAX, u32::MAX - 1);
    let first = t.connected(MULTI).says(get("/asked"));
    t.answered(&first, relay).went(REDIRECTED, "answered local_verdict");
    tells(t, &first, None);
    // A memo that came while it was held says so before user space does.
    t.learns(&get("/asked"), 1, Repeat::Relay);
    t.answered(&first, nothing).went(REDIRECTED, "answered local_verdict");
    t.answered(&first, relay).went(REDIRECTED, "answered local_verdict");
    tells(t, &first, None);
    t.answered(&first, nothing).went(REDIRECTED, "answered local_verdict");
    tells(t, &first, Some(Reason::Verdict));
}

fn not_relayed(t: &Stage<'_>) {
    let (_, first) = t.handed(MULTI);
    tells(t, &first, None);
    let first = t.connected(MULTI).says(get("/unknown"));
    t.sees(&first).went(REDIRECTED, "asked");
    tells(t, &first, None);
}

fn full(t: &Stage<'_>) {
    t.knows("/a", 0);
    // The first takes the only place, the family before this one may have it already.
    let _first = t.sees(&t.connected(MULTI).says(get("/a")));
    let first = t.connected(MULTI).says(get("/a"));
    t.sees(&first).went(DROPPED, "repeated local_full local_refused");
    tells(t, &first, Some(Reason::Full));
}
