//! On the server: connections are taken over, given back and told from strangers.

use crate::segment::{
    ACK, AGENT, Letter, OURS, PLAIN, QUERY, RELEASED, RST, SENDER, SYN, Segment, TAGGED, TRACK,
    WITH_SACK,
};
use crate::server::Server;
use crate::stage::{
    Client, DROPPED, FORWARD, MARK_KILL, MULTI, NOT_OURS, NOTHING, REDIRECTED, SINGLE,
    UP_THE_STACK, get, tcp_double,
};

pub type Fixture = (&'static str, fn(&Server<'_>));

/// The program's own mark: behind what cleared the way.
const MARK_AGAIN: u32 = 0xba70_0002;

pub const FIXTURES: &[Fixture] = &[
    ("a segment for the virtual address without a socket is dropped", orphan),
    ("what is for another address or protocol is the stack's", not_ours),
    ("an enveloped segment without a socket is dropped", plain_orphan),
    ("a hand-over makes a socket from the segment in it", hand_over),
    ("a hand-over of a client with IPv6 and a small MSS makes a socket too", small_mss),
    ("a hand-over for a port on which nobody listens is dropped", no_listener),
    ("a hand-over for the agent goes to the server where there is no agent", agent_gone),
    ("a hand-over whose segment is not the first part of it makes no socket", late_mark),
    ("the same hand-over again is delivered to the socket it made", duplicate),
    ("a segment of a connection that was handed over is the socket's", known),
    ("an older hand-over of the same connection is a ghost", ghost),
    ("a hand-over of another connection on the port kills the stale socket first", stale),
    ("what was to end a stale socket does not end the one made since", late_killer),
    ("a question while the reply is under way delivers the request here", kept),
    ("a question at rest gives the connection back", released),
    ("a question that comes twice before the socket is gone is no request", released_not_gone),
    ("a question about a connection that is not here is dropped", query_orphan),
    ("a hand-over from before the release is a ghost", ghost_of_released),
    ("a tag is kept for the request that it came with", tagged),
    ("a tag of a connection that is not here is not kept", tag_orphan),
    ("what follows on a connection that the server has closed is for the stack to reset", gone),
    ("a hand-over that its server has answered makes no other socket", answered),
    ("a hand-over whose socket has been gone for long makes no other socket", gone_for_long),
    ("an envelope with any byte changed is dropped", any_byte),
    ("an envelope of another kind is dropped", other_kinds),
    ("an envelope for an address that is not ours is dropped", other_vip),
    ("an envelope with a router's word about the size of a reply goes up", too_large),
    ("a sum made by hardware stays right when an envelope is taken off", summed),
];

fn first(s: &Server<'_>, port: u16) -> (Client, Segment, Letter) {
    let mut client = s.client(port);
    let first = client.says(get("/1500"));
    client.past(&first);
    let letter = s.letter(&first, first.seq);
    (client, first, letter)
}

/// A connection that nginx has, and has answered.
fn taken(s: &Server<'_>, port: u16) -> (Client, Segment, Letter) {
    let (client, first, letter) = first(s, port);
    s.gets(&letter, "adopted");
    s.unacknowledged(&client, Some(s.reply_bytes(&first.payload)));
    (client, first, letter)
}

fn orphan(s: &Server<'_>) {
    let client = s.client(MULTI);
    for segment in [
        client.acks(),
        client.says(get("/")),
        client.syn(),
        client.acks().flags(RST),
        client.bare().flags(SYN | ACK),
    ] {
        s.shown(&segment.frame()).leaves(DROPPED, "orphan");
    }
}

fn not_ours(s: &Server<'_>) {
    s.shown(&s.stranger().syn().frame()).leaves(NOT_OURS, NOTHING);
    let client = s.client(MULTI);
    let mut udp = client.acks().frame();
    udp[if s.v6 { 20 } else { 23 }] = 17;
    s.shown(&udp).leaves(NOT_OURS, NOTHING);
    let part = Segment { fragment: 0x2000, ..client.says("part") };
    if !s.v6 {
        s.shown(&part.frame()).leaves(NOT_OURS, NOTHING);
    }
}

fn plain_orphan(s: &Server<'_>) {
    let (_, first, letter) = first(s, MULTI);
    s.shown(&letter.kind(PLAIN).frame()).is(DROPPED, "orphan", &first.frame());
}

fn hand_over(s: &Server<'_>) {
    let (client, first, letter) = first(s, MULTI);
    // A trial is not at ingress, so the kernel makes no socket; but the segment was taken out.
    s.shown(&letter.frame()).is(DROPPED, "adopt_refused", &first.frame());
    assert_eq!(s.back.first(client.at, client.vip), None);
    s.gets(&letter, "adopted");
    s.unacknowledged(&client, Some(s.reply_bytes(&first.payload)));
    assert_eq!(s.back.first(client.at, client.vip), Some(first.seq));
}

fn small_mss(s: &Server<'_>) {
    let (client, _, letter) = first(s, MULTI);
    let letter = Letter { mss: 536, wscale: crate::segment::UNSCALED, ..letter };
    s.gets(&letter, "adopted");
    assert!(s.back.first(client.at, client.vip).is_some());
}

fn no_listener(s: &Server<'_>) {
    let (_, first, letter) = first(s, SINGLE);
    s.shown(&letter.frame()).is(DROPPED, "no_listener", &first.frame());
}

fn agent_gone(s: &Server<'_>) {
    let (client, first, letter) = first(s, FORWARD);
    let letter = letter.flags(WITH_SACK | AGENT);
    s.shown(&letter.frame()).is(DROPPED, "agent_gone adopt_refused", &first.frame());
    s.gets(&letter, "adopted");
    assert_eq!(s.back.first(client.at, client.vip), Some(first.seq));
}

fn late_mark(s: &Server<'_>) {
    let (_, first, letter) = first(s, MULTI);
    let other = Letter { seq: letter.seq.wrapping_sub(1448), ..letter };
    s.shown(&other.frame()).is(DROPPED, "late_mark orphan", &first.frame());
}

fn duplicate(s: &Server<'_>) {
    let (_, first, letter) = taken(s, MULTI);
    s.shown(&letter.frame()).is(UP_THE_STACK, "duplicate", &first.frame());
}

fn known(s: &Server<'_>) {
    let (client, first, _) = taken(s, MULTI);
    s.shown(&client.acks().frame()).leaves(UP_THE_STACK, NOTHING);
    let plain = s.letter(&client.acks(), first.seq).kind(PLAIN);
    s.shown(&plain.frame()).is(UP_THE_STACK, NOTHING, &client.acks().frame());
}

fn ghost(s: &Server<'_>) {
    let (client, first, _) = taken(s, MULTI);
    let before = Client { next: first.seq.wrapping_sub(100), ..client };
    let letter = s.letter(&before.says(get("/")), first.seq);
    s.shown(&letter.frame()).leaves(DROPPED, "ghost");
}

fn stale(s: &Server<'_>) {
    let (client, _, _) = taken(s, MULTI);
    let anew = Client { next: client.next.wrapping_add(99_999), ..client.clone() };
    let first = anew.says(get("/1500"));
    let letter = s.letter(&first, first.seq);
    let seen = s.shown(&letter.frame());
    seen.went(REDIRECTED, "stale_killed");
    assert_eq!(seen.tried.mark, MARK_AGAIN);
    assert_eq!(seen.tried.frame, seen.sent);
    // The copy that the trial sent ahead has ended it; behind that it comes in again.
    s.unacknowledged(&client, None);
    s.shown_marked(&letter.frame(), MARK_AGAIN).went(DROPPED, "adopt_refused");
    s.gets(&letter, "adopted");
    assert_eq!(s.back.first(anew.at, anew.vip), Some(first.seq));
}

fn late_killer(s: &Server<'_>) {
    let (client, first, letter) = taken(s, MULTI);
    // The copy of a hand-over that came while the stale socket was there still.
    s.shown_marked(&letter.frame(), MARK_KILL).went(DROPPED, NOTHING);
    // But for the next hand-over it is a stale one.
    let next = s.letter(&client.says(get("/4k")), first.seq);
    let seen = s.shown_marked(&next.frame(), MARK_KILL);
    seen.went(UP_THE_STACK, NOTHING);
    let header = if s.v6 { 54 } else { 34 };
    let frame = &seen.tried.frame;
    assert_eq!(tcp_double(frame, 4), client.next);
    // Without options: their time stamps may be older than those of the socket in the way.
    assert_eq!(frame[header + 12..header + 14], [5 << 4, RST | ACK]);
}

fn query(s: &Server<'_>, next: &Segment, first: &Segment) -> Letter {
    s.letter(next, first.seq).kind(QUERY)
}

fn kept(s: &Server<'_>) {
    let (client, first, _) = taken(s, MULTI);
    // The client has nothing of the reply.
    let next = client.says(get("/4k"));
    s.shown(&query(s, &next, &first).frame()).is(UP_THE_STACK, "kept", &next.frame());
}

/// A connection whose client has all of the reply, and its next request.
fn at_rest(s: &Server<'_>) -> (Client, Segment, Segment, Letter) {
    let (mut client, first, letter) = taken(s, MULTI);
    client.heard(s.reply_bytes(&first.payload));
    s.gets(&s.letter(&client.acks(), first.seq).kind(PLAIN), NOTHING);
    s.unacknowledged(&client, Some(0));
    let next = client.says(get("/4k"));
    (client, first, next, letter)
}

/// The same envelope with another kind, back to where it came from.
fn answer(letter: Letter) -> Vec<u8> {
    let source = letter.frame()[34..36].to_vec();
    let back = Letter { from: letter.to, to: letter.from, ..letter.kind(RELEASED) };
    let mut frame = back.framed_by(OURS, SENDER);
    frame[34..36].copy_from_slice(&source);
    frame
}

fn released(s: &Server<'_>) {
    let (client, first, next, _) = at_rest(s);
    let letter = query(s, &next, &first);
    s.shown(&letter.frame()).is(REDIRECTED, "released", &answer(letter.clone()));
    // Quietly: the socket is gone, and nobody was told.
    s.unacknowledged(&client, None);
    assert_eq!(s.back.first(client.at, client.vip), None);
    s.shown(&letter.frame()).is(REDIRECTED, "released_again", &answer(letter));
    // What comes for it now is no reason to reset the client, who is elsewhere.
    s.shown(&client.acks().frame()).leaves(DROPPED, "orphan");
}

fn released_not_gone(s: &Server<'_>) {
    let (client, first, next, _) = at_rest(s);
    let letter = query(s, &next, &first);
    s.shown_in_vain(&letter.frame()).is(REDIRECTED, "released", &answer(letter.clone()));
    s.unacknowledged(&client, Some(0));
    s.shown(&letter.frame()).is(REDIRECTED, "released_again", &answer(letter));
    s.unacknowledged(&client, None);
}

fn query_orphan(s: &Server<'_>) {
    let (client, first, _) = first(s, MULTI);
    let next = client.says(get("/4k"));
    s.shown(&query(s, &next, &first).frame()).is(DROPPED, "kept orphan", &next.frame());
}

fn ghost_of_released(s: &Server<'_>) {
    let (client, first, next, letter) = at_rest(s);
    s.shown(&query(s, &next, &first).frame()).went(REDIRECTED, "released");
    s.unacknowledged(&client, None);
    s.shown(&letter.frame()).leaves(DROPPED, "ghost");
    // But the next one, given back at once, is none.
    s.shown(&s.letter(&next, first.seq).frame()).went(DROPPED, "adopt_refused");
}

fn tagged(s: &Server<'_>) {
    let (client, first, _) = taken(s, FORWARD);
    let next = client.says(get("/4k"));
    let letter = s.letter(&next, first.seq).kind(TAGGED).flags(WITH_SACK | AGENT);
    let letter = Letter { server: 0xfeed_beef, ..letter };
    s.shown(&letter.frame()).is(UP_THE_STACK, "tagged", &next.frame());
    assert_eq!(s.back.tag(client.at, client.vip, next.seq), Some(0xfeed_beef));
    assert_eq!(s.back.tag(client.at, client.vip, next.seq), None);
    // Of a request that the server has read already nobody would take it.
    let old = s.letter(&first, first.seq).kind(TAGGED);
    s.shown(&old.frame()).went(UP_THE_STACK, "tagged");
    assert_eq!(s.back.tag(client.at, client.vip, first.seq), None);
}

fn tag_orphan(s: &Server<'_>) {
    let (client, first, letter) = first(s, FORWARD);
    s.shown(&letter.kind(TAGGED).frame()).is(DROPPED, "tagged orphan", &first.frame());
    assert_eq!(s.back.tag(client.at, client.vip, first.seq), None);
}

/// The server's socket goes, and nobody has said so.
fn ended(s: &Server<'_>, client: &Client, first: &Segment) {
    let end = s.letter(&client.acks().flags(RST | ACK), first.seq).kind(PLAIN);
    s.gets(&end, NOTHING);
    s.unacknowledged(client, None);
}

fn answered(s: &Server<'_>) {
    let (client, first, letter) = taken(s, MULTI);
    ended(s, &client, &first);
    s.shown(&letter.frame()).is(UP_THE_STACK, "reset_gone", &first.frame());
    // What its client has heard says so too.
    let (mut client, first, _) = half(s);
    client.next = first.seq;
    client.heard(1);
    let again = client.says(HALF);
    let letter = s.letter(&again, first.seq);
    s.shown(&letter.frame()).is(UP_THE_STACK, "reset_gone", &again.frame());
}

/// What nginx waits for the rest of.
const HALF: &[u8] = b"GET /1500 HTTP/1.1\r\n";

/// A connection that nginx had, and has said nothing on.
fn half(s: &Server<'_>) -> (Client, Segment, Letter) {
    let mut client = s.client(MULTI);
    let first = client.says(HALF);
    client.past(&first);
    let letter = s.letter(&first, first.seq);
    s.gets(&letter, "adopted");
    s.unacknowledged(&client, Some(0));
    ended(s, &client, &first);
    (client, first, letter)
}

fn gone_for_long(s: &Server<'_>) {
    let (client, first, letter) = half(s);
    // For all that is known the queue was full.
    s.shown(&letter.frame()).is(DROPPED, "adopt_refused", &first.frame());
    s.made_earlier(&client, 29);
    s.shown(&letter.frame()).is(DROPPED, "adopt_refused", &first.frame());
    s.made_earlier(&client, 2);
    s.shown(&letter.frame()).is(UP_THE_STACK, "reset_gone", &first.frame());
}

fn gone(s: &Server<'_>) {
    let (mut client, first, _) = taken(s, MULTI);
    ended(s, &client, &first);
    // It has not heard of the server: for all it knows the queue was full, and it asks again.
    s.shown(&client.acks().frame()).leaves(DROPPED, "orphan");
    client.heard(1);
    s.shown(&client.acks().frame()).leaves(UP_THE_STACK, "reset_gone");
    // From before its hand-over, or from beyond what came: not of that connection.
    let before = Client { next: first.seq.wrapping_sub(1), ..client.clone() };
    s.shown(&before.acks().frame()).leaves(DROPPED, "orphan");
    let beyond = Client { next: client.next.wrapping_add(1), ..client.clone() };
    s.shown(&beyond.acks().frame()).leaves(DROPPED, "orphan");
    let deaf = Client { heard: first.ack.wrapping_sub(1), ..client };
    s.shown(&deaf.acks().frame()).leaves(DROPPED, "orphan");
}

fn any_byte(s: &Server<'_>) {
    let (client, _, letter) = first(s, MULTI);
    let frame = letter.frame();
    let envelope = 14 + 20 + 8;
    let inner = envelope + 28;
    let addresses = if s.v6 { inner + 8..inner + 40 } else { inner + 12..inner + 20 };
    let header = inner + if s.v6 { 40 } else { 20 };
    for at in (envelope..inner).chain(addresses).chain(header..header + 4) {
        for bit in 0..8 {
            let mut forged = frame.clone();
            forged[at] ^= 1 << bit;
            let seen = s.shown(&forged);
            assert_eq!(seen.tried.verdict, DROPPED, "byte {at} bit {bit}");
            let bad = ["malformed", "forged"].map(|name| seen.counted == [name]);
            assert!(bad.contains(&true), "byte {at} bit {bit}: {:?}", seen.counted);
        }
    }
    // The segment's own number is covered by the envelope's copy of it.
    let mut forged = frame;
    forged[header + 7] ^= 1;
    s.shown(&forged).went(DROPPED, "late_mark orphan");
    assert_eq!(s.back.first(client.at, client.vip), None);
}

fn other_kinds(s: &Server<'_>) {
    let (_, _, letter) = first(s, MULTI);
    for kind in [RELEASED, 5, 255] {
        s.shown(&letter.clone().kind(kind).frame()).leaves(DROPPED, "malformed");
    }
}

fn other_vip(s: &Server<'_>) {
    let segment = s.stranger().says(get("/"));
    s.shown(&s.letter(&segment, segment.seq).frame()).leaves(DROPPED, "no_listener");
}

fn too_large(s: &Server<'_>) {
    let (client, first, _) = taken(s, MULTI);
    let reply = Segment { from: client.vip, to: client.at, ..client.acks() };
    let told = reply.refused_by_router();
    let quoted = Segment { seq: 0, ..first };
    let letter = s.letter(&quoted, quoted.seq).kind(PLAIN).flags(TRACK);
    s.shown(&letter.around_frame(&told)).is(UP_THE_STACK, NOTHING, &told);
}

fn summed(s: &Server<'_>) {
    let (client, first, letter) = taken(s, MULTI);
    s.shown_summed(&client.acks().frame()).leaves(UP_THE_STACK, NOTHING);
    let plain = s.letter(&client.acks(), first.seq).kind(PLAIN);
    s.shown_summed(&plain.frame()).is(UP_THE_STACK, NOTHING, &client.acks().frame());
    s.shown_summed(&letter.frame()).is(UP_THE_STACK, "duplicate", &first.frame());
    let next = client.says(get("/4k"));
    let query = query(s, &next, &first);
    s.shown_summed(&query.frame()).is(UP_THE_STACK, "kept", &next.frame());
}
