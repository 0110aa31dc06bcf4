//! Heads at every edge, and packets that are not for us or make no sense.

use crate::Fixture;
use crate::segment::{ACK, PSH, Segment, framed, sign};
use crate::segment::{OURS, SENDER};
use crate::stage::{
    Client, DROPPED, MARK_KILL, MULTI, NOBODYS, NOT_OURS, NOTHING, REDIRECTED, Stage, get,
};
use handoff::Repeat;
use std::net::{TcpListener, TcpStream};

pub const FIXTURES: &[Fixture] = &[
    ("the field's name may be in any case, with up to three blanks around its value", host_cases),
    ("a request without Host has a memo too", no_host),
    ("an absolute target is another request than its path", absolute),
    ("lines may end in LF alone, and that is the same request", bare_lf),
    ("two Host fields are user space's business, and so are 257", two_hosts),
    ("another Host is another request", other_host),
    ("a Host in capitals is the same Host", capitals),
    ("a line of any length is hashed whole", line_lengths),
    ("a head of 2048 bytes is read, one of 2049 goes to the relay", longest),
    ("a field that only begins like Host is none", like_host),
    ("what is for another address or port is the stack's", not_ours),
    ("a fragment is the stack's", fragment),
    ("IPv4 options are carried along", ip_options),
    ("a TCP header that is cut off is the stack's", truncated),
    ("a TCP header that is too short or longer than its packet is the stack's", bad_offset),
    ("an IP packet longer than its frame is the stack's", too_long),
    ("neither IPv4 nor IPv6: the stack's", no_ip),
    ("IPv4 in another protocol's frame is the stack's", other_type),
    ("an IPv6 packet with mapped IPv4 addresses is the stack's, which drops it", mapped),
    ("UDP, ICMP and other protocols are the stack's", other_protocols),
    ("a sum made by hardware stays right where packets go up", summed),
    ("what was to clear the relay's way does not end an established socket", late_killer),
];

/// Whether the program knows a head again that user space knows.
#[track_caller]
fn knows(t: &Stage<'_>, learnt: &[u8], said: &[u8]) {
    t.front.forget_all();
    t.learns(learnt, 1, Repeat::Server { slot: 0, load_max: u64::MAX, until_ns: u64::MAX });
    t.sees(&t.connected(MULTI).says(said)).went(REDIRECTED, "repeated handed_over");
}

#[track_caller]
fn asks(t: &Stage<'_>, said: &[u8]) {
    let first = t.connected(MULTI).says(said);
    t.sees(&first).is(REDIRECTED, "asked", &t.held(&first));
}

fn host_cases(t: &Stage<'_>) {
    for field in
        ["Host: bed", "host: bed", "HOST: bed", "hOsT:bed", "Host:\t bed \t", "Host:    bed   "]
    {
        knows(t, &get("/"), format!("GET / HTTP/1.1\r\n{field}\r\n\r\n").as_bytes());
        let among = format!("GET / HTTP/1.1\r\nAccept: */*\r\n{field}\r\nVia: x\r\n\r\n");
        knows(t, &get("/"), among.as_bytes());
    }
}

fn no_host(t: &Stage<'_>) {
    let head = b"GET / HTTP/1.0\r\n\r\n";
    knows(t, head, head);
    asks(t, b"GET / HTTP/1.0\r\nHost: bed\r\n\r\n");
    // An empty one is the same as none.
    knows(t, head, b"GET / HTTP/1.0\r\nHost:\r\n\r\n");
}

fn absolute(t: &Stage<'_>) {
    let head = b"GET http://bed/ HTTP/1.1\r\nHost: bed\r\n\r\n";
    knows(t, head, head);
    asks(t, &get("/"));
}

fn bare_lf(t: &Stage<'_>) {
    knows(t, &get("/"), b"GET / HTTP/1.1\nHost: bed\n\n");
    knows(t, &get("/"), b"GET / HTTP/1.1\r\nHost: bed\n\r\n");
    knows(t, &get("/"), b"GET / HTTP/1.1\nHost: bed\r\n\n");
}

fn two_hosts(t: &Stage<'_>) {
    t.knows("/", 0);
    for count in [2, 3, 255, 256, 257, 258] {
        let head =
            ["GET / HTTP/1.1\r\n", &"Host:\n".repeat(count - 1), "Host: bed\r\n\r\n"].concat();
        asks(t, head.as_bytes());
    }
}

fn other_host(t: &Stage<'_>) {
    t.knows("/", 0);
    for host in ["bedd", "be", "bed:80", "b ed", ""] {
        asks(t, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    }
}

fn capitals(t: &Stage<'_>) {
    knows(t, b"GET / HTTP/1.1\r\nHost: bed\r\n\r\n", b"GET / HTTP/1.1\r\nHost: bEd\r\n\r\n");
    // The path is not.
    t.knows("/a", 0);
    asks(t, b"GET /A HTTP/1.1\r\nHost: bed\r\n\r\n");
}

fn line_lengths(t: &Stage<'_>) {
    for length in 0..40 {
        let path = format!("/{}", "x".repeat(length));
        knows(t, &get(&path), &get(&path));
        asks(t, &get(&format!("{path}x")));
        // Zeros at the end are not nothing.
        asks(t, &[format!("GET {path} HTTP/1.1\0").as_bytes(), b"\r\nHost: bed\r\n\r\n"].concat());
    }
}

fn head_of(bytes: usize) -> Vec<u8> {
    let (begin, end) = ("GET / HTTP/1.1\r\nHost: bed\r\nX: ", "\r\n\r\n");
    [begin, &"y".repeat(bytes - begin.len() - end.len()), end].concat().into_bytes()
}

fn longest(t: &Stage<'_>) {
    // More than a packet of Ethernet: as hardware hands several at once.
    for bytes in [2040, 2041, 2047, 2048] {
        assert_eq!(head_of(bytes).len(), bytes);
        knows(t, &get("/"), &head_of(bytes));
    }
    for bytes in [2049, 2050, 2056, 2100, 3000] {
        let first = t.connected(MULTI).says(head_of(bytes));
        t.sees(&first).leaves(DROPPED, "local_split_head local_refused");
    }
    // A body behind it is not counted.
    let post = b"POST / HTTP/1.1\r\nHost: bed\r\nContent-Length: 3000\r\n\r\n";
    knows(t, post, &[&post[..], &[b'z'; 3000]].concat());
}

fn like_host(t: &Stage<'_>) {
    let plain = b"GET / HTTP/1.1\r\n\r\n";
    for field in ["Hosts: bed", "Host : bed", " Host: bed", "Hos: bed", "X-Host: bed", "Host"] {
        knows(t, plain, format!("GET / HTTP/1.1\r\n{field}\r\n\r\n").as_bytes());
    }
}

/// A first segment that would be asked for if it were ours and whole.
fn first(t: &Stage<'_>) -> Segment {
    t.connected(MULTI).says(get("/unknown"))
}

fn not_ours(t: &Stage<'_>) {
    let said = t.client(NOBODYS).says(get("/"));
    t.sees(&said).leaves(NOT_OURS, NOTHING);
    let address = t.front_address(said.from.ip());
    let other = Segment { to: (address, MULTI).into(), ..said };
    t.sees(&other).leaves(NOT_OURS, NOTHING);
    // From our own address: that is how replies would look.
    let reply = Segment { from: t.vip(MULTI), to: other.from, ..other };
    t.sees(&reply).leaves(NOT_OURS, NOTHING);
}

fn fragment(t: &Stage<'_>) {
    let first = first(t);
    if t.v6 {
        let mut frame = first.frame();
        frame[20] = 44;
        t.shown(&frame).leaves(NOT_OURS, NOTHING);
        return;
    }
    for fragment in [0x2000, 0x0001, 0x2001, 0x1fff] {
        let part = Segment { fragment, ..first.clone() };
        t.sees(&part).leaves(NOT_OURS, NOTHING);
    }
}

fn ip_options(t: &Stage<'_>) {
    if !t.v6 {
        let first = Segment { ip_options: vec![1; 40], ..first(t) };
        t.sees(&first).is(REDIRECTED, "asked", &t.held(&first));
    }
}

fn truncated(t: &Stage<'_>) {
    let frame = first(t).frame();
    let ip = if t.v6 { 40 } else { 20 };
    // A trial wants the whole IP header.
    for length in 14 + ip..14 + ip + 20 {
        t.shown(&frame[..length]).leaves(NOT_OURS, NOTHING);
        // And with an IP header that says so.
        let mut short = frame[..length].to_vec();
        let bytes = u16::try_from(length - 14).unwrap();
        if t.v6 {
            short[18..20].copy_from_slice(&(bytes - 40).to_be_bytes());
        } else {
            short[16..18].copy_from_slice(&bytes.to_be_bytes());
            sign(&mut short[14..34]);
        }
        t.shown(&short).leaves(NOT_OURS, NOTHING);
    }
}

fn bad_offset(t: &Stage<'_>) {
    let at = 14 + if t.v6 { 40 } else { 20 } + 12;
    for words in 0..5 {
        let mut frame = first(t).frame();
        frame[at] = words << 4;
        t.shown(&frame).leaves(NOT_OURS, NOTHING);
    }
    let mut frame = t.connected(MULTI).bare().flags(ACK | PSH).saying("GET").frame();
    frame[at] = 0xf0;
    t.shown(&frame).leaves(NOT_OURS, NOTHING);
}

fn too_long(t: &Stage<'_>) {
    let mut frame = first(t).frame();
    let at = if t.v6 { 18 } else { 16 };
    let bytes = u16::from_be_bytes([frame[at], frame[at + 1]]) + 1;
    frame[at..at + 2].copy_from_slice(&bytes.to_be_bytes());
    if !t.v6 {
        sign(&mut frame[14..34]);
    }
    t.shown(&frame).leaves(NOT_OURS, NOTHING);
}

fn no_ip(t: &Stage<'_>) {
    let arp = [&OURS[..], &SENDER, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &[0; 40]].concat();
    t.shown(&arp).leaves(NOT_OURS, NOTHING);
    for version in [0, 1, 3, 5, 7, 15] {
        let mut frame = first(t).frame();
        frame[14] = version << 4 | frame[14] & 15;
        t.shown(&frame).leaves(NOT_OURS, NOTHING);
    }
}

fn other_type(t: &Stage<'_>) {
    for kind in [[0x88, 0xb5], [0x08, 0x06], [0x88, 0x64]] {
        let mut frame = first(t).frame();
        frame[12..14].copy_from_slice(&kind);
        t.shown(&frame).leaves(NOT_OURS, NOTHING);
    }
}

fn mapped(t: &Stage<'_>) {
    if t.v6 {
        return;
    }
    let first = first(t);
    let ip = first.ip();
    let mut six = vec![0x60, 0, 0, 0];
    six.extend(u16::try_from(ip.len() - 20).unwrap().to_be_bytes());
    six.extend([6, 64]);
    for address in [first.from.ip(), first.to.ip()] {
        six.extend(crate::seal::octets(address));
    }
    six.extend(&ip[20..]);
    t.shown(&framed(SENDER, OURS, &six)).leaves(NOT_OURS, NOTHING);
}

fn other_protocols(t: &Stage<'_>) {
    let at = if t.v6 { 14 + 6 } else { 14 + 9 };
    for protocol in [0, 1, 2, 17, 47, 58, 132, 255] {
        let mut frame = first(t).frame();
        frame[at] = protocol;
        if !t.v6 {
            sign(&mut frame[14..34]);
        }
        t.shown(&frame).leaves(NOT_OURS, NOTHING);
    }
}

fn summed(t: &Stage<'_>) {
    let client = t.connected(MULTI);
    t.knows("/known", 0);
    let shown = |segment: &Segment| t.shown_summed(&segment.frame());
    shown(&t.client(NOBODYS).syn()).leaves(NOT_OURS, NOTHING);
    shown(&client.says(get("/unknown"))).went(REDIRECTED, "asked");
    shown(&client.says("no HTTP")).leaves(DROPPED, "local_not_http local_refused");
    shown(&client.says(get("/known"))).went(REDIRECTED, "repeated handed_over");
}

fn late_killer(t: &Stage<'_>) {
    let listener = TcpListener::bind((t.vip(MULTI).ip(), 0)).unwrap();
    let vip = listener.local_addr().unwrap();
    let stream = TcpStream::connect(vip).unwrap();
    let (_relays, at) = listener.accept().unwrap();
    assert_eq!(stream.local_addr().unwrap(), at);
    let client = Client { at, vip, ..t.client(MULTI) };
    t.tried(&client.says(get("/")).frame(), t.interface, MARK_KILL).went(DROPPED, NOTHING);
}
