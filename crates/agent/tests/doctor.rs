//! Method: hosts that were made up. One on which nothing is wrong gets no complaint; then one
//! thing at a time is spoilt, and exactly the check that looks at it says so, with its remedy; what
//! `--fix` would set is set, and the host is well again. At last this machine is looked at.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod made_up;

use agent::doctor::{CHECKS, Finding, Network, Role, Row, Site, Verdict, examine, worst};
use agent::host::System;
use made_up::{MadeUp, VIP, bare, front, server};

fn site(role: Role) -> Site {
    Site {
        role: Some(role),
        interfaces: vec!["eth0".parse().unwrap()],
        vips: vec![VIP],
        ports: vec![80],
        network: Network::Neighbours,
        moves: Some(true),
    }
}

#[track_caller]
fn finding(rows: &[Row], name: &str) -> Finding {
    rows.iter().find(|row| row.name == name).unwrap().finding.clone()
}

/// What is wrong or could not be looked at: name and verdict.
fn bad(rows: &[Row]) -> Vec<(&str, Verdict)> {
    let all = rows.iter().map(|row| (row.name, row.finding.verdict));
    all.filter(|(_, verdict)| *verdict != Verdict::Ok).collect()
}

/// That this one check finds this, and no other finds anything.
#[track_caller]
fn finds(host: &MadeUp, role: Role, name: &str, verdict: Verdict, evidence: &str) -> Finding {
    let rows = examine(&site(role), host);
    assert_eq!(bad(&rows), [(name, verdict)], "{rows:#?}");
    let found = finding(&rows, name);
    assert!(found.evidence.contains(evidence), "{found:?} says nothing of {evidence}");
    assert!(found.remedy.as_ref().is_some_and(|remedy| !remedy.is_empty()), "{found:?}");
    found
}

#[test]
fn a_host_on_which_nothing_is_wrong_gets_no_complaint() {
    for (role, host) in [(Role::Server, server()), (Role::Front, front())] {
        let rows = examine(&site(role), &host);
        assert_eq!(bad(&rows), [], "{rows:#?}");
        assert_eq!(worst(&rows), Verdict::Ok);
        assert!(rows.iter().all(|row| !row.finding.evidence.is_empty()));
        assert!(rows.len() < CHECKS.len(), "each role has checks of its own");
    }
}

/// A sysctl, a bad value, whom it harms, what is found, and the check's name.
type Spoilt = (&'static str, &'static str, Role, Verdict, &'static str);

#[test]
fn each_bad_setting_is_found_and_what_would_be_set_repairs_it() {
    let table: &[Spoilt] = &[
        ("net/core/bpf_jit_enable", "0", Role::Front, Verdict::Fail, "jit"),
        ("net/core/bpf_jit_enable", "2", Role::Server, Verdict::Warn, "jit"),
        ("net/ipv4/tcp_syncookies", "0", Role::Server, Verdict::Fail, "syncookies"),
        ("net/ipv4/tcp_syncookies", "0", Role::Front, Verdict::Fail, "syncookies"),
        ("net/ipv4/tcp_timestamps", "0", Role::Server, Verdict::Fail, "timestamps"),
        ("net/ipv4/tcp_sack", "0", Role::Server, Verdict::Fail, "sack"),
        ("net/ipv4/tcp_window_scaling", "0", Role::Server, Verdict::Fail, "window-scaling"),
        ("net/ipv4/tcp_rfc1337", "1", Role::Server, Verdict::Fail, "rfc1337"),
        ("net/ipv4/tcp_rfc1337", "1", Role::Front, Verdict::Fail, "rfc1337"),
        ("net/core/somaxconn", "128", Role::Server, Verdict::Warn, "somaxconn"),
        ("net/ipv4/conf/all/rp_filter", "1", Role::Front, Verdict::Ok, "rp-filter"),
        ("net/ipv4/conf/eth0/rp_filter", "1", Role::Front, Verdict::Warn, "rp-filter"),
        ("net/ipv4/conf/all/arp_ignore", "0", Role::Server, Verdict::Fail, "arp-ignore"),
        ("net/ipv4/conf/all/arp_ignore", "8", Role::Server, Verdict::Warn, "arp-ignore"),
        ("net/ipv4/conf/eth0/arp_ignore", "3", Role::Server, Verdict::Fail, "arp-ignore"),
        ("net/ipv4/conf/all/arp_announce", "1", Role::Server, Verdict::Fail, "arp-announce"),
    ];
    for (path, value, role, verdict, name) in table {
        let host = if *role == Role::Server { server() } else { front() };
        host.file(&format!("/proc/sys/{path}"), value);
        if *verdict == Verdict::Ok {
            assert_eq!(bad(&examine(&site(*role), &host)), [], "{path} = {value}");
            continue;
        }
        let found = finds(&host, *role, name, *verdict, value);
        assert!(!found.settings.is_empty(), "{path} = {value} can be repaired");
        for setting in &found.settings {
            setting.apply(&host).unwrap();
        }
        assert_eq!(bad(&examine(&site(*role), &host)), [], "{path} = {value}, repaired");
    }
}

#[test]
fn a_kernel_that_cannot_do_it_is_found_before_it_is_tried() {
    let old = server();
    old.file("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n");
    finds(&old, Role::Server, "kernel", Verdict::Fail, "6.8.0-45");
    let next = server();
    next.file("/proc/sys/kernel/osrelease", "7.0.1\n");
    assert_eq!(bad(&examine(&site(Role::Server), &next)), []);

    let without = server();
    without.file("/sys/kernel/btf/vmlinux", "\0bpf_sk_assign_tcp_reqsk_2\0");
    finds(&without, Role::Server, "kfunc", Verdict::Fail, "bpf_sk_assign_tcp_reqsk");

    let no_btf = server();
    no_btf.no_file("/sys/kernel/btf/vmlinux");
    let rows = examine(&site(Role::Server), &no_btf);
    assert_eq!(finding(&rows, "btf").verdict, Verdict::Fail);
    assert_eq!(finding(&rows, "kfunc").verdict, Verdict::Unknown, "it cannot be told");

    let ancient = server();
    ancient.file("/proc/sys/kernel/osrelease", "5.4.0\n");
    ancient.file("/proc/self/limits", "Max locked memory  65536  65536  bytes\n");
    let rows = examine(&site(Role::Server), &ancient);
    assert!(finding(&rows, "memlock").evidence.contains("65536"));
}

#[test]
fn what_is_missing_to_load_programs_is_named() {
    let host = server();
    // NET_ADMIN and BPF, no PERFMON.
    host.file("/proc/self/status", "CapEff:\t0000008000001000\n");
    let found = finds(&host, Role::Server, "capabilities", Verdict::Fail, "CAP_PERFMON");
    assert!(!found.evidence.contains("CAP_BPF"));
    // NET_ADMIN and SYS_ADMIN are enough.
    host.file("/proc/self/status", "CapEff:\t0000000000201000\n");
    assert_eq!(bad(&examine(&site(Role::Server), &host)), []);
    host.file("/proc/self/mounts", "none /sys/fs/bpf tmpfs rw 0 0\n");
    finds(&host, Role::Server, "bpffs", Verdict::Fail, "/sys/fs/bpf");
}

#[test]
fn a_listener_that_cannot_take_over_connections_is_found() {
    let mut host = server();
    host.listeners[0].mptcp = true;
    let found = finds(&host, Role::Server, "mptcp", Verdict::Fail, "0.0.0.0:80");
    assert_eq!(found.settings[0].line(), "net.mptcp.enabled = 0");

    // Of another port: none of our business.
    let mut other = server().listener("0.0.0.0:81", 0, 4096);
    other.listeners[1].mptcp = true;
    assert_eq!(bad(&examine(&site(Role::Server), &other)), []);

    let nobody = bare().address("192.0.2.100/32", 1);
    let rows = examine(&site(Role::Server), &nobody);
    let expected = [("listener", Verdict::Fail), ("accept-queue", Verdict::Skipped)];
    assert_eq!(bad(&rows), expected);
    let lasting = |row: &&Row| row.lasting && row.finding.verdict == Verdict::Fail;
    assert!(!rows.iter().any(|row| lasting(&row)), "a server that starts later is no obstacle");

    let elsewhere = bare().address("192.0.2.100/32", 1).listener("192.0.2.11:80", 0, 4096);
    let rows = examine(&site(Role::Server), &elsewhere);
    assert!(finding(&rows, "listener").evidence.contains("nobody takes 192.0.2.100 port 80"));
    let any = bare().address("192.0.2.100/32", 1).listener("[::]:80", 0, 4096);
    assert_eq!(bad(&examine(&site(Role::Server), &any)), [], "[::] takes IPv4 too");
}

#[test]
fn a_queue_that_is_short_or_full_is_found() {
    let with = |queue, backlog| {
        bare().address("192.0.2.100/32", 1).listener("192.0.2.100:80", queue, backlog)
    };
    finds(&with(0, 128), Role::Server, "accept-queue", Verdict::Warn, "128 may");
    finds(&with(3000, 4096), Role::Server, "accept-queue", Verdict::Warn, "3000 connections wait");
    assert_eq!(bad(&examine(&site(Role::Server), &with(2048, 4096))), []);
}

#[test]
fn a_server_has_the_clients_address_for_itself_alone() {
    let listens = |host: MadeUp| host.listener("0.0.0.0:80", 0, 4096);
    let missing = finds(&listens(bare()), Role::Server, "vip", Verdict::Fail, "not an address");
    assert_eq!(missing.remedy.unwrap(), "ip address add 192.0.2.100/32 dev lo");
    let loud = listens(bare()).address("192.0.2.100/24", 2);
    finds(&loud, Role::Server, "vip", Verdict::Fail, "on eth0");
    let wide = listens(bare()).address("192.0.2.100/24", 1);
    finds(&wide, Role::Server, "vip", Verdict::Fail, "whole network");
}

#[test]
fn behind_routers_nobody_asks_by_arp() {
    let host = server();
    host.file("/proc/sys/net/ipv4/conf/all/arp_ignore", "0");
    host.file("/proc/sys/net/ipv4/conf/all/arp_announce", "0");
    let routed = Site { network: Network::Routed, ..site(Role::Server) };
    assert_eq!(bad(&examine(&routed, &host)), []);
    let v6 = Site { vips: vec!["2001:db8::1".parse().unwrap()], ..site(Role::Server) };
    let rows = examine(&v6, &host);
    assert_eq!(finding(&rows, "arp-ignore").verdict, Verdict::Ok);
    assert_eq!(finding(&rows, "vip").verdict, Verdict::Fail);
}

#[test]
fn a_front_end_answers_for_the_clients_address() {
    let host = made_up::well().link(1, "lo", 65536).link(2, "eth0", 1500);
    let found = finds(&host, Role::Front, "vip-answered", Verdict::Fail, "not an address");
    assert_eq!(found.remedy.unwrap(), "ip address add 192.0.2.100/32 dev eth0");
    let silent = host.address("192.0.2.100/32", 1);
    finds(&silent, Role::Front, "vip-answered", Verdict::Warn, "on lo alone");
    silent.file("/proc/sys/net/ipv4/conf/all/arp_ignore", "0");
    assert_eq!(bad(&examine(&site(Role::Front), &silent)), [], "every address is answered for");
}

#[test]
fn an_interface_that_is_missing_down_or_narrow_is_found() {
    let mut host = server();
    host.links[1].up = false;
    finds(&host, Role::Server, "interface", Verdict::Fail, "eth0 is down");
    host.links[1].up = true;
    host.links[1].mtu_bytes = 1400;
    finds(&host, Role::Server, "mtu", Verdict::Warn, "1344 in an envelope");
    host.links[1].mtu_bytes = 1300;
    finds(&host, Role::Server, "mtu", Verdict::Fail, "1300");
    let other = Site { interfaces: vec!["eth9".parse().unwrap()], ..site(Role::Server) };
    let rows = examine(&other, &server());
    assert!(finding(&rows, "interface").evidence.contains("there are lo, eth0"));
    // Its sysctls are not there either: unknown is not well.
    assert_eq!(finding(&rows, "rp-filter").verdict, Verdict::Unknown);
}

#[test]
fn what_makes_it_worse_but_not_impossible_is_a_warning() {
    let host = server();
    host.file("/proc/sys/net/ipv4/tcp_congestion_control", "bbr\n");
    finds(&host, Role::Server, "congestion-control", Verdict::Warn, "bbr");
    host.file("/proc/sys/net/ipv4/tcp_congestion_control", "reno\n");
    host.file("/proc/sys/net/netfilter/nf_conntrack_tcp_loose", "0\n");
    finds(&host, Role::Server, "conntrack", Verdict::Warn, "is 0");
    host.file("/proc/sys/net/netfilter/nf_conntrack_tcp_loose", "1\n");
    host.file("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t67108864\n");
    finds(&host, Role::Server, "receive-window", Verdict::Warn, "is told 8388480");
}

#[test]
fn a_front_ends_firewall_that_takes_no_connections_in_their_middle_is_a_warning() {
    let host = front();
    host.file("/proc/sys/net/netfilter/nf_conntrack_tcp_loose", "0\n");
    finds(&host, Role::Front, "conntrack", Verdict::Warn, "is 0");
}

#[test]
fn routes_that_let_moved_replies_begin_slowly_are_a_warning_where_connections_move() {
    let slow = || MadeUp { routes: Vec::new(), ..server() }.route("192.0.2.0/24", 2, None);
    let host = slow().route("0.0.0.0/0", 2, None).route("10.0.0.0/8", 1, Some(64));
    let found = finds(&host, Role::Server, "initial-window", Verdict::Warn, "default begins");
    let remedy = found.remedy.unwrap();
    assert!(remedy.contains("ip route change $(ip route show default) initcwnd 32"), "{remedy}");
    assert!(found.settings.is_empty(), "routes are every program's");
    // Without a default route: the one by the interface of the clients.
    finds(&slow(), Role::Server, "initial-window", Verdict::Warn, "192.0.2.0/24 begins");
    // Clients are where somebody set a window, be it the system's.
    let near = slow().route("0.0.0.0/0", 2, None).route("198.51.100.0/24", 2, Some(10));
    assert_eq!(bad(&examine(&site(Role::Server), &near)), []);
    // Nor does it matter where connections stay.
    let stays = Site { moves: Some(false), ..site(Role::Server) };
    assert_eq!(bad(&examine(&stays, &host)), []);
}

#[test]
fn each_family_of_addresses_has_its_route() {
    let vips = vec![VIP, "2001:db8::100".parse().unwrap()];
    let both = Site { vips, ..site(Role::Server) };
    let window = |host: &MadeUp| finding(&examine(&both, host), "initial-window");
    // Of IPv6 there is only what every interface has.
    let local = server().route("fe80::/64", 2, None);
    assert_eq!(window(&local).verdict, Verdict::Skipped);
    let found = window(&server().route("fe80::/64", 2, None).route("::/0", 2, None));
    assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
    assert!(found.remedy.unwrap().contains("ip -6 route show default"));
    let well = window(&server().route("::/0", 2, Some(32)));
    assert_eq!(well.verdict, Verdict::Ok, "{well:?}");
}

#[test]
fn what_cannot_be_read_is_unknown_and_says_what_and_why() {
    let mut host = server();
    host.forbidden = vec!["/proc/sys/net/ipv4/tcp_sack"];
    let found = finds(&host, Role::Server, "sack", Verdict::Unknown, "/proc/sys/net/ipv4/tcp_sack");
    assert!(found.remedy.unwrap().contains("root"));
    let odd = server();
    odd.file("/proc/sys/net/ipv4/tcp_sack", "perhaps");
    finds(&odd, Role::Server, "sack", Verdict::Unknown, "perhaps");
}

#[test]
fn what_nobody_said_where_to_look_is_skipped_and_says_how() {
    let rows = examine(&Site { role: Some(Role::Server), ..Site::default() }, &server());
    for (name, flag) in [
        ("listener", "--port"),
        ("mtu", "--interface"),
        ("vip", "--vip"),
        ("initial-window", "--config"),
    ] {
        let found = finding(&rows, name);
        assert_eq!(found.verdict, Verdict::Skipped, "{name}");
        assert!(found.evidence.contains(flag), "{found:?}");
    }
}

#[test]
fn a_setting_of_an_interface_with_a_dot_is_written_with_slashes() {
    let host = server().link(3, "eth0.7", 1500);
    for (key, value) in [("rp_filter", "1"), ("arp_ignore", "0"), ("arp_announce", "0")] {
        host.file(&format!("/proc/sys/net/ipv4/conf/eth0.7/{key}"), value);
    }
    let vlan = Site { interfaces: vec!["eth0.7".parse().unwrap()], ..site(Role::Server) };
    let found = finding(&examine(&vlan, &host), "rp-filter");
    assert_eq!(found.settings[0].line(), "net/ipv4/conf/eth0.7/rp_filter = 2");
}

#[test]
fn a_name_that_could_lead_out_of_its_directory_is_no_interface() {
    for name in ["", "..", ".", "a/b", "../all", "sixteen-chars-ab", "a b", "eth0:1"] {
        assert!(name.parse::<agent::host::LinkName>().is_err(), "{name}");
    }
    assert!("eth0.7".parse::<agent::host::LinkName>().is_ok());
}

#[test]
fn names_and_words_of_the_checks_are_fit_to_print() {
    let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
    assert!(CHECKS.iter().all(|check| !check.about.is_empty() && !check.roles.is_empty()));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHECKS.len(), "each has a name of its own");
}

#[test]
fn this_machine_can_be_looked_at() {
    let rows = examine(&Site::default(), &System);
    assert_eq!(rows.len(), CHECKS.len());
    let kernel = finding(&rows, "kernel");
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(kernel.evidence.contains(release.trim()), "{kernel:?}");
}
