//! Checks of interfaces and addresses: who answers for the clients' address, and what fits.

use super::finding::{Finding, Unread, all, number};
use super::{Network, Site};
use crate::host::{Address, Host, Link, LinkName};
use std::net::IpAddr;

/// Bytes that an envelope adds to a segment: IPv4, UDP and our 28 (docs/decisions/0013).
pub const ENVELOPE_V4_BYTES: u32 = 20 + 8 + 28;
/// The same with IPv6.
pub const ENVELOPE_V6_BYTES: u32 = 40 + 8 + 28;
/// Bytes of Ethernet's packets, which clients and routers expect.
const MTU_USUAL_BYTES: u32 = 1500;
/// Bytes that every path of IPv6 carries (RFC 8200, section 5), in an envelope.
const MTU_MIN_BYTES: u32 = 1280 + ENVELOPE_V6_BYTES;
/// How the kernel writes that an address is for the host alone.
const SCOPE_HOST: u8 = 254;

const NO_INTERFACE: &str = "say with --interface, or in the configuration, which one";
pub(super) const NO_VIP: &str = "say with --vip, or in the configuration, where clients connect";

pub(super) fn links(host: &dyn Host) -> Result<Vec<Link>, Unread> {
    host.links().map_err(Unread::of("the interfaces (rtnetlink)"))
}

fn addresses(host: &dyn Host) -> Result<Vec<Address>, Unread> {
    host.addresses().map_err(Unread::of("the addresses (rtnetlink)"))
}

pub(super) fn present(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let links = links(host)?;
    let each = site.interfaces.iter().map(|name| {
        let name = name.as_str();
        match links.iter().find(|link| link.name == name) {
            Some(link) if link.up => Finding::ok(format!("{name} is up")),
            Some(_) => Finding::fail(format!("{name} is down"), &format!("ip link set {name} up")),
            None => {
                let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
                let evidence = format!("there is no {name}; there are {}", names.join(", "));
                Finding::fail(evidence, "name the interface that clients' segments come in by")
            }
        }
    });
    Ok(all(each).unwrap_or_else(|| Finding::skipped(NO_INTERFACE)))
}

pub(super) fn mtu(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let links = links(host)?;
    let ours = |link: &&Link| site.interfaces.iter().any(|name| name.as_str() == link.name);
    let each = links.iter().filter(ours).map(|Link { name, mtu_bytes, .. }| {
        let left = mtu_bytes.saturating_sub(ENVELOPE_V4_BYTES);
        let evidence = format!("{name} sends packets of {mtu_bytes} bytes, {left} in an envelope");
        match *mtu_bytes {
            MTU_USUAL_BYTES.. => Finding::ok(evidence),
            MTU_MIN_BYTES.. => Finding::warn(
                evidence,
                "the front-end tells clients a segment size by its own interface: see that its MTU \
                 is not larger than any server's",
            ),
            _ => Finding::fail(
                evidence,
                &format!("ip link set {name} mtu {MTU_USUAL_BYTES}, or {MTU_MIN_BYTES} at least"),
            ),
        }
    });
    Ok(all(each).unwrap_or_else(|| Finding::skipped(NO_INTERFACE)))
}

/// The larger of a setting's values for all interfaces and for one, which is what the kernel goes
/// by, and the path of that value.
fn of_either(host: &dyn Host, name: &LinkName, key: &str) -> Result<(u64, String), Unread> {
    let of = |name: &str| {
        let path = format!("net/ipv4/conf/{name}/{key}");
        Ok((number(host, &path)?, path))
    };
    let (all, one) = (of("all")?, of(name.as_str())?);
    Ok(if one.0 > all.0 { one } else { all })
}

pub(super) fn rp_filter(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let look = |name: &LinkName| {
        let (value, _) = of_either(host, name, "rp_filter")?;
        let name = name.as_str();
        let evidence = format!("net/ipv4/conf/{name}/rp_filter (or that of all) is {value}");
        if value != 1 {
            return Ok(Finding::ok(evidence));
        }
        let remedy = "strict: clients' packets are dropped where the way back to them leads out by \
                      another interface; loosen it unless each client is reached by the one it \
                      comes in by";
        let path = format!("net/ipv4/conf/{name}/rp_filter");
        Ok(Finding::warn(evidence, remedy).set(path, 2))
    };
    let each = site.interfaces.iter().map(look).collect::<Result<Vec<_>, _>>()?;
    Ok(all(each).unwrap_or_else(|| Finding::skipped(NO_INTERFACE)))
}

/// Where an address is on this host, with the link's name.
struct Place<'a> {
    address: &'a Address,
    link: &'a Link,
}

fn places<'a>(vip: IpAddr, addresses: &'a [Address], links: &'a [Link]) -> Vec<Place<'a>> {
    let of = |address: &'a Address| {
        let link = links.iter().find(|link| link.index == address.link)?;
        Some(Place { address, link })
    };
    addresses.iter().filter(|address| address.ip == vip).filter_map(of).collect()
}

fn whole(vip: IpAddr) -> u8 {
    if vip.is_ipv4() { 32 } else { 128 }
}

pub(super) fn vip_server(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let (links, addresses) = (links(host)?, addresses(host)?);
    let look = |vip: &IpAddr| {
        let places = places(*vip, &addresses, &links);
        let add = format!("ip address add {vip}/{} dev lo", whole(*vip));
        let Some(place) = places.first() else {
            let evidence = format!("{vip} is not an address of this host");
            return Finding::fail(evidence, &add);
        };
        let (name, bits) = (&place.link.name, place.address.prefix_bits);
        if let Some(loud) = places.iter().find(|place| !place.link.loopback) {
            let name = &loud.link.name;
            let evidence = format!("{vip} is on {name}, where this host answers for it");
            let remedy = format!("ip address delete {vip}/{bits} dev {name}; {add}");
            return match site.network {
                Network::Neighbours => Finding::fail(evidence, &remedy),
                Network::Routed => Finding::warn(evidence, &remedy),
            };
        }
        if bits != whole(*vip) {
            let evidence = format!("{vip}/{bits} on {name} makes that whole network this host's");
            let remedy = format!("ip address delete {vip}/{bits} dev {name}; {add}");
            return Finding::fail(evidence, &remedy);
        }
        Finding::ok(format!("{vip}/{bits} is on {name}"))
    };
    Ok(all(site.vips.iter().map(look)).unwrap_or_else(|| Finding::skipped(NO_VIP)))
}

pub(super) fn vip_front(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let (links, addresses) = (links(host)?, addresses(host)?);
    let look = |vip: &IpAddr| {
        let places = places(*vip, &addresses, &links);
        let named = |link: &Link| site.interfaces.iter().any(|name| name.as_str() == link.name);
        let asked = |place: &&Place| {
            !place.link.loopback && (site.interfaces.is_empty() || named(place.link))
        };
        if let Some(place) = places.iter().find(asked) {
            return Ok(Finding::ok(format!("{vip} is on {}", place.link.name)));
        }
        if let Some(place) = places.first() {
            let evidence = format!("{vip} is on {} alone", place.link.name);
            if vip.is_ipv4() && answers_for_all(site, host)? {
                return Ok(Finding::ok(format!("{evidence}, and arp_ignore is 0: it is answered")));
            }
            let remedy = "nobody who asks for its neighbour finds it there: right only where \
                          routers send its packets to this host";
            return Ok(Finding::warn(evidence, remedy));
        }
        let name = site.interfaces.first().map_or("eth0", LinkName::as_str);
        let remedy = format!("ip address add {vip}/{} dev {name}", whole(*vip));
        Ok(Finding::fail(format!("{vip} is not an address of this host"), &remedy))
    };
    let each = site.vips.iter().map(look).collect::<Result<Vec<_>, _>>()?;
    Ok(all(each).unwrap_or_else(|| Finding::skipped(NO_VIP)))
}

/// Whether the interfaces answer ARP for every address of the host, as they do by default.
fn answers_for_all(site: &Site, host: &dyn Host) -> Result<bool, Unread> {
    for name in &site.interfaces {
        if of_either(host, name, "arp_ignore")?.0 != 0 {
            return Ok(false);
        }
    }
    Ok(!site.interfaces.is_empty())
}

/// Whether a question of ARP can concern this host; otherwise what to say.
fn arp(site: &Site) -> Option<Finding> {
    if site.network == Network::Routed {
        return Some(Finding::ok("servers are behind routers: nobody asks them for the address"));
    }
    let v6_only = !site.vips.is_empty() && site.vips.iter().all(IpAddr::is_ipv6);
    if v6_only {
        let evidence = "IPv6 answers only for addresses of the interface that was asked";
        return Some(Finding::ok(evidence));
    }
    site.interfaces.is_empty().then(|| Finding::skipped(NO_INTERFACE))
}

pub(super) fn arp_ignore(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    if let Some(finding) = arp(site) {
        return Ok(finding);
    }
    let addresses = addresses(host)?;
    let is_vip = |address: &&Address| site.vips.contains(&address.ip);
    let mut vips = addresses.iter().filter(is_vip).peekable();
    let for_host = vips.peek().is_some() && vips.all(|vip| vip.scope == SCOPE_HOST);
    let look = |name: &LinkName| {
        let (value, path) = of_either(host, name, "arp_ignore")?;
        let evidence = format!("arp_ignore is {value} for {}", name.as_str());
        Ok(match value {
            1 | 2 => Finding::ok(evidence),
            3 if for_host => Finding::ok(evidence),
            8.. => Finding::warn(evidence, "8 answers for no address: servers must be found")
                .set(path, 1),
            _ => Finding::fail(
                format!("{evidence}: this host answers for the clients' address on lo"),
                "let it answer for addresses of the interface that was asked alone",
            )
            .set(path, 1),
        })
    };
    let each = site.interfaces.iter().map(look).collect::<Result<Vec<_>, _>>()?;
    Ok(all(each).unwrap_or_else(|| Finding::skipped(NO_INTERFACE)))
}

pub(super) fn arp_announce(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    if let Some(finding) = arp(site) {
        return Ok(finding);
    }
    let look = |name: &LinkName| {
        let (value, path) = of_either(host, name, "arp_announce")?;
        let evidence = format!("arp_announce is {value} for {}", name.as_str());
        Ok(match value {
            2.. => Finding::ok(evidence),
            _ => Finding::fail(
                format!("{evidence}: its own questions name the clients' address as the sender's"),
                "let it name the address of the interface that asks",
            )
            .set(path, 2),
        })
    };
    let each = site.interfaces.iter().map(look).collect::<Result<Vec<_>, _>>()?;
    Ok(all(each).unwrap_or_else(|| Finding::skipped(NO_INTERFACE)))
}
