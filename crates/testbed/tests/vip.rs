//! Method: the virtual address is asked for where it is known by nobody, and the Ethernet address
//! that answered is read from the asker's table; then the front-end is cut off, and nobody may
//! answer. That servers have it all the same is seen by leading packets to them by hand.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use site::{PATIENCE, get, up};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use testbed::{Host, Plan, TestBed, Variant, content};

/// Runs `ip` on a machine and gives what it prints.
fn ip(bed: &TestBed, host: Host, arguments: &str) -> String {
    let output = bed.command(host, "ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Connects the client to a port of the virtual address where nobody listens.
fn knock(bed: &TestBed, vip: IpAddr) -> io::ErrorKind {
    let to = SocketAddr::new(vip, 1);
    let work = || TcpStream::connect_timeout(&to, PATIENCE).map(drop);
    bed.enter(Host::Client, work).unwrap().unwrap_err().kind()
}

/// The machine that asks by ARP and ND, its interface, and the front-end's port.
fn asker(variant: Variant) -> (Host, &'static str) {
    match variant {
        Variant::Bridge => (Host::Client, "eth0"),
        Variant::Routed => (Host::Router, "net2"),
    }
}

fn only_the_front_end_answers(variant: Variant) {
    let Some(bed) = up(&Plan::new(3).wired(variant)) else { return };
    let (asker, interface) = asker(variant);
    for family in ["ipv4", "ipv6"] {
        // Three questions, 50 ms each, instead of a second.
        let setting = format!("{family}/neigh/{interface}/retrans_time_ms");
        bed.set(asker, &setting, "50").unwrap();
    }
    for vip in bed.vip().each() {
        // Refused, so somebody has the address.
        assert_eq!(knock(&bed, vip), io::ErrorKind::ConnectionRefused);
        let entry = ip(&bed, asker, &format!("neigh show {vip} dev {interface}"));
        let front = bed.plan().mac(Host::Front).unwrap();
        assert!(entry.contains(&format!("lladdr {front}")), "{entry}");
    }
    ip(&bed, Host::Wire, "link set front down");
    ip(&bed, asker, &format!("neigh flush dev {interface}"));
    for vip in bed.vip().each() {
        assert_eq!(knock(&bed, vip), io::ErrorKind::HostUnreachable, "{vip} has an answer");
    }
}

#[test]
fn only_the_front_end_answers_for_the_virtual_address_among_neighbours() {
    only_the_front_end_answers(Variant::Bridge);
}

#[test]
fn only_the_front_end_answers_for_the_virtual_address_behind_a_router() {
    only_the_front_end_answers(Variant::Routed);
}

#[test]
fn what_a_server_says_as_the_virtual_address_arrives_though_that_is_routed_elsewhere() {
    for variant in [Variant::Bridge, Variant::Routed] {
        let Some(bed) = up(&Plan::new(2).wired(variant)) else { return };
        for (vip, client) in bed.vip().each().into_iter().zip(bed.client().each()) {
            let bind = |host, at| bed.enter(host, || UdpSocket::bind((at, 0))).unwrap().unwrap();
            let (speaker, hearer) = (bind(Host::Server(2), vip), bind(Host::Client, client));
            hearer.set_read_timeout(Some(PATIENCE)).unwrap();
            speaker.send_to(b"word", hearer.local_addr().unwrap()).unwrap();
            let (bytes, from) = hearer.recv_from(&mut [0; 8]).unwrap();
            assert_eq!((bytes, from), (4, speaker.local_addr().unwrap()));
        }
        // It asked for somebody's Ethernet address on the way, but not in that name.
        let asked = match variant {
            Variant::Bridge => (Host::Client, "eth0"),
            Variant::Routed => (Host::Router, "net3"),
        };
        let known = ip(&bed, asked.0, &format!("neigh show dev {}", asked.1));
        let about = |address: IpAddr| known.contains(&format!("{address} "));
        assert!(about(bed.server(2).v4.into()), "{known}");
        assert!(!bed.vip().each().into_iter().any(about), "{known}");
    }
}

#[test]
fn front_end_and_servers_speak_as_themselves_unless_told_otherwise() {
    let Some(bed) = up(&Plan::new(2)) else { return };
    for [from, to] in [[Host::Front, Host::Server(1)], [Host::Server(1), Host::Front]] {
        for (own, other) in bed.address(from).each().into_iter().zip(bed.address(to).at(9)) {
            let work = || {
                let any = if other.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any).unwrap();
                socket.connect(other).unwrap();
                socket.local_addr().unwrap().ip()
            };
            assert_eq!(bed.enter(from, work).unwrap(), own);
        }
    }
}

#[test]
fn a_server_replies_as_the_virtual_address_to_a_neighbour() {
    let Some(bed) = up(&Plan::new(2)) else { return };
    for vip in bed.vip().each() {
        for number in 1..=2 {
            let mac = bed.plan().mac(Host::Server(number)).unwrap();
            let entry = format!("neigh replace {vip} lladdr {mac} nud permanent dev eth0");
            ip(&bed, Host::Client, &entry);
            served_whole(&bed, vip, number);
        }
    }
}

#[test]
fn a_server_replies_as_the_virtual_address_past_the_front_end_by_its_router() {
    let Some(bed) = up(&Plan::new(2).wired(Variant::Routed)) else { return };
    for number in 1..=2 {
        let server = bed.server(number);
        for (vip, via) in bed.vip().each().into_iter().zip(server.each()) {
            ip(&bed, Host::Router, &format!("route replace {vip} via {via}"));
            served_whole(&bed, vip, number);
        }
    }
}

fn served_whole(bed: &TestBed, vip: IpAddr, number: u16) {
    let reply = get(bed, vip, "/1m").unwrap();
    assert_eq!(reply.field("X-Served-By"), Some(&*format!("server{number}")));
    assert_eq!(reply.body.len(), 1 << 20);
    assert!(content::verify("/1m", 0, &reply.body));
}
