//! The handshake: nothing is kept of a client before its first request.

use crate::Fixture;
use crate::seal::{Carried, cookie, step};
use crate::segment::{
    ACK, FIN, NOP, PSH, RST, SYN, Segment, mss, sack, scale, stamps, usual_stamps,
};
use crate::stage::{
    Client, DROPPED, GIVEN_UP, MULTI, NOBODYS, NOT_OURS, NOTHING, REDIRECTED, Seen, Stage, get,
};

pub const FIXTURES: &[Fixture] = &[
    ("a SYN with all options is answered with all of ours", all_options),
    ("a SYN without options is answered with our MSS alone", no_options),
    ("each option is answered if it was offered, whatever else was", each_option),
    ("any MSS is carried as the usual one that is not larger", any_mss),
    ("window scales up to 14 are carried, larger ones count as 14", any_scale),
    ("options that make no sense end the reading of options", strange_options),
    ("a SYN with data is dropped: it wants Fast Open", syn_with_data),
    ("a SYN that is a FIN, a RST or an answer is dropped", syn_with_flags),
    ("a SYN that offers ECN is answered without", syn_with_ecn),
    ("a SYN that comes again gets the same sequence number", syn_again),
    ("a SYN on a connection in use is answered, and the connection goes on", syn_on_flow),
    ("a SYN padded to the least length of a frame is answered without the padding", syn_padded),
    ("a SYN with IPv4 options is answered, they stay", syn_ip_options),
    ("an answer may pass as many routers as any packet, however many the SYN has passed", hops),
    ("the driver's program gives the same answers", early),
    ("the driver's program lets everything else go up", early_passes),
    ("a SYN for an address that is not ours, or given up, is the stack's", not_ours),
    ("the handshake's ACK is absorbed", ack),
    ("a FIN before any request is answered by a FIN", fin_first),
    ("a RST before any request is the stack's, which knows nothing of it", rst_first),
    ("a cookie with any bit changed begins no connection", cookie_bits),
    ("a cookie is good in its step of 69 seconds and in the next", cookie_age),
    ("another client's cookie is refused", cookie_other),
    ("a request that overtook the first one is dropped: it comes again", cookie_later),
    ("a segment without ACK is the stack's", no_ack),
];

/// The answer to a SYN that carried this, as far as it does not depend on time: the sequence
/// number and the clock's value are taken over after they were compared with what may be.
#[track_caller]
fn answer_to(syn: &Segment, seen: &Seen, carried: Carried, echo: Option<u32>) -> Segment {
    let now_ns = handoff::now_ns();
    let seq = seen.tcp_seq();
    let of = |step| cookie(syn.from, syn.to, syn.seq, step, carried);
    // The clock of the program may be a tick behind.
    let may = [of(step(now_ns)), of(step(now_ns.saturating_sub(20_000_000)))];
    assert!(may.contains(&seq), "cookie {seq:#010x}, expected {may:#010x?}");
    let ours = if syn.to.is_ipv4() { 1500 - 76 - 40 } else { 1500 - 76 - 60 };
    let mut options = mss(ours);
    options.extend(if carried.sack { sack() } else { vec![NOP; 2] });
    options.extend(match echo {
        None => vec![NOP; 10],
        Some(echo) => {
            let at = seen.double(28);
            let now = u32::try_from((now_ns / 1_000_000) & 0xffff_ffff).unwrap();
            assert!(now.wrapping_sub(at) < 1000, "a clock of {at} at {now}");
            stamps(at, echo)
        }
    });
    options.push(NOP);
    options.extend(if carried.wscale == 15 { vec![NOP; 3] } else { scale(7) });
    let mut answer = Segment::new(syn.to, syn.from)
        .flags(SYN | ACK)
        .numbers(seq, syn.seq.wrapping_add(1))
        .with([options]);
    answer.window = 0xffff;
    answer.ip_options.clone_from(&syn.ip_options);
    answer
}

#[track_caller]
fn answered(t: &Stage<'_>, syn: &Segment, carried: Carried, echo: Option<u32>) {
    let seen = t.sees(syn);
    let answer = answer_to(syn, &seen, carried, echo);
    seen.is(REDIRECTED, "syn_answered", &answer.answer());
}

const ALL: Carried = Carried { mss: 5, sack: true, wscale: 7 };
const NONE: Carried = Carried { mss: 0, sack: false, wscale: 15 };

fn syn(client: &Client) -> Segment {
    client.bare().flags(SYN).numbers(client.next, 0)
}

fn all_options(t: &Stage<'_>) {
    answered(t, &t.client(MULTI).syn(), ALL, Some(1000));
}

fn no_options(t: &Stage<'_>) {
    answered(t, &syn(&t.client(MULTI)), NONE, None);
}

/// Every subset of the four, in two orders.
fn each_option(t: &Stage<'_>) {
    for subset in 0..16 {
        for turned in [false, true] {
            let has = |bit: u8| subset >> bit & 1 == 1;
            let all = [mss(1460), sack(), stamps(77, 0), scale(3)];
            let mut some: Vec<_> =
                (0..).zip(all).filter(|(bit, _)| has(*bit)).map(|(_, option)| option).collect();
            if turned {
                some.reverse();
            }
            let carried = Carried {
                mss: if has(0) { 5 } else { 0 },
                sack: has(1),
                wscale: if has(3) { 3 } else { 15 },
            };
            let syn = syn(&t.client(MULTI)).with(some);
            answered(t, &syn, carried, has(2).then_some(77));
        }
    }
}

fn any_mss(t: &Stage<'_>) {
    let usual = [0, 1024, 1220, 1360, 1440, 1460, 4312, 8960];
    let around = usual.iter().flat_map(|mss: &u16| [mss.saturating_sub(1), *mss, mss + 1]);
    for bytes in around.chain([535, 536, u16::MAX]) {
        let number = usual.iter().rposition(|mss| *mss <= bytes).unwrap();
        let carried = Carried { mss: u8::try_from(number).unwrap(), ..NONE };
        let syn = syn(&t.client(MULTI)).with([mss(bytes)]);
        answered(t, &syn, carried, None);
    }
}

fn any_scale(t: &Stage<'_>) {
    for shift in [0, 1, 7, 13, 14, 15, 16, 255] {
        let syn = syn(&t.client(MULTI)).with([scale(shift)]);
        answered(t, &syn, Carried { wscale: shift.min(14), ..NONE }, None);
    }
}

fn strange_options(t: &Stage<'_>) {
    let cases: &[(Vec<u8>, Carried)] = &[
        // A size of nothing, or of the size alone.
        ([&[9, 0][..], &sack()].concat(), NONE),
        ([&[9, 1][..], &sack()].concat(), NONE),
        // The end, and something behind it.
        ([&[0, 0][..], &sack()].concat(), NONE),
        // Larger than the header.
        ([sack(), vec![9, 200]].concat(), Carried { sack: true, ..NONE }),
        // Cut off.
        ([sack(), vec![2]].concat(), Carried { sack: true, ..NONE }),
        // A known kind of another size is passed over.
        ([vec![4, 3, 0], scale(2)].concat(), Carried { wscale: 2, ..NONE }),
        // As many as there is room for.
        ([vec![NOP; 20], sack()].concat(), Carried { sack: true, ..NONE }),
        (vec![NOP; 40], NONE),
        // Twice: the last one counts.
        ([mss(1460), mss(1220)].concat(), Carried { mss: 2, ..NONE }),
    ];
    for (options, carried) in cases {
        let syn = syn(&t.client(MULTI)).with([options.clone()]);
        answered(t, &syn, *carried, None);
    }
}

fn syn_with_data(t: &Stage<'_>) {
    t.sees(&t.client(MULTI).syn().saying("GET")).leaves(DROPPED, "malformed");
}

fn syn_with_flags(t: &Stage<'_>) {
    for flags in [FIN, RST, ACK, FIN | RST, FIN | RST | ACK | PSH] {
        t.sees(&t.client(MULTI).syn().flags(SYN | flags)).leaves(DROPPED, "malformed");
    }
}

fn syn_with_ecn(t: &Stage<'_>) {
    answered(t, &t.client(MULTI).syn().flags(SYN | 0xc0), ALL, Some(1000));
}

fn syn_again(t: &Stage<'_>) {
    let client = t.client(MULTI);
    let first = t.sees(&client.syn()).tcp_seq();
    let again = t.sees(&client.syn()).tcp_seq();
    // Unless a step of time ended between, and then not between these.
    assert!(first == again || t.sees(&client.syn()).tcp_seq() == again);
}

fn syn_on_flow(t: &Stage<'_>) {
    let (client, first) = t.handed(MULTI);
    answered(t, &Client { next: 5, ..client.clone() }.syn(), ALL, Some(1000));
    t.sees(&client.acks()).is(REDIRECTED, "forwarded", &t.forwarded(&client.acks(), &first, 0));
}

fn syn_padded(t: &Stage<'_>) {
    let syn = syn(&t.client(MULTI));
    let mut frame = syn.frame();
    frame.extend([0; 6]);
    let seen = t.shown(&frame);
    let answer = answer_to(&syn, &seen, NONE, None);
    seen.is(REDIRECTED, "syn_answered", &answer.answer());
}

fn syn_ip_options(t: &Stage<'_>) {
    let mut syn = t.client(MULTI).syn();
    if syn.from.is_ipv4() {
        syn.ip_options = vec![7, 7, 4, 0, 0, 0, 0, 0];
    }
    answered(t, &syn, ALL, Some(1000));
}

fn hops(t: &Stage<'_>) {
    for hops in [1, 63, 128, 255] {
        let usual = Segment { hops, ..t.client(MULTI).syn() };
        answered(t, &usual, ALL, Some(1000));
        // The same as hardware gives it, and one whose answer has another length.
        let seen = t.shown_summed(&usual.frame());
        seen.is(REDIRECTED, "syn_answered", &answer_to(&usual, &seen, ALL, Some(1000)).answer());
        let bare = Segment { hops, ..syn(&t.client(MULTI)) };
        answered(t, &bare, NONE, None);
        let seen = t.driver_sees(&usual.frame());
        seen.driver(3, "syn_answered", &answer_to(&usual, &seen, ALL, Some(1000)).answer());
        let client = t.connected(MULTI);
        let fin = Segment { hops, ..client.acks().flags(ACK | FIN) };
        let seen = t.sees(&fin);
        assert_eq!(seen.hops(), 64, "of the answer to a FIN");
    }
}

fn early(t: &Stage<'_>) {
    for (options, carried, echo) in [
        (vec![], NONE, None),
        (vec![mss(1460), sack(), stamps(1000, 0), vec![NOP], scale(7)], ALL, Some(1000)),
        (vec![scale(200), mss(9000)], Carried { mss: 7, sack: false, wscale: 14 }, None),
    ] {
        let syn = syn(&t.client(MULTI)).with(options);
        let seen = t.driver_sees(&syn.frame());
        let answer = answer_to(&syn, &seen, carried, echo);
        // XDP_TX
        seen.driver(3, "syn_answered", &answer.answer());
    }
}

fn early_passes(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    for segment in [
        client.acks(),
        client.says(get("/")),
        client.syn().flags(SYN | ACK),
        client.syn().flags(SYN | FIN),
        client.syn().saying("data"),
        t.client(NOBODYS).syn(),
        t.client(GIVEN_UP).syn(),
    ] {
        // XDP_PASS
        t.driver_sees(&segment.frame()).driver(2, NOTHING, &segment.frame());
    }
}

fn not_ours(t: &Stage<'_>) {
    t.sees(&t.client(NOBODYS).syn()).leaves(NOT_OURS, NOTHING);
    t.sees(&t.client(GIVEN_UP).syn()).leaves(NOT_OURS, NOTHING);
}

fn ack(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    t.sees(&client.acks()).leaves(DROPPED, "ack_absorbed");
    t.sees(&client.acks()).leaves(DROPPED, "ack_absorbed");
}

fn fin_first(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    let answer = Segment {
        from: client.vip,
        to: client.at,
        ..client.acks().flags(FIN | ACK).numbers(client.heard, client.next.wrapping_add(1))
    };
    let answer = answer.with([usual_stamps(3000, 2000)]).answer();
    t.sees(&client.acks().flags(FIN | ACK)).is(REDIRECTED, "fin_answered", &answer);
    // And the end of it: our FIN takes a number, so this acknowledges no cookie any more.
    let last = Client { heard: client.heard.wrapping_add(1), ..client };
    t.sees(&last.acks()).leaves(NOT_OURS, NOTHING);
}

fn rst_first(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    t.sees(&client.acks().flags(RST | ACK)).leaves(NOT_OURS, NOTHING);
    t.sees(&client.acks().flags(RST)).leaves(NOT_OURS, NOTHING);
}

/// The stack's, which resets; or dropped, if the number could be that of a later segment (one
/// number in 256 could); or, without payload, taken for a keep-alive (one number in four million).
#[track_caller]
fn refused(seen: &Seen) {
    match seen.tried.verdict {
        NOT_OURS => seen.leaves(NOT_OURS, NOTHING),
        REDIRECTED => seen.went(REDIRECTED, "probe_answered"),
        _ => seen.leaves(DROPPED, "orphan"),
    };
}

fn cookie_bits(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    for bit in 0..32 {
        let heard = (client.heard.wrapping_sub(1) ^ 1 << bit).wrapping_add(1);
        let forger = Client { heard, ..client.clone() };
        refused(&t.sees(&forger.says(get("/"))));
        refused(&t.sees(&forger.acks()));
    }
    t.sees(&client.says(get("/"))).went(REDIRECTED, "asked");
}

fn cookie_age(t: &Stage<'_>) {
    // Not around the end of a step, which would make one of them older meanwhile.
    let now = loop {
        let now_ns = handoff::now_ns();
        if now_ns & ((1 << 36) - 1) > 100_000_000 {
            break step(now_ns);
        }
    };
    for (step, good) in [(now, true), (now - 1, true), (now - 2, false), (now + 1, false)] {
        let mut client = t.client(MULTI);
        client.heard = cookie(client.at, client.vip, client.next, step, ALL).wrapping_add(1);
        client.next = client.next.wrapping_add(1);
        let seen = t.sees(&client.acks());
        if good {
            seen.leaves(DROPPED, "ack_absorbed");
        } else {
            seen.leaves(NOT_OURS, NOTHING);
        }
    }
}

fn cookie_other(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    let other = Client { at: (client.at.ip(), client.at.port() ^ 1).into(), ..client.clone() };
    refused(&t.sees(&other.says(get("/"))));
    let elsewhere = Client { vip: t.vip(crate::stage::SINGLE), ..client };
    refused(&t.sees(&elsewhere.says(get("/"))));
}

fn cookie_later(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    for bytes in [1, 1448, 14_480, 16_383] {
        let later = Client { next: client.next.wrapping_add(bytes), ..client.clone() };
        t.sees(&later.says(get("/"))).leaves(DROPPED, "orphan");
    }
    // It tells 22 bits of a number: what is further off by all of them counts as near.
    for bytes in [16_384, 100_000, 0x8000_0000 + 16_384] {
        let later = Client { next: client.next.wrapping_add(bytes), ..client.clone() };
        t.sees(&later.says(get("/"))).leaves(NOT_OURS, NOTHING);
    }
    let before = Client { next: client.next.wrapping_sub(1), ..client };
    t.sees(&before.says(get("/"))).leaves(NOT_OURS, NOTHING);
}

fn no_ack(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    for flags in [0, PSH, FIN] {
        t.sees(&client.says(get("/")).flags(flags)).leaves(NOT_OURS, NOTHING);
    }
}
