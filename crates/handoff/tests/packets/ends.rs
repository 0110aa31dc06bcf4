//! How connections end: by their clients' last words, or with their server.

use crate::Fixture;
use crate::next::after_reply;
use crate::segment::{ACK, FIN, PSH, QUERY, RST, Segment, usual_stamps};
use crate::stage::{DROPPED, FORWARD, MULTI, REDIRECTED, SINGLE, Stage, get};
use handoff::State;

pub const FIXTURES: &[Fixture] = &[
    ("a FIN closes the book once and goes to the holder", fin),
    ("a RST closes the book once and goes to the holder", rst),
    ("last words out of place go to the holder and change nothing", wild_last_words),
    ("a client that is half closed is counted as long as it waits", half_closed),
    ("a client of a server that is down is reset with the right numbers", down),
    ("a RST to a server that is down gets no answer", down_rst),
    ("a hand-over that is repeated to a server that is doubted is reset", deaf_again),
    ("a server that is doubted is not asked to give a connection up", deaf_asked),
    ("a question to one that is doubted since is repeated every other time", doubted_since),
    ("who needs envelopes is reset at a server that is deaf, and others go on", deaf),
    ("a FIN that overtakes what is before it counts when its client goes on after it", early_fin),
    ("who goes on after a last word that its server cannot have heard is counted again", no_end),
    ("silence after a FIN takes it out of the books, and the reply still comes", waiting),
];

fn closed_by(t: &Stage<'_>, flags: u8) {
    let (client, first) = after_reply(t, MULTI);
    assert_eq!(t.front.books().book(0).open, 1);
    let last = client.acks().flags(flags);
    let frame = t.forwarded(&last, &first, 0);
    t.sees(&last).is(REDIRECTED, "closed forwarded", &frame);
    assert_eq!(t.front.books().book(0).open, 0);
    t.sees(&last).is(REDIRECTED, "forwarded", &frame);
    assert_eq!(t.front.books().book(0).open, 0);
    // What follows still finds its server.
    let ack = client.acks();
    t.sees(&ack).is(REDIRECTED, "forwarded", &t.forwarded(&ack, &first, 0));
    t.front.set_row(0, None).unwrap();
    t.set_server(0, State::Up);
}

fn fin(t: &Stage<'_>) {
    closed_by(t, FIN | ACK);
}

fn rst(t: &Stage<'_>) {
    closed_by(t, RST | ACK);
}

pub fn down(t: &Stage<'_>) {
    let (client, _) = after_reply(t, MULTI);
    let closing = client.says("more").flags(ACK | PSH | FIN);
    t.set_server(0, State::Down);
    for (said, bytes, counts) in [
        (client.acks(), 0, "reset_down closed"),
        (client.says("more"), 4, "reset_down"),
        (closing, 5, "reset_down"),
    ] {
        let answer = Segment {
            from: client.vip,
            to: client.at,
            ..said.clone().flags(RST | ACK).with([usual_stamps(3000, 2000)])
        };
        let answer = answer.numbers(client.heard, client.next.wrapping_add(bytes));
        t.sees(&said).is(REDIRECTED, counts, &answer.answer());
    }
    assert_eq!(t.front.books().book(0).open, 0);
}

fn down_rst(t: &Stage<'_>) {
    let (client, _) = after_reply(t, MULTI);
    t.set_server(0, State::Down);
    t.sees(&client.acks().flags(RST)).leaves(DROPPED, "reset_down closed");
}

fn deaf_again(t: &Stage<'_>) {
    let (client, first) = t.handed(MULTI);
    t.set_server(0, State::Doubted);
    let ack = client.acks();
    t.sees(&ack).is(REDIRECTED, "forwarded", &t.forwarded(&ack, &first, 0));
    t.sees(&first).went(REDIRECTED, "reset_down closed");
    assert_eq!(t.front.books().book(0).open, 0);
}

fn deaf_asked(t: &Stage<'_>) {
    for (port, counts) in [(MULTI, "repeated forwarded"), (FORWARD, "repeated forwarded")] {
        t.set_server(0, State::Up);
        let (client, first) = after_reply(t, port);
        t.knows("/other", 1);
        t.set_server(0, State::Doubted);
        let next = client.says(get("/other"));
        t.sees(&next).is(REDIRECTED, counts, &t.forwarded(&next, &first, 0));
    }
}

/// It may have given the connection up, or may never have heard the question.
fn doubted_since(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    t.knows("/other", 1);
    let next = client.says(get("/other"));
    t.sees(&next).went(REDIRECTED, "repeated queried");
    t.set_server(0, State::Doubted);
    let plain = t.forwarded(&next, &first, 0);
    let query = t.hand_over(&next, 0).kind(QUERY).of(first.seq).frame();
    for _ in 0..2 {
        t.sees(&next).is(REDIRECTED, "forwarded", &plain);
        t.sees(&next).is(REDIRECTED, "queried", &query);
    }
    // Nothing in an envelope arrives any more.
    t.set_server(0, State::Deaf);
    if t.v6 {
        t.sees(&next).went(REDIRECTED, "reset_down closed");
    } else {
        t.sees(&next).is(REDIRECTED, "forwarded", &plain);
        t.sees(&next).is(REDIRECTED, "forwarded", &plain);
    }
}

fn wild_last_words(t: &Stage<'_>) {
    let (client, _) = t.handed(MULTI);
    for (flags, ahead) in
        [(RST, 1 << 30), (RST, 5), (RST | ACK, u32::MAX - 5), (FIN | ACK, 1 << 28)]
    {
        let wild =
            client.acks().flags(flags).numbers(client.next.wrapping_add(ahead), client.heard);
        t.sees(&wild).went(REDIRECTED, "forwarded");
    }
    assert_eq!(t.front.books().book(0).open, 1);
}

fn half_closed(t: &Stage<'_>) {
    let (mut client, _) = t.handed(SINGLE);
    t.sees(&client.acks().flags(FIN | ACK)).went(REDIRECTED, "forwarded");
    assert_eq!(t.front.books().book(0).open, 1);
    // It hears the reply and says its last word again: now that is all.
    client.heard(1000);
    t.sees(&client.acks().flags(FIN | ACK)).went(REDIRECTED, "closed forwarded");
    assert_eq!(t.front.books().book(0).open, 0);
}

fn deaf(t: &Stage<'_>) {
    let (client, first) = after_reply(t, SINGLE);
    t.set_server(0, State::Deaf);
    let ack = client.acks();
    if t.v6 {
        // The server has an IPv4 address.
        t.sees(&ack).went(REDIRECTED, "reset_down closed");
    } else {
        t.sees(&ack).is(REDIRECTED, "forwarded", &t.forwarded(&ack, &first, 0));
    }
}

fn early_fin(t: &Stage<'_>) {
    let (client, _) = after_reply(t, MULTI);
    let body = client.says("body");
    let end = client.next.wrapping_add(4);
    t.sees(&client.acks().flags(FIN | ACK).numbers(end, client.heard))
        .went(REDIRECTED, "forwarded");
    t.sees(&body).went(REDIRECTED, "forwarded");
    assert_eq!(t.front.books().book(0).open, 1);
    let after = end.wrapping_add(1);
    let heard = client.heard.wrapping_add(100);
    t.sees(&client.acks().numbers(after, heard)).went(REDIRECTED, "closed forwarded");
    assert_eq!(t.front.books().book(0).open, 0);
}

fn no_end(t: &Stage<'_>) {
    let (client, _) = after_reply(t, MULTI);
    let next = client.says(get("/first"));
    let far = client.heard.wrapping_add(1_000_000);
    t.sees(&client.acks().flags(FIN | ACK).numbers(client.next, far))
        .went(REDIRECTED, "closed forwarded");
    assert_eq!(t.front.books().book(0).open, 0);
    t.sees(&next).went(REDIRECTED, "repeated forwarded");
    assert_eq!(t.front.books().book(0).open, 1);
    assert_eq!(t.front.books().book(0).begun, 1, "it is the same connection");
}

fn waiting(t: &Stage<'_>) {
    let (client, _) = t.handed(MULTI);
    let fin = client.acks().flags(FIN | ACK);
    t.sees(&fin).went(REDIRECTED, "forwarded");
    t.answered(&fin, CLOSE).went(DROPPED, "answered closed");
    assert_eq!(t.front.books().book(0).open, 0);
    let mut after = client.clone();
    after.next = after.next.wrapping_add(1);
    after.heard(1000);
    t.sees(&after.acks()).went(REDIRECTED, "forwarded");
    assert!(t.front.has(client.at, client.vip), "until it is idle");
}

/// Our own verdict on a connection whose client has been silent since its FIN: `CLOSE`.
const CLOSE: u32 = 0xffff_fffd;
