//! The structs of `bpf/handoff.h`, byte for byte: keys and values of maps.

use bytemuck::{Pod, Zeroable};
use std::net::{IpAddr, SocketAddr};

/// The number of this layout, in the names that maps are pinned by: a program takes over those of
/// its own alone. To be raised with every change of a struct that is in a map that outlives the
/// process, also where its size stays (the test below says when), and of the kind or the flags of
/// such a map.
pub const LAYOUT: u32 = 2;

/// `ENVELOPE_VERSION`: a program opens envelopes of its own alone.
pub const ENVELOPE: u8 = 1;

pub(crate) const SERVERS_MAX: usize = 256;
pub(crate) const WHEELS_MAX: usize = 64;
pub(crate) const TURNS_MAX: usize = 256;
pub(crate) const NOBODY: u32 = u32::MAX;
pub(crate) const RELAY: u32 = u32::MAX - 1;
pub(crate) const CLOSE: u32 = u32::MAX - 2;
pub(crate) const WHEEL_RELAY: u16 = u16::MAX;

/// An address as maps have it: IPv4 is mapped into IPv6.
pub(crate) fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// `struct flow_key`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct FlowKey {
    pub(crate) client: [u8; 16],
    pub(crate) vip: [u8; 16],
    /// Network order, as all ports here.
    pub(crate) client_port: [u8; 2],
    pub(crate) vip_port: [u8; 2],
}

impl FlowKey {
    pub(crate) fn new(client: SocketAddr, vip: SocketAddr) -> Self {
        Self {
            client: octets(client.ip()),
            vip: octets(vip.ip()),
            client_port: client.port().to_be_bytes(),
            vip_port: vip.port().to_be_bytes(),
        }
    }

    pub(crate) fn client(&self) -> SocketAddr {
        let port = u16::from_be_bytes(self.client_port);
        SocketAddr::new(crate::unmapped(self.client), port)
    }

    pub(crate) fn vip(&self) -> SocketAddr {
        SocketAddr::new(crate::unmapped(self.vip), u16::from_be_bytes(self.vip_port))
    }
}

/// `enum flow_state`, `FLOW_CLOSING`.
pub(crate) const FLOW_CLOSING: u8 = 1;

/// `FLOW_HALF`: the client has said all it will ever say, and waits.
pub(crate) const FLOW_HALF: u8 = 2;
/// `FLOW_WAITING`: the same, and so long that no book counts it.
pub(crate) const FLOW_WAITING: u8 = 3;
#[cfg(test)]
pub(crate) const FLOW_OPEN: u8 = 0;

/// `struct flow`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Flow {
    pub(crate) seen_ns: u64,
    pub(crate) opened_ns: u64,
    pub(crate) counted: u32,
    pub(crate) holder: u32,
    pub(crate) connection: u32,
    pub(crate) mark_seq: u32,
    pub(crate) next_seq: u32,
    pub(crate) decided_seq: u32,
    pub(crate) decided: u32,
    pub(crate) decided_ack: u32,
    pub(crate) client_ack: u32,
    pub(crate) data_ack: u32,
    pub(crate) reserved: u32,
    pub(crate) ifindex: u32,
    pub(crate) requests: u32,
    pub(crate) moves: u32,
    pub(crate) mss: u16,
    pub(crate) wscale: u8,
    pub(crate) options: u8,
    pub(crate) state: u8,
    pub(crate) delivery: u8,
    pub(crate) resyn: u8,
    pub(crate) asked: u8,
}

/// `struct listener_key`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct ListenerKey {
    pub(crate) vip: [u8; 16],
    pub(crate) port: [u8; 2],
    pub(crate) reserved: u16,
}

impl ListenerKey {
    pub(crate) fn new(vip: SocketAddr) -> Self {
        Self { vip: octets(vip.ip()), port: vip.port().to_be_bytes(), reserved: 0 }
    }

    pub(crate) fn vip(&self) -> SocketAddr {
        SocketAddr::new(crate::unmapped(self.vip), u16::from_be_bytes(self.port))
    }
}

/// `struct listener`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Listener {
    pub(crate) delivery: u8,
    pub(crate) reserved: u8,
    pub(crate) server_port: [u8; 2],
    pub(crate) agent_port: [u8; 2],
    pub(crate) number: u16,
}

/// `struct server`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Server {
    pub(crate) address: [u8; 16],
    pub(crate) front: [u8; 16],
    pub(crate) ifindex: u32,
    pub(crate) port: u16,
    pub(crate) agent_port: u16,
    pub(crate) state: u8,
    pub(crate) routed: u8,
    pub(crate) reserved: u16,
    pub(crate) padding: u32,
    pub(crate) name: u64,
}

/// `struct memo_key`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct MemoKey {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// `struct memo`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Memo {
    pub(crate) epoch: u64,
    pub(crate) load_max: u64,
    pub(crate) until_ns: u64,
    pub(crate) target: u64,
    pub(crate) server: u32,
    pub(crate) kind: u8,
    pub(crate) wheel: u8,
    pub(crate) class: u8,
    pub(crate) reserved: u8,
}

/// `enum memo_kind`.
pub(crate) const MEMO_TARGET: u8 = 0;
pub(crate) const MEMO_WHEEL: u8 = 1;
pub(crate) const MEMO_RELAY: u8 = 2;

/// `struct event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Event {
    pub(crate) flow: FlowKey,
    pub(crate) server: u32,
    pub(crate) target: u64,
    pub(crate) at_ns: u64,
    pub(crate) kind: u8,
    pub(crate) class: u8,
    pub(crate) first: u8,
    pub(crate) reserved: u8,
    pub(crate) holder: u32,
}

/// `struct owned`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Owned {
    pub(crate) created_ns: u64,
    pub(crate) released_ns: u64,
    pub(crate) connection: u32,
    pub(crate) mark_seq: u32,
    pub(crate) first_ack: u32,
    pub(crate) client_end: u32,
    pub(crate) released_seq: u32,
    pub(crate) request_end: u32,
    pub(crate) reply_at: u32,
    pub(crate) reply_end: u32,
    pub(crate) phase: u8,
    pub(crate) released: u8,
    pub(crate) no_body: u8,
    pub(crate) open: u8,
    pub(crate) track: u8,
    pub(crate) reserved: [u8; 3],
}

/// `struct tag_key`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct TagKey {
    pub(crate) flow: FlowKey,
    pub(crate) seq: u32,
}

/// `struct site`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Site {
    pub(crate) key: [u8; 16],
    pub(crate) cookie_key: [u8; 16],
    pub(crate) tap_ifindex: u32,
    pub(crate) port: [u8; 2],
    pub(crate) mss4: u16,
    pub(crate) mss6: u16,
    pub(crate) log: u8,
    pub(crate) reserved: [u8; 5],
}

const _: () = assert!(size_of::<FlowKey>() == 36);
const _: () = assert!(size_of::<Flow>() == 80);
const _: () = assert!(size_of::<ListenerKey>() == 20);
const _: () = assert!(size_of::<Listener>() == 8);
const _: () = assert!(size_of::<Server>() == 56);
const _: () = assert!(size_of::<MemoKey>() == 16);
const _: () = assert!(size_of::<Memo>() == 40);
const _: () = assert!(size_of::<Event>() == 64);
const _: () = assert!(size_of::<Owned>() == 56);
const _: () = assert!(size_of::<TagKey>() == 40);
const _: () = assert!(size_of::<Site>() == 48);

/// `enum count`, in its order: what the programs count.
pub const COUNTS: &[&str] = &[
    "syn_answered",
    "ack_absorbed",
    "fin_answered",
    "probe_answered",
    "cookie_refused",
    "handed_over",
    "handed_again",
    "forwarded",
    "repeated",
    "asked",
    "answered",
    "unanswered",
    "queried",
    "moved",
    "tagged",
    "stayed_pipelined",
    "local_not_http",
    "local_split_head",
    "local_pipelined",
    "local_verdict",
    "local_full",
    "local_refused",
    "closed",
    "reopened",
    "reset_down",
    "forged",
    "unknown_release",
    "malformed",
    "events_lost",
    "adopted",
    "adopt_refused",
    "no_listener",
    "stale_killed",
    "ghost",
    "duplicate",
    "released",
    "released_again",
    "kept",
    "orphan",
    "reset_gone",
    "unsure",
    "late_mark",
    "asked_already",
    "agent_gone",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the structs as they were when [`LAYOUT`] was raised last.
    const STRUCTS: (u32, u64) = (2, 0x6cf9_ad32_0ad5_f91f);

    /// Written before loading or sent, never kept: their changes are no other layout.
    const PASSING: &[&str] = &["envelope", "site"];

    /// Structs without their comments, word by word.
    fn structs(header: &str) -> String {
        let mut code = String::new();
        let mut rest = header;
        while let Some((before, comment)) = rest.split_once("/*") {
            code += before;
            rest = comment.split_once("*/").unwrap().1;
        }
        code += rest;
        let mut kept = String::new();
        for definition in code.split("\nstruct ").skip(1) {
            let (body, _) = definition.split_once("\n};").unwrap();
            if !PASSING.contains(&body.split_whitespace().next().unwrap()) {
                kept.extend(body.split_whitespace().flat_map(|word| [word, " "]));
            }
        }
        kept
    }

    /// FNV-1a.
    fn hash(text: &str) -> u64 {
        let step = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
    }

    #[test]
    fn structs_do_not_change_without_another_number_of_their_layout() {
        let found = structs(include_str!("../bpf/handoff.h"));
        assert!(found.contains("flow { __u64 seen_ns; ") && !found.contains("mac_high"), "{found}");
        let now = (LAYOUT, hash(&found));
        assert_eq!(now, STRUCTS, "raise LAYOUT, then set STRUCTS to ({}, {:#x})", now.0, now.1);
    }

    #[test]
    fn the_version_of_envelopes_is_that_of_the_header() {
        let line = format!("#define ENVELOPE_VERSION {ENVELOPE}");
        assert!(include_str!("../bpf/handoff.h").lines().any(|one| one == line), "{line}");
    }

    #[test]
    fn the_names_of_counters_are_those_of_the_header() {
        let header = include_str!("../bpf/handoff.h");
        let body = header.split("enum count {").nth(1).unwrap().split("};").next().unwrap();
        let names: Vec<String> = body
            .lines()
            .filter_map(|line| line.trim().strip_prefix("COUNT_"))
            .map(|rest| rest.split(',').next().unwrap().to_lowercase())
            .filter(|name| name != "end")
            .collect();
        assert_eq!(names, COUNTS);
    }
}
