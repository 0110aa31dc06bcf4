//! Who has which address: a pure function of the plan, alike in every bed, for namespaces do not
//! see each other.
//!
//! IPv4 `10.77.SUBNET.HOST/24`, IPv6 `fd77:0:0:SUBNET::HOST/64`, and an Ethernet address that ends
//! in the IPv4 one, so that a packet trace can be read. Neighbours are all on subnet 0; behind a
//! router clients are on 1, the front-end on 2 and servers on 3.

use crate::{Host, Plan, Variant};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The front-end's number on its subnet.
const FRONT: u8 = 1;
/// The client's.
const CLIENT: u8 = 2;
/// The virtual address's, on the subnet of the front-end.
const VIP: u8 = 9;
/// What comes before the servers': the first has 11.
const SERVERS: u8 = 10;
/// The router's, on each subnet.
const ROUTER: u8 = 254;

/// The IPv4 and the IPv6 address of the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Both {
    /// IPv4.
    pub v4: Ipv4Addr,
    /// IPv6.
    pub v6: Ipv6Addr,
}

impl Both {
    fn new(subnet: u8, host: u8) -> Self {
        Self {
            v4: Ipv4Addr::new(10, 77, subnet, host),
            v6: Ipv6Addr::new(0xfd77, 0, 0, subnet.into(), 0, 0, 0, host.into()),
        }
    }

    /// One after the other, IPv4 first.
    pub fn each(self) -> [IpAddr; 2] {
        [self.v4.into(), self.v6.into()]
    }

    /// Both with a port.
    pub fn at(self, port: u16) -> [SocketAddr; 2] {
        self.each().map(|address| SocketAddr::new(address, port))
    }
}

impl fmt::Display for Both {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.v4, self.v6)
    }
}

impl Plan {
    /// The machine's own address; the router's on the first subnet. The wire has none.
    pub fn address(&self, host: Host) -> Option<Both> {
        let subnet = *self.subnets(host).first()?;
        Some(Both::new(subnet, number(host)?))
    }

    /// The virtual address: what clients ask, and front-end and servers all have.
    pub fn vip(&self) -> Both {
        Both::new(self.subnets(Host::Front)[0], VIP)
    }

    /// The subnets that a machine is on.
    pub(crate) fn subnets(&self, host: Host) -> &'static [u8] {
        match (self.variant, host) {
            (Variant::Bridge, Host::Router) => &[],
            (Variant::Bridge, _) => &[0],
            (Variant::Routed, Host::Client) => &[1],
            (Variant::Routed, Host::Front) => &[2],
            (Variant::Routed, Host::Server(_)) => &[3],
            (Variant::Routed, Host::Router | Host::Wire) => &[1, 2, 3],
        }
    }

    /// Where a machine sends what is not for its subnet.
    pub(crate) fn gateway(&self, host: Host) -> Option<Both> {
        let [subnet] = self.subnets(host) else { return None };
        (self.variant == Variant::Routed).then(|| Both::new(*subnet, ROUTER))
    }

    /// The address of a machine on one of its subnets.
    pub(crate) fn address_on(&self, subnet: u8, host: Host) -> Option<Both> {
        number(host).map(|number| Both::new(subnet, number))
    }

    /// The Ethernet address of a machine on its first subnet, as `ip` writes it.
    pub fn mac(&self, host: Host) -> Option<String> {
        self.mac_on(*self.subnets(host).first()?, host)
    }

    /// The Ethernet address of a machine on one of its subnets: locally administered.
    pub(crate) fn mac_on(&self, subnet: u8, host: Host) -> Option<String> {
        number(host).map(|number| format!("02:42:0a:4d:{subnet:02x}:{number:02x}"))
    }
}

/// The networks of a subnet, IPv4 and IPv6, as `ip` writes them.
pub(crate) fn network(subnet: u8) -> (String, String) {
    let Both { v4, v6 } = Both::new(subnet, 0);
    (format!("{v4}/24"), format!("{v6}/64"))
}

fn number(host: Host) -> Option<u8> {
    Some(match host {
        Host::Client => CLIENT,
        Host::Front => FRONT,
        Host::Router => ROUTER,
        Host::Server(number) => {
            SERVERS + u8::try_from(number).expect("a plan has at most SERVERS_MAX servers")
        }
        Host::Wire => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_machines_share_an_address() {
        for variant in [Variant::Bridge, Variant::Routed] {
            let plan = Plan::new(crate::SERVERS_MAX).wired(variant);
            let hosts = plan.hosts();
            let addresses = hosts.iter().filter_map(|host| plan.address(*host));
            let mut seen: Vec<IpAddr> = addresses.flat_map(Both::each).collect();
            seen.extend(plan.vip().each());
            let distinct: BTreeSet<_> = seen.iter().collect();
            assert_eq!(distinct.len(), seen.len());
            let macs: BTreeSet<_> = hosts.iter().filter_map(|host| plan.mac(*host)).collect();
            assert_eq!(macs.len() * 2 + 2, seen.len());
        }
    }
}
