//! Checks of the host's TCP.

use super::Site;
use super::finding::{Finding, Unread, number, number_if_any, sysctl};
use crate::host::Host;

/// The window scale that front-ends offer clients: what the server's socket has to use.
const WINDOW_SCALE: u32 = 7;
/// Bytes of the largest window that can be told with it.
const WINDOW_BYTES_MAX: u64 = 65_535 << WINDOW_SCALE;
/// Bytes of the largest receive buffer that kernels set by themselves. Whoever set more wants it.
const BUFFER_BYTES_USUAL: u64 = 32 << 20;

pub(super) fn syncookies(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    must_be_on(host, "net/ipv4/tcp_syncookies", "connections handed over here are reset")
}

pub(super) fn timestamps(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    must_be_on(host, "net/ipv4/tcp_timestamps", "clients with timestamps (nearly all) are refused")
}

pub(super) fn sack(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    must_be_on(host, "net/ipv4/tcp_sack", "clients with SACK (nearly all) are refused")
}

pub(super) fn window_scaling(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "net/ipv4/tcp_window_scaling";
    must_be_on(host, path, "clients with window scaling (nearly all) are refused")
}

fn must_be_on(host: &dyn Host, path: &str, else_what: &str) -> Result<Finding, Unread> {
    Ok(match number(host, path)? {
        0 => Finding::fail(format!("{path} is 0: {else_what}"), "switch it on").set(path, 1),
        value => Finding::ok(format!("{path} is {value}")),
    })
}

pub(super) fn rfc1337(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "net/ipv4/tcp_rfc1337";
    Ok(match number(host, path)? {
        0 => Finding::ok(format!("{path} is 0")),
        value => Finding::fail(
            format!("{path} is {value}: sockets in TIME_WAIT cannot be taken out of the way"),
            "switch it off, as it is by default",
        )
        .set(path, 0),
    })
}

pub(super) fn receive_window(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "net/ipv4/tcp_rmem";
    let triple = sysctl(host, path)?;
    let last = triple.split_whitespace().nth(2).and_then(|bytes| bytes.parse::<u64>().ok());
    let Some(bytes) = last else {
        let error = std::io::Error::other(format!("{triple:?} is not three numbers"));
        return Err(Unread { what: path.to_owned(), error });
    };
    let evidence = format!(
        "{path} lets a socket buffer {bytes} bytes, of which a client is told {}",
        bytes.min(WINDOW_BYTES_MAX)
    );
    if bytes <= BUFFER_BYTES_USUAL {
        return Ok(Finding::ok(evidence));
    }
    let remedy = "uploads over long, fast paths that need the rest of it are for a listener with \
                  delivery = \"relay\"; nothing else is slower";
    Ok(Finding::warn(evidence, remedy))
}

pub(super) fn congestion_control(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "net/ipv4/tcp_congestion_control";
    let name = sysctl(host, path)?;
    if !name.starts_with("bbr") {
        return Ok(Finding::ok(format!("{path} is {name}")));
    }
    let remedy = "bbr measures the path anew on the socket of each hand-over, and its pacing \
                  timers cost CPU: where clients are near, or connections move often, use cubic or \
                  reno (not set by --fix: it is every program's)";
    Ok(Finding::warn(format!("{path} is {name}"), remedy))
}

pub(super) fn conntrack(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "net/netfilter/nf_conntrack_tcp_loose";
    Ok(match number_if_any(host, path)? {
        None => Finding::ok("this name space tracks no connections"),
        Some(0) => Finding::warn(
            format!("{path} is 0: connections that begin in their middle are invalid"),
            "where the firewall drops what is invalid, exempt the clients' address (`notrack`), or \
             set it to 1 (not done by --fix: it is the firewall's)",
        ),
        Some(value) => Finding::ok(format!("{path} is {value}")),
    })
}
