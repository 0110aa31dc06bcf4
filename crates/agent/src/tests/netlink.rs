//! Method: bytes as a kernel sent them, and any others: what is short or odd is nothing, and never
//! a panic. Then this machine is asked of sockets that the test itself made.

use super::*;
use proptest::prelude::*;
use std::net::TcpListener;
use std::time::{Duration, Instant};

fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(4 + value.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A listener on 10.0.0.1:80, three of eight places taken.
fn listening(attributes: &[u8]) -> Vec<u8> {
    let mut body = vec![0; DIAG_BYTES];
    (body[0], body[1]) = (AF_INET, 10);
    body[4..6].copy_from_slice(&80u16.to_be_bytes());
    body[8..12].copy_from_slice(&[10, 0, 0, 1]);
    body[56..60].copy_from_slice(&3u32.to_ne_bytes());
    body[60..64].copy_from_slice(&8u32.to_ne_bytes());
    body.extend(attributes);
    body
}

#[test]
fn a_listener_is_read_with_its_queue() {
    let found = listener(&listening(&[])).unwrap();
    assert_eq!(found.local, "10.0.0.1:80".parse().unwrap());
    assert_eq!((found.queue, found.backlog, found.mptcp, found.v4), (3, 8, false, true));
}

#[test]
fn a_listener_of_mptcp_is_known_by_its_upper_protocol() {
    let name = attribute_of(INET_ULP_INFO_NAME, b"mptcp\0");
    // The kernel sets the flag for nested attributes.
    let ulp = attribute_of(INET_DIAG_ULP_INFO | 0x8000, &name);
    assert!(listener(&listening(&ulp)).unwrap().mptcp);
    let tls = attribute_of(INET_DIAG_ULP_INFO, &attribute_of(INET_ULP_INFO_NAME, b"tls\0"));
    assert!(!listener(&listening(&tls)).unwrap().mptcp);
}

#[test]
fn a_listener_for_ipv6_alone_takes_no_client_of_ipv4() {
    let (v4, v6): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
    let listening = |only: u8| {
        let mut body = listening(&attribute_of(INET_DIAG_SKV6ONLY, &[only]));
        body[0] = AF_INET6;
        body[8..24].fill(0);
        listener(&body).unwrap()
    };
    assert!(listening(0).takes(v4) && listening(0).takes(v6));
    assert!(!listening(1).takes(v4) && listening(1).takes(v6));
    let mut any = listener(&super::tests::listening(&[])).unwrap();
    any.local = "0.0.0.0:80".parse().unwrap();
    assert!(any.takes(v4) && !any.takes(v6));
}

#[test]
fn an_ipv4_client_of_an_ipv6_socket_is_an_ipv4_client() {
    let mut body = vec![0; DIAG_BYTES];
    (body[0], body[1]) = (AF_INET6, 1);
    for address in [8, 24] {
        body[address + 10..address + 16].copy_from_slice(&[0xff, 0xff, 192, 0, 2, 1]);
    }
    let found = connection(&body).unwrap();
    assert_eq!(found.client.ip(), "192.0.2.1".parse::<IpAddr>().unwrap());
    assert_eq!(found.local.ip(), found.client.ip());
}

/// A route of the main table to 10.0.0.0/8 out by interface 2, with these metrics.
fn routing(metrics: &[u8]) -> Vec<u8> {
    let mut body = vec![0; ROUTE_BYTES];
    (body[0], body[1], body[4], body[7]) = (AF_INET, 8, RT_TABLE_MAIN, RTN_UNICAST);
    body.extend(attribute_of(RTA_DST, &[10, 0, 0, 0]));
    body.extend(attribute_of(RTA_OIF, &2u32.to_ne_bytes()));
    body.extend(attribute_of(RTA_METRICS, metrics));
    body
}

#[test]
fn a_route_is_read_with_its_initial_window() {
    let window = attribute_of(RTAX_INITCWND, &64u32.to_ne_bytes());
    let found = route(&routing(&window)).unwrap();
    assert_eq!((found.to, found.prefix_bits), ("10.0.0.0".parse().unwrap(), 8));
    assert_eq!((found.link, found.initial_window), (Some(2), Some(64)));
    // Another metric alone; and what leads everywhere has no metric and no destination.
    let other = attribute_of(RTAX_INITCWND + 1, &64u32.to_ne_bytes());
    assert_eq!(route(&routing(&other)).unwrap().initial_window, None);
    let mut everywhere = routing(&[])[..ROUTE_BYTES].to_vec();
    (everywhere[0], everywhere[1]) = (AF_INET6, 0);
    let found = route(&everywhere).unwrap();
    assert_eq!((found.to, found.link), (Ipv6Addr::UNSPECIFIED.into(), None));
}

#[test]
fn addresses_of_this_host_and_refusals_are_no_routes_to_others() {
    for (at, value) in [(4, 255), (7, 2), (7, 7)] {
        let mut body = routing(&[]);
        body[at] = value;
        assert_eq!(route(&body), None, "byte {at} is {value}");
    }
}

#[test]
fn a_refusal_says_the_kernels_error() {
    let body = (-13i32).to_ne_bytes();
    assert_eq!(refusal(&body).kind(), io::ErrorKind::PermissionDenied);
    assert!(refusal(&[1, 2]).to_string().contains("no sense"));
    assert!(refusal(&i32::MIN.to_ne_bytes()).raw_os_error().is_some());
}

proptest! {
    #[test]
    fn no_bytes_of_a_kernel_can_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for (_, body) in messages(&bytes).chain([(0, bytes.as_slice())]) {
            let _ = (link(body), address(body), listener(body), connection(body), refusal(body));
            let _ = route(body);
            prop_assert!(attributes(body).count() <= bytes.len());
        }
    }
}

#[test]
fn loopback_is_among_the_links_and_has_its_address() {
    let links = links().unwrap();
    let lo = links.iter().find(|link| link.name == "lo").unwrap();
    assert!(lo.loopback && lo.mtu_bytes >= 1500);
    let addresses = addresses().unwrap();
    let localhost: IpAddr = Ipv4Addr::LOCALHOST.into();
    let found = addresses.iter().find(|address| address.ip == localhost);
    assert!(found.is_some_and(|found| found.link == lo.index && found.prefix_bits == 8));
}

#[test]
fn a_socket_of_this_machine_is_found_with_who_waits_and_who_is_connected() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = socket.local_addr().unwrap();
    let client = std::net::TcpStream::connect(local).unwrap();
    // The client is connected a moment before its connection is in the queue.
    let end = Instant::now() + Duration::from_secs(20);
    let found = loop {
        let found = listeners(local.port()).unwrap();
        if found.iter().any(|one| one.queue > 0) || Instant::now() > end {
            break found;
        }
        std::thread::yield_now();
    };
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].local, found[0].queue, found[0].mptcp), (local, 1, false));
    assert!(found[0].backlog >= 100);
    let _accepted = socket.accept().unwrap();
    assert_eq!(listeners(local.port()).unwrap()[0].queue, 0);
    let mut seen = Vec::new();
    connections(local.port(), &mut |one| seen.push(one)).unwrap();
    let expected = Connection { local, client: client.local_addr().unwrap(), state: 1 };
    assert_eq!(seen, [expected]);
}

#[test]
fn a_socket_of_mptcp_on_this_machine_is_known_for_one() {
    use rustix::net::{bind, getsockname, ipproto, listen, socket};
    let Ok(socket) = socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)) else {
        println!("skipped: this kernel makes no sockets of MPTCP");
        return;
    };
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    listen(&socket, 7).unwrap();
    let local = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
    let found = listeners(local.port()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].mptcp, found[0].backlog), (true, 7), "{found:?}");
}
