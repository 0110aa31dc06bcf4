//! Kernel settings of each machine, with the reason for each.

use crate::{Error, Host, namespace};
use std::fs;

/// A setting's path under `/proc/sys/net`, and its value.
type Setting = (&'static str, &'static str);

/// Everywhere.
const ALL: &[Setting] = &[
    // Pacing (bbr) distorts what a keep-alive connection costs, and cubic is not always allowed.
    ("ipv4/tcp_congestion_control", "reno"),
    // Sockets that are made from a segment need syncookies not to be off.
    ("ipv4/tcp_syncookies", "1"),
    // One run shall not begin with the slow start that another one's losses taught.
    ("ipv4/tcp_no_metrics_save", "1"),
    // Replies of the virtual address come another way than requests to it went.
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    // Nobody learns short cuts: the way of each packet is the one that was laid.
    ("ipv4/conf/all/accept_redirects", "0"),
    ("ipv4/conf/default/accept_redirects", "0"),
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
    ("ipv6/conf/all/accept_redirects", "0"),
    ("ipv6/conf/default/accept_redirects", "0"),
    // Addresses are known to be free: no second of waiting before they are used.
    ("ipv6/conf/all/accept_dad", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/all/accept_ra", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
];

/// Servers have the virtual address and keep quiet about it.
const SERVER: &[Setting] = &[
    // Answer only for addresses of the interface that is asked: not for those of lo.
    ("ipv4/conf/all/arp_ignore", "1"),
    ("ipv4/conf/default/arp_ignore", "1"),
    // Ask with the interface's own address, or the question would teach neighbours the virtual one.
    ("ipv4/conf/all/arp_announce", "2"),
    ("ipv4/conf/default/arp_announce", "2"),
];

const ROUTER: &[Setting] = &[("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1")];

/// The wire is Ethernet alone.
const WIRE: &[Setting] =
    &[("ipv6/conf/all/disable_ipv6", "1"), ("ipv6/conf/default/disable_ipv6", "1")];

/// Makes the settings of a machine. Interfaces that come later take the defaults over.
pub(crate) fn apply(host: Host, name: &str) -> Result<(), Error> {
    let own = match host {
        Host::Server(_) => SERVER,
        Host::Router => ROUTER,
        Host::Wire => WIRE,
        Host::Client | Host::Front => &[],
    };
    namespace::inside(name, || {
        ALL.iter().chain(own).try_for_each(|(path, value)| write(path, value))
    })?
}

/// Makes one setting in the namespace of the calling thread.
pub(crate) fn write(path: &str, value: &str) -> Result<(), Error> {
    let file = format!("/proc/sys/net/{path}");
    fs::write(&file, value).map_err(Error::system(format!("write {value} to {file}")))
}
