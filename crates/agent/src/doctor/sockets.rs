//! Checks of who takes the connections: the served program's listening sockets.

use super::Site;
use super::finding::{Finding, Unread, all, number, number_if_any};
use crate::host::{Host, Listener};

/// Places in a queue that a busy server should have: connections that are handed over arrive
/// complete, and come back only after the client's own time-out when there is no place.
const BACKLOG_GOOD: u32 = 511;
/// What to let programs ask for: the kernel's own default since 5.4.
const SOMAXCONN_GOOD: u64 = 4096;

const NO_PORT: &str = "say with --port, or in the configuration, where clients connect";

/// The listeners of each port; those alone that clients' addresses lead to, where these are known.
fn listeners(site: &Site, host: &dyn Host) -> Result<Vec<(u16, Vec<Listener>)>, Unread> {
    let of = |port: &u16| {
        let found = host.listeners(*port).map_err(Unread::of("who listens (sock_diag)"))?;
        let vips = &site.vips;
        let ours = |one: &Listener| vips.is_empty() || vips.iter().any(|vip| one.takes(*vip));
        Ok((*port, found.into_iter().filter(ours).collect()))
    };
    site.ports.iter().map(of).collect()
}

pub(super) fn mptcp(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "net/mptcp/enabled";
    let remedy = "programs in Go listen so by default since 1.24: start the server with \
                  GODEBUG=multipathtcp=0, or switch MPTCP off for new sockets; start the server \
                  again in either case";
    for (port, found) in listeners(site, host)? {
        if let Some(one) = found.iter().find(|one| one.mptcp) {
            let evidence = format!("the listener {} of port {port} speaks MPTCP", one.local);
            return Ok(Finding::fail(evidence, remedy).set(path, 0));
        }
    }
    let enabled = number_if_any(host, path)?.unwrap_or(0);
    Ok(match site.ports.as_slice() {
        [] if enabled != 0 => Finding::skipped(NO_PORT),
        _ => Finding::ok(format!("no listener speaks it ({path} is {enabled})")),
    })
}

pub(super) fn listener(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let each = listeners(site, host)?.into_iter().flat_map(|(port, found)| {
        let vips: Vec<_> = site.vips.iter().map(Some).collect();
        let vips = if vips.is_empty() { vec![None] } else { vips };
        vips.into_iter().map(move |vip| {
            let at = vip.map_or_else(|| format!("port {port}"), |vip| format!("{vip} port {port}"));
            let taker = found.iter().find(|one| vip.is_none_or(|vip| one.takes(*vip)));
            match taker {
                Some(one) => Finding::ok(format!("{} takes {at}", one.local)),
                None => Finding::fail(
                    format!("nobody takes {at}"),
                    "start the server; it must listen on every address, or on the clients' address \
                     itself",
                ),
            }
        })
    });
    Ok(all(each).unwrap_or_else(|| Finding::skipped(NO_PORT)))
}

pub(super) fn accept_queue(site: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let found = listeners(site, host)?.into_iter().flat_map(|(_, found)| found);
    let each = found.map(|Listener { local, queue, backlog, .. }| {
        let evidence = format!("{local}: {queue} connections wait, {backlog} may");
        // Half full at the moment somebody looks is full at others.
        if queue > backlog / 2 {
            return Finding::warn(
                evidence,
                "the server accepts too slowly: give it less, or more CPU",
            );
        }
        if backlog < BACKLOG_GOOD {
            let remedy = "give the server's `listen` a longer queue (nginx: backlog=4096)";
            return Finding::warn(evidence, remedy);
        }
        Finding::ok(evidence)
    });
    Ok(all(each).unwrap_or_else(|| Finding::skipped("nobody listens there now")))
}

pub(super) fn somaxconn(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "net/core/somaxconn";
    let value = number(host, path)?;
    if value >= SOMAXCONN_GOOD {
        return Ok(Finding::ok(format!("{path} is {value}")));
    }
    let remedy = "allow longer queues; servers take notice when they are started again";
    Ok(Finding::warn(format!("{path} is {value}"), remedy).set(path, SOMAXCONN_GOOD))
}
