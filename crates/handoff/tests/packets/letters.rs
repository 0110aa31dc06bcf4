//! Envelopes that come to the front-end: a server gave a connection up.

use crate::Fixture;
use crate::segment::{
    ACK, HANDOFF, Letter, OURS, PLAIN, PORT, QUERY, RELEASED, RST, SENDER, Segment, TAGGED,
    usual_stamps,
};
use crate::stage::{
    Client, DROPPED, FORWARD, MARK_RELAY, MULTI, NOT_OURS, NOTHING, REDIRECTED, Stage, get,
};
use handoff::{Reason, Repeat, State};

pub const FIXTURES: &[Fixture] = &[
    ("a connection that was given up goes to the server it was decided for", moved),
    ("the same said twice moves it once", moved_twice),
    ("the question of a connection that moved is a hand-over to its new holder", moved_again),
    ("to a server that speaks the other family it cannot move in its envelope", other_family),
    ("a connection given up for the relay goes in where the client is", to_relay),
    ("a client whose new server is down meanwhile is reset", to_down),
    ("a connection that ended meanwhile is counted nowhere", closed_meanwhile),
    ("a release that nobody asked for is dropped", not_asked),
    ("a release of another connection on the same port is dropped", other_connection),
    ("an envelope whose number is not that of its segment is dropped", other_seq),
    ("an envelope of any other kind is dropped", other_kinds),
    ("an envelope of another protocol or version is dropped", other_version),
    ("an envelope with any byte changed is dropped", any_byte),
    ("an envelope cut short anywhere is dropped or not ours", cut),
    ("an envelope in an envelope is dropped", nested),
    ("an envelope with IP options outside is dropped", outer_options),
    ("UDP to another port is the stack's", other_port),
];

/// A request that the holder was asked about, and its answer.
fn asked(t: &Stage<'_>) -> (Client, Segment, Letter) {
    let (mut client, first) = t.handed(MULTI);
    client.heard(5000);
    t.knows("/other", 1);
    let next = client.says(get("/other"));
    t.sees(&next).went(REDIRECTED, "repeated queried");
    let letter = release(t, &next, &first);
    (client, first, letter)
}

/// The first server's answer.
fn release(t: &Stage<'_>, next: &Segment, first: &Segment) -> Letter {
    let letter = t.hand_over(next, 0).kind(RELEASED).of(first.seq);
    Letter { from: letter.to, to: letter.from, ..letter }
}

fn handed_on(t: &Stage<'_>, letter: &Letter, slot: u16) -> Vec<u8> {
    t.hand_over(&letter.inner, slot).kind(HANDOFF).of(letter.connection).frame()
}

fn moved(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    t.shown(&letter.frame()).is(REDIRECTED, "moved", &handed_on(t, &letter, 1));
    assert_eq!([0, 1].map(|slot| t.front.books().book(slot).open), [0, 1]);
}

fn moved_twice(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    t.shown(&letter.frame()).is(REDIRECTED, "moved", &handed_on(t, &letter, 1));
    t.shown(&letter.frame()).is(REDIRECTED, NOTHING, &handed_on(t, &letter, 1));
    assert_eq!([0, 1].map(|slot| t.front.books().book(slot).open), [0, 1]);
}

fn moved_again(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    t.shown(&letter.frame()).went(REDIRECTED, "moved");
    t.sees(&letter.inner).is(REDIRECTED, "handed_again", &handed_on(t, &letter, 1));
}

fn other_family(t: &Stage<'_>) {
    let (mut client, first) = t.handed(MULTI);
    client.heard(5000);
    t.knows("/other", 2);
    let next = client.says(get("/other"));
    t.sees(&next).went(REDIRECTED, "repeated queried");
    t.shown(&release(t, &next, &first).frame()).went(DROPPED, "moved malformed");
    // The client sends it again.
    let letter = t.hand_over(&next, 2).of(first.seq);
    t.sees(&next).is(REDIRECTED, "handed_again", &letter.frame());
}

fn to_relay(t: &Stage<'_>) {
    let (mut client, first) = t.handed(MULTI);
    client.heard(5000);
    t.learns(&get("/relay"), 1, Repeat::Relay);
    let next = client.says(get("/relay"));
    t.sees(&next).went(REDIRECTED, "queried");
    let seen = t.shown(&release(t, &next, &first).frame());
    seen.went(REDIRECTED, "local_verdict");
    assert_eq!(seen.tried.mark, MARK_RELAY);
    assert_eq!(t.front.relayed(client.at, client.vip), Some(Reason::Verdict));
    assert_eq!(crate::decode::difference(&next.frame(), &seen.tried.frame), None);
    // There the relay would take it; a trial makes no socket, and until there is one it is a flow.
    t.tried(&next.frame(), t.interface, MARK_RELAY).went(DROPPED, "local_refused");
    assert!(t.front.has(client.at, client.vip));
}

fn to_down(t: &Stage<'_>) {
    let (client, _, letter) = asked(t);
    t.set_server(1, State::Down);
    let end = client.next.wrapping_add(letter.inner.length());
    let answer = Segment { from: client.vip, to: client.at, ..letter.inner.clone() };
    let answer =
        answer.flags(RST | ACK).numbers(client.heard, end).with([usual_stamps(3000, 2000)]);
    t.shown(&letter.frame()).is(REDIRECTED, "moved closed reset_down", &answer.answer());
    assert_eq!([0, 1].map(|slot| t.front.books().book(slot).open), [0, 0]);
}

fn closed_meanwhile(t: &Stage<'_>) {
    let (client, _, letter) = asked(t);
    let end = client.next.wrapping_add(letter.inner.length());
    let reset = client.acks().flags(RST).numbers(end, client.heard);
    t.sees(&reset).went(REDIRECTED, "closed forwarded");
    t.shown(&letter.frame()).went(REDIRECTED, "moved");
    assert_eq!([0, 1].map(|slot| t.front.books().book(slot).open), [0, 0]);
}

fn not_asked(t: &Stage<'_>) {
    let (mut client, first) = t.handed(MULTI);
    client.heard(5000);
    let next = client.says(get("/other"));
    let frame = release(t, &next, &first).frame();
    t.shown(&frame).leaves(DROPPED, "unknown_release");
    // Nor of a connection that is none.
    let next = t.client(MULTI).says(get("/other"));
    t.shown(&release(t, &next, &next).frame()).leaves(DROPPED, "unknown_release");
    // Nor where connections do not move.
    let (client, first) = t.handed(FORWARD);
    let next = client.says(get("/other"));
    t.shown(&release(t, &next, &first).frame()).leaves(DROPPED, "unknown_release");
}

fn other_connection(t: &Stage<'_>) {
    let (_, first, letter) = asked(t);
    let other = letter.clone().of(first.seq.wrapping_add(1));
    t.shown(&other.frame()).leaves(DROPPED, "unknown_release");
    t.shown(&letter.frame()).went(REDIRECTED, "moved");
}

fn other_seq(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    let other = Letter { seq: letter.seq.wrapping_add(1), ..letter };
    t.shown(&other.frame()).leaves(DROPPED, "malformed");
}

fn other_kinds(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    for kind in [PLAIN, HANDOFF, QUERY, TAGGED, 5, 255] {
        t.shown(&letter.clone().kind(kind).frame()).leaves(DROPPED, "malformed");
    }
}

fn other_version(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    t.shown(&Letter { magic: 0xba72, ..letter.clone() }.frame()).leaves(DROPPED, "malformed");
    for version in [0, 2, 255] {
        t.shown(&Letter { version, ..letter.clone() }.frame()).leaves(DROPPED, "malformed");
    }
}

/// From the envelope on to the end of the client's sequence number: what the seal covers.
fn any_byte(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    let frame = letter.frame();
    // Ethernet, IPv4, UDP.
    let envelope = 14 + 20 + 8;
    let inner = envelope + 28;
    let addresses = if t.v6 { inner + 8..inner + 40 } else { inner + 12..inner + 20 };
    let header = inner + if t.v6 { 40 } else { 20 };
    let sealed = (envelope..inner).chain(addresses).chain(header..header + 8);
    for at in sealed {
        for bit in 0..8 {
            let mut forged = frame.clone();
            forged[at] ^= 1 << bit;
            let seen = t.shown(&forged);
            assert_eq!(seen.tried.verdict, DROPPED, "byte {at} bit {bit}");
            let bad = ["malformed", "forged"].map(|name| seen.counted == [name]);
            assert!(bad.contains(&true), "byte {at} bit {bit}: {:?}", seen.counted);
        }
    }
    t.shown(&frame).went(REDIRECTED, "moved");
}

fn cut(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    let frame = letter.frame();
    // A trial wants the whole IP header.
    for length in 14 + 20..frame.len() {
        let seen = t.shown(&frame[..length]);
        match seen.tried.verdict {
            NOT_OURS => seen.leaves(NOT_OURS, NOTHING),
            _ => seen.leaves(DROPPED, "malformed"),
        };
    }
}

fn nested(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    let inner = letter.frame();
    let mut frame = inner[..14 + 20 + 8 + 28].to_vec();
    frame.extend(&inner[14..]);
    let bytes = u16::try_from(frame.len() - 14).unwrap();
    frame[16..18].copy_from_slice(&bytes.to_be_bytes());
    crate::segment::sign(&mut frame[14..34]);
    t.shown(&frame).leaves(DROPPED, "malformed");
}

fn outer_options(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    let plain = letter.frame();
    let mut frame = plain[..34].to_vec();
    frame[14] = 0x46;
    frame.extend([1, 1, 1, 1]);
    frame.extend(&plain[34..]);
    let bytes = u16::try_from(frame.len() - 14).unwrap();
    frame[16..18].copy_from_slice(&bytes.to_be_bytes());
    crate::segment::sign(&mut frame[14..38]);
    t.shown(&frame).leaves(DROPPED, "malformed");
}

fn other_port(t: &Stage<'_>) {
    let (_, _, letter) = asked(t);
    let mut frame = letter.framed_by(SENDER, OURS);
    frame[36..38].copy_from_slice(&(PORT + 1).to_be_bytes());
    t.shown(&frame).leaves(NOT_OURS, NOTHING);
}
