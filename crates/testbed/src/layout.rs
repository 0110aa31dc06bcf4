//! The wiring as commands for `ip`: a pure function of the plan.
//!
//! Every machine has one interface, `eth0`, whose other end is a port of a bridge in the wire's
//! namespace, called like the machine; the router has one for each subnet. There is a bridge for
//! each subnet, `net0` or `net1` to `net3`.

use crate::address::network;
use crate::{Host, Plan};
use std::fmt::Write;

/// The interface of a machine that is on one subnet.
pub(crate) const INTERFACE: &str = "eth0";

/// The interface of a machine on one of its subnets.
pub(crate) fn interface(plan: &Plan, subnet: u8, host: Host) -> String {
    match plan.subnets(host) {
        [_] => INTERFACE.to_owned(),
        _ => bridge(subnet),
    }
}

/// How every bridge is: without snooping and waiting it forwards from its first frame on.
pub(crate) const BRIDGE: &str = "stp_state 0 forward_delay 0 mcast_snooping 0";

/// The bridge of a subnet.
pub(crate) fn bridge(subnet: u8) -> String {
    format!("net{subnet}")
}

/// The port of a bridge behind which a machine is.
pub(crate) fn port(plan: &Plan, subnet: u8, host: Host) -> String {
    match plan.subnets(host) {
        [_] => host.to_string(),
        _ => format!("{host}{subnet}"),
    }
}

/// Machines with the subnets they are on.
fn legs(plan: &Plan) -> impl Iterator<Item = (Host, u8)> {
    let hosts = plan.hosts().into_iter().filter(|host| *host != Host::Wire);
    hosts.flat_map(|host| plan.subnets(host).iter().map(move |subnet| (host, *subnet)))
}

/// For the wire's namespace: bridges, and a pair of interfaces for each leg.
pub(crate) fn wire(plan: &Plan) -> String {
    let mut lines = String::new();
    let mut line = |text: String| lines += &(text + "\n");
    let mtu = plan.mtu;
    for subnet in plan.subnets(Host::Wire) {
        line(format!("link add {} mtu {mtu} type bridge {BRIDGE}", bridge(*subnet)));
        line(format!("link set {} up", bridge(*subnet)));
    }
    for (host, subnet) in legs(plan) {
        let port = port(plan, subnet, host);
        let mac = plan.mac_on(subnet, host).expect("what has a leg has an address");
        let (inner, space) = (interface(plan, subnet, host), plan.namespace(host));
        let peer = format!("peer name {inner} mtu {mtu} address {mac} netns {space}");
        line(format!("link add {port} mtu {mtu} type veth {peer}"));
        line(format!("link set {port} master {} up", bridge(subnet)));
    }
    lines
}

/// For a machine's namespace: addresses and routes.
pub(crate) fn machine(plan: &Plan, host: Host) -> String {
    let mut lines = "link set lo up\n".to_owned();
    let mut line = |text: String| writeln!(lines, "{text}").expect("a string takes all");
    // Whoever answers clients begins with the plan's window, wherever they are.
    let window = match host {
        Host::Front | Host::Server(_) => format!(" initcwnd {}", plan.initial_window),
        Host::Client | Host::Router | Host::Wire => String::new(),
    };
    for &subnet in plan.subnets(host) {
        let dev = interface(plan, subnet, host);
        if let Some(address) = plan.address_on(subnet, host) {
            line(format!("addr add {}/24 dev {dev}", address.v4));
            line(format!("addr add {}/64 dev {dev} nodad", address.v6));
            line(format!("link set {dev} up"));
            // The kernel made these two with the addresses.
            let (v4, v6) = network(subnet);
            let kernels = format!("dev {dev} proto kernel");
            line(format!("route replace {v4} {kernels} scope link src {}{window}", address.v4));
            line(format!("route replace {v6} {kernels} metric 256{window}"));
        }
    }
    if let Some(gateway) = plan.gateway(host) {
        line(format!("route add default via {}{window}", gateway.v4));
        line(format!("route add ::/0 via {}{window}", gateway.v6));
    }
    // IPv4 answers on any interface for any address of the machine, unless told otherwise; IPv6
    // only for those of the interface that is asked. So the front-end's is on eth0 and the servers'
    // on lo. It is deprecated (preferred_lft 0): answered from, but never chosen as a source.
    let vip = plan.vip();
    let dev = match host {
        Host::Front => INTERFACE,
        Host::Server(_) => "lo",
        Host::Client | Host::Router | Host::Wire => return lines,
    };
    line(format!("addr add {}/32 dev lo", vip.v4));
    line(format!("addr add {}/128 dev {dev} nodad preferred_lft 0", vip.v6));
    lines
}
