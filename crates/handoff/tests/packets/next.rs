//! What follows on a connection that was handed over: to its holder, or a question whether it may
//! move.

use crate::Fixture;
use crate::segment::{Letter, PLAIN, QUERY, Segment, TAGGED};
use crate::stage::{Client, DROPPED, FORWARD, MULTI, NAMES, REDIRECTED, SINGLE, Stage, get};
use handoff::{Delivery, Repeat, State};

pub const FIXTURES: &[Fixture] = &[
    ("an ACK goes to the holder as it is", ack),
    ("the next request for the same server goes as it is", same),
    ("the next request for another server is a question to the holder", other),
    ("a forwarded connection's request for another server is tagged with its name", tagged),
    ("a connection that stays is not looked at any more", stays),
    ("a connection stays while its listener is given up, whatever it did before", given_up),
    ("a body, or half a head, goes to the holder", not_a_request),
    ("two requests in one segment stay with the holder", pipelined),
    ("a request before the reply to the last one stays with the holder", too_early),
    ("the next request that nobody knows is held", unknown),
    ("user space's verdict on it is carried out", verdict),
    ("a later request for the relay is a question to the holder too", to_relay),
    ("the same request again gets the same answer, without another decision", again),
    ("a request for a server that takes nothing new stays with the holder", draining_other),
    (
        "a question may have been answered: it is repeated whatever became of the other",
        queried_again,
    ),
    ("what is older than the last request goes to the holder", old),
    ("a late copy of the first segment does not hand over again", late_first),
    ("data out of place goes to the holder, and the next request may still move", wild_data),
    ("a server that drains keeps its connections", draining),
    ("a port used again after a SYN begins a new connection", reuse),
    ("a port used again without a SYN does not", no_reuse),
    ("the end of another handshake on a port in use is absorbed", other_handshake),
    ("a router's word about the size of a reply goes to the holder", too_large),
    ("a client that comes by another interface is answered by that one", by_another_interface),
];

pub const ROUTED: &[Fixture] = &[
    ("an ACK and the next request travel in envelopes", routed),
    ("a hand-over and a question are the same", other),
    ("a client of a server that is down is reset all the same", crate::ends::down),
];

/// The reply to the first request has come.
pub fn after_reply(t: &Stage<'_>, port: u16) -> (Client, Segment) {
    let (mut client, first) = t.handed(port);
    client.heard(5000);
    (client, first)
}

fn ack(t: &Stage<'_>) {
    for port in [MULTI, SINGLE, FORWARD] {
        let (client, first) = after_reply(t, port);
        let ack = client.acks();
        t.sees(&ack).is(REDIRECTED, "forwarded", &t.forwarded(&ack, &first, 0));
    }
}

fn same(t: &Stage<'_>) {
    for port in [MULTI, FORWARD] {
        let (client, first) = after_reply(t, port);
        let next = client.says(get("/first"));
        let frame = t.forwarded(&next, &first, 0);
        t.sees(&next).is(REDIRECTED, "repeated forwarded", &frame);
    }
}

fn by_another_interface(t: &Stage<'_>) {
    let (client, _) = after_reply(t, MULTI);
    let heard_on = || {
        let all = t.front.list(usize::MAX);
        all.iter().find(|flow| flow.client == client.at).unwrap().interface
    };
    assert_eq!(heard_on(), t.interface);
    let loopback = 1;
    t.tried(&client.says(get("/first")).frame(), loopback, 0);
    assert_eq!(heard_on(), loopback);
}

fn query(t: &Stage<'_>, next: &Segment, first: &Segment) -> Letter {
    t.hand_over(next, 0).kind(QUERY).of(first.seq)
}

fn other(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    t.knows("/other", 1);
    let next = client.says(get("/other"));
    t.sees(&next).is(REDIRECTED, "repeated queried", &query(t, &next, &first).frame());
    // Nothing has moved yet.
    assert_eq!([0, 1].map(|slot| t.front.books().book(slot).open), [1, 0]);
}

fn tagged(t: &Stage<'_>) {
    let (client, first) = after_reply(t, FORWARD);
    t.knows("/other", 1);
    let next = client.says(get("/other"));
    let server = handoff::tag_of(NAMES[1]);
    let letter = Letter { server, ..t.hand_over(&next, 0).kind(TAGGED).of(first.seq) };
    t.sees(&next).is(REDIRECTED, "repeated tagged", &letter.frame());
}

fn stays(t: &Stage<'_>) {
    let (client, first) = after_reply(t, SINGLE);
    t.knows("/other", 1);
    let next = client.says(get("/other"));
    t.sees(&next).is(REDIRECTED, "forwarded", &t.forwarded(&next, &first, 0));
}

fn given_up(t: &Stage<'_>) {
    let (mut client, first) = after_reply(t, MULTI);
    let listen = |delivery| t.front.listen(t.vip(MULTI), delivery).unwrap();
    // Its listener was there when it last asked.
    let same = client.says(get("/first"));
    t.sees(&same).is(REDIRECTED, "repeated forwarded", &t.forwarded(&same, &first, 0));
    client.past(&same);
    client.heard(100);
    t.knows("/other", 1);
    let next = client.says(get("/other"));
    for gone in [Some(Delivery::Relay), None] {
        listen(gone);
        t.sees(&next).is(REDIRECTED, "forwarded", &t.forwarded(&next, &first, 0));
    }
    listen(Some(Delivery::Multi));
    client.past(&next);
    client.heard(100);
    let next = client.says(get("/other"));
    t.sees(&next).is(REDIRECTED, "repeated queried", &query(t, &next, &first).frame());
}

fn not_a_request(t: &Stage<'_>) {
    let (mut client, first) = after_reply(t, MULTI);
    for bytes in [&b"the rest of a body"[..], b"GET /half HTTP/1.1\r\nHost:", b"\r\n", b"\0"] {
        let next = client.says(bytes);
        t.sees(&next).is(REDIRECTED, "forwarded", &t.forwarded(&next, &first, 0));
        client.past(&next);
    }
}

fn pipelined(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    t.knows("/other", 1);
    let next = client.says([get("/other"), get("/other")].concat());
    let frame = t.forwarded(&next, &first, 0);
    t.sees(&next).is(REDIRECTED, "stayed_pipelined forwarded", &frame);
}

fn too_early(t: &Stage<'_>) {
    let (client, first) = t.handed(MULTI);
    t.knows("/other", 1);
    let next = client.says(get("/other"));
    let frame = t.forwarded(&next, &first, 0);
    t.sees(&next).is(REDIRECTED, "stayed_pipelined forwarded", &frame);
}

fn unknown(t: &Stage<'_>) {
    let (client, _) = after_reply(t, MULTI);
    let next = client.says(get("/unknown"));
    t.sees(&next).is(REDIRECTED, "asked", &t.held(&next));
}

/// A frame that left with the note of user space where its Ethernet addresses are.
fn noted(t: &Stage<'_>, segment: &Segment, slot: u32, mut frame: Vec<u8>) -> Vec<u8> {
    frame[..12].copy_from_slice(&t.noted(segment, slot)[..12]);
    frame
}

fn verdict(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    let next = client.says(get("/unknown"));
    t.sees(&next).went(REDIRECTED, "asked");
    let frame = noted(t, &next, 1, query(t, &next, &first).frame());
    t.answered(&next, 1).is(REDIRECTED, "answered queried", &frame);

    let (client, first) = after_reply(t, MULTI);
    let next = client.says(get("/unknown"));
    t.sees(&next).went(REDIRECTED, "asked");
    let frame = noted(t, &next, 0, t.forwarded(&next, &first, 0));
    t.answered(&next, 0).is(REDIRECTED, "answered forwarded", &frame);
}

fn to_relay(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    t.learns(&get("/relay"), 1, Repeat::Relay);
    let next = client.says(get("/relay"));
    t.sees(&next).is(REDIRECTED, "queried", &query(t, &next, &first).frame());
}

fn again(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    t.knows("/other", 1);
    let next = client.says(get("/other"));
    let letter = query(t, &next, &first).frame();
    t.sees(&next).is(REDIRECTED, "repeated queried", &letter);
    // Although by now it would be another's.
    t.knows("/other", 0);
    t.sees(&next).is(REDIRECTED, "queried", &letter);
}

fn draining_other(t: &Stage<'_>) {
    for state in [State::Draining, State::Down] {
        let (client, first) = after_reply(t, MULTI);
        t.knows("/other", 1);
        t.set_server(1, state);
        let next = client.says(get("/other"));
        let frame = t.forwarded(&next, &first, 0);
        t.sees(&next).is(REDIRECTED, "repeated forwarded", &frame);
        // Nobody was asked to give it up, and nobody is when it comes again.
        t.sees(&next).is(REDIRECTED, "forwarded", &frame);
        t.set_server(1, State::Up);
        t.sees(&next).is(REDIRECTED, "forwarded", &frame);
    }
}

fn queried_again(t: &Stage<'_>) {
    let states = [State::Draining, State::Doubted, State::Deaf, State::Down];
    for state in states.map(Some).into_iter().chain([None]) {
        t.set_server(1, State::Up);
        let (client, first) = after_reply(t, MULTI);
        t.knows("/other", 1);
        let next = client.says(get("/other"));
        let letter = query(t, &next, &first).frame();
        t.sees(&next).is(REDIRECTED, "repeated queried", &letter);
        match state {
            Some(state) => t.set_server(1, state),
            None => t.front.set_row(1, None).unwrap(),
        }
        t.sees(&next).is(REDIRECTED, "queried", &letter);
    }
}

fn old(t: &Stage<'_>) {
    let (mut client, first) = after_reply(t, MULTI);
    t.knows("/other", 1);
    let body = client.says("some bytes of a body");
    t.sees(&body).went(REDIRECTED, "forwarded");
    client.past(&body);
    client.heard(100);
    let next = client.says(get("/first"));
    t.sees(&next).went(REDIRECTED, "repeated forwarded");
    // The body again, and a request where it was.
    t.sees(&body).is(REDIRECTED, "forwarded", &t.forwarded(&body, &first, 0));
    let request = Segment { payload: get("/other"), ..body };
    t.sees(&request).is(REDIRECTED, "forwarded", &t.forwarded(&request, &first, 0));
}

fn late_first(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    t.sees(&client.acks()).went(REDIRECTED, "forwarded");
    t.sees(&first).is(REDIRECTED, "forwarded", &t.forwarded(&first, &first, 0));
}

fn draining(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    t.set_server(0, State::Draining);
    let ack = client.acks();
    t.sees(&ack).is(REDIRECTED, "forwarded", &t.forwarded(&ack, &first, 0));
    let next = client.says(get("/first"));
    let frame = t.forwarded(&next, &first, 0);
    t.sees(&next).is(REDIRECTED, "repeated forwarded", &frame);
}

/// The same port, with another handshake.
fn anew(t: &Stage<'_>, client: &Client) -> Client {
    let mut anew = Client { next: client.next.wrapping_add(1_000_000), ..client.clone() };
    let answer = t.sees(&anew.syn());
    answer.went(REDIRECTED, "syn_answered");
    anew.next = anew.next.wrapping_add(1);
    anew.heard = answer.tcp_seq().wrapping_add(1);
    anew
}

fn reuse(t: &Stage<'_>) {
    let (client, _) = after_reply(t, MULTI);
    let anew = anew(t, &client);
    t.knows("/other", 1);
    let first = anew.says(get("/other"));
    let letter = t.hand_over(&first, 1).frame();
    t.sees(&first).is(REDIRECTED, "closed reopened repeated handed_over", &letter);
    assert_eq!([0, 1].map(|slot| t.front.books().book(slot).open), [0, 1]);
}

fn no_reuse(t: &Stage<'_>) {
    let (client, first) = t.handed(MULTI);
    // A number that would have been right for another stream of the same client.
    let later = Client { next: client.next.wrapping_add(1 << 22), ..client.clone() };
    let other = Client { next: first.seq.wrapping_add(1 << 22), ..later };
    let said = other.says("no request");
    t.sees(&said).is(REDIRECTED, "forwarded", &t.forwarded(&said, &first, 0));
}

fn other_handshake(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    let anew = anew(t, &client);
    t.sees(&anew.acks()).leaves(DROPPED, "ack_absorbed");
    // The old one is not over by that.
    let ack = client.acks();
    t.sees(&ack).is(REDIRECTED, "forwarded", &t.forwarded(&ack, &first, 0));
}

fn routed(t: &Stage<'_>) {
    let (client, first) = after_reply(t, MULTI);
    let ack = client.acks();
    let letter = t.hand_over(&ack, 0).kind(PLAIN).of(first.seq);
    t.sees(&ack).is(REDIRECTED, "forwarded", &letter.frame());
    let next = client.says(get("/first"));
    let letter = t.hand_over(&next, 0).kind(PLAIN).of(first.seq);
    t.sees(&next).is(REDIRECTED, "repeated forwarded", &letter.frame());
}

fn too_large(t: &Stage<'_>) {
    let (client, _) = after_reply(t, MULTI);
    let reply = Segment { from: client.vip, to: client.at, ..client.acks() };
    let told = reply.refused_by_router();
    if t.v6 {
        // The server has IPv4: it goes in an envelope, which the tests on beds look into.
        t.shown(&told).went(REDIRECTED, "forwarded");
    } else {
        t.shown(&told).is(REDIRECTED, "forwarded", &told);
    }
    let nobodys = Segment { to: t.client(MULTI).at, ..reply };
    t.shown(&nobodys.refused_by_router()).leaves(crate::stage::NOT_OURS, "");
}

fn wild_data(t: &Stage<'_>) {
    let (mut client, _) = t.handed(MULTI);
    for quarter in 0..4u32 {
        let seq = client.next.wrapping_add(quarter << 30).wrapping_add(1 << 29);
        let wild = client.says(get("/b")).numbers(seq, client.heard.wrapping_add(1 << 29));
        t.sees(&wild).went(REDIRECTED, "forwarded");
    }
    client.heard(1000);
    t.knows("/b", 1);
    t.sees(&client.says(get("/b"))).went(REDIRECTED, "repeated queried");
}
