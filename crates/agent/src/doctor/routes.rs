//! The check of routes: how much a reply may send at once after its connection has moved.

use super::Site;
use super::finding::{Finding, Unread, all};
use super::interfaces::{NO_VIP, links};
use crate::host::{Host, Link, Route};
use std::net::IpAddr;

/// Segments that the kernel begins with by itself (RFC 6928).
const WINDOW_USUAL: u32 = 10;
/// Segments of the remedy: what paths over the Internet bear; and within one site, where 128 KB
/// are 91 segments.
const WINDOW_FAR: u32 = 32;
const WINDOW_NEAR: u32 = 128;

pub(super) fn initial_window(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    match site.moves {
        Some(true) => {}
        Some(false) => return Ok(Finding::ok("no listener moves connections between servers")),
        None => {
            let missing = "say with --config whether connections may move between servers";
            return Ok(Finding::skipped(missing));
        }
    }
    let links = links(host)?;
    let routes = host.routes().map_err(Unread::of("the routes (rtnetlink)"))?;
    let mut families: Vec<bool> = site.vips.iter().map(IpAddr::is_ipv4).collect();
    families.sort_unstable();
    families.dedup();
    let each = families.into_iter().map(|v4| {
        let ours = routes.iter().filter(|route| route.to.is_ipv4() == v4);
        let ours: Vec<&Route> = ours.filter(|route| leads_out(route, site, &links)).collect();
        of_family(v4, &ours)
    });
    Ok(all(each).unwrap_or_else(|| Finding::skipped(NO_VIP)))
}

/// Whether clients may be at its end: by an interface that they are said to come in by, or
/// anywhere.
fn leads_out(route: &Route, site: &Site, links: &[Link]) -> bool {
    let named = |link: &&Link| site.interfaces.iter().any(|name| name.as_str() == link.name);
    let link = links.iter().find(|link| Some(link.index) == route.link);
    let link_local = matches!(route.to, IpAddr::V6(to) if to.is_unicast_link_local());
    route.prefix_bits == 0 || (link.as_ref().is_some_and(named) && !link_local)
}

/// One window is enough: where clients are is known to whoever set it.
fn of_family(v4: bool, routes: &[&Route]) -> Finding {
    let set = routes.iter().find_map(|route| Some((route, route.initial_window?)));
    if let Some((route, window)) = set {
        return Finding::ok(format!("{} begins with {window} segments", name(route)));
    }
    let shortest = routes.iter().min_by_key(|route| route.prefix_bits);
    let Some(route) = shortest else {
        let version = if v4 { "IPv4" } else { "IPv6" };
        let why = format!("there is neither a default route of {version} nor one by an interface");
        return Finding::skipped(&format!("{why} that was named"));
    };
    let evidence =
        format!("{} begins with the system's {WINDOW_USUAL} segments, at each move", name(route));
    let (ip, to) = (if v4 { "ip" } else { "ip -6" }, name(route));
    let remedy = format!(
        "{ip} route change $({ip} route show {to}) initcwnd {WINDOW_FAR}, or {WINDOW_NEAR} where \
         clients are near, where the network is configured (not set by --fix: every program's \
         connections begin with it)"
    );
    Finding::warn(evidence, &remedy)
}

/// As `ip` calls it.
fn name(route: &Route) -> String {
    match route.prefix_bits {
        0 => "default".to_owned(),
        bits => format!("{}/{bits}", route.to),
    }
}
