//! Netlink: how the kernel is asked for links, addresses and sockets.
//!
//! Files under /sys/class/net show the name space that sysfs was mounted in, not the one we are in,
//! and /proc/net/tcp has neither the length of a listener's queue nor whether it speaks MPTCP: so
//! rtnetlink(7) and sock_diag(7). Layouts are those of linux/rtnetlink.h and linux/inet_diag.h.
//! What comes back is the kernel's, and is read as if it were not: short bytes are skipped.

use crate::host::{Address, Connection, Link, Listener, Route};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
    socket_with, sockopt,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// The kernel fills at most 32 KiB of a reader's buffer with one part of a dump.
const PART_BYTES: usize = 64 * 1024;
/// The kernel answers at once; so long, and it will not.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// NETLINK_ROUTE is protocol zero.
const ROUTE: Option<Protocol> = None;
const DIAG: Option<Protocol> = Some(netlink::SOCK_DIAG);

/// Bytes of `struct nlmsghdr`.
const HEAD_BYTES: usize = 16;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// The two highest bits of an attribute's type are flags.
const ATTRIBUTE_KIND: u16 = 0x3fff;

const RTM_GETLINK: u16 = 18;
const RTM_GETADDR: u16 = 22;
const RTM_GETROUTE: u16 = 26;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFF_UP: u32 = 0x1;
const IFF_LOOPBACK: u32 = 0x8;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// Bytes of `struct rtmsg`.
const ROUTE_BYTES: usize = 12;
const RT_TABLE_MAIN: u8 = 254;
const RTN_UNICAST: u8 = 1;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Bytes of `struct inet_diag_req_v2`.
const DIAG_REQUEST_BYTES: usize = 56;
/// Bytes of `struct inet_diag_msg`.
const DIAG_BYTES: usize = 72;
/// The kernel names a socket's upper protocol to those alone who want its state too.
const INET_DIAG_INFO: u8 = 2;
const INET_DIAG_SKV6ONLY: u16 = 11;
const INET_DIAG_ULP_INFO: u16 = 19;
const INET_ULP_INFO_NAME: u16 = 1;
const TCP_LISTEN: u32 = 10;
/// States of a connection that somebody may still read or write: ESTABLISHED, both FIN_WAIT,
/// CLOSE_WAIT, LAST_ACK, CLOSING. A socket in TIME_WAIT has no owner.
const STATES_OWNED: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// The interfaces.
pub(crate) fn links() -> io::Result<Vec<Link>> {
    let mut links = Vec::new();
    // struct ifinfomsg: everything zero is everything.
    ask(ROUTE, RTM_GETLINK, &[0; 16], |body| links.extend(link(body)))?;
    Ok(links)
}

/// The addresses of all interfaces.
pub(crate) fn addresses() -> io::Result<Vec<Address>> {
    let mut addresses = Vec::new();
    // struct ifaddrmsg.
    ask(ROUTE, RTM_GETADDR, &[0; 8], |body| addresses.extend(address(body)))?;
    Ok(addresses)
}

/// The routes of the main table that lead to other hosts.
pub(crate) fn routes() -> io::Result<Vec<Route>> {
    let mut routes = Vec::new();
    ask(ROUTE, RTM_GETROUTE, &[0; ROUTE_BYTES], |body| routes.extend(route(body)))?;
    Ok(routes)
}

/// Who listens on a TCP port.
pub(crate) fn listeners(port: u16) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let request = diag_request(family, port, 1 << TCP_LISTEN, 1 << (INET_DIAG_INFO - 1));
        let found = ask(DIAG, SOCK_DIAG_BY_FAMILY, &request, |body| {
            listeners.extend(listener(body));
        });
        tolerate(family, found)?;
    }
    Ok(listeners)
}

/// Gives each connection that has `port` here to `each`.
pub(crate) fn connections(port: u16, each: &mut dyn FnMut(Connection)) -> io::Result<()> {
    for family in [AF_INET, AF_INET6] {
        let request = diag_request(family, port, STATES_OWNED, 0);
        let found = ask(DIAG, SOCK_DIAG_BY_FAMILY, &request, |body| {
            connection(body).into_iter().for_each(&mut *each);
        });
        tolerate(family, found)?;
    }
    Ok(())
}

/// A kernel without IPv6 has no sockets of it.
fn tolerate(family: u8, found: io::Result<()>) -> io::Result<()> {
    match found {
        Err(error) if family == AF_INET6 && error.kind() == io::ErrorKind::NotFound => Ok(()),
        found => found,
    }
}

/// Sends a request for a dump and gives the body of each message of the answer to `each`.
fn ask(
    protocol: Option<Protocol>,
    kind: u16,
    body: &[u8],
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWER_MAX))?;
    // A socket that is not connected speaks to the kernel.
    send(&socket, &dump_request(kind, body), SendFlags::empty())?;
    let mut part = vec![0; PART_BYTES];
    loop {
        let (length, _) = recv(&socket, part.as_mut_slice(), RecvFlags::empty())?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for message in messages(&part[..length]) {
            match message {
                (NLMSG_DONE, _) => return Ok(()),
                (NLMSG_ERROR, body) => return Err(refusal(body)),
                (_, body) => each(body),
            }
        }
    }
}

fn dump_request(kind: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEAD_BYTES + body.len()).expect("requests are short");
    let mut request = length.to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    // Serial number and our address: the socket asks once, and the kernel fills in the other.
    request.extend([0; 8]);
    request.extend(body);
    request
}

/// What an error message says: `struct nlmsgerr` begins with a negative error number.
fn refusal(body: &[u8]) -> io::Error {
    match u32_at(body, 0).map(|number| number as i32) {
        Some(number) if number < 0 => io::Error::from_raw_os_error(number.wrapping_neg()),
        _ => io::Error::other("the kernel's answer makes no sense"),
    }
}

/// `struct inet_diag_req_v2`: sockets in `states`, a bit each, with the attributes `wanted`.
fn diag_request(family: u8, port: u16, states: u32, wanted: u8) -> [u8; DIAG_REQUEST_BYTES] {
    let mut request = [0; DIAG_REQUEST_BYTES];
    request[..3].copy_from_slice(&[family, IPPROTO_TCP, wanted]);
    request[4..8].copy_from_slice(&states.to_ne_bytes());
    request[8..10].copy_from_slice(&port.to_be_bytes());
    request
}

/// The messages in what was received: kind and body of each.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32_at(bytes, 0)? as usize;
        let kind = u16_at(bytes, 4)?;
        let body = bytes.get(HEAD_BYTES..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// The attributes at the end of a message: kind and value of each.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & ATTRIBUTE_KIND;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn link(body: &[u8]) -> Option<Link> {
    let flags = u32_at(body, 8)?;
    let rest = body.get(16..)?;
    Some(Link {
        index: u32_at(body, 4)?,
        name: text(attribute(rest, IFLA_IFNAME)?),
        mtu_bytes: u32_at(attribute(rest, IFLA_MTU)?, 0)?,
        up: flags & IFF_UP != 0,
        loopback: flags & IFF_LOOPBACK != 0,
    })
}

fn address(body: &[u8]) -> Option<Address> {
    let (family, prefix_bits, scope) = (*body.first()?, *body.get(1)?, *body.get(3)?);
    let rest = body.get(8..)?;
    // On a point-to-point link IFA_ADDRESS is the other end's.
    let value = attribute(rest, IFA_LOCAL).or_else(|| attribute(rest, IFA_ADDRESS))?;
    Some(Address { ip: ip(family, value)?, prefix_bits, scope, link: u32_at(body, 4)? })
}

/// Tables with larger numbers than fit here are written as another one, RT_TABLE_COMPAT.
fn route(body: &[u8]) -> Option<Route> {
    let (family, prefix_bits) = (*body.first()?, *body.get(1)?);
    let (table, kind) = (*body.get(4)?, *body.get(7)?);
    let rest = body.get(ROUTE_BYTES..)?;
    // What leads everywhere has no destination.
    let to = match attribute(rest, RTA_DST) {
        Some(value) => ip(family, value)?,
        None => ip(family, &[0; 16])?,
    };
    let metrics = attribute(rest, RTA_METRICS);
    let window = metrics.and_then(|nested| attribute(nested, RTAX_INITCWND));
    (table == RT_TABLE_MAIN && kind == RTN_UNICAST).then(|| Route {
        to,
        prefix_bits,
        link: attribute(rest, RTA_OIF).and_then(|value| u32_at(value, 0)),
        initial_window: window.and_then(|value| u32_at(value, 0)).filter(|value| *value > 0),
    })
}

fn listener(body: &[u8]) -> Option<Listener> {
    let (local, _) = ends(body)?;
    let rest = body.get(DIAG_BYTES..)?;
    let v6_only = attribute(rest, INET_DIAG_SKV6ONLY).is_some_and(|value| value != [0]);
    let ulp = attribute(rest, INET_DIAG_ULP_INFO);
    let ulp = ulp.and_then(|nested| attribute(nested, INET_ULP_INFO_NAME)).map(text);
    Some(Listener {
        local,
        v4: !v6_only,
        queue: u32_at(body, 56)?,
        backlog: u32_at(body, 60)?,
        mptcp: ulp.as_deref() == Some("mptcp"),
    })
}

fn connection(body: &[u8]) -> Option<Connection> {
    let (local, client) = ends(body)?;
    Some(Connection { local: canonical(local), client: canonical(client), state: *body.get(1)? })
}

/// Both ends of a socket, from `struct inet_diag_msg`.
fn ends(body: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let body = body.get(..DIAG_BYTES)?;
    let end = |port: usize, address: usize| {
        let port = u16::from_be_bytes([body[port], body[port + 1]]);
        Some(SocketAddr::new(ip(body[0], &body[address..address + 16])?, port))
    };
    Some((end(4, 8)?, end(6, 24)?))
}

/// An IPv4 client of a socket of IPv6 is an IPv4 client.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn ip(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    match family {
        AF_INET => Some(Ipv4Addr::from(*bytes.first_chunk::<4>()?).into()),
        AF_INET6 => Some(Ipv6Addr::from(*bytes.first_chunk::<16>()?).into()),
        _ => None,
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
#[path = "tests/netlink.rs"]
mod tests;
