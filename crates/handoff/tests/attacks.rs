//! Method: strangers send what only front-ends and servers may say, and SYNs from addresses that
//! nobody has; both are dropped and counted, nothing opens, and real clients notice nothing.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use handoff::Delivery;
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
use site::client::{Client, get};
use site::{OneWay, PATIENCE, becomes, by_query, everywhere};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, UdpSocket};
use testbed::{Host, Plan};

/// SYNs of the flood.
const SYNS: u32 = 100_000;

/// A TCP segment with these flags, which acknowledges nothing in particular.
fn segment(ports: [u16; 2], flags: u8, seq: u32, payload: &[u8]) -> Vec<u8> {
    let mut tcp: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    tcp.extend(seq.to_be_bytes());
    tcp.extend([0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend(payload);
    tcp
}

/// An IP packet around it.
fn packet(from: IpAddr, to: IpAddr, tcp: &[u8]) -> Vec<u8> {
    let mut ip = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let total = u16::try_from(20 + tcp.len()).unwrap().to_be_bytes();
            let head = [0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, 6, 0, 0];
            [&head[..], &from.octets(), &to.octets()].concat()
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let length = u16::try_from(tcp.len()).unwrap().to_be_bytes();
            let head = [0x60, 0, 0, 0, length[0], length[1], 6, 64];
            [&head[..], &from.octets(), &to.octets()].concat()
        }
        _ => unreachable!("both addresses are of one family"),
    };
    ip.extend(tcp);
    ip
}

/// An envelope of this kind around a segment; its seal is a guess.
fn forged(kind: u8, seq: u32, inner: &[u8]) -> Vec<u8> {
    let mut envelope = vec![0xba, 0x71, 1, kind];
    envelope.extend(seq.to_be_bytes());
    envelope.extend(seq.to_be_bytes());
    envelope.extend([0x05, 0xb4, 7, 3, 0, 0, 0, 0]);
    envelope.extend(0x0123_4567_89ab_cdef_u64.to_be_bytes());
    envelope.extend(inner);
    envelope
}

#[test]
fn envelopes_of_strangers_are_dropped_and_counted() {
    everywhere(|one_way, vip| {
        let bed = &one_way.bed;
        let forgeries = || one_way.count("forged") + one_way.count_back("forged");
        one_way.client(|| {
            let mut victim = Client::connect(vip).unwrap();
            victim.fetch(one_way.file("/1500"), 1);
            let connected = victim.stream.local_addr().unwrap();
            let before = forgeries();
            let adopted = one_way.count_back("adopted");
            let mut sent = 0;
            for to in
                [bed.front(), bed.server(1), bed.server(2)].into_iter().flat_map(|to| to.at(7117))
            {
                let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any).unwrap();
                for kind in 0..5 {
                    for port in [connected.port(), 7] {
                        let tcp = segment([port, 80], 0x18, 77, &get("/1500", 2));
                        let inner = packet(connected.ip(), vip.ip(), &tcp);
                        socket.send_to(&forged(kind, 77, &inner), to).unwrap();
                        sent += 1;
                    }
                }
            }
            let all = || forgeries() == before + sent;
            assert!(becomes(PATIENCE, all), "{sent} sent\n{}", one_way.counts());
            assert_eq!(one_way.count_back("adopted"), adopted);
            assert_eq!(one_way.front.list(9).iter().filter(|flow| flow.open).count(), 1);
            victim.fetch(one_way.file("/4k"), 1);
            victim.fetch(one_way.file("/4k"), 2);
        });
    });
}

/// Sockets of a machine that are more than listeners.
fn sockets(one_way: &OneWay, host: Host) -> usize {
    let read = || std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let text = one_way.bed.enter(host, read).unwrap();
    let states = text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().nth(3));
    states.filter(|state| *state != "0A").count()
}

#[test]
fn a_flood_of_syns_leaves_no_connection_and_no_socket() {
    if !site::is_possible() {
        return;
    }
    let one_way = OneWay::up(&Plan::new(1), Delivery::Multi, by_query);
    let vip = one_way.bed.vip().at(80)[0];
    one_way.client(|| {
        let mut client = Client::connect(vip).unwrap();
        client.fetch(one_way.file("/1500"), 1);
        let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW)).unwrap();
        let SocketAddr::V4(to) = vip else { unreachable!("the first address is IPv4") };
        let to = SocketAddrV4::new(*to.ip(), 0);
        for number in 0..SYNS {
            // From the network that is kept for such purposes (RFC 2544).
            let from = IpAddr::from((0xc612_0000 | number).to_be_bytes());
            let tcp = segment([number as u16 | 1024, 80], 0x02, number, b"");
            let packet = packet(from, vip.ip(), &tcp);
            sendto(&raw, &packet, SendFlags::empty(), &to).unwrap();
        }
        client.fetch(one_way.file("/64k"), 1);
        Client::connect(vip).unwrap().fetch(one_way.file("/4k"), 1);
    });
    let answered = one_way.count("syn_answered");
    assert!(answered > u64::from(SYNS) * 9 / 10, "{answered} of {SYNS}: {}", one_way.counts());
    assert_eq!(one_way.front.list(9).len(), 2);
    assert_eq!(sockets(&one_way, Host::Front), 0);
    one_way.assert_settled();
}
